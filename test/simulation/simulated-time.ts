/** **Random numbers, clocks and the event order** of a simulation; everything follows from its seed. */

import { leaseTiming } from "../../packages/shared/src/config/lease-timing.ts";

/**
 * Random numbers by Mulberry32: small, seeded, good enough to choose delays.
 *
 * @see https://github.com/cprosche/mulberry32
 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A clock as its owner reads it: whole milliseconds, its own offset, its own rate. The rate may change within ±ρ ({@link slew}), and the clock may be
 * set ({@link step}). It can be read only at the present moment: earlier readings are not kept.
 */
export class Clock {
  readonly #random: () => number;
  #atRealMs = 0;
  #atLocalMs: number;
  #rate: number;

  /** `offset` from `meanMs`, in parts of 27 s: between −1 and 1, two clocks differ by at most 54 s. */
  constructor(random: () => number, meanMs: number, offset = 2 * random() - 1) {
    this.#random = random;
    this.#atLocalMs = meanMs + offset * 0.45 * leaseTiming.clockOffsetMs;
    this.#rate = this.#anyRate();
  }

  read(realMs: number): number {
    return Math.floor(this.#atLocalMs + (realMs - this.#atRealMs) * this.#rate);
  }

  /** When, in real time, this clock reads `localMs`. */
  realOf(localMs: number): number {
    return this.#atRealMs + (localMs - this.#atLocalMs) / this.#rate;
  }

  /** How long a timer of this clock's machine really takes. */
  realDuration(durationMs: number): number {
    return durationMs / this.#rate;
  }

  /** Changes its rate from now on. */
  slew(realMs: number): void {
    this.step(realMs, 0);
    this.#rate = this.#anyRate();
  }

  /** Sets it forward or back. */
  step(realMs: number, byMs: number): void {
    this.#atLocalMs += (realMs - this.#atRealMs) * this.#rate + byMs;
    this.#atRealMs = realMs;
  }

  #anyRate(): number {
    const drift = this.#random() < 0.5 ? Math.sign(this.#random() - 0.5) : 2 * this.#random() - 1;
    return 1 + drift * leaseTiming.driftRate;
  }
}

interface SimulatedEvent {
  readonly atMs: number;
  run(): void;
}

/** The coming events; those of the same moment are in the order in which they were planned. */
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
