/**
 * **The key schedule**: the times at which each key signs and verifies, or is published to encrypt with and decrypts (docs/reference/protocols.md
 * §4). A pure value, the same in isolates, KV and KeyManager; the state follows from the clock: announced → active → retiring → gone. Times are epoch
 * milliseconds.
 */

import { isEncryptionAlgorithm, type KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";

export interface KeyTimes {
  readonly publishAtMs: number;
  readonly signFromMs: number;
  readonly signUntilMs: number;
  readonly retireAtMs: number;
}

export interface ScheduledKey extends KeyTimes {
  readonly kid: string;
  readonly alg: KeyAlgorithm;
  readonly publicJwk: JsonWebKey;
  /** AES-GCM under a key derived from `OP_MASTER_KEY`, base64url of iv ‖ ciphertext of the PKCS #8 key. */
  readonly wrappedPrivateKey: string;
  /** True until a control change has announced the key to every isolate: it is published and verifies, but does not sign (K6). */
  readonly isNew?: true;
}

export interface KeySchedule {
  readonly keys: readonly ScheduledKey[];
  /** Raised by every change, rotation and revocation included. */
  readonly revision: number;
}

export type KeyState = "pending" | "announced" | "active" | "retiring" | "gone";

export function keyState(key: KeyTimes, atMs: number): KeyState {
  if (atMs < key.publishAtMs) return "pending";
  if (atMs < key.signFromMs) return "announced";
  if (atMs < key.signUntilMs) return "active";
  if (atMs < key.retireAtMs) return "retiring";
  return "gone";
}

/** The key that signs with `alg` at a given time: the newest active key that every isolate knows. `undefined` if the schedule has run out (K5). */
export function signingKey(schedule: KeySchedule, alg: KeyAlgorithm, atMs: number): ScheduledKey | undefined {
  let best: ScheduledKey | undefined;
  for (const key of schedule.keys) {
    if (key.alg !== alg || key.isNew === true || keyState(key, atMs) !== "active") continue;
    if (best === undefined || key.signFromMs > best.signFromMs) best = key;
  }
  return best;
}

/** Whether an algorithm has a key that signs, or will sign as soon as every isolate knows it. */
export function hasActiveKey({ keys }: KeySchedule, alg: KeyAlgorithm, atMs: number): boolean {
  return keys.some((key) => key.alg === alg && keyState(key, atMs) === "active");
}

/** The state of a key within its schedule: an active key that has a newer active one only verifies. */
export function stateWithin(schedule: KeySchedule, key: ScheduledKey, atMs: number): KeyState {
  const state = keyState(key, atMs);
  return state === "active" && signingKey(schedule, key.alg, atMs)?.kid !== key.kid ? "retiring" : state;
}

/** Whether a key verifies or decrypts at a given time. Announced keys do too, for isolates whose clock is slightly ahead. */
export function isVerifying(key: KeyTimes, atMs: number): boolean {
  const state = keyState(key, atMs);
  return state === "announced" || state === "active" || state === "retiring";
}

/**
 * Whether a key is in `/jwks`. A signing key is published as long as it verifies; an encryption key only while it is current or about to be replaced.
 * Texts encrypted with it are decrypted until it retires.
 */
export function isPublished(key: ScheduledKey, atMs: number): boolean {
  return isEncryptionAlgorithm(key.alg) ? keyState(key, atMs) === "active" : isVerifying(key, atMs);
}
