/** The time of the object for one report. */
const reportMs = 100;
/** A clock that is set back delays no report for longer. */
const longestPauseMs = 3_600_000;

/**
 * **When isolates send their next reports.** Each report is given the next free place, so the pauses grow with the number of isolates, and the number
 * of reports does not: ten a second, beside the first one of each isolate. Pure. Memory: one number.
 */
export class ReportPace {
  #freeAtMs = 0;

  /** The time until the place that is given now. */
  nextPlaceMs(nowMs: number): number {
    const waitMs = Math.min(Math.max(0, this.#freeAtMs - nowMs), longestPauseMs);
    this.#freeAtMs = nowMs + waitMs + reportMs;
    return waitMs;
  }
}
