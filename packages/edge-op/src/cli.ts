#!/usr/bin/env node
/**
 * **The command `edge-op`** of the published package. `dev` and `init` read their own options; their code is loaded only for them, so that the commands
 * for deployments need neither the runtime of Workers nor its version of Node.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { allCommands } from "./commands/all-commands.ts";
import { runCommandLine } from "./commands/run-command-line.ts";
import { escapeStreams } from "./console/escape-output.ts";
import { processTerminal } from "./console/terminal.ts";
import type { ApiDocument } from "./operations/api-document.ts";

const folder = import.meta.dirname;
const [command, ...rest] = process.argv.slice(2);
// The other commands escape their own output, and ask questions.
if (command === "dev" || command === "init") escapeStreams();
if (command === "dev") {
  const { runDevCommand } = await import("./dev/dev-command.ts");
  const { packedBuilds } = await import("./packed-builds.ts");
  await runDevCommand(packedBuilds(join(folder, "workers")), rest);
} else if (command === "init") {
  const { runInitCommand } = await import("./init/init-command.ts");
  runInitCommand(join(folder, "starter"), rest);
} else {
  const document = JSON.parse(readFileSync(join(folder, "admin-api.json"), "utf8")) as ApiDocument;
  process.exitCode = await runCommandLine(allCommands(document), process.argv.slice(2), processTerminal());
}
