import type { CutOff } from "@edge-op/shared/objects/token-revocation-store";
import { replicatedUntilMs } from "./control-machine.ts";

export interface CutOffOperation {
  readonly operationId: string;
  readonly key: string;
  readonly untilMs: number;
  /** The number of its change, once that is known. */
  readonly version: number | undefined;
  readonly done: boolean;
}

export type OrderedCutOff = CutOffOperation & CutOff;

export function isOrdered(operation: CutOffOperation): operation is OrderedCutOff {
  return operation.version !== undefined;
}

/** How long a finished operation is kept: for its repetitions, and for new shards while a token of before may be alive. */
const rememberMs = replicatedUntilMs(0);
/** A live request finishes its own operation; the alarm takes over after this. */
export const resumeMs = 30_000;

/**
 * **Cut-offs in progress, and the live ones**, with which the shards of a new generation are seeded. Synchronous.
 *
 *   cut_off(key, version, until_ms, recorded)   combined by max; D1 has it with the version `recorded`; deleted at until_ms
 *   cut_off_operation(operation_id, key, …)     deleted a day after it is done
 */
export class CutOffLedger {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS cut_off (
        key TEXT PRIMARY KEY, version INTEGER NOT NULL, until_ms INTEGER NOT NULL, recorded INTEGER NOT NULL DEFAULT 0)
        WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS cut_off_by_death ON cut_off (until_ms);
      CREATE TABLE IF NOT EXISTS cut_off_operation (
        operation_id TEXT PRIMARY KEY, key TEXT NOT NULL, until_ms INTEGER NOT NULL, version INTEGER,
        due_ms INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;`);
  }

  find(operationId: string): CutOffOperation | undefined {
    return this.#operations("operation_id = ?", operationId)[0];
  }

  add(operationId: string, key: string, untilMs: number, nowMs: number): CutOffOperation {
    this.#sql.exec(
      "INSERT INTO cut_off_operation (operation_id, key, until_ms, due_ms) VALUES (?, ?, ?, ?)",
      operationId,
      key,
      untilMs,
      nowMs + resumeMs,
    );
    return { operationId, key, untilMs, version: undefined, done: false };
  }

  /** The first version that an operation gets is kept, because a repetition must not revoke what was granted since. */
  order(operationId: string, version: number): OrderedCutOff {
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
  orderBehindGap(operationId: string, gap: number): OrderedCutOff {
    this.#sql.exec(
      "UPDATE cut_off_operation SET version = ?1 WHERE operation_id = ?2 AND version < ?1",
      gap,
      operationId,
    );
    return this.#applyVersion(operationId);
  }

  #applyVersion(operationId: string): OrderedCutOff {
    const operation = this.find(operationId);
    if (operation === undefined || !isOrdered(operation)) throw new Error("the operation of a cut-off has no version");
    this.#sql.exec(
      `INSERT INTO cut_off (key, version, until_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET
         version = max(version, excluded.version), until_ms = max(until_ms, excluded.until_ms)`,
      operation.key,
      operation.version,
      operation.untilMs,
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
    this.#sql.exec("UPDATE cut_off SET recorded = max(recorded, ?) WHERE key = ?", version, key);
  }

  /** `found`: what D1 has, where it was read: a restored D1 may have lost what this object knows to be recorded. */
  isRecorded({ key, version }: CutOff, found?: ReadonlyMap<string, number>): boolean {
    if (found !== undefined) return (found.get(key) ?? 0) >= version;
    return this.#sql.exec("SELECT 1 FROM cut_off WHERE key = ? AND recorded >= ?", key, version).toArray().length > 0;
  }

  /** The cut-off as shards are sent it at `nowMs`: they keep it for as long as a token of before, if D1 has it. */
  replicated(cutOff: CutOff, nowMs: number): CutOff {
    const { key, version, untilMs } = cutOff;
    return { key, version, untilMs: this.isRecorded(cutOff) ? Math.min(untilMs, replicatedUntilMs(nowMs)) : untilMs };
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
    const isNeeded = "recorded < version OR EXISTS (SELECT 1 FROM cut_off_operation o WHERE o.key = cut_off.key)";
    return this.#select(isNeeded).map((cutOff) => this.replicated(cutOff, nowMs));
  }

  #select(where: string): CutOff[] {
    return this.#sql
      .exec<CutOff & Record<string, SqlStorageValue>>(
        `SELECT key, version, until_ms AS untilMs FROM cut_off WHERE ${where} ORDER BY key`,
      )
      .toArray();
  }

  /** Deletes at most `limit` rows of each table. */
  sweep(nowMs: number, limit: number): void {
    this.#sql.exec(
      `DELETE FROM cut_off_operation WHERE operation_id IN
         (SELECT operation_id FROM cut_off_operation WHERE done = 1 AND due_ms <= ? LIMIT ?)`,
      nowMs,
      limit,
    );
    this.#sql.exec(
      "DELETE FROM cut_off WHERE key IN (SELECT key FROM cut_off WHERE until_ms <= ? LIMIT ?)",
      nowMs,
      limit,
    );
  }

  #operations(where: string, ...bindings: SqlStorageValue[]): CutOffOperation[] {
    return this.#sql
      .exec<{ operationId: string; key: string; untilMs: number; version: number | null; done: number }>(
        `SELECT operation_id AS operationId, key, until_ms AS untilMs, version, done FROM cut_off_operation WHERE ${where}`,
        ...bindings,
      )
      .toArray()
      .map((row) => ({ ...row, version: row.version ?? undefined, done: row.done === 1 }));
  }
}
