import { clientSecretSeal, scimTokenOwner } from "@edge-op/shared/callers/client-secret";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed, type SealPurpose, sealText } from "@edge-op/shared/secrets/seal";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { upstreamSeal } from "@edge-op/shared/upstreams/upstream";
import { factorSeal } from "@edge-op/shared/users/factors";

const rowsAtOnce = 200;

interface SealingEnv extends MasterKeyBindings {
  readonly DB: D1Database;
}

/** A table with the columns `secret` and `sealed_by`. */
interface SealedTable {
  readonly name: string;
  readonly purpose: SealPurpose;
  /** The columns of its key, at most two. */
  readonly key: readonly [string, string?];
  bound(one: string, two: string): string;
}

interface SealedRow {
  readonly one: string;
  readonly two: string;
  readonly secret: string;
}

export const sealedTables: readonly SealedTable[] = [
  { name: "client_secrets", purpose: "client-secret-seal", key: ["client_id", "id"], bound: clientSecretSeal },
  {
    name: "scim_tokens",
    purpose: "client-secret-seal",
    key: ["org_id", "id"],
    bound: (orgId, id) => clientSecretSeal(scimTokenOwner(orgId), id),
  },
  { name: "user_totp", purpose: "factor-seal", key: ["sub", "factor_id"], bound: factorSeal },
  { name: "upstreams", purpose: "upstream-seal", key: ["upstream_id"], bound: upstreamSeal },
];

/**
 * **Seals the hashes of client secrets, and the secrets of authenticator apps and upstream providers again** after the master key was replaced, so
 * that the previous key can be deleted (ADR 6). A row that does not open is marked, and left as it is. Returns whether no row of the previous key is
 * left. Cost: 0 without a previous key; otherwise 2 D1 calls, which read the tables, and 1 for each 200 rows.
 */
export async function sealSecretsAgain(env: SealingEnv): Promise<boolean> {
  const previous = env.OP_MASTER_KEY_PREVIOUS ? await keyFingerprint(env.OP_MASTER_KEY_PREVIOUS) : undefined;
  if (previous === undefined) return true;
  const areDone = await Promise.all(sealedTables.map((table) => sealTable(env, table, previous)));
  return areDone.every((isDone) => isDone);
}

/** The rows of each table that only the previous key opens; empty without one. Cost: 1 D1 call, which reads the tables. */
export async function countSealedBefore(env: SealingEnv): Promise<Readonly<Record<string, number>>> {
  const previous = env.OP_MASTER_KEY_PREVIOUS ? await keyFingerprint(env.OP_MASTER_KEY_PREVIOUS) : undefined;
  if (previous === undefined) return {};
  const counts = sealedTables.map(({ name }) =>
    env.DB.prepare(`SELECT count(*) AS count FROM ${name} WHERE sealed_by = ?1`).bind(previous),
  );
  const results = await queryDatabase(() => env.DB.batch<{ readonly count: number }>(counts));
  return Object.fromEntries(sealedTables.map(({ name }, index) => [name, results[index]!.results[0]!.count]));
}

async function sealTable(
  env: SealingEnv,
  { name, purpose, key: [first, second = first], bound }: SealedTable,
  previous: string,
): Promise<boolean> {
  const current = await keyFingerprint(env.OP_MASTER_KEY);
  const { results } = await queryDatabase(() =>
    env.DB.prepare(`SELECT ${first} AS one, ${second} AS two, secret FROM ${name} WHERE sealed_by = ?1 LIMIT ?2`)
      .bind(previous, rowsAtOnce)
      .all<SealedRow>(),
  );
  if (results.length === 0) return true;
  const seal = async ({ one, two, secret }: SealedRow) => {
    const place = bound(one, two);
    const text = await openSealed(env, purpose, secret, place);
    const sealed = text === undefined ? secret : await sealText(env, purpose, text, { bound: place });
    return env.DB.prepare(
      `UPDATE ${name} SET secret = ?4, sealed_by = ?5 WHERE ${first} = ?1 AND ${second} = ?2 AND secret = ?3`,
    ).bind(one, two, secret, sealed, text === undefined ? "none" : current);
  };
  const statements = await Promise.all(results.map(seal));
  await queryDatabase(() => env.DB.batch(statements));
  return results.length < rowsAtOnce;
}
