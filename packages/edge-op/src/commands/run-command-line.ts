import { inspect } from "node:util";
import { type Call, type Command, hasFlag } from "../console/command.ts";
import { escaping } from "../console/escape-output.ts";
import { exitCodes, Failure, type Outcome } from "../console/failure.ts";
import { helpOf, overview } from "../console/help.ts";
import { parseLine } from "../console/parse-options.ts";
import { printable } from "../console/show.ts";
import type { Terminal } from "../console/terminal.ts";
import { completionsOf } from "./completion-command.ts";

/** **Runs one command line** and returns the exit code. Errors go to the error output: a sentence, or with `--json` an object. */
export async function runCommandLine(
  commands: readonly Command[],
  words: readonly string[],
  given: Terminal,
): Promise<number> {
  const terminal = escaping(given);
  try {
    return exitCodes[await run(commands, words, terminal)];
  } catch (error) {
    if (!(error instanceof Failure)) {
      // A bug. Its text may contain what a provider has sent.
      terminal.note(`${inspect(error)}\n`);
      return exitCodes.refused;
    }
    terminal.note(describe(error, words.includes("--json")));
    return exitCodes[error.outcome];
  }
}

async function run(commands: readonly Command[], words: readonly string[], terminal: Terminal): Promise<Outcome> {
  if (words[0] === "complete") {
    const found = completionsOf(commands, words.slice(1));
    return print(terminal, found.map((word) => `${word}\n`).join(""));
  }
  const own = words.slice(words[0] === "help" ? 1 : 0);
  const command = findCommand(commands, own);
  if (command === undefined) return showOverview(commands, own, words[0] === "help", terminal);
  const line = own.slice(command.words.length);
  if (words[0] === "help" || line.includes("--help")) return print(terminal, helpOf(command));
  const parsed = parseLine(command, line);
  const call: Call = { terminal, ...parsed, json: hasFlag(parsed, "json") };
  return (await command.run(call)) ?? "done";
}

async function print(terminal: Terminal, text: string): Promise<Outcome> {
  await terminal.write(text);
  return "done";
}

/** The command with the most words that the line begins with. */
function findCommand(commands: readonly Command[], words: readonly string[]): Command | undefined {
  return commands
    .filter((command) => command.words.every((word, index) => words[index] === word))
    .toSorted((left, right) => right.words.length - left.words.length)[0];
}

/** The commands below the longest known beginning of the line. It is an error unless that is what was asked for. */
async function showOverview(
  commands: readonly Command[],
  words: readonly string[],
  isHelp: boolean,
  terminal: Terminal,
): Promise<Outcome> {
  const named = words.filter((word) => !word.startsWith("-"));
  const known = named.filter((_, index) =>
    commands.some((command) => named.slice(0, index + 1).every((word, at) => command.words[at] === word)),
  );
  const text = overview(commands, known);
  const isAsked = isHelp || words.length === 0 || words.includes("--help");
  if (isAsked && known.length === named.length) return print(terminal, text);
  const unknown = named[known.length];
  const missing =
    unknown === undefined
      ? "A command is missing."
      : `There is no command "${printable([...known, unknown].join(" "))}".`;
  terminal.note(`${missing}\n\n${text}`);
  return "usage";
}

function describe({ message, outcome, detail }: Failure, json: boolean): string {
  if (json) return `${JSON.stringify({ error: outcome, error_description: message, ...detail, outcome })}\n`;
  const help = outcome === "usage" ? "\nedge-op help explains each command.\n" : "\n";
  return `${message.split("\n").map(printable).join("\n")}${help}`;
}
