import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import {
  generateClientSecret,
  matchesClientSecret,
  scimTokenOwner,
  sealClientSecret,
} from "@edge-op/shared/callers/client-secret";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { organizationIdPattern } from "@edge-op/shared/users/organizations";

/** **Tokens of directories in D1**: `scim.{id}.{secret}`. Each request reads its row: a deleted token is refused as soon as it is deleted. */
export interface StoredToken {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export const mostTokens = 5;
const tokenText = /^scim\.([\w-]{16})\.([\w-]{43})$/;

export async function newToken(
  env: MasterKeyBindings & { readonly DB: D1Database },
  orgId: string,
  { name, atMs, expiresAtMs }: { readonly name: string; readonly atMs: number; readonly expiresAtMs: number },
) {
  const id = randomBase64Url(12);
  const value = generateClientSecret();
  const { secret, sealedBy } = await sealClientSecret(env, value, { clientId: scimTokenOwner(orgId), id });
  // NULL for its name fails the transaction: there are enough.
  const statement = env.DB.prepare(
    `INSERT INTO scim_tokens (id, org_id, name, secret, sealed_by, created_at_ms, expires_at_ms)
       SELECT ?1, ?2, iif((SELECT count(*) FROM scim_tokens WHERE org_id = ?2 AND expires_at_ms > ?6) < ${mostTokens}, ?3, NULL), ?4, ?5, ?6, ?7`,
  ).bind(id, orgId, name, secret, sealedBy, atMs, expiresAtMs);
  return { id, token: `scim.${id}.${value}`, statement };
}

export async function listTokens(database: D1Database, orgId: string, atMs: number): Promise<readonly StoredToken[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare(
        `SELECT id, name, created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs FROM scim_tokens
          WHERE org_id = ?1 AND expires_at_ms > ?2 ORDER BY id`,
      )
      .bind(orgId, atMs)
      .all<StoredToken>(),
  );
  return results;
}

export function deleteToken(database: D1Database, orgId: string, id: string): D1PreparedStatement {
  return database.prepare("DELETE FROM scim_tokens WHERE org_id = ?1 AND id = ?2").bind(orgId, id);
}

/**
 * The id of a live token of this active organisation; `undefined` for every other text. Cost: 1 D1 call for a text in the form of a token, and the
 * same comparison whether there is one or not.
 */
export async function findToken(
  env: MasterKeyBindings & { readonly DB: D1Database },
  orgId: string,
  text: string,
  atMs: number,
): Promise<string | undefined> {
  const [, id, secret] = tokenText.exec(text) ?? [];
  if (id === undefined || secret === undefined || !organizationIdPattern.test(orgId)) return undefined;
  const statement = env.DB.prepare(
    `SELECT t.secret, t.expires_at_ms FROM scim_tokens t CROSS JOIN organizations o ON o.org_id = t.org_id
      WHERE t.id = ?1 AND t.org_id = ?2 AND o.status = 'active'`,
  ).bind(id, orgId);
  const row = await queryDatabase(() => statement.first<{ readonly secret: string; readonly expires_at_ms: number }>());
  const holder = row && {
    clientId: scimTokenOwner(orgId),
    secrets: [{ id, sealed: row.secret, expiresAtMs: row.expires_at_ms }],
  };
  return (await matchesClientSecret(env, secret, holder ?? undefined, atMs)) ? id : undefined;
}
