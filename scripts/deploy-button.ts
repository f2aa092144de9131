/**
 * **The deploy command of the "Deploy to Cloudflare" button** (docs/operating/shapes.md): migrations of each database, then the compact Worker, with
 * the root `wrangler.toml`, in which Cloudflare has set the ids of the stores that it created. Runs in Workers Builds. The issuer is `ISSUER` in that
 * file or, while that is local, the Worker's address under workers.dev.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { unstable_readConfig as readConfig, experimental_readRawConfig as readRawConfig } from "wrangler";
import { mainModule } from "../packages/edge-op/src/builds.ts";
import { compactWorker, repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { uploadsModules, writeWorker } from "./deploy/write-worker.ts";
import { runCommand } from "./steps.ts";

const file = "wrangler.toml";
const config = readConfig({ config: join(repositoryRoot, file) });

async function wrangler(path: string, ...command: readonly string[]): Promise<void> {
  const { code } = await runCommand("wrangler", [...command, "--config", path], { show: true });
  if (code !== 0) throw new Error(`wrangler ${command.slice(0, 3).join(" ")} failed with status ${code}`);
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: this command is for Workers Builds. Otherwise use npm run deploy`);
  return value;
}

/** Writes the modules, and the configuration that uploads them. Returns its path. */
async function writeUpload(issuer: string): Promise<string> {
  const folder = join(repositoryRoot, "dist", compactWorker.name);
  await writeWorker(compactWorker, folder);
  const { rawConfig } = readRawConfig({ config: join(repositoryRoot, file) });
  const path = join(folder, "wrangler.json");
  const vars = { ...rawConfig.vars, ISSUER: issuer };
  writeFileSync(path, JSON.stringify({ ...rawConfig, ...uploadsModules, main: mainModule, vars }));
  return path;
}

async function findIssuer(): Promise<string> {
  const given = String(config.vars["ISSUER"] ?? "");
  if (given.startsWith("https://")) return given;
  const base = (process.env["CLOUDFLARE_API_BASE_URL"] ?? "https://api.cloudflare.com/client/v4").replace(/\/$/, "");
  const account = required("CLOUDFLARE_ACCOUNT_ID");
  const response = await fetch(`${base}/accounts/${account}/workers/subdomain`, {
    headers: { authorization: `Bearer ${required("CLOUDFLARE_API_TOKEN")}` },
  });
  const { result } = (await response.json()) as { readonly result?: { readonly subdomain?: string } | null };
  if (!result?.subdomain) {
    throw new Error(
      `The account has no workers.dev subdomain (${response.status}). Set ISSUER in ${file} to an address of yours.`,
    );
  }
  return `https://${config.name}.${result.subdomain}.workers.dev`;
}

try {
  const issuer = await findIssuer();
  for (const { binding, migrations_dir } of config.d1_databases) {
    if (migrations_dir !== undefined) await wrangler(file, "d1", "migrations", "apply", binding, "--remote");
  }
  await wrangler(await writeUpload(issuer), "deploy");
  console.log(`
The provider is at ${issuer}
Create the first admin client in a clone of your repository, with the OP_MASTER_KEY that you entered:
  OP_MASTER_KEY=… node scripts/with-toolchain.mjs scripts/create-button-admin-client.ts --issuer ${issuer}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
