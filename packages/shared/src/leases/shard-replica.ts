import { givenFromMs, leaseTiming } from "../config/lease-timing.ts";
import { isolateMemory } from "../config/limits.ts";
import { type CutOff, combineCutOffs } from "../cut-offs/cut-offs.ts";
import { mapEntryBytes, stringBytes } from "../runtime/isolate-cache.ts";
import { HashedRows } from "./hashed-rows.ts";
import { type CheckResponse, type LeaseRequest, type LeaseResponse, noVersion } from "./revocation-shard-rpc.ts";
import { cutOffKeys, isCutOff, type RevocationSubject, rowKeys } from "./revocation-subject.ts";
import { RowFilter } from "./row-filter.ts";

type Lease = Extract<LeaseResponse, { kind: "lease" }>;

/** The interval at which expired rows are deleted. */
const pruneEveryMs = 60_000;
/** Results of exact checks that are remembered for one filter: 12 bytes each. */
const rememberedChecks = 20_000;

/** The filter of a replica, and the results of the exact checks that it made necessary. */
interface Filter {
  readonly seq: number;
  readonly untilMs: number;
  readonly rows: RowFilter;
  /** Keys that the filter contains by chance, or whose rows were deleted. A later revocation of such a key is a separate row. */
  readonly absent: HashedRows;
}

/**
 * **An isolate's replica of one shard's revoked set, and the time until which it is valid** (docs/reference/protocols.md §2). No I/O, no clock. A
 * large set is a filter and the rows added since: a key in neither is not revoked, and a key that only the filter contains requires an exact check.
 *
 * A lease counts from before it was requested, or from the earliest moment at which a held request can have been given (I2). A request that arrived
 * while it was valid is decided by it. Responses may arrive out of order: an older one is ignored.
 *
 * `holder` names this replica at the shard. It changes whenever the replica gives up its lease or its rows. A late response to the old id is
 * then ignored, because the shard no longer waits for it.
 */
export class ShardReplica {
  #rows = new HashedRows();
  #filter: Filter | undefined;
  /** The number of the last filter, also after it expired. */
  #filterSeq = -1;
  readonly #cutOffs = new Map<string, CutOff>();
  #holder: string = crypto.randomUUID();
  #seq = -1;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #leaseMs = 0;
  #prunedAtMs = 0;
  #cutOffBytes = 0;

  get holder(): string {
    return this.#holder;
  }

  get seq(): number {
    return this.#seq;
  }

  /** The estimated size of its rows, filter and cut-offs. */
  get bytes(): number {
    const filter = this.#filter === undefined ? 0 : this.#filter.rows.bytes.byteLength + this.#filter.absent.bytes;
    return this.#rows.bytes + filter + this.#cutOffBytes;
  }

  /** The length of the last lease, which may be longer than requested. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** The request for a lease or its renewal; it confirms the installed changes. `cv` is the applied control version. */
  request(leaseMs: number, cv: number | undefined, hold: boolean): LeaseRequest {
    const { holder, seq } = this;
    return {
      holder,
      sinceSeq: seq,
      confirmedSeq: seq,
      filterSeq: this.#filterSeq,
      sinceCv: cv ?? noVersion,
      leaseMs,
      hold,
    };
  }

