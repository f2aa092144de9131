/**
 * **Encrypts text that clients store for this provider**: AES-256-GCM under a derived key, base64url of iv ‖ ciphertext. The iv
 * is random, or a MAC of the text where equal texts must have equal results.
 *
 * @see https://csrc.nist.gov/pubs/sp/800/38/d/final
 */

import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { deriveKey, derivePreviousKey, type MasterKeyBindings } from "./master-key.ts";

export type SealPurpose =
  | "refresh-seal"
  | "code-seal"
  | "subject-seal"
  | "session-seal"
  | "flow-seal"
  | "console-seal"
  | "sid-seal"
  | "factor-seal"
  | "client-secret-seal"
  | "mail-seal"
  | "upstream-seal"
  | "backup-seal";

export const ivBytes = 12;
const unbound = new Uint8Array();
const utf8 = new TextDecoder();

/** Opening it requires the same `bound`. */
export async function sealText(
  env: MasterKeyBindings,
  purpose: SealPurpose,
  text: string,
  { bound = "", iv }: { readonly bound?: string; readonly iv?: Uint8Array<ArrayBuffer> } = {},
): Promise<string> {
  return encodeBase64Url(await sealBytes(await deriveKey(env, purpose), encodeUtf8(text), encodeUtf8(bound), iv));
}

/**
 * Decrypts the result of {@link sealText} with the current secret or the previous one; `undefined` if neither fits. This can happen for an authentic
 * value too, because its ciphertext can be older than its MAC and both secrets.
 */
export async function openSealed(
  env: MasterKeyBindings,
  purpose: SealPurpose,
  sealed: string,
  bound = "",
): Promise<string | undefined> {
  const bytes = decodeBase64Url(sealed);
  if (bytes === undefined) return undefined;
  const opened = await openWithEither(env, purpose, bytes, encodeUtf8(bound));
  return opened && utf8.decode(opened);
}

/** {@link openBytes} with the key of the current secret, then of the previous one. */
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

/** Returns iv ‖ ciphertext. Opening it requires the same `bound`. */
export async function sealBytes(
  key: CryptoKey,
  content: BufferSource,
  bound: Uint8Array<ArrayBuffer> = unbound,
  iv: Uint8Array<ArrayBuffer> = crypto.getRandomValues(new Uint8Array(ivBytes)),
): Promise<Uint8Array<ArrayBuffer>> {
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: bound }, key, content);
  const bytes = new Uint8Array(ivBytes + sealed.byteLength);
  bytes.set(iv);
  bytes.set(new Uint8Array(sealed), ivBytes);
  return bytes;
}

/** `undefined` for a value that was not encrypted with this key and `bound`. */
export async function openBytes(
  key: CryptoKey,
  bytes: Uint8Array<ArrayBuffer>,
  bound: Uint8Array<ArrayBuffer> = unbound,
): Promise<ArrayBuffer | undefined> {
  const iv = bytes.subarray(0, ivBytes);
  try {
    return await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData: bound }, key, bytes.subarray(ivBytes));
  } catch (error) {
    // An invalid tag is the only expected failure of a decryption; anything else is a bug.
    if (error instanceof DOMException && error.name === "OperationError") return undefined;
    throw error;
  }
}
