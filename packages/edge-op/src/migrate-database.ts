import type { Miniflare } from "miniflare";
import type { Migration } from "./builds.ts";
import { type DatabaseName, executeStatements } from "./store-worker.ts";

/**
 * **Applies the missing migrations to a database**, each in one transaction with its entry in wrangler's own table, so that neither `wrangler d1
 * migrations apply` nor this function applies one twice. `last` is the newest one to apply.
 */
export async function migrateDatabase(
  runtime: Miniflare,
  database: DatabaseName,
  migrations: readonly Migration[],
  last?: string,
): Promise<void> {
  const [, rows] = await executeStatements(runtime, database, [
    {
      sql: `CREATE TABLE IF NOT EXISTS d1_migrations (
         id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
    },
    { sql: "SELECT name FROM d1_migrations" },
  ]);
  const applied = new Set(rows!.map(({ name }) => name));
  const missing = migrations.filter(({ name }) => !applied.has(name) && (last === undefined || name <= last));
  for (const { name, statements } of missing) {
    await executeStatements(runtime, database, [
      ...statements.map((sql) => ({ sql })),
      { sql: "INSERT INTO d1_migrations (name) VALUES (?1)", parameters: [name] },
    ]);
  }
}
