/**
 * **`node load-tests/bench/compare.ts <other checkout>`**: the effect of a change, as a ratio within one run. Both providers run on one core and are
 * loaded in turns (ABBA), so that other load on the machine affects both; the medians are compared.
 */

import { resolve } from "node:path";
import { readCommandLine } from "../lib/command-line.ts";
import { rowOf } from "../lib/format.ts";
import { measureInTurns } from "./turns.ts";
import { originOf, type Server, startServer, type Topology, topologies, wantedOf } from "./workloads.ts";

const usage = `node load-tests/bench/compare.ts <root of another checkout, with its dependencies> [options]

  --only a,b        workloads, for example introspect,userinfo (default: all)
  --topology TEXT   "own socket" (default) or "front door"
  --rounds N        two turns of each side (default 4)
  --seconds N       of each turn (default 3)
  --mode TEXT       strict (default) or direct
  --shape TEXT      of this checkout: separate (default) or compact; the other one is always separate, so
                    "compare.ts . --shape compact" compares the shapes`;

const { values, positionals } = readCommandLine(usage, {
  only: { type: "string", default: "" },
  topology: { type: "string", default: "own socket" },
  rounds: { type: "string", default: "4" },
  seconds: { type: "string", default: "3" },
  mode: { type: "string", default: "strict" },
  shape: { type: "string", default: "separate" },
});
const [other] = positionals;
const topology = topologies.find((name) => name === values.topology);
const { shape } = values;
if (other === undefined || topology === undefined || (shape !== "separate" && shape !== "compact")) {
  console.error(usage);
  process.exit(2);
}
const connections = 32;
const turns = {
  connections,
  seconds: Number(values.seconds),
  // One round of the option is two turns of each side: ABBA.
  rounds: 2 * Number(values.rounds),
  warmUpSeconds: 4,
};

function sideOf({ provider, workloads, processId }: Server, name: string, at: Topology) {
  const workload = workloads.find((candidate) => candidate.name === name)!;
  return { target: workload.target(originOf(provider, at, workload.worker)), processId };
}

async function compare(here: Server, there: Server, name: string, at: Topology): Promise<string> {
  const sides = new Map([
    ["ours", sideOf(here, name, at)],
    ["theirs", sideOf(there, name, at)],
  ] as const);
  const measured = await measureInTurns(sides, turns);
  const [ours, theirs] = [measured.get("ours")!, measured.get("theirs")!];
  const [cpu, otherCpu] = [ours.cpuMicros ?? Number.NaN, theirs.cpuMicros ?? Number.NaN];
  return rowOf([
    name,
    at,
    Math.round(theirs.perSecond),
    Math.round(ours.perSecond),
    (ours.perSecond / theirs.perSecond).toFixed(2),
    Math.round(otherCpu),
    Math.round(cpu),
    (cpu / otherCpu).toFixed(2),
  ]);
}

const started: Server[] = [];
const vars = { REVOCATION_MODE: values.mode };
try {
  const here = await startServer({ vars, shape }, connections);
  started.push(here);
  const there = await startServer({ vars }, connections, resolve(other));
  started.push(there);
  console.log(
    "| endpoint | topology | other: requests/s | this: requests/s | ratio | other: CPU µs | this: CPU µs | ratio |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const { name, worker } of wantedOf(here.workloads, values.only)) {
    console.log(await compare(here, there, name, worker === "op" ? "front door" : topology));
  }
} finally {
  for (const { provider } of started) await provider.stop();
}
