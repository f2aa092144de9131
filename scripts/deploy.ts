/**
 * **`npm run deploy`**: applies the migrations, then deploys every Worker after those that it is bound to.
 * Changes nothing if the wrangler files disagree about a shared setting or store.
 * Arguments are passed to each `wrangler` call (`--env production`). docs/operating/deploy.md lists the preparations.
 */

import { environmentOf, findConflicts, readWorkerConfigs } from "../packages/local-provider/src/worker-configs.ts";
import { workers } from "../packages/local-provider/src/workers.ts";
import { runCommand } from "./steps.ts";

const given = process.argv.slice(2);

async function wrangler(...command: readonly string[]): Promise<void> {
  const { code } = await runCommand("wrangler", [...command, ...given], { show: true });
  if (code === 0) return;
  console.error(
    `\nwrangler ${command.join(" ")} failed. The earlier steps stay deployed. Fix the error and run this command again.`,
  );
  process.exit(code);
}

const conflicts = findConflicts(readWorkerConfigs(environmentOf(given) ?? process.env["CLOUDFLARE_ENV"]));
if (conflicts.length > 0) {
  console.error(`${conflicts.join("\n\n")}\n\nNothing was deployed.`);
  process.exit(1);
}

await wrangler("d1", "migrations", "apply", "DB", "--remote", "--config", "packages/op/wrangler.toml");
await wrangler("d1", "migrations", "apply", "AUDIT_DB", "--remote", "--config", "packages/op-state/wrangler.toml");
for (const { config } of workers) await wrangler("deploy", "--config", config);
