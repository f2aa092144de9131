import type { KeyManagementAlgorithm } from "./encryption-algorithms.ts";

/** The members that determine a key's use. */
interface KeyUse {
  readonly kty?: string | undefined;
  readonly crv?: string | undefined;
  readonly use?: string | undefined;
  readonly alg?: string | undefined;
}

/** **Whether a key can be used to encrypt with an algorithm.** @see https://www.rfc-editor.org/rfc/rfc7518#section-4.1 */
export function isEncryptionKey({ kty, crv, use, alg: keyAlg }: KeyUse, alg: KeyManagementAlgorithm): boolean {
  if (use !== undefined && use !== "enc") return false;
  if (keyAlg !== undefined && keyAlg !== alg) return false;
  return alg === "RSA-OAEP-256" ? kty === "RSA" : kty === "EC" || crv === "X25519";
}
