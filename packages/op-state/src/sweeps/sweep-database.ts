import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { makeMissingWords, selectWithoutWords } from "@edge-op/shared/users/search-index";
import type { UnfinishedWork } from "../changes/unfinished-work.ts";
import { reportSize } from "../wake/alarm-schedule.ts";

/**
 * How long a row of `control_changes` is kept: for longer than the lifetime of the oldest copy that is compared with it, KV's key schedule (30 days).
 * A reader that lags further detects the gap and discards everything (ADR 27).
 */
const changeLifeMs = 31 * 86_400_000;

const sweepIntervalMs = 86_400_000;
/** Rows per statement, and rows of `user_grants` that are read for one statement; the next batch follows after a pause. */
export const databaseSweep = { rows: 500, readRows: 5_000, pauseMs: 5_000 } as const;

/**
 * The newest row of the log remains, because it is the control version, and rows are deleted strictly from the oldest on, whichever clock wrote their
 * times: a reader treats a missing number as a gap and discards every copy. A change that was not sent to any shard is kept, because every isolate
 * would lack it. The other rows have ended: nothing lists them any more, and the rows of a user who never returns would otherwise remain.
 */
const oldestChanges = `WITH oldest AS (SELECT version, at_ms FROM control_changes ORDER BY version LIMIT ?2 + 1)
   DELETE FROM control_changes WHERE version <= ?3 AND version <
     coalesce((SELECT min(version) FROM oldest WHERE at_ms > ?1), (SELECT max(version) FROM oldest))`;
const endedSessions = `DELETE FROM user_sessions WHERE sid IN
   (SELECT sid FROM user_sessions WHERE ends_at_ms <= ?1 ORDER BY ends_at_ms LIMIT ?2)`;
const endedEndings = `DELETE FROM ending_sessions WHERE sid IN
   (SELECT sid FROM ending_sessions WHERE ends_at_ms <= ?1 LIMIT ?2)`;
/** Reads a part of the table in the order of its key, because an index by end would be as large as the table (ADR 27). */
const lastOfPart = "SELECT sub FROM user_grants WHERE sub > ?1 ORDER BY sub LIMIT 1 OFFSET ?2";
const endedGrants = `DELETE FROM user_grants
   WHERE sub > ?1 AND sub <= coalesce((${lastOfPart}), (SELECT max(sub) FROM user_grants)) AND until_ms <= ?3`;
const endedCutOffs = `DELETE FROM cut_offs WHERE key IN
   (SELECT key FROM cut_offs WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2)`;

const endedAddresses = `DELETE FROM user_addresses WHERE address_key IN
   (SELECT address_key FROM user_addresses WHERE held_until_ms <= ?1 ORDER BY held_until_ms LIMIT ?2)`;

const endedInvitations = `DELETE FROM invitations WHERE id IN
   (SELECT id FROM invitations WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2)`;

const endedPasswords = `DELETE FROM user_passwords WHERE sub IN
   (SELECT sub FROM user_passwords WHERE temporary_until_ms <= ?1 ORDER BY temporary_until_ms LIMIT ?2)`;

const endedRecoveries = `DELETE FROM account_recoveries WHERE sub IN
   (SELECT sub FROM account_recoveries WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2)`;

const endedScimTokens = `DELETE FROM scim_tokens WHERE id IN
   (SELECT id FROM scim_tokens WHERE expires_at_ms <= ?1 ORDER BY expires_at_ms LIMIT ?2)`;
const endedMessages = `DELETE FROM upstream_endings WHERE seq IN
   (SELECT seq FROM upstream_endings WHERE until_ms <= ?1 ORDER BY until_ms LIMIT ?2)`;

/**
 * **Deletes rows of D1 that have ended**: old changes of the log, cut-offs, replaced addresses, invitations, temporary passwords, recoveries,
 * messages of upstream providers, SCIM tokens, sessions and offline grants of users who do not return. By alarm, once a day, in bounded batches;
 * `sweepOthers` is part of each batch, and returns true once it is complete. Makes the words by which users are found whom the previous release has
 * written. Cost: 1 D1 call for each batch, 2 if words were missing.
 */
export async function sweepDatabase(
  ledger: UnfinishedWork,
  database: D1Database,
  {
    lastAnnounced,
    sweepOthers,
    whenDone,
  }: { readonly lastAnnounced: number; readonly sweepOthers: () => Promise<boolean>; readonly whenDone: () => void },
  atMs: number,
): Promise<number> {
  const dueMs = ledger.nextDatabaseSweepMs();
  if (dueMs > atMs) return dueMs;
  const { rows, readRows } = databaseSweep;
  const after = ledger.sweptGrantsUntil();
  const batch = [
    database.prepare(oldestChanges).bind(atMs - changeLifeMs, rows, lastAnnounced),
    peopleOf(database).prepare(endedSessions).bind(atMs, rows),
    peopleOf(database).prepare(endedEndings).bind(atMs, rows),
    database.prepare(endedCutOffs).bind(atMs, rows),
    peopleOf(database).prepare(endedAddresses).bind(atMs, rows),
    database.prepare(endedInvitations).bind(atMs, rows),
    peopleOf(database).prepare(endedPasswords).bind(atMs, rows),
    peopleOf(database).prepare(endedRecoveries).bind(atMs, rows),
    database.prepare(endedScimTokens).bind(atMs, rows),
    peopleOf(database).prepare(endedMessages).bind(atMs, rows),
  ];
  const part = [
    peopleOf(database)
      .prepare(lastOfPart)
      .bind(after, readRows - 1),
    peopleOf(database)
      .prepare(endedGrants)
      .bind(after, readRows - 1, atMs),
  ];
  const [wordless, ...all] = await queryDatabase(() =>
    database.batch<{ sub: string }>([selectWithoutWords(database), ...part, ...batch]),
  );
  const results = all.slice(part.length);
  const [last] = all[0]?.results ?? [];
  ledger.recordSweptGrants(last?.sub ?? "");
  const lacksWords = await makeMissingWords(database, wordless);
  const isDone =
    (await sweepOthers()) && !lacksWords && last === undefined && results.every(({ meta }) => meta.changes < rows);
  if (isDone) {
    reportSize("DB", results.at(-1));
    whenDone();
  }
  const nextMs = atMs + (isDone ? sweepIntervalMs : databaseSweep.pauseMs);
  ledger.postponeDatabaseSweep(nextMs);
  return nextMs;
}
