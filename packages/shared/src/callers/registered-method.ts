import type { ClientAuthMethod } from "@edge-op/protocol/oauth/client-auth-methods";
import type { Client } from "../clients/client.ts";
import { invalidClient } from "./presented-credentials.ts";

/**
 * **Requires an active client that used its registered authentication method**; otherwise throws `invalid_client`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export function requireRegistered(client: Client | undefined, method: ClientAuthMethod, usedHeader: boolean): Client {
  if (client === undefined) throw invalidClient("client-unknown", usedHeader);
  if (client.status !== "active") throw invalidClient("client-disabled", usedHeader);
  const registered = client.metadata.token_endpoint_auth_method;
  if (registered !== method) {
    // A verified secret proves that the caller is the client, which may learn how it is registered. Other callers may not.
    const isProven = method === "client_secret_basic" || method === "client_secret_post";
    const description = isProven ? `The client is registered for ${registered}, not for ${method}.` : undefined;
    throw invalidClient("client-method-differs", usedHeader, {
      detail: `${method} used, ${registered} registered`,
      description,
    });
  }
  return client;
}
