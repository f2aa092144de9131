/**
 * **`npm test`**: everything that can be known of this repository on one machine: types, format and lint, each Worker's
 * build, and every test, the black-box ones against the running Workers included. Arguments go to Vitest.
 */
import { buildSteps } from "./build-steps.ts";
import { checkSteps } from "./check-steps.ts";
import { concludeRun, runSteps } from "./steps.ts";
import { vitestStep } from "./vitest-step.ts";

concludeRun(await runSteps([...checkSteps(), ...buildSteps(), vitestStep(process.argv.slice(2))]));
