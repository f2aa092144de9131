/**
 * **Keys derived from `OP_MASTER_KEY`** (32 bytes, base64url) by HKDF-SHA-256, with one label each. During a replacement of the master key (ADR 6) a
 * second secret is tried if the current one does not match. New values are always created with the current secret, so only values older than the
 * replacement need the second attempt.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5869
 */

import { decodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";

export interface MasterKeyBindings {
  readonly OP_MASTER_KEY: string;
  /** Only used to read: the previous `OP_MASTER_KEY` or, during the change itself, the next one. */
  readonly OP_MASTER_KEY_PREVIOUS?: string;
  /**
   * The secret from which pairwise subjects and session ids are derived, permanently; `OP_MASTER_KEY` by default. Relying parties know users by
   * these subjects.
   */
  readonly OP_PAIRWISE_KEY?: string;
}

type SecretName = keyof MasterKeyBindings;

type Purpose =
  | "key-wrapping"
  | "refresh-mac"
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
  | "backup-seal"
  | "code-mac"
  | "cookie-mac"
  | "console-mac"
  | "registration-mac"
  | "pairwise-mac"
  | "dpop-nonce";

const algorithms = {
  "key-wrapping": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "refresh-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "refresh-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "code-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "subject-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "session-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "flow-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "console-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "sid-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "client-secret-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "factor-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "mail-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "backup-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "upstream-seal": [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
  "code-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "console-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "cookie-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "registration-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "pairwise-mac": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
  "dpop-nonce": [{ name: "HMAC", hash: "SHA-256", length: 256 }, ["sign", "verify"]],
} as const;

/** Derived keys of this isolate, by secret and purpose: values, not promises, because a promise belongs to one request. */
const derived = new Map<string | undefined, Map<Purpose, CryptoKey>>();

/** The key that new values are created with. */
export function deriveKey(env: MasterKeyBindings, purpose: Purpose): CryptoKey | Promise<CryptoKey> {
  const isPairwise = (purpose === "pairwise-mac" || purpose === "sid-seal") && isGiven(env.OP_PAIRWISE_KEY);
  return deriveFrom(env, isPairwise ? "OP_PAIRWISE_KEY" : "OP_MASTER_KEY", purpose);
}

/** The key to try if the one of {@link deriveKey} does not match; `undefined` in a deployment that is not replacing its secret. */
export async function derivePreviousKey(env: MasterKeyBindings, purpose: Purpose): Promise<CryptoKey | undefined> {
  return isGiven(env.OP_MASTER_KEY_PREVIOUS) ? deriveFrom(env, "OP_MASTER_KEY_PREVIOUS", purpose) : undefined;
}

function isGiven(secret: string | undefined): boolean {
  return secret !== undefined && secret !== "";
}

function deriveFrom(env: MasterKeyBindings, name: SecretName, purpose: Purpose): CryptoKey | Promise<CryptoKey> {
  return derived.get(env[name])?.get(purpose) ?? deriveNew(env, name, purpose);
}

async function deriveNew(env: MasterKeyBindings, name: SecretName, purpose: Purpose): Promise<CryptoKey> {
  const secret = readSecret(env, name);
  // An invalid value must fail immediately, not at the first value that is older than the replacement.
  if (isGiven(env.OP_MASTER_KEY_PREVIOUS)) readSecret(env, "OP_MASTER_KEY_PREVIOUS");
  if (isGiven(env.OP_PAIRWISE_KEY)) readSecret(env, "OP_PAIRWISE_KEY");
  const master = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const [algorithm, usages] = algorithms[purpose];
  const key = await crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encodeUtf8(`edge-op ${purpose}`) },
    master,
    algorithm,
    false,
    [...usages],
  );
  const known = derived.get(env[name]);
  if (known === undefined) derived.set(env[name], new Map([[purpose, key]]));
  else known.set(purpose, key);
  return key;
}

function readSecret(env: MasterKeyBindings, name: SecretName): Uint8Array<ArrayBuffer> {
  const secret = decodeBase64Url(env[name] ?? "");
  if (secret === undefined || secret.byteLength !== 32) {
    throw new Error(`${name} must be 32 bytes, base64url without padding`);
  }
  return secret;
}
