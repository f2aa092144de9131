import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import * as z from "zod";

/** **Pages of a list, ordered by id**: a cursor is the last id of the previous page, opaque to the caller. */
export const pageQuery = z.strictObject({
  cursor: z.string().max(4096).optional().describe("`next_cursor` of the page before."),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe("Resources of a page."),
});

export const nextCursor = z.string().optional().describe("Present when there is another page.");

/** The id after which a page begins; the empty string precedes every id. */
export function readCursor(cursor: string | undefined): string {
  if (cursor === undefined) return "";
  const bytes = decodeBase64Url(cursor);
  if (bytes === undefined) throw invalidCursor();
  return new TextDecoder().decode(bytes);
}

export function invalidCursor(): Error {
  return invalidFields([{ path: "cursor", message: "is not a cursor of this list" }]);
}

/** `rows` contains one more row than the page if there is another page. */
export function cutPage<Row>(rows: readonly Row[], limit: number, id: (row: Row) => string) {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { page, next: more ? nextOf(id(last)) : {} };
}

/** The cursor of the page after a place. */
export function nextOf(place: string) {
  return { next_cursor: encodeBase64Url(encodeUtf8(place)) };
}

/**
 * **What the rows of a list have in common**: a column, with which an index begins, and its value or the beginning of it. A column and no expression:
 * SQLite finds the place of a page by two columns of an index, but not by an expression and a column.
 */
export interface RowCondition {
  readonly column: string;
  readonly value: string;
  readonly match: "exact" | "prefix";
}

/** A part of a SELECT. `place`: the expression of a row's place, after which the next page begins. */
interface PageSelection {
  readonly where: string;
  readonly values: readonly string[];
  readonly order: string;
  readonly place: string;
}

/** Above every character, as SQLite compares texts: by their bytes. */
const lastCharacter = "\u{10ffff}";

/**
 * **Selects the page after a place, by keyset**: an index finds its first row, however many pages precede it, and no row is counted. `order`: the
 * unique column by which the list is ordered; rows with a common prefix are ordered by the column of the condition first. `after` is empty for the
 * first page.
 */
export function selectPage(order: string, after: string, condition: RowCondition | undefined): PageSelection {
  const plain = { order, place: order };
  if (condition === undefined) return { ...plain, where: `${order} > ?`, values: [after] };
  const { column, value, match } = condition;
  if (match === "exact") return { ...plain, where: `${column} = ? AND ${order} > ?`, values: [value, after] };
  const end = value + lastCharacter;
  // Each selection has one lower bound, with which the index begins.
  if (column === order) {
    const first = after === "" ? { sign: ">=", from: value } : { sign: ">", from: after };
    return { ...plain, where: `${order} ${first.sign} ? AND ${order} < ?`, values: [first.from, end] };
  }
  const ordered = { order: `${column}, ${order}`, place: `${column} || char(10) || ${order}` };
  if (after === "") return { ...ordered, where: `${column} >= ? AND ${column} < ?`, values: [value, end] };
  return { ...ordered, where: `(${column}, ${order}) > (?, ?) AND ${column} < ?`, values: [...splitPlace(after), end] };
}

function splitPlace(after: string): readonly [string, string] {
  const at = after.lastIndexOf("\n");
  if (at < 0) throw invalidCursor();
  return [after.slice(0, at), after.slice(at + 1)];
}

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
