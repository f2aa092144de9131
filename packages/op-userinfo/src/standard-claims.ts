import type { UserClaims } from "@edge-op/shared/storage/user";

/**
 * **Which of a user's claims a token may see**: those of its scope values, and those that were asked for one by one at
 * /authorize. What the user has no value for is left out.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
type ClaimName = keyof UserClaims;

const claimsOfScope: ReadonlyMap<string, readonly ClaimName[]> = new Map<string, readonly ClaimName[]>([
  [
    "profile",
    [
      "name",
      "family_name",
      "given_name",
      "middle_name",
      "nickname",
      "preferred_username",
      "profile",
      "picture",
      "website",
      "gender",
      "birthdate",
      "zoneinfo",
      "locale",
      "updated_at",
    ],
  ],
  ["email", ["email", "email_verified"]],
  ["address", ["address"]],
  ["phone", ["phone_number", "phone_number_verified"]],
]);

const standardClaims = [...claimsOfScope.values()].flat();

export function selectClaims(
  claims: UserClaims,
  scope: readonly string[],
  requested: readonly string[] = [],
): Readonly<Partial<UserClaims>> {
  const visible = new Set<string>(requested);
  for (const value of scope) for (const name of claimsOfScope.get(value) ?? []) visible.add(name);
  const names = standardClaims.filter((name) => visible.has(name) && claims[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, claims[name]]));
}
