/**
 * **`npm run deploy`**: applies the migrations, then deploys every Worker in the order in which they bind one another.
 * Arguments go to each `wrangler` call (`--env production`). docs/operating/deploy.md says what must be there before.
 */
import { runCommand } from "./steps.ts";
import { workers } from "./workers.ts";

const given = process.argv.slice(2);

async function wrangler(...command: readonly string[]): Promise<void> {
  const { code } = await runCommand("wrangler", [...command, ...given], { show: true });
  if (code === 0) return;
  console.error(
    `\nwrangler ${command.join(" ")} failed. What was deployed before it stays; run this again when it is mended.`,
  );
  process.exit(code);
}

await wrangler("d1", "migrations", "apply", "DB", "--remote", "--config", "wrangler.toml");
for (const { config } of workers) await wrangler("deploy", "--config", config);
