import { encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import {
  isNumber,
  isText,
  listOf,
  objectOf,
  requireForm,
  type TypeGuard,
} from "@edge-op/protocol/encoding/stored-json";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import { sealText } from "@edge-op/shared/secrets/seal";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { factorSeal } from "@edge-op/shared/users/factors";
import type { AuthEnv } from "../runtime/auth-env.ts";

export interface TotpRow {
  readonly factor_id: string;
  readonly secret: string;
  readonly last_step: number;
}

interface UserRow {
  readonly status: "active" | "suspended";
  readonly factor_epoch: number;
}

interface CodesRow {
  readonly set_id: string;
  readonly hashes: string;
  readonly used: number;
}

/** The stored factors with which a code of a person is compared. */
export interface StoredFactors {
  readonly status: UserRow["status"];
  readonly epoch: number;
  readonly apps: readonly TotpRow[];
  readonly codes: CodesRow | undefined;
}

const isUserRow = objectOf<UserRow>({ status: isText, factor_epoch: isNumber });
const isTotpRow = objectOf<TotpRow>({ factor_id: isText, secret: isText, last_step: isNumber });
const isCodesRow = objectOf<CodesRow>({ set_id: isText, hashes: isText, used: isNumber });

/** Apps of a person. */
export const mostApps = 5;

/** Cost: 1 D1 call. */
export async function readStoredFactors(database: D1Database, sub: string): Promise<StoredFactors | undefined> {
  const [users, apps, sets] = await queryDatabase(() =>
    peopleOf(database).batch([
      peopleOf(database).prepare("SELECT status, factor_epoch FROM users WHERE sub = ?1").bind(sub),
      peopleOf(database).prepare("SELECT factor_id, secret, last_step FROM user_totp WHERE sub = ?1").bind(sub),
      peopleOf(database).prepare("SELECT set_id, hashes, used FROM user_recovery_codes WHERE sub = ?1").bind(sub),
    ]),
  );
  const [user] = rowsOf("a user", users, isUserRow);
  if (user === undefined) return undefined;
  const [codes] = rowsOf("recovery codes", sets, isCodesRow);
  return { status: user.status, epoch: user.factor_epoch, apps: rowsOf("apps", apps, isTotpRow), codes };
}

function rowsOf<Row>(what: string, result: D1Result | undefined, isRow: TypeGuard<Row>): readonly Row[] {
  return requireForm(what, result?.results, listOf(isRow));
}

/** Spends the code of a step. Of two requests with the same code, in any isolates, one gets true. */
export async function spendTotp(
  database: D1Database,
  {
    sub,
    factorId,
    step,
    atMs,
  }: { readonly sub: string; readonly factorId: string; readonly step: number; readonly atMs: number },
): Promise<boolean> {
  const { meta } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        "UPDATE user_totp SET last_step = ?3, last_used_at_ms = ?4 WHERE sub = ?1 AND factor_id = ?2 AND last_step < ?3",
      )
      .bind(sub, factorId, step, atMs)
      .run(),
  );
  return meta.changes === 1;
}

/** Spends a recovery code, with its event. Of two requests with the same code one gets true. */
export async function spendRecoveryCode(
  database: D1Database,
  { sub, setId, index }: { readonly sub: string; readonly setId: string; readonly index: number },
  event: D1PreparedStatement,
): Promise<boolean> {
  const spend = peopleOf(database)
    .prepare("UPDATE user_recovery_codes SET used = used | ?3 WHERE sub = ?1 AND set_id = ?2 AND used & ?3 = 0")
    .bind(sub, setId, 2 ** index);
  const [spent] = await queryDatabase(() => peopleOf(database).batch([spend, event]));
  return spent!.meta.changes === 1;
}

export interface NewTotp {
  readonly sub: string;
  readonly factorId: string;
  readonly secret: Uint8Array;
  /** The step of the code that confirmed it, which is spent. */
  readonly step: number;
  /** Only a person without a second factor may set it up: their password is enough for it. */
  readonly isFirst: boolean;
}

/** Stores an app. Changes nothing if the person has as many as are allowed, or this one already; with `isFirst`, if they have any second factor. */
export async function insertTotp(
  { env, arrivedAtMs }: RequestContext<AuthEnv>,
  { sub, factorId, secret, step, isFirst }: NewTotp,
): Promise<D1PreparedStatement> {
  const sealed = await sealText(env, "factor-seal", encodeBase64Url(secret), { bound: factorSeal(sub, factorId) });
  const others = isFirst
    ? ` AND NOT EXISTS (SELECT 1 FROM user_totp WHERE sub = ?1) AND NOT EXISTS (SELECT 1 FROM webauthn_credentials WHERE sub = ?1)
        AND NOT EXISTS (SELECT 1 FROM user_recovery_codes WHERE sub = ?1)`
    : "";
  return peopleOf(env.DB)
    .prepare(
      `INSERT INTO user_totp (sub, factor_id, secret, sealed_by, last_step, created_at_ms)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM user_totp WHERE sub = ?1) < ${mostApps}${others}
       ON CONFLICT (sub, factor_id) DO NOTHING`,
    )
    .bind(sub, factorId, sealed, await keyFingerprint(env.OP_MASTER_KEY), step, arrivedAtMs);
}

export interface NewCodes {
  readonly sub: string;
  readonly setId: string;
  readonly hashes: string;
  /** The set that they replace, "" for none; without it, whichever there is. */
  readonly replaced?: string;
}

/** Replaces the recovery codes of a person. Changes nothing if `replaced` is not their set any more. */
export function saveRecoveryCodes(
  { env, arrivedAtMs }: RequestContext<AuthEnv>,
  { sub, setId, hashes, replaced }: NewCodes,
): D1PreparedStatement {
  return peopleOf(env.DB)
    .prepare(
      `INSERT INTO user_recovery_codes (sub, set_id, hashes, used, created_at_ms)
       SELECT ?1, ?2, ?3, 0, ?4
        WHERE ?5 IS NULL OR ?5 = coalesce((SELECT set_id FROM user_recovery_codes WHERE sub = ?1), '')
       ON CONFLICT (sub) DO UPDATE SET set_id = ?2, hashes = ?3, used = 0, created_at_ms = ?4`,
    )
    .bind(sub, setId, hashes, arrivedAtMs, replaced ?? null);
}

/** The present set, "" for none. Cost: 1 D1 call. */
export async function findCodesSet(database: D1Database, sub: string): Promise<string> {
  const select = peopleOf(database).prepare("SELECT set_id FROM user_recovery_codes WHERE sub = ?1").bind(sub);
  return (await queryDatabase(() => select.first<string>("set_id"))) ?? "";
}
