/**
 * **The model of the reference system by its published call pattern**, to check that the model finds its published saturation points. One or two
 * numbers per scenario are fitted to one published run, named beside them; every other published run is held out.
 */

import { percentile } from "../lib/percentile.ts";
import type { ReferenceFigure } from "../report/reference-figures.ts";
import { type Outcome, simulate } from "./simulate.ts";
import type { Store, Workload } from "./system.ts";

function store(objects: number, callMs: number, longestQueueMs = 5000): Store {
  return { objects, callMs, itemMs: 0, waitMs: 6, longestQueueMs };
}

/** The time of a lightly loaded request outside objects, from the published median at low load: an input, not a prediction. */
const restMs = { exchange: 60, introspect: 205 };

/** 2.1 object calls: the revocation check is sharded, the second call is not, regardless of the number of shards. */
function exchange(shards: number): Workload {
  return {
    isolates: 50,
    keys: 1000,
    // Fitted: 0.385 ms, so that the run at 3,000/s saturates as published (p50 within the same second).
    stores: { revocation: store(shards, 1), unsharded: store(1, 0.385) },
    steps: [
      { kind: "wait", ms: restMs.exchange },
      { kind: "call", store: "revocation", probability: 1 },
      { kind: "call", store: "unsharded", probability: 1 },
      { kind: "call", store: "revocation", probability: 0.1 },
    ],
  };
}

/** 1.8 object calls: the check of the token is sharded; in four of five cases, strict validation asks one object. */
function introspect(shards: number): Workload {
  return {
    isolates: 50,
    keys: 3000,
    // Fitted: 2.75 ms, so that the run at 500/s shows the published p95 of 1,110 ms.
    stores: { revocation: store(shards, 1), unsharded: store(1, 2.75) },
    steps: [
      { kind: "wait", ms: restMs.introspect },
      { kind: "call", store: "revocation", probability: 1 },
      { kind: "call", store: "unsharded", probability: 0.8 },
    ],
  };
}

/** The rotation writes; the other two calls are light and spread. The figures are the Worker's, so no other time is added. */
function refresh(shards: number): Workload {
  return {
    isolates: 50,
    // Fitted, together with the 8 ms of a rotation, to the errors and the p99 of the run with 32 shards: it determines how uneven shards are.
    keys: 600,
    stores: { rotator: { objects: shards, callMs: 8, itemMs: 0, waitMs: 2, longestQueueMs: 780 } },
    steps: [{ kind: "call", store: "rotator", probability: 1 }],
  };
}

const workloads = { exchange, introspect, refresh };
export type ModelledScenario = keyof typeof workloads;

/** Shard maps are drawn by hash, so the model uses the median of a few draws. */
const seeds = [1, 2, 3, 4, 5];

export interface ReferenceRun {
  readonly served: number;
  readonly failed: number;
  readonly p50: number;
  readonly p95: number;
  readonly objectP99: number;
  readonly saturated: boolean;
}

/** The published shape, at any rate. */
export function simulateReference(scenario: ModelledScenario, shards: number, rate: number): ReferenceRun {
  const workload = workloads[scenario](shards);
  const shape = scenario === "refresh" ? [{ seconds: 120, toRate: rate }] : rampTo(rate);
  const outcomes = (scenario === "refresh" ? seeds : seeds.slice(0, 1)).map((seed) =>
    simulate(workload, {
      startRate: scenario === "refresh" ? rate : 50,
      stages: shape,
      maxVus: Math.ceil(rate * 1.5),
      arrivals: "even",
      seed,
      countedFromMs: 0,
    }),
  );
  return summarize(outcomes, workload);
}

function rampTo(rate: number) {
  return [
    { seconds: 15, toRate: rate / 2 },
    { seconds: 180, toRate: rate },
    { seconds: 15, toRate: 0 },
  ];
}

function summarize(outcomes: readonly Outcome[], workload: Workload): ReferenceRun {
  const median = (value: (outcome: Outcome) => number) =>
    percentile(
      outcomes.map(value).sort((a, b) => a - b),
      0.5,
    );
  const unloadedMs = workload.steps.reduce((sum, step) => sum + stepMs(step, workload), 0);
  const failed = median((outcome) => outcome.dropped + outcome.refused);
  const p95 = median((outcome) => outcome.p95);
  return {
    served: median((outcome) => outcome.served),
    failed,
    p50: median((outcome) => outcome.p50),
    p95,
    objectP99: median((outcome) => Math.max(...Object.values(outcome.stores).map((each) => each.p99))),
    saturated: failed > 0 || p95 > unloadedMs + saturatedMs,
  };
}

/** The queueing time at p95 above which a system counts as saturated. */
const saturatedMs = 500;

function stepMs(step: Workload["steps"][number], workload: Workload): number {
  if (step.kind === "cpu" || step.kind === "wait") return step.ms;
  const called = workload.stores[step.store]!;
  return called.callMs + called.itemMs + called.waitMs;
}

/** The lowest saturated rate, by bisection down to `stepRate`. */
export function saturationRate(
  scenario: ModelledScenario,
  shards: number,
  low: number,
  high: number,
  stepRate: number,
): number {
  let holds = low;
  let saturates = high;
  while (saturates - holds > stepRate) {
    const middle = Math.round((holds + saturates) / 2);
    if (simulateReference(scenario, shards, middle).saturated) saturates = middle;
    else holds = middle;
  }
  return saturates;
}

/** The number of shards in a figure's variant. */
export function shardsOf(figure: ReferenceFigure): number {
  return Number.parseInt(figure.variant, 10);
}
