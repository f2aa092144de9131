import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { limits } from "@edge-op/shared/config/limits";
import { within } from "@edge-op/shared/runtime/deadline";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import {
  areBackedUpTables,
  type BackedUpRow,
  type BackedUpTable,
  type BackupManifest,
  manifestKey,
  partKey,
  sealBackup,
} from "@edge-op/shared/storage/sealed-backup";

export interface BackupEnv extends MasterKeyBindings {
  readonly DB: D1Database;
  readonly BACKUP?: R2Bucket | undefined;
}

const everyMs = 86_400_000;
const partsPerRun = 4;
const pauseMs = 500;

/** These are read first, so that whatever changes during a backup counts as changed after it (ADR 11). */
const first = "CASE name WHEN 'admin_events' THEN 0 WHEN 'control_changes' THEN 1 ELSE 2 END, rootpage";

/** A backup in progress: the tables that are finished have their counts. */
interface Progress {
  readonly begunMs: number;
  readonly tables: readonly BackedUpTable[];
  readonly table: number;
  /** The key of the last row of the table that was copied. */
  readonly after: BackedUpRow | null;
}

/**
 * **Writes a backup of D1 to R2 once a day**, sealed (docs/operating/backup.md), by the alarm of `ControlPlane`, in bounded steps. A part is written
 * again after a crash. Without the binding, nothing happens. Cost: 1 D1 call and 1 R2 write for each 500 rows.
 *
 *   database_backup(id, due_ms, progress)     one row: when the next one begins, and the one in progress, JSON
 */
export class DatabaseBackup {
  readonly #sql: SqlStorage;
  readonly #env: BackupEnv;
  readonly #whenMade: (name: string, rows: number, atMs: number) => void;
  readonly #rowsOfPart: number;

  constructor(
    sql: SqlStorage,
    env: BackupEnv,
    whenMade: (name: string, rows: number, atMs: number) => void,
    rowsOfPart = 500,
  ) {
    this.#sql = sql;
    this.#env = env;
    this.#whenMade = whenMade;
    this.#rowsOfPart = rowsOfPart;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS database_backup (
        id INTEGER PRIMARY KEY CHECK (id = 1), due_ms INTEGER NOT NULL, progress TEXT)`);
  }

  /** Begins one now. False without a bucket. */
  begin(atMs: number): boolean {
    if (this.#env.BACKUP === undefined) return false;
    this.#sql.exec("INSERT INTO database_backup VALUES (1, ?1, NULL) ON CONFLICT (id) DO UPDATE SET due_ms = ?1", atMs);
    return true;
  }

  /** The alarm's task. The first backup is made a day after the bucket was bound. */
  async run(atMs: number): Promise<number | undefined> {
    const bucket = this.#env.BACKUP;
    if (bucket === undefined) return undefined;
    this.#sql.exec("INSERT OR IGNORE INTO database_backup VALUES (1, ?, NULL)", atMs + everyMs);
    const { due, stored } = this.#sql
      .exec<{ due: number; stored: string | null }>("SELECT due_ms AS due, progress AS stored FROM database_backup")
      .one();
    if (atMs < due && due <= atMs + everyMs) return due;
    let progress = stored === null ? await this.#start(atMs) : (JSON.parse(stored) as Progress);
    for (let parts = 0; parts < partsPerRun && progress.table < progress.tables.length; parts += 1) {
      progress = await this.#copyPart(bucket, progress);
      this.#sql.exec("UPDATE database_backup SET progress = ?", JSON.stringify(progress));
    }
    if (progress.table < progress.tables.length) return atMs + pauseMs;
    await this.#finish(bucket, progress, atMs);
    const nextMs = Math.max(progress.begunMs + everyMs, atMs);
    this.#sql.exec("UPDATE database_backup SET due_ms = ?, progress = NULL", nextMs);
    return nextMs;
  }

  async #start(atMs: number): Promise<Progress> {
    const select = this.#env.DB.prepare(
      `SELECT name, (SELECT json_group_array(name) FROM pragma_table_info(m.name) WHERE name <> 'searched') AS columns,
              (SELECT json_group_array(name) FROM (SELECT name FROM pragma_table_info(m.name) WHERE pk > 0 ORDER BY pk)) AS key,
              (SELECT json_group_array(json_object('column', "from", 'table', "table", 'key', "to"))
                 FROM pragma_foreign_key_list(m.name)) AS refs
         FROM sqlite_master AS m
        WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' AND substr(name, 1, 3) NOT IN ('_cf', 'd1_') AND name <> 'user_search' ORDER BY ${first}`,
    );
    const { results } = await queryDatabase(() =>
      select.all<Readonly<Record<"name" | "columns" | "key" | "refs", string>>>(),
    );
    const rows = results.map(
      ({ name, columns, key, refs }) =>
        `{"name":${JSON.stringify(name)},"columns":${columns},"key":${key},"references":${refs},"parts":0,"rows":0}`,
    );
    const tables = readStored("tables to back up", `[${rows.join()}]`, areBackedUpTables);
    return { begunMs: atMs, tables, table: 0, after: null };
  }

  /** Writes the next rows of the current table. */
  async #copyPart(bucket: R2Bucket, progress: Progress): Promise<Progress> {
    const { begunMs, tables, table: current } = progress;
    const table = tables[current]!;
    const rows = await this.#read(table, progress.after);
    if (rows.length > 0) await this.#put(bucket, partKey(nameOf(begunMs), table.name, table.parts + 1), rows);
    const counted = {
      ...table,
      parts: table.parts + (rows.length > 0 ? 1 : 0),
      rows: table.rows + rows.length,
    };
    const last = rows.at(-1);
    const isEnd = rows.length < this.#rowsOfPart || last === undefined;
    return {
      begunMs,
      tables: tables.with(current, counted),
      table: isEnd ? current + 1 : current,
      after: isEnd ? null : table.key.map((column) => last[table.columns.indexOf(column)]!),
    };
  }

  async #read({ name, columns, key }: BackedUpTable, after: Progress["after"]): Promise<BackedUpRow[]> {
    const order = key.join(", ");
    const where = after === null ? "" : `WHERE (${order}) > (${after.map(() => "?").join(", ")})`;
    const values = (after ?? []).map((value) => (Array.isArray(value) ? new Uint8Array(value) : value));
    const select = this.#env.DB.prepare(
      `SELECT ${columns.join(", ")} FROM ${name} ${where} ORDER BY ${order} LIMIT ${this.#rowsOfPart}`,
    ).bind(...values);
    const { results } = await queryDatabase(() => select.all<Record<string, BackedUpRow[number]>>());
    return results.map((row) => columns.map((column) => row[column] ?? null));
  }

  async #finish(bucket: R2Bucket, { begunMs, tables }: Progress, atMs: number): Promise<void> {
    const begun = nameOf(begunMs);
    const manifest: BackupManifest = { format: 1, begun, finished: nameOf(atMs), tables: [...tables] };
    await this.#put(bucket, manifestKey(begun), manifest);
    this.#whenMade(
      begun,
      tables.reduce((sum, { rows }) => sum + rows, 0),
      atMs,
    );
  }

  async #put(bucket: R2Bucket, objectKey: string, content: unknown): Promise<void> {
    const sealed = await sealBackup(this.#env, objectKey, content);
    await within(limits.databaseCommitMs, bucket.put(objectKey, sealed), () => {
      throw new Error(`R2 did not respond within ${limits.databaseCommitMs} ms`);
    });
  }
}

function nameOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
