import { isNumber, readStored, recordOf } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import type { CutOffIntent } from "@edge-op/shared/control/control-plane-rpc";
import { type ChangeVersion, leaveGap } from "@edge-op/shared/control/control-view";
import type { CutOff } from "@edge-op/shared/cut-offs/cut-offs";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { NamedChange } from "@edge-op/shared/storage/record-kinds";
import { type Committed, lacksCutOffs, restoreCutOffs } from "../cut-offs/cut-off-work.ts";
import type { AnnouncedLog } from "./announced-log.ts";
import type { Registration } from "./control-leases.ts";
import { carriedNames, carryRecords, type ReadRecord, readRecords, recordStatements } from "./record-copies.ts";

/** The changes that are read with the control version: all since the last announcement, and this many before it. */
const travellingChanges = 50;
/** Shards remember the same number. */
const mostTravellingChanges = 500;

interface Announcement {
  readonly announced: ChangeVersion;
  /** D1 was restored to an earlier moment, and has lost registrations of shards too. */
  readonly isRestored: boolean;
  /** The versions that D1 has for the cut-offs of the announcement, by key. */
  readonly found: ReadonlyMap<string, number>;
  /** The records of the names, as of the announced change; empty after a restoration. */
  readonly records: readonly ReadRecord[];
}

/** Holds the records whose later changes a restored D1 has lost. */
type HoldLost = () => Promise<void>;

/** Restorations of D1 within this time may follow each other: Time Travel reaches back 30 days. */
const restorableMs = 31 * 86_400_000;

/**
 * **Selects the control version to announce**, stored durably before it is sent to any shard, with the changes and cut-offs of D1 up to it. A D1 that
 * was restored to an earlier moment (Time Travel) would reuse the numbers of the changes it lost. In that case the last announced change is missing
 * or is another row, or a committed change has a number that D1 has not reached. The numbers then continue after a gap, at which every isolate
 * discards every copy (ADR 11), and `holdLost` is called before.
 */
export async function nextAnnouncement(
  log: AnnouncedLog,
  database: D1Database,
  committed: Committed = { keys: [], newest: 0, names: [] },
  holdLost: HoldLost = async () => {},
): Promise<Announcement> {
  const told = log.last();
  const { rows, cutOffs, records } = await newestChanges(database, told.version, committed);
  if (!agree(rows, told, log.last())) return nextAnnouncement(log, database, committed, holdLost);
  const newest = rows[0] ?? { version: 0, atMs: 0, announcedAtMs: null };
  const found = new Map(Object.entries(readStored("versions of cut-offs", rows[0]?.found ?? "{}", recordOf(isNumber))));
  if (log.isContinued(told, newest, committed.newest)) {
    const changes = rows.map(({ version, kind, id }) => ({ version, kind, id })).reverse();
    log.record(newest, { changes: carryRecords(changes, records, newest.version), cutOffs }, nowMs());
    return { announced: newest, isRestored: false, found, records };
  }
  // Before isolates discard what they have: nobody reads a record of the restored D1 that allows what was taken away.
  await holdLost();
  const used = Math.max(told.version, committed.newest);
  return {
    announced: await announceGap(log, database, { told, used, found: newest.version }),
    isRestored: true,
    found,
    records: [],
  };
}

/**
 * Whether the rows that were read contain the change that another publication announced meanwhile. Otherwise, that publication has read more, or D1
 * was restored between the two and has given one number to both.
 */
function agree(rows: readonly ChangeVersion[], told: ChangeVersion, now: ChangeVersion): boolean {
  return now.version === told.version || rows.some(({ version, atMs }) => version === now.version && atMs === now.atMs);
}

/** D1 was restored to an earlier moment: writes the cut-offs that it has lost, then a gap in its numbers. */
async function announceGap(
  log: AnnouncedLog,
  database: D1Database,
  { told, used, found }: { readonly told: ChangeVersion; readonly used: number; readonly found: number },
): Promise<ChangeVersion> {
  const atMs = nowMs();
  // If D1 is restored again to before an earlier gap, the log may contain numbers of the time between, which the lost cut-offs have too.
  const kept = Math.min(await lastKept(database, told.atMs), log.lowestKept(atMs));
  const lost = log.cutOffsAfter(kept);
  await restoreCutOffs(database, lost);
  const gap = await leaveGap(database, { told: used, found, unlessFound: false });
  if (gap === undefined) throw new Error("the change log returned no version");
  // If D1 was restored between the two, it would contain the gap without the cut-offs, and nothing would show it later.
  if (await lacksCutOffs(database, lost)) throw new UnavailableError("D1", new Error("set back again"));
  log.recordGap(gap, kept, atMs + restorableMs);
  log.record(gap, { changes: [], cutOffs: [] }, atMs);
  return gap;
}

/**
 * The newest change that a restored D1 has certainly kept: later rows may have been committed since, with the numbers of lost ones. Times are from
 * several clocks, which differ by less than a minute.
 */
async function lastKept(database: D1Database, announcedAtMs: number): Promise<number> {
  const select = database.prepare("SELECT max(version) AS version FROM control_changes WHERE at_ms <= ?1");
  const row = await queryDatabase(() => select.bind(announcedAtMs - 60_000).first<{ version: number | null }>());
  return row?.version ?? 0;
}

interface ChangeRow extends ChangeVersion, Omit<NamedChange, "record"> {
  readonly announcedAtMs: number | null;
  readonly found: string;
}

/**
 * Reads in one transaction: the newest changes, newest first, each with the time of the last announced change (`null` if that row is missing), and
 * the cut-offs of `keys`; the cut-offs after that change, each of which D1 has from the transaction of its own change; and the records of `names`.
 */
async function newestChanges(
  database: D1Database,
  announcedVersion: number,
  { keys, names }: Pick<Committed, "keys" | "names">,
) {
  const carried = carriedNames(names);
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
  const batch = [changes, cutOffs, ...recordStatements(database, carried)];
  const [rows, added, ...found] = await queryDatabase(() => database.batch<object>(batch));
  return {
    rows: rows!.results as ChangeRow[],
    cutOffs: added!.results as CutOff[],
    records: readRecords(carried, found),
  };
}

/**
 * **Records the announced version in D1, and returns the registrations of shards**, in one transaction: a shard that registers later reads this
 * version, so no shard vouches for an older one once these registrations have ended. This object stores the announced version before D1 does, so a
 * number that a restored D1 loses is not reused (ADR 11). Returns `undefined` if D1 was restored since the change was read, and has lost
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

/** **Returns the number of an intent's change**, if it was committed to D1: the number of its own row of the change log. Cost: 1 D1 call. */
export async function findCommitted(
  database: D1Database,
  { kind, id, changedAtMs }: CutOffIntent,
): Promise<number | undefined> {
  const select = database
    .prepare("SELECT max(version) AS version FROM control_changes WHERE kind = ?1 AND id = ?2 AND at_ms = ?3")
    .bind(kind === "sub" ? "user" : "client", id, changedAtMs);
  const row = await queryDatabase(() => select.first<{ version: number | null }>());
  return row?.version ?? undefined;
}
