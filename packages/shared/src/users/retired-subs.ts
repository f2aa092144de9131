import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { macText } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { queryAuditDatabase } from "../storage/query-database.ts";

export interface RetirementBindings extends MasterKeyBindings {
  readonly DB: D1Database;
  readonly AUDIT_DB: D1Database;
}

/**
 * The stored form of a deleted user's sub: a MAC, because the sub may be a name or an address, which nobody may find there by trying. Its key is that
 * of pairwise subjects, which is never replaced. 128 bits, because the row is never deleted.
 */
export async function retiredHash(env: MasterKeyBindings, sub: string): Promise<Uint8Array> {
  return decodeBase64Url(await macText(env, "pairwise-mac", `retired:\n${sub}`))!;
}

/**
 * **Retires the sub of a user who is about to be deleted.** Returns the statement for the transaction of the deletion. The row of the other database
 * is written before: if `DB` is set back to before the deletion, the sub is still not given again. Cost: 1 D1 call.
 */
export async function retireSub(env: RetirementBindings, sub: string): Promise<D1PreparedStatement> {
  const hash = await retiredHash(env, sub);
  const insert = env.AUDIT_DB.prepare("INSERT OR IGNORE INTO retired_subjects (hash) VALUES (?1)").bind(hash);
  await queryAuditDatabase(() => insert.run());
  return env.DB.prepare("INSERT OR IGNORE INTO retired_subs (hash) VALUES (?1)").bind(hash);
}
