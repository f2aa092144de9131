import { givenFromMs, heldShare, type LeaseTiming } from "@edge-op/shared/config/lease-timing";
import type { ShardContent } from "@edge-op/shared/leases/relay-rpc";
import type { LeaseRequest } from "@edge-op/shared/leases/revocation-shard-rpc";

interface Installed {
  /** The relay's version that this content came with. */
  readonly version: number;
  readonly content: ShardContent;
}

/** A filter counts as rows of the same size. */
export const bytesPerRow = 200;

/** Changes beyond the snapshot's own size are replaced by a new snapshot, so each row is forwarded twice at most. */
const minCompactedRows = 256;

/**
 * **A relay's lease on one shard, and what the shard has sent**: a snapshot and the changes after it, which the relay stores and
 * forwards without reading them. Pure: no I/O, no clock.
 *
 * `confirmedSeq` is the last change that every isolate behind the relay decides by. A request confirms it, never what the relay
 * itself has installed. The holder id changes when the content is dropped or the lease is released, so that a late response to the
 * old id is not installed.
 */
export class UpstreamShard {
  readonly #timing: LeaseTiming;
  #holder: string = crypto.randomUUID();
  #seq = -1;
  #confirmedSeq = -1;
  #awaitedSeq = -1;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #snapshot: Installed | undefined;
  #changes: Installed[] = [];
  #snapshotRows = 0;
  #changedRows = 0;
  /** The shard did not send the snapshot that was to replace the changes. */
  #isRefused = false;

  constructor(timing: LeaseTiming) {
    this.#timing = timing;
  }

  get holder(): string {
    return this.#holder;
  }

  get seq(): number {
    return this.#seq;
  }

  /** Rows that are stored here, outdated ones and the size of the filter included. */
  get rows(): number {
    return this.#snapshotRows + this.#changedRows;
  }

  /** The next change that isolates are to confirm, returned once; `undefined` if they have confirmed everything, or are being waited for. */
  takeUnconfirmed(): number | undefined {
    if (this.#seq <= Math.max(this.#confirmedSeq, this.#awaitedSeq)) return undefined;
    this.#awaitedSeq = this.#seq;
    return this.#seq;
  }

  /** How much of its lease is left; 0 without one. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#validUntilMs - nowMs);
  }

  /** The request for a lease or its renewal, which the shard holds for `heldShare.upstream` of the lease: three quarters are left then. */
  request(leaseMs: number, sinceCv: number): LeaseRequest {
    const isOutgrown = !this.#isRefused && this.#changedRows > this.#snapshotRows + minCompactedRows;
    const sinceSeq = isOutgrown ? -1 : this.#seq;
    const confirmedSeq = this.#confirmedSeq;
    const filterSeq = this.#snapshot?.content.filter?.seq ?? -1;
    return {
      holder: this.#holder,
      sinceSeq,
      confirmedSeq,
      filterSeq,
      sinceCv,
      leaseMs,
      hold: true,
      holdMs: heldShare.upstream * leaseMs,
      isRelay: true,
    };
  }

  /**
   * Installs the response to `request`. Returns whether there is content for isolates, which then belongs to `version`. A snapshot
   * that is older than the requested changes means that the shard's storage was reset: everything is dropped.
   */
  install(response: ShardContent, request: LeaseRequest, sentAtMs: number, version: number): boolean {
    if (request.holder !== this.#holder) return false;
    this.#isRefused = false;
    if (response.snapshot && response.seq < Math.max(request.sinceSeq, request.confirmedSeq)) {
      this.drop();
      return false;
    }
    const validUntilMs = givenFromMs(this.#timing, sentAtMs, response.heldMs) + response.leaseMs;
    this.#validUntilMs = Math.max(this.#validUntilMs, validUntilMs);
    return this.#store(response, version);
  }

  /** The shard cannot give a lease now. The content is kept: the next request is for the changes after it. */
  refuse(): void {
    this.#isRefused = true;
  }

  /** Notes that every isolate behind the relay decides by the changes up to `seq`. Returns whether that is new to the shard. */
  confirm(holder: string, seq: number): boolean {
    if (holder !== this.#holder || seq <= this.#confirmedSeq) return false;
    this.#confirmedSeq = seq;
    return true;
  }

  /** Ends the lease and keeps the content. Returns the holder to release at the shard. */
  lapse(): string {
    const holder = this.#holder;
    this.#holder = crypto.randomUUID();
    this.#awaitedSeq = -1;
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    return holder;
  }

  /** Drops the content and lets the lease run out. It is not released: isolates may still decide by it. */
  drop(): void {
    this.lapse();
    this.#seq = -1;
    this.#confirmedSeq = -1;
    this.#snapshot = undefined;
    this.#changes = [];
    this.#snapshotRows = 0;
    this.#changedRows = 0;
  }

  /** The number of rows that an isolate with `version` lacks, counted as {@link rows}. */
  rowsAfter(version: number): number {
    if (this.#snapshot === undefined) return 0;
    const changed = this.#changes.reduce(
      (sum, change) => sum + (change.version > version ? rowsOf(change.content) : 0),
      0,
    );
    return (this.#snapshot.version > version ? this.#snapshotRows : 0) + changed;
  }

  /** The content that an isolate with `version` lacks. */
  contentAfter(version: number): readonly ShardContent[] {
    if (this.#snapshot === undefined) return [];
    const changes = this.#changes.filter((change) => change.version > version);
    return [...(this.#snapshot.version > version ? [this.#snapshot] : []), ...changes].map(({ content }) => content);
  }

  #store(response: ShardContent, version: number): boolean {
    const isNews = response.seq > this.#seq;
    const content = { ...response, changes: undefined };
    const rows = rowsOf(response);
    if (response.snapshot && (isNews || this.#snapshot === undefined)) {
      this.#snapshot = { version, content };
      this.#changes = [];
    } else if (response.snapshot && response.seq === this.#seq) {
      // The same content in fewer rows: isolates that have it need not be sent it again.
      this.#snapshot = { version: this.#changes.at(-1)?.version ?? this.#snapshot!.version, content };
      this.#changes = [];
    } else if (isNews && rows > 0) {
      this.#changes.push({ version, content });
    }
    if (response.snapshot && response.seq >= this.#seq) {
      this.#snapshotRows = rows;
      this.#changedRows = 0;
    } else if (isNews) {
      this.#changedRows += rows;
    }
    this.#seq = Math.max(this.#seq, response.seq);
    return isNews && (response.snapshot || rows > 0);
  }
}

function rowsOf({ filter, rows, cutOffs }: ShardContent): number {
  return rows.length + cutOffs.length + Math.ceil((filter?.bytes.length ?? 0) / bytesPerRow);
}
