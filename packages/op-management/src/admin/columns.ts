import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";

/**
 * **A member of a record, as D1 stores it.** Values are checked when they are read: a row written by something else fails with the name of the
 * column.
 */
export interface Column<Value> {
  /** The expression that is selected. */
  readonly sql: string;
  read(stored: unknown): Value;
  /** The columns to which a value is written, with their values. */
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

export function integer(name: string): Column<number> {
  const read = (stored: unknown) => {
    if (typeof stored !== "number") throw new Error(`D1 contains another value of ${name}`);
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

/** A column that only other statements write. */
export function readOnly<Value>(column: Column<Value>): Column<Value> {
  return { ...column, write: () => ({}) };
}

/**
 * A document: a JSON object that was valid when it was written. Its members are not validated again, because a later rule must not prevent disabling
 * a record.
 */
export function json<Value extends object>(name: string): Column<Value> {
  const isValue = (stored: unknown): stored is Value & JsonObject => isJsonObject(stored);
  return {
    sql: name,
    read: (stored) => readStored(name, String(stored), isValue),
    write: (value) => ({ [name]: JSON.stringify(value) }),
  };
}

/** Names in rows of another table, selected as one array and written by separate statements. */
export function names(sql: string): Column<readonly string[]> {
  return { sql, read: (stored) => readStored("names", String(stored), listOf(isText)), write: () => ({}) };
}

/** Whether another table contains a row. */
export function exists(sql: string): Column<boolean> {
  return { sql: `EXISTS (${sql})`, read: (stored) => stored === 1, write: () => ({}) };
}
