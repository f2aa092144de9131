import { percentile } from "../lib/percentile.ts";
import type { Random } from "../model/random.ts";

/** Milliseconds. */
export interface PairedDifference {
  readonly pairs: number;
  readonly medianMs: number;
  /** The 95 % interval of the median. */
  readonly lowMs: number;
  readonly highMs: number;
}

const resamples = 2_000;

/**
 * **The median of paired differences, with a bootstrap interval** (percentile method): what stays of a difference between two kinds of requests that
 * were sent in turns, however much each of them varies. Throws for no pairs.
 */
export function pairedDifference(differencesMs: readonly number[], random: Random): PairedDifference {
  const pairs = differencesMs.length;
  if (pairs === 0) throw new Error("no pairs");
  const medians = Float64Array.from({ length: resamples }, () =>
    medianOf(Float64Array.from({ length: pairs }, () => differencesMs[random.below(pairs)]!)),
  ).sort();
  return {
    pairs,
    medianMs: medianOf(Float64Array.from(differencesMs)),
    lowMs: percentile([...medians], 0.025),
    highMs: percentile([...medians], 0.975),
  };
}

/** Whether the whole interval is within ± `limitMs`, so that too few pairs do not pass. */
export function isEqual({ lowMs, highMs }: PairedDifference, limitMs: number): boolean {
  return lowMs >= -limitMs && highMs <= limitMs;
}

function medianOf(values: Float64Array): number {
  const sorted = values.sort();
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
