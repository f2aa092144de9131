import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { type ChangeVersion, leaveGap } from "@edge-op/shared/control/change-gap";
import type { NamedChange } from "@edge-op/shared/leases/revocation-shard-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { ControlLedger } from "./control-ledger.ts";
import { lacksCutOffs, restoreCutOffs } from "./cut-off-records.ts";

/** The changes that are sent with the control version: all since the last announcement, and so many before it. */
const travellingChanges = 50;
/** Shards remember as many. */
const mostTravellingChanges = 500;

export interface Announcement {
  readonly cv: number;
  /** The newest changes, ascending, ending with `cv`. Empty behind a gap (ADR 11). */
  readonly changes: readonly NamedChange[];
}

/** The cut-offs that an announcement is for. */
interface CommittedCutOffs {
  readonly keys: readonly string[];
  /** The newest version that D1 gave to one of them: no shard may have been sent it. */
  readonly newest: number;
}

/** By key, the versions with which D1 has the cut-offs of an announcement. */
type FoundCutOffs = ReadonlyMap<string, number>;

/** Restorations of D1 within this may follow each other: Time Travel goes back 30 days. */
const restorableMs = 31 * 86_400_000;

/**
 * **Selects the control version to announce**, stored durably before it is raised anywhere, with the changes that isolates then
 * need not read from D1. A D1 that was restored to an earlier moment (Time Travel) would reuse the numbers of the changes it lost.
 * In that case the last announced change is missing or another row, or a committed one has a number that D1 has not reached, and the
 * numbers continue behind a gap, at which every isolate discards every copy (ADR 11).
 */
export async function nextAnnouncement(
  ledger: ControlLedger,
  database: D1Database,
  committed: CommittedCutOffs = { keys: [], newest: 0 },
): Promise<{ readonly announcement: Announcement; readonly found: FoundCutOffs }> {
  const told = ledger.lastAnnounced();
  const rows = await newestChanges(database, told.version, committed.keys);
  if (!agree(rows, told, ledger.lastAnnounced())) return nextAnnouncement(ledger, database, committed);
  const newest = rows[0] ?? { version: 0, atMs: 0, announcedAtMs: null };
  const found = foundIn(rows[0]?.found);
  if (ledger.isContinued(told, newest, committed.newest)) {
    ledger.recordAnnounced(newest);
    const changes = rows.map(({ version, kind, id }) => ({ version, kind, id })).reverse();
    return { announcement: { cv: newest.version, changes }, found };
  }
  const used = Math.max(told.version, committed.newest);
  return { announcement: await announceGap(ledger, database, { told, used, found: newest.version }), found };
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
  ledger: ControlLedger,
  database: D1Database,
  { told, used, found }: { readonly told: ChangeVersion; readonly used: number; readonly found: number },
): Promise<Announcement> {
  const atMs = nowMs();
  // Set back again to before an earlier gap, the log may contain numbers of the time between that the lost cut-offs have too.
  const kept = Math.min(await lastKept(database, told.atMs), ledger.lowestKept(atMs));
  const lost = ledger.cutOffs.live().filter(({ version }) => version > kept);
  await restoreCutOffs(database, lost);
  const gap = await leaveGap(database, { told: used, found, unlessFound: false });
  if (gap === undefined) throw new Error("the change log returned no version");
  // Set back between the two, D1 would have the gap without the cut-offs, and nothing would show it later.
  if (await lacksCutOffs(database, lost)) throw new UnavailableError("D1", new Error("set back again"));
  ledger.recordGap(gap.version, kept, atMs + restorableMs);
  ledger.recordAnnounced(gap);
  return { cv: gap.version, changes: [] };
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

function foundIn(json: string | null | undefined): FoundCutOffs {
  return new Map(Object.entries(JSON.parse(json ?? "{}") as Record<string, number>));
}

/** Newest first; each with the time of the change that was announced last, `null` if that row is missing, and the cut-offs of `keys`. */
async function newestChanges(database: D1Database, announcedVersion: number, keys: readonly string[]) {
  const select = database
    .prepare(
      `SELECT version, kind, id, at_ms AS atMs, (SELECT at_ms FROM control_changes WHERE version = ?1) AS announcedAtMs,
              (SELECT json_group_object(key, version) FROM cut_offs WHERE key IN (SELECT value FROM json_each(?4))) AS found
         FROM control_changes WHERE version > min(?1, (SELECT max(version) FROM control_changes)) - ?2
         ORDER BY version DESC LIMIT ?3`,
    )
    .bind(announcedVersion, travellingChanges, mostTravellingChanges, JSON.stringify(keys));
  const { results } = await queryDatabase(() =>
    select.all<ChangeVersion & NamedChange & { readonly announcedAtMs: number | null; readonly found: string }>(),
  );
  return results;
}
