import { inspect } from "node:util";
import { type Call, type Command, hasFlag } from "../console/command.ts";
import { escaping } from "../console/escape-output.ts";
import { exitCodes, Failure, type Outcome } from "../console/failure.ts";
import { helpOf, localCommands, overview, usageOf } from "../console/help.ts";
import { parseLine, splitCommon } from "../console/parse-options.ts";
import { printable } from "../console/show.ts";
import { findSimilar } from "../console/similar.ts";
import type { Terminal } from "../console/terminal.ts";
import { completionsOf } from "./completion-command.ts";

/** What is asked for, read from a line that may have other errors. */
interface Line {
  /** The words after `help`, without the options of every command that precede another option. */
  readonly words: readonly string[];
  readonly common: readonly string[];
  readonly asksHelp: boolean;
  readonly asksVersion: boolean;
}

/**
 * **Runs one command line** and returns the exit code. Errors go to the error output: a sentence, or with `--json` an object. `version`: that of the
 * package.
 */
export async function runCommandLine(
  commands: readonly Command[],
  given: readonly string[],
  process: Terminal,
  version: string,
): Promise<number> {
  const terminal = escaping(process);
  const line = readLine(given);
  const command = findCommand(commands, line.words);
  try {
    return exitCodes[await run(commands, command, line, terminal, version)];
  } catch (error) {
    if (!(error instanceof Failure)) {
      // A bug. Its text may contain what a provider has sent.
      terminal.note(`${inspect(error)}\n`);
      return exitCodes.refused;
    }
    terminal.note(describe(error, command, given.includes("--json")));
    return exitCodes[error.outcome];
  }
}

function readLine(given: readonly string[]): Line {
  const { common, rest } = splitCommon(given);
  const isHelp = rest[0] === "help";
  const end = given.indexOf("--");
  const asked = end < 0 ? given : given.slice(0, end);
  return {
    words: isHelp ? rest.slice(1) : rest,
    common,
    asksHelp: isHelp || asked.includes("--help") || asked.includes("-h"),
    asksVersion: rest[0] === "version" || asked.includes("--version"),
  };
}

async function run(
  commands: readonly Command[],
  command: Command | undefined,
  line: Line,
  terminal: Terminal,
  version: string,
): Promise<Outcome> {
  const { words, common, asksHelp, asksVersion } = line;
  if (words[0] === "complete") {
    const found = completionsOf(commands, words.slice(1));
    return print(terminal, found.map((word) => `${word}\n`).join(""));
  }
  if (asksVersion) return print(terminal, `${version}\n`);
  if (command === undefined) return showOverview(commands, line, terminal);
  if (asksHelp) return print(terminal, helpOf(command, terminal.columns));
  const parsed = parseLine(command, [...common, ...words.slice(command.words.length)]);
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
  { words, asksHelp }: Line,
  terminal: Terminal,
): Promise<Outcome> {
  const named = words.filter((word) => !word.startsWith("-"));
  const known = named.filter((_, index) =>
    commands.some((command) => named.slice(0, index + 1).every((word, at) => command.words[at] === word)),
  );
  const text = overview(commands, known, terminal.columns);
  const isAsked = asksHelp || words.length === 0;
  if (isAsked && known.length === named.length) return print(terminal, text);
  const unknown = named[known.length];
  if (unknown === undefined) {
    terminal.note(`A command is missing.\n\n${text}`);
    return "usage";
  }
  const missing = `There is no command "${printable([...known, unknown].join(" "))}".`;
  const similar = similarCommands(commands, named, known.length + 1);
  const advice =
    similar.length > 0
      ? ` Did you mean this?\n${similar.map((each) => `  edge-op ${each}\n`).join("")}`
      : known.length > 0
        ? `\n\n${text}`
        : "\n";
  terminal.note(
    `${missing}${advice}${known.length > 0 && similar.length === 0 ? "" : "edge-op help lists all commands.\n"}`,
  );
  return "usage";
}

/** Commands whose words are nearly the first ones, of which there are at least `least`; also in another order (`list users`). */
function similarCommands(commands: readonly Command[], named: readonly string[], least: number): string[] {
  const names = [
    ...commands.map(({ words }) => words),
    ...commands.map(({ words }) => words.slice(0, 1)),
    ...localCommands.map(([name]) => [name]),
  ];
  const most = Math.max(...names.map(({ length }) => length));
  for (let count = Math.min(most, named.length); count >= least; count -= 1) {
    const given = named.slice(0, count);
    const known = names.filter(({ length }) => length === count).map((words) => words.join(" "));
    const found = [given, given.toReversed()].flatMap((words) => findSimilar(words.join(" "), known));
    if (found.length > 0) return [...new Set(found)];
  }
  return [];
}

function describe({ message, outcome, detail }: Failure, command: Command | undefined, json: boolean): string {
  if (json) return `${JSON.stringify({ error: outcome, error_description: message, ...detail, outcome })}\n`;
  const text = message.split("\n").map(printable).join("\n");
  if (outcome !== "usage" || command === undefined || detail["declined"] === true) return `${text}\n`;
  return `${text}\n\nUsage: ${usageOf(command)}\n${["edge-op", ...command.words].join(" ")} --help explains it.\n`;
}
