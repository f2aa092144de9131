import { claimsCoveredBy, rbacClaims, standardClaims } from "@edge-op/protocol/oauth/scope-claims";
import type { RbacClaims, User } from "./user.ts";

/**
 * **The claims of a user that a client sees**, at UserInfo and in ID tokens: those of the scope values, and those that were requested individually
 * at /authorize. A claim without a value is omitted.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
export function visibleClaims(scope: readonly string[], requested: readonly string[] = []): ReadonlySet<string> {
  return new Set([...claimsCoveredBy(scope), ...requested]);
}

/** Whether roles or groups are visible; they are read from other tables than the user's. */
export function includesRbac(visible: ReadonlySet<string>): boolean {
  return rbacClaims.some((name) => visible.has(name));
}

export function selectClaims(
  { claims }: Pick<User, "claims">,
  rbac: RbacClaims | undefined,
  visible: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const selected: Record<string, unknown> = {};
  for (const name of standardClaims) if (visible.has(name) && claims[name] !== undefined) selected[name] = claims[name];
  for (const name of rbacClaims) if (visible.has(name) && (rbac?.[name].length ?? 0) > 0) selected[name] = rbac?.[name];
  return selected;
}
