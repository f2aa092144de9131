import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { activeIdentities, hasOwnPassword } from "./identities.ts";

/** **The factors of a person** beside a password, and whether there is a password. */
export interface Factors {
  /** An authenticator app. A person who has one is asked for its code at each sign-in by password. */
  readonly totp: boolean;
  /** Unused recovery codes. */
  readonly recoveryCodes: boolean;
  readonly passkeys: boolean;
  /** Their own: a temporary one is no way in. */
  readonly password: boolean;
  /** The ids of the upstream providers that sign them in. */
  readonly providers: readonly string[];
  /** Counts removed factors. */
  readonly epoch: number;
  /** The version of the terms that the person has agreed to. It is no factor: it is read with them, so that no sign-in reads it by itself. */
  readonly terms?: string | undefined;
}

export interface TermsRow {
  readonly terms_version: string | null;
}

export interface FactorRow extends TermsRow {
  readonly factor_epoch: number;
  readonly has_totp: number;
  readonly has_recovery_codes: number;
  readonly has_passkeys: number;
  readonly has_password: number;
  readonly providers: string;
}

export const recoveryCodesOfSet = 8;
/** Of the column `used`: no code is left. */
export const allUsed = 2 ** recoveryCodesOfSet - 1;

/** Columns of a query of `users u`. */
export const factorColumns = `u.factor_epoch, u.terms_version, EXISTS (SELECT 1 FROM user_totp t WHERE t.sub = u.sub) AS has_totp,
  EXISTS (SELECT 1 FROM user_recovery_codes r WHERE r.sub = u.sub AND r.used < ${allUsed}) AS has_recovery_codes,
  EXISTS (SELECT 1 FROM webauthn_credentials w WHERE w.sub = u.sub) AS has_passkeys,
  ${hasOwnPassword("u.sub")} AS has_password,
  (SELECT json_group_array(DISTINCT i.upstream_id) FROM user_identities i WHERE i.sub = u.sub) AS providers`;

export function toFactors(row: FactorRow): Factors {
  return {
    totp: row.has_totp === 1,
    recoveryCodes: row.has_recovery_codes === 1,
    passkeys: row.has_passkeys === 1,
    password: row.has_password === 1,
    providers: readStored("providers of a person", row.providers, listOf(isText<string>)),
    epoch: row.factor_epoch,
    terms: row.terms_version ?? undefined,
  };
}

/** Whether a person can prove a second factor. */
export function hasSecondFactor({ totp, recoveryCodes, passkeys }: Factors): boolean {
  return totp || recoveryCodes || passkeys;
}

export async function findFactors(database: D1Database, sub: string): Promise<Factors | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database).prepare(`SELECT ${factorColumns} FROM users u WHERE u.sub = ?1`).bind(sub).first<FactorRow>(),
  );
  return row === null ? undefined : toFactors(row);
}

/** A factor as its owner and administrators see it. The id is unique among a person's factors. */
export interface ListedFactor {
  readonly id: string;
  readonly kind: FactorKind;
  /** The name of a passkey. */
  readonly name: string | undefined;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | undefined;
  /** Unused recovery codes. */
  readonly remaining: number | undefined;
}

export const factorKinds = ["totp", "recovery_codes", "passkey"] as const;
export type FactorKind = (typeof factorKinds)[number];

const factorTables = {
  totp: { table: "user_totp", id: "factor_id" },
  recovery_codes: { table: "user_recovery_codes", id: "set_id" },
  passkey: { table: "webauthn_credentials", id: "credential_id" },
} as const satisfies Readonly<Record<FactorKind, { readonly table: string; readonly id: string }>>;

interface ListedRow {
  readonly id: string;
  readonly kind: FactorKind;
  readonly name: string | null;
  readonly created_at_ms: number;
  readonly last_used_at_ms: number | null;
  readonly used: number | null;
}

/** Apps and recovery codes, then passkeys; each in the order of their creation. */
export async function listFactors(database: D1Database, sub: string): Promise<ListedFactor[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT * FROM (
           SELECT 1 AS place, factor_id AS id, 'totp' AS kind, NULL AS name, created_at_ms, last_used_at_ms, NULL AS used
             FROM user_totp WHERE sub = ?1
           UNION ALL SELECT 2, set_id, 'recovery_codes', NULL, created_at_ms, NULL, used
             FROM user_recovery_codes WHERE sub = ?1
           UNION ALL SELECT 3, credential_id, 'passkey', name, created_at_ms, last_used_at_ms, NULL
             FROM webauthn_credentials WHERE sub = ?1) ORDER BY place, created_at_ms, id`,
      )
      .bind(sub)
      .all<ListedRow>(),
  );
  return results.map(({ id, kind, name, created_at_ms: createdAtMs, last_used_at_ms: lastUsedAtMs, used }) => ({
    ...{ id, kind, createdAtMs },
    name: name ?? undefined,
    lastUsedAtMs: lastUsedAtMs ?? undefined,
    remaining: used === null ? undefined : recoveryCodesOfSet - bitsOf(used),
  }));
}

function bitsOf(value: number): number {
  return value.toString(2).replaceAll("0", "").length;
}

/**
 * Statements that remove a factor, forget remembered browsers, and remove recovery codes beside which nothing is left. To be run in one transaction;
 * the first removes. `event` comes directly after it, so that it can be recorded `ifChanged`. `keepsWayIn`: not the only passkey of a person without
 * a password and without an identity.
 */
export function removeFactor(
  database: D1Database,
  sub: string,
  { kind, id }: Pick<ListedFactor, "kind" | "id">,
  event?: D1PreparedStatement,
  { keepsWayIn = false }: { readonly keepsWayIn?: boolean } = {},
): D1PreparedStatement[] {
  const { table, id: column } = factorTables[kind];
  const isKept = keepsWayIn
    ? `AND (${hasOwnPassword("?1")} OR (SELECT count(*) FROM webauthn_credentials WHERE sub = ?1) > 1
         OR ${activeIdentities} > 0)`
    : "";
  return [
    peopleOf(database).prepare(`DELETE FROM ${table} WHERE sub = ?1 AND ${column} = ?2 ${isKept}`).bind(sub, id),
    ...(event === undefined ? [] : [event]),
    peopleOf(database).prepare("UPDATE users SET factor_epoch = factor_epoch + 1 WHERE sub = ?1").bind(sub),
    peopleOf(database)
      .prepare(
        `DELETE FROM user_recovery_codes WHERE sub = ?1 AND NOT EXISTS (SELECT 1 FROM user_totp WHERE sub = ?1)
           AND NOT EXISTS (SELECT 1 FROM webauthn_credentials WHERE sub = ?1)`,
      )
      .bind(sub),
  ];
}

/** The context of the sealed secret of an app: in another row it does not open. */
export function factorSeal(sub: string, factorId: string): string {
  return `${sub}\n${factorId}`;
}
