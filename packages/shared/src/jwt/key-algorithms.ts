import { type SigningAlgorithm, signingAlgorithms } from "../config/settings.ts";

/**
 * **The signature algorithms of this provider**, as WebCrypto knows them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7518#section-3
 * @see https://www.rfc-editor.org/rfc/rfc8037#section-3.1
 */
export function isSigningAlgorithm(alg: string): alg is SigningAlgorithm {
  return (signingAlgorithms as readonly string[]).includes(alg);
}

const importParameters = {
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  EdDSA: { name: "Ed25519" },
} as const satisfies Record<SigningAlgorithm, SubtleCryptoImportKeyAlgorithm>;

const generateParameters = {
  ...importParameters,
  RS256: { ...importParameters.RS256, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
} as const satisfies Record<SigningAlgorithm, SubtleCryptoGenerateKeyAlgorithm>;

/** A new key pair; the private key can be exported, to be wrapped. */
export async function generateSigningKey(alg: SigningAlgorithm): Promise<CryptoKeyPair> {
  return (await crypto.subtle.generateKey(generateParameters[alg], true, ["sign", "verify"])) as CryptoKeyPair;
}

export function importPublicKey(alg: SigningAlgorithm, jwk: JsonWebKey): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, importParameters[alg], false, ["verify"]);
}

export function importPrivateKey(alg: SigningAlgorithm, pkcs8: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("pkcs8", pkcs8, importParameters[alg], false, ["sign"]);
}
