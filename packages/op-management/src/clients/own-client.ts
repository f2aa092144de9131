import type { ClientMetadata } from "@edge-op/shared/clients/client";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import { isOwnParty, losesAny, refuseOwn } from "../admin/own-authority.ts";
import { losesAdminScope } from "./client-authority.ts";

/** With other values, the client could not get another token. */
const fixedMembers = [
  ...(["token_endpoint_auth_method", "token_endpoint_auth_signing_alg", "jwks_uri", "security_profile"] as const),
  ...(["tls_client_auth_subject_dn", "tls_client_auth_san_dns", "tls_client_auth_san_uri"] as const),
  ...(["tls_client_auth_san_ip", "tls_client_auth_san_email", "dpop_bound_access_tokens"] as const),
  "tls_client_certificate_bound_access_tokens" as const,
];

/** A client's change of itself: it keeps its admin scopes and audience, its grant types, its authentication method, and a key. */
export function requireOwnClientUsable(
  actor: AccessToken,
  clientId: string,
  { before, after }: { readonly before: ClientMetadata; readonly after: ClientMetadata },
  issuer: string,
): void {
  if (!isOwnParty(actor, clientId)) return;
  const keysOf = ({ jwks }: ClientMetadata) => (jwks?.keys ?? []).map((key) => JSON.stringify(key));
  const keepsKey = before.jwks === undefined || keysOf(before).some((key) => keysOf(after).includes(key));
  const lost = [
    ...(losesAdminScope(before, after, issuer) ? ["its admin scopes and audience"] : []),
    ...(losesAny(before.grant_types, after.grant_types) ? ["grant_types"] : []),
    ...(actor.forUser && losesAny(before.redirect_uris, after.redirect_uris) ? ["redirect_uris"] : []),
    ...(keepsKey ? [] : ["every key of jwks"]),
    ...fixedMembers.filter((name) => before[name] !== after[name]),
  ];
  if (lost.length > 0) throw refuseOwn(`${clientId} is its own client, and would lose or change ${lost.join(", ")}`);
}
