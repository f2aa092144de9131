import type { Miniflare } from "miniflare";
import type { Migration } from "./builds.ts";
import { type DatabaseName, executeStatements } from "./store-worker.ts";

/** The database was made by other statements than the migrations that it has: before 0.1.0, and on a branch, they are edited in place. */
export class OutdatedStateError extends Error {
  override readonly name = "OutdatedStateError";
}

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
  const [, rows, schema] = await executeStatements(runtime, database, [
    {
      sql: `CREATE TABLE IF NOT EXISTS d1_migrations (
         id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
    },
    { sql: "SELECT name FROM d1_migrations" },
    { sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL" },
  ]);
  const applied = new Set(rows!.map(({ name }) => name));
  requireSame(
    migrations.filter(({ name }) => applied.has(name)).flatMap(({ statements }) => statements),
    new Set(schema!.map(({ sql }) => normalized(String(sql)))),
  );
  const missing = migrations.filter(({ name }) => !applied.has(name) && (last === undefined || name <= last));
  for (const { name, statements } of missing) {
    await executeStatements(runtime, database, [
      ...statements.map((sql) => ({ sql })),
      { sql: "INSERT INTO d1_migrations (name) VALUES (?1)", parameters: [name] },
    ]);
  }
}

/** SQLite keeps the text of what it has created. What a later statement changes or deletes is not compared. */
function requireSame(statements: readonly string[], schema: ReadonlySet<string>): void {
  const created = statements.map(normalized);
  const missing = created.find((sql, at) => {
    const [, name] = /^CREATE (?:UNIQUE )?(?:TABLE|INDEX|VIEW|TRIGGER) (\w+)/i.exec(sql) ?? [];
    if (name === undefined || schema.has(sql)) return false;
    return !created
      .slice(at)
      .some((later) => new RegExp(`^(?:ALTER|DROP) \\w+ (?:IF EXISTS )?${name}\\b`, "i").test(later));
  });
  if (missing === undefined) return;
  throw new OutdatedStateError(
    `The stored database was made by an earlier edition of its migrations: ${missing.slice(0, 60)} …`,
  );
}

/** Without comments, `IF NOT EXISTS` and lines. */
function normalized(sql: string): string {
  const plain = sql
    .replaceAll(/--.*$/gm, " ")
    .replaceAll(/\s+/g, " ")
    .replace(/ IF NOT EXISTS /i, " ");
  return plain.replace(/;\s*$/, "").trim();
}
