import { tokenIntrospection } from "openid-client";
import { asFailure, discover } from "../connection/authorize.ts";
import type { Context } from "../connection/contexts.ts";
import { Failure } from "../console/failure.ts";

/** **Introspects a token** as a client. @see https://www.rfc-editor.org/rfc/rfc7662 */
export async function introspect(
  client: Pick<Context, "issuer" | "client_id" | "client_secret" | "private_jwk">,
  token: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (client.client_secret === undefined && client.private_jwk === undefined) {
    throw new Failure(
      "noRights",
      `${client.client_id} has no credential, so it may not introspect. Name a client: --client-id.`,
    );
  }
  const config = await discover(client);
  return asFailure(() => tokenIntrospection(config, token));
}
