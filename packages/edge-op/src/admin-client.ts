/**
 * **The first admin client and the console's**, which cannot be created by an API: set-up writes their rows into D1, and all other changes use the
 * admin API. The console's secret is made from the master key (packages/op-console), which set-up has anyway.
 */

import { adminScopes } from "@edge-op/protocol/oauth/scope";
import {
  hashClientSecret,
  openClientSecret,
  type SealedSecret,
  sealClientSecret,
} from "@edge-op/shared/callers/client-secret";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { macText } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import type { Statement } from "./store-worker.ts";

export const adminClientId = "admin";

/** As `packages/op-console/src/session/sign-in.ts` names it. */
export const consoleClientId = "console";

interface ClientRow {
  readonly metadata: string;
  readonly sealed: SealedSecret;
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
  return {
    metadata: JSON.stringify(metadata),
    sealed: await sealOnly(env, adminClientId, secret),
    console: {
      metadata: JSON.stringify(consoleMetadata(issuer)),
      sealed: await sealOnly(env, consoleClientId, await consoleSecret(env)),
    },
  };
}

function consoleSecret(env: MasterKeyBindings): Promise<string> {
  return macText(env, "console-mac", consoleClientId);
}

/** The only secret of a client has the client's id. */
function sealOnly(env: MasterKeyBindings, clientId: string, secret: string): Promise<SealedSecret> {
  return sealClientSecret(env, secret, { clientId, id: clientId });
}

/** SQL that gives the console the secret of a new master key. */
export async function replaceConsoleSecret(masterKey: string, nowMs: number): Promise<string> {
  const env = { OP_MASTER_KEY: masterKey };
  const sealed = await sealOnly(env, consoleClientId, await consoleSecret(env));
  return replaceSecret(consoleClientId, sealed, nowMs).join(";\n");
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
    // The pages of an organisation's own administrators are of this client too.
    audiences: [`${issuer}/admin`, `${issuer}/organizations`],
    organization: "allowed",
    access_token_lifetime: consoleTokenSeconds,
    require_mfa: true,
    require_pkce: true,
    skip_consent: true,
    security_profile: "none",
  };
}

/** Renewed through the session at the provider, and ended with it. */
const consoleTokenSeconds = 1800;

/** SQL that finds the secrets of both clients, if they are as set-up writes them. An operator may have changed the console's metadata. */
export function findAdminClient({ metadata }: AdminClientRow): string {
  return `SELECT c.client_id AS clientId, s.id, s.secret AS sealed FROM clients c JOIN client_secrets s ON s.client_id = c.client_id
    WHERE s.expires_at_ms IS NULL AND (c.client_id = ${sqlText(consoleClientId)}
      OR (c.client_id = ${sqlText(adminClientId)} AND c.status = 'active' AND c.metadata = ${sqlText(metadata)}))`;
}

/** Whether the rows of {@link findAdminClient} are of the administrator's secret, and of the console's. */
export async function areAdminSecrets(
  env: MasterKeyBindings,
  secret: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<boolean> {
  const open = ({ clientId, id, sealed }: Readonly<Record<string, unknown>>) =>
    openClientSecret(env, String(clientId), { id: String(id), sealed: String(sealed) });
  const stored = await Promise.all(rows.map(async (row) => `${row["clientId"]} ${await open(row)}`));
  const wanted = [
    `${adminClientId} ${await hashClientSecret(secret)}`,
    `${consoleClientId} ${await hashClientSecret(await consoleSecret(env))}`,
  ];
  return wanted.every((each) => stored.includes(each));
}

/** SQL that creates or repairs both clients: active, with this one secret. Contains numbered control changes. */
export function writeAdminClient(row: AdminClientRow, nowMs: number): string[] {
  return [
    ...writeClient(adminClientId, row, "status = 'active', metadata = excluded.metadata", nowMs),
    ...writeClient(consoleClientId, row.console, "status = 'active'", nowMs),
  ];
}

function writeClient(clientId: string, { metadata, sealed }: ClientRow, repaired: string, nowMs: number): string[] {
  const id = sqlText(clientId);
  return [
    `INSERT INTO clients (client_id, status, metadata, created_at_ms, updated_at_ms)
       VALUES (${id}, 'active', ${sqlText(metadata)}, ${nowMs}, ${nowMs})
       ON CONFLICT (client_id) DO UPDATE SET ${repaired}, updated_at_ms = excluded.updated_at_ms`,
    ...replaceSecret(clientId, sealed, nowMs),
  ];
}

/** A client that does not exist has no secret afterwards. */
function replaceSecret(clientId: string, { secret, sealedBy }: SealedSecret, nowMs: number): string[] {
  const id = sqlText(clientId);
  return [
    `DELETE FROM client_secrets WHERE client_id = ${id}`,
    `INSERT INTO client_secrets (id, client_id, secret, sealed_by, created_at_ms)
       SELECT client_id, client_id, ${sqlText(secret)}, ${sqlText(sealedBy)}, ${nowMs} FROM clients WHERE client_id = ${id}`,
    `INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ${id}, ${nowMs})`,
  ];
}

/** Replaces the secrets of a client by a given one, for a seed, because the admin API generates secrets. */
export async function clientSecretStatements(
  masterKey: string,
  clientId: string,
  secret: string,
): Promise<Statement[]> {
  const sealed = await sealOnly({ OP_MASTER_KEY: masterKey }, clientId, secret);
  return replaceSecret(clientId, sealed, Date.now()).map((sql) => ({ sql }));
}

/** An SQL text literal, because `wrangler d1 execute`, which also runs these statements, has no parameters. */
export function sqlText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
