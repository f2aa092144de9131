import { LeaseHolders, type PendingChange } from "@edge-op/shared/leases/lease-holders";
import { type LeaseTiming, outlast } from "@edge-op/shared/objects/lease-timing";
import type {
  CheckResponse,
  LeaseRequest,
  LeaseResponse,
  NamedChange,
} from "@edge-op/shared/objects/token-revocation-store";
import { changesAfter, continueChanges, type RecentChanges } from "./recent-changes.ts";
import { type Additions, cutOff, type Entry, isCutOff, type PlannedEntries, RevokedSet } from "./revoked-set.ts";

/** What of the promises of an instance is durable: it answers nothing beyond, and its successor outlasts it. */
export interface Horizon {
  /** When the last lease granted under it has ended (H). */
  readonly horizonMs: number;
  /** The longest lease granted under it. */
  readonly leaseMs: number;
}

export interface DurableState {
  /** Those that are replicated, marks included. `undefined`: more than a replica may hold. They stay in storage, and there are no leases until they are fewer. */
  readonly entries: readonly Entry[] | undefined;
  readonly seq: number;
  readonly cv: number;
  readonly horizon: Horizon | undefined;
}

export interface Change extends Additions {
  readonly cv: number;
  /** The newest administrative changes, the last of them `cv`; a shard that knows them spares isolates a read of D1. */
  readonly changes?: readonly NamedChange[];
}

/** What a change writes, before it takes effect. */
export interface Plan extends PlannedEntries {
  readonly cv: number;
  readonly changes: RecentChanges;
}

/** How long an acknowledgement waits. */
export interface AcknowledgementWait {
  /** Ends early when its last holder confirms. */
  readonly pending: PendingChange;
  /** Durations on the shard's clock: until the leases of those holders have ended, and until the boot fence has passed. */
  readonly leasesMs: number;
  readonly fenceMs: number;
}

/**
 * **The revocation shard's state machine** (protocols.md §2): what a lease, a check and a revocation answer, what must be
 * durable first, and how long an acknowledgement waits. No I/O and no clock: callers plan, write, then apply.
 *
 * I2 a lease ends, at its holder, before it ends in {@link LeaseHolders}. I3 nothing is answered beyond `#servesUntilMs`, C after
 * an own durable horizon; that of a predecessor is in another clock's time and grants nothing. I4 acknowledgements wait for the
 * boot fence: until a superseded predecessor answers no more and its leases have ended. No confirmation shortens the fence.
 */
export class RevocationMachine {
  readonly #timing: LeaseTiming;
  readonly #bootFenceMs: number;
  readonly #revoked: RevokedSet;
  #seq: number;
  #cv: number;
  #leaseMs: number;
  #servesUntilMs = Number.NEGATIVE_INFINITY;
  readonly #holders = new LeaseHolders();
  #pruneAboveHolders = 64;
  #changes: RecentChanges = [];

  /** `bootAtMs` is read after storage was: from then on no write of a predecessor becomes durable. */
  constructor(
    timing: LeaseTiming,
    maxEntries: number,
    durable: DurableState,
    bootAtMs: number,
    maxPerClient = maxEntries,
  ) {
    this.#timing = timing;
    this.#revoked = new RevokedSet(maxEntries, maxPerClient);
    this.#seq = durable.seq;
    this.#cv = durable.cv;
    this.#leaseMs = durable.horizon?.leaseMs ?? 0;
    this.#bootFenceMs = bootFence(timing, durable.horizon, bootAtMs);
    if (durable.entries !== undefined) this.hold(durable.entries);
  }

  get seq(): number {
    return this.#seq;
  }

  get cv(): number {
    return this.#cv;
  }

  /** Whether entries are held here; if not, the caller finds them in storage. */
  get isResident(): boolean {
    return this.#revoked.isResident;
  }

  /** Takes entries into memory: at boot, or when there are few enough again. */
  hold(entries: readonly Entry[]): void {
    this.#revoked.hold(entries);
  }

