import TinyQueue from "tinyqueue";

/** The queue is rebuilt when it has more outdated entries than current ones, and at least this many. */
const outdatedAtMost = 64;

/**
 * **The first of many ends, most of which are replaced before they pass.** An outdated entry remains in the queue until it is first, or until
 * outdated entries outnumber current ones: O(log n) for each entry, amortised. Pure.
 */
export class CurrentEnds<Entry> {
  readonly #compare: (one: Entry, other: Entry) => number;
  readonly #isCurrent: (entry: Entry) => boolean;
  #queue: TinyQueue<Entry>;

  constructor(compare: (one: Entry, other: Entry) => number, isCurrent: (entry: Entry) => boolean) {
    this.#compare = compare;
    this.#isCurrent = isCurrent;
    this.#queue = new TinyQueue([], compare);
  }

  /** `current`: how many entries are current, this one included. */
  add(entry: Entry, current: number): void {
    this.#queue.push(entry);
    if (this.#queue.length <= 2 * current + outdatedAtMost) return;
    this.#queue = new TinyQueue(this.#queue.data.filter(this.#isCurrent), this.#compare);
  }

  get first(): Entry | undefined {
    for (let entry = this.#queue.peek(); entry !== undefined; entry = this.#queue.peek()) {
      if (this.#isCurrent(entry)) return entry;
      this.#queue.pop();
    }
    return undefined;
  }
}

/** A given lease: the holder may decide by its state up to `seq` until `endMs`. */
interface HeldLease {
  readonly seq: number;
  endMs: number;
}

interface Holder {
  confirmedSeq: number;
  /** Ascending by seq. Only the last one is extended; confirmed and ended ones are removed. */
  readonly leases: HeldLease[];
  /** When the last of the leases ends. */
  lastEndMs: number;
}

interface HolderEnd {
  readonly id: string;
  readonly endMs: number;
}

/** A change that waits until no holder may decide without it. */
export interface PendingChange {
  readonly seq: number;
  /**
   * The holders that may decide without it, and until when: the end of the last lease without it, on this server's clock. Holders leave
   * when they confirm; no time changes. Empty: the change is in force everywhere.
   */
  readonly lacking: Map<string, number>;
  /** Holders that have not confirmed, and whose leases have ended. */
  readonly ended: Set<string>;
}

/** When the last lease of a holder that lacks the change ends; −∞ if there is none. */
export function lackingUntilMs({ lacking }: PendingChange): number {
  let untilMs = Number.NEGATIVE_INFINITY;
  for (const endMs of lacking.values()) untilMs = Math.max(untilMs, endMs);
  return untilMs;
}

/** The minimum interval between two looks of a wait at its change, and the additional interval for each holder: a burst of changes has many waits. */
const lookAgainMs = 20;
const lookAgainPerHolderMs = 0.2;

/**
 * Removes the holders whose leases ended by `reachedMs`, which has certainly passed on this server's clock. Returns how long to wait before the next
 * look; 0: the change is in force. A lost holder is waited for as long as its own lease lasts, not as long as the longest lease when the wait began:
 * the others confirm meanwhile.
 */
export function nextWaitMs({ lacking, ended }: PendingChange, reachedMs: number): number {
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const [holder, endMs] of lacking) {
    if (endMs <= reachedMs) {
      lacking.delete(holder);
      ended.add(holder);
      continue;
    }
    firstMs = Math.min(firstMs, endMs);
    lastMs = Math.max(lastMs, endMs);
  }
  if (lacking.size === 0) return 0;
  const paceMs = lookAgainMs + lookAgainPerHolderMs * lacking.size;
  return Math.ceil(Math.min(lastMs, Math.max(firstMs, reachedMs + paceMs)) - reachedMs);
}

/**
 * **The holders of leases, and the changes that each has confirmed.** Pure: no I/O, no clock. A change is in force when every
 * holder of a lease that was given without it has confirmed it, or that lease has ended (I1).
 *
 * A lease given after a change contains it, so the longest wait is known when the change is made, and it never grows. A holder is one
 * replica: an isolate that discards its replica or releases its lease continues under a new id, and drops responses to the old id.
 * Memory: a few hundred bytes per holder with a current lease; `prune` removes the others.
 */
export class LeaseHolders {
  readonly #holders = new Map<string, Holder>();
  /** The latest end is first. */
  readonly #ends = new CurrentEnds<HolderEnd>(
    (one, other) => other.endMs - one.endMs,
    ({ id, endMs }) => this.#holders.get(id)?.lastEndMs === endMs,
  );
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
    for (const { leases } of this.#holders.values()) if (leases.some(({ endMs }) => endMs > nowMs)) live += 1;
    return live;
  }

