import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { queryAuditDatabase } from "@edge-op/shared/audit/query-audit-database";
import { macText } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** A `409` that names the conflicting member. */
export function takenError(path: string, message = "is taken"): OAuthError {
  return new OAuthError("conflict", "id-taken", {
    detail: `${path} ${message}`,
    description: `${path}: ${message}`,
    fields: [{ path, message }],
  });
}

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

/** The row of `DB`, for the transaction of the deletion. */
export function retireSub({ DB }: RetirementBindings, hash: Uint8Array): D1PreparedStatement {
  return DB.prepare("INSERT OR IGNORE INTO retired_subs (hash) VALUES (?1)").bind(hash);
}

/** The row of the other database, before the deletion: if `DB` is set back to before it, the sub is still not given again. Cost: 1 D1. */
export async function recordRetirement({ AUDIT_DB }: RetirementBindings, hash: Uint8Array): Promise<void> {
  const insert = AUDIT_DB.prepare("INSERT OR IGNORE INTO retired_subjects (hash) VALUES (?1)").bind(hash);
  await queryAuditDatabase(() => insert.run());
}

/**
 * Whether a sub belonged to a deleted user. It is not assigned again, because relying parties would mistake a new person for the old one. Cost: 2 D1,
 * beside each other.
 */
export async function isSubRetired(env: RetirementBindings, sub: string): Promise<boolean> {
  const hash = await retiredHash(env, sub);
  const ofDatabase = env.DB.prepare("SELECT 1 FROM retired_subs WHERE hash = ?1").bind(hash);
  const ofAudit = env.AUDIT_DB.prepare("SELECT 1 FROM retired_subjects WHERE hash = ?1").bind(hash);
  const found = await Promise.all([queryDatabase(() => ofDatabase.first()), queryAuditDatabase(() => ofAudit.first())]);
  return found.some((row) => row !== null);
}

/**
 * **Returns whether a user or a client has an id**: both are the `sub` of tokens, so they must differ; otherwise a client's own token would pass for
 * a user's. @see https://www.rfc-editor.org/rfc/rfc9068#section-5
 */
export async function isSubjectTaken(database: D1Database, id: string): Promise<boolean> {
  const row = await queryDatabase(() =>
    database
      .prepare(
        `SELECT EXISTS (SELECT 1 FROM clients WHERE client_id = ?1)
             OR EXISTS (SELECT 1 FROM users WHERE sub = ?1) AS taken`,
      )
      .bind(id)
      .first<{ taken: number }>(),
  );
  return row?.taken === 1;
}
