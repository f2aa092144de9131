import type { Machine } from "../lib/circumstances.ts";
import { table } from "../lib/format.ts";
import { fleetOfMeasurement, type LeaseMeasurement } from "../model/lease-report.ts";
import { defaultFleet, leaseLoad } from "../model/leases.ts";
import { relaysFor, sizeFor } from "../model/sizing.ts";
import type { LeaseFaults } from "./lease-faults.ts";

export interface LeaseReport {
  readonly measuredAt: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly measurements: readonly LeaseMeasurement[];
  readonly faults: readonly LeaseFaults[];
  /** Steps without a result, with the reason. */
  readonly missing?: readonly string[];
}

const fixed = (value: number) => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
const triple = (model: number, measured: number) => [fixed(model), fixed(measured), (measured / model).toFixed(2)];

function callTable(measurements: readonly LeaseMeasurement[]): string {
  return table(
    [
      "isolates",
      "requests/s of each",
      "relays",
      "calls/s in all: model",
      "measured",
      "ratio",
      "busiest shard: model",
      "measured",
      "ratio",
      "busiest relay: model",
      "measured",
    ],
    measurements.map((measured) => {
      const load = leaseLoad(fleetOfMeasurement(measured));
      const { isolates, ratePerIsolate, relays } = measured;
      return [
        String(isolates),
        String(ratePerIsolate),
        String(relays),
        ...triple(load.callsPerSecond, measured.callsPerSecond),
        ...triple(load.busiestShard, measured.busiestShard),
        ...(relays === 0 ? ["", ""] : [fixed(load.busiestRelay), fixed(measured.busiestRelay)]),
      ];
    }),
  );
}

function waitTable(measurements: readonly LeaseMeasurement[]): string {
  return table(
    [
      "isolates",
      "requests/s of each",
      "relays",
      "`/revoke` p50 ms",
      "p99",
      "administrative change p50 ms",
      "p99",
      "D1 reads of an isolate per change",
    ],
    measurements.map(({ isolates, relays, ratePerIsolate, revoke, change, d1ReadsPerChange }) => [
      String(isolates),
      String(ratePerIsolate),
      String(relays),
      fixed(revoke.p50),
      fixed(revoke.p99),
      fixed(change.p50),
      fixed(change.p99),
      d1ReadsPerChange === undefined ? "" : d1ReadsPerChange.toFixed(2),
    ]),
  );
}

function faultTable(faults: readonly LeaseFaults[]): string {
  return table(
    [
      "one of four isolates",
      "relays",
      "`/revoke` right after: p50 ms",
      "p99",
      "in the next 2 s: p50",
      "p99",
      "revocations",
      "violations",
    ],
    faults.map(({ fault, relays, first, later, violations }) => [
      fault === "none" ? "runs on" : `is ${fault}`,
      String(relays),
      fixed(first.p50),
      fixed(first.p99),
      fixed(later.p50),
      fixed(later.p99),
      String(first.count + later.count),
      String(violations),
    ]),
  );
}

/** The limits, in milliseconds and calls per second. */
const marks = { writeMs: 100, killedMs: 1_100, callsPerIsolate: 2, busiestCalls: 500, leasesPerMonth: 10 };

/** Each limit with the figure that was measured or calculated. */
function markTable(measurements: readonly LeaseMeasurement[], faults: readonly LeaseFaults[]): string {
  const rows: string[][] = [];
  const add = (what: string, where: string, value: number, mark: number, text = fixed(value)) =>
    rows.push([what, where, text, `≤ ${mark}`, value <= mark ? "met" : "**missed**"]);
  for (const { isolates, relays, ratePerIsolate, revoke, change, d1ReadsPerChange, methods } of measurements) {
    const where = `${isolates} isolates, ${relays} relays, ${ratePerIsolate} requests/s of each`;
    add("`/revoke` p50, ms", where, revoke.p50, marks.writeMs);
    add("administrative change p50, ms", where, change.p50, marks.writeMs);
    if (d1ReadsPerChange !== undefined) {
      add("D1 reads of an isolate per unrelated change", where, d1ReadsPerChange, 0, d1ReadsPerChange.toFixed(2));
    }
    if (relays > 0) {
      const own = Object.entries(methods).reduce(
        (sum, [name, rate]) => sum + (name.startsWith("RevocationRelay") ? rate : 0),
        0,
      );
      add("object calls/s of an isolate", where, Math.round((10 * own) / isolates) / 10, marks.callsPerIsolate);
    }
  }
  for (const { fault, relays, first } of faults) {
    if (fault === "none") continue;
    add(
      `\`/revoke\` right after one of four isolates is ${fault}, p99, ms`,
      `${relays} relays`,
      first.p99,
      marks.killedMs,
    );
  }
  const isolates = 5_000;
  const busy = { ...defaultFleet, isolates, requestsPerIsolate: 1e6 };
  const relaysPerRegion = relaysFor((relays) => leaseLoad({ ...busy, relaysPerRegion: relays }));
  const { busiestShard, busiestRelay } = leaseLoad({ ...busy, relaysPerRegion });
  add(
    "calls/s of the busiest object",
    "5,000 isolates (model)",
    Math.max(busiestShard, busiestRelay),
    marks.busiestCalls,
  );
  add(
    "leases a month, dollars",
    "100,000 users, 30 isolates (model)",
    sizeFor(100_000, 30).cost.leases,
    marks.leasesPerMonth,
  );
  return table(["", "with", "here", "mark", ""], rows);
}

/** **The report of lease measurements**, compared with the model's figures for the same isolates, shards, relays and rates. */
export function renderLeases({ measuredAt, commit, machine, measurements, faults, missing = [] }: LeaseReport): string {
  const sorted = measurements.toSorted(
    (a, b) => a.relays - b.relays || b.ratePerIsolate - a.ratePerIsolate || a.isolates - b.isolates,
  );
  const violations = [...measurements, ...faults].reduce((sum, each) => sum + each.violations, 0);
  return `# Leases by isolates: the model and a running system

\`node load-tests/measure/measure-leases.ts\`, ${measuredAt}, commit ${commit}, ${machine.cpu}, ${machine.cores} cores shared by the isolates, the objects and the
generator. Latencies compare within one table alone. Every isolate was asked for each token after its revocation was acknowledged: ${violations} of them reported one as active.

${missing.map((what) => `- ${what}\n`).join("")}
## Marks

Waits are measured on a machine whose processors the isolates, the objects and the generator share; a p99 of few revocations is their maximum. The mark of a million rows is measured by
\`SHARD_ROWS=1000000 npx vitest run --project op-state large-shard\`.

${markTable(sorted, faults)}

## Object calls while nothing is revoked

No parameter of the model is fitted to these figures. Its form was corrected twice after a comparison, from the code of the renewals. At 4 requests a second: a lease is kept
for 1 to 1.5 L after its last use, and the first renewal follows at once. At 2 requests a second: every request keeps the lease that confirms the control version, whichever shard its token is of.
When the machine has other work, isolates renew late and the measured figures are lower than the model's.

${callTable(sorted)}

## Waits of confirmed writes

The isolates, the objects, the generator and other work of the machine share two processors, so these waits are mostly waits for a processor: they are upper bounds, rows do not
compare, and the model's legs are not fitted to them.

${waitTable(sorted)}

## With a fault

Four isolates hold leases on every shard; one of them is a process of its own.

${faultTable(faults)}
`;
}
