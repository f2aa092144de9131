import { isEncryptionAlgorithm, type KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";

/**
 * **The key schedule**: the times at which each key signs and verifies, or is published to encrypt with and decrypts
 * (docs/reference/protocols.md §4). A pure value, the same in isolates, KV and KeyManager; the state follows from the clock:
 * announced → active → retiring → gone. Times are epoch milliseconds.
 */
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
  /** Until a control change has told every isolate of it: it verifies, and neither signs nor is published to encrypt with (K6). */
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

/** The key that signs with `alg` at a moment: of the active ones that every isolate knows, the newest. `undefined`: the schedule has run out (K5). */
export function signingKey(schedule: KeySchedule, alg: KeyAlgorithm, atMs: number): ScheduledKey | undefined {
  let best: ScheduledKey | undefined;
  for (const key of schedule.keys) {
    if (key.alg !== alg || key.isNew === true || keyState(key, atMs) !== "active") continue;
    if (best === undefined || key.signFromMs > best.signFromMs) best = key;
  }
  return best;
}

/** The state of a key within its schedule: an active key with a newer active one only verifies. */
export function stateWithin(schedule: KeySchedule, key: ScheduledKey, atMs: number): KeyState {
  const state = keyState(key, atMs);
  return state === "active" && signingKey(schedule, key.alg, atMs)?.kid !== key.kid ? "retiring" : state;
}

/** Whether a key verifies, or decrypts, at a moment; announced keys do too, for isolates whose clock is slightly ahead. */
export function isVerifying(key: KeyTimes, atMs: number): boolean {
  const state = keyState(key, atMs);
  return state === "announced" || state === "active" || state === "retiring";
}

/**
 * Whether a key is in `/jwks`. A signing key is there for as long as it verifies; an encryption key only while it is the one to use or about
 * to be replaced: what was encrypted with it meanwhile is decrypted until it retires.
 */
export function isPublished(key: ScheduledKey, atMs: number): boolean {
  if (!isEncryptionAlgorithm(key.alg)) return isVerifying(key, atMs);
  return key.isNew !== true && keyState(key, atMs) === "active";
}
