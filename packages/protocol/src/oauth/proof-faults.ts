/** **The faults of a DPoP proof** (RFC 9449 §4.3): the reason's code, and the error description for its sender, which contains no secret. */
export const proofFaults = {
  "dpop-too-long": "it is too long",
  "dpop-malformed": "it is not a signed JWT",
  "dpop-signature": "its signature does not match its key",
  "dpop-typ": "its typ is not dpop+jwt",
  "dpop-alg": "its alg is not supported",
  "dpop-alg-not-allowed": "its alg is not allowed for the client",
  "dpop-jwk-missing": "its header has no jwk",
  "dpop-jwk-private": "its jwk contains a private key",
  "dpop-jwk-alg": "its jwk does not match its alg",
  "dpop-jwk-malformed": "its jwk is malformed",
  "dpop-jti": "its jti is missing or too long",
  "dpop-htm": "its htm is not the method of the request",
  "dpop-htu": "its htu is not the URI of the request",
  "dpop-ath": "its ath is not the hash of the access token",
  "dpop-iat-missing": "its iat is missing",
  "dpop-iat": "its iat is too far from the time of the provider",
  "dpop-exp": "it has expired",
  "dpop-nbf": "it is not valid yet",
  "dpop-replayed": "it was used before",
} as const;

export type ProofFault = keyof typeof proofFaults;
