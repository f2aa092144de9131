import { parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { noStore } from "@edge-op/shared/http/json-response";
import { type BodyFormat, jsonBody, type ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import type { ManagementEnv } from "@edge-op/workers/env";
import { failuresIn } from "./address-failures.ts";
import { recordFailures } from "./record-failures.ts";
import { isSignedWebhook } from "./webhook-signature.ts";

export interface MailEventsBindings {
  /** A secret: the key with which Resend signs its events. */
  readonly RESEND_WEBHOOK_SECRET?: string;
}

/** Events have about one kilobyte. */
export const mailEventBody: BodyFormat = { ...jsonBody("application/json"), maxBytes: 64 * 1024 };

/**
 * **`POST /mail/events`**: events of Resend, signed. An address that bounced gets no more mail (ADR 58). A repeated event changes nothing. 404
 * without the secret, so the deployment has no such endpoint; 400 for a wrong signature. Cost: 1 object call for an event that names an address,
 * else 0.
 */
export async function mailEventsEndpoint(
  context: RequestContext<ManagementEnv>,
  request: ReceivedRequest,
): Promise<Response> {
  const { env, arrivedAtMs } = context;
  const { RESEND_WEBHOOK_SECRET: secret } = env as MailEventsBindings;
  if (!secret) throw new OAuthError("not_found", "path-unknown");
  const content = request.requireBody();
  const body = typeof content === "string" ? content : new TextDecoder().decode(content);
  const { headers } = request;
  const message = {
    id: headers.get("svix-id"),
    timestamp: headers.get("svix-timestamp"),
    signatures: headers.get("svix-signature"),
    body,
  };
  if (!(await isSignedWebhook(secret, message, arrivedAtMs))) {
    throw new OAuthError("invalid_request", "webhook-signature");
  }
  const event = parseJsonObject(body) ?? {};
  const failures = failuresIn(event);
  if (failures.length === 0) log("mail-event-ignored", { type: String(event["type"]).slice(0, 100) });
  else await recordFailures(context, failures);
  return new Response(null, { status: 204, headers: noStore });
}
