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
  const { meta } = await database
    .prepare(
      `WITH oldest AS (SELECT version, at_ms FROM control_changes ORDER BY version LIMIT ?2 + 1)
       DELETE FROM control_changes WHERE version <
         coalesce((SELECT min(version) FROM oldest WHERE at_ms > ?1), (SELECT max(version) FROM oldest))`,
    )
    .bind(atMs - changeLifeMs, batchRows)
    .run();
  const isDone = meta.changes < batchRows;
  ledger.postponeChangeSweep(atMs + (isDone ? sweepIntervalMs : nextBatchMs));
  return isDone ? undefined : atMs + nextBatchMs;
}
