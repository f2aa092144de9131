import { leaseTiming } from "@edge-op/shared/objects/lease-timing";

/** **Random numbers, clocks and the event order** of a simulation; everything follows from its seed. */
/** Mulberry32: small, seeded, good enough to choose delays. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A clock as its owner reads it: whole milliseconds, its own offset, its own rate. */
export class Clock {
  readonly #offsetMs: number;
  readonly #rate: number;

  constructor(random: () => number) {
    this.#offsetMs = 1_000_000 + (random() - 0.5) * 0.9 * leaseTiming.clockOffsetMs;
    const drift = random() < 0.5 ? Math.sign(random() - 0.5) : 2 * random() - 1;
    this.#rate = 1 + drift * leaseTiming.driftRate;
  }

  read(realMs: number): number {
    return Math.floor(this.#offsetMs + realMs * this.#rate);
  }

  /** When, in real time, this clock reads `localMs`. */
  realOf(localMs: number): number {
    return (localMs - this.#offsetMs) / this.#rate;
  }

  /** How long a timer of this clock's machine really takes. */
  realDuration(durationMs: number): number {
    return durationMs / this.#rate;
  }
}

interface SimulatedEvent {
  readonly atMs: number;
  run(): void;
}

/** What happens next; events of the same moment in the order in which they were planned. */
export class Agenda {
  /** In descending order: the next one is the last. */
  readonly #events: SimulatedEvent[] = [];

  at(atMs: number, run: () => void): void {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.atMs > atMs) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, { atMs, run });
  }

  next(): SimulatedEvent | undefined {
    return this.#events.pop();
  }
}
