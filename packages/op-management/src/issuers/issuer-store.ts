import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { IssuerDocument, TrustedIssuer } from "@edge-op/shared/issuers/trusted-issuer";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **Trusted issuers in D1, read and written for changes**: always the authority, never a cache. */
export interface StoredIssuer extends TrustedIssuer {
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

interface IssuerRow {
  readonly issuer_id: string;
  readonly issuer: string;
  readonly status: "active" | "disabled";
  readonly document: string;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

const columns = "issuer_id, issuer, status, document, created_at_ms, updated_at_ms";

function toIssuer(row: IssuerRow): StoredIssuer {
  return {
    issuerId: row.issuer_id,
    issuer: row.issuer,
    status: row.status,
    document: JSON.parse(row.document) as IssuerDocument,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export async function findIssuer(database: D1Database, issuerId: string): Promise<StoredIssuer | undefined> {
  const row = await queryDatabase(() =>
    database.prepare(`SELECT ${columns} FROM trusted_issuers WHERE issuer_id = ?1`).bind(issuerId).first<IssuerRow>(),
  );
  return row === null ? undefined : toIssuer(row);
}

export async function requireIssuer(database: D1Database, issuerId: string): Promise<StoredIssuer> {
  const issuer = await findIssuer(database, issuerId);
  if (issuer === undefined) throw new OAuthError("not_found", "issuer-not-found");
  return issuer;
}

/** The issuers after an id, in the order of their ids. */
export async function listIssuers(database: D1Database, after: string, count: number): Promise<StoredIssuer[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare(`SELECT ${columns} FROM trusted_issuers WHERE issuer_id > ?1 ORDER BY issuer_id LIMIT ?2`)
      .bind(after, count)
      .all<IssuerRow>(),
  );
  return results.map(toIssuer);
}

/** The record that has the id, or the issuer with or without a slash at its end: two names of one issuer. */
export async function findTakenIssuer(
  database: D1Database,
  { issuerId, issuer }: Pick<StoredIssuer, "issuerId" | "issuer">,
): Promise<Pick<StoredIssuer, "issuerId" | "issuer"> | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare(
        `SELECT issuer_id, issuer FROM trusted_issuers WHERE issuer_id = ?1 OR rtrim(issuer, '/') = rtrim(?2, '/')
          ORDER BY issuer_id <> ?1 LIMIT 1`,
      )
      .bind(issuerId, issuer)
      .first<Pick<IssuerRow, "issuer_id" | "issuer">>(),
  );
  return row === null ? undefined : { issuerId: row.issuer_id, issuer: row.issuer };
}

/** Fails, and with it its transaction, when {@link findTakenIssuer} finds a record. */
export function insertIssuer(database: D1Database, issuer: StoredIssuer): D1PreparedStatement {
  const { issuerId, status, createdAtMs, updatedAtMs } = issuer;
  return database
    .prepare(`INSERT INTO trusted_issuers (${columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`)
    .bind(issuerId, issuer.issuer, status, JSON.stringify(issuer.document), createdAtMs, updatedAtMs);
}

/** Fails, and with it its transaction, when the version is no longer `expected`: a document may not be NULL. */
export function updateIssuer(database: D1Database, issuer: StoredIssuer, expected: number): D1PreparedStatement {
  return database
    .prepare(
      `UPDATE trusted_issuers SET document = iif(updated_at_ms = ?5, ?3, NULL), status = ?2, updated_at_ms = ?4 WHERE issuer_id = ?1`,
    )
    .bind(issuer.issuerId, issuer.status, JSON.stringify(issuer.document), issuer.updatedAtMs, expected);
}

export function deleteIssuer(database: D1Database, issuerId: string): D1PreparedStatement {
  return database.prepare("DELETE FROM trusted_issuers WHERE issuer_id = ?1").bind(issuerId);
}
