import { decodeBase64Url, encodeUtf8 } from "../oauth/bytes.ts";

/**
 * **Keys derived from `OP_MASTER_KEY`** (32 bytes, base64url) by HKDF-SHA-256, one label each: nothing else in a deployment
 * is secret. @see https://www.rfc-editor.org/rfc/rfc5869
 */
export interface MasterKeyBindings {
  readonly OP_MASTER_KEY: string;
}

type Purpose =
  | "key-wrapping"
  | "refresh-mac"
  | "refresh-seal"
  | "subject-seal"
  | "code-mac"
  | "secret-pepper"
  | "cookie-mac"
  | "pairwise-mac";

const algorithms = {
  "key-wrapping": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "refresh-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "refresh-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "subject-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "code-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "secret-pepper": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign"]],
  "cookie-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "pairwise-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
} as const;

/** Derived keys of this isolate, by secret and purpose: values, not promises, since a promise belongs to one request. */
const derived = new Map<string, CryptoKey>();

export async function deriveKey(env: MasterKeyBindings, purpose: Purpose): Promise<CryptoKey> {
  const cacheKey = `${purpose}:${env.OP_MASTER_KEY}`;
  const known = derived.get(cacheKey);
  if (known !== undefined) return known;
  const secret = decodeBase64Url(env.OP_MASTER_KEY ?? "");
  if (secret === undefined || secret.byteLength !== 32) {
    throw new Error("OP_MASTER_KEY must be 32 bytes, base64url without padding");
  }
  const master = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const [algorithm, usages] = algorithms[purpose];
  const key = await crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encodeUtf8(`edge-op ${purpose}`) },
    master,
    algorithm,
    false,
    [...usages],
  );
  derived.set(cacheKey, key);
  return key;
}
