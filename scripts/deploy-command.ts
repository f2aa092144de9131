/**
 * **`npm run deploy`**: an environment from its file (deploy.ts) or, in a build of the "Deploy to Cloudflare" button, the compact Worker of the root
 * `wrangler.toml`. Workers Builds sets `WORKERS_CI`, and the button knows only the command `npm run deploy`.
 */

import { escapeStreams } from "../packages/edge-op/src/console/escape-output.ts";

escapeStreams();
const isButton = process.env["WORKERS_CI"] === "1" && process.argv.length === 2;
await (isButton ? import("./deploy-button.ts") : import("./deploy.ts"));
