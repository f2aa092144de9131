import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryAuditDatabase, queryDatabase } from "@edge-op/shared/storage/query-database";
import { type RetirementBindings, retiredHash } from "@edge-op/shared/users/retired-subs";

/** A `409` that names the conflicting member. */
export function takenError(path: string, message = "is taken"): OAuthError {
  return new OAuthError("conflict", "id-taken", {
    detail: `${path} ${message}`,
    description: `${path}: ${message}`,
    fields: [{ path, message }],
  });
}

/**
 * Whether a sub belonged to a deleted user. It is not assigned again, because relying parties would mistake a new person for the old one. Cost: 2 D1,
 * in parallel.
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
    peopleOf(database)
      .prepare(
        `SELECT EXISTS (SELECT 1 FROM clients WHERE client_id = ?1)
             OR EXISTS (SELECT 1 FROM users WHERE sub = ?1) AS taken`,
      )
      .bind(id)
      .first<{ taken: number }>(),
  );
  return row?.taken === 1;
}
