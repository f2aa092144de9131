import { type LeaseTiming, outlast } from "@edge-op/shared/objects/lease-timing";
import type { CheckReply, CutOff, LeaseReply, RevokedRow } from "@edge-op/shared/objects/token-revocation-store";

/** A row or a cut-off; the latter have a not-before. `seq` is the change that made it what it is. */
export interface Entry {
  readonly key: string;
  readonly notBeforeMs: number | undefined;
  readonly untilMs: number;
  readonly seq: number;
}

/** What of the promises of an instance is durable: it answers nothing beyond, and its successor outlasts it. */
export interface Horizon {
  /** When the last lease granted under it has ended (H). */
  readonly horizonMs: number;
  /** The longest lease granted under it. */
  readonly leaseMs: number;
}

export interface DurableState {
  /** `undefined`: more than a replica may hold. They stay in storage, and there are no leases until they are fewer. */
  readonly entries: readonly Entry[] | undefined;
  readonly seq: number;
  readonly cv: number;
  readonly horizon: Horizon | undefined;
}

export interface Change {
  readonly rows: readonly RevokedRow[];
  readonly cutOffs: readonly CutOff[];
  readonly cv: number;
}

/** What a change writes, before it takes effect. */
export interface Plan {
  readonly entries: readonly Entry[];
  readonly seq: number;
  readonly cv: number;
}

/**
 * **The revocation shard's state machine** (protocols.md §2): what a lease, a check and a revocation answer, what must be
 * durable first, and how long an acknowledgement waits. No I/O and no clock: callers plan, write, then apply.
 *
 * I2 a lease ends before `#leaseEndMs` (+ its length as any clock may measure it). I3 nothing is answered beyond
 * `#answersUntilMs`, C after an own durable horizon; that of a predecessor is in another clock's time and grants nothing.
 * I4 acknowledgements wait for the boot fence: until a superseded predecessor answers no more and its leases have ended.
 */
export class RevocationMachine {
  readonly #timing: LeaseTiming;
  readonly #maxEntries: number;
  readonly #bootFenceMs: number;
  #entries: Map<string, Entry> | undefined;
  /** Ascending by seq; an entry that was changed since is skipped. */
  #log: Entry[] = [];
  #seq: number;
  #cv: number;
  #leaseMs: number;
  #answersUntilMs = Number.NEGATIVE_INFINITY;
  #leaseEndMs = Number.NEGATIVE_INFINITY;

  /** `bootAtMs` is read after storage was: from then on no write of a predecessor becomes durable. */
  constructor(timing: LeaseTiming, maxEntries: number, durable: DurableState, bootAtMs: number) {
    this.#timing = timing;
    this.#maxEntries = maxEntries;
    this.#seq = durable.seq;
    this.#cv = durable.cv;
    this.#leaseMs = durable.horizon?.leaseMs ?? 0;
    this.#bootFenceMs = bootFence(timing, durable.horizon, bootAtMs);
    if (durable.entries !== undefined) this.hold(durable.entries);
  }

  get cv(): number {
    return this.#cv;
  }

  /** Whether entries are held here; if not, the caller finds them in storage. */
  get isResident(): boolean {
    return this.#entries !== undefined;
  }

