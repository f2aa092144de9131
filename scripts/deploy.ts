/**
 * **`npm run deploy`**: applies the migrations, then deploys every Worker in the order in which they bind one another.
 * Refuses, before anything is touched, when their wrangler files disagree on what all of them must share.
 * Arguments go to each `wrangler` call (`--env production`). docs/operating/deploy.md says what must be there before.
 */

import { environmentOf, findConflicts, readWorkerConfigs } from "../packages/local-provider/src/worker-configs.ts";
import { workers } from "../packages/local-provider/src/workers.ts";
import { runCommand } from "./steps.ts";

const given = process.argv.slice(2);

async function wrangler(...command: readonly string[]): Promise<void> {
  const { code } = await runCommand("wrangler", [...command, ...given], { show: true });
  if (code === 0) return;
  console.error(
    `\nwrangler ${command.join(" ")} failed. What was deployed before it stays; run this again when it is mended.`,
  );
  process.exit(code);
}

const conflicts = findConflicts(readWorkerConfigs(environmentOf(given) ?? process.env["CLOUDFLARE_ENV"]));
if (conflicts.length > 0) {
  console.error(`${conflicts.join("\n\n")}\n\nNothing was deployed.`);
  process.exit(1);
}

await wrangler("d1", "migrations", "apply", "DB", "--remote", "--config", "wrangler.toml");
for (const { config } of workers) await wrangler("deploy", "--config", config);
