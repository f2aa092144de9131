import { queryDatabase } from "../cache/query-database.ts";
import { OAuthError } from "../oauth/errors.ts";

/** A `409` that names what is taken. */
export function takenError(path: string): OAuthError {
  const message = "is taken";
  return new OAuthError("conflict", "id-taken", {
    detail: `${path} ${message}`,
    description: `${path}: ${message}`,
    fields: [{ path, message }],
  });
}

/**
 * **Finds out whether a user or a client has an id**: both are the `sub` of tokens, so they must differ; otherwise a client's
 * own token would pass for a user's. @see https://www.rfc-editor.org/rfc/rfc9068#section-5
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
