import { heldShare, type LeaseTiming } from "@edge-op/shared/config/lease-timing";
import type {
  CheckResponse,
  LeaseRequest,
  LeaseResponse,
  RevocationFilter,
} from "@edge-op/shared/leases/revocation-shard-rpc";
import type { NamedChange } from "@edge-op/shared/storage/record-kinds";
import type { Horizon } from "../leases/durable-horizon.ts";
import { GivenLeases, type LeaseWait } from "../leases/given-leases.ts";
import type { PendingChange } from "../leases/lease-holders.ts";
import { changesAfter, continueChanges, LeaseLength, type RecentChanges } from "../leases/recent-changes.ts";
import { SnapshotBudget, type SnapshotLimits, unpacedSnapshots } from "../leases/snapshot-budget.ts";
import {
  type Additions,
  type Contents,
  cutOff,
  type Entry,
  estimatedBytes,
  type FindEntry,
  isCutOff,
  type PlannedEntries,
  RevokedSet,
} from "./revoked-set.ts";

export interface DurableState {
  /** All entries; `undefined` if there are more than memory holds. */
  readonly entries: readonly Entry[] | undefined;
  /** The cut-offs among them, if `entries` is undefined. If there are too many cut-offs too, no leases are given. */
  readonly cutOffs?: readonly Entry[] | undefined;
  readonly seq: number;
  readonly cv: number;
  /** The newest administrative changes. */
  readonly changes: readonly NamedChange[];
  readonly horizon: Horizon | undefined;
}

type Confirmation = Pick<LeaseRequest, "holder" | "confirmedSeq"> & Partial<Pick<LeaseRequest, "sinceSeq">>;

export interface Change extends Additions {
  readonly cv: number;
  /** The newest administrative changes, ending with `cv`; a shard that knows them saves isolates a read of D1. */
  readonly changes?: readonly NamedChange[];
}

/** The writes of a change, before it takes effect. */
export interface Plan extends PlannedEntries {
  readonly cv: number;
  readonly changes: RecentChanges;
}

/** How rows are replicated. */
export interface Replication {
  /** Rows of a snapshot without a filter. */
  readonly exactRows: number;
  readonly snapshots: SnapshotLimits;
}

const unpaced: Replication = { exactRows: Number.POSITIVE_INFINITY, snapshots: unpacedSnapshots };
/** The time after which an isolate requests a lease again that had to wait for a filter to be built. */
const buildingMs = 1_000;

/** The interval at which holders whose leases have ended are removed. */
const pruneEveryMs = 1_000;

/**
 * **The state machine of a revocation shard** (docs/reference/protocols.md §2): leases, checks, revocations, their durable writes, and the wait of an
 * acknowledgement ({@link GivenLeases}). No I/O and no clock: callers plan, write, then apply.
 */
export class RevocationMachine extends GivenLeases {
  readonly #revoked: RevokedSet;
  #seq: number;
  #cv: number;
  readonly #snapshots: SnapshotBudget;
  readonly #length: LeaseLength;
  #prunedAtMs = Number.NEGATIVE_INFINITY;
  #changes: RecentChanges = [];

  constructor(
    timing: LeaseTiming,
    maxEntries: number,
    durable: DurableState,
    bootAtMs: number,
    { exactRows, snapshots } = unpaced,
  ) {
    super(timing, durable.horizon, bootAtMs);
    this.#length = new LeaseLength(timing.maxLeaseMs, heldShare.shard);
    this.#revoked = new RevokedSet({ maxEntries, exactRows });
    this.#snapshots = new SnapshotBudget(snapshots);
    this.#seq = durable.seq;
    this.#cv = durable.cv;
    this.#changes = continueChanges([], durable.changes, durable.cv);
    if (durable.entries !== undefined) this.hold(durable.entries);
    else this.#revoked.holdCutOffs(durable.cutOffs, durable.seq);
  }

  get seq(): number {
    return this.#seq;
  }

  get cv(): number {
    return this.#cv;
  }

  /** Whether all entries are in memory. */
  get isComplete(): boolean {
    return this.#revoked.isComplete;
  }

  /** Whether a filter of the rows in storage is to be built, starting at the present {@link seq}, and passed to {@link useFilter}. */
  get isFilterDue(): boolean {
    return this.#revoked.isFilterDue;
  }

  useFilter(filter: RevocationFilter, rows: number): void {
    this.#revoked.useFilter(filter, rows);
  }

  /** Loads entries into memory: at boot, or when there are few enough again. */
  hold(entries: readonly Entry[]): void {
    this.#revoked.hold(entries);
  }

