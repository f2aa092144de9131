/**
 * **`node load-tests/measure/measure-updates.ts [users]`**: how fast `edge-op update users` changes people of a provider on this machine. 10,000
 * unless given.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allCommands } from "../../packages/edge-op/src/commands/all-commands.ts";
import { runCommandLine } from "../../packages/edge-op/src/commands/run-command-line.ts";
import { processTerminal } from "../../packages/edge-op/src/console/terminal.ts";
import { adminApiDocument } from "../../scripts/reference/admin-api-document.ts";
import { startProvider } from "../lib/start-provider.ts";

const total = Number(process.argv[2] ?? 10_000);
const folder = mkdtempSync(join(tmpdir(), "measure-updates-"));
const provider = await startProvider({});
const environment = {
  EDGE_OP_CONFIG: folder,
  EDGE_OP_ISSUER: provider.issuer,
  EDGE_OP_CLIENT_ID: provider.admin.client_id,
  EDGE_OP_CLIENT_SECRET: provider.admin.client_secret,
};
const terminal = { ...processTerminal(), environment, isInteractive: false };

async function run(words: readonly string[], lineOf?: (index: number) => object): Promise<void> {
  const file = join(folder, "lines.jsonl");
  const lines = Array.from({ length: lineOf === undefined ? 0 : total }, (_, index) => lineOf?.(index));
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const startedAt = performance.now();
  const given = lineOf === undefined ? words : [...words, file, "--json"];
  const code = await runCommandLine(allCommands(adminApiDocument()), given, terminal, "");
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
  const seconds = (performance.now() - startedAt) / 1000;
  if (lineOf !== undefined) console.log(`${seconds.toFixed(1)} s: ${Math.round(total / seconds)} a second`);
}

const attribute = ["--attribute", "cost_centre", "--type", "string", "--title", "Cost centre"];
try {
  await run(["attributes", "create", ...attribute]);
  await run(["import", "users"], (index) => ({ sub: `p${index}`, username: `p${index}` }));
  await run(["update", "users"], (index) => ({ sub: `p${index}`, attributes: { cost_centre: `c${index}` } }));
  await run(["update", "users"], (index) => ({ sub: `p${index}`, claims: { name: `Person ${index}` } }));
} finally {
  await provider.stop();
  rmSync(folder, { recursive: true, force: true });
}
