import { queryDatabase } from "../cache/query-database.ts";
import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { ShardAddress } from "../sharding/shard-address.ts";

/**
 * **Consents in D1**, with the data that withdrawing a consent needs: the grants that outlive sessions, and the sessions. Not read
 * while a session contains the consent. Cost: 1 D1 call each.
 */
export interface Consent {
  readonly clientId: string;
  /** Scope values, `claim:<name>` for individually requested claims, `detail:<hash> <type>` for authorization details. */
  readonly allowed: readonly string[];
  /** Absent for a client with its administrator's consent alone. */
  readonly givenAtMs: number | undefined;
  readonly updatedAtMs: number | undefined;
}

export interface OfflineGrant {
  readonly grantId: string;
  readonly address: GrantIdentity["address"];
  readonly untilMs: number;
  /** Its refresh family; absent for a grant of an earlier release. */
  readonly family?: { readonly address: ShardAddress; readonly tokensEndAtMs: number } | undefined;
}

/** Where a session was opened, as the platform estimates it; the address is not stored. */
export interface Place {
  readonly city?: string;
  /** ISO 3166-1 alpha-2. */
  readonly country?: string;
}

export interface UserSession extends Place {
  readonly sid: string;
  readonly device: string;
  readonly signedInAtMs: number;
  readonly endsAtMs: number;
}

interface ConsentRow {
  readonly client_id: string;
  readonly allowed: string;
  readonly given_at_ms: number | null;
  readonly updated_at_ms: number | null;
}

interface UserSessionRow {
  readonly sid: string;
  readonly device: string;
  readonly signed_in_at_ms: number;
  readonly ends_at_ms: number;
  readonly city: string | null;
  readonly country: string | null;
}

function toConsent(row: ConsentRow): Consent {
  return {
    clientId: row.client_id,
    allowed: JSON.parse(row.allowed) as string[],
    givenAtMs: row.given_at_ms ?? undefined,
    updatedAtMs: row.updated_at_ms ?? undefined,
  };
}

export async function findConsent(database: D1Database, sub: string, clientId: string): Promise<Consent | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT * FROM consents WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId)
      .first<ConsentRow>(),
  );
  return row === null ? undefined : toConsent(row);
}

/** Includes clients without consent that hold a grant that outlives the session, so that every access can be seen and ended. */
export async function listConsents(database: D1Database, sub: string, atMs: number): Promise<Consent[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare(
        `SELECT client_id, allowed, given_at_ms, updated_at_ms FROM consents WHERE sub = ?1
         UNION ALL
         SELECT DISTINCT client_id, '["offline_access"]', NULL, NULL FROM offline_grants
          WHERE sub = ?1 AND until_ms > ?2 AND client_id NOT IN (SELECT client_id FROM consents WHERE sub = ?1)
         ORDER BY updated_at_ms DESC, client_id`,
      )
      .bind(sub, atMs)
      .all<ConsentRow>(),
  );
  return results.map(toConsent);
}

/**
 * Adds to the existing consent, of whose authorization details 50 are kept: each may be used once, and without a bound the row would
 * grow. A person is asked again for one that was not kept. Allowing less later withdraws nothing. `event` is its audit event, in the same transaction.
 */
export async function saveConsent(
  database: D1Database,
  consent: {
    readonly sub: string;
    readonly clientId: string;
    readonly allowed: readonly string[];
    readonly atMs: number;
  },
  event: D1PreparedStatement,
): Promise<void> {
  await queryDatabase(() =>
    database.batch([
      database
        .prepare(
          `INSERT INTO consents (sub, client_id, allowed, given_at_ms, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?4)
         ON CONFLICT (sub, client_id) DO UPDATE SET updated_at_ms = ?4, allowed =
           (SELECT json_group_array(value) FROM (
              SELECT value FROM json_each(consents.allowed) WHERE value NOT LIKE 'detail:%'
              UNION SELECT value FROM (SELECT value FROM json_each(consents.allowed) WHERE value LIKE 'detail:%' LIMIT 50)
              UNION SELECT value FROM json_each(?3)))`,
        )
        .bind(consent.sub, consent.clientId, JSON.stringify(consent.allowed), consent.atMs),
      event,
    ]),
  );
}

