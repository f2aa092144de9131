import { type ParseArgsConfig, parseArgs } from "node:util";
import type { Argument, Command, Option } from "./command.ts";
import { commonOptions } from "./command.ts";
import { type Failure, usageFailure } from "./failure.ts";
import { readDocument, readSecret } from "./read-document.ts";
import { findSimilar } from "./similar.ts";

export interface ParsedLine {
  readonly arguments: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, unknown>>;
}

/** **Parses the words after a command's own** by its declaration. Throws a `usage` failure that names the wrong word. */
export function parseLine(command: Command, words: readonly string[]): ParsedLine {
  const declared = [...commonOptions, ...(command.options ?? [])];
  const { values, positionals } = parseWords(declared, words);
  const given = declared.flatMap((option): [string, unknown][] => {
    const value = convert(option, values[option.name], values[`no-${option.name}`]);
    return value === undefined ? [] : [[option.name, value]];
  });
  const named = values["help"] === true ? {} : nameArguments(command.arguments ?? [], positionals);
  return { arguments: named, options: Object.fromEntries(given) };
}

function parseWords(declared: readonly Option[], words: readonly string[]) {
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const { name, short, kind, negatable } of declared) {
    options[name] = {
      type: kind === "flag" ? "boolean" : "string",
      multiple: kind === "list",
      ...(short === undefined ? {} : { short }),
    };
    if (negatable) options[`no-${name}`] = { type: "boolean" };
  }
  try {
    return parseArgs({ args: optionsFirst(words, options), options, allowPositionals: true });
  } catch (error) {
    throw explain(error, Object.keys(options));
  }
}

/** Another word with one dash than the letter of an option is an id, many of which are base64url. */
function optionsFirst(words: readonly string[], options: NonNullable<ParseArgsConfig["options"]>): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const takesValue = (word = "") => word.startsWith("--") && options[word.slice(2)]?.type === "string";
  const letters = Object.values(options).flatMap(({ short }) => (short === undefined ? [] : [`-${short}`]));
  const isOption = (word: string, index: number) =>
    index < end && (word.startsWith("--") || letters.includes(word) || takesValue(words[index - 1]));
  const places = words.filter((word, index) => !isOption(word, index) && index !== end);
  return [...words.filter(isOption), "--", ...places];
}

/** Names a similar option in place of the parser's advice about words that begin with a dash. */
function explain(error: unknown, known: readonly string[]): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  if (unknown === undefined) return usageFailure(message);
  const near = findSimilar(unknown, known);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.map((name) => `--${name}`).join(" or ")}?`;
  return usageFailure(`There is no option --${unknown}.${hint}`);
}

/** **Separates the options of every command that precede or divide the words of a command**, up to the first other option. */
export function splitCommon(words: readonly string[]): { readonly common: string[]; readonly rest: string[] } {
  const common: string[] = [];
  const rest: string[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!;
    const option = commonOptions.find(
      ({ name, short }) => word.split("=")[0] === `--${name}` || (short && word === `-${short}`),
    );
    // The words of a completion are another line's.
    if (rest[0] === "complete" || (option === undefined && word.startsWith("-")))
      return { common, rest: [...rest, ...words.slice(index)] };
    if (option === undefined) rest.push(word);
    else common.push(word);
    if (option?.kind === "text" && word === `--${option.name}` && index + 1 < words.length) {
      index += 1;
      common.push(words[index]!);
    }
  }
  return { common, rest };
}

function convert(option: Option, given: unknown, negated: unknown): unknown {
  if (negated === true) {
    if (given === true) throw usageFailure(`--${option.name} and --no-${option.name} contradict each other.`);
    return false;
  }
  if (typeof given !== "string") return given;
  if (option.choices !== undefined && !option.choices.includes(given)) {
    throw usageFailure(`--${option.name} must be one of ${option.choices.join(", ")}, not "${given}".`);
  }
  if (option.kind === "number") return readNumber(option.name, given);
  if (option.kind === "secret") return given.startsWith("@") ? readSecret(given.slice(1)) : given;
  return option.kind === "json" ? readValue(option, given) : given;
}

function readNumber(name: string, given: string): number {
  const value = Number(given);
  if (given.trim() === "" || !Number.isFinite(value)) throw usageFailure(`--${name} must be a number, not "${given}".`);
  return value;
}

function readValue({ name, orText }: Option, given: string): unknown {
  if (given.startsWith("@")) return readDocument(given.slice(1));
  try {
    return JSON.parse(given) as unknown;
  } catch {
    if (orText === true) return given;
    throw usageFailure(`--${name} must be JSON, or @file with JSON or YAML: ${given.slice(0, 60)}`);
  }
}

function nameArguments(declared: readonly Argument[], given: readonly string[]): Readonly<Record<string, string>> {
  const missing = declared.find(({ optional }, index) => optional !== true && given[index] === undefined);
  if (missing !== undefined) throw usageFailure(`<${missing.name}> is missing: ${missing.description}`);
  const [extra] = given.slice(declared.length);
  if (extra !== undefined) throw usageFailure(`"${extra}" is one word too many.`);
  return Object.fromEntries(given.map((word, index) => [declared[index]!.name, word]));
}
