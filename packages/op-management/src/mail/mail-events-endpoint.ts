import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { noStore } from "@edge-op/shared/http/json-response";
import { type BodyFormat, jsonBody, type ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import type { ManagementEnv } from "@edge-op/workers/env";
import { failuresIn, recordFailures } from "./address-failures.ts";

interface MailEventsBindings {
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

/** How far the time of a message may be from the clock: an older one is a replay. */
const toleranceMs = 5 * 60_000;

interface SignedMessage {
  readonly id: string | null;
  /** Seconds since the epoch. */
  readonly timestamp: string | null;
  /** `v1,<base64>`, several separated by spaces while a secret is replaced. */
  readonly signatures: string | null;
  readonly body: string;
}

/**
 * **Verifies the signature of a webhook** by the scheme of Standard Webhooks, which Svix has too: HMAC-SHA-256 of id, time and body. `secret` is
 * `whsec_` and the key in base64; a secret of another form verifies nothing.
 *
 * @see https://www.standardwebhooks.com/
 */
export async function isSignedWebhook(
  secret: string,
  { id, timestamp, signatures, body }: SignedMessage,
  nowMs: number,
): Promise<boolean> {
  if (id === null || timestamp === null || signatures === null || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs - Number(timestamp) * 1000) > toleranceMs) return false;
  const keyBytes = decodeBase64(secret.replace(/^whsec_/, ""));
  if (keyBytes === undefined || keyBytes.byteLength === 0) return false;
  const key = await crypto.subtle.importKey("raw", keyBytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = encodeUtf8(`${id}.${timestamp}.${body}`);
  for (const each of signatures.split(" ").slice(0, 10)) {
    const signature = each.startsWith("v1,") ? decodeBase64(each.slice(3)) : undefined;
    if (signature !== undefined && (await crypto.subtle.verify("HMAC", key, signature, signed))) return true;
  }
  return false;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
