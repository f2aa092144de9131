import * as z from "zod";
import { pageQuery } from "./paging.ts";
import type { RowCondition } from "./select-page.ts";

/** **A condition of a list**, as a query parameter. An index begins with its column and continues with the order of the list. */
export interface ListCondition {
  readonly schema: z.ZodType<string | undefined>;
  readonly column: string;
  /** `text`: a value, or its beginning followed by `*`. */
  readonly match: "exact" | "text";
  /** The form in which the column has a value; `undefined`: none has it. */
  toStored?(text: string): string | undefined;
}

/** A page of a search: the keys of its records, and its end, if there may be more. */
export interface FoundPage {
  readonly places: readonly { readonly key: string; readonly place: string }[];
  readonly next: string | undefined;
  readonly isIncomplete?: boolean;
}

/** **A search over several columns**, with an index of its own. */
export interface ListSearch {
  readonly schema: z.ZodType<string | undefined>;
  find(
    database: D1Database,
    text: string,
    page: { readonly after: string; readonly count: number },
  ): Promise<FoundPage>;
}

const begins = "Or its beginning, followed by `*`.";

/** The parameter of a condition on text. */
export function textParameter(description: string) {
  return z.string().min(1).max(512).optional().describe(`${description} ${begins}`);
}

/** As SQLite's `lower` does: other letters than A to Z stay as they are. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function listQuery(conditions: Readonly<Record<string, ListCondition>> = {}, search?: ListSearch) {
  const parameters = {
    ...(search && { search: search.schema }),
    ...Object.fromEntries(Object.entries(conditions).map(([name, { schema }]) => [name, schema])),
  };
  const names = Object.keys(parameters);
  return z
    .strictObject({ ...pageQuery.shape, ...parameters })
    .refine((query) => names.filter((name) => Reflect.get(query, name) !== undefined).length <= 1, {
      error: `must have at most one of ${names.join(", ")}`,
    });
}

/** The condition that a query has; `null`: no row fulfils it. */
export function rowCondition(
  conditions: Readonly<Record<string, ListCondition>> = {},
  given: Readonly<Record<string, unknown>>,
): RowCondition | undefined | null {
  const [name, text] = Object.entries(given).find(([, value]) => typeof value === "string") ?? [];
  const condition = name === undefined ? undefined : conditions[name];
  if (condition === undefined || typeof text !== "string") return undefined;
  const { column, match, toStored } = condition;
  const isPrefix = match === "text" && text.endsWith("*");
  const asked = isPrefix ? text.slice(0, -1) : text;
  const value = toStored === undefined || asked === "" ? asked : toStored(asked);
  if (value === undefined) return null;
  return { column, value, match: isPrefix ? "prefix" : "exact" };
}
