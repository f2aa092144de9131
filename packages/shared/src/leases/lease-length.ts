/** The renewals per second that the holders of one lease server may cause; an object does about 1,000 calls a second. */
const renewalsPerSecond = 400;
/** A longer lease than is needed, so that each new holder does not change the length, … */
const headroom = 1.1;
/** … and it is kept until much less is needed. */
const keptAbove = 0.7;

/**
 * **How long the leases of a server last**: as requested, or longer if its holders would renew more than {@link renewalsPerSecond} times
 * a second (a holder renews twice in a lease). Pure. The price: a holder that is lost delays a revocation by the longer lease.
 */
export class LeaseLength {
  readonly #maxMs: number;
  #adaptedMs = 0;

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** After each lease: the number of holders, lost ones included until their leases have ended. */
  adapt(holders: number): void {
    const neededMs = (2_000 * holders) / renewalsPerSecond;
    if (neededMs > this.#adaptedMs) this.#adaptedMs = headroom * neededMs;
    else if (neededMs < keptAbove * this.#adaptedMs) this.#adaptedMs = neededMs;
  }

  /** The length of the next lease; 0 if none is requested. */
  grantedMs(requestedMs: number): number {
    if (!(requestedMs > 0)) return 0;
    return Math.floor(Math.min(this.#maxMs, Math.max(requestedMs, this.#adaptedMs)));
  }
}
