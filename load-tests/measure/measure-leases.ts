import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { loadTestsRoot } from "../lib/find-k6.ts";
import { type LeaseFaults, measureFaults } from "./lease-faults.ts";
import { type LeaseMeasurement, measureLeases } from "./lease-run.ts";
import { type LeaseReport, renderLeases } from "./render-leases.ts";

/**
 * **`node load-tests/measure/measure-leases.ts`**: what leases cost here, by the number of isolates and of relays, beside the model; then
 * the waits of revocations while an isolate is killed, frozen and cut off. Some minutes. Adds to the report in `--out` if there is one.
 */
const { values } = parseArgs({
  options: {
    isolates: { type: "string", default: "1,2,4,8,16" },
    relays: { type: "string", default: "0" },
    rates: { type: "string", default: "25" },
    faults: { type: "boolean", default: false },
    out: { type: "string", default: join(loadTestsRoot, "..", ".op", "leases") },
  },
});
const numbers = (text: string) => (text === "" ? [] : text.split(",").map(Number));

const path = join(values.out, "leases.json");
const known: LeaseReport | undefined = existsSync(path)
  ? (JSON.parse(readFileSync(path, "utf8")) as LeaseReport)
  : undefined;
let measurements: LeaseMeasurement[] = [...(known?.measurements ?? [])];
let faults: LeaseFaults[] = [...(known?.faults ?? [])];
mkdirSync(values.out, { recursive: true });

function isSame(a: LeaseMeasurement, b: LeaseMeasurement): boolean {
  return a.isolates === b.isolates && a.relays === b.relays && a.ratePerIsolate === b.ratePerIsolate;
}

function save(): void {
  const report: LeaseReport = {
    measuredAt: new Date().toISOString(),
    commit: describeCommit(),
    machine: describeMachine("", "http://localhost"),
    measurements,
    faults,
  };
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(values.out, "leases.md"), renderLeases(report));
}

for (const relays of numbers(values.relays)) {
  for (const rate of numbers(values.rates)) {
    for (const isolates of numbers(values.isolates)) {
      const measured = await measureLeases(isolates, relays, rate);
      console.log(JSON.stringify(measured));
      measurements = [...measurements.filter((each) => !isSame(each, measured)), measured];
      save();
    }
  }
  if (values.faults) {
    await measureFaults(relays, (measured) => {
      console.log(JSON.stringify(measured));
      faults = [...faults.filter((each) => each.relays !== relays || each.fault !== measured.fault), measured];
      save();
    });
  }
}
console.log(readFileSync(join(values.out, "leases.md"), "utf8"));
