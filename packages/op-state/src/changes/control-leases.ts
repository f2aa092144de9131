import { controlLeaseLifeMs, controlLeaseMs, type LeaseTiming } from "@edge-op/shared/config/lease-timing";
import type { Horizon } from "../leases/durable-horizon.ts";
import { GivenLeases, type LeaseWait } from "../leases/given-leases.ts";
import type { PendingChange } from "../leases/lease-holders.ts";

/** A row of D1: the control plane did not respond to this shard, which vouches for the version that D1 records as announced. */
export interface Registration {
  readonly shard: string;
  /** The version that the shard contained when it registered. */
  readonly version: number;
  /** Measured by the shard's clock. */
  readonly endsAtMs: number;
}

/** The state that an instance finds in its storage. */
interface DurableLeases {
  readonly horizon: Horizon | undefined;
  /** When D1 was last found to be restored, by the clock of that instance. */
  readonly restoredAtMs: number | undefined;
}

/**
 * **The leases of shards on the control log** (docs/reference/protocols.md §2): a shard vouches for the control version only while it has one, so a
 * change waits for a shard that does not respond until its lease has ended. No I/O and no clock.
 *
 * A lease is counted from the moment at which it is given here, and from before the call at the shard (I2). An instance does not know the leases of
 * its predecessor, so it waits for its horizon once ({@link GivenLeases}). The wait for a registration begins when it is read, because another clock
 * wrote it; a registration that has ended by any clock is not waited for. A restored D1 has lost registrations, so the longest possible one is waited
 * for.
 */
export class ControlLeases extends GivenLeases {
  /** The last version that was sent to each shard. */
  readonly #sent = new Map<string, number>();
  #restoredFenceMs = Number.NEGATIVE_INFINITY;

  /** `bootAtMs` is read after storage. */
  constructor(timing: LeaseTiming, { horizon, restoredAtMs }: DurableLeases, bootAtMs: number) {
    super(timing, horizon, bootAtMs);
    if (restoredAtMs !== undefined) this.#restoredFenceMs = this.#endOf(restoredAtMs + controlLeaseLifeMs, bootAtMs);
  }

  /** Gives a lease to a shard that is sent everything up to `cv`. Returns its length. */
  give(shard: string, cv: number, nowMs: number): number {
    this.horizon.assertCovers(controlLeaseMs, nowMs);
    this.holders.prune(nowMs);
    this.giveLease(shard, cv, controlLeaseMs, nowMs);
    this.#sent.set(shard, cv);
    return controlLeaseMs;
  }

  /** Called after `cv` was stored as announced: later leases contain it. */
  startWait(cv: number, nowMs: number): LeaseWait {
    return this.#wait(this.holders.await(cv, nowMs), nowMs);
  }

  /** Starts the wait for the registrations that D1 contained when it stored `cv`: later registrations contain it. */
  startRegisteredWait(cv: number, registered: readonly Registration[], nowMs: number): LeaseWait {
    const lacking = new Map<string, number>();
    for (const { shard, version, endsAtMs } of registered) {
      const endMs = this.#endOf(endsAtMs, nowMs);
      if (endMs <= nowMs) continue;
      lacking.set(shard, endMs);
      if (!this.#sent.has(shard)) this.#sent.set(shard, version);
    }
    return this.#wait({ seq: cv, lacking, ended: new Set() }, nowMs);
  }

  /** The version up to which a shard is believed to contain the log. */
  sentTo(shard: string): number {
    return this.#sent.get(shard) ?? 0;
  }

  /** The shard's holders no longer decide by a version older than `cv`. Returns the waits that have ended. */
  confirm({ pending }: LeaseWait, shard: string, cv: number): readonly PendingChange[] {
    this.#sent.set(shard, cv);
    const settled = this.holders.confirm(shard, cv);
    return pending.lacking.delete(shard) && pending.lacking.size === 0 ? [...settled, pending] : settled;
  }

  /** D1 was restored: registrations that it has lost may last as long as one that was made now. */
  restored(nowMs: number): void {
    this.#restoredFenceMs = nowMs + controlLeaseLifeMs;
  }

  #wait(pending: PendingChange, nowMs: number): LeaseWait {
    return this.waitFor(pending, nowMs, Math.max(this.horizon.bootFenceMs, this.#restoredFenceMs));
  }

  /** The time by this clock at which something that ends at `endsAtMs` by another clock has ended. */
  #endOf(endsAtMs: number, nowMs: number): number {
    return Math.min(nowMs + controlLeaseLifeMs, endsAtMs + this.timing.clockOffsetMs);
  }
}