  /** Installs the response to `request`. Its control version has been applied before. */
  install(lease: Lease, request: LeaseRequest, sentAtMs: number): void {
    if (request.holder !== this.#holder) return;
    if (lease.snapshot && lease.seq < request.sinceSeq) {
      // The storage was reset: its numbers are not the ones that this replica confirmed. The next request is for a snapshot.
      this.#seq = -1;
      this.#filterSeq = -1;
      this.lapse();
      return;
    }
    this.add(lease);
    this.#leaseMs = lease.leaseMs;
    const validUntilMs = givenFromMs(leaseTiming, sentAtMs, lease.heldMs) + lease.leaseMs;
    this.#validUntilMs = Math.max(this.#validUntilMs, validUntilMs);
    this.prune(sentAtMs);
  }

  /** Adds what a shard has sent: a snapshot, or the changes after something that has been added before. */
  add({ filter, rows, cutOffs, seq }: Lease): void {
    // An older response contains nothing that is missing here.
    if (filter !== undefined && seq >= this.#seq && filter.seq > this.#filterSeq) this.#replaceFilter(filter);
    for (const { key, untilMs } of rows) this.#rows.add(key, untilMs);
    for (const cutOff of cutOffs) this.#addCutOff(cutOff);
    this.#seq = Math.max(this.#seq, seq);
  }

  /** Ends the lease and keeps the rows. Returns the holder to release at the shard. */
  lapse(): string {
    const holder = this.#holder;
    this.#holder = crypto.randomUUID();
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    return holder;
  }

  /** Whether a request that arrived at `arrivedAtMs` may be decided by this replica. */
  covers(arrivedAtMs: number): boolean {
    return arrivedAtMs < this.#validUntilMs;
  }

  /** True: revoked. False: not, unless {@link needsCheck}. */
  isRevoked(subject: RevocationSubject): boolean {
    if (this.#rows.size > 0 && rowKeys(subject).some((key) => this.#rows.has(key))) return true;
    if (this.#cutOffs.size === 0) return false;
    return cutOffKeys(subject).some((key) => {
      const cutOff = this.#cutOffs.get(key);
      return cutOff !== undefined && isCutOff(subject, cutOff);
    });
  }

  /** Whether the subject may be revoked by a row that is not here: the filter contains one of its keys. */
  needsCheck(subject: RevocationSubject): boolean {
    const filter = this.#filter;
    return filter !== undefined && rowKeys(subject).some((key) => this.#mayContain(filter, key));
  }

  /**
   * Returns a function that remembers the result of an exact check that is about to be made. A revoked row remains revoked. A key that is not revoked
   * can be revoked later only by a row after the filter, which this replica installs. A result is ignored if another filter was installed meanwhile,
   * or if a superseded instance of the shard returned it, which may lack rows of the filter.
   */
  rememberCheck(): (subject: RevocationSubject, response: CheckResponse) => void {
    const filter = this.#filter;
    return (subject, { revoked, seq }) => {
      if (filter === undefined || filter !== this.#filter || seq < filter.seq) return;
      for (const key of rowKeys(subject)) {
        if (!filter.rows.mayContain(key)) continue;
        if (revoked.includes(key)) this.#rows.add(key, filter.untilMs);
        else if (filter.absent.size < rememberedChecks) filter.absent.add(key, filter.untilMs);
      }
    };
  }

  /** Discards all rows: the set is too large for this isolate. Returns the holder to release at the shard. */
  clear(): string {
    this.#rows = new HashedRows();
    this.#filter = undefined;
    this.#filterSeq = -1;
    this.#cutOffs.clear();
    this.#cutOffBytes = 0;
    this.#seq = -1;
    return this.lapse();
  }

  #mayContain({ rows, absent }: Filter, key: string): boolean {
    return rows.mayContain(key) && !absent.has(key);
  }

  /** The response contains every row that is not in the filter. */
  #replaceFilter({ seq, untilMs, bytes }: NonNullable<Lease["filter"]>): void {
    this.#filter = { seq, untilMs, rows: new RowFilter(bytes), absent: new HashedRows() };
    this.#filterSeq = seq;
    this.#rows = new HashedRows();
  }

  #addCutOff(cutOff: CutOff): void {
    const { key } = cutOff;
    const known = this.#cutOffs.get(key);
    if (known === undefined) this.#cutOffBytes += cutOffBytes(key);
    this.#cutOffs.set(key, combineCutOffs(known ?? cutOff, cutOff));
  }

  /** `untilMs` may come from a clock that is ahead, so a row is kept longer by the maximum clock difference. */
  prune(atMs: number): void {
    if (atMs < this.#prunedAtMs + pruneEveryMs) return;
    this.#prunedAtMs = atMs;
    const deadBeforeMs = atMs - leaseTiming.clockOffsetMs;
    this.#rows.prune(deadBeforeMs);
    if (this.#filter !== undefined && this.#filter.untilMs <= deadBeforeMs) this.#filter = undefined;
    for (const [key, { untilMs }] of this.#cutOffs) {
      if (untilMs > deadBeforeMs) continue;
      this.#cutOffs.delete(key);
      this.#cutOffBytes -= cutOffBytes(key);
    }
  }
}

function cutOffBytes(key: string): number {
  return mapEntryBytes + stringBytes(key) + 144;
}

/** **The replicas of an isolate**, by shard: of shards that requests have used, and of those that its relay has sent. */
export class ShardReplicas {
  readonly #replicas = new Map<string, ShardReplica>();

  of(shard: string): ShardReplica {
    const known = this.#replicas.get(shard);
    if (known !== undefined) return known;
    const replica = new ShardReplica();
    this.#replicas.set(shard, replica);
    return replica;
  }

  /** The estimated size of all replicas. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { bytes: held } of this.#replicas.values()) bytes += held;
    return bytes;
  }

  get isFull(): boolean {
    return this.heldBytes > isolateMemory.revocationReplicas;
  }

  /** The shard with the most rows. */
  largest(): string {
    return [...this.#replicas].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))[0];
  }

  delete(shard: string): void {
    this.#replicas.delete(shard);
  }

  /** The shards that are not in `live`. */
  outside(live: ReadonlySet<string>): readonly string[] {
    return [...this.#replicas.keys()].filter((shard) => !live.has(shard));
  }
}
