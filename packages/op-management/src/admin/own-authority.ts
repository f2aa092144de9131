/**
 * **Refuses changes that would end the authority of the caller's own access token**, because the last administrator could lock everyone out by
 * mistake. Another administrator can make them. Revoking the signing key or the token itself is allowed, because the client can get another token.
 */

import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";

export function refuseOwn(what: string): OAuthError {
  return new OAuthError("conflict", "authority-is-own", {
    detail: what,
    description: `This change would end the authority of its own access token: ${what}. Use another administrator's token.`,
  });
}

/** Whether a client, issuer or rule is a party of the token: a cut-off of any of its parties ends the token. */
export function isOwnParty(actor: AccessToken, party: string): boolean {
  return revocationSubjects(actor).some(({ clientId }) => clientId === party);
}

/** To be called for a client, an issuer or a rule that is disabled, deleted or cut off. */
export function requireOtherParty(actor: AccessToken, party: string): void {
  if (isOwnParty(actor, party)) throw refuseOwn(`it depends on ${party}`);
}

/** To be called for a user who is suspended, deleted or cut off, or whose password changes. */
export function requireOtherSubject(actor: AccessToken, sub: string): void {
  if (actor.sub === sub) throw refuseOwn(`its subject is ${sub}`);
}

/** Whether a list loses a value. */
export function losesAny(before: readonly string[], after: readonly string[]): boolean {
  return before.some((value) => !after.includes(value));
}
