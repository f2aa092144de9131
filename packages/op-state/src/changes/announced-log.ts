import type { ControlNews } from "@edge-op/shared/control/control-plane-rpc";
import type { ChangeVersion } from "@edge-op/shared/control/control-view";
import { type CutOff, replicatedUntilMs } from "@edge-op/shared/cut-offs/cut-offs";
import type { NamedChange } from "@edge-op/shared/storage/record-kinds";
import { changesAfter, continueChanges, type RecentChanges, rememberedChanges } from "../leases/recent-changes.ts";

/** The number of cut-offs that are sent to a shard at once; it requests the others before it gets a lease. */
const newsRows = 2_000;
/** How long an access token issued before a cut-off may be live. */
const recentMs = replicatedUntilMs(0);

interface CutOffRow extends CutOff, Record<string, SqlStorageValue> {}

/**
 * **The control log as it is sent to shards**: the content of D1's log when it was last announced, stored outside D1, which may be restored to an
 * earlier moment. A shard that contains it up to a version contains every cut-off up to that version. Synchronous.
 *
 *   last_told(version, at_ms)                           one row: the newest change that was announced
 *   announced_change(version, kind, id)                 the newest 500, without those before the last gap and without their records
 *   cut_off(key, version, until_ms, recent_until_ms)    deleted at until_ms; recent_until_ms NULL: every earlier access token has expired
 *   last_gap(version, at_ms)                            one row: the last gap in D1's log (ADR 11)
 *   lowest_kept(version, until_ms)                      one row: up to which change D1 lost nothing at a gap of the last month
 */
