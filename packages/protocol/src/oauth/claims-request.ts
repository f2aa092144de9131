import { claimsCoveredBy } from "./scope-claims.ts";

/**
 * **The `claims` parameter**, as checked at /authorize: which claims are requested one by one, and where.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
export interface ClaimRequest {
  readonly essential?: boolean;
  readonly value?: string | number | boolean;
  readonly values?: readonly (string | number | boolean)[];
}

export type ClaimRequests = Readonly<Record<string, ClaimRequest | null>>;

export interface ClaimsRequest {
  readonly userinfo?: ClaimRequests;
  readonly id_token?: ClaimRequests;
}

/** Claims about the token and the authentication: no scope covers them, and there is nothing to consent to. */
export const protocolClaims: readonly string[] = [
  ...["sub", "iss", "aud", "exp", "iat", "nonce", "azp"],
  ...["auth_time", "acr", "amr", "sid"],
];

/**
 * **The claims about a person that are requested, and that the client's registered scope covers**: the `claims` parameter is another way to
 * request what the client registered, not a way past its registration.
 */
export function coveredClaims(requests: ClaimRequests | undefined, registeredScope: readonly string[]): string[] {
  if (requests === undefined) return [];
  const covered = claimsCoveredBy(registeredScope);
  return Object.keys(requests).filter((name) => covered.includes(name));
}
