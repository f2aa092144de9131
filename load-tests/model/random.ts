/** **Seeded randomness** (mulberry32): the same seed gives the same run, on any machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Whole number in [0, count). */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }
}