  /** When the holder's lease ends; −∞ without one. */
  leaseEndMs(holder: string): number {
    return this.#holders.get(holder)?.lastEndMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Records a lease whose response contains everything up to `seq`. */
  give(holder: string, seq: number, endMs: number): void {
    const known = this.#holders.get(holder);
    if (known === undefined) {
      this.#holders.set(holder, { confirmedSeq: -1, leases: [{ seq, endMs }], lastEndMs: endMs });
      this.#ends.add({ id: holder, endMs }, this.#holders.size);
      return;
    }
    if (endMs > known.lastEndMs) {
      known.lastEndMs = endMs;
      this.#ends.add({ id: holder, endMs }, this.#holders.size);
    }
    const last = known.leases.at(-1);
    if (last?.seq === seq) last.endMs = Math.max(last.endMs, endMs);
    else known.leases.push({ seq, endMs });
  }

  /** Notes that the holder has installed everything up to `seq`. Returns the changes that are in force as a result. */
  confirm(holder: string, seq: number): PendingChange[] {
    const known = this.#holders.get(holder);
    if (known === undefined || seq <= known.confirmedSeq) return [];
    known.confirmedSeq = seq;
    this.#confirmations += 1;
    // It decides by everything up to `seq` now, until the last of these leases ends: a later lease may have been shorter.
    let endMs = Number.NEGATIVE_INFINITY;
    while (known.leases.length > 0 && known.leases[0]!.seq <= seq) endMs = Math.max(endMs, known.leases.shift()!.endMs);
    if (endMs > Number.NEGATIVE_INFINITY) known.leases.unshift({ seq, endMs });
    return this.#settle(holder, seq);
  }

  /** Notes that the holder has released its lease and no longer decides by it. */
  release(holder: string): PendingChange[] {
    this.#holders.delete(holder);
    return this.#settle(holder, Number.POSITIVE_INFINITY);
  }

  /** Starts the wait for a durable change that every later lease contains. */
  await(seq: number, nowMs: number): PendingChange {
    const lacking = new Map<string, number>();
    for (const [id, { leases }] of this.#holders) {
      for (const lease of leases) {
        if (lease.seq >= seq || lease.endMs <= nowMs) continue;
        lacking.set(id, Math.max(lacking.get(id) ?? Number.NEGATIVE_INFINITY, lease.endMs));
      }
    }
    const pending = { seq, lacking, ended: new Set<string>() };
    if (lacking.size > 0) this.#pending.add(pending);
    return pending;
  }

  /** Ends a wait whose time has passed. */
  abandon(pending: PendingChange): void {
    this.#pending.delete(pending);
  }

  /** When the last lease that was given ends. */
  get lastEndMs(): number {
    return this.#ends.first?.endMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Removes ended leases, and holders without one. */
  prune(nowMs: number): void {
    for (const [id, { leases }] of this.#holders) {
      for (let index = leases.length - 1; index >= 0; index -= 1) {
        if (leases[index]!.endMs <= nowMs) leases.splice(index, 1);
      }
      if (leases.length === 0) this.#holders.delete(id);
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

/**
 * **The changes that wait for holders of leases**, at a shard and at a relay. A wait consists of durations on timers: no clock is read, so setting a
 * clock does not shorten it.
 */
export class ConfirmationWaits {
  readonly #waiting = new Map<PendingChange, () => void>();

  /**
   * Resolves when every holder has confirmed the change or its lease has ended. `startedAtMs` by this server's clock: when the change
   * began to wait.
   */
  wait(pending: PendingChange, startedAtMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let reachedMs = startedAtMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const waitMs = nextWaitMs(pending, reachedMs);
      if (waitMs === 0) return resolve();
      reachedMs += waitMs;
      timer = setTimeout(look, waitMs);
    };
    this.#waiting.set(pending, () => {
      if (timer !== undefined) clearTimeout(timer);
      resolve();
    });
    look();
    return promise.finally(() => this.#waiting.delete(pending));
  }

  /** Ends the waits of changes that every holder has confirmed. */
  settle(changes: readonly PendingChange[]): void {
    for (const change of changes) this.#waiting.get(change)?.();
  }
}
