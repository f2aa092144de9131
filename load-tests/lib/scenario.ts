import exec from "k6/execution";
import type { Options } from "k6/options";
import { type Card, cardAt, sharesOf } from "./classes.ts";
import type { Verdict } from "./judge.ts";
import { Measures, thresholdsOf } from "./measure.ts";
import { type Load, type ScenarioName, scenarioNames } from "./presets.ts";
import { ProofSupply, type WantedProofs } from "./proof-supply.ts";
import { Provider, type Report } from "./provider.ts";
import { openSeeds, readLoad, readSeedTotal, type Seeds } from "./run-settings.ts";
import { requiredSeeds, type Seed, type SeedFile, seedFaults, warmUpVus } from "./seed-file.ts";

export interface Attempt extends Card {
  readonly provider: Provider;
  readonly seeds: Seeds;
  readonly iteration: number;
  /** The seed of a class for this attempt's rank; wraps around. The warm-up counts from the end, so that the run's first seeds are unused. */
  seed(className: string): Seed;
}

/** Signing takes a separate turn in k6. */
export type User = (attempt: Attempt) => Verdict | Promise<Verdict>;

export interface UserOptions {
  /** The class of the warm-up, if the mix would use up seeds that the run needs. */
  readonly warmUpClass?: string;
  /** The proofs of an attempt, if the seeds are bound to a key; without it, a scenario has no DPoP. */
  readonly proofs?: (attempt: Attempt) => WantedProofs;
}

interface SetupData {
  readonly file: SeedFile | undefined;
}

/**
 * **Builds a k6 scenario from the actions of one user**: the shape of the load, the seeds, the metrics and the rules are the same for all. It is an
 * open model: iterations arrive by the clock, regardless of response times.
 */
export function defineScenario(scenario: ScenarioName, user: User, userOptions: UserOptions = {}) {
  const load = readLoad(scenario);
  const shares = sharesOf(scenario, load.preset);
  const opened = openSeeds(scenario, load.preset);
  const measures = new Measures(scenario);
  let seeds: Seeds | undefined;
  let supply: ProofSupply | undefined;

  const attempt = (data: SetupData, card: Card, measured: boolean): Verdict | Promise<Verdict> => {
    seeds ??= opened.of(data.file);
    const known = seeds;
    if (known.dpopKey !== undefined) supply ??= new ProofSupply(known.issuer, known.dpopKey);
    const report: Report = (response, answer) => {
      if (measured) measures.exchange(card.className, response, answer);
    };
    const provider = new Provider(known.origin, report, supply);
    const seed = (className: string): Seed => {
      const held = known.classes[className]!;
      const at = card.rank % held.length;
      return held[measured ? at : held.length - 1 - at]!;
    };
    const own = { ...card, provider, seeds: known, iteration: exec.scenario.iterationInTest, seed };
    if (supply === undefined) return user(own);
    if (userOptions.proofs === undefined) exec.test.abort(`${scenario} has no DPoP`);
    return supply.prepare(userOptions.proofs!(own)).then(() => user(own));
  };

  return {
    options: optionsOf(scenario, load),

    /** Throws, and thereby aborts, before anything is sent. */
    setup(): SetupData {
      const { head, file } = opened.load();
      const classes =
        file?.classes ?? Object.fromEntries(Object.entries(head.counts).map(([name, length]) => [name, { length }]));
      const required = requiredSeeds(scenario, load, readSeedTotal());
      const endsAt = Date.now() / 1000 + secondsOf(load);
      const faults = seedFaults({ ...head, classes: classes as SeedFile["classes"] }, scenario, required, endsAt);
      if (faults.length > 0)
        exec.test.abort(
          `the seeds do not do: ${faults.join("; ")}. Make them anew: npm run load -- ${scenario} ${load.preset} --reseed`,
        );
      return { file };
    },

    measured(data: SetupData): void | Promise<void> {
      const card = cardAt(shares, opened.deck, exec.scenario.iterationInTest);
      return finish(attempt(data, card, true), (verdict) => {
        measures.verdict(card.className, verdict);
        if (verdict.kind === "wrong") console.error(`wrong answer, class ${card.className}: ${verdict.why}`);
      });
    },

    warmUp(data: SetupData): void | Promise<void> {
      const card = cardAt(shares, opened.deck, exec.scenario.iterationInTest);
      return finish(
        attempt(data, { ...card, className: userOptions.warmUpClass ?? card.className }, false),
        (verdict) => {
          if (verdict.kind === "wrong")
            exec.test.abort(`wrong answer in warm-up, class ${card.className}: ${verdict.why}`);
        },
      );
    },

    handleSummary(summary: unknown): Record<string, string> {
      const result = __ENV["RESULT"];
      return result === undefined
        ? { stdout: `${JSON.stringify(summary, null, 2)}\n` }
        : { [result]: JSON.stringify(summary) };
    },
  };
}

/** Finishes in the same turn, unless proofs were signed. */
function finish(verdict: Verdict | Promise<Verdict>, work: (verdict: Verdict) => void): void | Promise<void> {
  return verdict instanceof Promise ? verdict.then(work) : work(verdict);
}

function secondsOf(load: Load): number {
  return (load.warmUp?.seconds ?? 0) + load.stages.reduce((sum, stage) => sum + stage.seconds, 0) + 30;
}

function optionsOf(scenario: ScenarioName, load: Load): Options {
  const { warmUp } = load;
  return {
    scenarios: {
      ...(warmUp === undefined
        ? {}
        : {
            warm_up: {
              executor: "constant-arrival-rate" as const,
              exec: "warmUp",
              rate: warmUp.rate,
              timeUnit: "1s",
              duration: `${warmUp.seconds}s`,
              preAllocatedVUs: warmUpVus(load),
              gracefulStop: "0s",
            },
          }),
      measured: {
        executor: "ramping-arrival-rate" as const,
        exec: "measured",
        startTime: `${warmUp?.seconds ?? 0}s`,
        startRate: load.startRate,
        timeUnit: "1s",
        preAllocatedVUs: load.preAllocatedVus,
        maxVUs: load.maxVus,
        stages: load.stages.map(({ seconds, toRate }) => ({ duration: `${seconds}s`, target: toRate })),
      },
    },
    thresholds: thresholdsOf(scenario, load),
    summaryTrendStats: ["count", "min", "avg", "med", "p(95)", "p(99)", "max"],
    noCookiesReset: false,
    userAgent: `edge-op-load-tests (${scenarioNames.join(" ")})`,
  };
}
