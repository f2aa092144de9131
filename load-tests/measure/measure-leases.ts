/**
 * **`node load-tests/measure/measure-leases.ts --all`**: the cost of leases on this machine and the waits of confirmed writes, by isolates, relays,
 * rates and faults, compared with the model and the limits. It runs unattended for at most `--minutes`, the most important steps first; a step that
 * fails or hangs is named in the report. Without `--all`, it runs the named steps and adds them to the report in `--out` if there is one.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { readCommandLine } from "../lib/command-line.ts";
import { reportDirectory, writeReport } from "../lib/write-report.ts";
import type { LeaseMeasurement } from "../model/lease-report.ts";
import { type LeaseFaults, measureFault } from "./lease-faults.ts";
import { faultNames, type LeaseStep, leaseSteps, runSteps } from "./lease-plan.ts";
import { measureLeases } from "./lease-run.ts";
import { type LeaseReport, renderLeases } from "./render-leases.ts";

const usage = `node load-tests/measure/measure-leases.ts [options]

  --all             every step of the marks, into a new report
  --minutes N       of --all at most (default 20)
  --isolates a,b    without --all (default 1,2,4,8,16); "" for none
  --relays a,b      (default 0)
  --rates a,b       introspections a second of each isolate (default 25)
  --faults          one of four isolates is killed, frozen, cut off
  --seconds N       for which calls are counted (default 12)
  --revocations N   of each step (default 60)
  --repetitions N   of a fault (default 5)
  --out DIR         for leases.json and leases.md (default: .op/leases)`;

const { values } = readCommandLine(usage, {
  all: { type: "boolean", default: false },
  minutes: { type: "string", default: "20" },
  isolates: { type: "string", default: "1,2,4,8,16" },
  relays: { type: "string", default: "0" },
  rates: { type: "string", default: "25" },
  faults: { type: "boolean", default: false },
  seconds: { type: "string", default: "12" },
  revocations: { type: "string", default: "60" },
  repetitions: { type: "string", default: "5" },
  out: { type: "string", default: reportDirectory("leases") },
});
const numbers = (text: string) => (text === "" ? [] : text.split(",").map(Number));
const extent = {
  seconds: Number(values.seconds),
  revocations: Number(values.revocations),
  repetitions: Number(values.repetitions),
};

const path = join(values.out, "leases.json");
const known: LeaseReport | undefined =
  !values.all && existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as LeaseReport) : undefined;
let measurements: LeaseMeasurement[] = [...(known?.measurements ?? [])];
let faults: LeaseFaults[] = [...(known?.faults ?? [])];
const missing: string[] = [];

function isSame(a: LeaseMeasurement, b: LeaseMeasurement): boolean {
  return a.isolates === b.isolates && a.relays === b.relays && a.ratePerIsolate === b.ratePerIsolate;
}

function save(): void {
  const report: LeaseReport = {
    measuredAt: new Date().toISOString(),
    commit: describeCommit(),
    machine: describeMachine(),
    measurements,
    faults,
    missing,
  };
  writeReport(values.out, "leases", report, renderLeases(report));
}

async function measure(step: LeaseStep, signal: AbortSignal): Promise<void> {
  if (step.fault === undefined) {
    const measured = await measureLeases(step.isolates, step.relays, step.rate, extent, signal);
    console.log(JSON.stringify(measured));
    measurements = [...measurements.filter((each) => !isSame(each, measured)), measured];
  } else {
    const measured = await measureFault(step.fault, step.relays, extent, signal);
    console.log(JSON.stringify(measured));
    faults = [...faults.filter((each) => each.relays !== step.relays || each.fault !== step.fault), measured];
  }
  save();
}

const named = numbers(values.relays).flatMap((relays): LeaseStep[] => [
  ...numbers(values.rates).flatMap((rate) =>
    numbers(values.isolates).map((isolates) => ({ isolates, relays, rate, fault: undefined })),
  ),
  ...(values.faults ? faultNames.map((fault) => ({ isolates: 4, relays, rate: 10, fault })) : []),
]);

await runSteps(values.all ? leaseSteps : named, values.all ? Number(values.minutes) : undefined, measure, (what) => {
  console.error(what);
  missing.push(what);
});
save();
console.log(readFileSync(join(values.out, "leases.md"), "utf8"));
process.exit(missing.length > 0 ? 1 : 0);
