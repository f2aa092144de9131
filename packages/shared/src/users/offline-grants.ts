import type { GrantIdentity } from "../leases/grant-identity.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { ShardAddress } from "../storage/shard-address.ts";

export interface OfflineGrant {
  readonly grantId: string;
  readonly address: GrantIdentity["address"];
  readonly untilMs: number;
  /** Absent if the grant has no refresh family. */
  readonly family?: { readonly address: ShardAddress; readonly tokensEndAtMs: number } | undefined;
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

/** Used by a change that ends every grant of a user: none of them is listed any more. */
export function forgetOfflineGrants(database: D1Database, sub: string): D1PreparedStatement {
  return database.prepare("DELETE FROM user_grants WHERE sub = ?1").bind(sub);
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
