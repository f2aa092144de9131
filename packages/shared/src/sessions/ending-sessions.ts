import { isCutOffSince } from "../cut-offs/cut-offs.ts";

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
    database
      .prepare(
        `INSERT OR IGNORE INTO ending_sessions (sid, reason, ends_at_ms)
           SELECT sid, ?2, ends_at_ms FROM user_sessions WHERE sub = ?1 AND ends_at_ms > ?3 AND sid IS NOT ?4`,
      )
      .bind(sub, reason, atMs, kept ?? null),
    database.prepare("DELETE FROM user_sessions WHERE sub = ?1 AND sid IS NOT ?2").bind(sub, kept ?? null),
  ];
}

/**
 * Lists a session that began while its user was cut off: its sign-in was verified at an earlier version and committed after the change, which
 * therefore did not move it.
 */
export function listEndingSession(
  database: D1Database,
  session: { readonly sub: string; readonly sid: string; readonly version: number; readonly endsAtMs: number },
): D1PreparedStatement {
  const { sub, sid, version, endsAtMs } = session;
  return database
    .prepare(
      `INSERT OR IGNORE INTO ending_sessions (sid, reason, ends_at_ms) SELECT ?3, 'ended by a change during the sign-in', ?4 WHERE ${isCutOffSince}`,
    )
    .bind(sub, version, sid, endsAtMs);
}
