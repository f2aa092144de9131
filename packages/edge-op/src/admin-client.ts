/**
 * **The first admin client and the console's**, which cannot be created by an API: set-up writes their rows into D1, and all other changes use the
 * admin API. Secrets are stored as MACs, like every client's. The console's is made from the master key (packages/op-console), which set-up has anyway.
 */

import { macClientSecret } from "@edge-op/shared/callers/client-secret";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { macText } from "@edge-op/shared/secrets/mac";
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

/** As `packages/op-console/src/session/own-client.ts` names it. */
export const consoleClientId = "console";

interface ClientRow {
  readonly metadata: string;
  readonly mac: string;
}

export interface AdminClientRow extends ClientRow {
  readonly console: ClientRow;
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
  const env = { OP_MASTER_KEY: masterKey };
  const consoleSecret = await macText(env, "console-mac", consoleClientId);
  return {
    metadata: JSON.stringify(metadata),
    mac: await macClientSecret(env, secret),
    console: { metadata: JSON.stringify(consoleMetadata(issuer)), mac: await macClientSecret(env, consoleSecret) },
  };
}

/** No scope that ends everything or shows passwords: the command line has these. */
function consoleMetadata(issuer: string): ClientMetadata {
  const shown = adminScopes.filter((scope) => !["admin:export", "admin:revoke-all", "admin:tokens"].includes(scope));
  return {
    client_name: "Console",
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code"],
    response_types: ["code"],
    redirect_uris: [`${issuer}/console/callback`],
    post_logout_redirect_uris: [`${issuer}/console`],
    scope: ["openid", "profile", "permissions", ...shown].join(" "),
    audiences: [`${issuer}/admin`],
    access_token_lifetime: consoleTokenSeconds,
    require_mfa: true,
    require_pkce: true,
    skip_consent: true,
    security_profile: "none",
  };
}

/** Renewed through the session at the provider, and ended with it. */
const consoleTokenSeconds = 1800;

/** SQL that checks both clients: one row if they are correct. An operator may have changed the console's metadata. */
export function findAdminClient(row: AdminClientRow): string {
  return `SELECT 1 FROM clients c JOIN client_secrets s ON s.client_id = c.client_id
    WHERE c.client_id = ${sqlText(adminClientId)} AND c.status = 'active' AND c.metadata = ${sqlText(row.metadata)}
      AND s.mac = ${sqlText(row.mac)} AND s.expires_at_ms IS NULL
      AND EXISTS (SELECT 1 FROM client_secrets WHERE client_id = ${sqlText(consoleClientId)} AND mac = ${sqlText(row.console.mac)})`;
}

/** SQL that creates or repairs both clients: active, with this one secret. Contains numbered control changes. */
export function writeAdminClient(row: AdminClientRow, nowMs: number): string[] {
  return [
    ...writeClient(adminClientId, row, "status = 'active', metadata = excluded.metadata", nowMs),
    ...writeClient(consoleClientId, row.console, "status = 'active'", nowMs),
  ];
}

function writeClient(clientId: string, { metadata, mac }: ClientRow, repaired: string, nowMs: number): string[] {
  const id = sqlText(clientId);
  return [
    `INSERT INTO clients (client_id, status, metadata, created_at_ms, updated_at_ms)
       VALUES (${id}, 'active', ${sqlText(metadata)}, ${nowMs}, ${nowMs})
       ON CONFLICT (client_id) DO UPDATE SET ${repaired}, updated_at_ms = excluded.updated_at_ms`,
    `DELETE FROM client_secrets WHERE client_id = ${id}`,
    `INSERT INTO client_secrets (id, client_id, mac, created_at_ms) VALUES (${id}, ${id}, ${sqlText(mac)}, ${nowMs})`,
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
