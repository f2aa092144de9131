/**
 * **`node load-tests/bench/hook-cost.ts`**: what a bound hook adds to a request: latency at one connection, and CPU of the runtime, which has both Workers. Two
 * providers, in turns; the hook `claims` is a recipe that calls nothing. Of UserInfo it also ends the reuse of decisions.
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

const middle = (values: readonly number[] | undefined) =>
  percentile(
    [...(values ?? [])].sort((a, b) => a - b),
    0.5,
  );

const hooks = { path: "examples/hooks/src/claims-by-client.ts" };
const without = await start({});
const withHook = await start({ hooks, vars: { ENABLED_HOOKS: "claims=closed" } });
try {
  for (const name of measured) {
    for (let turn = 0; turn < turns; turn += 1) {
      for (const each of [without, withHook]) await measure(each, name);
    }
  }
  const rows = measured.map((name) => {
    const figures = [without.p50Ms, withHook.p50Ms, without.cpuMs, withHook.cpuMs].map((each) =>
      middle(each.get(name)),
    );
    const [p50 = 0, hookedP50 = 0, cpu = 0, hookedCpu = 0] = figures;
    return [name, ...[p50, hookedP50, hookedP50 - p50, cpu, hookedCpu, hookedCpu - cpu].map((ms) => ms.toFixed(3))];
  });
  const header = ["p50 ms", "with the hook", "difference", "CPU ms", "with the hook", "difference"];
  console.log(table(["request", ...header], rows));
} finally {
  await Promise.all([without.provider.stop(), withHook.provider.stop()]);
}
