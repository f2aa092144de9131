/** **`npm run check`**: types, format and lint, in seconds. */
import { checkSteps } from "./check-steps.ts";
import { concludeRun, runSteps } from "./steps.ts";

concludeRun(await runSteps(checkSteps()));
