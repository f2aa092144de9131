import { decryptionKeyForms } from "./encryption-algorithms.ts";
import { isEncryptionAlgorithm, type KeyAlgorithm } from "./key-algorithms.ts";
import { type SigningAlgorithm, signingAlgorithmTable } from "./signing-algorithms.ts";

/** **Generates a key pair**. Its private key can be exported, to be wrapped. */
export async function generateKeyPair(alg: KeyAlgorithm): Promise<CryptoKeyPair> {
  const { generateParameters, usages } = isEncryptionAlgorithm(alg)
    ? { ...decryptionKeyForms[alg], usages: generatedUsages(decryptionKeyForms[alg].usages) }
    : { ...signingAlgorithmTable[alg], usages: ["sign", "verify"] };
  return (await crypto.subtle.generateKey(generateParameters, true, usages)) as CryptoKeyPair;
}

export function importPublicKey(alg: SigningAlgorithm, jwk: JsonWebKey): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, signingAlgorithmTable[alg].importParameters, false, ["verify"]);
}

export function importPrivateKey(alg: KeyAlgorithm, pkcs8: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const { importParameters, usages } = isEncryptionAlgorithm(alg)
    ? decryptionKeyForms[alg]
    : { ...signingAlgorithmTable[alg], usages: ["sign"] };
  return crypto.subtle.importKey("pkcs8", pkcs8, importParameters, false, [...usages]);
}

/** WebCrypto also requires a usage of the public key, if it has one. */
function generatedUsages(usages: readonly string[]): string[] {
  return usages.includes("decrypt") ? ["encrypt", ...usages] : [...usages];
}
