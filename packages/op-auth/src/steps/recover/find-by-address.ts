import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type FactorRow, type Factors, factorColumns, toFactors } from "@edge-op/shared/users/factors";

export interface RecoveringAccount {
  readonly sub: string;
  readonly factors: Factors;
}

/** **The active account whose verified address this is**, with its factors. An address that was replaced finds nobody. Cost: 1 D1 call. */
export async function findByAddress(database: D1Database, key: string): Promise<RecoveringAccount | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare(
        `SELECT u.sub, ${factorColumns} FROM user_addresses a JOIN users u ON u.sub = a.sub
           WHERE a.address_key = ?1 AND a.held_until_ms IS NULL AND u.status = 'active'`,
      )
      .bind(key)
      .first<FactorRow & { readonly sub: string }>(),
  );
  return row === null ? undefined : { sub: row.sub, factors: toFactors(row) };
}
