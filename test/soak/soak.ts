import { parseArgs } from "node:util";
import { violations } from "./guarantee.ts";
import { runSoak } from "./run-soak.ts";

/**
 * **`npm run soak -- --seconds 60`**: holds the provider to its guarantee for as long as one likes: client processes
 * introspect at several isolates while tokens are revoked, objects evicted, the runtime restarted, generations opened and
 * keys rotated. Prints what it did; exits 1 when any answer was wrong.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    clients: { type: "string", default: "3" },
    mode: { type: "string", default: "strict" },
  },
});

const result = await runSoak({
  seconds: Number(values.seconds),
  clients: Number(values.clients),
  mode: values.mode,
  log: (line) => console.log(line),
});
console.log(JSON.stringify(result, null, 2));
process.exitCode = violations(result.introspections) === 0 ? 0 : 1;
