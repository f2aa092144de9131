import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";

/**
 * **Refuses changes that would end the authority of the caller's own access token**: the last administrator would lock everyone out, by a slip. Another administrator can make
 * them. Revoking the key that signed the token, or the token itself, ends no authority: the client gets another one.
 */
export function refuseOwn(what: string): OAuthError {
  return new OAuthError("conflict", "authority-is-own", {
    detail: what,
    description: `The access token that makes this change would lose its authority by it: ${what}. Use one of another administrator.`,
  });
}

/** The clients, issuers and rules on which a token rests: a cut-off of any of them ends it. */
export function isOwnParty(actor: AccessToken, party: string): boolean {
  return revocationSubjects(actor).some(({ clientId }) => clientId === party);
}

/** A client, an issuer or a rule that is disabled, deleted or cut off. */
export function requireOtherParty(actor: AccessToken, party: string): void {
  if (isOwnParty(actor, party)) throw refuseOwn(`it rests on ${party}`);
}

/** A user who is suspended, deleted or cut off, or gets another password. */
export function requireOtherSubject(actor: AccessToken, sub: string): void {
  if (actor.sub === sub) throw refuseOwn(`it is of ${sub}`);
}

/** Whether a list loses a value. */
export function losesAny(before: readonly string[], after: readonly string[]): boolean {
  return before.some((value) => !after.includes(value));
}
