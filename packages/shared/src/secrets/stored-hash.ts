/**
 * **The text of stored password hashes**: PHC strings of scrypt, PBKDF2 and argon2id, Firebase's variant of scrypt in the same form, and bcrypt in
 * its own. Other products made some of them: an import keeps a hash, and the first sign-in replaces it.
 *
 * @see https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
 */

import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { ScryptCost } from "./password-cost.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The salt and the hash with which a password is compared. */
interface Salted {
  readonly salt: Bytes;
  readonly key: Bytes;
}

export interface ScryptHash extends Salted {
  readonly kind: "scrypt";
  readonly cost: ScryptCost;
}

/** scrypt whose result encrypts the key of a Firebase project: `key` is the ciphertext. */
export interface FirebaseHash extends Salted {
  readonly kind: "firebase-scrypt";
  readonly cost: ScryptCost;
  readonly signerKey: Bytes;
}

export interface Pbkdf2Hash extends Salted {
  readonly kind: "pbkdf2";
  readonly hash: "SHA-1" | "SHA-256" | "SHA-512";
  readonly iterations: number;
}

export interface Argon2Hash extends Salted {
  readonly kind: "argon2id";
  readonly kibibytes: number;
  readonly passes: number;
  readonly lanes: number;
}

export interface BcryptHash {
  readonly kind: "bcrypt";
  /** log2 of its rounds. */
  readonly rounds: number;
  readonly text: string;
}

/** No hash: the hook `legacyPassword` knows the password, and the first sign-in replaces the text. No password matches it here. */
export interface LegacyHash {
  readonly kind: "legacy";
}

export type StoredHash = ScryptHash | FirebaseHash | Pbkdf2Hash | Argon2Hash | BcryptHash | LegacyHash;

/**
 * The maximum cost of one hash, whoever made it: memory beside which an isolate of 128 MB still works, and seconds of CPU at most (measured by
 * `load-tests/measure/measure-hashes.ts`).
 */
const most = {
  kibibytes: 64 * 1024,
  /** N × r × p of scrypt: the most that the platform computes, 1.6 times that of a new hash. */
  scryptWork: 2 ** 20,
  /** Memory × passes of argon2id, in KiB. */
  argon2Work: 320 * 1024,
  lanes: 16,
  bcryptRounds: 13,
  iterations: { "SHA-1": 1_300_000, "SHA-256": 1_000_000, "SHA-512": 300_000 },
  saltBytes: 128,
  keyBytes: 128,
} as const;
const leastKeyBytes = 16;

/** The bytes of a digest: the first block of PBKDF2's result, which is independent of the others and enough to compare. */
export const digestBytes = { "SHA-1": 20, "SHA-256": 32, "SHA-512": 64 } as const;

const base64 = "([A-Za-z0-9+/_-]+)";
const scryptPattern = new RegExp(`^\\$scrypt\\$ln=(\\d{1,2}),r=(\\d{1,2}),p=(\\d{1,2})\\$${base64}\\$${base64}$`);
const firebasePattern = new RegExp(
  `^\\$firebase-scrypt\\$ln=(\\d{1,2}),r=(\\d{1,2})\\$${base64}\\$${base64}\\$${base64}$`,
);
const pbkdf2Pattern = new RegExp(`^\\$pbkdf2-sha(1|256|512)\\$i=(\\d{1,8})(?:,l=\\d+)?\\$${base64}\\$${base64}$`);
const argon2Pattern = new RegExp(
  `^\\$argon2id\\$v=19\\$m=(\\d{1,8}),t=(\\d{1,5}),p=(\\d{1,3})\\$${base64}\\$${base64}$`,
);
const bcryptPattern = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

const legacyText = "$legacy$";

export function isLegacyHash(text: string): boolean {
  return text === legacyText;
}

/** Reads a stored hash; a text says what is wrong with it. */
export function readHash(text: string): StoredHash | string {
  if (isLegacyHash(text)) return { kind: "legacy" };
  const hash = readScrypt(text) ?? readFirebase(text) ?? readPbkdf2(text) ?? readArgon2(text) ?? readBcrypt(text);
  if (hash === undefined) {
    return "must be a hash of scrypt, argon2id (version 19), PBKDF2 or bcrypt, in the form that docs/operating/import.md shows";
  }
  return findFault(hash) ?? hash;
}

