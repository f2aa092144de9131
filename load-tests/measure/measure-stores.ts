import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { loadTestsRoot } from "../lib/find-k6.ts";
import type { Counted } from "./lease-stage.ts";
import { type PacedResult, runPaced } from "./paced-loop.ts";
import { renderStores, type StoreMeasurement, type StoreReport } from "./render-stores.ts";
import { StoreStage } from "./store-stage.ts";

/**
 * **`node load-tests/measure/measure-stores.ts`**: what a sign-in, a code and a refresh cost each Worker and each object, at several
 * rates and numbers of shards. Some minutes.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    out: { type: "string", default: join(loadTestsRoot, "..", ".op", "stores") },
  },
});
const seconds = Number(values.seconds);
const connections = 32;
const scope = "openid profile offline_access";

const stages = [
  { shards: { refresh: 1, session: 1 }, refreshRates: [50, 100, 208], codeRates: [20, 40] },
  { shards: { refresh: 2, session: 2 }, refreshRates: [100, 208], codeRates: [40] },
] as const;
const signInRates = [1, 2];

async function measure(
  stage: StoreStage,
  operation: StoreMeasurement["operation"],
  perSecond: number,
  send: (connection: number) => Promise<void>,
): Promise<Omit<StoreMeasurement, "shards">> {
  const loops = Math.min(connections, Math.max(2, perSecond));
  await runPaced(send, loops, perSecond, 2);
  const before = { cpu: stage.cpu(), counted: await stage.count(), d1: stage.database, kv: stage.cache };
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
    kvOperations: (stage.cache - before.kv) / operations,
    calls: difference(({ methods }) => methods),
    rowsWritten: difference(({ rowsWritten }) => rowsWritten),
  };
}

const measurements: StoreMeasurement[] = [];

function save(): void {
  const report: StoreReport = {
    measuredAt: new Date().toISOString(),
    commit: describeCommit(),
    machine: describeMachine("", "http://localhost"),
    measurements,
  };
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, "stores.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(values.out, "stores.md"), renderStores(report));
}

for (const { shards, refreshRates, codeRates } of stages) {
  const stage = await StoreStage.prepare(shards);
  const add = (measured: Omit<StoreMeasurement, "shards">) => {
    measurements.push({ shards, ...measured });
    console.log(JSON.stringify(measurements.at(-1)));
    save();
  };
  try {
    for (let person = 0; person < connections; person += 1) await stage.signIn(person, scope);
    if (shards.refresh === 1) {
      for (const rate of signInRates) {
        add(await measure(stage, "sign-in", rate, (connection) => stage.signIn(connection, scope)));
      }
    }
    for (const rate of codeRates) add(await measure(stage, "code", rate, (person) => stage.silentCode(person)));
    for (const rate of refreshRates) add(await measure(stage, "refresh", rate, (person) => stage.refresh(person)));
  } finally {
    await stage.stop();
  }
}
console.log(readFileSync(join(values.out, "stores.md"), "utf8"));
