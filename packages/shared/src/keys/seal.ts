import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "../oauth/bytes.ts";
import { deriveKey, type MasterKeyBindings } from "./master-key.ts";

/**
 * **Hides text that others carry for us**: AES-256-GCM under a derived key, random iv, base64url of iv ‖ ciphertext.
 *
 * @see https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
export type SealPurpose = "refresh-seal" | "subject-seal";

const ivBytes = 12;

export async function sealText(env: MasterKeyBindings, purpose: SealPurpose, text: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const key = await deriveKey(env, purpose);
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, encodeUtf8(text));
  const bytes = new Uint8Array(ivBytes + sealed.byteLength);
  bytes.set(iv);
  bytes.set(new Uint8Array(sealed), ivBytes);
  return encodeBase64Url(bytes);
}

/** Opens what {@link sealText} made. Its carrier is authenticated before: what fails here is a defect of ours and throws. */
export async function openSealed(env: MasterKeyBindings, purpose: SealPurpose, sealed: string): Promise<string> {
  const bytes = decodeBase64Url(sealed);
  if (bytes === undefined) throw new Error("sealed text is not base64url");
  const key = await deriveKey(env, purpose);
  const iv = bytes.subarray(0, ivBytes);
  const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, bytes.subarray(ivBytes));
  return new TextDecoder().decode(opened);
}
