import { controlLeaseMs } from "@edge-op/shared/config/lease-timing";

/** A lease is renewed when this share of it has passed, while the shard is used. */
const renewShare = 1 / 4;

/**
 * **Until when a shard vouches for the control version** (docs/reference/protocols.md §2). Pure. A lease counts from before the call, and only
 * when the shard contains what came with it; its own leases for isolates end no later, by its own clock.
 */
export class LeaseCoverage {
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #followedAtMs = Number.NEGATIVE_INFINITY;

  /** How long the shard may vouch for the version that it contains. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#validUntilMs - nowMs);
  }

  isRenewalDue(nowMs: number): boolean {
    // A clock that was set back must not stop it.
    return Math.abs(nowMs - this.#followedAtMs) >= renewShare * controlLeaseMs;
  }

  /** Notes that a renewal begins. */
  begin(nowMs: number): void {
    this.#followedAtMs = nowMs;
  }

  /** Called after everything that came with the lease is stored. `sentAtMs`: before it was requested. */
  extend(sentAtMs: number, leaseMs: number): void {
    this.#validUntilMs = Math.max(this.#validUntilMs, sentAtMs + leaseMs);
  }
}
