import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** Who has verified an address, as a query; NULL finds nobody. */
export function holderOf(address: string): string {
  return `SELECT sub, status FROM users WHERE lower(claims ->> '$.email') = lower(${address}) AND json_valid(claims) AND claims ->> '$.email_verified' = 1`;
}

export interface AddressHolder {
  readonly sub: string;
  readonly status: "active" | "suspended";
}

/** The person who has verified an address. Cost: 1 D1 call. */
export async function findAddressHolder(database: D1Database, address: string): Promise<AddressHolder | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare(`${holderOf("?1")} ORDER BY created_at_ms LIMIT 1`)
      .bind(address)
      .first<AddressHolder>(),
  );
  return row ?? undefined;
}
