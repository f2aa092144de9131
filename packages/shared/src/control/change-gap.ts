import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { queryDatabase } from "../storage/query-database.ts";

/** The number and time of a row of D1's `control_changes`. Two rows with the same number differ in their times. */
export interface ChangeVersion {
  readonly version: number;
  readonly atMs: number;
}

/**
 * **Leaves a gap in the numbers of `control_changes` after D1 was restored to an earlier moment** (ADR 11): the next number is two beyond the largest
 * in D1 and the last announced one. Every reader finds a number missing and discards its copies. The new row is a change of kind `keys`, because D1
 * may have lost a key revocation. `found` is for the log.
 *
 * With `unlessFound`, it inserts only if D1 has no row from `told` on, and otherwise returns `undefined`.
 */
export async function leaveGap(
  database: D1Database,
  { told, found, unlessFound }: { readonly told: number; readonly found: number; readonly unlessFound: boolean },
): Promise<ChangeVersion | undefined> {
  const atMs = nowMs();
  const insert = database
    .prepare(
      `INSERT INTO control_changes (version, kind, id, at_ms)
         SELECT max(coalesce((SELECT max(version) FROM control_changes), 0), ?1) + 2, 'keys', '*', ?2
           WHERE ?3 = 0 OR NOT EXISTS (SELECT 1 FROM control_changes WHERE version >= ?1) RETURNING version`,
    )
    .bind(told, atMs, unlessFound ? 1 : 0);
  const row = await queryDatabase(() => insert.first<{ readonly version: number }>());
  if (row === null) return undefined;
  log("d1-set-back", { told, found, now: row.version });
  return { version: row.version, atMs };
}
