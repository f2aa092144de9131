import type { CutOffTimes } from "@edge-op/shared/directory/cut-offs";
import type { CutOff } from "@edge-op/shared/objects/token-revocation-store";
import { replicatedUntilMs } from "./control-machine.ts";

export interface CutOffOperation extends CutOff {
  readonly operationId: string;
  readonly done: boolean;
}

interface CutOffRow extends Record<string, SqlStorageValue> {
  readonly key: string;
  readonly notBeforeMs: number;
  readonly untilMs: number;
  readonly version: number | null;
  readonly versionedAtMs: number | null;
}

function toCutOff({ key, notBeforeMs, untilMs, version, versionedAtMs }: CutOffRow): CutOff {
  if (version === null) return { key, notBeforeMs, untilMs };
  return { key, notBeforeMs, untilMs, version, versionedAtMs: versionedAtMs ?? undefined };
}

/** How long a finished operation is kept: for its repetitions, and for new shards while a token of before may be alive. */
const rememberMs = replicatedUntilMs(0);
/** Endpoints of an earlier release, which do not read cut-offs with the records, may run beside this release for so long. */
const releaseOverlapMs = 14 * 86_400_000;
/** A live request finishes its own operation; the alarm takes over after this. */
export const resumeMs = 30_000;

/**
 * **Cut-offs in progress, and the live ones**, with which the shards of a new generation are seeded. Synchronous. Cut-offs of earlier
 * releases have no version (ADR 28).
 *
 *   cut_off(key, not_before_ms, until_ms)                    combined by max; deleted at until_ms
 *   cut_off_version(key, version, versioned_at_ms)           combined by max; deleted with the cut-off
 *   cut_off_operation(operation_id, key, …, done, version)   deleted a day after it is done
 *   cut_off_record(key, version)                             is in D1 with this version; deleted with the cut-off
 *   short_rows(from_ms)                                      one row: from when on shards forget cut-offs that D1 has (ADR 26)
 */
export class CutOffLedger {
  readonly #sql: SqlStorage;

