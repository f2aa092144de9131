/**
 * A run of renewals is the background work of one request. The platform ends such work 30 s after the response and limits the
 * calls of a request, so the run of another request replaces it well before.
 */
const longestRunMs = 5_000;

/** After a failed renewal, the first request that arrives later than this starts a new run. */
const renewAgainMs = 100;

/**
 * For so much of a lease a run waits for the renewal of the run before it: longer than a server holds one, and before the lease ends. A
 * renewal that takes longer is slow or lost; the next one is then sent beside it.
 */
const awaitedShare = 0.7;

/** A run, and for how long it waits for the renewal that is out before it begins. */
export interface KeeperRun {
  readonly number: number;
  readonly waitMs: number;
}

/**
 * **Which run renews a lease, and when**. Pure: no I/O, no clock. One run renews at a time, one call after the other, while requests use
 * the lease. The run of a later request replaces it between two renewals: a second call beside one that is held would be an extra call,
 * which the server answers by the first (ADR 24).
 */
export class KeeperRuns {
  #lastUseMs = Number.NEGATIVE_INFINITY;
  /** Number of the run that keeps the lease; an older run ends. */
  #present = 0;
  /** The run whose renewal the present run waits for. */
  #awaited: number | undefined;
  /** When the last renewal was sent that may be out. */
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #takeOverAtMs = Number.NEGATIVE_INFINITY;
  /** From then on a request starts a new run: the present one has ended, is lost, or is to be taken over. */
  #nextRunAtMs = Number.NEGATIVE_INFINITY;

  isUsedWithin(ms: number, atMs: number): boolean {
    return atMs - this.#lastUseMs <= ms;
  }

  /** Notes a request. Returns whether a run keeps the lease; if not, the caller starts one once the lease is there. */
  noteUse(atMs: number): boolean {
    this.#lastUseMs = atMs;
    return atMs < this.#nextRunAtMs;
  }

  start(atMs: number, leaseMs: number): KeeperRun {
    const longestMs = awaitedShare * leaseMs;
    // A clock that was set back must not prolong the wait.
    const waitMs = Math.min(longestMs, Math.max(0, this.#sentAtMs + longestMs - atMs));
    this.#awaited = waitMs > 0 ? this.#present : undefined;
    this.#present += 1;
    this.#takeOverAtMs = atMs + longestRunMs;
    this.#nextRunAtMs = atMs + leaseMs;
    return { number: this.#present, waitMs };
  }

  /** What a run does when it begins, and after each renewal. `release`: no request has used the lease for the length of one. */
  next(run: number, atMs: number, leaseMs: number): "renew" | "release" | "end" {
    if (run !== this.#present) return "end";
    if (!this.isUsedWithin(leaseMs, atMs)) {
      this.stop();
      return "release";
    }
    this.#awaited = undefined;
    this.#sentAtMs = atMs;
    // A renewal that is out for as long as the lease lasts is lost.
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
