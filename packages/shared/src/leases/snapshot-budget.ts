export interface SnapshotLimits {
  readonly bytesPerSecond: number;
  /** Of all snapshots that were sent and have not been installed. */
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
  /** The number of the last change that it contains. */
  readonly seq: number;
  readonly sentAtMs: number;
}

const secondMs = 1_000;
/** A snapshot whose holder has not called again by then is lost, or its holder has become idle. */
const lostAfterMs = 2_000;
/** The longest delay after which a holder is asked to come again; the caller spreads it up to twice as long. */
const longestAgainMs = 10_000;
/** The shortest one, for holders that wait for others to install. */
const shortestAgainMs = 100;

/**
 * **Paces the snapshots that a lease server sends**, by bytes a second and by bytes in flight (ADR 53): thousands of cold holders at
 * once must not keep it from renewals and revocations, nor fill its memory with responses. Those that have to wait get no lease: they
 * check exactly, and come again at times that follow one another. Pure. A snapshot is allowed, however large it is, while none is
 * in flight and the last one is paid for. Memory: one entry for each snapshot in flight.
 */
export class SnapshotBudget {
  readonly #limits: SnapshotLimits;
  /** When the bytes that were sent have been paid for. */
  #paidAtMs = Number.NEGATIVE_INFINITY;
  /** The turn of the last holder that was refused. */
  #lastTurnMs = Number.NEGATIVE_INFINITY;
  readonly #inFlight = new Map<string, Sent>();
  #inFlightBytes = 0;

  constructor(limits: SnapshotLimits) {
    this.#limits = limits;
  }

  /** Snapshots that were sent and are not known to be installed. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Whether a response of this size would be sent now. */
  allows(holder: string, bytes: number, nowMs: number): boolean {
    if (bytes <= this.#limits.freeBytes) return true;
    this.#dropLost(nowMs);
    // A clock that was set back must not stop snapshots.
    this.#paidAtMs = Math.min(this.#paidAtMs, nowMs + 2 * secondMs + this.#costMs(bytes));
    if (this.#paidAtMs - nowMs > secondMs || this.#inFlight.has(holder)) return false;
    return this.#inFlight.size === 0 || this.#inFlightBytes + bytes <= this.#limits.bytesInFlight;
  }

  /** 0: the response, which contains everything up to `seq`, is sent now. Otherwise when the holder is to come again. */
  take(holder: string, bytes: number, seq: number, nowMs: number): number {
    if (bytes <= this.#limits.freeBytes) return 0;
    if (!this.allows(holder, bytes, nowMs)) return this.#nextTurn(bytes, nowMs);
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs) + this.#costMs(bytes);
    this.#inFlight.set(holder, { bytes, seq, sentAtMs: nowMs });
    this.#inFlightBytes += bytes;
    return 0;
  }

  /** The holder has installed everything up to `seq`. */
  installed(holder: string, seq: number): void {
    const sent = this.#inFlight.get(holder);
    if (sent !== undefined && seq >= sent.seq) this.#remove(holder, sent);
  }

  /** The holder drops what is sent to it. */
  released(holder: string): void {
    this.installed(holder, Number.POSITIVE_INFINITY);
  }

  #costMs(bytes: number): number {
    return (bytes / this.#limits.bytesPerSecond) * secondMs;
  }

  /** After the bytes that are being paid for, and after the holders that were refused before. */
  #nextTurn(bytes: number, nowMs: number): number {
    const earliestMs = Math.max(this.#paidAtMs - secondMs, nowMs + shortestAgainMs);
    const lastMs = this.#lastTurnMs > nowMs + longestAgainMs ? nowMs : this.#lastTurnMs;
    this.#lastTurnMs = Math.min(Math.max(earliestMs, lastMs + this.#costMs(bytes)), nowMs + longestAgainMs);
    return Math.ceil(this.#lastTurnMs - nowMs);
  }

  #dropLost(nowMs: number): void {
    for (const [holder, sent] of this.#inFlight) {
      // Also those of a clock that was set back.
      if (Math.abs(nowMs - sent.sentAtMs) >= lostAfterMs) this.#remove(holder, sent);
    }
  }

  #remove(holder: string, { bytes }: Sent): void {
    this.#inFlight.delete(holder);
    this.#inFlightBytes -= bytes;
  }
}
