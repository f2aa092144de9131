import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";

/** **A member of a record, as D1 stores it.** What is read is checked: a row that somebody else wrote fails with the name of the column. */
export interface Column<Value> {
  /** What is selected for it. */
  readonly sql: string;
  read(stored: unknown): Value;
  /** The columns that it is written to, with their values. */
  write(value: Value): Readonly<Record<string, unknown>>;
}

export type Columns = Readonly<Record<string, Column<unknown>>>;

export function text<const Value extends string = string>(name: string, allowed?: readonly Value[]): Column<Value> {
  const isValue = (stored: unknown): stored is Value =>
    typeof stored === "string" && (allowed === undefined || allowed.some((each) => each === stored));
  const read = (stored: unknown) => {
    if (!isValue(stored)) throw new Error(`D1 contains another value of ${name}`);
    return stored;
  };
  return { sql: name, read, write: (value) => ({ [name]: value }) };
}

/** `undefined` is NULL. */
export function optional<Value>({ sql, read, write }: Column<Value>): Column<Value | undefined> {
  return {
    sql,
    read: (stored) => (stored === null ? undefined : read(stored)),
    write: (value) => (value === undefined ? { [sql]: null } : write(value)),
  };
}

/**
 * A document: a JSON object that was valid when it was written. Its members are not judged again, since a rule that came later must not
 * stand in the way of disabling a record.
 */
export function json<Value extends object>(name: string): Column<Value> {
  const isValue = (stored: unknown): stored is Value & JsonObject => isJsonObject(stored);
  return {
    sql: name,
    read: (stored) => readStored(name, String(stored), isValue),
    write: (value) => ({ [name]: JSON.stringify(value) }),
  };
}

/** Names in rows of another table, selected as one array and written by statements of their own. */
export function names(sql: string): Column<readonly string[]> {
  return { sql, read: (stored) => readStored("names", String(stored), listOf(isText)), write: () => ({}) };
}

/** Whether another table has a row. */
export function exists(sql: string): Column<boolean> {
  return { sql: `EXISTS (${sql})`, read: (stored) => stored === 1, write: () => ({}) };
}
