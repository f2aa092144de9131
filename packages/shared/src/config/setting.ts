/**
 * **One setting of a deployment**: a variable of a Worker, described once. The parser and `docs/reference/settings.md` are both
 * made from this description, so a default or a range cannot differ between them.
 */
export interface SettingDescription {
  /** The text that an absent or empty variable stands for; absent for a variable that is required, or whose absence has a meaning. */
  readonly default?: string;
  /** The values that are accepted, in Markdown. */
  readonly accepts: string;
  readonly unit?: "seconds" | "milliseconds";
  /** In Markdown, one paragraph. */
  readonly meaning: string;
}

export interface Setting<Value> extends SettingDescription {
  /** Throws `Error` that names the variable: a mistake of the deployment, not of a caller. */
  parse(name: string, text: string): Value;
}

export interface SettingWithDefault<Value> extends Setting<Value> {
  readonly default: string;
}

interface WholeNumberOptions {
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly unit?: "seconds" | "milliseconds";
  readonly meaning: string;
}

export function wholeNumber({
  default: fallback,
  min,
  max,
  ...description
}: WholeNumberOptions): SettingWithDefault<number> {
  return {
    ...description,
    default: String(fallback),
    accepts: `${grouped(min)} to ${grouped(max)}`,
    parse: (name, text) => {
      const value = Number(text);
      if (!Number.isInteger(value) || value < min || value > max) throw outOfRange(name, text, { min, max });
      return value;
    },
  };
}

export function outOfRange(name: string, text: string, { min, max }: { readonly min: number; readonly max: number }) {
  return new Error(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
}

export function oneOf<T extends string>(
  allowed: readonly T[],
  { default: fallback, meaning }: { readonly default: T; readonly meaning: string },
): SettingWithDefault<T> {
  return {
    default: fallback,
    accepts: allowed.map((value) => `\`${value}\``).join(", "),
    meaning,
    parse: (name, text) => {
      const found = allowed.find((candidate) => candidate === text);
      if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(", ")}, not "${text}"`);
      return found;
    },
  };
}

/** Off by default. */
export function flag(meaning: string): SettingWithDefault<boolean> {
  const { parse, ...setting } = oneOf(["false", "true"], { default: "false", meaning });
  return { ...setting, parse: (name, text) => parse(name, text) === "true" };
}

/** The value of a variable or its default; `undefined` without either. */
export function readSetting<Value>(name: string, setting: SettingWithDefault<Value>, text: string | undefined): Value;
export function readSetting<Value>(name: string, setting: Setting<Value>, text: string | undefined): Value | undefined;
export function readSetting<Value>(name: string, setting: Setting<Value>, text: string | undefined): Value | undefined {
  const given = text === undefined || text === "" ? setting.default : text;
  return given === undefined ? undefined : setting.parse(name, given);
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
