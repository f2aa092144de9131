import type { NamedChange } from "@edge-op/shared/storage/record-kinds";
import type { Horizon } from "../leases/durable-horizon.ts";
import { rememberedChanges } from "../leases/recent-changes.ts";
import type { DurableState, Plan } from "./revocation-machine.ts";
import type { Entry } from "./revoked-set.ts";

interface EntryRow extends Record<string, SqlStorageValue> {
  readonly key: string;
  readonly until_ms: number;
  readonly seq: number;
  readonly version: number | null;
}

const entryColumns = "key, until_ms, seq, version";

interface StateRow extends Record<string, SqlStorageValue> {
  readonly seq: number;
  readonly cv: number;
  readonly cv_at_ms: number | null;
  readonly horizon_ms: number | null;
  readonly lease_ms: number;
}

/**
 * **The tables of a revocation shard.** Rows and cut-offs share a table: revocations by name, and by control version.
 *
 *   revoked(key, until_ms, seq, version)                version NULL: a row; deleted at until_ms, by the slowest clock
 *   operations(operation_id, until_ms)                  operations already done: one event each, however often sent
 *   shard_state(seq, cv, cv_at_ms, horizon_ms, lease_ms)   one row; cv_at_ms: of the change `cv`
 *   recent_change(version, kind, id)                    the newest 500 administrative changes
 */
