/**
 * **What a database has, compared with the migrations of this checkout**, before anything is written. The table `deployment` has a hash of each
 * applied migration of both databases. 0.1.0 recorded none: there the tables themselves are compared.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { bindings } from "../../packages/workers/src/workers.ts";
import { record, recordOnce } from "./record-choices.ts";

export interface Migration {
  /** Below the root of the repository. */
  readonly path: string;
  readonly binding: string;
  readonly name: string;
  readonly sql: string;
  readonly hash: string;
}

/** What is known of a database: its applied migrations, and the SQL of each table and index. */
export interface FoundSchema {
  readonly applied: readonly string[];
  readonly objects: ReadonlyMap<string, string>;
}

export const noSchema: FoundSchema = { applied: [], objects: new Map() };

/** In order. A checkout may have other line ends. */
export function ownMigrations(checkout = repositoryRoot): Migration[] {
  return Object.entries(bindings).flatMap(([binding, { kind, ...database }]) => {
    if (kind !== "d1" || !("migrations" in database)) return [];
    const { migrations: folder } = database;
    const names = readdirSync(join(checkout, folder)).filter((name) => name.endsWith(".sql"));
    return names.sort().map((name): Migration => {
      const sql = readFileSync(join(checkout, folder, name), "utf8").replaceAll("\r\n", "\n");
      const hash = createHash("sha256").update(sql).digest("base64url");
      return { path: `${folder}/${name}`, binding, name, sql, hash };
    });
  });
}

interface Recorded {
  readonly schemas: ReadonlyMap<string, FoundSchema>;
  readonly recorded: ReadonlyMap<string, string> | undefined;
}

/** Why the migrations cannot be continued: each with the name of the database and of the migration, and what to do. */
export function wrongMigrations(
  databases: Readonly<Record<string, string>>,
  { schemas, recorded }: Recorded,
  takeOver: ReadonlySet<string>,
  all = ownMigrations(),
): string[] {
  return Object.entries(databases).flatMap(([binding, database]) => {
    const { applied, objects } = schemas.get(binding) ?? noSchema;
    const own = all.filter((each) => each.binding === binding);
    const names = new Set(own.map(({ name }) => name));
    const unknown = applied.filter((name) => !names.has(name));
    if (unknown.length > 0 && !takeOver.has(`migrations:${database}`)) {
      return [
        `The database "${database}" has the migrations ${unknown.join(", ")}, which this checkout does not have: a newer release was deployed, or sources that were never released. Deploy that release or a later one. To run this release on the newer tables, which works one release back: --take-over migrations:${database}`,
      ];
    }
    const done = own.filter(({ name }) => applied.includes(name));
    const newest = done.at(-1)?.name ?? "";
    const missing = own.filter(({ name }) => name < newest && !applied.includes(name));
    const changed = done.filter((each) => ![undefined, each.hash].includes(recorded?.get(keyOf(each))));
    const isRecorded = done.every((each) => recorded?.has(keyOf(each)));
    const differing = isRecorded || recorded?.has("admin_client") !== true ? [] : differences(done, objects);
    return [
      ...missing.map(
        ({ name }) =>
          `The database "${database}" lacks the migration ${name}, and has ${newest}: it was deployed from other sources. Check out the commit that was deployed (npm run deploy -- status), and deploy from there or from a later release.`,
      ),
      ...changed.map(
        ({ name, path }) =>
          `The migration ${name} of the database "${database}" was another one when it was applied. Restore ${path} as it was released (git checkout <release> -- ${path}), and write the change as a new migration.`,
      ),
      ...(differing.length === 0
        ? []
        : [
            `The database "${database}" was made by sources from before 0.1.0: ${differing.join(", ")} differ from what ${newest} makes. It cannot be upgraded: deploy the commit that made it, or begin with another environment.`,
          ]),
    ];
  });
}

export function pendingMigrations(
  databases: Readonly<Record<string, string>>,
  schemas: ReadonlyMap<string, FoundSchema>,
): Migration[] {
  const isApplied = ({ binding, name }: Migration) => schemas.get(binding)?.applied.includes(name) === true;
  return ownMigrations().filter((each) => each.binding in databases && !isApplied(each));
}

function keyOf({ binding, name }: Migration): string {
  return `migration:${binding}:${name}`;
}

/** The tables and indexes that the migrations make, and the database has otherwise. */
function differences(migrations: readonly Migration[], found: ReadonlyMap<string, string>): string[] {
  const empty = new DatabaseSync(":memory:");
  for (const { sql } of migrations) empty.exec(sql);
  const rows = empty
    .prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .all();
  empty.close();
  return rows.flatMap(({ name, sql }) =>
    comparable(found.get(String(name)) ?? "") === comparable(String(sql)) ? [] : [String(name)],
  );
}

function comparable(sql: string): string {
  return sql.replaceAll(/--.*$/gm, "").replaceAll(/["`\s]+/g, "");
}

/** A migration that is about to be applied is recorded before; one that has been applied keeps what was recorded. */
export function recordMigrations(schemas: ReadonlyMap<string, FoundSchema>, nowMs: number): string {
  const statements = ownMigrations().map((each) => {
    const isApplied = schemas.get(each.binding)?.applied.includes(each.name) === true;
    return (isApplied ? recordOnce : record)(keyOf(each), each.hash, nowMs);
  });
  return statements.join(";\n");
}
