import { invalidCursor } from "./paging.ts";

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
