import { classesOf } from "../lib/classes.ts";
import { askedRequests, countedSeconds, type Load, type ScenarioName } from "../lib/presets.ts";
import type { ClassOutcome, Latency, RunOutcome, StorageCalls } from "./run-record.ts";

/** **k6's end-of-test summary**, as `handleSummary` receives it. */
export interface K6Summary {
  readonly metrics: Readonly<Record<string, K6Metric>>;
  readonly state: { readonly testRunDurationMs: number };
}

interface K6Metric {
  readonly values: Readonly<Record<string, number>>;
  readonly thresholds?: Readonly<Record<string, { readonly ok: boolean }>>;
}

function latencyOf(metric: K6Metric | undefined): Latency | undefined {
  if (metric === undefined || (metric.values["count"] ?? 0) === 0) return undefined;
  const { min = 0, med = 0, max = 0 } = metric.values;
  return { min, p50: med, p95: metric.values["p(95)"] ?? 0, p99: metric.values["p(99)"] ?? 0, max };
}

function callsOf(metric: K6Metric | undefined): StorageCalls | undefined {
  if (metric === undefined || (metric.values["count"] ?? 0) === 0) return undefined;
  return { mean: metric.values["avg"] ?? 0, max: metric.values["max"] ?? 0 };
}

/** The run's outcome by its own metrics; `exitCode` is k6's. */
export function readSummary(summary: K6Summary, scenario: ScenarioName, load: Load, exitCode: number): RunOutcome {
  const { metrics } = summary;
  const count = (name: string) => metrics[name]?.values["count"] ?? 0;
  const classes: Record<string, ClassOutcome> = {};
  for (const name of classesOf(scenario)) {
    classes[name] = {
      requests: count(`class_${name}_requests`),
      wrong: count(`class_${name}_wrong`),
      latency: latencyOf(metrics[`class_${name}_ms`]),
    };
  }
  const [object, kv, d1] = [
    callsOf(metrics["object_calls"]),
    callsOf(metrics["kv_calls"]),
    callsOf(metrics["d1_calls"]),
  ];
  const warmUpSeconds = load.warmUp?.seconds ?? 0;
  const thresholds = Object.entries(metrics).flatMap(([metric, { thresholds: of = {} }]) =>
    Object.entries(of).map(([condition, { ok }]) => ({ metric, condition, met: ok })),
  );
  return {
    asked: askedRequests(load),
    finished: Object.values(classes).reduce((sum, each) => sum + each.requests, 0),
    dropped: count("dropped_iterations"),
    answers: count("answer_ms"),
    latency: latencyOf(metrics["answer_ms"]),
    answered: metrics["answered"]?.values["rate"] ?? 0,
    classes,
    storage: object !== undefined && kv !== undefined && d1 !== undefined ? { object, kv, d1 } : undefined,
    thresholds,
    exitCode,
    seconds: Math.max(0, Math.min(countedSeconds(load), summary.state.testRunDurationMs / 1000 - warmUpSeconds)),
  };
}
