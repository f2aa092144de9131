import type { Machine } from "../lib/circumstances.ts";
import type { MachineLoad } from "../lib/machine-load.ts";
import type { Load, ScenarioName } from "../lib/presets.ts";

/**
 * **The record of one run**: its settings, place, command and result. It is written next to k6's own summary, which is unchanged. Times are in
 * milliseconds.
 */
export interface RunRecord {
  readonly format: 1;
  readonly scenario: ScenarioName;
  /** Shards, cache, topology: everything that distinguishes runs of the same preset. */
  readonly variant: string;
  readonly load: Load;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly command: string;
  readonly commit: string;
  readonly target: Target;
  readonly machine: Machine;
  /** Absent if it cannot be measured. */
  readonly machineLoad?: MachineLoad;
  readonly outcome: RunOutcome;
  /** From Cloudflare's analytics, for a real deployment. */
  readonly platform?: PlatformMetrics;
}

export interface Target {
  readonly origin: string;
  readonly issuer: string;
  readonly mode: string;
  readonly topology: string;
  readonly shardMap: string;
}

export interface Latency {
  readonly min: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface ClassOutcome {
  readonly requests: number;
  readonly wrong: number;
  readonly latency: Latency | undefined;
}

export interface StorageCalls {
  readonly mean: number;
  readonly max: number;
}

export interface RunOutcome {
  readonly asked: number;
  /** Iterations that finished in the counted time. */
  readonly finished: number;
  readonly dropped: number;
  /** Responses in the counted time; an iteration of `login` has several. */
  readonly answers: number;
  readonly latency: Latency | undefined;
  /** Share of requests with a response: no 5xx, no timeout. */
  readonly answered: number;
  readonly classes: Readonly<Record<string, ClassOutcome>>;
  /** Absent if the deployment does not send `Server-Timing`. */
  readonly storage: { readonly object: StorageCalls; readonly kv: StorageCalls; readonly d1: StorageCalls } | undefined;
  readonly thresholds: readonly { readonly metric: string; readonly condition: string; readonly met: boolean }[];
  /** k6's exit code: 0 passed, 99 a threshold was crossed, anything else did not run. */
  readonly exitCode: number;
  readonly seconds: number;
}

export interface PlatformMetrics {
  readonly from: string;
  readonly to: string;
  readonly workers: readonly {
    readonly script: string;
    readonly requests: number;
    readonly errors: number;
    readonly cpuP50Ms: number;
    readonly cpuP99Ms: number;
    readonly wallP50Ms: number;
    readonly wallP99Ms: number;
  }[];
  readonly objects: readonly {
    readonly script: string;
    readonly name: string;
    readonly requests: number;
    readonly errors: number;
    readonly wallP50Ms: number;
    readonly wallP99Ms: number;
    readonly cpuMs: number;
  }[];
  readonly d1:
    | {
        readonly readQueries: number;
        readonly writeQueries: number;
        readonly rowsRead: number;
        readonly rowsWritten: number;
        readonly queryP90Ms: number;
      }
    | undefined;
  readonly kv: readonly { readonly action: string; readonly requests: number; readonly p99Ms: number }[];
}

/** Finished per second of the counted time. */
export function achievedRate(outcome: RunOutcome): number {
  return outcome.seconds === 0 ? 0 : outcome.finished / outcome.seconds;
}

export function wrongAnswers(outcome: RunOutcome): number {
  return Object.values(outcome.classes).reduce((sum, each) => sum + each.wrong, 0);
}

export type Verdict = "pass" | "fail" | "aborted: wrong answers" | "did not run";

export function verdictOf(outcome: RunOutcome): Verdict {
  if (wrongAnswers(outcome) > 0) return "aborted: wrong answers";
  if (outcome.exitCode !== 0 && outcome.exitCode !== 99) return "did not run";
  return outcome.exitCode === 0 && outcome.thresholds.every(({ met }) => met) ? "pass" : "fail";
}

/** Share of the machine above which other processes, or a lack of idle time, explain a failure. */
const othersNoticed = 0.1;
const usedUp = 0.9;

/** The cause that limited the run, as far as its own figures show it; causes without figures are not reported. */
export function limitOf(record: RunRecord): string {
  const { outcome, load, machine } = record;
  if (wrongAnswers(outcome) > 0) return "correctness: the run was stopped";
  if (outcome.latency === undefined) return "it did not begin";
  if (outcome.dropped > 0) {
    // Little's law: in flight = rate × time in system.
    const answersPerIteration = Math.max(1, outcome.answers / Math.max(1, outcome.finished));
    const inFlight = (latencyMs: number) => (load.rate * answersPerIteration * latencyMs) / 1000;
    if (inFlight(outcome.latency.p95) > load.preAllocatedVus)
      return blame(record, "the provider", `answers took so long that ${load.maxVus} virtual users were all waiting`);
    return inFlight(outcome.latency.max) > load.maxVus
      ? blame(
          record,
          "the provider, at times",
          `during its slowest answers ${load.maxVus} virtual users were all waiting`,
        )
      : blame(record, "the generator", "it could not start iterations in time");
  }
  if (outcome.answered < 0.99) return blame(record, "the provider", "it refused or failed");
  const missed = outcome.thresholds.some(({ met }) => !met);
  if (missed) return blame(record, "the provider", "its answers missed a threshold");
  const shared = machine.sharedWithProvider ? " (generator and provider share the machine)" : "";
  return `nothing: the rate asked for was held${shared}`;
}

/** On a shared machine, a culprit is only named for a symptom if the processor shares leave no other explanation. */
function blame({ machine, machineLoad }: RunRecord, culprit: string, symptom: string): string {
  const generatorIsSlow = culprit === "the generator";
  if (!machine.sharedWithProvider && !generatorIsSlow) return `${culprit}: ${symptom}`;
  if (machineLoad === undefined)
    return machine.sharedWithProvider
      ? `not shown (${symptom}; the processors' use was not recorded)`
      : `${culprit}: ${symptom}`;
  const { busy, generator, provider } = machineLoad;
  const shares = describeMachineLoad(machineLoad);
  if (machine.sharedWithProvider && provider === undefined)
    return `not shown (${symptom}; the provider's part of the processors is not known: ${shares})`;
  const others = busy - generator - (provider ?? 0);
  if (others >= othersNoticed) return `not shown (${symptom} while other work used the machine: ${shares})`;
  if (machine.sharedWithProvider && busy >= usedUp) return `the machine, which both share: ${symptom} (${shares})`;
  return `${culprit}: ${symptom} (${shares})`;
}

export function describeMachineLoad({ loadAverageBefore, busy, generator, provider }: MachineLoad): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const parts = [
    `load average ${loadAverageBefore.toFixed(1)} before`,
    `processors ${percent(busy)} busy`,
    `generator ${percent(generator)}`,
    ...(provider === undefined ? [] : [`provider ${percent(provider)}`]),
    `others ${percent(Math.max(0, busy - generator - (provider ?? 0)))}`,
  ];
  return parts.join(", ");
}
