import type { Confirmation } from "@edge-op/protocol/oauth/confirmation";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { resourceError } from "@edge-op/shared/callers/require-access-token";
import type { ControlPlaneBindings } from "@edge-op/shared/control/commit-control-change";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { MailBindings } from "@edge-op/shared/mail/tell-person";
import { revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type { Delegate } from "./delegate.ts";

/** **The party that makes an administrative change**; the access token of a request to the admin API is one. */
export interface Actor {
  readonly clientId: string;
  readonly sub: string;
  readonly scope: readonly string[];
  /** The key to which its token is bound; absent for a bearer token. */
  readonly cnf?: Confirmation | undefined;
}

/** A request and the party that makes changes with it. */
export interface ActorRequest<Bindings = unknown> {
  readonly context: RequestContext<ControlPlaneBindings & MailBindings & Bindings>;
  readonly actor: Actor;
  /** The member who administers their own organisation; absent for an administrator of the deployment. */
  readonly delegate?: Delegate | undefined;
}

/**
 * **Refuses to grant admin scopes that the actor lacks**, to a client or through a role: an administrator with `admin:clients`
 * or `admin:users` alone could otherwise obtain all of them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.3
 */
export function requireAuthority(actor: Actor, obtainable: readonly string[]): void {
  const beyond = obtainable.filter((value) => isAdminScope(value) && !actor.scope.includes(value));
  if (beyond.length === 0) return;
  const scope = [...new Set(beyond)].join(" ");
  throw resourceError(actor.cnf?.method === "jkt" ? "DPoP" : "Bearer", "insufficient_scope", "scope-escalation", {
    detail: `grants ${scope}`,
    scope,
    description: "The change affects admin scopes that the access token does not have.",
  });
}

/**
 * **Refuses changes that would end the authority of the caller's own access token**, because the last administrator could lock everyone out by
 * mistake. Another administrator can make them. Revoking the signing key or the token itself is allowed, because the client can get another token.
 */
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
