/**
 * **`node load-tests/bench/endurance.ts`**: each endpoint for minutes at a share of its saturation, on one core: throughput, latency and resident
 * memory of the runtime, interval by interval, so that the first and the last can be compared.
 */

import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { readCommandLine } from "../lib/command-line.ts";
import { rowOf, table } from "../lib/format.ts";
import { readIfThere } from "../lib/process-time.ts";
import { reportDirectory, writeReport } from "../lib/write-report.ts";
import { type LoopResult, runLoop, runOpenLoop } from "./loops.ts";
import { originOf, startServer, wantedOf } from "./workloads.ts";

const usage = `node load-tests/bench/endurance.ts [options]

  --only a,b      endpoints, one after the other (default: introspect,userinfo,exchange,refresh)
  --minutes N     of each (default 10)
  --share N       of the rate at saturation (default 0.7)
  --interval N    seconds of one row (default 60)
  --out DIR       for endurance.json and endurance.md (default: .op/bench/<time>)`;

const { values } = readCommandLine(usage, {
  only: { type: "string", default: "introspect,userinfo,exchange,refresh" },
  minutes: { type: "string", default: "10" },
  share: { type: "string", default: "0.7" },
  interval: { type: "string", default: "60" },
  out: { type: "string" },
});
const connections = 128;
const intervalSeconds = Number(values.interval);
const intervals = Math.max(2, Math.round((Number(values.minutes) * 60) / intervalSeconds));
const saturationSeconds = 10;

interface Interval extends LoopResult {
  readonly endpoint: string;
  readonly asked: number;
  readonly atSeconds: number;
  readonly residentMb: number;
}

function residentMb(processId: number | undefined): number {
  if (processId === undefined) return Number.NaN;
  return Number(/VmRSS:\s+(\d+)/.exec(readIfThere(`/proc/${processId}/status`) ?? "")?.[1]) / 1024;
}

function cellsOf(row: Interval): string[] {
  const latency = [row.p50Ms, row.p95Ms, row.p99Ms, row.p999Ms, row.maxMs].map((value) => value.toFixed(1));
  const rates = [row.asked, row.perSecond].map((value) => Math.round(value).toLocaleString("en-US"));
  return [row.endpoint, String(row.atSeconds), ...rates, ...latency, row.residentMb.toFixed(0)];
}

const header = [
  "endpoint",
  "from s",
  "asked/s",
  "responses/s",
  "p50 ms",
  "p95 ms",
  "p99 ms",
  "p99.9 ms",
  "longest ms",
  "resident MB",
];

const startedAt = new Date();
const rows: Interval[] = [];
const { provider, processId, workloads } = await startServer({}, connections);
try {
  console.log(rowOf(header));
  for (const workload of wantedOf(workloads, values.only)) {
    const target = workload.target(originOf(provider, "own socket", workload.worker));
    await runLoop(target, 32, saturationSeconds / 2);
    const { perSecond } = await runLoop(target, 32, saturationSeconds);
    const asked = Math.max(1, Math.floor(perSecond * Number(values.share)));
    for (let interval = 0; interval < intervals; interval += 1) {
      const result = await runOpenLoop(target, asked, intervalSeconds, connections);
      const atSeconds = interval * intervalSeconds;
      rows.push({ endpoint: workload.name, asked, atSeconds, ...result, residentMb: residentMb(processId) });
      console.log(rowOf(cellsOf(rows.at(-1)!)));
    }
  }
  const machine = describeMachine();
  const text = `# Endurance

${startedAt.toISOString()}, commit ${describeCommit()}, ${machine.cpu}, ${machine.cores} cores; each endpoint on its own socket at ${values.share} of the rate that 32 connections reach, the runtime on one core.

${table(header, rows.map(cellsOf))}
`;
  console.log(`\n${writeReport(values.out ?? reportDirectory("bench", startedAt), "endurance", rows, text)}`);
} finally {
  await provider.stop();
}
