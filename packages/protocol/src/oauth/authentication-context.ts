/**
 * **The `acr` and `amr` of each sign-in method.** User verification makes a passkey a second factor (`mfa`); `phr` means
 * phishing-resistant.
 *
 * @see https://openid.net/specs/openid-connect-eap-acr-values-1_0.html
 * @see https://www.rfc-editor.org/rfc/rfc8176#section-2
 */
export const authenticationContexts = {
  password: { acr: "urn:edge-op:acr:password", amr: ["pwd"] },
  /** A passkey that is synced between its owner's devices. */
  syncedPasskey: { acr: "phr", amr: ["swk", "user", "mfa"] },
  /** A passkey that never leaves its authenticator. */
  boundPasskey: { acr: "phr", amr: ["hwk", "user", "mfa"] },
} as const;

/** The `acr` of a passkey. No other authentication context has it. */
export const passkeyAcr = authenticationContexts.boundPasskey
  .acr satisfies typeof authenticationContexts.syncedPasskey.acr;

/** For discovery's `acr_values_supported`. */
export const supportedAcrValues: readonly string[] = [
  ...new Set(Object.values(authenticationContexts).map(({ acr }) => acr)),
];

export function isSupportedAcr(acr: string): boolean {
  return supportedAcrValues.includes(acr);
}
