/**
 * **Computes what a password is compared with**: scrypt and PBKDF2 by the platform. Other functions are loaded when a stored hash first needs them,
 * so that they cost nothing at the start of an isolate.
 */

/// <reference path="./node-crypto.d.ts" />
import { scrypt } from "node:crypto";
import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import type { ScryptCost } from "./password-cost.ts";
import { type Argon2Hash, digestBytes, type FirebaseHash, type Pbkdf2Hash, type StoredHash } from "./stored-hash.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The maximum of Cloudflare's WebCrypto. Local runs have no such limit, so it is checked here.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/web-crypto/
 */
export const platformIterations = 100_000;

/** The key of a hash that has one. */
export function deriveHashKey(
  hash: Exclude<StoredHash, { kind: "bcrypt" | "legacy" }>,
  password: string,
): Promise<Bytes> {
  switch (hash.kind) {
    case "scrypt":
      return deriveScrypt(encodeUtf8(password), hash.salt, hash.cost, hash.key.length);
    case "firebase-scrypt":
      return deriveFirebase(hash, password);
    case "pbkdf2":
      return derivePbkdf2(hash, password);
    case "argon2id":
      return deriveArgon2(hash, password);
  }
}

/** Bytes after the 72nd are ignored, as in every bcrypt. */
export async function matchesBcrypt(text: string, password: string): Promise<boolean> {
  const { default: bcrypt } = await import("bcryptjs");
  return bcrypt.compareSync(password, text);
}

/** RFC 7914. */
export function deriveScrypt(password: Bytes, salt: Bytes, { ln, r, p }: ScryptCost, keyBytes: number): Promise<Bytes> {
  const N = 2 ** ln;
  const maxmem = 128 * r * (N + p + 2);
  return new Promise((resolve, reject) => {
    scrypt(password, salt, keyBytes, { N, r, p, maxmem }, (error, key) => {
      if (error === null) resolve(new Uint8Array(key));
      else reject(error);
    });
  });
}

/**
 * The signer key of the project, encrypted under the scrypt key by AES-256-CTR with a counter of zero.
 *
 * @see https://github.com/firebase/scrypt
 */
async function deriveFirebase({ salt, cost, signerKey }: FirebaseHash, password: string): Promise<Bytes> {
  const derived = await deriveScrypt(encodeUtf8(password), salt, cost, 64);
  const key = await crypto.subtle.importKey("raw", derived.slice(0, 32), "AES-CTR", false, ["encrypt"]);
  const counter = { name: "AES-CTR", counter: new Uint8Array(16), length: 64 };
  return new Uint8Array(await crypto.subtle.encrypt(counter, key, signerKey));
}

/** RFC 8018 §5.2. */
async function derivePbkdf2({ hash, iterations, salt, key }: Pbkdf2Hash, password: string): Promise<Bytes> {
  if (iterations > platformIterations) {
    const [{ pbkdf2 }, functions, { sha1 }] = await Promise.all([
      import("@noble/hashes/pbkdf2.js"),
      import("@noble/hashes/sha2.js"),
      import("@noble/hashes/legacy.js"),
    ]);
    const digest = { "SHA-1": sha1, "SHA-256": functions.sha256, "SHA-512": functions.sha512 }[hash];
    return new Uint8Array(
      pbkdf2(digest, encodeUtf8(password), salt, { c: iterations, dkLen: digestBytes[hash] }),
    ).slice(0, key.length);
  }
  const base = await crypto.subtle.importKey("raw", encodeUtf8(password), "PBKDF2", false, ["deriveBits"]);
  const derived = await crypto.subtle.deriveBits({ name: "PBKDF2", hash, salt, iterations }, base, key.length * 8);
  return new Uint8Array(derived);
}

/** RFC 9106. */
async function deriveArgon2({ kibibytes, passes, lanes, salt, key }: Argon2Hash, password: string): Promise<Bytes> {
  const { argon2id } = await import("@noble/hashes/argon2.js");
  const options = { m: kibibytes, t: passes, p: lanes, dkLen: key.length };
  return new Uint8Array(argon2id(encodeUtf8(password), salt, options));
}
