import { type SigningAlgorithm, signingAlgorithmTable } from "../config/signing-algorithms.ts";

/** **Generates a signing key pair.** Its private key can be exported, to be wrapped. */
export async function generateSigningKey(alg: SigningAlgorithm): Promise<CryptoKeyPair> {
  return (await crypto.subtle.generateKey(signingAlgorithmTable[alg].generateParameters, true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
}

export function importPublicKey(alg: SigningAlgorithm, jwk: JsonWebKey): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, signingAlgorithmTable[alg].importParameters, false, ["verify"]);
}

export function importPrivateKey(alg: SigningAlgorithm, pkcs8: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("pkcs8", pkcs8, signingAlgorithmTable[alg].importParameters, false, ["sign"]);
}
