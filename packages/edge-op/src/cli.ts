#!/usr/bin/env node
/** **The command `edge-op`** of the published package. Each command reads its own options. */

import { join } from "node:path";
import { runDevCommand } from "./dev/dev-command.ts";
import { runInitCommand } from "./init/init-command.ts";
import { packedBuilds } from "./packed-builds.ts";

const usage = `edge-op <command> [options]

  dev     run the provider on this machine, with a demo or with a seed file
  init    write a starter into an empty folder: an application, an API, configuration, CI

edge-op <command> --help lists the options of a command.`;

const [command, ...rest] = process.argv.slice(2);
if (command === "dev") {
  await runDevCommand(packedBuilds(join(import.meta.dirname, "workers")), rest);
} else if (command === "init") {
  runInitCommand(join(import.meta.dirname, "starter"), rest);
} else {
  const isHelp = command === undefined || command === "--help" || command === "help";
  console[isHelp ? "log" : "error"](isHelp ? usage : `edge-op has no command "${command}".\n\n${usage}`);
  process.exitCode = isHelp ? 0 : 2;
}
