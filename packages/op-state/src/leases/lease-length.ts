/** The renewals per second that the holders of one lease server may cause; an object does about 1,000 calls a second. */
const renewalsPerSecond = 400;
/** A longer lease than is needed, so that each new holder does not change the length, … */
const headroom = 1.1;
/** … and it is kept until much less is needed. */
const keptAbove = 0.7;

/**
 * **How long the leases of a server last**: as requested, or longer if its holders would renew more than {@link renewalsPerSecond} times
 * a second, each after `heldShare` of its lease. Pure. The price: a holder that is lost delays a revocation by the longer lease.
 */
export class LeaseLength {
  readonly #maxMs: number;
  readonly #heldShare: number;
  #adaptedMs = 0;

  constructor(maxMs: number, heldShare: number) {
    this.#maxMs = maxMs;
    this.#heldShare = heldShare;
  }

  /** After each lease: the number of holders, lost ones included until their leases have ended. */
  adapt(holders: number): void {
    const neededMs = (1_000 * holders) / (this.#heldShare * renewalsPerSecond);
    if (neededMs > this.#adaptedMs) this.#adaptedMs = headroom * neededMs;
    else if (neededMs < keptAbove * this.#adaptedMs) this.#adaptedMs = neededMs;
  }

  /** The length of the next lease; 0 if none is requested. */
  givenMs(requestedMs: number): number {
    if (!(requestedMs > 0)) return 0;
    return Math.floor(Math.min(this.#maxMs, Math.max(requestedMs, this.#adaptedMs)));
  }
}
