import { grantedFromMs, leaseTiming } from "../objects/lease-timing.ts";
import {
  type CutOff,
  type LeaseRequest,
  type LeaseResponse,
  markKey,
  type RevokedRow,
} from "../objects/token-revocation-store.ts";
import { mapEntryBytes, stringBytes } from "../runtime/heap-bytes.ts";
import { cutOffKeys, isCutOff, type RevocationSubject, rowKeys } from "./revocation-subject.ts";

type Lease = Extract<LeaseResponse, { kind: "lease" }>;

/** The interval at which expired rows are deleted. */
const pruneEveryMs = 60_000;

/**
 * **An isolate's replica of one shard's revoked set, and the time until which it is valid** (docs/reference/protocols.md §2). No
 * I/O, no clock.
 *
 * A lease counts from before it was requested, or from the earliest moment at which a held request can have been granted (I2). A
 * request that arrived while it was valid is decided by it, however long the request takes. Rows are only ever added, so responses
 * may arrive out of order.
 *
 * `holder` names this replica at the shard. It changes when the replica stops deciding by its lease or discards rows, so that a
 * late response to the old id, which the shard no longer counts, is never installed.
 */
export class ShardReplica {
  readonly #rows = new Map<string, number>();
  readonly #cutOffs = new Map<string, CutOff>();
  #holder: string = crypto.randomUUID();
  #seq = -1;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #prunedAtMs = 0;
  #bytes = 0;

  get holder(): string {
    return this.#holder;
  }

  get seq(): number {
    return this.#seq;
  }

  /** The estimated size of its rows and cut-offs. */
  get bytes(): number {
    return this.#bytes;
  }

  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** The request for a lease or its renewal; it confirms the installed changes. `cv` is the applied control version. */
  request(leaseMs: number, cv: number | undefined, hold: boolean): LeaseRequest {
    const { holder, seq } = this;
    return { holder, sinceSeq: seq, confirmedSeq: seq, sinceCv: cv ?? -1, leaseMs, hold };
  }

  /** Installs the response to `request`. Its control version has been applied before. */
  install(lease: Lease, request: LeaseRequest, sentAtMs: number): void {
    if (request.holder !== this.#holder) return;
    if (lease.snapshot && request.sinceSeq >= 0) {
      // The storage was reset: its numbers are not the ones that this replica confirmed. The next request is for a snapshot.
      this.#seq = -1;
      this.lapse();
      return;
    }
    this.add(lease);
    const validUntilMs = grantedFromMs(leaseTiming, sentAtMs, lease.heldMs) + lease.leaseMs;
    this.#validUntilMs = Math.max(this.#validUntilMs, validUntilMs);
    this.prune(sentAtMs);
  }

  /** Adds what a shard has sent: a snapshot, or the changes after something that has been added before. */
  add({ rows, cutOffs, seq }: Lease): void {
    for (const row of rows) this.#addRow(row);
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

  isRevoked(subject: RevocationSubject): boolean {
    if (this.#rows.size > 0 && rowKeys(subject).some((key) => this.#rows.has(key))) return true;
    if (this.#cutOffs.size === 0) return false;
    return cutOffKeys(subject).some((key) => {
      const cutOff = this.#cutOffs.get(key);
      return cutOff !== undefined && isCutOff(subject, cutOff);
    });
  }

  /** Whether rows about the subject may be missing here, because its client has more rows than are replicated. */
  needsCheck(subject: RevocationSubject): boolean {
    return this.#rows.size > 0 && this.#rows.has(markKey(subject.clientId));
  }

  /** Discards all rows: the set is too large for this isolate. Returns the holder to release at the shard. */
  clear(): string {
    this.#rows.clear();
    this.#cutOffs.clear();
    this.#bytes = 0;
    this.#seq = -1;
    return this.lapse();
  }

  #addRow({ key, untilMs }: RevokedRow): void {
    if (!this.#rows.has(key)) this.#bytes += rowBytes(key);
    this.#rows.set(key, Math.max(untilMs, this.#rows.get(key) ?? untilMs));
  }

  #addCutOff({ key, notBeforeMs, untilMs }: CutOff): void {
    const known = this.#cutOffs.get(key);
    if (known === undefined) this.#bytes += cutOffBytes(key);
    this.#cutOffs.set(key, {
      key,
      notBeforeMs: Math.max(notBeforeMs, known?.notBeforeMs ?? notBeforeMs),
      untilMs: Math.max(untilMs, known?.untilMs ?? untilMs),
    });
  }

  /** `untilMs` may come from a clock that is ahead, so a row is kept longer by the maximum clock difference. */
  prune(atMs: number): void {
    if (atMs < this.#prunedAtMs + pruneEveryMs) return;
    this.#prunedAtMs = atMs;
    const deadBeforeMs = atMs - leaseTiming.clockOffsetMs;
    for (const [key, untilMs] of this.#rows) {
      if (untilMs > deadBeforeMs) continue;
      this.#rows.delete(key);
      this.#bytes -= rowBytes(key);
    }
    for (const [key, { untilMs }] of this.#cutOffs) {
      if (untilMs > deadBeforeMs) continue;
      this.#cutOffs.delete(key);
      this.#bytes -= cutOffBytes(key);
    }
  }
}

/** A row's time is a number beyond 31 bits: an object of 16 bytes. */
function rowBytes(key: string): number {
  return mapEntryBytes + stringBytes(key) + 16;
}

function cutOffBytes(key: string): number {
  return mapEntryBytes + stringBytes(key) + 112;
}
