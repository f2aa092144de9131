/**
 * **Writes cut-offs to D1, where the records of users and clients contain them** (ADR 28), before they are sent to any shard. The endpoint that
 * commits a change writes its cut-off in the same transaction; this module writes the others.
 */

import { limits } from "@edge-op/shared/config/limits";
import { type CutOff, cutOffKey, recordAll, recordedAtOnce, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

const userPrefix = cutOffKey("sub", "");

/**
 * Makes a cut-off a change of its own, which ends the sessions of its user: for a cut-off without a change of a record, or whose change a restored D1
 * has lost. Returns its number. Cost: 1 D1 write.
 */
export async function appendCutOff(
  database: D1Database,
  cutOff: Omit<CutOff, "version">,
  atMs: number,
): Promise<number> {
  const insert = database
    .prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('cut-off', ?1, ?2) RETURNING version")
    .bind(cutOff.key, atMs);
  const sub = cutOff.key.startsWith(userPrefix) ? cutOff.key.slice(userPrefix.length) : undefined;
  const ending = sub === undefined ? [] : endUserSessions(database, sub, { reason: "cut off", atMs });
  const statements = [insert, recordNewest(database, cutOff), ...ending];
  const [appended] = await queryDatabase(() => database.batch<{ version: number }>(statements));
  const version = appended?.results[0]?.version;
  if (version === undefined) throw new Error("the change log returned no version");
  return version;
}

/** Writes the cut-offs that a restored D1 has lost, before the gap at which isolates discard every record (ADR 11). They do not take a number. */
export async function restoreCutOffs(database: D1Database, cutOffs: readonly CutOff[]): Promise<void> {
  await writeAll(database, cutOffs, (some) => [recordAll(database, some)]);
}

export async function lacksCutOffs(database: D1Database, cutOffs: readonly CutOff[]): Promise<boolean> {
  for (let from = 0; from < cutOffs.length; from += recordedAtOnce) {
    const some = cutOffs.slice(from, from + recordedAtOnce);
    const select = database
      .prepare(
        `SELECT 1 FROM json_each(?1)
          WHERE NOT EXISTS (SELECT 1 FROM cut_offs WHERE key = value ->> 'key' AND version >= value ->> 'version') LIMIT 1`,
      )
      .bind(JSON.stringify(some));
    if ((await queryDatabase(() => select.first())) !== null) return true;
  }
  return false;
}

async function writeAll(
  database: D1Database,
  cutOffs: readonly CutOff[],
  statementsFor: (some: readonly CutOff[]) => D1PreparedStatement[],
): Promise<void> {
  for (let from = 0; from < cutOffs.length; from += recordedAtOnce) {
    const some = cutOffs.slice(from, from + recordedAtOnce);
    await queryDatabase(() => database.batch(statementsFor(some)), limits.databaseCommitMs);
  }
}
