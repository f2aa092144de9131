import { heldShare, type LeaseTiming, leftShare, outlast } from "@edge-op/shared/config/lease-timing";
import type {
  RelayedShard,
  RelayLeaseRequest,
  RelayLeaseResponse,
  ShardContent,
} from "@edge-op/shared/leases/relay-rpc";
import { type LeaseRequest, type LeaseResponse, noVersion } from "@edge-op/shared/leases/revocation-shard-rpc";
import { LeaseHolders, lackingUntilMs, type PendingChange } from "../leases/lease-holders.ts";
import { changesAfter, continueChanges, LeaseLength, type RecentChanges } from "../leases/recent-changes.ts";
import { SnapshotBudget, unpacedSnapshots } from "../leases/snapshot-budget.ts";
import { bytesPerRow, UpstreamShard } from "./upstream-shard.ts";

/** A change that a shard waits for, and by which every isolate behind this relay decides. */
export interface UpstreamConfirmation {
  readonly shard: string;
  readonly holder: string;
  readonly seq: number;
}

/** The wait for the isolates of this relay, and the changes to confirm at the shards when it has ended. */
export interface ConfirmationWait {
  readonly pending: PendingChange;
  /** Measured by the relay's clock. */
  readonly startedAtMs: number;
  /** A duration on the relay's clock: until the leases of all those isolates have ended. */
  readonly leasesMs: number;
  readonly confirmations: readonly UpstreamConfirmation[];
}

/**
 * **The state machine of a relay** (ADR 22): a holder of leases at the shards, and a server of combined leases for isolates. No I/O and no clock.
 *
 * T1 a lease for isolates ends, by the relay's clock, no later than each of the relay's own leases that it covers. T2 a change is confirmed at its
 * shard when every isolate with a lease without it has confirmed it or that lease has ended, not when it is installed here. T3 a response contains
 * everything up to its version for each shard that it covers, and the control version that came with it. T4 versions belong to `instance`; a request
 * that names another one gets snapshots and confirms nothing.
 *
 * Memory: at most `maxRows` rows. Shards beyond that are not covered. Snapshots are paced (ADR 22): T5 a response that had to be paced covers and
 * contains nothing.
 */
