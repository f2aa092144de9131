/** **Whether an isolate is busy**: at least `count` arrivals within `withinMs`, the latest included. Cost: one write per arrival. */
export class ArrivalRate {
  readonly #withinMs: number;
  /** The times of the last `count` arrivals; the oldest is at `#oldest`. */
  readonly #atMs: number[];
  #oldest = 0;

  constructor({ count, withinMs }: { readonly count: number; readonly withinMs: number }) {
    this.#withinMs = withinMs;
    this.#atMs = Array.from({ length: count }, () => Number.NEGATIVE_INFINITY);
  }

  /** Records an arrival. */
  isBusyAt(atMs: number): boolean {
    const isBusy = atMs - this.#atMs[this.#oldest]! <= this.#withinMs;
    this.#atMs[this.#oldest] = atMs;
    this.#oldest = (this.#oldest + 1) % this.#atMs.length;
    return isBusy;
  }
}
