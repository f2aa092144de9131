import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Miniflare } from "miniflare";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import { type DatabaseName, executeStatements } from "./store-worker.ts";
import { repositoryRoot } from "./workers.ts";

const folders = { DB: "migrations", AUDIT_DB: "audit-migrations" } as const satisfies Record<DatabaseName, string>;

/**
 * **Applies the missing migrations to a database**, each in one transaction with its entry in wrangler's own table, so that neither `wrangler d1
 * migrations apply` nor this function applies one twice. `last` is the newest one to apply.
 */
export async function migrateDatabase(runtime: Miniflare, database: DatabaseName, last?: string): Promise<void> {
  const [, rows] = await executeStatements(runtime, database, [
    {
      sql: `CREATE TABLE IF NOT EXISTS d1_migrations (
         id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
    },
    { sql: "SELECT name FROM d1_migrations" },
  ]);
  const applied = new Set(rows!.map(({ name }) => name));
  const directory = join(repositoryRoot, folders[database]);
  const missing = readdirSync(directory)
    .filter((name) => name.endsWith(".sql") && !applied.has(name) && (last === undefined || name <= last))
    .sort();
  for (const name of missing) {
    const statements = splitSqlQuery(readFileSync(join(directory, name), "utf8"));
    await executeStatements(runtime, database, [
      ...statements.map((sql) => ({ sql })),
      { sql: "INSERT INTO d1_migrations (name) VALUES (?1)", parameters: [name] },
    ]);
  }
}