  override horizonDue(leaseMs: number, nowMs: number): Horizon | undefined {
    return super.horizonDue(this.#givenMs(leaseMs), nowMs);
  }

  /**
   * Until when a renewal is held: there is no change to send, and no more of its holder's lease has passed than `heldShare.shard` of it, or
   * `holdMs`. A time that is not after `nowMs` means an immediate response.
   */
  holdUntilMs({ holder, sinceSeq, leaseMs, hold, holdMs }: LeaseRequest, nowMs: number): number {
    if (!hold || sinceSeq !== this.#seq || !this.#revoked.reachesBackTo(sinceSeq)) return nowMs;
    const given = this.#givenMs(leaseMs);
    const longestMs = Math.min(heldShare.shard * given, holdMs ?? Number.POSITIVE_INFINITY);
    return Math.min(nowMs + longestMs, this.holders.leaseEndMs(holder) - (given - longestMs));
  }

  /** Records the confirmation of a holder. Returns the changes that are in force as a result. */
  confirm({ holder, sinceSeq, confirmedSeq }: Confirmation): readonly PendingChange[] {
    this.#snapshots.installed(holder, Math.max(sinceSeq ?? -1, confirmedSeq));
    // A number that was never assigned belongs to a storage that no longer exists.
    return confirmedSeq > this.#seq ? [] : this.holders.confirm(holder, confirmedSeq);
  }

  /** Releases the lease of a holder. Returns the changes that are in force as a result. */
  release(holder: string): readonly PendingChange[] {
    this.#snapshots.released(holder);
    return this.holders.release(holder);
  }

  /**
   * `heldMs`: how long the request was held before this response. `coveredMs`: for how long the shard may vouch for the control version, which
   * a lease does too.
   */
  lease(request: LeaseRequest, heldMs: number, nowMs: number, coveredMs = Number.POSITIVE_INFINITY): LeaseResponse {
    const { holder, sinceCv, leaseMs } = request;
    const given = Math.floor(Math.min(this.#givenMs(leaseMs), coveredMs));
    this.horizon.assertCovers(given, nowMs);
    const changes = changesAfter(sinceCv, this.#changes, this.#cv);
    const contents = this.#contentsFor(request, nowMs);
    if ("againMs" in contents) return { kind: "checkOnly", cv: this.#cv, changes, againMs: contents.againMs };
    this.giveLease(holder, this.#seq, given, nowMs);
    this.#pruneHolders(nowMs);
    this.#length.adapt(this.holders.size);
    const { snapshot, filter, rows, cutOffs } = contents;
    const content = { snapshot, seq: this.#seq, ...(filter === undefined ? {} : { filter }), rows, cutOffs };
    return { kind: "lease", ...content, leaseMs: given, heldMs, cv: this.#cv, changes };
  }

  /** An exact check. `find` reads entries from storage that are not in memory. */
  check(
    rowKeys: readonly string[],
    cutOffKeys: readonly string[],
    sinceCv: number,
    nowMs: number,
    find: FindEntry,
  ): CheckResponse {
    this.horizon.assertCovers(0, nowMs);
    const entryOf = (key: string) => this.#revoked.entryOf(key, find);
    const cutOffs = cutOffKeys.map(entryOf).filter(isCutOff);
    const revoked = rowKeys.filter((key) => entryOf(key) !== undefined);
    return {
      revoked,
      cutOffs: cutOffs.map(cutOff),
      seq: this.#seq,
      cv: this.#cv,
      changes: changesAfter(sinceCv, this.#changes, this.#cv),
    };
  }

  /** Every administrative change after `cv`, as in a response to a lease. */
  changesSince(cv: number): RecentChanges | undefined {
    return changesAfter(cv, this.#changes, this.#cv);
  }

  /** The entries that `change` adds or modifies: none if it repeats known ones. Values combine by max. `find` as for a check. */
  plan(change: Change, find: FindEntry = () => undefined): Plan {
    const planned = this.#revoked.plan(change, this.#seq, find);
    if (change.cv <= this.#cv) return { ...planned, cv: this.#cv, changes: this.#changes };
    return {
      ...planned,
      // A change without an entry is announced too: holders confirm that they have applied it.
      seq: Math.max(planned.seq, this.#seq + 1),
      cv: change.cv,
      changes: continueChanges(this.#changes, change.changes ?? [], change.cv),
    };
  }

  /** Applies the plan after it is written: every lease given from now on contains it. */
  apply(plan: Plan): void {
    this.#seq = plan.seq;
    this.#cv = plan.cv;
    this.#changes = plan.changes;
    this.#revoked.apply(plan);
  }

  /**
   * Starts the wait of an acknowledgement of everything up to now. This includes a revocation that was repeated after a lost response, whose row a
   * holder may still lack. Later leases contain it, so waiting once suffices (I1).
   */
  startWait(nowMs: number): LeaseWait {
    return this.waitFor(this.holders.await(this.#seq, nowMs), nowMs);
  }

  /** Removes entries that were swept in storage. Replicas delete them by themselves. */
  forget(keys: readonly string[]): void {
    this.#revoked.forget(keys);
  }

  get confirmations(): number {
    return this.holders.confirmations;
  }

  countLiveHolders(nowMs: number): number {
    return this.holders.countLive(nowMs);
  }

  #contentsFor(request: LeaseRequest, nowMs: number): Contents | { readonly againMs: number } {
    const contents = this.#revoked.contentsFor(request, this.#seq);
    if (contents === undefined) return { againMs: buildingMs };
    if (!contents.snapshot) return contents;
    const waitMs = this.#snapshots.take(request.holder, estimatedBytes(contents), this.#seq, nowMs, request.isRelay);
    if (waitMs === 0) return contents;
    return this.#revoked.reachesBackTo(request.sinceSeq) && request.sinceSeq <= this.#seq
      ? this.#revoked.deltaFor(request.sinceSeq)
      : { againMs: waitMs };
  }

  #pruneHolders(nowMs: number): void {
    // A clock that was set back must not stop it.
    if (Math.abs(nowMs - this.#prunedAtMs) < pruneEveryMs) return;
    this.#prunedAtMs = nowMs;
    this.holders.prune(nowMs);
  }

  #givenMs(leaseMs: number): number {
    return this.#length.givenMs(leaseMs);
  }
}
