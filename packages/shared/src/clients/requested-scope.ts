import { isAdminScope } from "@edge-op/protocol/oauth/admin-scope";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { intersectScope } from "@edge-op/protocol/oauth/scope";
import { shownValue } from "@edge-op/protocol/oauth/shown-value";
import type { Client } from "./client.ts";

/**
 * **The values of a requested scope that a client may have.** A value beyond them is refused, so that a client does not mistake the scope of its
 * token; for a client that no administrator registered, it is left out, because such clients ask every provider for the same (ADR 47). An admin scope
 * is never left out, and something must remain. The response states the scope.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3
 */
export function requestedScope(
  { origin }: Pick<Client, "origin">,
  asked: readonly string[],
  allowed: readonly string[],
  reason: "scope-not-registered" | "scope-not-allowed" = "scope-not-registered",
): string[] {
  requireAdminScope(asked, allowed);
  const scope = intersectScope(asked, allowed);
  const beyond = asked.find((value) => !allowed.includes(value));
  if (beyond === undefined || (origin !== undefined && scope.length > 0)) return scope;
  throw refusal(beyond, reason);
}

/** Refuses an admin scope that the client may not have. */
export function requireAdminScope(asked: readonly string[], allowed: readonly string[]): void {
  const beyond = asked.find((value) => isAdminScope(value) && !allowed.includes(value));
  if (beyond !== undefined) throw refusal(beyond, "scope-not-registered");
}

function refusal(value: string, reason: "scope-not-registered" | "scope-not-allowed"): OAuthError {
  const verb = reason === "scope-not-allowed" ? "may not request" : "is not registered for";
  return new OAuthError("invalid_scope", reason, { description: `The client ${verb} the scope ${shownValue(value)}.` });
}
