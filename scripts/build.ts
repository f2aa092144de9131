/** **`npm run build`**: every Worker's bundle in `dist/`, and its size. */

import { buildSteps } from "./build-steps.ts";
import { concludeRun, runSteps } from "./steps.ts";

concludeRun(await runSteps(buildSteps()));
