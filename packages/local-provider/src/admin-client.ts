import { macClientSecret } from "@edge-op/shared/client-auth/client-secret";
import type { ClientMetadata } from "@edge-op/shared/directory/client";

/**
 * **The first admin client**, which no API can create: set-up writes its rows, and only its rows, into D1. From then on
 * everything goes through the admin API. The secret is stored as every client's, as a MAC.
 */
export const adminClientId = "admin";

const adminScopes = ["admin:clients", "admin:users", "admin:keys", "admin:tokens", "admin:shards"];

export interface AdminClientRow {
  readonly metadata: string;
  readonly mac: string;
}

/** What the database must hold for a secret to work at an issuer. */
export async function adminClientRow(issuer: string, masterKey: string, secret: string): Promise<AdminClientRow> {
  const metadata: ClientMetadata = {
    client_name: "Administration",
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    scope: adminScopes.join(" "),
    audiences: [`${issuer}/admin`],
  };
  return { metadata: JSON.stringify(metadata), mac: await macClientSecret({ OP_MASTER_KEY: masterKey }, secret) };
}

/** SQL that says whether the admin client is as it must be: one row when it is. */
export function findAdminClient(row: AdminClientRow): string {
  return `SELECT 1 FROM clients c JOIN client_secrets s ON s.client_id = c.client_id
    WHERE c.client_id = ${text(adminClientId)} AND c.status = 'active' AND c.metadata = ${text(row.metadata)}
      AND s.mac = ${text(row.mac)} AND s.expires_at_ms IS NULL`;
}

/** SQL that creates the admin client or repairs it: active, and with this one secret. Numbered like every change. */
export function writeAdminClient(row: AdminClientRow, nowMs: number): string[] {
  const id = text(adminClientId);
  return [
    `INSERT INTO clients (client_id, status, metadata, created_at_ms, updated_at_ms)
       VALUES (${id}, 'active', ${text(row.metadata)}, ${nowMs}, ${nowMs})
       ON CONFLICT (client_id) DO UPDATE
         SET status = 'active', metadata = excluded.metadata, updated_at_ms = excluded.updated_at_ms`,
    `DELETE FROM client_secrets WHERE client_id = ${id}`,
    `INSERT INTO client_secrets (id, client_id, mac, created_at_ms) VALUES (${id}, ${id}, ${text(row.mac)}, ${nowMs})`,
    `INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ${id}, ${nowMs})`,
  ];
}

/** An SQL text literal: these statements also travel through `wrangler d1 execute`, which binds nothing. */
function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
