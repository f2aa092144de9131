/**
 * **One setting of a deployment**: a variable, described once. The type of its value, its parser and `docs/reference/settings.md` are
 * made from this description, so a default or a range cannot differ between them.
 */
export interface Setting<Value = unknown, Variable extends string = string> extends SettingDescription {
  readonly variable: Variable;
  /** Returns the value of a text; an absent or empty one has the default. Throws an `Error` that names the variable. */
  read(text: string | undefined): Value;
}

interface SettingDescription {
  /** The text that an absent or empty variable stands for. Undefined if the variable is required, or if its absence has a meaning. */
  readonly default?: string;
  /** The values that are accepted, in Markdown. */
  readonly accepts: string;
  readonly unit?: "seconds" | "milliseconds";
  /** In Markdown, one paragraph. */
  readonly meaning: string;
}

interface SettingOptions<Value> extends SettingDescription {
  parse(name: string, text: string): Value;
}

export type SettingTable = Readonly<Record<string, Setting>>;

export type SettingsOf<Table extends SettingTable> = {
  readonly [Member in keyof Table]: ReturnType<Table[Member]["read"]>;
};

export type VariablesOf<Table extends SettingTable> = {
  readonly [Member in keyof Table as Table[Member]["variable"]]?: string;
};

/** The values of every setting of a table. */
export function readAll<Table extends SettingTable>(table: Table, variables: VariablesOf<Table>): SettingsOf<Table> {
  const texts: Readonly<Partial<Record<string, string>>> = variables;
  const values = Object.entries(table).map(([member, { variable, read }]) => [member, read(texts[variable])]);
  return Object.fromEntries(values) as SettingsOf<Table>;
}

export function setting<Value, const Variable extends string>(
  variable: Variable,
  options: SettingOptions<Value> & { readonly default: string },
): Setting<Value, Variable>;
export function setting<Value, const Variable extends string>(
  variable: Variable,
  options: SettingOptions<Value>,
): Setting<Value | undefined, Variable>;
export function setting<Value>(variable: string, { parse, ...described }: SettingOptions<Value>) {
  return {
    ...described,
    variable,
    read: (text: string | undefined) => {
      const given = text || described.default;
      return given === undefined ? undefined : parse(variable, given);
    },
  };
}

export function required<Value, const Variable extends string>(
  variable: Variable,
  { parse, ...described }: SettingOptions<Value>,
): Setting<Value, Variable> {
  return { ...described, variable, read: (text = "") => parse(variable, text) };
}

interface WholeNumberOptions {
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly unit?: "seconds" | "milliseconds";
  readonly meaning: string;
}

export function wholeNumber<const Variable extends string>(
  variable: Variable,
  { default: fallback, min, max, ...described }: WholeNumberOptions,
) {
  return setting(variable, {
    ...described,
    default: String(fallback),
    accepts: `${grouped(min)} to ${grouped(max)}`,
    parse: (name, text) => {
      const value = Number(text);
      if (!Number.isInteger(value) || value < min || value > max) throw outOfRange(name, text, { min, max });
      return value;
    },
  });
}

export function outOfRange(name: string, text: string, { min, max }: { readonly min: number; readonly max: number }) {
  return new Error(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
}

export function oneOf<const Variable extends string, const Value extends string>(
  variable: Variable,
  allowed: readonly Value[],
  { default: fallback, meaning }: { readonly default: NoInfer<Value>; readonly meaning: string },
) {
  return setting(variable, {
    default: fallback,
    accepts: allowed.map((value) => `\`${value}\``).join(", "),
    meaning,
    parse: (name, text) => {
      const found = allowed.find((candidate) => candidate === text);
      if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(", ")}, not "${text}"`);
      return found;
    },
  });
}

/** Off by default. */
export function flag<const Variable extends string>(
  variable: Variable,
  meaning: string,
  fallback: "false" | "true" = "false",
): Setting<boolean, Variable> {
  const { read, ...described } = oneOf(variable, ["false", "true"], { default: fallback, meaning });
  return { ...described, read: (text) => read(text) === "true" };
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
