import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { DomainClaim, DomainState } from "./domain-rule.ts";

interface ClaimRow {
  readonly org_id: string;
  readonly state: DomainState;
  readonly checked_at_ms: number;
  readonly verified_at_ms: number | null;
  readonly absent_since_ms: number | null;
}

/** ?1 the domain, ?2 the organisation. What others only claim is not read: anybody may claim anything. */
const concerned = `(SELECT * FROM organization_domains WHERE domain = ?1 AND state <> 'pending'
  UNION SELECT * FROM organization_domains WHERE org_id = ?2 AND domain = ?1)`;

const asRead = `(SELECT json_group_array(json_array(org_id, state, checked_at_ms))
  FROM (SELECT org_id, state, checked_at_ms FROM ${concerned} ORDER BY org_id))`;

/** **The claim of an organisation, and what other organisations hold of the domain.** Cost: 1 D1 call. */
export async function readClaims(database: D1Database, orgId: string, domain: string): Promise<readonly DomainClaim[]> {
  const select = database.prepare(`SELECT * FROM ${concerned} ORDER BY org_id`).bind(domain, orgId);
  const { results } = await queryDatabase(() => select.all<ClaimRow>());
  return results.map((row) => ({
    orgId: row.org_id,
    state: row.state,
    checkedAtMs: row.checked_at_ms,
    verifiedAtMs: row.verified_at_ms ?? undefined,
    absentSinceMs: row.absent_since_ms ?? undefined,
  }));
}

const versions = (claims: readonly DomainClaim[]) =>
  JSON.stringify(claims.map(({ orgId, state, checkedAtMs }) => [orgId, state, checkedAtMs]));

/**
 * The statement that writes what the rule has decided on `read`, the result of {@link readClaims}: it changes nothing if any of these has changed, or
 * if another organisation has begun to hold the domain. So a look-up that was overtaken by another one is repeated, and never written over it.
 */
export function writeClaims(
  database: D1Database,
  { orgId, domain, read }: { readonly orgId: string; readonly domain: string; readonly read: readonly DomainClaim[] },
  changed: readonly DomainClaim[],
): D1PreparedStatement {
  const values = changed.map((claim) => ({
    ...claim,
    verifiedAtMs: claim.verifiedAtMs ?? null,
    absentSinceMs: claim.absentSinceMs ?? null,
  }));
  return database
    .prepare(
      `UPDATE organization_domains AS c SET state = n.value ->> '$.state', checked_at_ms = n.value ->> '$.checkedAtMs',
          verified_at_ms = n.value ->> '$.verifiedAtMs', absent_since_ms = n.value ->> '$.absentSinceMs'
         FROM json_each(?3) n WHERE c.domain = ?1 AND c.org_id = n.value ->> '$.orgId'
          AND ${asRead} = ?4`,
    )
    .bind(domain, orgId, JSON.stringify(values), versions(read));
}

/** Fails, together with its transaction, where {@link writeClaims} would change nothing. */
export function refuseOtherClaims(
  database: D1Database,
  { orgId, domain, read }: { readonly orgId: string; readonly domain: string; readonly read: readonly DomainClaim[] },
): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO organization_domains (org_id, domain, state, created_at_ms) SELECT ?2, ?1, NULL, 0 WHERE ${asRead} <> ?3`,
    )
    .bind(domain, orgId, versions(read));
}