export class RelayMachine {
  readonly #instance: string;
  readonly #timing: LeaseTiming;
  readonly #maxRows: number;
  readonly #snapshots: SnapshotBudget;
  readonly #shards = new Map<string, UpstreamShard>();
  readonly #holders = new LeaseHolders();
  #version = 0;
  #cv = -1;
  #changes: RecentChanges = [];
  readonly #length: LeaseLength;
  /** The length of the leases that are requested from shards. */
  #upstreamMs = 0;
  #prunedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    instance: string,
    timing: LeaseTiming,
    { maxRows = Number.POSITIVE_INFINITY, snapshots = unpacedSnapshots } = {},
  ) {
    this.#instance = instance;
    this.#timing = timing;
    this.#length = new LeaseLength(timing.maxLeaseMs, heldShare.relay);
    this.#maxRows = maxRows;
    this.#snapshots = new SnapshotBudget(snapshots);
  }

  get version(): number {
    return this.#version;
  }

  get confirmations(): number {
    return this.#holders.confirmations;
  }

  get shardNames(): readonly string[] {
    return [...this.#shards.keys()];
  }

  countLiveHolders(nowMs: number): number {
    return this.#holders.countLive(nowMs);
  }

  /** When the lease of an isolate ends; −∞ without one. */
  leaseEndMs(holder: string): number {
    return this.#holders.leaseEndMs(holder);
  }

  get cv(): number {
    return this.#cv;
  }

  isCovered(name: string, nowMs: number): boolean {
    return (this.#shards.get(name)?.leftMs(nowMs) ?? 0) > 0;
  }

  countCovered(nowMs: number): number {
    return [...this.#shards.values()].filter((shard) => shard.leftMs(nowMs) > 0).length;
  }

  /** Sets the live shards of the generation table. Returns those that are new here. */
  setShards(names: readonly string[]): readonly string[] {
    const added = names.filter((name) => !this.#shards.has(name));
    for (const name of added) this.#shards.set(name, new UpstreamShard(this.#timing));
    const live = new Set(names);
    for (const name of this.#shards.keys()) if (!live.has(name)) this.#shards.delete(name);
    return added;
  }

  /** The request for a lease on a shard, as long as the leases of the isolates; `undefined` if the shard is no longer live. */
  request(name: string, leaseMs: number): LeaseRequest | undefined {
    this.#upstreamMs = this.#length.givenMs(leaseMs);
    return this.#shards.get(name)?.request(this.#upstreamMs, this.#cv < 0 ? noVersion : this.#cv);
  }

  /** Installs the response of a shard. Returns whether there is news for isolates. */
  install(name: string, response: LeaseResponse, request: LeaseRequest, sentAtMs: number): boolean {
    const isNewVersion = response.cv > this.#cv;
    if (isNewVersion) {
      this.#changes =
        response.changes === undefined ? [] : continueChanges(this.#changes, response.changes, response.cv);
      this.#cv = response.cv;
    }
    const isNews = this.#store(name, response, request, sentAtMs) || isNewVersion;
    if (isNews) this.#version += 1;
    return isNews;
  }

  /** Until when a renewal is held: there is no news, and its holder's lease need not be renewed yet. */
  holdUntilMs(request: RelayLeaseRequest, nowMs: number): number {
    const { holder, hold } = request;
    if (!hold || this.#versionOf(request) !== this.#version) return nowMs;
    const leaseMs = this.#givenMs(request.leaseMs);
    const coveredMs = this.#coveredMs(request, nowMs);
    // Without its own lease, the relay has nothing to give before there is news.
    if (coveredMs === 0) return nowMs + request.leaseMs / 2;
    return Math.min(nowMs + heldShare.relay * leaseMs, this.#holders.leaseEndMs(holder) - leftShare * coveredMs);
  }

  /** Records the confirmation of an isolate. Returns the changes by which every isolate now decides. */
  confirm(request: RelayLeaseRequest): readonly PendingChange[] {
    const version = this.#versionOf(request);
    this.#snapshots.installed(request.holder, version);
    return version < 0 ? [] : this.#holders.confirm(request.holder, version);
  }

  release(holder: string): readonly PendingChange[] {
    this.#snapshots.released(holder);
    return this.#holders.release(holder);
  }

  /** `heldMs`: how long the request was held before this response. */
  lease(request: RelayLeaseRequest, heldMs: number, nowMs: number): RelayLeaseResponse {
    const since = this.#versionOf(request);
    const { instance, version, cv } = { instance: this.#instance, version: this.#version, cv: this.#cv };
    const againMs = this.#snapshots.take(request.holder, this.#bytesAfter(since), version, nowMs);
    if (againMs > 0) {
      return { instance, version: since, shards: [], leaseMs: 0, heldMs, cv: -1, changes: undefined, againMs };
    }
    const leaseMs = this.#coveredMs(request, nowMs);
    if (leaseMs > 0) {
      const endMs = nowMs + outlast(this.#timing, leaseMs) + this.#timing.marginMs;
      this.#holders.give(request.holder, this.#version, endMs);
      this.#prune(nowMs);
      this.#length.adapt(this.#holders.size);
    }
    const shards: RelayedShard[] = [];
    for (const [name, shard] of this.#shards) {
      const content = shard.contentAfter(since);
      const isCovered = shard.leftMs(nowMs) >= this.#leastMs(request);
      if (isCovered || content.length > 0) shards.push({ name, content, isCovered });
    }
    const changes = changesAfter(request.sinceCv, this.#changes, this.#cv);
    return { instance, version, shards, leaseMs, heldMs, cv, changes };
  }

  /** Starts to wait for the isolates behind this relay; `undefined` if there is nothing new to confirm. */
  startWait(nowMs: number): ConfirmationWait | undefined {
    const confirmations = [...this.#shards].flatMap(([shard, upstream]) => {
      const seq = upstream.takeUnconfirmed();
      return seq === undefined ? [] : [{ shard, holder: upstream.holder, seq }];
    });
    if (confirmations.length === 0) return undefined;
    const pending = this.#holders.await(this.#version, nowMs);
    const leasesMs = Math.max(0, Math.ceil(lackingUntilMs(pending) - nowMs));
    return { pending, startedAtMs: nowMs, leasesMs, confirmations };
  }

  /** Returns the confirmations that have not been made since. */
  endWait({ pending, confirmations }: ConfirmationWait): readonly UpstreamConfirmation[] {
    this.#holders.abandon(pending);
    return confirmations.filter(({ shard, holder, seq }) => this.#shards.get(shard)?.confirm(holder, seq) === true);
  }

  /** Releases every lease when no isolate has one. Returns the holders to release at the shards. */
  lapse(): readonly { readonly shard: string; readonly holder: string }[] {
    return [...this.#shards].map(([shard, upstream]) => ({ shard, holder: upstream.lapse() }));
  }

  #store(name: string, response: LeaseResponse, request: LeaseRequest, sentAtMs: number): boolean {
    const shard = this.#shards.get(name);
    if (shard === undefined) return false;
    if (response.kind === "checkOnly") {
      shard.refuse();
      return false;
    }
    const isNews = shard.install(response satisfies ShardContent, request, sentAtMs, this.#version + 1);
    if (this.#countRows() > this.#maxRows) shard.drop();
    return isNews;
  }

  #bytesAfter(version: number): number {
    let rows = 0;
    for (const shard of this.#shards.values()) rows += shard.rowsAfter(version);
    return rows * bytesPerRow;
  }

  #countRows(): number {
    let rows = 0;
    for (const shard of this.#shards.values()) rows += shard.rows;
    return rows;
  }

  /** A shard with less time left would shorten the leases on all others, so it is not covered until its own lease has been renewed. */
  #leastMs({ leaseMs }: RelayLeaseRequest): number {
    return Math.max(1, Math.min(leaseMs, this.#upstreamMs) / 2);
  }

  /** The version that a request has installed, −1 if it names another run of this relay. */
  #versionOf({ instance, version }: RelayLeaseRequest): number {
    return instance === this.#instance && version <= this.#version ? version : -1;
  }

  /** The length of a lease that covers every shard with enough time left; 0 if there is none (T1). */
  #coveredMs(request: RelayLeaseRequest, nowMs: number): number {
    const longestMs = this.#givenMs(request.leaseMs);
    let coveredMs = 0;
    for (const shard of this.#shards.values()) {
      const leftMs = shard.leftMs(nowMs);
      if (leftMs < this.#leastMs(request)) continue;
      coveredMs = coveredMs === 0 ? Math.min(longestMs, leftMs) : Math.min(coveredMs, leftMs);
    }
    return Math.floor(coveredMs);
  }

  #givenMs(leaseMs: number): number {
    return this.#length.givenMs(leaseMs);
  }

  #prune(nowMs: number): void {
    // A clock that was set back must not stop it.
    if (Math.abs(nowMs - this.#prunedAtMs) < pruneEveryMs) return;
    this.#prunedAtMs = nowMs;
    this.#holders.prune(nowMs);
  }
}

const pruneEveryMs = 1_000;
