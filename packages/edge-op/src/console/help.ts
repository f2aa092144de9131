import { type Command, commonOptions, type Option } from "./command.ts";

/** Longer lines are hard to read on a wider screen. */
const widest = 100;
const narrowest = 40;

/** **The help of commands**, made from their declarations. `columns`: the width of the screen. */
export function helpOf(command: Command, columns: number | undefined): string {
  const { summary, arguments: named = [], options = [], examples, notes = [] } = command;
  const width = widthOf(columns);
  return [
    wrap(summary, width),
    `Usage: ${usageOf(command)}`,
    ...notes.map((note) => wrap(note, width)),
    section(
      "Arguments",
      named.map(({ name, description }) => [`<${name}>`, description]),
      width,
    ),
    section("Options", options.map(describeOption), width),
    section("Options of every command", commonOptions.map(describeOption), width),
    `Examples:\n${examples.map((example) => `  ${example}`).join("\n")}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

export function usageOf({ words, arguments: named = [] }: Command): string {
  const positions = named.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`));
  return ["edge-op", ...words, ...positions, "[options]"].join(" ");
}

function widthOf(columns = widest): number {
  return Math.max(narrowest, Math.min(columns, widest));
}

/** Breaks lines between words. A longer word, such as a URL, stays whole. */
function wrap(text: string, width: number, indent = ""): string {
  return text
    .split("\n")
    .map((line) => {
      const lines: string[] = [];
      for (const word of line.split(" ")) {
        const last = lines.at(-1);
        if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
        else lines.push(word);
      }
      return lines.join(`\n${indent}`);
    })
    .join(`\n${indent}`);
}

function describeOption({ name, short, kind, description, choices, negatable }: Option): [string, string] {
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
  return [
    short === undefined ? shown : `-${short}, ${shown}`,
    [description, ...more].filter((text) => text !== "").join(" "),
  ];
}

function section(title: string, rows: readonly (readonly [string, string])[], width: number): string {
  if (rows.length === 0) return "";
  const first = Math.min(34, Math.floor(width / 2) - 4, Math.max(...rows.map(([name]) => name.length)));
  const indent = " ".repeat(first + 4);
  const lines = rows.map(([name, text]) => {
    const wrapped = wrap(text, width - indent.length, indent);
    return name.length > first ? `  ${name}\n${indent}${wrapped}` : `  ${name.padEnd(first)}  ${wrapped}`;
  });
  return `${title}:\n${lines.map((line) => line.trimEnd()).join("\n")}`;
}

/** The commands that are not in the list, because their code is loaded only for them. */
export const localCommands: readonly [string, string][] = [
  ["dev", "run the provider on this machine, with a demo or with a seed file"],
  ["init", "write a starter into an empty folder: an application, an API, configuration, CI"],
];

/** The commands below some words, one in a line; for none, the first words with what they contain. */
export function overview(commands: readonly Command[], words: readonly string[], columns: number | undefined): string {
  const below = commands.filter((command) => words.every((word, index) => command.words[index] === word));
  const title = `edge-op ${[...words, "<command>"].join(" ")} [options]`;
  const rows =
    words.length === 0
      ? [...topics(below), ...localCommands]
      : below.map(({ words: all, summary }): [string, string] => [all.join(" "), summary]);
  return `${title}\n\n${section("Commands", rows, widthOf(columns))}\n\nedge-op <command> --help explains a command and shows an example.\n`;
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
