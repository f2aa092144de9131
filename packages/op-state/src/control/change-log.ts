import { type ChangeVersion, leaveGap } from "@edge-op/shared/cache/change-gap";
import { queryDatabase } from "@edge-op/shared/cache/query-database";
import type { NamedChange } from "@edge-op/shared/objects/token-revocation-store";
import type { ControlLedger } from "./control-ledger.ts";
import { isVersioned, restoreCutOffs } from "./cut-off-records.ts";

/** The changes that are sent with the control version: all since the last announcement, and so many before it. */
const travellingChanges = 50;
/** Shards remember as many. */
const mostTravellingChanges = 500;

export interface Announcement {
  readonly cv: number;
  /** The newest changes, ascending, ending with `cv`. Empty behind a gap (ADR 11). */
  readonly changes: readonly NamedChange[];
}

/**
 * **Selects the control version to announce**, stored durably before it is raised anywhere, with the changes that isolates then
 * need not read from D1. A D1 that was restored to an earlier moment (Time Travel) would reuse the numbers of the changes it lost.
 * In that case the last announced change is missing or another row, and the numbers continue behind a gap, at which every isolate
 * discards every copy (ADR 11).
 */
export async function nextAnnouncement(ledger: ControlLedger, database: D1Database): Promise<Announcement> {
  const told = ledger.lastAnnounced();
  const rows = await newestChanges(database, told.version);
  const newest = rows[0] ?? { version: 0, atMs: 0, announcedAtMs: null };
  const isSetBack = told.version > 0 && newest.announcedAtMs !== told.atMs;
  if (isSetBack) {
    const keptVersion = await lastKept(database, told.atMs);
    const lost = ledger.cutOffs.live().filter(({ version = 0 }) => version > keptVersion);
    await restoreCutOffs(database, lost.filter(isVersioned));
  }
  const gap = isSetBack
    ? await leaveGap(database, { told: told.version, found: newest.version, unlessFound: false })
    : undefined;
  const announced = gap ?? newest;
  if (gap !== undefined) ledger.recordGap(gap.version);
  ledger.recordAnnounced(announced);
  const changes = gap === undefined ? rows.map(({ version, kind, id }) => ({ version, kind, id })).reverse() : [];
  return { cv: announced.version, changes };
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

/** Newest first; each with the time of the change that was announced last, `null` if that row is missing. */
async function newestChanges(database: D1Database, announcedVersion: number) {
  const select = database
    .prepare(
      `SELECT version, kind, id, at_ms AS atMs, (SELECT at_ms FROM control_changes WHERE version = ?1) AS announcedAtMs
         FROM control_changes WHERE version > min(?1, (SELECT max(version) FROM control_changes)) - ?2
         ORDER BY version DESC LIMIT ?3`,
    )
    .bind(announcedVersion, travellingChanges, mostTravellingChanges);
  const { results } = await queryDatabase(() =>
    select.all<ChangeVersion & NamedChange & { readonly announcedAtMs: number | null }>(),
  );
  return results;
}
