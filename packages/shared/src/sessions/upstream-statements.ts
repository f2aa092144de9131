import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { UpstreamStatement } from "./session-rpc.ts";

/**
 * **What upstream providers have ended**, in the order of D1: a message has a number, and a sign-in has the newest number of when the person left for
 * the provider. A session is ended by a later message that names it, in the transaction of the message if it is listed, else in its own
 * ({@link isEnded} in `saveUserSession`): whichever comes second sees the other. No clock of this provider takes part.
 */

/** How far the clocks of a provider's servers may differ, in seconds. */
const providerClockSeconds = 60;

/** A message that was late ends nothing that the provider has stated since. `s`: a statement, `e`: an ending of its name. */
const isLater = (asOf: string, issuedAt: string) =>
  `e.seq > ${asOf} AND ${issuedAt} <= e.issued_at + ${providerClockSeconds}`;

/** A condition in SQL: whether one of the statements, JSON in the parameter, has been ended since its sign-in began. */
export function isEnded(parameter: string): string {
  const [session, subject, asOf, issuedAt] = ["session", "subject", "asOf", "issuedAt"].map(
    (name) => `s.value ->> '${name}'`,
  );
  return `EXISTS (SELECT 1 FROM json_each(${parameter}) s JOIN upstream_endings e ON e.name IN (${session}, ${subject})
            WHERE ${isLater(asOf!, issuedAt!)})`;
}

/** Lists what a session rests on, if the session is listed. A statement replaces an earlier one of the same session there. */
export function insertStatements(
  database: D1Database,
  sid: string,
  statements: readonly UpstreamStatement[],
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT OR REPLACE INTO upstream_sessions (sid, session_key, subject_key, issued_at, as_of)
         SELECT ?1, value ->> 'session', value ->> 'subject', value ->> 'issuedAt', value ->> 'asOf' FROM json_each(?2)
          WHERE EXISTS (SELECT 1 FROM user_sessions WHERE sid = ?1)`,
    )
    .bind(sid, JSON.stringify(statements));
}

/** The number of the newest message; 0 if there is none. Cost: 1 D1 call. */
export async function newestEnding(database: D1Database): Promise<number> {
  const select = "SELECT coalesce(max(seq), 0) AS seq FROM upstream_endings";
  return (await queryDatabase(() => peopleOf(database).prepare(select).first<number>("seq"))) ?? 0;
}

/** A verified message of an upstream provider. */
export interface UpstreamEnding {
  /** Names the message, which counts once. */
  readonly id: string;
  /** The keys of what has ended. */
  readonly keys: readonly string[];
  readonly issuedAt: number;
  readonly untilMs: number;
  /** The keys of a session and of its person, if the message has both. */
  readonly pair?: Pick<UpstreamStatement, "session" | "subject"> | undefined;
}

export interface EndedByUpstream {
  readonly sid: string;
  readonly sub: string;
}

/** Sessions that are listed at once. */
export const endedAtOnce = 100;

const listed = (key: string) =>
  `SELECT s.sid, u.sub FROM upstream_endings e JOIN upstream_sessions s ON s.${key} = e.name JOIN user_sessions u ON u.sid = s.sid
    WHERE e.name IN (SELECT value FROM json_each(?1)) AND ${isLater("s.as_of", "s.issued_at")}`;

function selectEnded(database: D1Database, keys: readonly string[]): D1PreparedStatement {
  return peopleOf(database)
    .prepare(`${listed("session_key")} UNION ${listed("subject_key")} LIMIT ${endedAtOnce}`)
    .bind(JSON.stringify(keys));
}

/** The keys of a message, if the statement before it has recorded the message. */
export function insertKeys(
  database: D1Database,
  { keys, issuedAt, untilMs }: Pick<UpstreamEnding, "keys" | "issuedAt" | "untilMs">,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT OR REPLACE INTO upstream_endings (name, issued_at, until_ms)
         SELECT value, max(?2, coalesce((SELECT issued_at FROM upstream_endings WHERE name = value), 0)), ?3
           FROM json_each(?1) WHERE changes() > 0`,
    )
    .bind(JSON.stringify(keys), issuedAt, untilMs);
}

/**
 * **Records a message, once**, and returns the sessions that it ends and that are still listed, up to 100: also for a repetition, which finishes what
 * the first one has begun and ends nothing that has begun since. `undefined`, and nothing is recorded, if the session is another person's. Cost: 1
 * D1 call.
 */
export async function recordEnding(
  database: D1Database,
  { id, keys, issuedAt, untilMs, pair }: UpstreamEnding,
): Promise<readonly EndedByUpstream[] | undefined> {
  const others = "SELECT 1 FROM upstream_sessions WHERE session_key = ?1 AND subject_key <> ?2";
  const own = [pair?.session ?? "", pair?.subject ?? ""];
  const [contradicts, , , ended] = await queryDatabase(() =>
    peopleOf(database).batch<EndedByUpstream>([
      peopleOf(database)
        .prepare(`${others} LIMIT 1`)
        .bind(...own),
      peopleOf(database)
        .prepare(
          `INSERT OR IGNORE INTO upstream_endings (name, issued_at, until_ms) SELECT ?3, ?4, ?5 WHERE NOT EXISTS (${others})`,
        )
        .bind(...own, id, issuedAt, untilMs),
      insertKeys(database, { keys, issuedAt, untilMs }),
      selectEnded(database, keys),
    ]),
  );
  return contradicts!.results.length > 0 ? undefined : ended!.results;
}

/** The next of them, after the first were ended. Cost: 1 D1 call. */
export async function listEnded(database: D1Database, keys: readonly string[]): Promise<readonly EndedByUpstream[]> {
  return (await queryDatabase(() => selectEnded(database, keys).all<EndedByUpstream>())).results;
}
