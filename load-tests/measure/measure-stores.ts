/**
 * **`node load-tests/measure/measure-stores.ts`**: the cost of a sign-in, a code and a refresh for each Worker and object, at several rates and
 * numbers of shards. It runs unattended, about three minutes on a quiet machine and at most five: later measurements are omitted, and a measurement
 * that fails is named while the others continue (exit code 1).
 *
 * The rates of one shard are those of a large deployment, divided by its shards: 1,000 sign-ins a second by 16 shards are 62 codes a second and
 * shard, 10,000 refreshes by 48 shards are 208.
 */

import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { readCommandLine } from "../lib/command-line.ts";
import { reportDirectory, writeReport } from "../lib/write-report.ts";
import type { PacedResult, StoreMeasurement, StoreReport } from "../model/store-report.ts";
import type { Counted } from "./lease-stage.ts";
import { runPaced } from "./paced-loop.ts";
import { renderStores } from "./render-stores.ts";
import { StoreStage } from "./store-stage.ts";

const usage = `node load-tests/measure/measure-stores.ts [options]

  --seconds N   of each measurement (default 8)
  --minutes N   in all at most (default 5)
  --out DIR     for stores.json and stores.md (default: .op/stores)`;

const { values } = readCommandLine(usage, {
  seconds: { type: "string", default: "8" },
  minutes: { type: "string", default: "5" },
  out: { type: "string", default: reportDirectory("stores") },
});
const seconds = Number(values.seconds);
const connections = 32;
const scope = "openid profile offline_access";

const stages = [
  { shards: { refresh: 1, session: 1 }, refreshRates: [50, 208], codeRates: [20, 62] },
  { shards: { refresh: 2, session: 2 }, refreshRates: [208], codeRates: [62] },
] as const;
const untilMs = performance.now() + Number(values.minutes) * 60_000;
/** The time reserved for a measurement with its warm-up and for the end of a stage. */
const reserveMs = (seconds + 10) * 1000;
let failures = 0;
const signInRates = [1, 2];

async function measure(
  stage: StoreStage,
  operation: StoreMeasurement["operation"],
  perSecond: number,
  send: (connection: number) => Promise<void>,
): Promise<Omit<StoreMeasurement, "shards">> {
  const loops = Math.min(connections, Math.max(2, perSecond));
  await runPaced(send, loops, perSecond, 2);
  const before = { cpu: stage.cpu(), counted: await stage.count(), d1: stage.database };
  const result: PacedResult = await runPaced(send, loops, perSecond, seconds);
  const after = { cpu: stage.cpu(), counted: await stage.count() };
  const { operations } = result;
  const difference = (of: (counted: Counted) => Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.entries(of(after.counted))
        .map(([name, count]) => [name, (count - (of(before.counted)[name] ?? 0)) / operations] as const)
        .filter(([, count]) => count > 0.005),
    );
  return {
    operation,
    rate: perSecond,
    ...result,
    workersCpuMs: (after.cpu.workers - before.cpu.workers) / 1000 / operations,
    objectsCpuMs: (after.cpu.objects - before.cpu.objects) / 1000 / operations,
    d1Queries: (stage.database - before.d1) / operations,
    calls: difference(({ methods }) => methods),
    rowsWritten: difference(({ rowsWritten }) => rowsWritten),
  };
}

const measurements: StoreMeasurement[] = [];
let text = "";

function save(): void {
  const report: StoreReport = {
    measuredAt: new Date().toISOString(),
    commit: describeCommit(),
    machine: describeMachine(),
    measurements,
  };
  text = renderStores(report);
  writeReport(values.out, "stores", report, text);
}

for (const { shards, refreshRates, codeRates } of stages) {
  if (performance.now() > untilMs - 3 * reserveMs) break;
  const stage = await StoreStage.prepare(shards);
  const add = async (...what: [StoreMeasurement["operation"], number, (connection: number) => Promise<void>]) => {
    if (performance.now() > untilMs - reserveMs) {
      console.error(`no time is left for ${what[0]} at ${what[1]}/s`);
      return;
    }
    try {
      measurements.push({ shards, ...(await measure(stage, ...what)) });
      console.log(JSON.stringify(measurements.at(-1)));
      save();
    } catch (error) {
      failures += 1;
      console.error(`${what[0]} at ${what[1]}/s failed: ${String(error)}`);
    }
  };
  try {
    for (let person = 0; person < connections; person += 1) await stage.signIn(person, scope);
    if (shards.refresh === 1) {
      for (const rate of signInRates) await add("sign-in", rate, (connection) => stage.signIn(connection, scope));
    }
    for (const rate of codeRates) await add("code", rate, (person) => stage.silentCode(person));
    for (const rate of refreshRates) await add("refresh", rate, (person) => stage.refresh(person));
  } finally {
    await stage.stop();
  }
}
console.log(text);
process.exitCode = failures === 0 && measurements.length > 0 ? 0 : 1;
