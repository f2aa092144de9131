/**
 * **Accounts that their person has asked to delete**: until `deletes_at_ms` they can sign in to keep it, and nothing else; then `ControlPlane` erases it. The
 * status that readers see is `leaving`; that of the row stays what an administrator has set, and a suspended account is not erased.
 */

/** The status of a user, as an expression over a row of `users`. */
export const statusOfUser = "iif(status = 'active' AND deletes_at_ms IS NOT NULL, 'leaving', status)";

/** Sets when an account is erased, or keeps it; the first request counts. Returns a statement for the transaction of the change. */
export function changeDeletion(
  database: D1Database,
  sub: string,
  { atMs, deletesAtMs }: { readonly atMs: number; readonly deletesAtMs: number | undefined },
): D1PreparedStatement {
  return database
    .prepare(
      `UPDATE users SET deletes_at_ms = ?2, updated_at_ms = max(updated_at_ms + 1, ?3)
         WHERE sub = ?1 AND (deletes_at_ms IS NULL) <> (?2 IS NULL)`,
    )
    .bind(sub, deletesAtMs ?? null, atMs);
}
