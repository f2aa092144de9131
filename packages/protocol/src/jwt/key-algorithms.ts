/**
 * **The algorithms of this provider's own keys**: those that it signs with, and those that clients encrypt request objects with. Each key has exactly
 * one algorithm (RFC 8725 §3.1): RS256 and PS256 share no key, and neither do the forms of ECDH-ES.
 */

import { type KeyManagementAlgorithm, keyManagementAlgorithms } from "./encryption-algorithms.ts";
import { type SigningAlgorithm, signingAlgorithms } from "./signing-algorithms.ts";

export type KeyAlgorithm = SigningAlgorithm | KeyManagementAlgorithm;

export const keyAlgorithms: readonly KeyAlgorithm[] = [...signingAlgorithms, ...keyManagementAlgorithms];

/** Algorithms for which every deployment has keys; keys for the others are created when first needed (ADR 6). */
export const usualKeyAlgorithms: readonly KeyAlgorithm[] = ["ES256", "RS256", "EdDSA"];

export function isEncryptionAlgorithm(alg: KeyAlgorithm): alg is KeyManagementAlgorithm {
  return keyManagementAlgorithms.some((each) => each === alg);
}
