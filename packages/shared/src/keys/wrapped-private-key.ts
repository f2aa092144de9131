import type { SigningAlgorithm } from "../http/settings.ts";
import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "../oauth/bytes.ts";
import { importPrivateKey } from "./key-algorithms.ts";
import { deriveKey, type MasterKeyBindings } from "./master-key.ts";

/**
 * **Private keys at rest**: base64url of iv ‖ AES-256-GCM(PKCS #8), under a key derived from `OP_MASTER_KEY`. The kid and the
 * algorithm are authenticated with it, so one key's ciphertext cannot stand in for another's in a stored schedule.
 */
const ivBytes = 12;

function bindTo(kid: string, alg: SigningAlgorithm): Uint8Array<ArrayBuffer> {
  return encodeUtf8(`${alg} ${kid}`);
}

export async function wrapPrivateKey(
  env: MasterKeyBindings,
  kid: string,
  alg: SigningAlgorithm,
  key: CryptoKey,
): Promise<string> {
  const wrapping = await deriveKey(env, "key-wrapping");
  const pkcs8 = (await crypto.subtle.exportKey("pkcs8", key)) as ArrayBuffer;
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: bindTo(kid, alg) },
    wrapping,
    pkcs8,
  );
  const wrapped = new Uint8Array(ivBytes + sealed.byteLength);
  wrapped.set(iv);
  wrapped.set(new Uint8Array(sealed), ivBytes);
  return encodeBase64Url(wrapped);
}

/** The signing key, not exportable. Throws when it was wrapped under another master key, kid or algorithm: a deployment mistake. */
export async function unwrapPrivateKey(
  env: MasterKeyBindings,
  kid: string,
  alg: SigningAlgorithm,
  wrapped: string,
): Promise<CryptoKey> {
  const wrapping = await deriveKey(env, "key-wrapping");
  const bytes = decodeBase64Url(wrapped) ?? new Uint8Array();
  const iv = bytes.subarray(0, ivBytes);
  try {
    const pkcs8 = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv, additionalData: bindTo(kid, alg) },
      wrapping,
      bytes.subarray(ivBytes),
    );
    return await importPrivateKey(alg, new Uint8Array(pkcs8));
  } catch (cause) {
    throw new Error(`the private key ${kid} cannot be unwrapped: is OP_MASTER_KEY the one it was made under?`, {
      cause,
    });
  }
}
