import { type LeaseTiming, outlast } from "@edge-op/shared/config/lease-timing";
import { nowMs } from "@edge-op/shared/runtime/clock";

/** The durable horizon of an instance: the instance does not give leases or respond beyond it, and its successor waits for it. */
export interface Horizon {
  /** When the last lease given under it has ended (H). */
  readonly horizonMs: number;
  /** The longest lease given under it. */
  readonly leaseMs: number;
}

/**
 * **The time until which an instance of a shard may respond, and from which its predecessors cannot** (docs/reference/protocols.md §2). Pure: the
 * caller writes a horizon before it applies it. I3 no response after `#servesUntilMs`, C after an own durable horizon; a predecessor's horizon is in
 * another clock's time and gives nothing. I4 {@link bootFenceMs}: until a superseded predecessor no longer responds and its leases have ended.
 */
export class DurableHorizon {
  readonly #timing: LeaseTiming;
  /** Acknowledgements wait for this long. */
  readonly bootFenceMs: number;
  #leaseMs: number;
  /** Whether the durable horizon, also a predecessor's, has not been withdrawn. */
  #isOpen: boolean;
  #servesUntilMs = Number.NEGATIVE_INFINITY;

  /** `bootAtMs` is read after storage: from then on no write of a predecessor becomes durable. */
  constructor(timing: LeaseTiming, durable: Horizon | undefined, bootAtMs: number) {
    this.#timing = timing;
    this.#leaseMs = durable?.leaseMs ?? 0;
    this.#isOpen = durable !== undefined;
    this.bootFenceMs = bootFence(timing, durable, bootAtMs);
  }

  /**
   * The horizon to write before the response to a lease of `givenMs` (0: a check); usually `undefined`. `releaseAtMs`: when all leases have
   * ended.
   */
  due(givenMs: number, releaseAtMs: number, nowMs: number): Horizon | undefined {
    if (nowMs <= this.#servesUntilMs && givenMs <= this.#leaseMs) return undefined;
    // Earlier, longer leases count until they have all ended.
    const lowered = nowMs >= releaseAtMs ? givenMs : Math.max(givenMs, this.#leaseMs);
    return {
      horizonMs: Math.ceil(nowMs + outlast(this.#timing, lowered) + stepMs(this.#timing, lowered)),
      leaseMs: lowered,
    };
  }

  /** Called after the horizon is written. */
  extend({ leaseMs }: Horizon, nowMs: number): void {
    this.#leaseMs = leaseMs;
    this.#isOpen = true;
    this.#servesUntilMs = nowMs + stepMs(this.#timing, leaseMs);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get coversLeases(): boolean {
    return this.#isOpen && this.#leaseMs > 0;
  }

  /** Applies the withdrawal of the horizon. */
  close(): void {
    this.#isOpen = false;
    this.#servesUntilMs = Number.NEGATIVE_INFINITY;
    this.#leaseMs = 0;
  }

  assertCovers(leaseMs: number, nowMs: number): void {
    if (nowMs > this.#servesUntilMs || leaseMs > this.#leaseMs) throw new Error("answers beyond the durable horizon");
  }
}

function stepMs(timing: LeaseTiming, leaseMs: number): number {
  return leaseMs > 0 ? timing.horizonStepMs : timing.checkStepMs;
}

/**
 * A predecessor may still respond until C after its last durable horizon, which was written before this instance read it; then its last lease runs.
 * All of this has ended by H + 60 s on any clock, so an object that was idle for long does not wait.
 */
function bootFence(timing: LeaseTiming, horizon: Horizon | undefined, bootAtMs: number): number {
  if (horizon === undefined) return Number.NEGATIVE_INFINITY;
  const lifeMs = outlast(timing, stepMs(timing, horizon.leaseMs) + horizon.leaseMs) + timing.marginMs;
  return Math.min(bootAtMs + lifeMs, horizon.horizonMs + timing.clockOffsetMs);
}

/** A machine that gives leases under a `DurableHorizon`. */
export interface HorizonMachine {
  horizonDue(leaseMs: number, nowMs: number): Horizon | undefined;
  extend(horizon: Horizon, nowMs: number): void;
  readonly closesAtMs: number | undefined;
  mayClose(nowMs: number): boolean;
  close(): void;
}

/**
 * **Writes the horizon of a machine before it gives a lease, and withdraws it when the last lease has ended**, even if its holder never releases it:
 * the first acknowledgement after a sleep then need not wait for leases that cannot exist.
 */
export class HorizonKeeper {
  readonly #machine: HorizonMachine;
  readonly #write: (horizon: Horizon | undefined) => void;
  /** Whether a timer runs that withdraws it. */
  #closing = false;

  constructor(machine: HorizonMachine, write: (horizon: Horizon | undefined) => void) {
    this.#machine = machine;
    this.#write = write;
  }

  /** Called before a lease of `leaseMs` is given; 0: a check. The caller has a lease's horizon withdrawn by {@link closeLater}. */
  reach(leaseMs: number, atMs: number): void {
    const horizon = this.#machine.horizonDue(leaseMs, atMs);
    if (horizon === undefined) return;
    this.#write(horizon);
    this.#machine.extend(horizon, atMs);
  }

  close(): void {
    if (!this.#machine.mayClose(nowMs())) return;
    this.#write(undefined);
    this.#machine.close();
  }

  /**
   * Withdraws the horizon when the last lease has ended. A timer keeps the object awake until then; `lookAgain` is called if leases were given
   * meanwhile.
   */
  closeLater(lookAgain = () => this.closeLater()): void {
    const { closesAtMs } = this.#machine;
    if (closesAtMs === undefined || this.#closing) return;
    this.#closing = true;
    setTimeout(
      () => {
        this.#closing = false;
        this.close();
        lookAgain();
      },
      Math.max(1, Math.ceil(closesAtMs - nowMs())),
    );
  }
}
