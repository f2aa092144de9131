import { type SigningAlgorithm, signingAlgorithms } from "@edge-op/shared/config/signing-algorithms";
import { announceMs, keyTiming, verifyMs } from "@edge-op/shared/keys/key-timing";
import { type KeyState, type KeyTimes, keyState, type ScheduledKey } from "@edge-op/shared/objects/key-schedule";

/**
 * **The rules of the key schedule** (docs/reference/protocols.md §4), pure: what a rotation, a revocation or the passing of time does to it.
 * Per algorithm there is always a key that signs and one announced to succeed it, so the schedule reaches a month ahead
 * whatever becomes of KeyManager, and an emergency finds a successor that everyone knows already. A rotation announces one
 * more; announced keys that are not needed are dropped after a day.
 */
/** Keys of one algorithm that are announced at once, at most: rotations in quick succession make more than one. */
const announcedAtMost = 4;

export interface NewKey extends KeyTimes {
  readonly alg: SigningAlgorithm;
}

/** The keys that stay, some with new times, and those to be made. */
export interface SchedulePlan {
  readonly keep: readonly ScheduledKey[];
  readonly make: readonly NewKey[];
}

type PlannedKey = ScheduledKey | NewKey;

/** What the passing of time asks for: forget what is gone, keep a signer and a successor of every algorithm. */
export function planExtension(keys: readonly ScheduledKey[], atMs: number): SchedulePlan {
  return complete(keys, atMs);
}

/**
 * Brings the announced successor forward to as soon as K1 allows; the key it replaces may sign for the overlap. A new key is
 * announced in any case, so that relying parties see a rotation at once, also where the successor has to wait.
 */
export function planRotation(
  keys: readonly ScheduledKey[],
  alg: SigningAlgorithm,
  atMs: number,
): SchedulePlan & { readonly successor: ScheduledKey } {
  const [announced] = inState(keys, alg, "announced", atMs);
  if (announced === undefined) throw new Error(`no ${alg} key is announced: extend the schedule first`);
  const fromMs = Math.max(atMs, announced.publishAtMs + announceMs);
  // It signs that soon anyway, or is being rotated to already.
  if (announced.signFromMs <= fromMs)
    return { ...announceOneMore(complete(keys, atMs), alg, atMs), successor: announced };
  const successor = { ...announced, ...signingFrom(fromMs, announced) };
  const untilMs = fromMs + keyTiming.overlapMs;
  const moved = keys.map((key) => {
    if (key === announced) return successor;
    return key.alg === alg && key.signFromMs < fromMs && key.signUntilMs > untilMs
      ? { ...key, signUntilMs: untilMs }
      : key;
  });
  return { ...announceOneMore(complete(moved, atMs), alg, atMs), successor };
}

/** Unless the plan makes a key of the algorithm already, or as many are announced as may be. */
function announceOneMore(plan: SchedulePlan, alg: SigningAlgorithm, atMs: number): SchedulePlan {
  const announced = inState([...plan.keep, ...plan.make], alg, "announced", atMs);
  const last = announced.at(-1);
  if (last === undefined || announced.length >= announcedAtMost || plan.make.some((key) => key.alg === alg))
    return plan;
  const times = signingFrom(last.signUntilMs - keyTiming.overlapMs, { publishAtMs: atMs - keyTiming.skewMs });
  return { ...plan, make: [...plan.make, { alg, ...times }] };
}

/** Drops a key at once; if it was the one that signs, the announced one signs from now on. */
export function planRevocation(keys: readonly ScheduledKey[], kid: string, atMs: number): SchedulePlan {
  return complete(
    keys.filter((key) => key.kid !== kid),
    atMs,
  );
}

/** What of a schedule breaks K1, K2 or K3; empty for every schedule that may be stored. */
export function findViolations(keys: readonly (NewKey & { readonly kid: string })[]): string[] {
  const violations: string[] = [];
  for (const key of keys) {
    const { kid, publishAtMs, signFromMs, signUntilMs, retireAtMs } = key;
    if (!(publishAtMs <= signFromMs && signFromMs < signUntilMs)) violations.push(`${kid}: times out of order`);
    if (retireAtMs < signUntilMs + verifyMs) violations.push(`K2 ${kid}: retires while its tokens live`);
    // A key that replaces nothing cannot wait: the first of a deployment, or the successor of a revoked one.
    const replaces = keys.some((other) => other !== key && other.alg === key.alg && signsAt(other, signFromMs));
    if (replaces && signFromMs - publishAtMs < announceMs) violations.push(`K1 ${kid}: signs before it is known`);
  }
  if (new Set(keys.map(({ kid }) => kid)).size !== keys.length) violations.push("K3: a kid twice");
  return violations;
}

