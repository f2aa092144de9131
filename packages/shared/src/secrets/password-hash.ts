/**
 * **Hashes and verifies passwords** with scrypt, the memory-hard function that workerd has natively. A stored hash is a PHC string that contains its
 * cost, so raising the cost changes no stored value.
 *
 * Cost of one hash or verification: 16 MiB for its duration and about 100 ms of CPU (measured in workerd, one core of a small virtual machine), hence
 * the throttle in front of it. An unknown user costs the same as a wrong password.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7914
 */

/// <reference path="./node-crypto.d.ts" />
import { scrypt } from "node:crypto";
import { decodeBase64Url, encodeBase64Url, equalConstantTime } from "@edge-op/protocol/encoding/bytes";
import { currentCost, type ScryptCost } from "./password-cost.ts";

const saltBytes = 16;
const keyBytes = 32;

/** Stored values are trusted, but an edited row must not be able to exhaust an isolate. */
const maxCost: ScryptCost = { ln: 16, r: 8, p: 16 };

const phcPattern = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9_-]+)\$([A-Za-z0-9_-]+)$/;

interface StoredHash {
  readonly cost: ScryptCost;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly key: Uint8Array<ArrayBuffer>;
}

export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(saltBytes));
  const key = await derive(password, salt, currentCost);
  const { ln, r, p } = currentCost;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${encodeBase64Url(salt)}$${encodeBase64Url(key)}`;
}

/** `stored` is `undefined` for an unknown user or one without a password: the same work is done, and the result is false. */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const { cost, salt, key } = stored === undefined ? nobody : parse(stored);
  const same = equalConstantTime(await derive(password, salt, cost), key);
  return same && stored !== undefined;
}

/** Whether a hash was created at another cost than the current one, and should be replaced at the next sign-in. */
export function isOutdatedHash(stored: string): boolean {
  const { cost } = parse(stored);
  return cost.ln !== currentCost.ln || cost.r !== currentCost.r || cost.p !== currentCost.p;
}

/** The hash that is compared for unknown users. */
const nobody: StoredHash = { cost: currentCost, salt: new Uint8Array(saltBytes), key: new Uint8Array(keyBytes) };

function parse(stored: string): StoredHash {
  const match = phcPattern.exec(stored);
  const salt = decodeBase64Url(match?.[4] ?? "");
  const key = decodeBase64Url(match?.[5] ?? "");
  if (match === null || salt === undefined || key === undefined || key.byteLength !== keyBytes) {
    throw new Error("a stored password hash is malformed");
  }
  const cost = { ln: Number(match[1]), r: Number(match[2]), p: Number(match[3]) };
  if (cost.ln > maxCost.ln || cost.r > maxCost.r || cost.p > maxCost.p) {
    throw new Error("a stored password hash asks for more than an isolate may spend");
  }
  return { cost, salt, key };
}

/** NFKC, so that the same characters typed on two keyboards are the same password (NIST SP 800-63B-4 §3.1.1.2). */
export function normalizePassword(password: string): string {
  return password.normalize("NFKC");
}

function derive(password: string, salt: Uint8Array, { ln, r, p }: ScryptCost): Promise<Uint8Array<ArrayBuffer>> {
  const N = 2 ** ln;
  const maxmem = 128 * r * (N + p + 2);
  return new Promise((resolve, reject) => {
    scrypt(normalizePassword(password), salt, keyBytes, { N, r, p, maxmem }, (error, key) => {
      if (error === null) resolve(new Uint8Array(key));
      else reject(error);
    });
  });
}
