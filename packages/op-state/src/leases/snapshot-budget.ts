export interface SnapshotLimits {
  readonly bytesPerSecond: number;
  /** The size of all snapshots that were sent and have not been installed. */
  readonly bytesInFlight: number;
  /** A smaller response is not paced. */
  readonly freeBytes: number;
}

export const unpacedSnapshots: SnapshotLimits = {
  bytesPerSecond: Number.POSITIVE_INFINITY,
  bytesInFlight: Number.POSITIVE_INFINITY,
  freeBytes: Number.POSITIVE_INFINITY,
};

interface Sent {
  readonly bytes: number;
  readonly isToRelay: boolean;
  /** The number of the last change that it contains. */
  readonly seq: number;
  readonly sentAtMs: number;
}

const secondMs = 1_000;
/** A snapshot is lost, or its holder has become idle, if the holder has not called again within this time. */
const lostAfterMs = 2_000;
/** The longest delay after which a holder is asked to retry; the caller spreads it up to twice as long. */
const longestAgainMs = 10_000;
/** The shortest delay, for holders that wait for others to install. */
const shortestAgainMs = 100;
/** The bytes that relays may have in flight beside the isolates, as a share of `bytesInFlight`. */
const relaysShare = 0.25;

/** The snapshots sent to holders of one kind, and the last turn. */
interface Account {
  /** When the sent bytes have been paid for. */
  paidAtMs: number;
  /** The turn of the last holder that was refused. */
  lastTurnMs: number;
  inFlight: number;
  bytes: number;
}

const emptyAccount = (): Account => ({
  paidAtMs: Number.NEGATIVE_INFINITY,
  lastTurnMs: Number.NEGATIVE_INFINITY,
  inFlight: 0,
  bytes: 0,
});

/**
 * **Paces the snapshots that a lease server sends**, by bytes a second and by bytes in flight (ADR 22): thousands of cold holders at once must not
 * keep it from renewals and revocations, nor fill its memory with responses. Holders that have to wait get no lease: they check exactly, and retry
 * one after another. Pure. A snapshot is allowed, however large it is, while none is in flight and the last one is paid for. Memory: one entry for
 * each snapshot in flight.
 *
 * Relays come first (ADR 22): one serves hundreds of isolates. They wait only for other relays, and have a quarter of the bytes in flight beside
 * those of isolates. The isolates that follow pay for the bytes sent to relays.
 */
export class SnapshotBudget {
  readonly #limits: SnapshotLimits;
  /** The account of relays. */
  readonly #relays = emptyAccount();
  /** The account of all holders; its bytes in flight are those of isolates. */
  readonly #isolates = emptyAccount();
  readonly #inFlight = new Map<string, Sent>();

  constructor(limits: SnapshotLimits) {
    this.#limits = limits;
  }

  /** Snapshots that were sent and are not known to be installed. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  get inFlightBytes(): number {
    return this.#isolates.bytes + this.#relays.bytes;
  }

  /** Whether a response of this size would be sent now. */
  allows(holder: string, bytes: number, nowMs: number, isRelay = false): boolean {
    if (bytes <= this.#limits.freeBytes) return true;
    this.#dropLost(nowMs);
    const account = this.#account(isRelay);
    // A clock that was set back must not stop snapshots.
    account.paidAtMs = Math.min(account.paidAtMs, nowMs + 2 * secondMs + this.#costMs(bytes));
    if (account.paidAtMs - nowMs > secondMs || this.#inFlight.has(holder)) return false;
    const most = this.#limits.bytesInFlight * (isRelay ? relaysShare : 1);
    return account.inFlight === 0 || account.bytes + bytes <= most;
  }

  /** Returns 0 if the response, which contains everything up to `seq`, is sent now; otherwise the time after which the holder is to retry. */
  take(holder: string, bytes: number, seq: number, nowMs: number, isRelay = false): number {
    if (bytes <= this.#limits.freeBytes) return 0;
    const account = this.#account(isRelay);
    if (!this.allows(holder, bytes, nowMs, isRelay)) return this.#nextTurn(account, bytes, nowMs);
    for (const paying of isRelay ? [this.#relays, this.#isolates] : [this.#isolates]) {
      paying.paidAtMs = Math.max(paying.paidAtMs, nowMs) + this.#costMs(bytes);
    }
    this.#inFlight.set(holder, { bytes, isToRelay: isRelay, seq, sentAtMs: nowMs });
    account.inFlight += 1;
    account.bytes += bytes;
    return 0;
  }

  /** Notes that the holder has installed everything up to `seq`. */
  installed(holder: string, seq: number): void {
    const sent = this.#inFlight.get(holder);
    if (sent !== undefined && seq >= sent.seq) this.#remove(holder, sent);
  }

  /** Notes that the holder drops the snapshot sent to it. */
  released(holder: string): void {
    this.installed(holder, Number.POSITIVE_INFINITY);
  }

  #account(isRelay: boolean): Account {
    return isRelay ? this.#relays : this.#isolates;
  }

  #costMs(bytes: number): number {
    return (bytes / this.#limits.bytesPerSecond) * secondMs;
  }

  /** The turn after the bytes that are being paid for, and after the holders that were refused before. */
  #nextTurn(account: Account, bytes: number, nowMs: number): number {
    const earliestMs = Math.max(account.paidAtMs - secondMs, nowMs + shortestAgainMs);
    const lastMs = account.lastTurnMs > nowMs + longestAgainMs ? nowMs : account.lastTurnMs;
    account.lastTurnMs = Math.min(Math.max(earliestMs, lastMs + this.#costMs(bytes)), nowMs + longestAgainMs);
    return Math.ceil(account.lastTurnMs - nowMs);
  }

  #dropLost(nowMs: number): void {
    for (const [holder, sent] of this.#inFlight) {
      // Also removes entries of a clock that was set back.
      if (Math.abs(nowMs - sent.sentAtMs) >= lostAfterMs) this.#remove(holder, sent);
    }
  }

  #remove(holder: string, { bytes, isToRelay }: Sent): void {
    this.#inFlight.delete(holder);
    const account = this.#account(isToRelay);
    account.inFlight -= 1;
    account.bytes -= bytes;
  }
}
