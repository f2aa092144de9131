import type { AttemptLimit, AttemptOutcome } from "@edge-op/shared/objects/session-store";
import type { AlarmSchedule } from "../outbox/alarm-schedule.ts";
import { type AttemptBucket, emptyAtMs, refund, reserve } from "./attempt-bucket.ts";

const sweptRows = 500;
const sweepEveryMs = 600_000;

/**
 * **Buckets of sign-in attempts, stored.** A row dies when its bucket has emptied by itself.
 *
 *   attempts(key, level, at_ms, dies_at_ms)
 */
export class SignInAttempts {
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;

  constructor(ctx: DurableObjectState, alarms: AlarmSchedule) {
    this.#sql = ctx.storage.sql;
    this.#alarms = alarms;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS attempts (
        key TEXT PRIMARY KEY, level REAL NOT NULL, at_ms INTEGER NOT NULL, dies_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS attempts_dying ON attempts (dies_at_ms);`);
  }

  reserve(key: string, limit: AttemptLimit, atMs: number): AttemptOutcome {
    const { outcome, bucket } = reserve(this.#bucket(key), limit, atMs);
    this.#save(key, bucket, limit);
    return outcome;
  }

  refund(key: string, limit: AttemptLimit, atMs: number): void {
    this.#save(key, refund(this.#bucket(key), limit, atMs), limit);
  }

  /** The alarm's task. Answers when it wants to run next. */
  sweep(atMs: number): number | undefined {
    this.#sql.exec(
      "DELETE FROM attempts WHERE key IN (SELECT key FROM attempts WHERE dies_at_ms <= ? LIMIT ?)",
      atMs,
      sweptRows,
    );
    const { dies } = this.#sql.exec<{ dies: number | null }>("SELECT min(dies_at_ms) AS dies FROM attempts").one();
    return dies === null ? undefined : Math.max(dies, atMs) + sweepEveryMs;
  }

  #bucket(key: string): AttemptBucket | undefined {
    return this.#sql
      .exec<{ level: number; atMs: number }>("SELECT level, at_ms AS atMs FROM attempts WHERE key = ?", key)
      .toArray()[0];
  }

  #save(key: string, bucket: AttemptBucket, limit: AttemptLimit): void {
    const diesAtMs = emptyAtMs(bucket, limit);
    this.#sql.exec("INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?)", key, bucket.level, bucket.atMs, diesAtMs);
    this.#alarms.wakeBy(diesAtMs + sweepEveryMs);
  }
}
