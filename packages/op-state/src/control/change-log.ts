import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import { type ChangeVersion, leaveGap } from "@edge-op/shared/control/change-gap";
import type { CutOff, NamedChange } from "@edge-op/shared/leases/revocation-shard-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { AnnouncedLog } from "./announced-log.ts";
import type { Registration } from "./control-leases.ts";
import { lacksCutOffs, restoreCutOffs } from "./cut-off-records.ts";

/** The changes that are read with the control version: all since the last announcement, and so many before it. */
const travellingChanges = 50;
/** Shards remember as many. */
const mostTravellingChanges = 500;

export interface Announcement {
  readonly announced: ChangeVersion;
  /** D1 was set back, and has lost registrations of shards too. */
  readonly isRestored: boolean;
  /** By key, the versions with which D1 has the cut-offs that the announcement is for. */
  readonly found: ReadonlyMap<string, number>;
}

/** The cut-offs that an announcement is for. */
interface CommittedCutOffs {
  readonly keys: readonly string[];
  /** The newest version that D1 gave to one of them: no shard may have been sent it. */
  readonly newest: number;
}

/** Restorations of D1 within this may follow each other: Time Travel goes back 30 days. */
const restorableMs = 31 * 86_400_000;

/**
 * **Selects the control version to announce**, stored durably before any shard is sent it, with the changes and cut-offs of D1 up to it.
 * A D1 that was restored to an earlier moment (Time Travel) would reuse the numbers of the changes it lost.
 * In that case the last announced change is missing or another row, or a committed one has a number that D1 has not reached, and the
 * numbers continue behind a gap, at which every isolate discards every copy (ADR 11).
 */
export async function nextAnnouncement(
  log: AnnouncedLog,
  database: D1Database,
  committed: CommittedCutOffs = { keys: [], newest: 0 },
): Promise<Announcement> {
  const told = log.last();
  const { rows, cutOffs } = await newestChanges(database, told.version, committed.keys);
  if (!agree(rows, told, log.last())) return nextAnnouncement(log, database, committed);
  const newest = rows[0] ?? { version: 0, atMs: 0, announcedAtMs: null };
  const found = new Map(Object.entries(JSON.parse(rows[0]?.found ?? "{}") as Record<string, number>));
  if (log.isContinued(told, newest, committed.newest)) {
    const changes = rows.map(({ version, kind, id }) => ({ version, kind, id })).reverse();
    log.record(newest, { changes, cutOffs }, nowMs());
    return { announced: newest, isRestored: false, found };
  }
  const used = Math.max(told.version, committed.newest);
  return {
    announced: await announceGap(log, database, { told, used, found: newest.version }),
    isRestored: true,
    found,
  };
}

/**
 * Whether what was read contains what another publication announced meanwhile. If not, that one has read more, or D1 was set back between the
 * two and has given one number to both.
 */
function agree(rows: readonly ChangeVersion[], told: ChangeVersion, now: ChangeVersion): boolean {
  return now.version === told.version || rows.some(({ version, atMs }) => version === now.version && atMs === now.atMs);
}

/** D1 was set back: it gets the cut-offs again that it has lost, then a gap in its numbers. */
async function announceGap(
  log: AnnouncedLog,
  database: D1Database,
  { told, used, found }: { readonly told: ChangeVersion; readonly used: number; readonly found: number },
): Promise<ChangeVersion> {
  const atMs = nowMs();
  // Set back again to before an earlier gap, the log may contain numbers of the time between that the lost cut-offs have too.
  const kept = Math.min(await lastKept(database, told.atMs), log.lowestKept(atMs));
  const lost = log.cutOffsAfter(kept);
  await restoreCutOffs(database, lost);
  const gap = await leaveGap(database, { told: used, found, unlessFound: false });
  if (gap === undefined) throw new Error("the change log returned no version");
  // Set back between the two, D1 would have the gap without the cut-offs, and nothing would show it later.
  if (await lacksCutOffs(database, lost)) throw new UnavailableError("D1", new Error("set back again"));
  log.recordGap(gap, kept, atMs + restorableMs);
  log.record(gap, { changes: [], cutOffs: [] }, atMs);
  return gap;
}

/**
 * The newest change that a restored D1 has surely kept: later rows may have been committed since, under the numbers of lost ones. Times are
 * of several clocks, which differ by less than a minute.
 */
async function lastKept(database: D1Database, announcedAtMs: number): Promise<number> {
  const select = database.prepare("SELECT max(version) AS version FROM control_changes WHERE at_ms <= ?1");
  const row = await queryDatabase(() => select.bind(announcedAtMs - 60_000).first<{ version: number | null }>());
  return row?.version ?? 0;
}

interface ChangeRow extends ChangeVersion, NamedChange {
  readonly announcedAtMs: number | null;
  readonly found: string;
}

/**
 * In one transaction: the newest changes, newest first, each with the time of the change that was announced last, `null` if that row is
 * missing, and the cut-offs of `keys`; and the cut-offs after that change, each of which D1 has from the transaction of its own change.
 */
async function newestChanges(database: D1Database, announcedVersion: number, keys: readonly string[]) {
  const changes = database
    .prepare(
      `SELECT version, kind, id, at_ms AS atMs, (SELECT at_ms FROM control_changes WHERE version = ?1) AS announcedAtMs,
              (SELECT json_group_object(key, version) FROM cut_offs WHERE key IN (SELECT value FROM json_each(?4))) AS found
         FROM control_changes WHERE version > min(?1, (SELECT max(version) FROM control_changes)) - ?2
         ORDER BY version DESC LIMIT ?3`,
    )
    .bind(announcedVersion, travellingChanges, mostTravellingChanges, JSON.stringify(keys));
  const cutOffs = database
    .prepare("SELECT key, version, until_ms AS untilMs FROM cut_offs WHERE version > ?1 ORDER BY version")
    .bind(announcedVersion);
  const [rows, added] = await queryDatabase(() => database.batch<ChangeRow | CutOff>([changes, cutOffs]));
  return { rows: rows!.results as ChangeRow[], cutOffs: added!.results as CutOff[] };
}

/**
 * **Notes in D1 what was announced, and returns the registrations of shards**, in one transaction: a shard that registers later reads this
 * version, so none vouches for an older one when these have ended. What D1 says was announced is stored in this object before, so
 * a number that a restored D1 loses is not used again (ADR 11). `undefined`: D1 was set back since the change was read, and has lost
 * registrations. Cost: 1 D1 write.
 */
export async function noteAnnounced(
  database: D1Database,
  { version, atMs }: ChangeVersion,
): Promise<readonly Registration[] | undefined> {
  const [noted, , registered] = await queryDatabase(() =>
    database.batch<Registration & { readonly version: number }>([
      database
        .prepare(
          `UPDATE announced_version SET version = max(version, ?1)
             WHERE EXISTS (SELECT 1 FROM control_changes WHERE version = ?1 AND at_ms = ?2) RETURNING version`,
        )
        .bind(version, atMs),
      database
        .prepare("DELETE FROM control_registrations WHERE ends_at_ms <= ?1")
        .bind(nowMs() - leaseTiming.clockOffsetMs),
      database.prepare("SELECT shard, version, ends_at_ms AS endsAtMs FROM control_registrations"),
    ]),
  );
  return noted!.results.length === 0 ? undefined : registered!.results;
}
