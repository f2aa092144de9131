/**
 * **Authenticates text of this provider**: HMAC-SHA-256 under a derived key, truncated to 128 bits, base64url. A value is verified without I/O before
 * its content is used. Comparison is in constant time, and a value has one spelling.
 *
 * @see https://www.rfc-editor.org/rfc/rfc2104#section-5
 */

import { encodeBase64Url, encodeUtf8, equalConstantTime } from "@edge-op/protocol/encoding/bytes";
import { deriveKey, derivePreviousKey, type MasterKeyBindings } from "./master-key.ts";

export type MacPurpose =
  | "refresh-mac"
  | "code-mac"
  | "cookie-mac"
  | "console-mac"
  | "registration-mac"
  | "pairwise-mac"
  | "dpop-nonce";

const macBytes = 16;

async function macOf(key: CryptoKey, text: string): Promise<string> {
  return encodeBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", key, encodeUtf8(text)), 0, macBytes));
}

export async function macText(env: MasterKeyBindings, purpose: MacPurpose, text: string): Promise<string> {
  return macOf(await deriveKey(env, purpose), text);
}

/** The results of {@link macText} with the current secret and, during a replacement, with the previous one: for a code that is derived from a MAC. */
export async function macTexts(env: MasterKeyBindings, purpose: MacPurpose, text: string): Promise<string[]> {
  const previous = await derivePreviousKey(env, purpose);
  const keys = [await deriveKey(env, purpose), ...(previous === undefined ? [] : [previous])];
  return Promise.all(keys.map((key) => macOf(key, text)));
}

/** Verifies with the current secret, then with the previous one. */
export async function verifyMac(
  env: MasterKeyBindings,
  purpose: MacPurpose,
  text: string,
  presented: string,
): Promise<boolean> {
  const bytes = encodeUtf8(presented);
  const fits = async (key: CryptoKey) => equalConstantTime(bytes, encodeUtf8(await macOf(key, text)));
  if (await fits(await deriveKey(env, purpose))) return true;
  const previous = await derivePreviousKey(env, purpose);
  return previous !== undefined && fits(previous);
}
