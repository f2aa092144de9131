import { adminAudience, isAdminScope } from "@edge-op/shared/oauth/admin-scope";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import { requireAuthority } from "../api/authority.ts";
import type { ClientDocument } from "./client-schema.ts";

/**
 * **Who may create or change a client, its keys or its secrets**: an administrator who carries every admin scope that the
 * client may get, by any grant. A wildcard gives none (ADR 19).
 */
export function requireAuthorityOver(admin: AccessToken, client: ClientDocument): void {
  requireAuthority(admin, scopeLists(client).flat());
}

/** Every list of scopes that a client may get tokens by. */
function scopeLists({ scope, token_exchange, jwt_bearer }: ClientDocument): readonly (readonly string[])[] {
  return [scope.split(" "), token_exchange?.scopes ?? [], jwt_bearer?.scopes ?? []];
}

function audienceLists({ audiences, token_exchange }: ClientDocument): readonly (readonly string[])[] {
  return [audiences, token_exchange?.audiences ?? [], token_exchange?.resources ?? []];
}

/**
 * Whether a change takes an admin scope, or the admin API's audience, out of any list of a client. Its grants end then:
 * tokens that carry what was taken must not be used until they expire.
 */
export function losesAdminScope(before: ClientDocument, after: ClientDocument, issuer: string): boolean {
  const audience = adminAudience(issuer);
  return (
    losesAny(scopeLists(before), scopeLists(after), isAdminScope) ||
    losesAny(audienceLists(before), audienceLists(after), (value) => value === audience)
  );
}

function losesAny(
  before: readonly (readonly string[])[],
  after: readonly (readonly string[])[],
  counts: (value: string) => boolean,
): boolean {
  return before.some((list, index) => list.some((value) => counts(value) && !after[index]!.includes(value)));
}

/** The last operator's client must not lock everyone out by mistake. */
export function requireOther(admin: AccessToken, clientId: string): void {
  if (admin.clientId !== clientId) return;
  const description = "A client cannot disable or delete itself.";
  throw new OAuthError("conflict", "the client of the access token", { description });
}
