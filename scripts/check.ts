/** **`npm run check`**: types, format and lint, in seconds. With `--write` it writes the generated pages of docs/reference first. */

import { checkSteps } from "./check-steps.ts";
import { writeGeneratedFiles } from "./reference/generated-files.ts";
import { concludeRun, runSteps } from "./steps.ts";

if (process.argv.includes("--write")) writeGeneratedFiles();
concludeRun(await runSteps(checkSteps()));
