import { sha256 } from "@edge-op/protocol/encoding/bytes";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** A `409` that names the conflicting member. */
export function takenError(path: string, message = "is taken"): OAuthError {
  return new OAuthError("conflict", "id-taken", {
    detail: `${path} ${message}`,
    description: `${path}: ${message}`,
    fields: [{ path, message }],
  });
}

/**
 * The stored form of a deleted user's sub. The sub may be a name or an address, which must not be found there. 128 bits, because the row is never
 * deleted.
 */
export async function hashSub(sub: string): Promise<ArrayBuffer> {
  return (await sha256(sub)).slice(0, 16).buffer;
}

/** Whether a sub belonged to a deleted user. It is not assigned again, because relying parties would mistake a new person for the old one. */
export async function isSubRetired(database: D1Database, sub: string): Promise<boolean> {
  const hash = await hashSub(sub);
  const row = await queryDatabase(() =>
    database.prepare("SELECT 1 FROM retired_subs WHERE hash = ?1").bind(hash).first(),
  );
  return row !== null;
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
