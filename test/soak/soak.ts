import { parseArgs } from "node:util";
import { formatTally, violationsOf } from "./guarantee.ts";
import { phases, relayPhases } from "./phases.ts";
import { runSoak } from "./run-soak.ts";

/**
 * **`npm run soak -- --seconds 60`**: tests the revocation guarantee for as long as you like. Client processes check tokens,
 * secrets and refresh families at several isolates, phase after phase (test/soak/phases.ts): without faults, with control
 * changes, with slow bodies, with evictions, with restarts. `--compact`: the same of the compact Worker. `--relays 2`: behind relays, which
 * end and are replaced too, with an isolate that stands still. Prints counts by phase and kind of check, and of each 503 without an excuse the
 * store and its deadline; exits 1 on a violation. `runtime-failed` is none: a database file of the local runtime was locked (`SQLITE_BUSY`).
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    clients: { type: "string", default: "3" },
    mode: { type: "string", default: "strict" },
    relays: { type: "string", default: "0" },
    compact: { type: "boolean", default: false },
  },
});

const relays = Number(values.relays);
const { tally, done } = await runSoak({
  seconds: Number(values.seconds),
  clients: Number(values.clients),
  mode: values.mode,
  shape: values.compact ? "compact" : "separate",
  relays,
  phases: relays > 0 ? relayPhases : phases,
  log: (line) => console.log(line),
});
for (const [phase, counts] of Object.entries(done)) {
  const operations = Object.entries(counts).map(([operation, count]) => `${operation} ${count}`);
  console.log(`${phase}: ${operations.join(", ")}`);
}
console.log(formatTally(tally));
const violations = violationsOf(tally);
console.log(violations.length === 0 ? "No violation." : `VIOLATIONS\n${violations.join("\n")}`);
process.exitCode = violations.length === 0 ? 0 : 1;
