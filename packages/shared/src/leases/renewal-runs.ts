/**
 * A run of renewals is the background work of one request. The platform ends such work 30 s after the response and limits the
 * calls of a request, so the run of another request replaces it well before.
 */
const longestRunMs = 5_000;

/** After a failed renewal, the first request that arrives later than this starts a new run. */
const renewAgainMs = 100;

/**
 * The share of a lease for which a run waits for the renewal of the run before it: longer than a server holds one, and ending before the lease does.
 * A renewal that takes longer is slow or lost, so the next one is sent in parallel.
 */
const awaitedShare = 0.7;

/** A run, and how long it waits for the outstanding renewal before it begins. */
export interface RenewalRun {
  readonly number: number;
  readonly waitMs: number;
}

/**
 * **Which run renews a lease, and when**. Pure: no I/O, no clock. One run renews at a time, one call after the other, while requests use the lease.
 * The run of a later request replaces it between two renewals: a second call in parallel with a held one would cost an extra call, because the server
 * then responds to the held one (ADR 22).
 */
export class RenewalRuns {
  #lastUseMs = Number.NEGATIVE_INFINITY;
  /** Number of the run that keeps the lease; an older run ends. */
  #present = 0;
  /** The run whose renewal the present run waits for. */
  #awaited: number | undefined;
  /** When the last renewal that may be outstanding was sent. */
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #takeOverAtMs = Number.NEGATIVE_INFINITY;
  /** The time from which a request starts a new run, because the present one has ended, is lost, or is to be replaced. */
  #nextRunAtMs = Number.NEGATIVE_INFINITY;

  isUsedWithin(ms: number, atMs: number): boolean {
    return atMs - this.#lastUseMs <= ms;
  }

  /** Notes a request. Returns whether a run keeps the lease; if not, the caller starts one once the lease is there. */
  noteUse(atMs: number): boolean {
    this.#lastUseMs = atMs;
    return atMs < this.#nextRunAtMs;
  }

  start(atMs: number, leaseMs: number): RenewalRun {
    const longestMs = awaitedShare * leaseMs;
    // A clock that was set back must not prolong the wait.
    const waitMs = Math.min(longestMs, Math.max(0, this.#sentAtMs + longestMs - atMs));
    this.#awaited = waitMs > 0 ? this.#present : undefined;
    this.#present += 1;
    this.#takeOverAtMs = atMs + longestRunMs;
    this.#nextRunAtMs = atMs + leaseMs;
    return { number: this.#present, waitMs };
  }

  /** The next step of a run, when it begins and after each renewal. `release`: no request has used the lease for the length of a lease. */
  next(run: number, atMs: number, leaseMs: number): "renew" | "release" | "end" {
    if (run !== this.#present) return "end";
    if (!this.isUsedWithin(leaseMs, atMs)) {
      this.stop();
      return "release";
    }
    this.#awaited = undefined;
    this.#sentAtMs = atMs;
    // A renewal that is outstanding for as long as the lease lasts is lost.
    this.#nextRunAtMs = Math.min(this.#takeOverAtMs, atMs + leaseMs);
    return "renew";
  }

  /** Whether the present run waits for the renewal of this one. */
  isAwaited(run: number): boolean {
    return run === this.#awaited;
  }

  /** A renewal of this run failed. Requests are decided by the lease while it lasts; a later one starts to renew it again. */
  fail(run: number, atMs: number): void {
    if (run !== this.#present && !this.isAwaited(run)) return;
    this.stop();
    this.#nextRunAtMs = atMs + renewAgainMs;
  }

  /** Ends the present run. */
  stop(): void {
    this.#present += 1;
    this.#awaited = undefined;
    this.#sentAtMs = Number.NEGATIVE_INFINITY;
    this.#nextRunAtMs = Number.NEGATIVE_INFINITY;
  }
}
