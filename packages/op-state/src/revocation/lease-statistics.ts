import type { RevocationStatistics } from "@edge-op/shared/leases/revocation-shard-rpc";

/** A slow acknowledgement is logged at most once in so long, by each shard. */
const logEveryMs = 1_000;
/** Holders that are named in a line of the log. */
const namedHolders = 10;

/** An acknowledgement that waits. */
export interface RunningWait {
  readonly startedAtMs: number;
  readonly leasesMs: number;
  readonly fenceMs: number;
  /** The holders that have not confirmed, and whose leases have ended. */
  readonly lacking: ReadonlySet<string>;
}

/** What is logged of an acknowledgement that waited for long. */
export interface SlowWait {
  readonly waitedMs: number;
  readonly fenceMs: number;
  readonly lacking: readonly string[];
  readonly lackingInAll: number;
  /** Slow acknowledgements since the line before, which have no line. */
  readonly unlogged: number;
}

type Counted = "leasesGranted" | "renewalsHeld" | "releases";

/**
 * **Counts what a revocation shard does with leases**, since this instance of it started: for operators (docs/operating/confirmed-writes.md).
 * In memory alone, a few numbers; nothing is decided by them. No clock.
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

  /** Returns what is to be logged of a slow one. */
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
