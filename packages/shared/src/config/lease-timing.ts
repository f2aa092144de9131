/**
 * **The durations of the lease protocol** (docs/reference/protocols.md §2), for shards and isolates alike. Only durations are
 * compared, so clocks need not agree. Assumptions: the rate of a clock is off by at most ρ, two clocks never differ by 60 s, and a
 * clock is fresh when an event (request, call, timer) is delivered.
 */
export interface LeaseTiming {
  /** ρ: how much faster or slower than real time a clock may run. */
  readonly driftRate: number;
  /** C: how long a shard responds after a durable horizon, so it writes at most one per C. */
  readonly horizonStepMs: number;
  /** C while no lease is out: an acknowledgement after a restart waits this long, and `check` writes at most one horizon in it. */
  readonly checkStepMs: number;
  /** ε: clocks are read in whole milliseconds. */
  readonly marginMs: number;
  /** The longest L that a shard gives: bounds the wait of a revocation. */
  readonly maxLeaseMs: number;
  /** The bound on the difference of two clocks. */
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

/**
 * D: the length of the lease under which a shard vouches for the control version. A change waits so long at most for a shard that does not
 * respond. Renewed after a quarter of it, so that a silent control plane leaves three quarters for a registration in D1.
 */
export const controlLeaseMs = 10_000;

/**
 * **The share of a lease for which its renewal is held while there is no news** (ADR 22). The rest allows for delays of the next lease: the round
 * trip, the drift of two clocks (4 % of the held time), a pause of either side. No request waits for it; if it is not enough, requests are checked
 * exactly. It does not allow for a second attempt: if a relay does not respond, requests go to the shards, and otherwise to exact checks.
 */
export const heldShare = {
  /** At a shard, for an isolate that may be on another continent: round trips of 0.4 L are covered. */
  shard: 0.5,
  /**
   * At a relay, which is in the region of its isolates: 0.12 L is left for the round trip. Calls per second: 1.7 / L, and 2 / L with 0.6 news in L.
   */
  relay: 0.6,
  /** At a shard, for a relay: the rest bounds the leases of its isolates. */
  upstream: 0.25,
} as const;

/** A relay returns a renewal before less than this share of the lease is left, however short the lease is. */
export const leftShare = 0.25;

/**
 * The wait on the local clock after which `durationMs` has passed on any other: × (1+ρ)/(1−ρ) (protocols.md §2).
 */
export function outlast(timing: LeaseTiming, durationMs: number): number {
  return (durationMs * (1 + timing.driftRate)) / (1 - timing.driftRate);
}

/**
 * The longest wait of a shard before it acknowledges: until its leases, or those of its predecessor, have ended. Under pressure leases are longer
 * than the deployment's L (`LeaseLength`); 0 means that the deployment has no leases.
 */
export function longestWaitMs(timing: LeaseTiming, leaseMs: number): number {
  const longestMs = leaseMs > 0 ? timing.maxLeaseMs : 0;
  return Math.ceil(outlast(timing, timing.horizonStepMs + longestMs) + timing.marginMs);
}

/** The time after which a lease of {@link controlLeaseMs} has ended on any clock. */
export const controlLeaseLifeMs = outlast(leaseTiming, controlLeaseMs) + leaseTiming.marginMs;

/** The longest wait of a change: for a shard that does not respond, or after a start of the control plane for the leases of its predecessor. */
export const longestControlWaitMs = Math.ceil(
  outlast(leaseTiming, leaseTiming.horizonStepMs + controlLeaseMs) + leaseTiming.marginMs,
);

/**
 * The earliest moment, on the caller's clock, at which a lease that was given after `heldMs` can have been given. `heldMs`
 * is measured by the server's clock, so the slowest pair of clocks is assumed: (1−ρ)/(1+ρ).
 */
export function givenFromMs(timing: LeaseTiming, sentAtMs: number, heldMs: number): number {
  return sentAtMs + Math.floor((heldMs * (1 - timing.driftRate)) / (1 + timing.driftRate));
}
