import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { D1Database } from "@cloudflare/workers-types/experimental";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import { repositoryRoot } from "./workers.ts";

/**
 * **Applies the missing migrations to a database**, each in one transaction with its mark in wrangler's own table: neither
 * `wrangler d1 migrations apply` nor this applies one twice. Returns the names of those applied. `last` is the newest one to apply.
 */
export async function migrateDatabase(
  database: D1Database,
  {
    folder = "migrations",
    last,
  }: { readonly folder?: "migrations" | "audit-migrations"; readonly last?: string | undefined } = {},
): Promise<string[]> {
  await database
    .prepare(
      `CREATE TABLE IF NOT EXISTS d1_migrations (
         id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
    )
    .run();
  const { results } = await database.prepare("SELECT name FROM d1_migrations").all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  const directory = join(repositoryRoot, folder);
  const missing = readdirSync(directory)
    .filter((name) => name.endsWith(".sql") && !applied.has(name) && (last === undefined || name <= last))
    .sort();
  for (const name of missing) {
    const statements = splitSqlQuery(readFileSync(join(directory, name), "utf8"));
    await database.batch([
      ...statements.map((statement) => database.prepare(statement)),
      database.prepare("INSERT INTO d1_migrations (name) VALUES (?1)").bind(name),
    ]);
  }
  return missing;
}
