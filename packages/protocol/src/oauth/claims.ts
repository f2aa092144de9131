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

/** For the list of the person's organisations at UserInfo, in a grant without an organisation. */
export const organizationsScope = "organizations";

/** Claims of {@link rbacScopes} that ID tokens and UserInfo may contain. */
export const rbacClaims = ["roles", "groups"] as const;

type ClaimScope = keyof typeof scopeClaims;
type StandardClaim = (typeof scopeClaims)[ClaimScope][number];

/** Every claim about a person (OIDC Core §5.1) except `sub`. */
export const standardClaims: readonly StandardClaim[] = Object.values(scopeClaims).flat();

/** The names of all claims that a scope covers. */
export function claimsCoveredBy(scope: readonly string[]): readonly string[] {
  return [
    ...scope.filter(isClaimScope).flatMap((value) => scopeClaims[value]),
    ...rbacClaims.filter((name) => scope.includes(name)),
  ];
}

function isClaimScope(value: string): value is ClaimScope {
  return Object.hasOwn(scopeClaims, value);
}

export interface ClaimRequest {
  readonly essential?: boolean;
  readonly value?: string | number | boolean;
  readonly values?: readonly (string | number | boolean)[];
}

export type ClaimRequests = Readonly<Record<string, ClaimRequest | null>>;

/**
 * **The `claims` parameter**, as checked at /authorize: the claims that are requested individually, and where they are returned.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
export interface ClaimsRequest {
  readonly userinfo?: ClaimRequests;
  readonly id_token?: ClaimRequests;
}

/** Claims about the token and the authentication, which no scope covers and which need no consent. */
export const protocolClaims: readonly string[] = [
  ...["sub", "iss", "aud", "exp", "iat", "nonce", "azp"],
  ...["auth_time", "acr", "amr", "sid"],
];

/**
 * **The claims about a person that are requested, and that the client's registered scope covers**: the `claims` parameter is another way to request
 * registered claims, not a way around the registration.
 */
export function coveredClaims(requests: ClaimRequests | undefined, registeredScope: readonly string[]): string[] {
  if (requests === undefined) return [];
  const covered = claimsCoveredBy(registeredScope);
  return Object.keys(requests).filter((name) => covered.includes(name));
}