function signsAt(key: KeyTimes, atMs: number): boolean {
  return key.signFromMs < atMs && atMs < key.signUntilMs;
}

/** Of one algorithm and state, earliest signer first. */
function inState<Key extends PlannedKey>(
  keys: readonly Key[],
  alg: SigningAlgorithm,
  state: KeyState,
  atMs: number,
): readonly Key[] {
  return keys
    .filter((key) => key.alg === alg && keyState(key, atMs) === state)
    .sort((a, b) => a.signFromMs - b.signFromMs);
}

/** Times of a key that signs from `fromMs`. A retirement once published is not brought forward: someone may rely on it. */
function signingFrom(fromMs: number, known: { readonly publishAtMs: number; readonly retireAtMs?: number }): KeyTimes {
  const signUntilMs = fromMs + keyTiming.signMs;
  const retireAtMs = Math.max(known.retireAtMs ?? 0, signUntilMs + verifyMs);
  return { publishAtMs: known.publishAtMs, signFromMs: fromMs, signUntilMs, retireAtMs };
}

function signingUntil(untilMs: number, key: KeyTimes): Pick<KeyTimes, "signUntilMs" | "retireAtMs"> {
  return { signUntilMs: untilMs, retireAtMs: Math.max(key.retireAtMs, untilMs + verifyMs) };
}

function complete(keys: readonly ScheduledKey[], atMs: number): SchedulePlan {
  let planned: readonly PlannedKey[] = keys.filter((key) => keyState(key, atMs) !== "gone");
  for (const alg of signingAlgorithms) planned = dropSurplus(planned, alg, atMs);
  for (const alg of signingAlgorithms) planned = addSuccessor(addSigner(planned, alg, atMs), alg, atMs);
  return {
    keep: planned.filter((key): key is ScheduledKey => "kid" in key),
    make: planned.filter((key): key is NewKey => !("kid" in key)),
  };
}

/** Announced keys behind the next signer have signed nothing: kept longer they would only be private keys that may leak. */
function dropSurplus(keys: readonly PlannedKey[], alg: SigningAlgorithm, atMs: number): readonly PlannedKey[] {
  const [, ...surplus] = inState(keys, alg, "announced", atMs);
  const old = surplus.filter(({ publishAtMs }) => publishAtMs + keyTiming.overlapMs < atMs);
  return old.length === 0 ? keys : keys.filter((key) => !old.includes(key));
}

/** Where no key signs, one signs from now on, by every clock; but not from before its predecessor ended, it replaces nothing. */
function addSigner(keys: readonly PlannedKey[], alg: SigningAlgorithm, atMs: number): readonly PlannedKey[] {
  if (inState(keys, alg, "active", atMs).length > 0) return keys;
  const [announced] = inState(keys, alg, "announced", atMs);
  const known = announced ?? { publishAtMs: atMs - keyTiming.skewMs };
  const ended = inState(keys, alg, "retiring", atMs).map(({ signUntilMs }) => signUntilMs);
  const fromMs = Math.max(atMs - keyTiming.skewMs, known.publishAtMs, ...ended);
  if (announced === undefined) return [...keys, { alg, ...signingFrom(fromMs, known) }];
  return keys.map((key) => (key === announced ? { ...key, ...signingFrom(fromMs, key) } : key));
}

/**
 * After {@link addSigner}: some key signs now. Its successor signs before it ends, or as soon as K1 allows; if that is too
 * late the key signs on, so that there is no gap. A revocation may have taken a key out of the middle of the line.
 */
function addSuccessor(keys: readonly PlannedKey[], alg: SigningAlgorithm, atMs: number): readonly PlannedKey[] {
  const [announced] = inState(keys, alg, "announced", atMs);
  const signers = inState(keys, alg, "active", atMs);
  const last = signers.reduce((latest, key) => (key.signUntilMs > latest.signUntilMs ? key : latest));
  const known = announced ?? { publishAtMs: atMs - keyTiming.skewMs };
  const dueMs = Math.max(last.signUntilMs - keyTiming.overlapMs, known.publishAtMs + announceMs, atMs);
  const fromMs = Math.min(dueMs, announced?.signFromMs ?? dueMs);
  const untilMs = fromMs + keyTiming.overlapMs;

  const bridged = keys.map((key) =>
    key === last && key.signUntilMs < untilMs ? { ...key, ...signingUntil(untilMs, key) } : key,
  );
  if (announced === undefined) return [...bridged, { alg, ...signingFrom(fromMs, known) }];
  if (announced.signFromMs === fromMs) return bridged;
  const moved = bridged.map((key) => (key === announced ? { ...key, ...signingFrom(fromMs, key) } : key));
  // Brought forward to now it signs, and wants a successor itself.
  return fromMs > atMs ? moved : addSuccessor(moved, alg, atMs);
}