function readScrypt(text: string): ScryptHash | undefined {
  const [, ln, r, p, salt, key] = scryptPattern.exec(text) ?? [];
  const salted = decodeSalted(salt, key);
  return salted && { kind: "scrypt", cost: { ln: Number(ln), r: Number(r), p: Number(p) }, ...salted };
}

function readFirebase(text: string): FirebaseHash | undefined {
  const [, ln, r, salt, key, signer] = firebasePattern.exec(text) ?? [];
  const salted = decodeSalted(salt, key);
  const signerKey = decode(signer);
  if (salted === undefined || signerKey === undefined || signerKey.length !== salted.key.length) return undefined;
  return { kind: "firebase-scrypt", cost: { ln: Number(ln), r: Number(r), p: 1 }, signerKey, ...salted };
}

function readPbkdf2(text: string): Pbkdf2Hash | undefined {
  const [, bits, iterations, salt, key] = pbkdf2Pattern.exec(text) ?? [];
  const salted = decodeSalted(salt, key);
  if (salted === undefined) return undefined;
  const hash = `SHA-${bits}` as Pbkdf2Hash["hash"];
  const compared = salted.key.slice(0, digestBytes[hash]);
  return { kind: "pbkdf2", hash, iterations: Number(iterations), salt: salted.salt, key: compared };
}

function readArgon2(text: string): Argon2Hash | undefined {
  const [, kibibytes, passes, lanes, salt, key] = argon2Pattern.exec(text) ?? [];
  const salted = decodeSalted(salt, key);
  if (salted === undefined) return undefined;
  return {
    kind: "argon2id",
    kibibytes: Number(kibibytes),
    passes: Number(passes),
    lanes: Number(lanes),
    ...salted,
  };
}

function readBcrypt(text: string): BcryptHash | undefined {
  const [, rounds] = bcryptPattern.exec(text) ?? [];
  return rounds === undefined ? undefined : { kind: "bcrypt", rounds: Number(rounds), text };
}

function decodeSalted(salt: string | undefined, key: string | undefined): Salted | undefined {
  const decoded = { salt: decode(salt), key: decode(key) };
  return decoded.salt && decoded.key && { salt: decoded.salt, key: decoded.key };
}

/** Base64 in either alphabet (RFC 4648 §4, §5), without padding. */
function decode(text: string | undefined): Bytes | undefined {
  return text === undefined ? undefined : decodeBase64Url(text.replaceAll("+", "-").replaceAll("/", "_"));
}

function findFault(hash: Exclude<StoredHash, LegacyHash>): string | undefined {
  if (hash.kind === "bcrypt") {
    const isInside = hash.rounds >= 4 && hash.rounds <= most.bcryptRounds;
    return isInside ? undefined : `must have a bcrypt cost of 4 to ${most.bcryptRounds}`;
  }
  const { salt, key } = hash;
  if (salt.length > most.saltBytes) return `must have a salt of at most ${most.saltBytes} bytes`;
  if (key.length < leastKeyBytes || key.length > most.keyBytes) {
    return `must have a key of ${leastKeyBytes} to ${most.keyBytes} bytes`;
  }
  if (hash.kind === "pbkdf2") {
    const iterations = most.iterations[hash.hash];
    const isInside = hash.iterations >= 1 && hash.iterations <= iterations;
    return isInside ? undefined : `must have 1 to ${iterations} iterations of ${hash.hash}`;
  }
  if (hash.kind === "argon2id") return findArgon2Fault(hash);
  const { ln, r, p } = hash.cost;
  if (ln < 1 || r < 1 || p < 1) return "must have scrypt parameters of at least 1";
  const isInside = (2 ** ln * r) / 8 <= most.kibibytes && 2 ** ln * r * p <= most.scryptWork;
  return isInside ? undefined : "must need at most 64 MiB, and N × r × p of at most 1048576";
}

function findArgon2Fault({ kibibytes, passes, lanes, salt }: Argon2Hash): string | undefined {
  if (passes < 1 || lanes < 1 || lanes > most.lanes || kibibytes < 8 * lanes || salt.length < 8) {
    return "must have argon2id parameters of RFC 9106, and at most 16 lanes";
  }
  const isInside = kibibytes <= most.kibibytes && kibibytes * passes <= most.argon2Work;
  return isInside ? undefined : "must need at most 65536 KiB, and m × t of at most 327680 KiB";
}
