/**
 * **`npm test`**: the tests, and in parallel the checks of the sources (types, format, lint). `npm test -- --all`, which CI runs, adds the files that
 * take minutes, and the build of each Worker and package. With names, Vitest alone, at once: `npm test -- rfc8693` runs the files whose paths
 * contain it, also long ones, `npm test -- --watch rfc8693` repeats them when a source changes.
 */

import { findChromium } from "../test/browser/find-chromium.ts";
import { buildSteps } from "./build-steps.ts";
import { checkSteps } from "./check-steps.ts";
import { runTests } from "./run-tests.ts";
import { addTallies, concludeRun, runCommand, runSteps, type Tally } from "./steps.ts";

const isAll = process.argv.includes("--all");
const vitestArguments = process.argv.slice(2).filter((word) => word !== "--all");
const isWatch = vitestArguments.includes("--watch");

/** Their lines are printed when the tests have ended, because Vitest redraws the end of its own output. */
async function runChecks(): Promise<{ readonly tally: Tally; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const tally = await runSteps(isAll ? [...checkSteps(), ...buildSteps()] : checkSteps(), (line) => lines.push(line));
  return { tally, lines };
}

async function runEverything(): Promise<Tally> {
  const [tests, checks] = await Promise.all([runTests([]), runChecks()]);
  for (const line of checks.lines) console.log(line);
  if (findChromium() !== undefined) return addTallies(tests, checks.tally);
  console.log(
    "\nNOT RUN: the browser tests. Chromium was not found. Install it (apt-get install chromium) or set CHROMIUM.",
  );
  return addTallies(tests, checks.tally, { passed: 0, failed: process.env.CI === "true" ? 1 : 0 });
}

if (isWatch) {
  const { code } = await runCommand("vitest", vitestArguments, { show: true });
  process.exitCode = code;
} else {
  // Read by vitest.config.ts.
  if (vitestArguments.length === 0 && !isAll) process.env["LONG_TESTS"] = "off";
  concludeRun(vitestArguments.length === 0 ? await runEverything() : await runTests(vitestArguments));
}
