import { claimsCoveredBy } from "./scope-claims.ts";

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