export class AnnouncedLog {
  readonly #sql: SqlStorage;
  #changes: RecentChanges;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS last_told (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, at_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO last_told VALUES (1, 0, 0);
      CREATE TABLE IF NOT EXISTS announced_change (version INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS cut_off (
        key TEXT PRIMARY KEY, version INTEGER NOT NULL, until_ms INTEGER NOT NULL, recent_until_ms INTEGER) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS cut_off_by_death ON cut_off (until_ms);
      CREATE INDEX IF NOT EXISTS cut_off_recent ON cut_off (version) WHERE recent_until_ms IS NOT NULL;
      CREATE TABLE IF NOT EXISTS last_gap (
        id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, at_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO last_gap VALUES (1, 0, 0);
      CREATE TABLE IF NOT EXISTS lowest_kept (
        id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, until_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO lowest_kept VALUES (1, 0, 0);`);
    const changes = sql.exec<NamedChange & Record<string, SqlStorageValue>>(
      "SELECT version, kind, id FROM announced_change ORDER BY version",
    );
    this.#changes = continueChanges([], changes.toArray(), this.last().version);
  }

  last(): ChangeVersion {
    return this.#sql.exec<{ version: number; atMs: number }>("SELECT version, at_ms AS atMs FROM last_told").one();
  }

  /** The part of the log that a shard containing `since` lacks. If there are many cut-offs, only the first ones, and no newer version than theirs. */
  news(since: number, nowMs: number): ControlNews & { readonly isComplete: boolean } {
    const { version: cv, atMs: cvAtMs } = this.last();
    const rows = this.#sql
      .exec<CutOffRow>(
        `SELECT key, version, until_ms AS untilMs FROM cut_off WHERE version > ? AND recent_until_ms IS NOT NULL
           ORDER BY version LIMIT ?`,
        since,
        newsRows + 1,
      )
      .toArray();
    const replicatedMs = replicatedUntilMs(nowMs);
    const cutOffs = rows.map((row) => ({ ...row, untilMs: Math.min(row.untilMs, replicatedMs) }));
    const next = rows[newsRows]?.version;
    if (next !== undefined) {
      const some = cutOffs.filter(({ version }) => version < next);
      return { cv: next - 1, cvAtMs: undefined, changes: [], cutOffs: some, isComplete: false };
    }
    const changes = changesAfter(since, this.#changes, cv) ?? this.#changes;
    return { cv, cvAtMs, changes, cutOffs, isComplete: true };
  }

  /** Stores the change durably before it is sent to any shard. An older one has no effect, because publications may complete out of order. */
  record(
    newest: ChangeVersion,
    { changes, cutOffs }: { readonly changes: readonly NamedChange[]; readonly cutOffs: readonly CutOff[] },
    nowMs: number,
  ): void {
    for (const { key, version, untilMs } of cutOffs) {
      this.#sql.exec(
        `INSERT INTO cut_off VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET version = max(version, excluded.version),
           until_ms = max(until_ms, excluded.until_ms), recent_until_ms = excluded.recent_until_ms`,
        key,
        version,
        untilMs,
        nowMs + recentMs,
      );
    }
    const before = this.last().version;
    if (newest.version <= before) return;
    for (const { version, kind, id } of changes) {
      if (version > before)
        this.#sql.exec("INSERT OR REPLACE INTO announced_change VALUES (?, ?, ?)", version, kind, id);
    }
    this.#sql.exec("DELETE FROM announced_change WHERE version <= ?", newest.version - rememberedChanges);
    this.#sql.exec("UPDATE last_told SET version = ?, at_ms = ?", newest.version, newest.atMs);
    this.#changes = continueChanges(this.#changes, changes, newest.version);
  }

  /** Whether D1 contains the last announced change, and has reached the number that it gave to a committed change (ADR 11). */
  isContinued(
    told: ChangeVersion,
    found: { readonly version: number; readonly announcedAtMs: number | null },
    committed: number,
  ): boolean {
    return (told.version === 0 || found.announcedAtMs === told.atMs) && found.version >= committed;
  }

  lastGap(): ChangeVersion {
    return this.#sql.exec<{ version: number; atMs: number }>("SELECT version, at_ms AS atMs FROM last_gap").one();
  }

  /**
   * `kept`: the last change that a restored D1 has certainly kept. The lowest one applies until `untilMs`, because D1 may be restored to before this
   * gap.
   */
  recordGap({ version, atMs }: ChangeVersion, kept: number, untilMs: number): void {
    this.#sql.exec("UPDATE last_gap SET version = max(version, ?), at_ms = max(at_ms, ?)", version, atMs);
    this.#sql.exec("UPDATE lowest_kept SET version = ?, until_ms = ?", kept, untilMs);
  }

  lowestKept(nowMs: number): number {
    const [row] = this.#sql
      .exec<{ version: number }>("SELECT version FROM lowest_kept WHERE until_ms > ?", nowMs)
      .toArray();
    return row?.version ?? Number.POSITIVE_INFINITY;
  }

  /** The cut-offs after a version that no sweep has deleted. */
  cutOffsAfter(version: number): CutOff[] {
    return this.#sql
      .exec<CutOffRow>("SELECT key, version, until_ms AS untilMs FROM cut_off WHERE version > ? ORDER BY key", version)
      .toArray();
  }

  /**
   * Deletes at most `limit` rows of each kind. Shards receive everything that is not swept, so their content does not depend on the current clock.
   */
  sweep(passedMs: number, limit: number): void {
    this.#sql.exec(
      `UPDATE cut_off SET recent_until_ms = NULL WHERE key IN
         (SELECT key FROM cut_off WHERE recent_until_ms IS NOT NULL AND recent_until_ms <= ? LIMIT ?)`,
      passedMs,
      limit,
    );
    this.#sql.exec(
      "DELETE FROM cut_off WHERE key IN (SELECT key FROM cut_off WHERE until_ms <= ? LIMIT ?)",
      passedMs,
      limit,
    );
  }

  nextSweepMs(): number | undefined {
    const query = `SELECT min(at) AS at FROM (SELECT min(until_ms) AS at FROM cut_off
      UNION ALL SELECT min(recent_until_ms) FROM cut_off)`;
    return this.#sql.exec<{ at: number | null }>(query).one().at ?? undefined;
  }
}
