import { type KeyManagementAlgorithm, keyManagementAlgorithms } from "./encryption-algorithms.ts";
import { type SigningAlgorithm, signingAlgorithms } from "./signing-algorithms.ts";

/**
 * **The algorithms of this provider's own keys**: those that it signs with, and those that clients encrypt request objects with. Each key
 * is for one algorithm alone (RFC 8725 §3.1): RS256 and PS256 share no key, and neither do the forms of ECDH-ES.
 */
export type KeyAlgorithm = SigningAlgorithm | KeyManagementAlgorithm;

export const keyAlgorithms: readonly KeyAlgorithm[] = [...signingAlgorithms, ...keyManagementAlgorithms];

/** Those of which every deployment has keys; keys of the others are made when they are first wanted (ADR 55). */
export const usualKeyAlgorithms: readonly KeyAlgorithm[] = ["ES256", "RS256", "EdDSA"];

export function isEncryptionAlgorithm(alg: KeyAlgorithm): alg is KeyManagementAlgorithm {
  return keyManagementAlgorithms.some((each) => each === alg);
}
