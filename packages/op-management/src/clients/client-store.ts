import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { ClientOrigin } from "@edge-op/shared/clients/client";
import { type ClientDocument, clientIdPattern } from "@edge-op/shared/clients/client-schema";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **Clients in D1, read and written for changes**: always the authority, never a cache. */
export interface StoredClient {
  readonly clientId: string;
  readonly status: "active" | "disabled";
  readonly metadata: ClientDocument;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Absent: an administrator registered it. */
  readonly origin?: ClientOrigin;
}

interface ClientRow {
  readonly client_id: string;
  readonly status: "active" | "disabled";
  readonly metadata: string;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
  readonly origin: ClientOrigin | null;
}

function toClient(row: ClientRow): StoredClient {
  return {
    clientId: row.client_id,
    status: row.status,
    metadata: JSON.parse(row.metadata) as ClientDocument,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    ...(row.origin === null ? {} : { origin: row.origin }),
  };
}

const columns = "client_id, status, metadata, created_at_ms, updated_at_ms, origin";

export async function findClient(database: D1Database, clientId: string): Promise<StoredClient | undefined> {
  if (!clientIdPattern.test(clientId) && !/^https?:\/\/[\x21-\x7e]{1,250}$/.test(clientId)) return undefined;
  const row = await queryDatabase(() =>
    database.prepare(`SELECT ${columns} FROM clients WHERE client_id = ?1`).bind(clientId).first<ClientRow>(),
  );
  return row === null ? undefined : toClient(row);
}

export async function requireClient(database: D1Database, clientId: string): Promise<StoredClient> {
  const client = await findClient(database, clientId);
  if (client === undefined) throw new OAuthError("not_found", "client-not-found");
  return client;
}

/** The clients after an id, in the order of their ids. */
export async function listClients(
  database: D1Database,
  after: string,
  count: number,
  status: "active" | "disabled" | undefined,
): Promise<StoredClient[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare(
        `SELECT ${columns} FROM clients WHERE client_id > ?1 AND (?2 IS NULL OR status = ?2) ORDER BY client_id LIMIT ?3`,
      )
      .bind(after, status ?? null, count)
      .all<ClientRow>(),
  );
  return results.map(toClient);
}

/** Fails, and with it its transaction, when a client or a user has the id: metadata may not be NULL. */
export function insertClient(database: D1Database, client: StoredClient): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO clients (${columns})
         VALUES (?1, ?2, iif(EXISTS (SELECT 1 FROM users WHERE sub = ?1), NULL, ?3), ?4, ?5, ?6)`,
    )
    .bind(
      client.clientId,
      client.status,
      JSON.stringify(client.metadata),
      client.createdAtMs,
      client.updatedAtMs,
      client.origin ?? null,
    );
}

/** Fails, and with it its transaction, when the version is no longer `expected`: metadata may not be NULL. */
export function updateClient(database: D1Database, client: StoredClient, expected: number): D1PreparedStatement {
  return database
    .prepare(
      `UPDATE clients SET metadata = iif(updated_at_ms = ?5, ?3, NULL), status = ?2, updated_at_ms = ?4 WHERE client_id = ?1`,
    )
    .bind(client.clientId, client.status, JSON.stringify(client.metadata), client.updatedAtMs, expected);
}

export function deleteClient(database: D1Database, clientId: string): D1PreparedStatement {
  return database.prepare("DELETE FROM clients WHERE client_id = ?1").bind(clientId);
}
