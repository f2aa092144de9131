import { queryDatabase } from "../cache/query-database.ts";
import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { ShardAddress } from "../sharding/shard-address.ts";
import { isCutOffSince } from "./cut-offs.ts";
import { listEndingSession } from "./ending-sessions.ts";

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
  /** Absent if it has no refresh family. */
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

interface UserGrantRow {
  readonly grant_id: string;
  readonly generation: number;
  readonly region: string;
  readonly shard: number;
  readonly until_ms: number;
  readonly family_generation: number | null;
  readonly family_region: string | null;
  readonly family_shard: number | null;
  readonly tokens_end_at_ms: number | null;
}

function toOfflineGrant(row: UserGrantRow): OfflineGrant {
  const { generation, region, shard } = row;
  const grant = { grantId: row.grant_id, address: { generation, region, shard }, untilMs: row.until_ms };
  if (row.family_generation === null) return grant;
  const address = {
    generation: row.family_generation,
    region: row.family_region ?? region,
    shard: row.family_shard!,
  };
  return { ...grant, family: { address, tokensEndAtMs: row.tokens_end_at_ms! } };
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
         SELECT DISTINCT client_id, '["offline_access"]', NULL, NULL FROM user_grants
          WHERE sub = ?1 AND until_ms > ?2 AND client_id IN (SELECT client_id FROM clients)
            AND client_id NOT IN (SELECT client_id FROM consents WHERE sub = ?1)
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
      .prepare("SELECT * FROM user_grants WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId)
      .all<UserGrantRow>(),
  );
  return results.map(toOfflineGrant);
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

/** Whether the user ?3 has given the client ?4 a consent or access that outlives sessions. A condition in SQL. */
export const hasAccess = `EXISTS (SELECT 1 FROM consents WHERE sub = ?3 AND client_id = ?4)
  OR EXISTS (SELECT 1 FROM user_grants WHERE sub = ?3 AND client_id = ?4)`;

/**
 * The last step of withdrawing a consent: its grants have been revoked, so a failure before this step can be retried. `event` is written before
 * the rows are deleted, in the same transaction, so that its condition ({@link hasAccess}) sees them.
 */
export async function deleteConsent(
  database: D1Database,
  sub: string,
  clientId: string,
  revoked: readonly OfflineGrant[],
  event: D1PreparedStatement,
): Promise<void> {
  await queryDatabase(() =>
    database.batch([
      event,
      database
        .prepare(
          `DELETE FROM user_grants WHERE sub = ?1 AND client_id = ?2 AND grant_id IN (SELECT value FROM json_each(?3))`,
        )
        .bind(sub, clientId, JSON.stringify(revoked.map(({ grantId }) => grantId))),
      database.prepare("DELETE FROM consents WHERE sub = ?1 AND client_id = ?2").bind(sub, clientId),
    ]),
  );
}

export async function saveOfflineGrant(
  database: D1Database,
  {
    grantId,
    sub,
    clientId,
    address,
    untilMs,
    family,
  }: OfflineGrant & { readonly sub: string; readonly clientId: string },
): Promise<void> {
  const familyRegion = family?.address.region;
  await queryDatabase(() =>
    database
      .prepare("INSERT INTO user_grants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")
      .bind(
        sub,
        clientId,
        grantId,
        address.generation,
        address.region,
        address.shard,
        untilMs,
        family?.address.generation ?? null,
        familyRegion === undefined || familyRegion === address.region ? null : familyRegion,
        family?.address.shard ?? null,
        family?.tokensEndAtMs ?? null,
      )
      .run(),
  );
}

/** For a change that ends every grant of a user: none of them is listed any more. */
export function forgetOfflineGrants(database: D1Database, sub: string): D1PreparedStatement {
  return database.prepare("DELETE FROM user_grants WHERE sub = ?1").bind(sub);
}

/**
 * Stores a session that rests on a sign-in at `version`, and deletes the ended sessions of the same user. A session that a committed change has
 * ended is not stored: one that rests on what was before a cut-off of its user is listed as ending instead (ADR 54), and one whose `sid` is
 * listed stays listed. Returns whether it has ended so. In D1's order every sign-in is before a change, which then moves its row, or after it.
 */
export async function saveUserSession(
  database: D1Database,
  sub: string,
  session: UserSession,
  version: number,
): Promise<"stored" | "cut off" | "ending"> {
  const { sid, device, signedInAtMs, endsAtMs, city, country } = session;
  const [insert] = await queryDatabase(() =>
    database.batch<{ is_cut_off: number }>([
      database
        .prepare(
          `SELECT ${isCutOffSince} AS is_cut_off WHERE is_cut_off OR EXISTS (SELECT 1 FROM ending_sessions WHERE sid = ?3)`,
        )
        .bind(sub, version, sid),
      listEndingSession(database, { sub, sid, version, endsAtMs }),
      database
        .prepare(
          `INSERT OR REPLACE INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms, city, country)
           SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM ending_sessions WHERE sid = ?1)`,
        )
        .bind(sid, sub, device, signedInAtMs, endsAtMs, city ?? null, country ?? null),
      database.prepare("DELETE FROM user_sessions WHERE sub = ?1 AND ends_at_ms <= ?2").bind(sub, signedInAtMs),
      database.prepare("DELETE FROM user_grants WHERE sub = ?1 AND until_ms <= ?2").bind(sub, signedInAtMs),
    ]),
  );
  const [ended] = insert?.results ?? [];
  if (ended === undefined) return "stored";
  return ended.is_cut_off === 1 ? "cut off" : "ending";
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