  /** `isNew`: no earlier release has run here. */
  constructor(sql: SqlStorage, isNew: boolean, nowMs: number) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS cut_off (
        key TEXT PRIMARY KEY, not_before_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS cut_off_by_death ON cut_off (until_ms);
      CREATE TABLE IF NOT EXISTS cut_off_operation (
        operation_id TEXT PRIMARY KEY, key TEXT NOT NULL, not_before_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL,
        due_ms INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS cut_off_version (
        key TEXT PRIMARY KEY, version INTEGER NOT NULL, versioned_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS cut_off_record (key TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS short_rows (id INTEGER PRIMARY KEY CHECK (id = 1), from_ms INTEGER NOT NULL);`);
    sql.exec("INSERT OR IGNORE INTO short_rows VALUES (1, ?)", isNew ? 0 : nowMs + releaseOverlapMs);
    const columns = sql.exec<{ name: string }>("SELECT name FROM pragma_table_info('cut_off_operation')").toArray();
    if (columns.some(({ name }) => name === "version")) return;
    sql.exec("ALTER TABLE cut_off_operation ADD COLUMN version INTEGER");
  }

  find(operationId: string): CutOffOperation | undefined {
    return this.#operations("operation_id = ?", operationId)[0];
  }

  add(operationId: string, key: string, { notBeforeMs, untilMs }: CutOffTimes, nowMs: number): CutOffOperation {
    this.#sql.exec(
      `INSERT INTO cut_off (key, not_before_ms, until_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET
         not_before_ms = max(not_before_ms, excluded.not_before_ms), until_ms = max(until_ms, excluded.until_ms)`,
      key,
      notBeforeMs,
      untilMs,
    );
    this.#sql.exec(
      "INSERT INTO cut_off_operation (operation_id, key, not_before_ms, until_ms, due_ms) VALUES (?, ?, ?, ?, ?)",
      operationId,
      key,
      notBeforeMs,
      untilMs,
      nowMs + resumeMs,
    );
    return { operationId, key, notBeforeMs, untilMs, done: false };
  }

  /** The first version that an operation gets is kept, because a repetition must not revoke what was granted since. */
  order(operationId: string, version: number): CutOffOperation {
    this.#sql.exec(
      "UPDATE cut_off_operation SET version = ? WHERE operation_id = ? AND version IS NULL",
      version,
      operationId,
    );
    return this.#applyVersion(operationId);
  }

  /**
   * A change that was committed to a restored D1 before the gap has a number that grants of the lost time have too (ADR 11): its
   * cut-off moves to the gap.
   */
  orderBehindGap(operationId: string, gap: number): CutOffOperation {
    this.#sql.exec(
      "UPDATE cut_off_operation SET version = ?1 WHERE operation_id = ?2 AND version < ?1",
      gap,
      operationId,
    );
    return this.#applyVersion(operationId);
  }

  #applyVersion(operationId: string): CutOffOperation {
    const operation = this.find(operationId);
    if (operation === undefined) throw new Error("the operation of a cut-off is not in the ledger");
    if (operation.version === undefined) return operation;
    this.#sql.exec(
      `INSERT INTO cut_off_version VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET
         version = max(version, excluded.version), versioned_at_ms = max(versioned_at_ms, excluded.versioned_at_ms)`,
      operation.key,
      operation.version,
      operation.notBeforeMs,
    );
    return operation;
  }

  finish(operationId: string, nowMs: number): void {
    this.#sql.exec(
      "UPDATE cut_off_operation SET done = 1, due_ms = ? WHERE operation_id = ?",
      nowMs + rememberMs,
      operationId,
    );
  }

  due(nowMs: number): CutOffOperation[] {
    return this.#operations("done = 0 AND due_ms <= ?", nowMs);
  }

  /** D1 has it with the version that it has now. */
  markRecorded({ key, version }: CutOff): void {
    if (version === undefined) return;
    this.#sql.exec(
      "INSERT INTO cut_off_record VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET version = max(version, excluded.version)",
      key,
      version,
    );
  }

  /** `found`: what D1 has, where it was read: a restored D1 may have lost what this object knows to be recorded. */
  isRecorded({ key, version }: CutOff, found?: ReadonlyMap<string, number>): boolean {
    if (version === undefined) return false;
    if (found !== undefined) return (found.get(key) ?? 0) >= version;
    return (
      this.#sql.exec("SELECT 1 FROM cut_off_record WHERE key = ? AND version >= ?", key, version).toArray().length > 0
    );
  }

  /** The cut-off as shards are sent it at `nowMs`: they keep it for as long as a token of before, if D1 has it. */
  replicated(cutOff: CutOff, nowMs: number): CutOff {
    const { fromMs } = this.#sql.exec<{ fromMs: number }>("SELECT from_ms AS fromMs FROM short_rows").one();
    if (nowMs < fromMs || !this.isRecorded(cutOff)) return cutOff;
    return { ...cutOff, untilMs: Math.min(cutOff.untilMs, replicatedUntilMs(nowMs)) };
  }

  /** The cut-offs that no sweep has deleted. */
  live(): CutOff[] {
    return this.#select("true");
  }

  /**
   * Those that the shards of a new generation are sent: all by which a token may be alive, and all that D1 does not have. By what no sweep
   * has deleted, so that it does not depend on the present clock.
   */
  seeds(nowMs: number): CutOff[] {
    const isNeeded = `EXISTS (SELECT 1 FROM cut_off_operation o WHERE o.key = cut_off.key)
      OR NOT EXISTS (SELECT 1 FROM cut_off_record r WHERE r.key = cut_off.key AND r.version >= cut_off_version.version)
      OR (SELECT from_ms FROM short_rows) > ${Math.floor(nowMs)}`;
    return this.#select(isNeeded).map((cutOff) => this.replicated(cutOff, nowMs));
  }

  #select(where: string): CutOff[] {
    return this.#sql
      .exec<CutOffRow>(
        `SELECT key, not_before_ms AS notBeforeMs, until_ms AS untilMs, version, versioned_at_ms AS versionedAtMs
           FROM cut_off LEFT JOIN cut_off_version USING (key) WHERE ${where} ORDER BY key`,
      )
      .toArray()
      .map(toCutOff);
  }

  /** Deletes at most `limit` rows of each table. */
  sweep(nowMs: number, limit: number): void {
    this.#sql.exec(
      `DELETE FROM cut_off_operation WHERE operation_id IN
         (SELECT operation_id FROM cut_off_operation WHERE done = 1 AND due_ms <= ? LIMIT ?)`,
      nowMs,
      limit,
    );
    const swept = this.#sql.exec<{ key: string }>(
      "DELETE FROM cut_off WHERE key IN (SELECT key FROM cut_off WHERE until_ms <= ? LIMIT ?) RETURNING key",
      nowMs,
      limit,
    );
    for (const { key } of swept.toArray()) {
      this.#sql.exec("DELETE FROM cut_off_version WHERE key = ?", key);
      this.#sql.exec("DELETE FROM cut_off_record WHERE key = ?", key);
    }
  }

  #operations(where: string, ...bindings: SqlStorageValue[]): CutOffOperation[] {
    return this.#sql
      .exec<CutOffRow & { operationId: string; done: number }>(
        `SELECT operation_id AS operationId, key, not_before_ms AS notBeforeMs, until_ms AS untilMs, version,
                not_before_ms AS versionedAtMs, done FROM cut_off_operation WHERE ${where}`,
        ...bindings,
      )
      .toArray()
      .map((row) => ({ ...toCutOff(row), operationId: row.operationId, done: row.done === 1 }));
  }
}
