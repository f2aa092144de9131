/** A lease as the server counts it: the holder may decide by what it had up to `seq` until `endMs`. */
interface Grant {
  readonly seq: number;
  endMs: number;
}

interface Holder {
  confirmedSeq: number;
  /** Ascending by seq. Only the last one grows; those that end or are confirmed go. */
  readonly grants: Grant[];
}

/** A change that waits until no holder may decide without it. */
export interface PendingChange {
  readonly seq: number;
  /** The holders whose confirmation is missing. Empty: the change is in force everywhere. */
  readonly lacking: Set<string>;
  /** When the last lease of a holder in `lacking` has ended, on this server's clock. */
  readonly untilMs: number;
}

/**
 * **Who holds a lease, and what each holder has confirmed.** Pure: no I/O, no clock. A change is in force when every holder
 * that was granted a lease without it has confirmed it, or that lease has ended (I1).
 *
 * A lease granted after a change contains it, so the leases that lack a change only become fewer: the time to wait is
 * known when the change is made, and never grows. A holder is one replica: an isolate that discards its replica, or
 * releases its lease, goes on under a new id, and answers to the old id are dropped there.
 *
 * Memory: a few hundred bytes per holder whose lease has not ended; `prune` removes the others.
 */
export class LeaseHolders {
  readonly #holders = new Map<string, Holder>();
  readonly #pending = new Set<PendingChange>();
  #confirmations = 0;

  get size(): number {
    return this.#holders.size;
  }

  /** How often a holder has confirmed something new. */
  get confirmations(): number {
    return this.#confirmations;
  }

  /** How many holders have a lease that has not ended. */
  countLive(nowMs: number): number {
    let live = 0;
    for (const { grants } of this.#holders.values()) if (grants.some(({ endMs }) => endMs > nowMs)) live += 1;
    return live;
  }

  /** When the holder's lease ends; long ago if it has none. */
  leaseEndMs(holder: string): number {
    let endMs = Number.NEGATIVE_INFINITY;
    for (const grant of this.#holders.get(holder)?.grants ?? []) endMs = Math.max(endMs, grant.endMs);
    return endMs;
  }

  /** Records a lease whose answer contains everything up to `seq`. */
  grant(holder: string, seq: number, endMs: number): void {
    const known = this.#holders.get(holder);
    if (known === undefined) {
      this.#holders.set(holder, { confirmedSeq: -1, grants: [{ seq, endMs }] });
      return;
    }
    const last = known.grants.at(-1);
    if (last?.seq === seq) last.endMs = Math.max(last.endMs, endMs);
    else known.grants.push({ seq, endMs });
  }

  /** The holder has installed everything up to `seq`. Returns the changes that are in force by that. */
  confirm(holder: string, seq: number): PendingChange[] {
    const known = this.#holders.get(holder);
    if (known === undefined || seq <= known.confirmedSeq) return [];
    known.confirmedSeq = seq;
    this.#confirmations += 1;
    // What it was granted before, it has replaced.
    const first = known.grants.findIndex((grant) => grant.seq >= seq);
    known.grants.splice(0, first === -1 ? known.grants.length : first);
    return this.#settle(holder, seq);
  }

  /** The holder has given its lease up, and decides by it no more. */
  release(holder: string): PendingChange[] {
    this.#holders.delete(holder);
    return this.#settle(holder, Number.POSITIVE_INFINITY);
  }

  /** Starts to wait for a change that is durable and in every grant from now on. */
  await(seq: number, nowMs: number): PendingChange {
    const lacking = new Set<string>();
    let untilMs = Number.NEGATIVE_INFINITY;
    for (const [id, { grants }] of this.#holders) {
      for (const grant of grants) {
        if (grant.seq >= seq || grant.endMs <= nowMs) continue;
        lacking.add(id);
        untilMs = Math.max(untilMs, grant.endMs);
      }
    }
    const pending = { seq, lacking, untilMs };
    if (lacking.size > 0) this.#pending.add(pending);
    return pending;
  }

  /** Ends a wait: its time has passed. */
  abandon(pending: PendingChange): void {
    this.#pending.delete(pending);
  }

  /** When the last lease that was granted ends. */
  get lastEndMs(): number {
    let last = Number.NEGATIVE_INFINITY;
    for (const { grants } of this.#holders.values()) for (const { endMs } of grants) last = Math.max(last, endMs);
    return last;
  }

  /** Forgets leases that have ended, and holders without one. */
  prune(nowMs: number): void {
    for (const [id, { grants }] of this.#holders) {
      for (let index = grants.length - 1; index >= 0; index -= 1) {
        if (grants[index]!.endMs <= nowMs) grants.splice(index, 1);
      }
      if (grants.length === 0) this.#holders.delete(id);
    }
  }

  #settle(holder: string, seq: number): PendingChange[] {
    const settled: PendingChange[] = [];
    for (const pending of this.#pending) {
      if (pending.seq > seq || !pending.lacking.delete(holder) || pending.lacking.size > 0) continue;
      this.#pending.delete(pending);
      settled.push(pending);
    }
    return settled;
  }
}
