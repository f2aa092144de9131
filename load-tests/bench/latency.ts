/**
 * **`node load-tests/bench/latency.ts`**: the latency of each endpoint at fixed rates, on one core and on two, compared with node-oidc-provider and,
 * with `--constant`, with a constant response of a Worker.
 */

import { loadavg } from "node:os";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { readCommandLine } from "../lib/command-line.ts";
import { rowOf, table } from "../lib/format.ts";
import { findRuntime, pin } from "../lib/process-time.ts";
import { reportDirectory, writeReport } from "../lib/write-report.ts";
import type { Target } from "./connection.ts";
import { floorTarget, startFloors } from "./floors.ts";
import { type LoopResult, runLoop, runOpenLoop } from "./loops.ts";
import { peerName, startPeer } from "./start-peer.ts";
import { median } from "./turns.ts";
import { originOf, startServer, wantedOf } from "./workloads.ts";

const usage = `node load-tests/bench/latency.ts [options]

  --only a,b      endpoints (default: introspect,userinfo,exchange,refresh)
  --rates a,b     requests a second (default: 200,500,1000)
  --cores a,b     1: the servers on one core, the generator on the other; 2: not pinned (default: 1,2)
  --runs N        of each (default 5)
  --seconds N     of each run (default 6)
  --constant      also of a Worker that sends a constant response: what runtime, generator and machine contribute
  --topology TEXT "own socket" (default) or "front door"
  --out DIR       for latency.json and latency.md (default: .op/bench/<time>)`;

const { values } = readCommandLine(usage, {
  only: { type: "string", default: "introspect,userinfo,exchange,refresh" },
  rates: { type: "string", default: "200,500,1000" },
  cores: { type: "string", default: "1,2" },
  runs: { type: "string", default: "5" },
  seconds: { type: "string", default: "6" },
  constant: { type: "boolean", default: false },
  topology: { type: "string", default: "own socket" },
  out: { type: "string" },
});
if (values.topology !== "own socket" && values.topology !== "front door") {
  console.error(usage);
  process.exit(2);
}
const { topology } = values;
const numbers = (text: string) => text.split(",").map(Number);
const [seconds, runs] = [Number(values.seconds), Number(values.runs)];
const connections = 64;
const warmUpSeconds = 3;

interface Row {
  readonly endpoint: string;
  readonly server: string;
  readonly cores: number;
  readonly rate: number;
  readonly runs: readonly LoopResult[];
}

const figures = ["p50Ms", "p95Ms", "p99Ms", "p999Ms", "maxMs"] as const;

/** The median over the runs of each figure, with the lowest and the highest in parentheses. */
function cellsOf({ runs: of }: Row): string[] {
  return figures.map((name) => {
    const all = of.map((run) => run[name]);
    const range = all.length === 1 ? "" : ` (${Math.min(...all).toFixed(1)}–${Math.max(...all).toFixed(1)})`;
    return `${median(all).toFixed(1)}${range}`;
  });
}

function render(rows: readonly Row[], circumstances: string): string {
  const header = ["endpoint", "server", "cores", "rate/s", "p50 ms", "p95 ms", "p99 ms", "p99.9 ms", "longest ms"];
  const body = rows.map((row) => [row.endpoint, row.server, row.cores, row.rate, ...cellsOf(row)]);
  return `# Latency at fixed rates

${circumstances}

Open loop: latencies count from the time at which a request was to be sent. Each figure is the median of the runs, with the lowest and the
highest one.${values.constant ? ' "constant" is a Worker that only sends a response of that size.' : ""}

${table(header, body)}
`;
}

const started: { stop(): Promise<void> }[] = [];
try {
  const startedAt = new Date();
  const { provider, processId, workloads } = await startServer({}, connections);
  started.push(provider);
  const floors = values.constant ? await startFloors() : undefined;
  if (floors !== undefined) started.push(floors);
  const peer = await startPeer(connections);
  started.push(peer);
  const processIds = [processId, floors && findRuntime(floors.processId), peer.processId];
  const rows: Row[] = [];
  for (const cores of numbers(values.cores)) {
    for (const id of processIds) if (id !== undefined) pin(id, cores === 1 ? "0" : "0-1");
    pin(process.pid, cores === 1 ? "1" : "0-1");
    for (const workload of wantedOf(workloads, values.only)) {
      const servers = new Map<string, Target>([
        ["Edge OP", workload.target(originOf(provider, topology, workload.worker))],
      ]);
      if (floors !== undefined) {
        const needs = workload.needs.startsWith("GET") ? workload.needs : "nothing";
        servers.set("constant", floorTarget(originOf(floors, topology, "op-token"), needs));
      }
      const other = peer.workloads.find(({ name }) => name === workload.name)?.target(peer.origin);
      if (other !== undefined) servers.set(peerName, other);
      for (const target of servers.values()) await runLoop(target, 32, warmUpSeconds);
      for (const rate of numbers(values.rates)) {
        const results = new Map<string, LoopResult[]>([...servers.keys()].map((name) => [name, []]));
        for (let run = 0; run < runs; run += 1) {
          for (const [name, target] of servers) {
            results.get(name)!.push(await runOpenLoop(target, rate, seconds, connections));
          }
        }
        for (const [server, of] of results) {
          rows.push({ endpoint: workload.name, server, cores, rate, runs: of });
          console.log(rowOf([workload.name, server, cores, rate, ...cellsOf(rows.at(-1)!)]));
        }
      }
    }
  }
  const machine = describeMachine();
  const circumstances = `${startedAt.toISOString()}, commit ${describeCommit()}, ${machine.cpu}, ${machine.cores} cores, ${topology}, ${runs} run(s) of ${seconds} s each; load average at the end ${loadavg()[0]!.toFixed(1)}.`;
  const directory = values.out ?? reportDirectory("bench", startedAt);
  console.log(`\n${writeReport(directory, "latency", rows, render(rows, circumstances))}`);
} finally {
  for (const server of started) await server.stop();
}
