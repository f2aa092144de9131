import { randomBytes } from "node:crypto";
import { exportJWK, generateKeyPair } from "jose";
import * as oidc from "openid-client";
import type { ClientMetadata } from "../../packages/shared/src/clients/client.ts";

/**
 * **The client with which a deployment verifies itself and reads what its objects run**: two rows in the database, and a key pair only in the memory
 * of this process. Its tokens expire after a minute. It is deleted at the end of the run; a client left behind by an interrupted run is useless
 * without its key, and the next run deletes it.
 */
export interface TemporaryClient {
  readonly clientId: string;
  readonly privateKey: CryptoKey;
  /** SQL that creates the client and deletes those of interrupted runs. */
  readonly create: string;
  readonly remove: string;
}

const idPrefix = "deploy-";

export async function makeTemporaryClient(issuer: string, nowMs: number): Promise<TemporaryClient> {
  const clientId = `${idPrefix}${randomBytes(9).toString("hex")}`;
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), alg: "ES256", use: "sig", kid: clientId } as JsonWebKey;
  const metadata: ClientMetadata = {
    client_name: "npm run deploy",
    token_endpoint_auth_method: "private_key_jwt",
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    scope: "admin:shards",
    audiences: [`${issuer}/admin`],
    access_token_lifetime: 60,
    jwks: { keys: [jwk] },
  };
  const insert = `INSERT INTO clients (client_id, status, metadata, created_at_ms, updated_at_ms)
    VALUES (${quote(clientId)}, 'active', ${quote(JSON.stringify(metadata))}, ${nowMs}, ${nowMs})`;
  return { clientId, privateKey, create: `${removeAll(nowMs)}; ${insert}`, remove: removeAll(nowMs) };
}

function removeAll(nowMs: number): string {
  return `INSERT INTO control_changes (kind, id, at_ms)
      SELECT 'client', client_id, ${nowMs} FROM clients WHERE substr(client_id, 1, ${idPrefix.length}) = '${idPrefix}';
    DELETE FROM clients WHERE substr(client_id, 1, ${idPrefix.length}) = '${idPrefix}'`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A configured client; discovery is read from the issuer. */
export async function discover(
  issuer: string,
  { clientId, privateKey }: TemporaryClient,
  reach: typeof fetch,
): Promise<oidc.Configuration> {
  const customFetch = reach as oidc.CustomFetch;
  const authentication = oidc.PrivateKeyJwt({ key: privateKey, kid: clientId });
  const options = { [oidc.customFetch]: customFetch };
  return oidc.discovery(new URL(issuer), clientId, undefined, authentication, options);
}

export async function adminToken(config: oidc.Configuration): Promise<string> {
  const { issuer } = config.serverMetadata();
  const tokens = await oidc.clientCredentialsGrant(config, { scope: "admin:shards", audience: `${issuer}/admin` });
  return tokens.access_token;
}
