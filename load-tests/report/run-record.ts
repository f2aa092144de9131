import type { Load, ScenarioName } from "../lib/presets.ts";

/**
 * **One run, as it is kept**: what was asked for, where, by which command, and what came of it. Written next to k6's own
 * summary, which stays as it is. Milliseconds.
 */
export interface RunRecord {
  readonly format: 1;
  readonly scenario: ScenarioName;
  /** Shards, cache, topology: whatever tells this run from another of the same preset. */
  readonly variant: string;
  readonly load: Load;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly command: string;
  readonly commit: string;
  readonly target: Target;
  readonly machine: Machine;
  readonly outcome: RunOutcome;
  /** Of Cloudflare's analytics, for a real deployment. */
  readonly platform?: PlatformMetrics;
}

export interface Target {
  readonly origin: string;
  readonly issuer: string;
  readonly mode: string;
  readonly topology: string;
  readonly shardMap: string;
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly k6: string;
  /** The generator ran on the machine that served: figures compare only within one run. */
  readonly sharedWithProvider: boolean;
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
  /** Iterations finished in the counted time. */
  readonly finished: number;
  readonly dropped: number;
  /** Answers in the counted time: an iteration of `login` has several. */
  readonly answers: number;
  readonly latency: Latency | undefined;
  /** Share of requests that got an answer at all: no 5xx, no timeout. */
  readonly answered: number;
  readonly classes: Readonly<Record<string, ClassOutcome>>;
  /** Absent where the deployment does not send `Server-Timing`. */
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

/** What kept the run from being faster, as far as its own figures tell. */
export function limitOf({ outcome, load, machine }: RunRecord): string {
  if (wrongAnswers(outcome) > 0) return "correctness: the run was stopped";
  if (outcome.latency === undefined) return "it did not begin";
  if (outcome.dropped > 0) {
    // Little's law: in flight = rate × time in system.
    const answersPerIteration = Math.max(1, outcome.answers / Math.max(1, outcome.finished));
    const inFlight = (latencyMs: number) => (load.rate * answersPerIteration * latencyMs) / 1000;
    if (inFlight(outcome.latency.p95) > load.preAllocatedVus)
      return `the provider: answers took so long that ${load.maxVus} virtual users were all waiting`;
    return inFlight(outcome.latency.max) > load.maxVus
      ? `the provider, at times: during its slowest answers ${load.maxVus} virtual users were all waiting`
      : "the generator: it could not start iterations in time";
  }
  if (outcome.answered < 0.99) return "the provider: it refused or failed";
  const shared = machine.sharedWithProvider ? " (generator and provider share the machine)" : "";
  return `nothing: the rate asked for was held${shared}`;
}