  /** Takes entries into memory: at boot, or when there are few enough again. */
  hold(entries: readonly Entry[]): void {
    if (entries.length > this.#maxEntries) return;
    this.#log = [...entries].sort((a, b) => a.seq - b.seq);
    this.#entries = new Map(this.#log.map((entry) => [entry.key, entry]));
  }

  /** What must be written before a lease of `leaseMs` (0: a check) is answered; `undefined` most of the time. */
  horizonDue(leaseMs: number, nowMs: number): Horizon | undefined {
    const granted = this.#granted(leaseMs);
    if (nowMs <= this.#answersUntilMs && granted <= this.#leaseMs) return undefined;
    // Longer leases of before count until none of them can be left.
    const lowered = granted > 0 && nowMs >= this.releaseAtMs ? granted : Math.max(granted, this.#leaseMs);
    return {
      horizonMs: Math.ceil(nowMs + outlast(this.#timing, lowered) + this.#timing.horizonStepMs),
      leaseMs: lowered,
    };
  }

  /** After the horizon is written. */
  extend(horizon: Horizon, nowMs: number): void {
    this.#leaseMs = horizon.leaseMs;
    this.#answersUntilMs = nowMs + this.#timing.horizonStepMs;
  }

  lease(sinceSeq: number, leaseMs: number, nowMs: number): LeaseReply {
    const granted = this.#granted(leaseMs);
    this.#assertHorizon(granted, nowMs);
    if (this.#entries === undefined) return { kind: "checkOnly", cv: this.#cv };
    const leaseEndMs = nowMs + outlast(this.#timing, granted) + this.#timing.marginMs;
    this.#leaseEndMs = Math.max(this.#leaseEndMs, leaseEndMs);
    // A replica that knows more than there is has outlived this storage.
    const snapshot = sinceSeq < 0 || sinceSeq > this.#seq;
    const { rows, cutOffs } = this.#since(snapshot ? -1 : sinceSeq);
    return { kind: "lease", snapshot, seq: this.#seq, rows, cutOffs, leaseMs: granted, cv: this.#cv };
  }

  /** Exact. `find` reads storage, for when the entries are not held here. */
  check(
    rowKeys: readonly string[],
    cutOffKeys: readonly string[],
    nowMs: number,
    find: (key: string) => Entry | undefined,
  ): CheckReply {
    this.#assertHorizon(0, nowMs);
    const entryOf = (key: string) => (this.#entries === undefined ? find(key) : this.#entries.get(key));
    const cutOffs = cutOffKeys.map(entryOf).filter(isCutOff);
    return { revoked: rowKeys.filter((key) => entryOf(key) !== undefined), cutOffs: cutOffs.map(cutOff), cv: this.#cv };
  }

  /** What `change` adds to what is held: nothing when it repeats what is known. Values combine by max. */
  plan(change: Change): Plan {
    const entries = new Map<string, Entry>();
    let seq = this.#seq;
    const add = (key: string, notBeforeMs: number | undefined, untilMs: number) => {
      const known = entries.get(key) ?? this.#entries?.get(key);
      const next = {
        key,
        notBeforeMs: notBeforeMs === undefined ? undefined : Math.max(notBeforeMs, known?.notBeforeMs ?? notBeforeMs),
        untilMs: Math.max(untilMs, known?.untilMs ?? untilMs),
      };
      if (known !== undefined && known.notBeforeMs === next.notBeforeMs && known.untilMs === next.untilMs) return;
      seq += 1;
      entries.set(key, { ...next, seq });
    };
    for (const { key, untilMs } of change.rows) add(key, undefined, untilMs);
    for (const { key, notBeforeMs, untilMs } of change.cutOffs) add(key, notBeforeMs, untilMs);
    return { entries: [...entries.values()].sort((a, b) => a.seq - b.seq), seq, cv: Math.max(this.#cv, change.cv) };
  }

  /** After the plan is written: every lease granted from now on has it. */
  apply(plan: Plan): void {
    this.#seq = plan.seq;
    this.#cv = plan.cv;
    if (this.#entries === undefined) return;
    for (const entry of plan.entries) {
      this.#entries.set(entry.key, entry);
      this.#log.push(entry);
    }
    if (this.#entries.size > this.#maxEntries) {
      this.#entries = undefined;
      this.#log = [];
    } else if (this.#log.length > 2 * this.#entries.size + 64) {
      this.#compact();
    }
  }

  /**
   * When no lease is left that lacks what is in force now: also for a revocation that was repeated after a lost reply,
   * whose row those leases may lack. Leases granted after it have it, so waiting once is enough (I1).
   */
  get releaseAtMs(): number {
    return Math.max(this.#leaseEndMs, this.#bootFenceMs);
  }

  /** Swept in storage. Replicas let go of them by themselves. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#entries?.delete(key);
    this.#compact();
  }

  #granted(leaseMs: number): number {
    return Number.isFinite(leaseMs) ? Math.min(Math.max(0, leaseMs), this.#timing.maxLeaseMs) : 0;
  }

  #assertHorizon(leaseMs: number, nowMs: number): void {
    if (nowMs > this.#answersUntilMs || leaseMs > this.#leaseMs) throw new Error("answers beyond the durable horizon");
  }

  #since(seq: number): { rows: RevokedRow[]; cutOffs: CutOff[] } {
    const rows: RevokedRow[] = [];
    const cutOffs: CutOff[] = [];
    for (let index = this.#firstAfter(seq); index < this.#log.length; index += 1) {
      const entry = this.#log[index]!;
      if (this.#entries?.get(entry.key) !== entry) continue;
      if (isCutOff(entry)) cutOffs.push(cutOff(entry));
      else rows.push({ key: entry.key, untilMs: entry.untilMs });
    }
    return { rows, cutOffs };
  }

  #firstAfter(seq: number): number {
    let low = 0;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#log[middle]!.seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #compact(): void {
    this.#log = this.#log.filter((entry) => this.#entries?.get(entry.key) === entry);
  }
}

/**
 * A predecessor may still answer, until C after its last durable horizon, which was written before this instance read it;
 * then its last lease runs. By H + 60 s on any clock all of that is over, so an object that slept for long waits for nothing.
 */
function bootFence(timing: LeaseTiming, horizon: Horizon | undefined, bootAtMs: number): number {
  if (horizon === undefined) return Number.NEGATIVE_INFINITY;
  const lifeMs = outlast(timing, timing.horizonStepMs + horizon.leaseMs) + timing.marginMs;
  return Math.min(bootAtMs + lifeMs, horizon.horizonMs + timing.clockOffsetMs);
}

function isCutOff(entry: Entry | undefined): entry is Entry & { readonly notBeforeMs: number } {
  return entry?.notBeforeMs !== undefined;
}

function cutOff({ key, notBeforeMs, untilMs }: Entry & { readonly notBeforeMs: number }): CutOff {
  return { key, notBeforeMs, untilMs };
}
