/**
 * **`npm test`**: all checks: types, format and lint, each Worker's build, and every test, including the black-box tests
 * of the running Workers. Arguments are passed to Vitest.
 */

import { findChromium } from "../test/browser/find-chromium.ts";
import { buildSteps } from "./build-steps.ts";
import { checkSteps } from "./check-steps.ts";
import { concludeRun, runSteps } from "./steps.ts";
import { vitestStep } from "./vitest-step.ts";

/** Reported at the end, where it is visible. CI has a browser, and fails without one. */
const browserMissing = findChromium() === undefined;
const tally = await runSteps([...checkSteps(), ...buildSteps(), vitestStep(process.argv.slice(2))]);
if (browserMissing) {
  console.log(
    "\nNOT RUN: the browser tests. Chromium was not found. Install it (apt-get install chromium) or set CHROMIUM.",
  );
}
const failed = tally.failed + (browserMissing && process.env.CI === "true" ? 1 : 0);
concludeRun({ passed: tally.passed, failed });
