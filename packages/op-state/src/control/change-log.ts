import { askDatabase } from "@edge-op/shared/cache/ask-database";
import { leaveGap, type NumberedChange } from "@edge-op/shared/cache/change-gap";
import type { ControlLedger } from "./control-ledger.ts";
import { changeLifeMs } from "./control-machine.ts";

const sweepIntervalMs = 86_400_000;
/** More rows than that at once: the next batch follows after a pause. */
const batchRows = 500;
const nextBatchMs = 5_000;

/**
 * **Deletes what is too old in D1's `control_changes`**, from the alarm, once a day at most: one statement of bounded work.
 * The newest row stays (it is the control version), and rows go strictly from the oldest on, whatever clock wrote their
 * times: readers take a missing number for a gap behind which they know nothing. Asks for no alarm of its own when it is
 * done: the log only grows by changes, and each of those brings one.
 */
export async function sweepChangeLog(
  ledger: ControlLedger,
  database: D1Database,
  atMs: number,
): Promise<number | undefined> {
  if (!ledger.isChangeSweepDue(atMs)) return undefined;
  const deleteOldest = database
    .prepare(
      `WITH oldest AS (SELECT version, at_ms FROM control_changes ORDER BY version LIMIT ?2 + 1)
       DELETE FROM control_changes WHERE version <
         coalesce((SELECT min(version) FROM oldest WHERE at_ms > ?1), (SELECT max(version) FROM oldest))`,
    )
    .bind(atMs - changeLifeMs, batchRows);
  const { meta } = await askDatabase(() => deleteOldest.run());
  const isDone = meta.changes < batchRows;
  ledger.postponeChangeSweep(atMs + (isDone ? sweepIntervalMs : nextBatchMs));
  return isDone ? undefined : atMs + nextBatchMs;
}

/**
 * **The control version to tell**, noted durably before anyone is told. D1 can be set back to an earlier moment (Time Travel),
 * and would number its next changes like those it lost, which isolates believe they know. Then what was told last is missing or
 * another row: numbers go on behind a gap, at which everyone forgets everything (ADR 11).
 */
export async function versionToTell(ledger: ControlLedger, database: D1Database): Promise<number> {
  const told = ledger.lastTold();
  const newest = await newestChange(database, told.version);
  const isSetBack = told.version > 0 && newest.toldAtMs !== told.atMs;
  const gap = isSetBack
    ? await leaveGap(database, { told: told.version, found: newest.version, unlessFound: false })
    : undefined;
  const toTell = gap ?? newest;
  ledger.noteTold(toTell);
  return toTell.version;
}

/** With the time of the change that was told last, `null` if it is not there. */
async function newestChange(database: D1Database, toldVersion: number) {
  const select = database
    .prepare(
      `SELECT version, at_ms AS atMs, (SELECT at_ms FROM control_changes WHERE version = ?1) AS toldAtMs
         FROM control_changes ORDER BY version DESC LIMIT 1`,
    )
    .bind(toldVersion);
  const row = await askDatabase(() => select.first<NumberedChange & { readonly toldAtMs: number | null }>());
  return row ?? { version: 0, atMs: 0, toldAtMs: null };
}
