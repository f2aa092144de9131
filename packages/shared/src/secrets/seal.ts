import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "../runtime/bytes.ts";
import { deriveKey, derivePreviousKey, type MasterKeyBindings } from "./master-key.ts";

/**
 * **Hides text that others carry for us**: AES-256-GCM under a derived key, random iv, base64url of iv ‖ ciphertext.
 *
 * @see https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
export type SealPurpose = "refresh-seal" | "subject-seal";

const ivBytes = 12;
const unbound = new Uint8Array();

export async function sealText(env: MasterKeyBindings, purpose: SealPurpose, text: string): Promise<string> {
  return encodeBase64Url(await sealBytes(await deriveKey(env, purpose), encodeUtf8(text)));
}

/**
 * Opens what {@link sealText} made, with the current secret or the one before it; `undefined` for what neither sealed. A
 * carrier that is authentic may still hold that: its seal can be older than its MAC, and than both secrets.
 */
export async function openSealed(
  env: MasterKeyBindings,
  purpose: SealPurpose,
  sealed: string,
): Promise<string | undefined> {
  const bytes = decodeBase64Url(sealed);
  if (bytes === undefined) return undefined;
  const opened = await openWithEither(env, purpose, bytes);
  return opened && new TextDecoder().decode(opened);
}

/** {@link openBytes} with the current secret's key, else with the key of the one before it. */
export async function openWithEither(
  env: MasterKeyBindings,
  purpose: SealPurpose | "key-wrapping",
  bytes: Uint8Array<ArrayBuffer>,
  bound?: Uint8Array<ArrayBuffer>,
): Promise<ArrayBuffer | undefined> {
  const opened = await openBytes(await deriveKey(env, purpose), bytes, bound);
  if (opened !== undefined) return opened;
  const previous = await derivePreviousKey(env, purpose);
  return previous && openBytes(previous, bytes, bound);
}

/** iv ‖ ciphertext. `bound` must be the same to open it. */
export async function sealBytes(
  key: CryptoKey,
  content: BufferSource,
  bound: Uint8Array<ArrayBuffer> = unbound,
): Promise<Uint8Array<ArrayBuffer>> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: bound }, key, content);
  const bytes = new Uint8Array(ivBytes + sealed.byteLength);
  bytes.set(iv);
  bytes.set(new Uint8Array(sealed), ivBytes);
  return bytes;
}

/** `undefined` for what was not sealed with this key and `bound`. */
export async function openBytes(
  key: CryptoKey,
  bytes: Uint8Array<ArrayBuffer>,
  bound: Uint8Array<ArrayBuffer> = unbound,
): Promise<ArrayBuffer | undefined> {
  const iv = bytes.subarray(0, ivBytes);
  try {
    return await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData: bound }, key, bytes.subarray(ivBytes));
  } catch (error) {
    // That the tag does not fit is all that a decryption says; anything else is a defect.
    if (error instanceof DOMException && error.name === "OperationError") return undefined;
    throw error;
  }
}
