/**
 * **The first admin client**, which cannot be created by an API: set-up writes its rows into D1, and all other changes use the admin API. The secret
 * is stored as a MAC, like every client's.
 */

import { macClientSecret } from "@edge-op/shared/callers/client-secret";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import type { Statement } from "./store-worker.ts";

export const adminClientId = "admin";

export const adminScopes = [
  "admin:clients",
  "admin:issuers",
  "admin:users",
  "admin:export",
  "admin:keys",
  "admin:tokens",
  "admin:revoke-all",
  "admin:shards",
  "admin:audit",
];

export interface AdminClientRow {
  readonly metadata: string;
  readonly mac: string;
}

/** The rows that the database must contain for a secret to work at an issuer. */
export async function adminClientRow(issuer: string, masterKey: string, secret: string): Promise<AdminClientRow> {
  const metadata: ClientMetadata = {
    client_name: "Administration",
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    scope: adminScopes.join(" "),
    audiences: [`${issuer}/admin`],
    // The client's secret must work with every profile of the deployment.
    security_profile: "none",
  };
  return { metadata: JSON.stringify(metadata), mac: await macClientSecret({ OP_MASTER_KEY: masterKey }, secret) };
}

/** SQL that checks the admin client: one row if it is correct. */
export function findAdminClient(row: AdminClientRow): string {
  return `SELECT 1 FROM clients c JOIN client_secrets s ON s.client_id = c.client_id
    WHERE c.client_id = ${sqlText(adminClientId)} AND c.status = 'active' AND c.metadata = ${sqlText(row.metadata)}
      AND s.mac = ${sqlText(row.mac)} AND s.expires_at_ms IS NULL`;
}

/** SQL that creates or repairs the admin client: active, with this one secret. Contains a numbered control change. */
export function writeAdminClient(row: AdminClientRow, nowMs: number): string[] {
  const id = sqlText(adminClientId);
  return [
    `INSERT INTO clients (client_id, status, metadata, created_at_ms, updated_at_ms)
       VALUES (${id}, 'active', ${sqlText(row.metadata)}, ${nowMs}, ${nowMs})
       ON CONFLICT (client_id) DO UPDATE
         SET status = 'active', metadata = excluded.metadata, updated_at_ms = excluded.updated_at_ms`,
    `DELETE FROM client_secrets WHERE client_id = ${id}`,
    `INSERT INTO client_secrets (id, client_id, mac, created_at_ms) VALUES (${id}, ${id}, ${sqlText(row.mac)}, ${nowMs})`,
    `INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ${id}, ${nowMs})`,
  ];
}

/** Replaces the secrets of a client by a given one, for a seed, because the admin API generates secrets. A change of the client must follow. */
export async function clientSecretStatements(
  masterKey: string,
  clientId: string,
  secret: string,
): Promise<Statement[]> {
  return [
    { sql: "DELETE FROM client_secrets WHERE client_id = ?1", parameters: [clientId] },
    {
      sql: "INSERT INTO client_secrets (id, client_id, mac, created_at_ms) VALUES (?1, ?1, ?2, ?3)",
      parameters: [clientId, await macClientSecret({ OP_MASTER_KEY: masterKey }, secret), Date.now()],
    },
  ];
}

/** An SQL text literal, because `wrangler d1 execute`, which also runs these statements, has no parameters. */
export function sqlText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
