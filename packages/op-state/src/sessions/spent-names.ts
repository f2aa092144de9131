import type { AlarmSchedule } from "../wake/alarm-schedule.ts";

const sweptRows = 500;
const sweepEveryMs = 600_000;
/** Delay if more rows have ended than one sweep deletes. */
const nextBatchMs = 1_000;

/**
 * **What calls that are under way must not use any more**: flows that have opened a session, `sid`s of sessions that were ended before they were
 * opened, and decisions in a session made before a client was dismissed there. A row is deleted when nothing can present its name. Synchronous:
 * called in the owner's transactions.
 *
 *   spent_names(name, dies_at_ms)
 */
export class SpentNames {
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;

  constructor(sql: SqlStorage, alarms: AlarmSchedule) {
    this.#sql = sql;
    this.#alarms = alarms;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS spent_names (name TEXT PRIMARY KEY, dies_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS spent_names_dying ON spent_names (dies_at_ms);`);
  }

  has(name: string, atMs: number): boolean {
    return this.untilMs(name, atMs) !== undefined;
  }

  untilMs(name: string, atMs: number): number | undefined {
    const select = "SELECT dies_at_ms AS untilMs FROM spent_names WHERE name = ? AND dies_at_ms > ?";
    return this.#sql.exec<{ untilMs: number }>(select, name, atMs).toArray()[0]?.untilMs;
  }

  add(name: string, untilMs: number): void {
    this.#sql.exec("INSERT OR REPLACE INTO spent_names VALUES (?, ?)", name, untilMs);
    this.#alarms.wakeBy(untilMs + sweepEveryMs);
  }

  /** The alarm's task. Returns when it is next due. */
  sweep(atMs: number): number | undefined {
    const swept = this.#sql.exec(
      `DELETE FROM spent_names WHERE name IN
         (SELECT name FROM spent_names WHERE dies_at_ms <= ? ORDER BY dies_at_ms LIMIT ?) RETURNING 1`,
      atMs,
      sweptRows,
    );
    if (swept.toArray().length === sweptRows) return atMs + nextBatchMs;
    const { dies } = this.#sql.exec<{ dies: number | null }>("SELECT min(dies_at_ms) AS dies FROM spent_names").one();
    return dies === null ? undefined : Math.max(dies, atMs) + sweepEveryMs;
  }
}
