import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";

export interface Consent {
  readonly clientId: string;
  /**
   * Scope values, `claim:<name>` for individually requested claims, `detail:<JSON>` for authorization details, `detail:<hash> <type>` for long ones.
   */
  readonly allowed: readonly string[];
  /** Absent for a client that has only its administrator's consent. */
  readonly givenAtMs: number | undefined;
  readonly updatedAtMs: number | undefined;
}

interface ConsentRow {
  readonly client_id: string;
  readonly allowed: string;
  readonly given_at_ms: number | null;
  readonly updated_at_ms: number | null;
}

function toConsent(row: ConsentRow): Consent {
  return {
    clientId: row.client_id,
    allowed: readStored("consent", row.allowed, listOf(isText)),
    givenAtMs: row.given_at_ms ?? undefined,
    updatedAtMs: row.updated_at_ms ?? undefined,
  };
}

export async function findConsent(database: D1Database, sub: string, clientId: string): Promise<Consent | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM consents WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId)
      .first<ConsentRow>(),
  );
  return row === null ? undefined : toConsent(row);
}

/**
 * Includes clients without consent that hold a grant that outlives the session, so that every access can be seen and ended. ?1: the user; ?2: now.
 * `condition` is of the client_id.
 */
function selectAccesses(condition: string): string {
  return `SELECT client_id, allowed, given_at_ms, updated_at_ms FROM consents WHERE sub = ?1 AND ${condition}
  UNION ALL
  SELECT DISTINCT client_id, '["offline_access"]', NULL, NULL FROM user_grants g
   WHERE sub = ?1 AND ${condition} AND until_ms > ?2 AND EXISTS (SELECT 1 FROM clients k WHERE k.client_id = g.client_id)
     AND NOT EXISTS (SELECT 1 FROM consents c WHERE c.sub = ?1 AND c.client_id = g.client_id)`;
}

const everyAccess = selectAccesses("true");
const oneAccess = selectAccesses("client_id = ?3");
/** The page ends at a consent, if there are enough of them: grants of clients after it are not read. ?3: where it begins; ?4: how many. */
const pageOfAccesses = selectAccesses(`client_id > ?3 AND client_id <= coalesce(
  (SELECT client_id FROM consents WHERE sub = ?1 AND client_id > ?3 ORDER BY client_id LIMIT 1 OFFSET ?4), char(1114111))`);

/** The newest first. */
export async function listConsents(database: D1Database, sub: string, atMs: number): Promise<Consent[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(`${everyAccess} ORDER BY updated_at_ms DESC, client_id`)
      .bind(sub, atMs)
      .all<ConsentRow>(),
  );
  return results.map(toConsent);
}

/** The consent of one client, or that of its administrator. */
export async function findAccess(
  database: D1Database,
  sub: string,
  clientId: string,
  atMs: number,
): Promise<Consent | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database).prepare(oneAccess).bind(sub, atMs, clientId).first<ConsentRow>(),
  );
  return row === null ? undefined : toConsent(row);
}

/** In the order of their clients. */
export async function pageConsents(
  database: D1Database,
  sub: string,
  { after, count, atMs }: { readonly after: string; readonly count: number; readonly atMs: number },
): Promise<Consent[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(`${pageOfAccesses} ORDER BY client_id LIMIT ?4`)
      .bind(sub, atMs, after, count)
      .all<ConsentRow>(),
  );
  return results.map(toConsent);
}

/**
 * Adds to the existing consent. At most 50 of its authorization details are kept, because each may be used only once and the row would grow without a
 * bound; consent is requested again for one that was not kept. Allowing less later withdraws nothing.
 */
export function saveConsent(
  database: D1Database,
  consent: {
    readonly sub: string;
    readonly clientId: string;
    readonly allowed: readonly string[];
    readonly atMs: number;
  },
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO consents (sub, client_id, allowed, given_at_ms, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?4)
         ON CONFLICT (sub, client_id) DO UPDATE SET updated_at_ms = ?4, allowed =
           (SELECT json_group_array(value) FROM (
              SELECT value FROM json_each(consents.allowed) WHERE value NOT LIKE 'detail:%'
              UNION SELECT value FROM (SELECT value FROM json_each(consents.allowed) WHERE value LIKE 'detail:%' LIMIT 50)
              UNION SELECT value FROM json_each(?3)))`,
    )
    .bind(consent.sub, consent.clientId, JSON.stringify(consent.allowed), consent.atMs);
}

/** The first step of withdrawing a consent: it covers nothing from now on, but still exists for a retry after a failure. */
export async function emptyConsent(database: D1Database, sub: string, clientId: string, atMs: number): Promise<void> {
  await queryDatabase(() =>
    peopleOf(database)
      .prepare("UPDATE consents SET allowed = '[]', updated_at_ms = ?3 WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId, atMs)
      .run(),
  );
}

/**
 * What a decision rests on at its commit: the consent of a user to a client still covers `asked`. A client that needs no consent asks for nothing.
 */
export interface ReliedConsent {
  readonly sub: string;
  readonly clientId: string;
  readonly asked: readonly string[];
}

/** Whether the consent of the user ?1 to the client ?2 covers the JSON list ?3. A condition in SQL. */
export const coversAsked = `NOT EXISTS (SELECT 1 FROM json_each(?3) WHERE value NOT IN
  (SELECT allowed.value FROM consents, json_each(consents.allowed) AS allowed WHERE sub = ?1 AND client_id = ?2))`;

/** Whether the user ?3 has given the client ?4 a consent or access that outlives sessions. A condition in SQL. */
export const hasAccess = `EXISTS (SELECT 1 FROM consents WHERE sub = ?3 AND client_id = ?4)
  OR EXISTS (SELECT 1 FROM user_grants WHERE sub = ?3 AND client_id = ?4)`;

/**
 * The last step of withdrawing a consent: its grants have been revoked, so a failure before this step can be retried. A consent that was given
 * meanwhile stays.
 */
export function deleteConsent(database: D1Database, sub: string, clientId: string): D1PreparedStatement {
  return peopleOf(database)
    .prepare("DELETE FROM consents WHERE sub = ?1 AND client_id = ?2 AND allowed = '[]'")
    .bind(sub, clientId);
}
