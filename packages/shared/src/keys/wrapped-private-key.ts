/**
 * **Private keys at rest**: base64url of iv ‖ AES-256-GCM(PKCS #8) under a key derived from `OP_MASTER_KEY`. The kid and the algorithm are
 * authenticated data, so the ciphertext of one key cannot replace another's in a stored schedule.
 */

import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { importPrivateKey } from "@edge-op/protocol/jwt/import-key";
import type { KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import { deriveKey, derivePreviousKey, type MasterKeyBindings } from "../secrets/master-key.ts";
import { openBytes, openWithEither, sealBytes } from "../secrets/seal.ts";

function bindTo(kid: string, alg: KeyAlgorithm): Uint8Array<ArrayBuffer> {
  return encodeUtf8(`${alg} ${kid}`);
}

export async function wrapPrivateKey(
  env: MasterKeyBindings,
  kid: string,
  alg: KeyAlgorithm,
  key: CryptoKey,
): Promise<string> {
  const pkcs8 = (await crypto.subtle.exportKey("pkcs8", key)) as ArrayBuffer;
  return wrap(env, kid, alg, pkcs8);
}

async function wrap(env: MasterKeyBindings, kid: string, alg: KeyAlgorithm, pkcs8: ArrayBuffer): Promise<string> {
  return encodeBase64Url(await sealBytes(await deriveKey(env, "key-wrapping"), pkcs8, bindTo(kid, alg)));
}

/** Wraps a key that unwraps with the previous secret with the current one; `undefined` for any other key. */
export async function rewrapPrivateKey(
  env: MasterKeyBindings,
  kid: string,
  alg: KeyAlgorithm,
  wrapped: string,
): Promise<string | undefined> {
  const previous = await derivePreviousKey(env, "key-wrapping");
  if (previous === undefined) return undefined;
  const pkcs8 = await openBytes(previous, decodeBase64Url(wrapped) ?? new Uint8Array(), bindTo(kid, alg));
  return pkcs8 && wrap(env, kid, alg, pkcs8);
}

/**
 * The private key, not exportable, unwrapped with the current secret or the previous one. Throws if it was wrapped under another
 * master key, kid or algorithm, which is a configuration error.
 */
export async function unwrapPrivateKey(
  env: MasterKeyBindings,
  kid: string,
  alg: KeyAlgorithm,
  wrapped: string,
): Promise<CryptoKey> {
  const bytes = decodeBase64Url(wrapped) ?? new Uint8Array();
  const pkcs8 = await openWithEither(env, "key-wrapping", bytes, bindTo(kid, alg));
  if (pkcs8 === undefined) {
    throw new Error(`the private key ${kid} cannot be unwrapped: is OP_MASTER_KEY the one it was made under?`);
  }
  return importPrivateKey(alg, new Uint8Array(pkcs8));
}
