import { administrativeAudiences, isAdminScope, organizationsAudience } from "@edge-op/protocol/oauth/scope";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import { type Actor, isOwnParty, losesAny, refuseOwn, requireAuthority } from "../admin/actor.ts";

/**
 * **Refuses to create or change a client, its keys or its secrets** unless the actor has every admin scope that the client can get, by any grant. A
 * wildcard does not include admin scopes (ADR 18). A client that may administer organisations needs the scope of who may administer them.
 */
export function requireAuthorityOver(actor: Actor, client: ClientMetadata, issuer: string): void {
  const forOrganizations = audienceLists(client).flat().includes(organizationsAudience(issuer));
  requireAuthority(actor, [...scopeLists(client).flat(), ...(forOrganizations ? ["admin:users"] : [])]);
}

/** Every list of scopes that a client can obtain in tokens. */
function scopeLists({ scope, token_exchange, jwt_bearer }: ClientMetadata): readonly (readonly string[])[] {
  return [scope.split(" "), token_exchange?.scopes ?? [], jwt_bearer?.scopes ?? []];
}

function audienceLists({ audiences, token_exchange }: ClientMetadata): readonly (readonly string[])[] {
  return [audiences, token_exchange?.audiences ?? [], token_exchange?.resources ?? []];
}

/**
 * Whether a change removes an admin scope, or an audience of administration, from any list of a client. Its grants then end, because tokens with the
 * removed value must not be usable until they expire.
 */
export function losesAdminScope(before: ClientMetadata, after: ClientMetadata, issuer: string): boolean {
  const own = administrativeAudiences(issuer);
  return (
    losesListed(scopeLists(before), scopeLists(after), isAdminScope) ||
    losesListed(audienceLists(before), audienceLists(after), (value) => own.includes(value))
  );
}

function losesListed(
  before: readonly (readonly string[])[],
  after: readonly (readonly string[])[],
  counts: (value: string) => boolean,
): boolean {
  return before.some((list, index) => list.some((value) => counts(value) && !after[index]!.includes(value)));
}

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
