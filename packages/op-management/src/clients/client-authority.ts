import { adminAudience, isAdminScope } from "@edge-op/protocol/oauth/scope";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { type Actor, requireAuthority } from "../admin/actor.ts";

/**
 * **Refuses to create or change a client, its keys or its secrets** unless the actor has every admin scope that the client can get, by any grant. A
 * wildcard does not include admin scopes (ADR 18).
 */
export function requireAuthorityOver(actor: Actor, client: ClientMetadata): void {
  requireAuthority(actor, scopeLists(client).flat());
}

/** Every list of scopes that a client can obtain in tokens. */
function scopeLists({ scope, token_exchange, jwt_bearer }: ClientMetadata): readonly (readonly string[])[] {
  return [scope.split(" "), token_exchange?.scopes ?? [], jwt_bearer?.scopes ?? []];
}

function audienceLists({ audiences, token_exchange }: ClientMetadata): readonly (readonly string[])[] {
  return [audiences, token_exchange?.audiences ?? [], token_exchange?.resources ?? []];
}

/**
 * Whether a change removes an admin scope, or the admin API's audience, from any list of a client. Its grants then end, because tokens with the
 * removed value must not be usable until they expire.
 */
export function losesAdminScope(before: ClientMetadata, after: ClientMetadata, issuer: string): boolean {
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