export async function listOfflineGrants(database: D1Database, sub: string, clientId: string): Promise<OfflineGrant[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare("SELECT grant_id, address, until_ms, family FROM offline_grants WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId)
      .all<{ grant_id: string; address: string; until_ms: number; family: string | null }>(),
  );
  return results.map((row) => ({
    grantId: row.grant_id,
    address: JSON.parse(row.address) as OfflineGrant["address"],
    untilMs: row.until_ms,
    ...(row.family === null ? {} : { family: JSON.parse(row.family) as OfflineGrant["family"] }),
  }));
}

/** The first step of withdrawing a consent: it covers nothing from now on, but still exists for a retry after a failure. */
export async function emptyConsent(database: D1Database, sub: string, clientId: string, atMs: number): Promise<void> {
  await queryDatabase(() =>
    database
      .prepare("UPDATE consents SET allowed = '[]', updated_at_ms = ?3 WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId, atMs)
      .run(),
  );
}

/** The last step of withdrawing a consent: its grants have been revoked, so a failure before this step can be retried. */
export async function deleteConsent(
  database: D1Database,
  sub: string,
  clientId: string,
  revoked: readonly OfflineGrant[],
  event: D1PreparedStatement,
): Promise<void> {
  await queryDatabase(() =>
    database.batch([
      database
        .prepare("DELETE FROM offline_grants WHERE grant_id IN (SELECT value FROM json_each(?1))")
        .bind(JSON.stringify(revoked.map(({ grantId }) => grantId))),
      database.prepare("DELETE FROM consents WHERE sub = ?1 AND client_id = ?2").bind(sub, clientId),
      event,
    ]),
  );
}

export async function saveOfflineGrant(
  database: D1Database,
  grant: OfflineGrant & { readonly sub: string; readonly clientId: string },
): Promise<void> {
  await queryDatabase(() =>
    database
      .prepare(
        `INSERT INTO offline_grants (grant_id, sub, client_id, address, until_ms, family)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
      )
      .bind(
        grant.grantId,
        grant.sub,
        grant.clientId,
        JSON.stringify(grant.address),
        grant.untilMs,
        grant.family === undefined ? null : JSON.stringify(grant.family),
      )
      .run(),
  );
}

/** For a change that ends every grant of a user: none of them is listed any more. */
export function forgetOfflineGrants(database: D1Database, sub: string): D1PreparedStatement {
  return database.prepare("DELETE FROM offline_grants WHERE sub = ?1").bind(sub);
}

/** Stores a session and deletes the ended sessions of the same user. */
export async function saveUserSession(database: D1Database, sub: string, session: UserSession): Promise<void> {
  const { sid, device, signedInAtMs, endsAtMs, city, country } = session;
  await queryDatabase(() =>
    database.batch([
      database
        .prepare(
          `INSERT OR REPLACE INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms, city, country)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
        )
        .bind(sid, sub, device, signedInAtMs, endsAtMs, city ?? null, country ?? null),
      database.prepare("DELETE FROM user_sessions WHERE sub = ?1 AND ends_at_ms <= ?2").bind(sub, signedInAtMs),
      database.prepare("DELETE FROM offline_grants WHERE sub = ?1 AND until_ms <= ?2").bind(sub, signedInAtMs),
    ]),
  );
}

export async function listUserSessions(database: D1Database, sub: string, atMs: number): Promise<UserSession[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare("SELECT * FROM user_sessions WHERE sub = ?1 AND ends_at_ms > ?2 ORDER BY signed_in_at_ms DESC LIMIT 200")
      .bind(sub, atMs)
      .all<UserSessionRow>(),
  );
  return results.map((row) => ({
    sid: row.sid,
    device: row.device,
    signedInAtMs: row.signed_in_at_ms,
    endsAtMs: row.ends_at_ms,
    ...(row.city === null ? {} : { city: row.city }),
    ...(row.country === null ? {} : { country: row.country }),
  }));
}

export async function deleteUserSession(database: D1Database, sub: string, sid: string): Promise<void> {
  await queryDatabase(() =>
    database.prepare("DELETE FROM user_sessions WHERE sid = ?1 AND sub = ?2").bind(sid, sub).run(),
  );
}
