#!/usr/bin/env node
/**
 * **The command `edge-op`** of the published package. `dev` and `init` read their own options; their code is loaded only for them, so that the
 * commands for deployments need neither the runtime of Workers nor its version of Node.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { allCommands } from "./commands/all-commands.ts";
import { runCommandLine } from "./commands/run-command-line.ts";
import { escapeStreams } from "./console/escape-output.ts";
import { processTerminal } from "./console/terminal.ts";
import type { ApiDocument } from "./operations/api-document.ts";

const folder = import.meta.dirname;
const given = process.argv.slice(2);
const isLocal = (word = "") => word === "dev" || word === "init";
// `edge-op help dev` is `edge-op dev --help`.
const [command, ...rest] = given[0] === "help" && isLocal(given[1]) ? [given[1], "--help"] : given;
const { version } = JSON.parse(readFileSync(join(folder, "../package.json"), "utf8")) as { readonly version: string };
// The other commands escape their own output, and ask questions.
const runsLocal = isLocal(command) && !rest.includes("--version");
if (runsLocal) escapeStreams();
if (runsLocal && command === "dev") {
  const { runDevCommand } = await import("./dev/dev-command.ts");
  const { packedBuilds } = await import("./packed-builds.ts");
  await runDevCommand(packedBuilds(join(folder, "workers")), join(folder, ".."), rest);
} else if (runsLocal) {
  const { runInitCommand } = await import("./init/init-command.ts");
  runInitCommand(join(folder, "starter"), rest);
} else {
  const document = JSON.parse(readFileSync(join(folder, "admin-api.json"), "utf8")) as ApiDocument;
  process.exitCode = await runCommandLine(allCommands(document), given, processTerminal(), version);
}