  /** What must be written before a lease of `leaseMs` (0: a check) is answered; `undefined` most of the time. */
  horizonDue(leaseMs: number, nowMs: number): Horizon | undefined {
    const granted = this.#granted(leaseMs);
    if (nowMs <= this.#servesUntilMs && granted <= this.#leaseMs) return undefined;
    // Longer leases of before count until none of them can be left.
    const lowered = nowMs >= this.releaseAtMs ? granted : Math.max(granted, this.#leaseMs);
    return {
      horizonMs: Math.ceil(nowMs + outlast(this.#timing, lowered) + horizonStepMs(this.#timing, lowered)),
      leaseMs: lowered,
    };
  }

  /** After the horizon is written. */
  extend(horizon: Horizon, nowMs: number): void {
    this.#leaseMs = horizon.leaseMs;
    this.#servesUntilMs = nowMs + horizonStepMs(this.#timing, horizon.leaseMs);
  }

  /**
   * Until when a renewal is held: it brings no news, and its holder has a lease of which half is left to go on with. Not after
   * `nowMs`: it is answered at once.
   */
  holdUntilMs({ holder, sinceSeq, leaseMs, hold }: LeaseRequest, nowMs: number): number {
    if (!hold || !this.isResident || sinceSeq !== this.#seq) return nowMs;
    const halfMs = this.#granted(leaseMs) / 2;
    return Math.min(nowMs + halfMs, this.#holders.leaseEndMs(holder) - halfMs);
  }

  /** Takes note of what a holder confirms. Returns the changes that are in force by that. */
  confirm({ holder, confirmedSeq }: LeaseRequest): readonly PendingChange[] {
    // A number that was never given comes from a storage that is gone.
    return confirmedSeq > this.#seq ? [] : this.#holders.confirm(holder, confirmedSeq);
  }

  /** A holder gives its lease up. Returns the changes that are in force by that. */
  release(holder: string): readonly PendingChange[] {
    return this.#holders.release(holder);
  }

  /** `heldMs`: how long the request was held before this answer. */
  lease({ holder, sinceSeq, sinceCv, leaseMs }: LeaseRequest, heldMs: number, nowMs: number): LeaseResponse {
    const granted = this.#granted(leaseMs);
    this.#assertHorizon(granted, nowMs);
    const changes = changesAfter(sinceCv, this.#changes, this.#cv);
    if (!this.isResident) return { kind: "checkOnly", cv: this.#cv, changes };
    const endMs = nowMs + outlast(this.#timing, granted) + this.#timing.marginMs;
    this.#holders.grant(holder, this.#seq, endMs);
    this.#pruneHolders(nowMs);
    // A replica that knows more than there is has outlived this storage.
    const snapshot = sinceSeq < 0 || sinceSeq > this.#seq;
    const { rows, cutOffs } = this.#revoked.since(snapshot ? -1 : sinceSeq);
    return { kind: "lease", snapshot, seq: this.#seq, rows, cutOffs, leaseMs: granted, heldMs, cv: this.#cv, changes };
  }

  /** Exact. `find` reads storage, for entries that are not held here. */
  check(
    rowKeys: readonly string[],
    cutOffKeys: readonly string[],
    sinceCv: number,
    nowMs: number,
    find: (key: string) => Entry | undefined,
  ): CheckResponse {
    this.#assertHorizon(0, nowMs);
    const entryOf = (key: string) => this.#revoked.entryOf(key, find);
    const cutOffs = cutOffKeys.map(entryOf).filter(isCutOff);
    const revoked = rowKeys.filter((key) => entryOf(key) !== undefined);
    return {
      revoked,
      cutOffs: cutOffs.map(cutOff),
      cv: this.#cv,
      changes: changesAfter(sinceCv, this.#changes, this.#cv),
    };
  }

  /** What `change` adds to what is held: nothing when it repeats what is known. Values combine by max. */
  plan(change: Change): Plan {
    const planned = this.#revoked.plan(change, this.#seq);
    if (change.cv <= this.#cv) return { ...planned, cv: this.#cv, changes: this.#changes };
    return {
      ...planned,
      // A change that no entry stands for is news too: holders confirm that they have acted on it.
      seq: Math.max(planned.seq, this.#seq + 1),
      cv: change.cv,
      changes: continueChanges(this.#changes, change.changes ?? [], change.cv),
    };
  }

  /** After the plan is written: every lease granted from now on has it. */
  apply(plan: Plan): void {
    this.#seq = plan.seq;
    this.#cv = plan.cv;
    this.#changes = plan.changes;
    this.#revoked.apply(plan);
  }

  /**
   * What an acknowledgement of everything up to now waits for: also that of a revocation which was repeated after a lost
   * reply, whose row a holder may still lack. Leases granted after it have it, so waiting once is enough (I1).
   */
  startWait(nowMs: number): AcknowledgementWait {
    const pending = this.#holders.await(this.#seq, nowMs);
    return {
      pending,
      leasesMs: Math.max(0, Math.ceil(pending.untilMs - nowMs)),
      fenceMs: Math.max(0, Math.ceil(this.#bootFenceMs - nowMs)),
    };
  }

  endWait({ pending }: AcknowledgementWait): void {
    this.#holders.abandon(pending);
  }

  /** When no lease is left, granted here or by a predecessor. */
  get releaseAtMs(): number {
    return Math.max(this.#holders.lastEndMs, this.#bootFenceMs);
  }

  /**
   * Whether no lease is left that was granted here, or by a predecessor. Then the horizon may be taken back, durably: this
   * instance answers nothing before it has written another one, and its successor waits for nobody.
   */
  mayClose(nowMs: number): boolean {
    return this.#servesUntilMs > Number.NEGATIVE_INFINITY && nowMs > this.releaseAtMs;
  }

  /** After the horizon was taken back. */
  close(): void {
    this.#servesUntilMs = Number.NEGATIVE_INFINITY;
    this.#leaseMs = 0;
  }

  /** Swept in storage. Replicas let go of them by themselves. */
  forget(keys: readonly string[]): void {
    this.#revoked.forget(keys);
  }

  get holders(): number {
    return this.#holders.size;
  }

  get confirmations(): number {
    return this.#holders.confirmations;
  }

  countLiveHolders(nowMs: number): number {
    return this.#holders.countLive(nowMs);
  }

  #pruneHolders(nowMs: number): void {
    if (this.#holders.size <= this.#pruneAboveHolders) return;
    this.#holders.prune(nowMs);
    this.#pruneAboveHolders = 2 * this.#holders.size + 64;
  }

  #granted(leaseMs: number): number {
    return Number.isFinite(leaseMs) ? Math.min(Math.max(0, leaseMs), this.#timing.maxLeaseMs) : 0;
  }

  #assertHorizon(leaseMs: number, nowMs: number): void {
    if (nowMs > this.#servesUntilMs || leaseMs > this.#leaseMs) throw new Error("answers beyond the durable horizon");
  }
}

function horizonStepMs(timing: LeaseTiming, leaseMs: number): number {
  return leaseMs > 0 ? timing.horizonStepMs : timing.checkStepMs;
}

/**
 * A predecessor may still answer, until C after its last durable horizon, which was written before this instance read it;
 * then its last lease runs. By H + 60 s on any clock all of that is over, so an object that slept for long waits for nothing.
 */
function bootFence(timing: LeaseTiming, horizon: Horizon | undefined, bootAtMs: number): number {
  if (horizon === undefined) return Number.NEGATIVE_INFINITY;
  const lifeMs = outlast(timing, horizonStepMs(timing, horizon.leaseMs) + horizon.leaseMs) + timing.marginMs;
  return Math.min(bootAtMs + lifeMs, horizon.horizonMs + timing.clockOffsetMs);
}
