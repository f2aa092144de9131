import { type ClientAuthMethod, usesSecret } from "@edge-op/protocol/oauth/client-auth-methods";
import { type Client, isPublicClient } from "../clients/client.ts";
import { invalidClient } from "./presented-credentials.ts";

/**
 * **Requires an active client that used its registered authentication method**; otherwise throws `invalid_client`. A client with a secret may send it
 * in the header or in the body, whichever of the two it registered: libraries choose by themselves (ADR 47).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export function requireRegistered(client: Client | undefined, method: ClientAuthMethod, usedHeader: boolean): Client {
  if (client === undefined) throw invalidClient("client-unknown", usedHeader);
  if (client.status !== "active") throw invalidClient("client-disabled", usedHeader);
  const registered = client.metadata.token_endpoint_auth_method;
  if (registered === method || (usesSecret(registered) && usesSecret(method))) return client;
  throw methodDiffers(client, method, usedHeader);
}

/** The response names the registered method only of a public client, which everyone may be; the log names it always. */
export function methodDiffers(client: Client, method: ClientAuthMethod, usedHeader: boolean) {
  const registered = client.metadata.token_endpoint_auth_method;
  return invalidClient("client-method-differs", usedHeader, {
    detail: `${method} used, ${registered} registered`,
    description: isPublicClient(client) ? `The client is registered for ${registered}, not for ${method}.` : undefined,
  });
}
