import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { mostDocumentHosts } from "@edge-op/shared/clients/document-hosts";
import type { DocumentPolicy, HostPolicy } from "@edge-op/shared/config/document-policies";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **The policies for hosts of metadata documents in D1**: always the authority, never a cache. */
export async function findDocumentHost(database: D1Database, host: string): Promise<HostPolicy | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT policy FROM document_hosts WHERE host = ?1")
      .bind(host)
      .first<{ readonly policy: DocumentPolicy }>(),
  );
  return row === null ? undefined : { host, policy: row.policy };
}

export async function requireDocumentHost(database: D1Database, host: string): Promise<HostPolicy> {
  const found = await findDocumentHost(database, host);
  if (found === undefined) throw new OAuthError("not_found", "resource-not-found");
  return found;
}

export async function countDocumentHosts(database: D1Database): Promise<number> {
  const row = await queryDatabase(() =>
    database.prepare("SELECT count(*) AS n FROM document_hosts").first<{ readonly n: number }>(),
  );
  return row?.n ?? 0;
}

/** Fails, and with it its transaction, when there are as many hosts as may be: a policy may not be NULL. */
export function storeDocumentHost(
  database: D1Database,
  { host, policy }: HostPolicy,
  atMs: number,
): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO document_hosts (host, policy, updated_at_ms)
         VALUES (?1, iif((SELECT count(*) FROM document_hosts WHERE host <> ?1) < ?4, ?2, NULL), ?3)
         ON CONFLICT (host) DO UPDATE SET policy = excluded.policy, updated_at_ms = excluded.updated_at_ms`,
    )
    .bind(host, policy, atMs, mostDocumentHosts);
}

export function deleteDocumentHost(database: D1Database, host: string): D1PreparedStatement {
  return database.prepare("DELETE FROM document_hosts WHERE host = ?1").bind(host);
}
