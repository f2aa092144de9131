import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { queryDatabase } from "./query-database.ts";

/** A row of D1's `control_changes`; two that have the same number are told apart by their times. */
export interface ChangeVersion {
  readonly version: number;
  readonly atMs: number;
}

/**
 * **Numbers the changes of a D1 that was set back behind a gap** (ADR 11), two beyond what it has and what was told: whoever reads
 * on finds a number missing and forgets everything. The new row is a change of keys: no copy of the key schedule from before is
 * good without `KeyManager`, because D1 may have lost a revocation. `found` is for the log.
 *
 * `unlessFound`: only if D1 has nothing from `told` on, as a write sees it; otherwise `undefined`.
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
