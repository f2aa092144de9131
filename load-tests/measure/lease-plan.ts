import { setTimeout as sleep } from "node:timers/promises";

export const faultNames = ["none", "killed", "frozen", "cut off"] as const;
export type FaultName = (typeof faultNames)[number];

/** One measurement, with a local provider of its own. */
export interface LeaseStep {
  readonly isolates: number;
  /** One relay is enough for what is measured here: with more, isolates choose at random. */
  readonly relays: number;
  /** Introspections a second of each isolate. */
  readonly rate: number;
  /** Of one of four isolates. */
  readonly fault: FaultName | undefined;
}

/** How much is measured in a step. */
export interface Extent {
  /** For which calls are counted. */
  readonly seconds: number;
  readonly revocations: number;
  /** Of a fault. */
  readonly repetitions: number;
}

const load = (isolates: number, relays: number, rate = 8): LeaseStep => ({ isolates, relays, rate, fault: undefined });
const faulty = (fault: FaultName, relays: number): LeaseStep => ({ isolates: 4, relays, rate: 10, fault });

/** **The measurements of the marks, the most important ones first.** About a minute each. */
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

/** The longest that a step may take: 16 isolates start for half a minute on a machine without other work. */
const longestStepMs = 240_000;
/** For the processes of a step that was ended to end. */
const endMs = 15_000;

/**
 * **Runs the steps until the time is over.** A step that fails is reported, and one that takes too long is ended; the others go on. A
 * step begins only if it can end in time.
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
    // Steps differ in length: half of the slowest one is needed at least.
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
