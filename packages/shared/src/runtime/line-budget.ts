export interface LineBudgetOptions {
  readonly perSecond: number;
  /** The maximum number of lines at once after a pause. */
  readonly burst: number;
}

/** **A bound on lines of the log**: `burst` at once and `perSecond` on average, spread evenly while there are more. */
export class LineBudget {
  readonly #options: LineBudgetOptions;
  #left: number;
  #filledAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LineBudgetOptions) {
    this.#options = options;
    this.#left = options.burst;
  }

  /** Whether a line may be written now; counts it. A clock that moves backwards adds nothing. */
  take(atMs: number): boolean {
    const { perSecond, burst } = this.#options;
    const sinceMs = Math.max(0, atMs - this.#filledAtMs);
    this.#left = Math.min(burst, this.#left + (sinceMs / 1000) * perSecond);
    this.#filledAtMs = atMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
