import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **Whether a person has an address, holds it, or has it as their username**, so that nobody else can sign up by it. Cost: 1 D1 call. */
export async function isIdentifierTaken(database: D1Database, key: string, atMs: number): Promise<boolean> {
  const select = database.prepare(
    `SELECT 1 FROM user_addresses WHERE address_key = ?1 AND coalesce(held_until_ms, ?2 + 1) > ?2
       UNION ALL SELECT 1 FROM users WHERE username_key = ?1 LIMIT 1`,
  );
  return (await queryDatabase(() => select.bind(key, atMs).first())) !== null;
}
