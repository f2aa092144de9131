import { replicatedUntilMs } from "@edge-op/shared/cut-offs/cut-offs";

export interface CutOffOperation {
  readonly operationId: string;
  readonly key: string;
  readonly untilMs: number;
  /** The number of its change, once it is known. */
  readonly version: number | undefined;
  readonly done: boolean;
}

export type OrderedCutOff = CutOffOperation & { readonly version: number };

export function isOrdered(operation: CutOffOperation): operation is OrderedCutOff {
  return operation.version !== undefined;
}

/** How long a finished operation is remembered for repetitions. */
const rememberMs = replicatedUntilMs(0);
/** A live request finishes its own operation; the alarm takes over after this time. */
export const resumeMs = 30_000;

/**
 * **Cut-offs in progress.** Synchronous.
 *
 *   cut_off_operation(operation_id, key, …)     deleted a day after it is done
 */
export class CutOffLedger {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
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

  /** The later number applies: D1 was restored, and the cut-off was committed to it again. */
  order(operationId: string, version: number): OrderedCutOff {
    this.#sql.exec("UPDATE cut_off_operation SET version = ? WHERE operation_id = ?", version, operationId);
    const operation = this.find(operationId);
    if (operation === undefined || !isOrdered(operation)) throw new Error("the operation of a cut-off has no version");
    return operation;
  }

  /**
   * Whether it must be committed again: D1 was restored, and either lacks it, or has given it a number that grants of the lost time have too (ADR
   * 11).
   */
  isLost({ key, version }: OrderedCutOff, gap: number, found: ReadonlyMap<string, number>): boolean {
    return version < gap || (found.get(key) ?? 0) < version;
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

  /** Deletes at most `limit` rows. */
  sweep(nowMs: number, limit: number): void {
    this.#sql.exec(
      `DELETE FROM cut_off_operation WHERE operation_id IN
         (SELECT operation_id FROM cut_off_operation WHERE done = 1 AND due_ms <= ? LIMIT ?)`,
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
