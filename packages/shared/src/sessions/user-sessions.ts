import { isCutOffSince } from "../cut-offs/cut-offs.ts";
import type { Place } from "../http/asker.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { coversAsked, type ReliedConsent } from "../users/consents.ts";
import { insertOfflineGrant, type NewOfflineGrant } from "../users/offline-grants.ts";
import type { UpstreamStatement } from "./session-rpc.ts";
import { insertStatements, isEnded } from "./upstream-statements.ts";

/**
 * **Sessions that end with a change of their user** (ADR 16): a suspension, a deletion, a new password, a cut-off. They are listed in D1 in the
 * transaction of the change, so that none is lost if the Worker fails after it; `ControlPlane` ends each in its object, which sends logout tokens to
 * its clients.
 *
 * The statements move all of the user's sessions except `kept`.
 */
export function endUserSessions(
  database: D1Database,
  sub: string,
  { reason, atMs, kept }: { readonly reason: string; readonly atMs: number; readonly kept?: string },
): D1PreparedStatement[] {
  return [
    peopleOf(database)
      .prepare(
        `INSERT OR IGNORE INTO ending_sessions (sid, reason, ends_at_ms)
           SELECT sid, ?2, ends_at_ms FROM user_sessions WHERE sub = ?1 AND ends_at_ms > ?3 AND sid IS NOT ?4`,
      )
      .bind(sub, reason, atMs, kept ?? null),
    peopleOf(database)
      .prepare("DELETE FROM user_sessions WHERE sub = ?1 AND sid IS NOT ?2")
      .bind(sub, kept ?? null),
  ];
}

/**
 * Lists a session that began while its user was cut off: its sign-in was verified at an earlier version and committed after the change, which
 * therefore did not move it. The same for one that rests on what an upstream provider has ended.
 */
export function listEndingSession(
  database: D1Database,
  session: {
    readonly sub: string;
    readonly sid: string;
    readonly version: number;
    readonly endsAtMs: number;
    readonly statements?: readonly UpstreamStatement[];
  },
): D1PreparedStatement {
  const { sub, sid, version, endsAtMs, statements = [] } = session;
  return peopleOf(database)
    .prepare(
      `INSERT OR IGNORE INTO ending_sessions (sid, reason, ends_at_ms) SELECT ?3, 'ended by a change during the sign-in', ?4 WHERE ${isCutOffSince} OR ${isEnded("?5")}`,
    )
    .bind(sub, version, sid, endsAtMs, JSON.stringify(statements));
}

const sessionsAtOnce = 200;

export interface UserSession extends Place {
  readonly sid: string;
  readonly device: string;
  readonly signedInAtMs: number;
  readonly endsAtMs: number;
}

interface UserSessionRow {
  readonly sid: string;
  readonly device: string;
  readonly signed_in_at_ms: number;
  readonly ends_at_ms: number;
  readonly city: string | null;
  readonly country: string | null;
}

/** What a client is admitted by when a session begins with it. */
export interface AdmittedBy {
  readonly consent?: ReliedConsent | undefined;
  readonly grant?: NewOfflineGrant | undefined;
  /** What the session rests on that an upstream provider may end. */
  readonly statements?: readonly UpstreamStatement[];
}

export interface SavedSession {
  readonly kind: "stored" | "cut off" | "ending" | "withdrawn";
  /** Whether the statement beside it has changed a row. */
  readonly hasChanged: boolean;
}

/**
 * Stores a session whose sign-in was verified at `version`, and deletes the ended sessions of the same user. A session that a committed change has
 * ended is not stored: if its sign-in precedes a cut-off of its user, or a message of the upstream provider that it rests on, it is listed as ending
 * instead (ADR 16); if its `sid` is already listed, it stays listed. Nor is one in which a client would be admitted by a consent that was withdrawn
 * meanwhile: the withdrawal has read the list before. `beside` is a statement of the same transaction, after the session. Returns whether the session
 * is stored. D1 orders every sign-in before a change, which then moves its row, or after it; the offline grant, which is listed with its session,
 * too.
 */
