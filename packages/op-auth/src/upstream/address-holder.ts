import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";

/** The user who has verified an address and not replaced it; `key` is a parameter, and NULL finds nobody. */
const holder =
  "SELECT u.sub, u.status FROM user_addresses a JOIN users u ON u.sub = a.sub WHERE a.address_key = ?1 AND a.held_until_ms IS NULL";

export interface AddressHolder {
  readonly sub: string;
  readonly status: "active" | "suspended";
}

/** The person who has verified an address. Cost: 1 D1 call; 0 for text that is no address. */
export async function findAddressHolder(database: D1Database, address: string): Promise<AddressHolder | undefined> {
  const key = parseEmailAddress(address)?.key;
  if (key === undefined) return undefined;
  const row = await queryDatabase(() => database.prepare(holder).bind(key).first<AddressHolder>());
  return row ?? undefined;
}
