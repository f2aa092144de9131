/**
 * **`node load-tests/bench/hook-cost.ts`**: what a bound hook adds to a request: latency at one connection, and CPU of the runtime, which has both
 * Workers. The hook `claims` is a recipe that calls nothing. Of UserInfo and exchange it also ends the reuse of decisions. Providers are measured in
 * turns; a second one without hooks shows how much two alike differ: a refresh waits for the disk.
 */

import { table } from "../lib/format.ts";
import { percentile } from "../lib/percentile.ts";
import { cpuMicroseconds, findRuntime } from "../lib/process-time.ts";
import { type ProviderOptions, type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { runLoop } from "./loops.ts";
import { prepareSeeds, type Workload, workloadsOf } from "./workloads.ts";

const measured = ["userinfo", "refresh", "exchange"];
const turns = 5;
const seconds = 2;

interface Measured {
  readonly provider: StartedProvider;
  readonly workloads: readonly Workload[];
  readonly p50Ms: ReadonlyMap<string, number[]>;
  readonly cpuMs: ReadonlyMap<string, number[]>;
}

function noFigures(): ReadonlyMap<string, number[]> {
  return new Map(measured.map((name) => [name, []]));
}

async function start(options: ProviderOptions): Promise<Measured> {
  const provider = await startProvider(options);
  const workloads = workloadsOf(await prepareSeeds(provider, 1));
  return { provider, workloads, p50Ms: noFigures(), cpuMs: noFigures() };
}

async function measure({ provider, workloads, p50Ms, cpuMs }: Measured, name: string): Promise<void> {
  const target = workloads.find((each) => each.name === name)!.target(provider.origin);
  const runtime = findRuntime(provider.processId);
  const before = runtime === undefined ? Number.NaN : cpuMicroseconds(runtime);
  const { requests, p50Ms: p50 } = await runLoop(target, 1, seconds);
  const cpu = runtime === undefined ? Number.NaN : (cpuMicroseconds(runtime) - before) / 1000 / requests;
  p50Ms.get(name)!.push(p50);
  cpuMs.get(name)!.push(cpu);
}

const middle = (values: readonly number[]) =>
  percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

/** The middle of the differences of turns. */
const differenceOf = (from: readonly number[], to: readonly number[]) =>
  middle(to.map((value, turn) => value - from[turn]!));

const hooks = { path: "examples/hooks/src/claims-by-client.ts" };
const without = await start({});
const withHook = await start({ hooks, vars: { ENABLED_HOOKS: "claims=closed" } });
const alike = await start({});
try {
  for (const name of measured) {
    for (let turn = 0; turn < turns; turn += 1) {
      for (const each of [without, withHook, alike]) await measure(each, name);
    }
  }
  const figuresOf = (name: string, kind: "p50Ms" | "cpuMs") => {
    const [base, hooked, again] = [without, withHook, alike].map((each) => each[kind].get(name)!);
    const figures = [middle(base!), differenceOf(base!, hooked!), differenceOf(base!, again!)];
    return figures.map((ms) => ms.toFixed(3));
  };
  const header = ["p50 ms", "the hook adds", "one alike adds", "CPU ms", "the hook adds", "one alike adds"];
  const rows = measured.map((name) => [name, ...figuresOf(name, "p50Ms"), ...figuresOf(name, "cpuMs")]);
  console.log(table(["request", ...header], rows));
} finally {
  await Promise.all([without, withHook, alike].map(({ provider }) => provider.stop()));
}
