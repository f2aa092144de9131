/**
 * **How someone can sign in here, as tokens say it**: `acr` and `amr` of each method. A passkey's user verification makes it two
 * factors; `phr` is phishing-resistant.
 *
 * @see https://openid.net/specs/openid-connect-eap-acr-values-1_0.html
 * @see https://www.rfc-editor.org/rfc/rfc8176#section-2
 */
export const authenticationContexts = {
  password: { acr: "urn:edge-op:acr:password", amr: ["pwd"] },
  /** A passkey that its owner's devices share. */
  syncedPasskey: { acr: "phr", amr: ["swk", "user", "mfa"] },
  /** A passkey that never leaves its authenticator. */
  boundPasskey: { acr: "phr", amr: ["hwk", "user", "mfa"] },
} as const;

/** For discovery's `acr_values_supported`. */
export const supportedAcrValues = ["urn:edge-op:acr:password", "phr"] as const;

export function isSupportedAcr(acr: string): boolean {
  return supportedAcrValues.some((supported) => supported === acr);
}
