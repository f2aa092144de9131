/**
 * **How long things last between a shard and its isolates** (docs/reference/protocols.md §2). Durations are compared, so clocks need not
 * agree: the assumptions are that the rate of a clock is off by at most ρ, that two clocks never differ by 60 s, and that
 * a clock is fresh when an event (request, call, timer) is delivered. Both sides read this one table.
 */
export interface LeaseTiming {
  /** ρ: how much faster or slower than real time a clock may run. */
  readonly driftRate: number;
  /** C: how long a shard goes on answering after a durable horizon, so it writes at most one per C. */
  readonly horizonStepMs: number;
  /** C while no lease is out: an acknowledgement after a restart waits this long, and `check` writes at most one horizon in it. */
  readonly checkStepMs: number;
  /** ε: clocks are read in whole milliseconds. */
  readonly marginMs: number;
  /** The longest L that a shard grants, whatever it is asked for: bounds what a revocation can wait for. */
  readonly maxLeaseMs: number;
  /** Two clocks never differ by as much. */
  readonly clockOffsetMs: number;
}

export const leaseTiming: LeaseTiming = {
  driftRate: 0.02,
  horizonStepMs: 2_000,
  checkStepMs: 900,
  marginMs: 10,
  maxLeaseMs: 10_000,
  clockOffsetMs: 60_000,
};

/** What to wait on one's own clock so that `durationMs` has passed on any other: (1+ρ)/(1−ρ), about 1+2ρ. */
export function outlast(timing: LeaseTiming, durationMs: number): number {
  return (durationMs * (1 + timing.driftRate)) / (1 - timing.driftRate);
}

/** The longest that a shard may wait before it acknowledges: the leases out, or those of its predecessor. */
export function longestWaitMs(timing: LeaseTiming, leaseMs: number): number {
  return Math.ceil(outlast(timing, timing.horizonStepMs + Math.min(leaseMs, timing.maxLeaseMs)) + timing.marginMs);
}

/**
 * The earliest moment, on the caller's clock, at which a lease that was granted after `heldMs` can have been granted. `heldMs`
 * is measured by the server's clock, so the slowest pair of clocks is assumed: (1−ρ)/(1+ρ).
 */
export function grantedFromMs(timing: LeaseTiming, sentAtMs: number, heldMs: number): number {
  return sentAtMs + Math.floor((heldMs * (1 - timing.driftRate)) / (1 + timing.driftRate));
}
