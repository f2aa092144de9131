/** **The report of the cost of sign-ins, codes and refreshes**, compared with the figures that the model scales up. */

import { table } from "../lib/format.ts";
import {
  callsOf,
  rowsOf,
  type StoreMeasurement,
  type StoreReport,
  storeClasses,
  workOf,
} from "../model/store-report.ts";

function rowOf(measured: StoreMeasurement): string[] {
  const work = workOf[measured.operation];
  const modelled: Readonly<Record<string, number>> = work.calls;
  const calls = (Object.keys(storeClasses) as (keyof typeof storeClasses)[]).map(
    (store) => `${(modelled[store] ?? 0).toFixed(0)} / ${callsOf(measured, storeClasses[store]).toFixed(2)}`,
  );
  const rows = rowsOf(measured);
  const shards = measured.operation === "refresh" ? measured.shards.refresh : measured.shards.session;
  return [
    measured.operation,
    String(shards),
    `${measured.rate} / ${measured.perSecond.toFixed(0)}`,
    ...calls,
    `${work.d1Queries} / ${measured.d1Queries.toFixed(2)}`,
    `${work.rowsWritten} / ${rows.toFixed(1)}`,
    `${work.workerCpuMs + ("passwordCpuMs" in work ? work.passwordCpuMs : 0)} / ${measured.workersCpuMs.toFixed(1)}`,
    measured.objectsCpuMs.toFixed(2),
    measured.p50.toFixed(0),
    measured.p99.toFixed(0),
  ];
}

export function renderStores({ measuredAt, commit, machine, measurements }: StoreReport): string {
  return `# Sign-ins, codes and refreshes: cost of one operation

\`node load-tests/measure/measure-stores.ts\`, ${measuredAt}, commit ${commit}, ${machine.cpu}, ${machine.cores} cores shared by everything. The endpoint Workers ran in one process
and the objects in another, so calls between them cost more CPU than on Cloudflare. "Shards" are those of sessions, codes and challenges each, or of refresh. Each pair is model / measured; the model
scales the left figure up to 1,000 sign-ins or 10,000 refreshes a second. \`sign-in\`: a password, a code, a refresh token. \`code\`: \`prompt=none\` and its code.

${table(
  [
    "operation",
    "shards",
    "rate/s",
    "session calls",
    "challenge calls",
    "code calls",
    "refresh calls",
    "D1 queries",
    "rows written",
    "Worker CPU ms",
    "object CPU ms",
    "p50 ms",
    "p99 ms",
  ],
  measurements.map(rowOf),
)}

A refresh that waits for another one of its shard joins its call, so calls per refresh fall as a shard becomes busier.
`;
}
