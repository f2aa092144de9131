import type { UserClaims } from "@edge-op/shared/directory/user";
import { isClaimScope, scopeClaims, standardClaims } from "@edge-op/shared/oauth/scope-claims";

/**
 * **Which of a user's claims a token may see**: those of its scope values, and those that were asked for one by one at
 * /authorize. What the user has no value for is left out.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
export function selectClaims(
  claims: UserClaims,
  scope: readonly string[],
  requested: readonly string[] = [],
): Readonly<Partial<UserClaims>> {
  const visible = new Set<string>(requested);
  for (const name of scope.filter(isClaimScope).flatMap((value) => scopeClaims[value])) visible.add(name);
  const names = standardClaims.filter((name) => visible.has(name) && claims[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, claims[name]]));
}
