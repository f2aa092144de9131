import { DatabaseSync } from "node:sqlite";
import type { Migration } from "./builds.ts";

export interface TriedRestore {
  readonly rows: number;
  /** Rows that the restored database does not have, and people who have another name in it. */
  readonly differences: readonly string[];
}

/**
 * **Restores a backup into an empty database on this machine** (SQLite with the tables of this release), in one transaction as D1 does it, so that
 * nothing is replaced by a backup that cannot be restored. `each` gets every statement.
 */
export async function tryRestore(
  migrations: readonly Migration[],
  statements: AsyncIterable<string>,
  each: (sql: string) => Promise<void> | void,
): Promise<TriedRestore> {
  // Without a name it is a temporary file, which nobody else can open.
  const database = new DatabaseSync("");
  try {
    for (const sql of migrations.flatMap((migration) => migration.statements)) database.exec(sql);
    database.exec("PRAGMA recursive_triggers = on; BEGIN; CREATE TEMP TABLE differences (what TEXT)");
    let isEmpty = false;
    for await (const sql of statements) {
      if (!isEmpty && !/^(?:PRAGMA|DELETE) /.test(sql)) {
        isEmpty = true;
        watch(database);
      }
      database.exec(sql);
      await each(sql);
    }
    database.exec("COMMIT");
    const found = database.prepare("SELECT what FROM differences ORDER BY rowid").all();
    return { rows: countRows(database), differences: found.map(({ what }) => String(what)) };
  } finally {
    database.close();
  }
}

function tablesOf(database: DatabaseSync): string[] {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  return tables.all().map(({ name }) => String(name));
}

function countRows(database: DatabaseSync): number {
  const counts = tablesOf(database).map((name) => database.prepare(`SELECT count(*) AS rows FROM ${name}`).get()!);
  return counts.reduce((sum, { rows }) => sum + Number(rows), 0);
}

/** Records what restoring deletes and renames, cascades included. */
function watch(database: DatabaseSync): void {
  for (const table of tablesOf(database)) {
    const key = database.prepare("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk").all(table);
    const shown = key.map(({ name }) => `quote(OLD.${String(name)})`).join(" || ', ' || ");
    database.exec(`CREATE TEMP TRIGGER "deleted ${table}" AFTER DELETE ON main.${table} BEGIN
      INSERT INTO differences VALUES ('${table} ' || ${shown} || ' is left out'); END`);
  }
  database.exec(`CREATE TEMP TRIGGER renamed AFTER UPDATE OF username_key ON main.users BEGIN
    INSERT INTO differences VALUES ('users ' || quote(OLD.sub) || ' had the name ' || quote(OLD.username) || ' first: it is ' || quote(NEW.username)); END`);
}
