import { setTimeout as sleep } from "node:timers/promises";

export const faultNames = ["none", "killed", "frozen", "cut off"] as const;
export type FaultName = (typeof faultNames)[number];

/** One measurement, with a local provider of its own. */
export interface LeaseStep {
  readonly isolates: number;
  /** One relay is enough for these measurements; with more, isolates choose at random. */
  readonly relays: number;
  /** Introspections per second of each isolate. */
  readonly rate: number;
  /** The fault of one of four isolates. */
  readonly fault: FaultName | undefined;
}

/** The extent of the measurements in a step. */
export interface Extent {
  /** How long calls are counted. */
  readonly seconds: number;
  readonly revocations: number;
  /** How often a fault is repeated. */
  readonly repetitions: number;
}

const load = (isolates: number, relays: number, rate = 8): LeaseStep => ({ isolates, relays, rate, fault: undefined });
const faulty = (fault: FaultName, relays: number): LeaseStep => ({ isolates: 4, relays, rate: 10, fault });

/** **The measurements for the limits, the most important ones first.** Each takes about a minute. */
export const leaseSteps: readonly LeaseStep[] = [
  load(4, 0),
  load(4, 1),
  faulty("killed", 0),
  faulty("frozen", 0),
  faulty("cut off", 0),
  load(16, 0),
  load(16, 1),
  load(1, 0),
  load(1, 1),
  faulty("killed", 1),
  faulty("frozen", 1),
  faulty("cut off", 1),
  load(4, 0, 25),
  faulty("none", 0),
  load(4, 0, 2),
];

/** The longest that a step may take: 16 isolates take half a minute to start on an idle machine. */
const longestStepMs = 240_000;
/** The time for the processes of an aborted step to end. */
const endMs = 15_000;

/**
 * **Runs the steps until the time is over.** A step that fails is reported, and one that takes too long is aborted; the others continue. A step
 * begins only if it can end in time.
 */
export async function runSteps(
  steps: readonly LeaseStep[],
  minutes: number | undefined,
  measure: (step: LeaseStep, signal: AbortSignal) => Promise<void>,
  missing: (what: string) => void,
): Promise<void> {
  const untilMs = minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + minutes * 60_000;
  let slowestMs = 0;
  for (const step of steps) {
    const startedAtMs = performance.now();
    const leftMs = untilMs - startedAtMs - endMs;
    // Steps differ in length, so at least half of the slowest one is required.
    if (leftMs < slowestMs / 2 || leftMs <= 0) {
      missing(`not measured, the time was over: ${describeStep(step)}`);
      continue;
    }
    console.error(`${Math.round(startedAtMs / 1000)} s: ${describeStep(step)}`);
    await runStep(step, Math.min(longestStepMs, leftMs), measure, missing);
    slowestMs = Math.max(slowestMs, performance.now() - startedAtMs);
  }
}

async function runStep(
  step: LeaseStep,
  limitMs: number,
  measure: (step: LeaseStep, signal: AbortSignal) => Promise<void>,
  missing: (what: string) => void,
): Promise<void> {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new Error(`not over after ${Math.round(limitMs / 1000)} s`)),
    limitMs,
  );
  const ended = Promise.withResolvers<never>();
  controller.signal.addEventListener("abort", () => ended.reject(controller.signal.reason));
  const measured = measure(step, controller.signal);
  try {
    await Promise.race([measured, ended.promise]);
  } catch (error) {
    missing(`not measured, ${String(error)}: ${describeStep(step)}`);
    // Its processes end with it.
    await Promise.race([measured.catch(() => undefined), sleep(endMs)]);
  } finally {
    clearTimeout(timer);
  }
}

export function describeStep({ isolates, relays, rate, fault }: LeaseStep): string {
  const of = fault === undefined ? `at ${rate} requests/s of each` : `with one isolate: ${fault}`;
  return `${isolates} isolates, ${relays} relays, ${of}`;
}
