import type { Confirmation } from "@edge-op/protocol/oauth/confirmation";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { resourceError } from "@edge-op/shared/callers/require-access-token";
import type { ControlPlaneBindings } from "@edge-op/shared/control/commit-control-change";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { MailBindings } from "@edge-op/shared/mail/tell-person";

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
