import { leaseTiming } from "../objects/lease-timing.ts";
import { type CutOff, type LeaseReply, markKey, type RevokedRow } from "../objects/token-revocation-store.ts";
import { cutOffKeys, isCutOff, type RevocationSubject, rowKeys } from "./token-status.ts";

type Lease = Extract<LeaseReply, { kind: "lease" }>;

/** Dead rows are looked for this often. */
const pruneEveryMs = 60_000;

/**
 * **An isolate's copy of one shard's revoked set, and how long it may be believed** (protocols.md §2). No I/O, no clock.
 *
 * A lease counts from the moment before it was asked for (I2). A request that arrived while it was valid is decided by it,
 * however long the request takes: what was acknowledged as revoked before it arrived is in here. Replies may come out of
 * order: rows are only ever added, so a late one cannot take anything away.
 */
export class ShardReplica {
  readonly #rows = new Map<string, number>();
  readonly #cutOffs = new Map<string, CutOff>();
  #seq = -1;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #renewFromMs = Number.NEGATIVE_INFINITY;
  #prunedAtMs = 0;

  /** What to ask the next delta from. */
  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#rows.size + this.#cutOffs.size;
  }

  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** `sinceSeq`: what the lease was asked with. */
  install(lease: Lease, sentAtMs: number, sinceSeq: number): void {
    // A delta continues what was held when it was asked for; after a clearing in between, rows before it are missing here.
    if (!lease.snapshot && sinceSeq > this.#seq) return;
    for (const row of lease.rows) this.#addRow(row);
    for (const cutOff of lease.cutOffs) this.#addCutOff(cutOff);
    // A snapshot with a lower number is a late one, or of a storage that began anew: asking from there is right for both.
    this.#seq = lease.snapshot ? lease.seq : Math.max(this.#seq, lease.seq);
    if (sentAtMs + lease.leaseMs > this.#validUntilMs) {
      this.#validUntilMs = sentAtMs + lease.leaseMs;
      this.#renewFromMs = sentAtMs + lease.leaseMs / 2;
    }
    this.#prune(sentAtMs);
  }

  /** Whether a request that arrived then may be decided by this copy. */
  covers(arrivedAtMs: number): boolean {
    return arrivedAtMs < this.#validUntilMs;
  }

  /** Half of the lease is over. */
  isDue(atMs: number): boolean {
    return atMs >= this.#renewFromMs;
  }

  isRevoked(subject: RevocationSubject): boolean {
    if (this.#rows.size > 0 && rowKeys(subject).some((key) => this.#rows.has(key))) return true;
    if (this.#cutOffs.size === 0) return false;
    return cutOffKeys(subject).some((key) => {
      const cutOff = this.#cutOffs.get(key);
      return cutOff !== undefined && isCutOff(subject, cutOff);
    });
  }

  /** Whether rows that decide about the subject may be missing here: its client has more than are replicated. */
  mustAsk(subject: RevocationSubject): boolean {
    return this.#rows.size > 0 && this.#rows.has(markKey(subject.clientId));
  }

  /** Forgets all: the set has grown too large to be held here. */
  clear(): void {
    this.#rows.clear();
    this.#cutOffs.clear();
    this.#seq = -1;
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    this.#renewFromMs = Number.NEGATIVE_INFINITY;
  }

  #addRow({ key, untilMs }: RevokedRow): void {
    this.#rows.set(key, Math.max(untilMs, this.#rows.get(key) ?? untilMs));
  }

  #addCutOff({ key, notBeforeMs, untilMs }: CutOff): void {
    const known = this.#cutOffs.get(key);
    this.#cutOffs.set(key, {
      key,
      notBeforeMs: Math.max(notBeforeMs, known?.notBeforeMs ?? notBeforeMs),
      untilMs: Math.max(untilMs, known?.untilMs ?? untilMs),
    });
  }

  /** `untilMs` may be of a clock ahead of ours, so a row outlives it by as much as clocks may differ. */
  #prune(atMs: number): void {
    if (atMs < this.#prunedAtMs + pruneEveryMs) return;
    this.#prunedAtMs = atMs;
    const deadBeforeMs = atMs - leaseTiming.clockOffsetMs;
    for (const [key, untilMs] of this.#rows) if (untilMs <= deadBeforeMs) this.#rows.delete(key);
    for (const [key, { untilMs }] of this.#cutOffs) if (untilMs <= deadBeforeMs) this.#cutOffs.delete(key);
  }
}
