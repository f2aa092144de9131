import type { Outcome } from "./failure.ts";
import { Failure, usageFailure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** How the text of an option becomes a value. `json` and `secret` also read a file, as `@file`: other users see the words of a command. */
export type OptionKind = "text" | "secret" | "number" | "flag" | "list" | "json";

export interface Option {
  /** Without its dashes, in kebab-case. */
  readonly name: string;
  /** One letter, for an option of every command. */
  readonly short?: string;
  readonly kind: OptionKind;
  readonly description: string;
  readonly choices?: readonly string[];
  /** A flag that is also understood as `--no-<name>`. */
  readonly negatable?: true;
  /** A `json` option whose value may be a plain text. */
  readonly orText?: true;
}

export interface Argument {
  readonly name: string;
  readonly description: string;
  readonly optional?: true;
}

/** The values of options: texts, numbers, flags, lists, JSON. An option that is not given has none. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** One use of a command. */
export interface Call {
  readonly terminal: Terminal;
  readonly arguments: Readonly<Record<string, string>>;
  readonly options: OptionValues;
  /** The result is for a program. */
  readonly json: boolean;
}

/** **A command of `edge-op`**: its words, its input, its help and what it does. The help and the completion are made from it. */
export interface Command {
  readonly words: readonly string[];
  /** One sentence. */
  readonly summary: string;
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /** Complete command lines, the simplest first. At least one. */
  readonly examples: readonly string[];
  /** Further paragraphs of the help. */
  readonly notes?: readonly string[];
  /** Returns the outcome if it is not `done`; throws `Failure`. */
  run(call: Call): Promise<Outcome> | Promise<void>;
}

/** The options of every command. */
export const commonOptions: readonly Option[] = [
  { name: "context", kind: "text", description: "The deployment, by the name of its context." },
  { name: "json", kind: "flag", description: "Print JSON, as the API sends it." },
  { name: "help", short: "h", kind: "flag", description: "Print this help." },
  { name: "version", kind: "flag", description: "Print the version of edge-op." },
];

export function textOption({ options }: Pick<Call, "options">, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

export function listOption({ options }: Pick<Call, "options">, name: string): readonly string[] {
  const value = options[name];
  return Array.isArray(value) ? value.map(String) : [];
}

export function hasFlag({ options }: Pick<Call, "options">, name: string): boolean {
  return options[name] === true;
}

export const yesOption: Option = {
  name: "yes",
  kind: "flag",
  description: "Do not ask. Needed where nobody can answer.",
};

/**
 * **Asks a person at a terminal before something is changed.** Elsewhere the command line must say `--yes`: a script that names the wrong variable
 * deletes nothing.
 */
export async function requireConsent(call: Pick<Call, "terminal" | "options">, question: string): Promise<void> {
  if (hasFlag(call, "yes")) return;
  if (!call.terminal.isInteractive) throw usageFailure("Nobody can answer here: add --yes. Nothing was changed.");
  const answer = await call.terminal.ask(`${question} (yes/no) `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("usage", "Nothing was changed.", { declined: true });
}
