/**
 * **The encryption algorithms**, for clients and for request objects sent to this provider: only asymmetric ones, because no stored client secret
 * could be a key. PKCS #1 v1.5 is excluded (RFC 8725 §3.2). Client metadata, discovery and key generation derive from these lists.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7518#section-4
 */

export const keyManagementAlgorithms = ["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"] as const;

export type KeyManagementAlgorithm = (typeof keyManagementAlgorithms)[number];

/** WebCrypto's parameters of this provider's own keys, and the usages of their private keys. */
interface DecryptionKeyForm {
  readonly importParameters: SubtleCryptoImportKeyAlgorithm;
  readonly generateParameters: SubtleCryptoGenerateKeyAlgorithm;
  readonly usages: readonly string[];
}

const rsaForm: DecryptionKeyForm = {
  importParameters: { name: "RSA-OAEP", hash: "SHA-256" },
  generateParameters: {
    name: "RSA-OAEP",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
  usages: ["decrypt"],
};
const ecForm: DecryptionKeyForm = {
  importParameters: { name: "ECDH", namedCurve: "P-256" },
  generateParameters: { name: "ECDH", namedCurve: "P-256" },
  usages: ["deriveBits"],
};

export const decryptionKeyForms: Readonly<Record<KeyManagementAlgorithm, DecryptionKeyForm>> = {
  "RSA-OAEP-256": rsaForm,
  "ECDH-ES": ecForm,
  "ECDH-ES+A128KW": ecForm,
  "ECDH-ES+A256KW": ecForm,
};

/** @see https://www.rfc-editor.org/rfc/rfc7518#section-5 */
export const contentEncryptionAlgorithms = ["A128CBC-HS256", "A256CBC-HS512", "A128GCM", "A256GCM"] as const;

export type ContentEncryptionAlgorithm = (typeof contentEncryptionAlgorithms)[number];

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
