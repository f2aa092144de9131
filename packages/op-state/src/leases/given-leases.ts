import { type LeaseTiming, outlast } from "@edge-op/shared/config/lease-timing";
import { DurableHorizon, type Horizon, type HorizonMachine } from "./durable-horizon.ts";
import { LeaseHolders, lackingUntilMs, type PendingChange } from "./lease-holders.ts";

/** The wait of a change: until no holder may decide without it. */
export interface LeaseWait {
  /** Ends early when holders confirm. */
  readonly pending: PendingChange;
  /** Measured by the clock of this object. */
  readonly startedAtMs: number;
  /** Durations: until the leases of all those holders have ended, and until those of a predecessor have ended. */
  readonly leasesMs: number;
  readonly fenceMs: number;
}

/**
 * **The leases that an object gives under its durable horizon**, at a revocation shard and at the control plane. No I/O and no clock.
 *
 * I2 a lease ends, at its holder, before it ends in {@link LeaseHolders}. I3 there is no response beyond the {@link DurableHorizon}. I4
 * a wait includes the boot fence; no confirmation shortens it.
 */
export class GivenLeases implements HorizonMachine {
  protected readonly timing: LeaseTiming;
  protected readonly holders = new LeaseHolders();
  protected readonly horizon: DurableHorizon;

  /** `bootAtMs` is read after storage: from then on no write of a predecessor becomes durable. */
  constructor(timing: LeaseTiming, horizon: Horizon | undefined, bootAtMs: number) {
    this.timing = timing;
    this.horizon = new DurableHorizon(timing, horizon, bootAtMs);
  }

  /** The horizon to write before the response to a lease of `leaseMs` (0: a check); usually `undefined`. */
  horizonDue(leaseMs: number, nowMs: number): Horizon | undefined {
    return this.horizon.due(leaseMs, this.releaseAtMs, nowMs);
  }

  /** Called after the horizon is written. */
  extend(horizon: Horizon, nowMs: number): void {
    this.horizon.extend(horizon, nowMs);
  }

  /** Records a lease of `leaseMs` whose response contains everything up to `seq`. */
  protected giveLease(holder: string, seq: number, leaseMs: number, nowMs: number): void {
    this.holders.give(holder, seq, nowMs + outlast(this.timing, leaseMs) + this.timing.marginMs);
  }

  protected waitFor(pending: PendingChange, nowMs: number, fenceAtMs = this.horizon.bootFenceMs): LeaseWait {
    return {
      pending,
      startedAtMs: nowMs,
      leasesMs: Math.max(0, Math.ceil(lackingUntilMs(pending) - nowMs)),
      fenceMs: Math.max(0, Math.ceil(fenceAtMs - nowMs)),
    };
  }

  endWait({ pending }: LeaseWait): void {
    this.holders.abandon(pending);
  }

  /** When the last lease given here or by a predecessor has ended. */
  get releaseAtMs(): number {
    return Math.max(this.holders.lastEndMs, this.horizon.bootFenceMs);
  }

  /**
   * Whether every lease given here or by a predecessor has ended. The horizon may then be withdrawn durably: this instance does not respond before
   * it has written another one, and its successor does not wait.
   */
  mayClose(nowMs: number): boolean {
    return this.horizon.isOpen && nowMs > this.releaseAtMs;
  }

  /** The latest time to withdraw the horizon; `undefined` if it covers no lease. */
  get closesAtMs(): number | undefined {
    return this.horizon.coversLeases ? Math.floor(this.releaseAtMs) + 1 : undefined;
  }

  /** Applies the withdrawal of the horizon. */
  close(): void {
    this.horizon.close();
  }
}
