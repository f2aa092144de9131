import { type Command, commonOptions, type Option } from "./command.ts";

/** **The help of commands**, made from their declarations. */
export function helpOf(command: Command): string {
  const { words, summary, arguments: named = [], options = [], examples, notes = [] } = command;
  const positions = named.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`));
  const usage = ["edge-op", ...words, ...positions, "[options]"].join(" ");
  return [
    summary,
    `Usage: ${usage}`,
    ...notes,
    section(
      "Arguments",
      named.map(({ name, description }) => [`<${name}>`, description]),
    ),
    section("Options", options.map(describeOption)),
    section("Options of every command", commonOptions.map(describeOption)),
    `Examples:\n${examples.map((example) => `  ${example}`).join("\n")}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

function describeOption({ name, kind, description, choices, negatable }: Option): [string, string] {
  const value = {
    text: " <text>",
    secret: " <text|@file>",
    number: " <number>",
    list: " <text>",
    json: " <json|@file>",
    flag: "",
  }[kind];
  const shown = negatable ? `--[no-]${name}` : `--${name}${value}`;
  const more = [
    ...(choices === undefined ? [] : [`One of ${choices.join(", ")}.`]),
    ...(kind === "list" ? ["May be repeated."] : []),
  ];
  return [shown, [description, ...more].filter((text) => text !== "").join(" ")];
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const width = Math.min(34, Math.max(...rows.map(([name]) => name.length)));
  const lines = rows.map(([name, text]) =>
    name.length > width ? `  ${name}\n  ${" ".repeat(width)}  ${text}` : `  ${name.padEnd(width)}  ${text}`,
  );
  return `${title}:\n${lines.map((line) => line.trimEnd()).join("\n")}`;
}

/** The commands below some words, one in a line; for none, the first words with what they contain. */
export function overview(commands: readonly Command[], words: readonly string[]): string {
  const below = commands.filter((command) => words.every((word, index) => command.words[index] === word));
  const title = `edge-op ${[...words, "<command>"].join(" ")} [options]`;
  const local: [string, string][] = [
    ["dev", "run the provider on this machine, with a demo or with a seed file"],
    ["init", "write a starter into an empty folder: an application, an API, configuration, CI"],
  ];
  const rows =
    words.length === 0
      ? [...topics(below), ...local]
      : below.map(({ words: all, summary }): [string, string] => [all.join(" "), summary]);
  return `${title}\n\n${section("Commands", rows)}\n\nedge-op <command> --help explains a command and shows an example.\n`;
}

function topics(commands: readonly Command[]): [string, string][] {
  return [...new Set(commands.map(({ words }) => words[0]!))].map((topic) => {
    const below = commands.filter(({ words }) => words[0] === topic);
    const [only] = below;
    if (below.length === 1 && only!.words.length === 1) return [topic, only!.summary];
    return [
      topic,
      below
        .map(({ words }) => words.slice(1).join(" "))
        .filter((word) => word !== "")
        .join(", "),
    ];
  });
}
