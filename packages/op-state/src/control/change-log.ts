import { type ChangeVersion, leaveGap } from "@edge-op/shared/cache/change-gap";
import { queryDatabase } from "@edge-op/shared/cache/query-database";
import type { NamedChange } from "@edge-op/shared/objects/token-revocation-store";
import type { ControlLedger } from "./control-ledger.ts";

/** The number of newest changes that are sent with the control version; an isolate that lags further reads D1. */
const travellingChanges = 50;

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
  const gap = isSetBack
    ? await leaveGap(database, { told: told.version, found: newest.version, unlessFound: false })
    : undefined;
  const announced = gap ?? newest;
  if (gap !== undefined) ledger.recordGap(gap.version);
  ledger.recordAnnounced(announced);
  const changes = gap === undefined ? rows.map(({ version, kind, id }) => ({ version, kind, id })).reverse() : [];
  return { cv: announced.version, changes };
}

/** Newest first; each with the time of the change that was announced last, `null` if that row is missing. */
async function newestChanges(database: D1Database, announcedVersion: number) {
  const select = database
    .prepare(
      `SELECT version, kind, id, at_ms AS atMs, (SELECT at_ms FROM control_changes WHERE version = ?1) AS announcedAtMs
         FROM control_changes ORDER BY version DESC LIMIT ?2`,
    )
    .bind(announcedVersion, travellingChanges);
  const { results } = await queryDatabase(() =>
    select.all<ChangeVersion & NamedChange & { readonly announcedAtMs: number | null }>(),
  );
  return results;
}

/** The place of a cut-off among the changes, if no change of a record belongs to it. Cost: 1 D1 write. */
export async function appendCutOff(database: D1Database, key: string, atMs: number): Promise<number> {
  const insert = database
    .prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('cut-off', ?1, ?2) RETURNING version")
    .bind(key, atMs);
  const row = await queryDatabase(() => insert.first<{ version: number }>());
  if (row === null) throw new Error("the change log returned no version");
  return row.version;
}
