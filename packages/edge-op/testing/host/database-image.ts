/** **A database as statements**: the initial state of a new instance, read from a database that was set up and seeded. */

import type { Statement } from "../../src/store-worker.ts";

export type Execute = (
  statements: readonly Statement[],
) => Promise<readonly (readonly Readonly<Record<string, unknown>>[])[]>;

const tables = `SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'`;
/** The maximum number of parameters that D1 binds. */
const mostParameters = 100;

export async function readImage(execute: Execute): Promise<readonly Statement[]> {
  const [schema] = await execute([{ sql: `${tables} ORDER BY type = 'table' DESC, rowid` }]);
  const names = (await execute([{ sql: `${tables} AND type = 'table' ORDER BY rowid` }]))[0]!.map(({ name }) =>
    String(name),
  );
  // Without generated columns, which nobody can insert.
  const columns = await execute(names.map((name) => ({ sql: `PRAGMA table_info("${name}")` })));
  const contents = await execute(
    names.map((table, index) => ({
      sql: `SELECT ${columns[index]!.map(({ name }) => `"${String(name)}"`).join(", ")} FROM "${table}"`,
    })),
  );
  return [
    { sql: "PRAGMA defer_foreign_keys = on" },
    ...schema!.map(({ sql }) => ({ sql: String(sql) })),
    ...contents.flatMap((rows, index) => insertions(names[index]!, rows)),
  ];
}

function insertions(table: string, rows: readonly Readonly<Record<string, unknown>>[]): Statement[] {
  return rows.map((row) => {
    const columns = Object.keys(row).filter((column) => row[column] !== null);
    if (columns.length > mostParameters) throw new Error(`${table} has too many columns`);
    const places = columns.map((_, index) => `?${index + 1}`);
    const sql = `INSERT INTO "${table}" (${columns.map((column) => `"${column}"`).join(", ")}) VALUES (${places.join(", ")})`;
    return { sql, parameters: columns.map((column) => row[column] as string | number) };
  });
}

/** Removes the data that an earlier instance has left. */
export async function emptyDatabase(execute: Execute): Promise<void> {
  // Tables that refer to others come first.
  const [found] = await execute([{ sql: `${tables} AND type = 'table' ORDER BY rowid DESC` }]);
  if (found!.length === 0) return;
  const drops = found!.map(({ name }) => ({ sql: `DROP TABLE "${String(name)}"` }));
  await execute([{ sql: "PRAGMA defer_foreign_keys = on" }, ...drops]);
}
