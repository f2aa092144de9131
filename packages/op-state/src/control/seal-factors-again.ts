import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { factorSeal } from "@edge-op/shared/users/factors";

const rowsAtOnce = 200;

interface SealedRow {
  readonly sub: string;
  readonly factor_id: string;
  readonly secret: string;
}

/**
 * **Seals the secrets of authenticator apps again** after the master key was replaced, so that the previous key can be deleted (ADR 10). A row that does
 * not open is marked, and left as it is. Returns whether no row of the previous key is left. Cost: 0 without a previous key; otherwise 1 D1 call, which
 * reads the table, and 1 for each 200 rows.
 */
export async function sealFactorsAgain(env: MasterKeyBindings & { readonly DB: D1Database }): Promise<boolean> {
  const previous = env.OP_MASTER_KEY_PREVIOUS ? await keyFingerprint(env.OP_MASTER_KEY_PREVIOUS) : undefined;
  if (previous === undefined) return true;
  const current = await keyFingerprint(env.OP_MASTER_KEY);
  const { results } = await queryDatabase(() =>
    env.DB.prepare("SELECT sub, factor_id, secret FROM user_totp WHERE sealed_by = ?1 LIMIT ?2")
      .bind(previous, rowsAtOnce)
      .all<SealedRow>(),
  );
  if (results.length === 0) return true;
  const seal = async ({ sub, factor_id: id, secret }: SealedRow) => {
    const bound = factorSeal(sub, id);
    const text = await openSealed(env, "factor-seal", secret, bound);
    const sealed = text === undefined ? secret : await sealText(env, "factor-seal", text, { bound });
    return env.DB.prepare(
      "UPDATE user_totp SET secret = ?4, sealed_by = ?5 WHERE sub = ?1 AND factor_id = ?2 AND secret = ?3",
    ).bind(sub, id, secret, sealed, text === undefined ? "none" : current);
  };
  const statements = await Promise.all(results.map(seal));
  await queryDatabase(() => env.DB.batch(statements));
  return results.length < rowsAtOnce;
}