export async function saveUserSession(
  database: D1Database,
  sub: string,
  session: UserSession,
  version: number,
  { consent, grant, statements = [] }: AdmittedBy = {},
  beside?: D1PreparedStatement,
): Promise<SavedSession> {
  const { sid, device, signedInAtMs, endsAtMs, city, country } = session;
  const { clientId = "", asked = [] } = consent ?? {};
  const relied = [sub, clientId, JSON.stringify(asked)];
  const [insert, covered, ...others] = await queryDatabase(() =>
    peopleOf(database).batch<{ is_cut_off: number }>([
      peopleOf(database)
        .prepare(
          `SELECT ${isCutOffSince} OR ${isEnded("?4")} AS is_cut_off WHERE is_cut_off OR EXISTS (SELECT 1 FROM ending_sessions WHERE sid = ?3)`,
        )
        .bind(sub, version, sid, JSON.stringify(statements)),
      peopleOf(database)
        .prepare(`SELECT 1 WHERE ${coversAsked}`)
        .bind(...relied),
      listEndingSession(database, { sub, sid, version, endsAtMs, statements }),
      peopleOf(database)
        .prepare(
          `INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms, city, country)
           SELECT ?4, ?1, ?5, ?6, ?7, ?8, ?9 WHERE ${coversAsked} AND NOT EXISTS (SELECT 1 FROM ending_sessions WHERE sid = ?4)
           ON CONFLICT (sid) DO UPDATE SET device = excluded.device, signed_in_at_ms = excluded.signed_in_at_ms,
             ends_at_ms = excluded.ends_at_ms, city = excluded.city, country = excluded.country`,
        )
        .bind(...relied, sid, device, signedInAtMs, endsAtMs, city ?? null, country ?? null),
      ...(statements.length === 0 ? [] : [insertStatements(database, sid, statements)]),
      ...(grant === undefined ? [] : [insertOfflineGrant(database, { ...grant, sid })]),
      peopleOf(database)
        .prepare("DELETE FROM user_sessions WHERE sub = ?1 AND ends_at_ms <= ?2")
        .bind(sub, signedInAtMs),
      peopleOf(database).prepare("DELETE FROM user_grants WHERE sub = ?1 AND until_ms <= ?2").bind(sub, signedInAtMs),
      ...(beside === undefined ? [] : [beside]),
    ]),
  );
  const hasChanged = beside !== undefined && others.at(-1)?.meta.changes === 1;
  const [ended] = insert?.results ?? [];
  if (ended === undefined) return { kind: covered?.results.length === 1 ? "stored" : "withdrawn", hasChanged };
  return { kind: ended.is_cut_off === 1 ? "cut off" : "ending", hasChanged };
}

/** The newest 200, for a page. What ends sessions reaches {@link allUserSessions}. */
export async function listUserSessions(database: D1Database, sub: string, atMs: number): Promise<UserSession[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM user_sessions WHERE sub = ?1 AND ends_at_ms > ?2 ORDER BY signed_in_at_ms DESC LIMIT 200")
      .bind(sub, atMs)
      .all<UserSessionRow>(),
  );
  return results.map(toUserSession);
}

/** In the order of their sids, which the index has. */
export async function pageUserSessions(
  database: D1Database,
  sub: string,
  { after, count, atMs }: { readonly after: string; readonly count: number; readonly atMs: number },
): Promise<UserSession[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM user_sessions WHERE sub = ?1 AND sid > ?2 AND ends_at_ms > ?3 ORDER BY sid LIMIT ?4")
      .bind(sub, after, atMs, count)
      .all<UserSessionRow>(),
  );
  return results.map(toUserSession);
}

/** The `sid`s of all sessions, in parts. One that begins meanwhile may be missing. Cost: 1 D1 call for each part. */
export async function* allUserSessions(database: D1Database, sub: string, atMs: number): AsyncGenerator<string[]> {
  for (let after = ""; ; ) {
    const part = await pageUserSessions(database, sub, { after, count: sessionsAtOnce, atMs });
    if (part.length > 0) yield part.map(({ sid }) => sid);
    if (part.length < sessionsAtOnce) return;
    after = part.at(-1)!.sid;
  }
}

/** `undefined` if the session has ended, or is another person's. */
export async function findUserSession(
  database: D1Database,
  sub: string,
  sid: string,
  atMs: number,
): Promise<UserSession | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM user_sessions WHERE sid = ?2 AND sub = ?1 AND ends_at_ms > ?3")
      .bind(sub, sid, atMs)
      .first<UserSessionRow>(),
  );
  return row === null ? undefined : toUserSession(row);
}

function toUserSession(row: UserSessionRow): UserSession {
  return {
    sid: row.sid,
    device: row.device,
    signedInAtMs: row.signed_in_at_ms,
    endsAtMs: row.ends_at_ms,
    ...(row.city === null ? {} : { city: row.city }),
    ...(row.country === null ? {} : { country: row.country }),
  };
}

export async function deleteUserSessions(database: D1Database, sub: string, sids: readonly string[]): Promise<void> {
  await queryDatabase(() =>
    peopleOf(database)
      .prepare("DELETE FROM user_sessions WHERE sub = ?1 AND sid IN (SELECT value FROM json_each(?2))")
      .bind(sub, JSON.stringify(sids))
      .run(),
  );
}
