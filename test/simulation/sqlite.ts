import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";

export type Row = Record<string, SQLOutputValue>;

export interface Executed {
  readonly rows: readonly Row[];
  readonly changes: number;
}

/** A statement that changed something. It is executed again for another instance. */
export interface Written {
  readonly sql: string;
  readonly values: readonly unknown[];
}

interface Prepared {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
  /** SQLite treats numbered parameters as names. */
  readonly isNumbered: boolean;
}

/** **SQLite in memory**, as objects and D1 have it: parameters by position, `?` or `?1`, and statements that are prepared once. */
export class Sqlite {
  readonly #database = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, Prepared>();

  script(sql: string): void {
    this.#database.exec(sql);
  }

  run({ sql, values }: Written): Executed {
    const { statement, returnsRows, isNumbered } = this.#statements.get(sql) ?? this.#prepare(sql);
    const given = values.map(toInput);
    const named = isNumbered ? Object.fromEntries(given.map((value, index) => [`?${index + 1}`, value])) : undefined;
    if (returnsRows) {
      const rows = named === undefined ? statement.all(...given) : statement.all(named);
      return { rows, changes: rows.length };
    }
    const { changes } = named === undefined ? statement.run(...given) : statement.run(named);
    return { rows: [], changes: Number(changes) };
  }

  #prepare(sql: string): Prepared {
    const statement = this.#database.prepare(sql);
    statement.setAllowUnknownNamedParameters(true);
    const prepared = { statement, returnsRows: statement.columns().length > 0, isNumbered: /\?\d/.test(sql) };
    this.#statements.set(sql, prepared);
    return prepared;
  }

  transaction<T>(run: () => T): T {
    this.#database.exec("SAVEPOINT turn");
    try {
      const result = run();
      this.#database.exec("RELEASE turn");
      return result;
    } catch (error) {
      this.#database.exec("ROLLBACK TO turn; RELEASE turn");
      throw error;
    }
  }
}

function toInput(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value === null || typeof value === "string" || typeof value === "number" || value instanceof Uint8Array)
    return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(`SQLite has no value for ${String(value)}`);
}

/** A text of several statements, such as the schema of an object; a statement that writes; or one that reads. */
export type SqlKind = "script" | "write" | "read";

const kinds = new Map<string, SqlKind>();

export function sqlKind(sql: string): SqlKind {
  const known = kinds.get(sql);
  if (known !== undefined) return known;
  const isWrite = /^\s*(INSERT|UPDATE|DELETE|CREATE)\b/i.test(sql);
  const kind = /;\s*\S/.test(sql) ? "script" : isWrite ? "write" : "read";
  kinds.set(sql, kind);
  return kind;
}
