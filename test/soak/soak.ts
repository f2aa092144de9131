/**
 * **`npm run soak -- --seconds 60`**: runs the fault-injection test of the revocation guarantee for any length of time. Client processes check
 * tokens, secrets and refresh families at several isolates, phase after phase (test/soak/phases.ts): without faults, with control changes, slow
 * bodies, evictions and restarts. `--compact` tests the compact Worker; `--relays 2` adds relays, which also end and are replaced, and a stalled
 * isolate; `--far 200` adds a second region, 200 ms from the first, with most of the isolates and a third of the shards. Prints counts by phase and
 * kind of check and, for each unexcused 503, the store and its deadline; exits 1 on a violation. `runtime-failed` is not a violation: a database file
 * of the local runtime was locked (`SQLITE_BUSY`).
 */

import { parseArgs } from "node:util";
import { formatTally, violationsOf } from "./guarantee.ts";
import { phases, relayPhases } from "./phases.ts";
import { runSoak } from "./run-soak.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    clients: { type: "string", default: "3" },
    mode: { type: "string", default: "strict" },
    relays: { type: "string", default: "0" },
    far: { type: "string" },
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
  ...(values.far === undefined ? {} : { far: Number(values.far) }),
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