export class RevocationRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS revoked (
        key TEXT PRIMARY KEY, until_ms INTEGER NOT NULL, seq INTEGER NOT NULL, version INTEGER) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS revoked_cut_offs ON revoked (key) WHERE version IS NOT NULL;
      CREATE INDEX IF NOT EXISTS revoked_by_death ON revoked (until_ms);
      CREATE TABLE IF NOT EXISTS operations (
        operation_id TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS operations_by_death ON operations (until_ms);
      CREATE TABLE IF NOT EXISTS shard_state (
        id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, cv INTEGER NOT NULL, cv_at_ms INTEGER,
        horizon_ms INTEGER, lease_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO shard_state VALUES (1, 0, 0, NULL, NULL, 0);
      CREATE TABLE IF NOT EXISTS recent_change (version INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL);`);
  }

  load(maxEntries: number): DurableState {
    const { seq, cv, horizon_ms, lease_ms } = this.#state();
    const horizon = horizon_ms === null ? undefined : { horizonMs: horizon_ms, leaseMs: lease_ms };
    const entries = this.entries(maxEntries);
    const cutOffs = entries === undefined ? this.#cutOffs(maxEntries) : undefined;
    return { entries, cutOffs, seq, cv, changes: this.#changes(), horizon };
  }

  #state(): StateRow {
    return this.#sql.exec<StateRow>("SELECT seq, cv, cv_at_ms, horizon_ms, lease_ms FROM shard_state").one();
  }

  /** The time of the change `cv`, if it is known. */
  cvAtMs(): number | undefined {
    return this.#state().cv_at_ms ?? undefined;
  }

  /** To be called in the transaction that writes the version that it belongs to. */
  writeCvAtMs(cvAtMs: number | undefined): void {
    this.#sql.exec("UPDATE shard_state SET cv_at_ms = ?1 WHERE cv_at_ms IS NOT ?1", cvAtMs ?? null);
  }

  #changes(): readonly NamedChange[] {
    type Row = NamedChange & Record<string, SqlStorageValue>;
    return this.#sql.exec<Row>("SELECT version, kind, id FROM recent_change ORDER BY version").toArray();
  }

  /** All entries, or `undefined` if there are more than `maxEntries`. */
  entries(maxEntries: number): readonly Entry[] | undefined {
    return this.#atMost(maxEntries, `SELECT ${entryColumns} FROM revoked LIMIT ?`);
  }

  #cutOffs(maxEntries: number): readonly Entry[] | undefined {
    return this.#atMost(maxEntries, `SELECT ${entryColumns} FROM revoked WHERE version IS NOT NULL LIMIT ?`);
  }

  #atMost(maxEntries: number, select: string): readonly Entry[] | undefined {
    const entries = this.#sql
      .exec<EntryRow>(select, maxEntries + 1)
      .toArray()
      .map(toEntry);
    return entries.length > maxEntries ? undefined : entries;
  }

  /** The next rows in the order of their keys, without cut-offs. */
  page(afterKey: string, limit: number): readonly { readonly key: string; readonly untilMs: number }[] {
    return this.#sql
      .exec<{ key: string; untilMs: number }>(
        `SELECT key, until_ms AS untilMs FROM revoked WHERE key > ? AND version IS NULL ORDER BY key LIMIT ?`,
        afterKey,
        limit,
      )
      .toArray();
  }

  find(key: string): Entry | undefined {
    const rows = this.#sql.exec<EntryRow>(`SELECT ${entryColumns} FROM revoked WHERE key = ?`, key);
    const [row] = rows.toArray();
    return row && toEntry(row);
  }

  write(plan: Plan): void {
    for (const { key, untilMs, seq, version } of plan.entries) {
      this.#sql.exec(
        `INSERT INTO revoked (key, until_ms, seq, version) VALUES (?1, ?2, ?3, ?4)
           ON CONFLICT DO UPDATE SET until_ms = max(until_ms, excluded.until_ms), seq = excluded.seq,
             version = max(version, excluded.version)`,
        key,
        untilMs,
        seq,
        version ?? null,
      );
    }
    this.#writeChanges(plan);
    this.#sql.exec("UPDATE shard_state SET seq = ?1, cv = ?2 WHERE seq <> ?1 OR cv <> ?2", plan.seq, plan.cv);
  }

  /** Stores the changes for a new instance of the shard, so that no isolate reads D1 because a shard was restarted. */
  #writeChanges({ cv, changes }: Plan): void {
    const { before } = this.#sql.exec<{ before: number }>("SELECT cv AS before FROM shard_state").one();
    if (cv === before) return;
    for (const { version, kind, id } of changes) {
      if (version <= before) continue;
      this.#sql.exec("INSERT OR REPLACE INTO recent_change VALUES (?, ?, ?)", version, kind, id);
    }
    this.#sql.exec("DELETE FROM recent_change WHERE version <= ?", cv - rememberedChanges);
  }

  /** `undefined`: no earlier response is still in force. */
  writeHorizon(horizon: Horizon | undefined): void {
    this.#sql.exec(
      "UPDATE shard_state SET horizon_ms = ?, lease_ms = ?",
      horizon?.horizonMs ?? null,
      horizon?.leaseMs ?? 0,
    );
  }

  /** True the first time an operation is recorded. */
  isFirst(operationId: string, untilMs: number): boolean {
    const written = this.#sql.exec(
      "INSERT INTO operations VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1",
      operationId,
      untilMs,
    );
    return written.toArray().length > 0;
  }

  /** Deletes at most `limit` expired rows of each table; returns their keys. */
  sweep(deadBeforeMs: number, limit: number): readonly string[] {
    this.#sql.exec(
      `DELETE FROM operations WHERE operation_id IN
         (SELECT operation_id FROM operations WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)`,
      deadBeforeMs,
      limit,
    );
    return this.#sql
      .exec<{ key: string }>(
        `DELETE FROM revoked WHERE key IN
           (SELECT key FROM revoked WHERE until_ms <= ? ORDER BY until_ms LIMIT ?) RETURNING key`,
        deadBeforeMs,
        limit,
      )
      .toArray()
      .map(({ key }) => key);
  }

  /** When the next row expires. */
  nextDeathMs(): number | undefined {
    const { next } = this.#sql
      .exec<{ next: number | null }>(
        "SELECT min(until_ms) AS next FROM (SELECT min(until_ms) AS until_ms FROM revoked UNION ALL SELECT min(until_ms) FROM operations)",
      )
      .one();
    return next ?? undefined;
  }
}

function toEntry(row: EntryRow): Entry {
  return {
    key: row.key,
    untilMs: row.until_ms,
    seq: row.seq,
    version: row.version ?? undefined,
  };
}
