/**
 * **`npm test`**: everything that can be known of this repository on one machine: types, format and lint, each Worker's
 * build, and every test, the black-box ones against the running Workers included. Arguments go to Vitest.
 */

import { findChromium } from "../test/browser/find-chromium.ts";
import { buildSteps } from "./build-steps.ts";
import { checkSteps } from "./check-steps.ts";
import { concludeRun, runSteps } from "./steps.ts";
import { vitestStep } from "./vitest-step.ts";

/** Said at the end, where it is seen; CI has a browser, and does not pass without. */
const browserMissing = findChromium() === undefined;
const tally = await runSteps([...checkSteps(), ...buildSteps(), vitestStep(process.argv.slice(2))]);
if (browserMissing) {
  console.log(
    "\nNOT RUN: the browser tests. There is no Chromium: install it (apt-get install chromium) or set CHROMIUM.",
  );
}
const failed = tally.failed + (browserMissing && process.env.CI === "true" ? 1 : 0);
concludeRun({ passed: tally.passed, failed });
