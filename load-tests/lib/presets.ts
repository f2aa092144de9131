/**
 * **Every preset in every shape**: rates, stages and virtual users, for the k6 scenarios, the command, the report and the capacity model. A preset is
 * `smoke` or `rps<rate>`: the published rates are listed, and any other whole rate works too.
 */

export const scenarioNames = [
  "exchange",
  "introspect",
  "refresh",
  "userinfo",
  "silent",
  "login",
  "login-mfa",
  "signup",
  "recover",
  "documents",
  "id-jag",
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

/** Scenarios of people whose seeds are used once, or seldom: an app's code is accepted once, and an address gets few mails. */
export const peopleScenarios = ["login-mfa", "signup", "recover"] as const;
export type PeopleScenario = (typeof peopleScenarios)[number];

export function isPeopleScenario(scenario: ScenarioName): scenario is PeopleScenario {
  return peopleScenarios.some((name) => name === scenario);
}

/** Scenarios that read mailed codes from the mailbox of a local provider. */
export function readsMail(scenario: ScenarioName): boolean {
  return scenario === "signup" || scenario === "recover";
}

/**
 * `reference`: comparable with the published figures, about 70 % of its name on average. `hold`: the full rate, flat. `probe`: the full rate for half
 * a minute, to find the limit of a machine before the long runs.
 */
export const shapes = ["reference", "hold", "probe"] as const;
export type Shape = (typeof shapes)[number];

/** Rates in requests per second; for `silent` and those of people, complete flows per second. */
export const rates: Readonly<Record<ScenarioName, readonly number[]>> = {
  exchange: [50, 100, 200, 300, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000],
  introspect: [100, 300, 500, 600, 750, 800, 1000],
  refresh: [10, 100, 200, 300, 1000, 2000, 3000, 4000],
  userinfo: [100, 500, 1000, 1500, 2000, 2500, 3000, 4000, 5000],
  silent: [100, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500],
  login: [10, 30, 50, 100, 125, 150],
  "login-mfa": [5, 10, 30, 50, 100],
  signup: [1, 2, 5, 10],
  recover: [1, 2, 5, 10],
  documents: [100, 300, 500, 1000],
  "id-jag": [100, 300, 500, 1000],
};

/** The rate changes linearly from the end of the previous stage to `toRate`. */
export interface Stage {
  readonly seconds: number;
  readonly toRate: number;
}

export interface Load {
  readonly preset: string;
  readonly shape: Shape;
  /** The rate in the preset's name, per second. */
  readonly rate: number;
  /** Not counted; fills caches and connections. Absent in `smoke` and in flat runs. */
  readonly warmUp: { readonly rate: number; readonly seconds: number } | undefined;
  readonly startRate: number;
  readonly stages: readonly Stage[];
  readonly preAllocatedVus: number;
  readonly maxVus: number;
}

const smokeRate = 20;
const smokeSeconds = 6;
const loginSmokeRate = 4;
/** Flows of several pages with a password hash. */
const peopleSmokeRate = 2;
const probeSeconds = 30;
/** The minimum of virtual users: even small rates need a few for slow responses. */
const fewestVus = 10;
/** As many as a login smoke run has iterations: each occupies a core for long, and a slow machine should drop none. */
const fewestSmokeVus = loginSmokeRate * smokeSeconds;

export function presetsOf(scenario: ScenarioName): string[] {
  return ["smoke", ...rates[scenario].map((rate) => `rps${rate}`)];
}

/** Throws, with the list of published presets, for an unknown preset. */
export function loadOf(scenario: ScenarioName, preset: string, shape: Shape): Load {
  if (preset !== "smoke" && !/^rps[1-9]\d{0,5}$/.test(preset)) {
    throw new Error(`${scenario} has no preset "${preset}": rps<rate>, or one of ${presetsOf(scenario).join(", ")}`);
  }
  const smoke = preset === "smoke";
  const rate = smoke ? smokeRateOf(scenario) : Number(preset.slice("rps".length));
  const fewest = smoke ? fewestSmokeVus : fewestVus;
  return {
    preset,
    shape,
    rate,
    ...(smoke ? flat(rate, smokeSeconds) : stagesOf(scenario, shape, rate)),
    preAllocatedVus: Math.max(fewest, Math.ceil(rate * 1.2)),
    maxVus: Math.max(fewest, Math.ceil(rate * 1.5)),
  };
}

function smokeRateOf(scenario: ScenarioName): number {
  if (isPeopleScenario(scenario)) return peopleSmokeRate;
  return scenario === "login" ? loginSmokeRate : smokeRate;
}

function flat(rate: number, seconds: number): Pick<Load, "warmUp" | "startRate" | "stages"> {
  return { warmUp: undefined, startRate: rate, stages: [{ seconds, toRate: rate }] };
}

function stagesOf(scenario: ScenarioName, shape: Shape, rate: number): Pick<Load, "warmUp" | "startRate" | "stages"> {
  if (scenario === "refresh" && shape === "reference") return flat(rate, 120);
  const warmUp = { rate: Math.min(50, rate), seconds: shape === "probe" ? 10 : 30 };
  if (shape !== "reference") {
    const seconds = shape === "probe" ? probeSeconds : scenario === "refresh" ? 120 : 180;
    return {
      warmUp,
      startRate: warmUp.rate,
      stages: [
        { seconds: 15, toRate: rate },
        { seconds, toRate: rate },
      ],
    };
  }
  return {
    warmUp,
    startRate: warmUp.rate,
    stages: [
      { seconds: 15, toRate: Math.ceil(rate / 2) },
      { seconds: 180, toRate: rate },
      { seconds: 15, toRate: 0 },
    ],
  };
}

/** The requests that the counted stages plan. */
export function askedRequests(load: Load): number {
  let total = 0;
  let from = load.startRate;
  for (const stage of load.stages) {
    total += ((from + stage.toRate) / 2) * stage.seconds;
    from = stage.toRate;
  }
  return Math.round(total);
}

export function countedSeconds(load: Load): number {
  return load.stages.reduce((sum, stage) => sum + stage.seconds, 0);
}
