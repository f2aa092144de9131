/** **Client secrets in D1**: their sealed hashes are written here, and read only by the client directory. */

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { generateClientSecret, sealClientSecret } from "@edge-op/shared/callers/client-secret";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { clients } from "./client-table.ts";

export interface StoredSecret {
  readonly id: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
}

export async function listSecrets(database: D1Database, clientId: string, atMs: number): Promise<StoredSecret[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare(
        `SELECT id, created_at_ms, expires_at_ms FROM client_secrets
          WHERE client_id = ?1 AND (expires_at_ms IS NULL OR expires_at_ms > ?2) ORDER BY created_at_ms, id`,
      )
      .bind(clientId, atMs)
      .all<{ id: string; created_at_ms: number; expires_at_ms: number | null }>(),
  );
  return results.map((row) => ({
    id: row.id,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms ?? undefined,
  }));
}

/** **A new secret of a client**: its value, which is shown once, and the statement that stores it. */
export interface NewSecret {
  readonly id: string;
  readonly value: string;
  readonly statement: D1PreparedStatement;
}

export async function newSecret(
  env: MasterKeyBindings & { readonly DB: D1Database },
  clientId: string,
  atMs: number,
  value = generateClientSecret(),
): Promise<NewSecret> {
  const id = randomBase64Url(16);
  const { secret, sealedBy } = await sealClientSecret(env, value, { clientId, id });
  const statement = env.DB.prepare(
    "INSERT INTO client_secrets (id, client_id, secret, sealed_by, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
  ).bind(id, clientId, secret, sealedBy, atMs);
  return { id, value, statement };
}

/** Ends every secret of the client at `untilMs`, except those that end earlier. */
export function endSecrets(database: D1Database, clientId: string, untilMs: number): D1PreparedStatement {
  return database
    .prepare(
      `UPDATE client_secrets SET expires_at_ms = ?2
        WHERE client_id = ?1 AND (expires_at_ms IS NULL OR expires_at_ms > ?2)`,
    )
    .bind(clientId, untilMs);
}

/** Fails, together with its transaction, if the client has more live secrets than `most`. */
export function limitSecrets(database: D1Database, clientId: string, atMs: number, most: number): D1PreparedStatement {
  const live = "client_id = ?1 AND (expires_at_ms IS NULL OR expires_at_ms > ?2)";
  const condition = `?3 < (SELECT count(*) FROM client_secrets WHERE ${live})`;
  return clients.refuseIf(database, clientId, condition, atMs, most);
}

export function deleteEndedSecrets(database: D1Database, clientId: string, atMs: number): D1PreparedStatement {
  return database
    .prepare("DELETE FROM client_secrets WHERE client_id = ?1 AND expires_at_ms <= ?2")
    .bind(clientId, atMs);
}

export function deleteSecret(database: D1Database, clientId: string, id: string): D1PreparedStatement {
  return database.prepare("DELETE FROM client_secrets WHERE client_id = ?1 AND id = ?2").bind(clientId, id);
}

export function deleteSecrets(database: D1Database, clientId: string): D1PreparedStatement {
  return database.prepare("DELETE FROM client_secrets WHERE client_id = ?1").bind(clientId);
}
