/**
 * **The standard claims of each scope value.**
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 */
export const scopeClaims = {
  profile: [
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
  email: ["email", "email_verified"],
  address: ["address"],
  phone: ["phone_number", "phone_number_verified"],
} as const;

/** Scope values for data that administrators assign; each covers the claim of its name. Permissions are in access tokens only. */
export const rbacScopes = ["roles", "groups", "permissions"] as const;

/** Claims of {@link rbacScopes} that ID tokens and UserInfo may contain. */
export const rbacClaims = ["roles", "groups"] as const;

export type ClaimScope = keyof typeof scopeClaims;
export type StandardClaim = (typeof scopeClaims)[ClaimScope][number];

/** Every claim about a person (OIDC Core §5.1) except `sub`. */
export const standardClaims: readonly StandardClaim[] = Object.values(scopeClaims).flat();

/** The names of all claims that a scope covers. */
export function claimsCoveredBy(scope: readonly string[]): readonly string[] {
  return [
    ...scope.filter(isClaimScope).flatMap((value) => scopeClaims[value]),
    ...rbacClaims.filter((name) => scope.includes(name)),
  ];
}

export function isClaimScope(value: string): value is ClaimScope {
  return Object.hasOwn(scopeClaims, value);
}
