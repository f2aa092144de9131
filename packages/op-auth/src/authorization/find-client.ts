import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import type { Client } from "@edge-op/shared/clients/client";
import { type ReadsBegun, readsBegun } from "@edge-op/shared/control/settle";
import type { Form } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

/** **Requires a known and active client.** Otherwise the browser is not redirected. @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1 */
export async function findClient(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  parameters: Form,
): Promise<Client> {
  const client = await isolate.clients.discover(context, parameters.require("client_id"));
  if (client === undefined) throw refusal("client-unknown");
  context.progress.namesKnownClient = true;
  if (client.status !== "active") throw refusal("client-disabled");
  return client;
}

/** Status 400, because the response is a page. The 401 of RFC 6749 §5.2 is for clients that authenticate. */
function refusal(reason: RefusalReason): OAuthError {
  return new OAuthError("invalid_client", reason, { status: 400, description: "The application is unknown." });
}

interface NamingRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
}

/**
 * **Reads ahead what the text of an authorization request names**, in a cold isolate: its client and resources, and the key schedule if the request
 * contains a token of this provider or asks for a signed response. Nothing has verified it (callers/read-ahead.ts). The page that usually follows
 * shows the upstream providers.
 */
export function readRequestAhead(
  { context, isolate, request }: NamingRequest,
  parameters: Form,
  clientId = () => parameters.get("client_id"),
): ReadsBegun {
  if (isolate.control.version !== undefined) return readsBegun;
  void isolate.upstreams.readAhead(context);
  const { keyRing, ...withoutKeys } = isolate;
  const needsKeys = ["id_token_hint", "request"].some((name) => parameters.get(name) !== undefined);
  const isSigned = parameters.get("response_mode")?.endsWith("jwt") === true;
  const names = () => [{ clientIds: [clientId()], resources: parameters.all("resource") }];
  return readAhead(context, needsKeys || isSigned ? isolate : withoutKeys, request, names);
}
