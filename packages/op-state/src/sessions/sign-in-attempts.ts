import type { AttemptLane, AttemptLimit, AttemptResult } from "@edge-op/shared/sessions/session-rpc";
import type { AlarmSchedule } from "../wake/alarm-schedule.ts";

const sweptRows = 500;
const sweepEveryMs = 600_000;
/** Delay if more rows have ended than one sweep deletes. */
const nextBatchMs = 1_000;
const reportEveryMs = 60_000;

/**
 * **The stored buckets of sign-in attempts.** A bucket's row is deleted when the bucket is empty, at once if a correct attempt empties it; a report's
 * row is deleted when the next report is allowed.
 *
 *   attempts(key, level, at_ms, dies_at_ms), throttle_reports(key, dies_at_ms)
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
      CREATE INDEX IF NOT EXISTS attempts_dying ON attempts (dies_at_ms);
      CREATE TABLE IF NOT EXISTS throttle_reports (key TEXT PRIMARY KEY, dies_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS throttle_reports_dying ON throttle_reports (dies_at_ms);`);
  }

  reserve(lanes: readonly AttemptLane[], atMs: number): AttemptResult {
    const { result, taken } = reserveInLanes(lanes, (key) => this.#bucket(key), atMs);
    for (const { key, limit, bucket } of taken) this.#save(key, bucket, limit);
    return result;
  }

  refund(lane: AttemptLane, atMs: number): void {
    for (const { key, limit } of lane) {
      const bucket = refund(this.#bucket(key), limit, atMs);
      if (bucket.level > 0) this.#save(key, bucket, limit);
      else this.#sql.exec("DELETE FROM attempts WHERE key = ?", key);
    }
  }

  /** Whether a refusal by this bucket is recorded, so that many attempts do not cause as many audit events. */
  isReportDue(key: string, atMs: number): boolean {
    const known = this.#sql.exec("SELECT 1 FROM throttle_reports WHERE key = ? AND dies_at_ms > ?", key, atMs);
    if (known.toArray().length > 0) return false;
    this.#sql.exec("INSERT OR REPLACE INTO throttle_reports VALUES (?, ?)", key, atMs + reportEveryMs);
    this.#alarms.wakeBy(atMs + reportEveryMs + sweepEveryMs);
    return true;
  }

  /** The alarm's task. Returns when it is next due. */
  sweep(atMs: number): number | undefined {
    let isFull = false;
    for (const table of ["attempts", "throttle_reports"]) {
      const swept = this.#sql.exec(
        `DELETE FROM ${table} WHERE key IN
           (SELECT key FROM ${table} WHERE dies_at_ms <= ? ORDER BY dies_at_ms LIMIT ?) RETURNING 1`,
        atMs,
        sweptRows,
      );
      isFull ||= swept.toArray().length === sweptRows;
    }
    if (isFull) return atMs + nextBatchMs;
    const { dies } = this.#sql
      .exec<{ dies: number | null }>(
        `SELECT min(dies) AS dies FROM (SELECT min(dies_at_ms) AS dies FROM attempts
           UNION ALL SELECT min(dies_at_ms) FROM throttle_reports)`,
      )
      .one();
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

/**
 * **A leaky bucket.** Pure. Each attempt adds one, and one drains every `drainMs`. A full bucket refuses until the next place is free, which takes at
 * most `drainMs`, so guessing is slow.
 */
export interface AttemptBucket {
  readonly level: number;
  readonly atMs: number;
}

/** The bucket after the time that has passed. A clock that was set back drains nothing, and the repeated time is not drained twice. */
function drained(bucket: AttemptBucket | undefined, { drainMs }: AttemptLimit, nowMs: number): AttemptBucket {
  if (bucket === undefined) return { level: 0, atMs: nowMs };
  const atMs = Math.max(bucket.atMs, nowMs);
  return { level: Math.max(0, bucket.level - (atMs - bucket.atMs) / drainMs), atMs };
}

/** Milliseconds until the bucket has room for one more; 0 if it has room. */
function waitMs({ level }: AttemptBucket, { capacity, drainMs }: AttemptLimit): number {
  return level + 1 > capacity ? Math.ceil((level + 1 - capacity) * drainMs) : 0;
}

interface TakenPlace {
  readonly key: string;
  readonly limit: AttemptLimit;
  readonly bucket: AttemptBucket;
}

/**
 * Takes a place in every bucket of the first lane in which each has room. A refusal takes none, so repeated refused attempts use up nothing; it
 * returns the shortest wait of any lane.
 */
export function reserveInLanes(
  lanes: readonly AttemptLane[],
  read: (key: string) => AttemptBucket | undefined,
  nowMs: number,
): { readonly result: AttemptResult; readonly taken: readonly TakenPlace[] } {
  let retryAfterMs = Number.POSITIVE_INFINITY;
  for (const lane of lanes) {
    const places = lane.map(({ key, limit }) => ({ key, limit, bucket: drained(read(key), limit, nowMs) }));
    const wait = Math.max(...places.map(({ bucket, limit }) => waitMs(bucket, limit)));
    if (wait === 0) {
      const taken = places.map(({ bucket, ...place }) => ({
        ...place,
        bucket: { ...bucket, level: bucket.level + 1 },
      }));
      return { result: { kind: "allowed", lane }, taken };
    }
    retryAfterMs = Math.min(retryAfterMs, wait);
  }
  return { result: { kind: "refused", retryAfterMs }, taken: [] };
}

export function refund(bucket: AttemptBucket | undefined, limit: AttemptLimit, nowMs: number): AttemptBucket {
  const { level, atMs } = drained(bucket, limit, nowMs);
  return { level: Math.max(0, level - 1), atMs };
}

/** When an unused bucket is empty and its row may be deleted. */
export function emptyAtMs({ level, atMs }: AttemptBucket, { drainMs }: AttemptLimit): number {
  return atMs + Math.ceil(level * drainMs);
}
