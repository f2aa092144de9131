import { type Filter, parse } from "scim2-parse-filter";
import { ScimError } from "./scim-error.ts";

const longestFilter = 1_000;
const mostTerms = 10;

export type Equality = readonly [attribute: string, value: string | boolean | number];

/** **A filter as equalities that all hold**: `eq` and `and` are supported, whatever else is refused. The length bounds the depth of the parser. */
export function parseEqualities(text: string, scimType: "invalidFilter" | "invalidPath"): readonly Equality[] {
  const refuse = () => new ScimError(400, "A filter is eq, or several joined by and.", scimType);
  if (text.length > longestFilter) throw refuse();
  let filter: Filter;
  try {
    filter = parse(text);
  } catch {
    throw refuse();
  }
  const equalities = [...equalitiesOf(filter, "", refuse)];
  if (equalities.length > mostTerms) throw refuse();
  return equalities;
}

function* equalitiesOf(filter: Filter, within: string, refuse: () => ScimError): Generator<Equality> {
  if (filter.op === "eq" && "compValue" in filter && filter.compValue !== null) {
    yield [`${within}${filter.attrPath}`, filter.compValue];
  } else if (filter.op === "and" && "filters" in filter) {
    for (const each of filter.filters) yield* equalitiesOf(each, within, refuse);
  } else if (filter.op === "[]" && "valFilter" in filter && within === "") {
    yield* equalitiesOf(filter.valFilter, `${filter.attrPath}.`, refuse);
  } else throw refuse();
}

interface FilterColumn {
  /** A condition with `$` for its value. */
  readonly column: string;
  toStored(value: unknown): unknown;
  /** Many rows have one value: beside another condition, its index is not used. */
  readonly isCommon?: true;
}

/** What a filter may compare, each with an index that begins with it. */
export type FilterColumns = Readonly<Record<string, FilterColumn>>;

export interface Condition {
  readonly sql: string;
  readonly values: readonly unknown[];
}

const schemaPrefix = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;

/** The condition of a list; its first placeholder is ?2, after the organisation. */
export function readFilter(text: string | null, columns: FilterColumns): Condition {
  if (text === null || text.trim() === "") return { sql: "", values: [] };
  const terms = parseEqualities(text, "invalidFilter").flatMap(([attribute, value]) => {
    const name = attribute.replace(schemaPrefix, "").toLowerCase();
    // Which of several addresses: the primary one is stored for filters.
    if (name === "emails.type" || name === "emails.primary") return [];
    if (!Object.hasOwn(columns, name)) {
      throw new ScimError(400, `A filter compares ${Object.keys(columns).join(", ")}.`, "invalidFilter");
    }
    const { column, toStored, isCommon } = columns[name]!;
    return [{ column: isCommon === true ? `+${column}` : column, value: toStored(value) }];
  });
  if (terms.length === 0) throw new ScimError(400, "A filter names more than the type.", "invalidFilter");
  // A sign before a column keeps its index out of the plan.
  const plain = terms.length === 1 ? terms.map((term) => ({ ...term, column: term.column.replace("+", "") })) : terms;
  return {
    sql: plain.map(({ column }, index) => ` AND ${column.replaceAll("$", `?${index + 2}`)}`).join(""),
    values: terms.map(({ value }) => value),
  };
}
