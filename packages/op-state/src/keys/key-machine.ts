/**
 * **The rules of the key schedule** (docs/reference/protocols.md §4): rotation, revocation and the passing of time. Pure. Each algorithm in use has a
 * signing key and an announced successor, so the schedule reaches a month ahead without KeyManager, and an emergency finds a successor that relying
 * parties know. A rotation announces one more key; unneeded announced keys are removed after a day. Encryption keys have the same times: the one that
 * "signs" is in /jwks, and a retiring one decrypts (ADR 40).
 */

import { isEncryptionAlgorithm, type KeyAlgorithm, usualKeyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import {
  announceMs,
  type KeyState,
  type KeyTimes,
  keyState,
  keyTiming,
  type ScheduledKey,
  verifyMs,
} from "@edge-op/shared/keys/key-schedule";

/** The maximum number of announced keys per algorithm; rotations in quick succession announce more than one. */
const announcedAtMost = 4;

/**
 * The number of keys from which no rotation is possible. A rotated key stays until its published retirement, one to two months, so
 * that rotations in quick succession add up; every isolate reads the schedule, and relying parties read it as JWKS. Enough for
 * daily rotations of every algorithm, and at most about 2 MB.
 */
export const keysAtMost = 480;

export interface NewKey extends KeyTimes {
  readonly alg: KeyAlgorithm;
}

/** The remaining keys, some with new times, and the keys to generate. */
export interface SchedulePlan {
  readonly keep: readonly ScheduledKey[];
  readonly make: readonly NewKey[];
}

type PlannedKey = ScheduledKey | NewKey;

/** Applies the passing of time: removes expired keys, and keeps a signing key and a successor of every algorithm that is in use or wanted. */
export function planExtension(
  keys: readonly ScheduledKey[],
  atMs: number,
  wanted: readonly KeyAlgorithm[] = [],
): SchedulePlan {
  return complete(keys, atMs, [...algorithmsOf(keys), ...wanted]);
}

/** The algorithms in use: those for which every deployment has keys, and those for which it has created keys. */
function algorithmsOf(keys: readonly ScheduledKey[]): readonly KeyAlgorithm[] {
  return [...usualKeyAlgorithms, ...keys.map(({ alg }) => alg)];
}

/** The time until which there are too many keys for a rotation; enough of them will have retired by then. A revocation is always possible. */
export function rotationPossibleFromMs(keys: readonly ScheduledKey[], atMs: number): number | undefined {
  const retirements = keys
    .filter((key) => keyState(key, atMs) !== "gone")
    .map(({ retireAtMs }) => retireAtMs)
    .sort((a, b) => a - b);
  return retirements[retirements.length - keysAtMost];
}

/**
 * Makes the announced successor sign as soon as K1 allows; the key it replaces may sign during the overlap. A new key is always
 * announced, so that relying parties see a rotation at once, also if the successor has to wait.
 */
export function planRotation(
  keys: readonly ScheduledKey[],
  alg: KeyAlgorithm,
  atMs: number,
): SchedulePlan & { readonly successor: ScheduledKey } {
  const [announced] = inState(keys, alg, "announced", atMs);
  if (announced === undefined) throw new Error(`no ${alg} key is announced: extend the schedule first`);
  const fromMs = Math.max(atMs, announced.publishAtMs + announceMs);
  // It signs by then anyway, or a rotation to it is in progress.
  if (announced.signFromMs <= fromMs)
    return { ...announceOneMore(planExtension(keys, atMs), alg, atMs), successor: announced };
  const successor = { ...announced, ...signingFrom(fromMs, announced) };
  const untilMs = fromMs + keyTiming.overlapMs;
  const moved = keys.map((key) => {
    if (key === announced) return successor;
    return key.alg === alg && key.signFromMs < fromMs && key.signUntilMs > untilMs
      ? { ...key, signUntilMs: untilMs, retireAtMs: retirement(key, untilMs) }
      : key;
  });
  return { ...announceOneMore(planExtension(moved, atMs), alg, atMs), successor };
}

/** Announces one more key, unless the plan already generates a key of the algorithm or the maximum is announced. */
function announceOneMore(plan: SchedulePlan, alg: KeyAlgorithm, atMs: number): SchedulePlan {
  const announced = inState([...plan.keep, ...plan.make], alg, "announced", atMs);
  const last = announced.at(-1);
  if (last === undefined || announced.length >= announcedAtMost || plan.make.some((key) => key.alg === alg))
    return plan;
  const times = signingFrom(last.signUntilMs - keyTiming.overlapMs, newKey(alg, atMs));
  return { ...plan, make: [...plan.make, { alg, ...times }] };
}

/** Removes a key at once; if it was the signing key, the announced one signs from now on. */
export function planRevocation(keys: readonly ScheduledKey[], kid: string, atMs: number): SchedulePlan {
  return complete(
    keys.filter((key) => key.kid !== kid),
    atMs,
    algorithmsOf(keys),
  );
}

/** The violations of K1, K2 and K3 in a schedule; empty for every schedule that may be stored. */
export function findViolations(keys: readonly (NewKey & { readonly kid: string })[]): string[] {
  const violations: string[] = [];
  for (const key of keys) {
    const { kid, publishAtMs, signFromMs, signUntilMs, retireAtMs } = key;
    if (!(publishAtMs <= signFromMs && signFromMs < signUntilMs)) violations.push(`${kid}: times out of order`);
    if (retireAtMs < signUntilMs + verifyMs) violations.push(`K2 ${kid}: retires while its tokens live`);
    // A key without a predecessor cannot wait: the first of a deployment, or the successor of a revoked one.
    const replaces = keys.some((other) => other !== key && other.alg === key.alg && signsAt(other, signFromMs));
    if (replaces && signFromMs - publishAtMs < announceMs) violations.push(`K1 ${kid}: signs before it is known`);
  }
  if (new Set(keys.map(({ kid }) => kid)).size !== keys.length) violations.push("K3: a kid twice");
  return violations;
}

function signsAt(key: KeyTimes, atMs: number): boolean {
  return key.signFromMs < atMs && atMs < key.signUntilMs;
}

/** The keys of one algorithm and state, earliest signer first. */
function inState<Key extends PlannedKey>(
  keys: readonly Key[],
  alg: KeyAlgorithm,
  state: KeyState,
  atMs: number,
): readonly Key[] {
  return keys
    .filter((key) => key.alg === alg && keyState(key, atMs) === state)
    .sort((a, b) => a.signFromMs - b.signFromMs);
}

/** The members that determine the times of a key; a new key has no retirement yet. */
type KnownKey = Pick<NewKey, "alg" | "publishAtMs"> & { readonly retireAtMs?: number };

function newKey(alg: KeyAlgorithm, atMs: number): KnownKey {
  return { alg, publishAtMs: atMs - keyTiming.skewMs };
}

/** The times of a key that signs from `fromMs`. */
function signingFrom(fromMs: number, known: KnownKey): KeyTimes {
  const signUntilMs = fromMs + keyTiming.signMs;
  return {
    publishAtMs: known.publishAtMs,
    signFromMs: fromMs,
    signUntilMs,
    retireAtMs: retirement(known, signUntilMs),
  };
}

/**
 * The retirement of a key that signs until `signUntilMs`. A published retirement is not moved forward, because relying parties may depend on it. An
 * encryption key that is replaced early should soon stop decrypting, so its retirement follows the end of its publication.
 */
function retirement({ alg, retireAtMs = 0 }: KnownKey, signUntilMs: number): number {
  return Math.max(isEncryptionAlgorithm(alg) ? 0 : retireAtMs, signUntilMs + verifyMs);
}

function complete(keys: readonly ScheduledKey[], atMs: number, algorithms: readonly KeyAlgorithm[]): SchedulePlan {
  const distinct = new Set(algorithms);
  let planned: readonly PlannedKey[] = keys.filter((key) => keyState(key, atMs) !== "gone");
  for (const alg of distinct) planned = dropSurplus(planned, alg, atMs);
  for (const alg of distinct) planned = addSuccessor(addSigner(planned, alg, atMs), alg, atMs);
  return {
    keep: planned.filter((key): key is ScheduledKey => "kid" in key),
    make: planned.filter((key): key is NewKey => !("kid" in key)),
  };
}

/**
 * Announced keys after the next signing key have signed nothing; keeping them longer would only keep private keys that may leak.
 */
function dropSurplus(keys: readonly PlannedKey[], alg: KeyAlgorithm, atMs: number): readonly PlannedKey[] {
  const [, ...surplus] = inState(keys, alg, "announced", atMs);
  const old = surplus.filter(({ publishAtMs }) => publishAtMs + keyTiming.overlapMs < atMs);
  return old.length === 0 ? keys : keys.filter((key) => !old.includes(key));
}

/** If no key signs, one signs from now on by every clock, but not before the end of its predecessor, if it replaces one. */
function addSigner(keys: readonly PlannedKey[], alg: KeyAlgorithm, atMs: number): readonly PlannedKey[] {
  if (inState(keys, alg, "active", atMs).length > 0) return keys;
  const [announced] = inState(keys, alg, "announced", atMs);
  const known = announced ?? newKey(alg, atMs);
  const ended = inState(keys, alg, "retiring", atMs).map(({ signUntilMs }) => signUntilMs);
  const fromMs = Math.max(atMs - keyTiming.skewMs, known.publishAtMs, ...ended);
  if (announced === undefined) return [...keys, { alg, ...signingFrom(fromMs, known) }];
  return keys.map((key) => (key === announced ? { ...key, ...signingFrom(fromMs, key) } : key));
}

/**
 * After {@link addSigner}, a key signs now. Its successor signs before it ends, or as soon as K1 allows; if that is too late the
 * key signs longer, so that there is no gap. A revocation may have removed a key from the middle of the sequence.
 */
function addSuccessor(keys: readonly PlannedKey[], alg: KeyAlgorithm, atMs: number): readonly PlannedKey[] {
  const [announced] = inState(keys, alg, "announced", atMs);
  const signers = inState(keys, alg, "active", atMs);
  const last = signers.reduce((latest, key) => (key.signUntilMs > latest.signUntilMs ? key : latest));
  const known = announced ?? newKey(alg, atMs);
  const dueMs = Math.max(last.signUntilMs - keyTiming.overlapMs, known.publishAtMs + announceMs, atMs);
  const fromMs = Math.min(dueMs, announced?.signFromMs ?? dueMs);
  const untilMs = fromMs + keyTiming.overlapMs;

  const bridged = keys.map((key) =>
    key === last && key.signUntilMs < untilMs
      ? { ...key, signUntilMs: untilMs, retireAtMs: retirement(key, untilMs) }
      : key,
  );
  if (announced === undefined) return [...bridged, { alg, ...signingFrom(fromMs, known) }];
  if (announced.signFromMs === fromMs) return bridged;
  const moved = bridged.map((key) => (key === announced ? { ...key, ...signingFrom(fromMs, key) } : key));
  // A key that was moved forward to now signs and needs a successor itself.
  return fromMs > atMs ? moved : addSuccessor(moved, alg, atMs);
}
