/**
 * **The key schedule**: the times at which each key signs and verifies, or is published to encrypt with and decrypts (docs/reference/protocols.md
 * §4). A pure value, the same in isolates, KV and KeyManager; the state follows from the clock: announced → active → retiring → gone. Times are epoch
 * milliseconds.
 */

import { isEncryptionAlgorithm, type KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import { longestTokenLifetimeSeconds } from "../config/settings.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";

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

/**
 * **Propagation times and lifetimes of the key schedule** (docs/reference/protocols.md §4): every duration of K1 and K2, in milliseconds, except the
 * header value `jwksMaxAgeSeconds`.
 */

const minuteMs = 60_000;
const dayMs = 86_400_000;

export const keyTiming = {
  /** `Cache-Control` of `/jwks`. */
  jwksMaxAgeSeconds: 300,
  /** An isolate's copy is renewed in the background after half of this, and must be confirmed after all of it. */
  isolateTtlMs: 5 * minuteMs,
  /** A KV copy older than this is used only while KeyManager does not respond. */
  kvCopyMs: 5 * minuteMs,
  /** How long a KV edge may serve a value that has been overwritten. */
  kvStalenessMs: minuteMs,
  /** How long a key signs. */
  signMs: 30 * dayMs,
  /** The successor signs this long before its predecessor stops. */
  overlapMs: dayMs,
  /**
   * The maximum difference between two clocks of the platform, with a margin. The times of a new key begin this long before its creation, so that it
   * is valid for an earlier request on a machine whose clock is behind.
   */
  skewMs: minuteMs,
} as const;

const { jwksMaxAgeSeconds, isolateTtlMs, kvCopyMs, kvStalenessMs, skewMs } = keyTiming;

/** K1: a key is published this long before it signs: at least the sum of all caches through which a relying party may read it. */
export const announceMs =
  skewMs +
  Math.max(
    2 * Math.max(jwksMaxAgeSeconds * 1000, isolateTtlMs, kvStalenessMs),
    jwksMaxAgeSeconds * 1000 + isolateTtlMs + kvCopyMs + kvStalenessMs,
  );

/** K2: a key verifies for this long after it last signed. */
export const verifyMs = longestTokenLifetimeSeconds * 1000 + skewMs;

/** **The RPC interface of `KeyManager`.** One object, named `keys`; isolates follow the schedule by time and rarely call it. */
export interface KeyManagerRpc extends FactsRpc {
  /**
   * The schedule; the first call of a new deployment creates it. Creates keys for `wanted` algorithms that have none. They sign when they have been
   * announced, for which the call waits at most 3 s with `signs`.
   */
  schedule(wanted?: readonly KeyAlgorithm[], signs?: boolean): Promise<KeySchedule>;
  /** Announces a successor that signs as soon as K1 allows, and returns its kid. Idempotent by `operationId`. */
  rotate(alg: KeyAlgorithm, operationId: string): Promise<RotateKeyResult>;
  /**
   * Removes a key at once and activates the announced successor (or creates one). The caller then records a change of kind `keys` and publishes it.
   */
  revokeKey(kid: string, operationId: string): Promise<{ readonly kind: "revoked" } | { readonly kind: "unknown" }>;
}

/** `full`: too many keys are still published; another one would exceed the size that isolates and relying parties read. */
export type RotateKeyResult =
  | { readonly kind?: never; readonly kid: string; readonly signFromMs: number }
  | { readonly kind: "full"; readonly possibleFromMs: number };

export const keyManagerName = "keys";
