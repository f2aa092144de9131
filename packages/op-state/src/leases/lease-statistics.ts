import type { RevocationStatistics } from "@edge-op/shared/leases/revocation-shard-rpc";

/** Each shard logs a slow acknowledgement at most once in this time. */
const logEveryMs = 1_000;
/** The number of holders named in a log line. */
const namedHolders = 10;

/** An acknowledgement that waits. */
export interface RunningWait {
  readonly startedAtMs: number;
  readonly leasesMs: number;
  readonly fenceMs: number;
  /** The holders that have not confirmed, and whose leases have ended. */
  readonly lacking: ReadonlySet<string>;
}

/** The log entry of an acknowledgement that waited for long. */
export interface SlowWait {
  readonly waitedMs: number;
  readonly fenceMs: number;
  readonly lacking: readonly string[];
  readonly lackingInAll: number;
  /** Slow acknowledgements since the previous log line that were not logged. */
  readonly unlogged: number;
}

type Counted = "leasesGranted" | "renewalsHeld" | "releases";

/**
 * **Counts what a revocation shard does with leases**, since this instance of it started: for operators (docs/operating/confirmed-writes.md). A few
 * numbers in memory, which decide nothing. No clock.
 */
export class LeaseStatistics {
  readonly #sinceMs: number;
  readonly #slowMs: number;
  readonly #counts: Record<Counted, number> = { leasesGranted: 0, renewalsHeld: 0, releases: 0 };
  #waits = 0;
  #waiting = 0;
  #endedByConfirmation = 0;
  #endedByLeaseEnd = 0;
  #fences = 0;
  #longestMs = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #unlogged = 0;

  constructor(sinceMs: number, slowMs: number) {
    this.#sinceMs = sinceMs;
    this.#slowMs = slowMs;
  }

  count(what: Counted): void {
    this.#counts[what] += 1;
  }

  start(): void {
    this.#waiting += 1;
  }

  /** Returns the log entry of a slow acknowledgement. */
  end(wait: RunningWait, atMs: number): SlowWait | undefined {
    const waitedMs = Math.max(0, atMs - wait.startedAtMs);
    this.#waiting -= 1;
    this.#waits += 1;
    this.#longestMs = Math.max(this.#longestMs, waitedMs);
    if (wait.fenceMs > 0) this.#fences += 1;
    if (wait.leasesMs > 0) {
      if (wait.lacking.size === 0) this.#endedByConfirmation += 1;
      else this.#endedByLeaseEnd += 1;
    }
    if (waitedMs < this.#slowMs) return undefined;
    if (atMs < this.#loggedAtMs + logEveryMs && atMs >= this.#loggedAtMs) {
      this.#unlogged += 1;
      return undefined;
    }
    const unlogged = this.#unlogged;
    this.#unlogged = 0;
    this.#loggedAtMs = atMs;
    const lacking = [...wait.lacking].slice(0, namedHolders);
    return { waitedMs, fenceMs: wait.fenceMs, lacking, lackingInAll: wait.lacking.size, unlogged };
  }

  read(now: { readonly holders: number; readonly confirmations: number }): RevocationStatistics {
    return {
      sinceMs: this.#sinceMs,
      holders: now.holders,
      waiting: this.#waiting,
      ...this.#counts,
      confirmations: now.confirmations,
      waits: {
        count: this.#waits,
        longestMs: this.#longestMs,
        endedByConfirmation: this.#endedByConfirmation,
        endedByLeaseEnd: this.#endedByLeaseEnd,
        bootFences: this.#fences,
      },
    };
  }
}
