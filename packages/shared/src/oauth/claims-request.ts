/**
 * **The `claims` parameter**, as checked at /authorize: which claims are wanted one by one, and where.
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
