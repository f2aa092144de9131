import type { Latency, RunRecord } from "./run-record.ts";
import { verdictOf } from "./run-record.ts";

/** **Finds contradictions among the figures of a run.** A record with a contradiction is not printed. */
export function contradictionsOf(record: RunRecord): string[] {
  const { outcome, load } = record;
  const found: string[] = [];
  const require = (holds: boolean, what: string) => {
    if (!holds) found.push(what);
  };
  const requireOrder = (latency: Latency | undefined, whose: string) => {
    if (latency === undefined) return;
    const { min, p50, p95, p99, max } = latency;
    require([min, p50, p95, p99, max].every(
      (value) => Number.isFinite(value) && value >= 0,
    ), `${whose}: a time is no time`);
    require(min <= p50 &&
      p50 <= p95 &&
      p95 <= p99 &&
      p99 <= max, `${whose}: min ≤ p50 ≤ p95 ≤ p99 ≤ max does not hold`);
  };

  requireOrder(outcome.latency, "all requests");
  let sent = 0;
  for (const [name, each] of Object.entries(outcome.classes)) {
    sent += each.requests;
    requireOrder(each.latency, name);
    require(each.wrong <= each.requests, `${name}: more wrong answers than requests`);
    if (outcome.latency !== undefined && each.latency !== undefined) {
      require(each.latency.max <= outcome.latency.max, `${name}: slower than the slowest of all`);
    }
  }
  require(sent === outcome.finished, `classes hold ${sent} iterations, the run finished ${outcome.finished}`);
  require(outcome.answered >= 0 && outcome.answered <= 1, "the answered share is no share");
  // k6 may start one iteration more or fewer at each change of stage.
  const slack = Math.max(5, outcome.asked * 0.02);
  require(outcome.finished <= outcome.asked + slack, "more finished than was asked for");
  if (outcome.exitCode === 0) {
    require(outcome.dropped === 0, "k6 passed a run that dropped iterations");
    require(outcome.finished >=
      outcome.asked - slack, "less finished than was asked for, nothing dropped, and k6 passed");
  }
  for (const [store, calls] of Object.entries(outcome.storage ?? {})) {
    require(calls.mean <= calls.max, `${store} calls: mean above maximum`);
  }
  require(Date.parse(record.startedAt) < Date.parse(record.endedAt), "it ended before it began");
  require(outcome.seconds > 0 || outcome.finished === 0, "iterations finished in no time");
  require(load.maxVus >= load.preAllocatedVus, "fewer virtual users than were allocated");
  require(verdictOf(outcome) !== "pass" || outcome.thresholds.length > 0, "passed without a threshold to pass");
  return found;
}

export class ContradictionError extends Error {
  override readonly name = "ContradictionError";
}

export function requireNoContradiction(record: RunRecord, whose: string): void {
  const found = contradictionsOf(record);
  if (found.length > 0) throw new ContradictionError(`${whose} contradicts itself: ${found.join("; ")}`);
}
