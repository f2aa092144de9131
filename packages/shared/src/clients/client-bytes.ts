import type { Client } from "./client.ts";

/** A `CryptoKey` with its native key, and the JOSE library's cache entry for it. */
const importedKeyBytes = 2_048;
/** The shortest coordinate of a supported key has 43 characters, so a shorter one is never imported. */
const shortestMember = 40;
/** The text that matched a secret (callers/client-secret.ts). */
const matchedSecretBytes = 384;

/** **The memory of key sets after their keys were imported**, in addition to the sets themselves. Each key object is imported at most once. */
export function importedKeysBytes(keys: readonly JsonWebKey[]): number {
  let bytes = 0;
  for (const { n, x } of keys) if ((n ?? x ?? "").length >= shortestMember) bytes += importedKeyBytes;
  return bytes;
}

/** The bytes that an isolate may attach to a cached client: imported keys and matched secrets. */
export function attachedClientBytes({ metadata, secrets }: Client): number {
  return importedKeysBytes(metadata.jwks?.keys ?? []) + secrets.length * matchedSecretBytes;
}
