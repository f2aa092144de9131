import type { Client } from "../directory/client.ts";
import { invalidClient, type PresentedCredentials } from "./presented-credentials.ts";

/**
 * **The client, if it is active and registered the method it used.**
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export function requireRegistered(
  client: Client | undefined,
  method: PresentedCredentials["method"],
  usedHeader: boolean,
): Client {
  if (client === undefined) throw invalidClient("unknown client", usedHeader);
  if (client.status !== "active") throw invalidClient("client is disabled", usedHeader);
  const registered = client.metadata.token_endpoint_auth_method;
  if (registered !== method) throw invalidClient(`${method} used, ${registered} registered`, usedHeader);
  return client;
}
