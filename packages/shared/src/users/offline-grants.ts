import type { GrantIdentity } from "../grants/grant.ts";
import type { RequestContext } from "../http/request-context.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { ShardAddress } from "../storage/shard-address.ts";
import { coversAsked, type ReliedConsent } from "./consents.ts";

export interface OfflineGrant {
  readonly clientId: string;
  readonly grantId: string;
  readonly address: GrantIdentity["address"];
  readonly untilMs: number;
  /** Absent if the grant has no refresh family. */
  readonly family?: { readonly address: ShardAddress; readonly tokensEndAtMs: number } | undefined;
}

export type GrantPlace = Pick<OfflineGrant, "clientId" | "grantId">;

export async function listOfflineGrants(database: D1Database, sub: string, clientId: string): Promise<OfflineGrant[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM user_grants WHERE sub = ?1 AND client_id = ?2")
      .bind(sub, clientId)
      .all<UserGrantRow>(),
  );
  return results.map(toOfflineGrant);
}

/** A grant to be listed. It rests on a consent that covers `asked`, and if it is listed with a session, on that one being listed. */
export interface NewOfflineGrant extends OfflineGrant, ReliedConsent {
  readonly sid?: string | undefined;
}

/** Lists a grant if what it rests on is in force in this transaction: a withdrawal or an end finds it in the list, or it is not listed. */
export function insertOfflineGrant(database: D1Database, grant: NewOfflineGrant): D1PreparedStatement {
  const { sub, clientId, asked, grantId, address, untilMs, family, sid } = grant;
  const familyRegion = family?.address.region;
  return peopleOf(database)
    .prepare(
      `INSERT INTO user_grants SELECT ?1, ?2, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
        WHERE ${coversAsked} AND (?13 IS NULL OR EXISTS (SELECT 1 FROM user_sessions WHERE sid = ?13))`,
    )
    .bind(
      sub,
      clientId,
      JSON.stringify(asked),
      grantId,
      address.generation,
      address.region,
      address.shard,
      untilMs,
      family?.address.generation ?? null,
      familyRegion === undefined || familyRegion === address.region ? null : familyRegion,
      family?.address.shard ?? null,
      family?.tokensEndAtMs ?? null,
      sid ?? null,
    );
}

/** Returns false if the consent is not in force any more. */
export async function saveOfflineGrant(database: D1Database, grant: NewOfflineGrant): Promise<boolean> {
  const { meta } = await queryDatabase(() => insertOfflineGrant(database, grant).run());
  return meta.changes === 1;
}

/** Used after their revocation. */
export function deleteOfflineGrants(
  database: D1Database,
  sub: string,
  grants: readonly GrantPlace[],
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `DELETE FROM user_grants WHERE sub = ?1 AND (client_id, grant_id) IN
         (SELECT value ->> 'clientId', value ->> 'grantId' FROM json_each(?2))`,
    )
    .bind(sub, JSON.stringify(grants.map(({ clientId, grantId }) => ({ clientId, grantId }))));
}

/**
 * The same in the background, for a grant that its client has ended or never received. If it fails, the grant is listed until it ends by itself.
 * Cost: 1 D1 call.
 */
export function forgetInBackground(
  { env: { DB }, waitUntil }: Pick<RequestContext<{ readonly DB: D1Database }>, "env" | "waitUntil">,
  sub: string,
  grant: GrantPlace,
): void {
  waitUntil(queryDatabase(() => deleteOfflineGrants(DB, sub, [grant]).run()).catch(() => undefined));
}

/** Used by a change that ends every grant of a user: none of them is listed any more. */
export function forgetOfflineGrants(database: D1Database, sub: string): D1PreparedStatement {
  return peopleOf(database).prepare("DELETE FROM user_grants WHERE sub = ?1").bind(sub);
}

/** Used after every grant of the deployment was revoked. */
export async function forgetAllOfflineGrants(database: D1Database): Promise<void> {
  await queryDatabase(() => peopleOf(database).prepare("DELETE FROM user_grants").run());
}

/** The grants of a user that have not ended by themselves, in the order of their clients and ids: the key of the table. */
export async function pageOfflineGrants(
  database: D1Database,
  sub: string,
  { after, count, atMs }: { readonly after: GrantPlace; readonly count: number; readonly atMs: number },
): Promise<OfflineGrant[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT * FROM user_grants WHERE sub = ?1 AND (client_id, grant_id) > (?2, ?3) AND until_ms > ?4
          ORDER BY client_id, grant_id LIMIT ?5`,
      )
      .bind(sub, after.clientId, after.grantId, atMs, count)
      .all<UserGrantRow>(),
  );
  return results.map(toOfflineGrant);
}

export async function findOfflineGrant(
  database: D1Database,
  sub: string,
  grantId: string,
  atMs: number,
): Promise<OfflineGrant | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM user_grants WHERE sub = ?1 AND grant_id = ?2 AND until_ms > ?3")
      .bind(sub, grantId, atMs)
      .first<UserGrantRow>(),
  );
  return row === null ? undefined : toOfflineGrant(row);
}

interface UserGrantRow {
  readonly client_id: string;
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
  const { client_id: clientId, grant_id: grantId, until_ms: untilMs } = row;
  const grant = { clientId, grantId, address: { generation, region, shard }, untilMs };
  if (row.family_generation === null) return grant;
  const address = {
    generation: row.family_generation,
    region: row.family_region ?? region,
    shard: row.family_shard!,
  };
  return { ...grant, family: { address, tokensEndAtMs: row.tokens_end_at_ms! } };
}
