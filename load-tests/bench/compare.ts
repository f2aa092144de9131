import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { runLoop, type Target } from "./closed-loop.ts";
import { measureProcess, pinApart } from "./measure-process.ts";
import { findRuntime } from "./process-time.ts";
import type { Measurement } from "./render-bench.ts";
import { originOf, prepareWorkloads, topologies, type Workload, wantedOf } from "./workloads.ts";

/**
 * **`node load-tests/bench/compare.ts <other checkout>`**: the effect of a change, as a ratio within one run. Both providers run on
 * one core and are loaded in turns (ABBA), so that other load on the machine affects both; the medians are compared.
 */
const usage = `node load-tests/bench/compare.ts <root of another checkout, with its dependencies> [options]

  --only a,b        workloads: introspect, userinfo, exchange, client_credentials, refresh (default: all)
  --topology TEXT   "own socket" (default) or "front door"
  --rounds N        pairs of turns (default 4)
  --seconds N       of each turn (default 3)
  --mode TEXT       strict (default) or direct`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "" },
    topology: { type: "string", default: "own socket" },
    rounds: { type: "string", default: "4" },
    seconds: { type: "string", default: "3" },
    mode: { type: "string", default: "strict" },
  },
});
const [other] = positionals;
const topology = topologies.find((name) => name === values.topology);
if (other === undefined || topology === undefined) {
  console.error(usage);
  process.exit(2);
}
const loop = { connections: 32, seconds: Number(values.seconds) };
const warmUpSeconds = 4;

interface Side {
  readonly provider: StartedProvider;
  readonly runtime: number | undefined;
  readonly workloads: readonly Workload[];
}

async function startSide(checkout: string | undefined, castPath: string): Promise<Side> {
  const provider = await startProvider({ vars: { REVOCATION_MODE: values.mode }, direct: true }, checkout);
  const runtime = findRuntime(provider.processId);
  pinApart(runtime);
  return { provider, runtime, workloads: await prepareWorkloads(provider, castPath, loop.connections) };
}

function targetOf({ provider, workloads }: Side, name: string, at: (typeof topologies)[number]): Target {
  const workload = workloads.find((candidate) => candidate.name === name)!;
  return workload.target(originOf(provider, at, workload.worker));
}

function median(measured: readonly Measurement[], of: (measurement: Measurement) => number): number {
  const sorted = measured.map(of).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}

async function compare(here: Side, there: Side, name: string, at: (typeof topologies)[number]): Promise<string> {
  const [target, otherTarget] = [targetOf(here, name, at), targetOf(there, name, at)];
  await runLoop(target, loop.connections, warmUpSeconds);
  await runLoop(otherTarget, loop.connections, warmUpSeconds);
  const [ours, theirs]: [Measurement[], Measurement[]] = [[], []];
  const turn = async ({ runtime }: Side, to: Target, into: Measurement[]) =>
    into.push(await measureProcess(runtime, to, loop));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await turn(here, target, ours);
    await turn(there, otherTarget, theirs);
    await turn(there, otherTarget, theirs);
    await turn(here, target, ours);
  }
  const rate = (side: readonly Measurement[]) => median(side, ({ perSecond }) => perSecond);
  const cpu = (side: readonly Measurement[]) => median(side, ({ cpuMicros }) => cpuMicros ?? Number.NaN);
  const cells = [
    name,
    at,
    Math.round(rate(theirs)),
    Math.round(rate(ours)),
    (rate(ours) / rate(theirs)).toFixed(2),
    Math.round(cpu(theirs)),
    Math.round(cpu(ours)),
    (cpu(ours) / cpu(theirs)).toFixed(2),
  ];
  return `| ${cells.join(" | ")} |`;
}

const state = mkdtempSync(join(tmpdir(), "edge-op-compare-"));
const started: Side[] = [];
try {
  const here = await startSide(undefined, join(state, "here.json"));
  started.push(here);
  const there = await startSide(resolve(other), join(state, "there.json"));
  started.push(there);
  console.log(
    "| endpoint | topology | other: requests/s | this: requests/s | ratio | other: CPU µs | this: CPU µs | ratio |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const { name } of wantedOf(here.workloads, values.only)) console.log(await compare(here, there, name, topology));
} finally {
  for (const { provider } of started) await provider.stop();
  rmSync(state, { recursive: true, force: true });
}
