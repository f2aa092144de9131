/**
 * **Hashes and verifies passwords** with scrypt, the memory-hard function that workerd has natively. A stored hash contains its function and cost, so
 * raising the cost changes no stored value, and hashes of other products can be kept (stored-hash.ts).
 *
 * Cost of one hash or verification: 16 MiB for its duration and about 100 ms of CPU (measured in workerd, one core of a small virtual machine), hence
 * the throttle in front of it. An unknown user costs the same as a wrong password, and a cheaper hash as much as a new one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7914
 */

import { encodeBase64Url, encodeUtf8, equalConstantTime } from "@edge-op/protocol/encoding/bytes";
import { deriveHashKey, deriveScrypt, matchesBcrypt } from "./derive-hash.ts";
import { isComparedTwice, missingCost } from "./hash-cost.ts";
import { currentCost } from "./password-cost.ts";
import { readHash, type ScryptHash, type StoredHash } from "./stored-hash.ts";

const saltBytes = 16;
const keyBytes = 32;

export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(saltBytes));
  const key = await deriveScrypt(encodeUtf8(normalizePassword(password)), salt, currentCost, keyBytes);
  const { ln, r, p } = currentCost;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${encodeBase64Url(salt)}$${encodeBase64Url(key)}`;
}

/**
 * `stored` is `undefined` for an unknown user or one without a password: the same work is done, and the result is false. A hash of another product
 * may be of the password as it was typed, so a spelling that normalization changes is compared too, whoever the user is.
 */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const hash = stored === undefined ? nobody : parse(stored);
  let isSame = false;
  for (const spelling of isComparedTwice(hash) ? spellingsOf(password) : [password]) {
    if (await matches(hash, spelling)) isSame = true;
    await makeUp(hash, spelling);
  }
  return isSame && stored !== undefined;
}

/** The spellings that are compared: one, unless normalization changes it. A dear hash is compared once, as it was typed. */
export function spellingsOf(password: string): readonly string[] {
  return [...new Set([normalizePassword(password), password])];
}

/** Whether a hash was created by another function or at another cost than a new one, and should be replaced at the next sign-in. */
export function isOutdatedHash(stored: string): boolean {
  const hash = parse(stored);
  if (hash.kind !== "scrypt") return true;
  const { cost, salt, key } = hash;
  const isCurrent = cost.ln === currentCost.ln && cost.r === currentCost.r && cost.p === currentCost.p;
  return !isCurrent || salt.length !== saltBytes || key.length !== keyBytes;
}

/** The hash that is compared for unknown users. */
const nobody: ScryptHash = {
  kind: "scrypt",
  cost: currentCost,
  salt: new Uint8Array(saltBytes),
  key: new Uint8Array(keyBytes),
};

/** Stored values were checked at import, but an edited row must not be able to exhaust an isolate. */
function parse(stored: string): StoredHash {
  const hash = readHash(stored);
  if (typeof hash === "string") throw new Error(`a stored password hash ${hash}`);
  return hash;
}

async function matches(hash: StoredHash, password: string): Promise<boolean> {
  if (hash.kind === "legacy") return false;
  if (hash.kind === "bcrypt") return matchesBcrypt(hash.text, password);
  return equalConstantTime(await deriveHashKey(hash, password), hash.key);
}

/** The work that a cheaper hash has saved: the time of a refusal must not tell that an account was imported. */
async function makeUp(hash: StoredHash, password: string): Promise<void> {
  const cost = missingCost(hash);
  if (cost !== undefined) await deriveScrypt(encodeUtf8(password), nobody.salt, cost, keyBytes);
}

/** NFC, so that the same characters typed on two keyboards are the same password (NIST SP 800-63B-4 §3.1.1.2, RFC 8265 §4.2.2). */
export function normalizePassword(password: string): string {
  return password.normalize("NFC");
}
