import { nowMs } from "@edge-op/shared/runtime/clock";
import type { Horizon } from "./durable-horizon.ts";

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
