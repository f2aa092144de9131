import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { dearestHash } from "../secrets/hash-cost.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { allUsed, type FactorRow, type Factors, factorColumns, type TermsRow, toFactors } from "./factors.ts";
import { hasOwnPassword } from "./identities.ts";
import type { User } from "./user.ts";
import { parseEmailAddress } from "./user-addresses.ts";
import { canonicalUsername } from "./username.ts";

export interface PasswordRecord {
  readonly sub: string;
  readonly status: "active" | "suspended";
  /** Absent for a person who has only passkeys. */
  readonly hash: string | undefined;
  /** An administrator's password, which the person replaces by their own and does nothing else by. There is no other one then. */
  readonly temporary: { readonly hash: string; readonly untilMs: number } | undefined;
  /** The access that the user has allowed the given client. */
  readonly allowed: readonly string[];
  readonly factors: Factors;
}

export interface Passkey {
  /** Base64url, as WebAuthn's JSON serialisation spells it. */
  readonly credentialId: string;
  readonly sub: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly signCount: number;
  readonly transports: readonly string[];
  readonly backedUp: boolean;
  readonly name: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | undefined;
  /** It was registered at another provider, which gave it another user handle. */
  readonly isImported?: boolean;
}

/**
 * The user with a name, in any spelling of it (username.ts), or with a verified address; their consent to a client, and their second factors, which
 * the same sign-in needs; and what the dearest hash of the deployment costs, so that a refusal takes as long whoever is named. Nobody's name is the
 * verified address of somebody else.
 */
export async function findPassword(
  database: D1Database,
  username: string,
  clientId?: string,
): Promise<{ readonly record: PasswordRecord | undefined; readonly dearestMs: number }> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT dearest.ms AS dearest_ms, found.* FROM (SELECT (${dearestHash}) AS ms) dearest LEFT JOIN (
           SELECT u.sub, u.status, p.hash, p.temporary_until_ms, c.allowed, ${factorColumns} FROM users u LEFT JOIN user_passwords p ON p.sub = u.sub
             LEFT JOIN consents c ON c.sub = u.sub AND c.client_id = ?2
             WHERE u.username_key = ?1 OR u.sub = (SELECT sub FROM user_addresses WHERE address_key = ?3 AND held_until_ms IS NULL)
             ORDER BY u.username_key = ?1 DESC LIMIT 1) found`,
      )
      .bind(canonicalUsername(username) ?? null, clientId ?? null, parseEmailAddress(username)?.key ?? null)
      .first<Allowed & FactorRow & PasswordRow>(),
  );
  const dearestMs = row?.dearest_ms ?? 0;
  if (row === null || row.sub === null) return { record: undefined, dearestMs };
  const { sub, status, hash, temporary_until_ms: untilMs } = row;
  const isTemporary = hash !== null && untilMs !== null;
  const record: PasswordRecord = {
    ...{ sub, status },
    hash: isTemporary ? undefined : (hash ?? undefined),
    temporary: isTemporary ? { hash, untilMs } : undefined,
    allowed: toAllowed(row),
    factors: toFactors(row),
  };
  return { record, dearestMs };
}

interface PasswordRow {
  readonly dearest_ms: number | null;
  /** `null`: nobody. */
  readonly sub: string | null;
  readonly status: "active" | "suspended";
  readonly hash: string | null;
  readonly temporary_until_ms: number | null;
}

interface Allowed {
  readonly allowed: string | null;
}

function toAllowed({ allowed }: Allowed): readonly string[] {
  return allowed === null ? [] : readStored("consent", allowed, listOf(isText));
}

/** Stores a password. Returns a statement to be run in one transaction with the other rows of the change. `temporaryUntilMs`: an administrator's. */
export function savePassword(
  database: D1Database,
  sub: string,
  hash: string,
  atMs: number,
  temporaryUntilMs?: number,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO user_passwords (sub, hash, updated_at_ms, temporary_until_ms) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (sub) DO UPDATE SET hash = ?2, updated_at_ms = ?3, temporary_until_ms = ?4`,
    )
    .bind(sub, hash, atMs, temporaryUntilMs ?? null);
}

export function deletePassword(database: D1Database, sub: string): D1PreparedStatement {
  return peopleOf(database).prepare("DELETE FROM user_passwords WHERE sub = ?1").bind(sub);
}

/** Replaces the hash of an unchanged password, unless the password was changed concurrently. */
export async function replacePasswordHash(
  database: D1Database,
  sub: string,
  hashes: { readonly known: string; readonly renewed: string },
): Promise<void> {
  await queryDatabase(() =>
    peopleOf(database)
      .prepare("UPDATE user_passwords SET hash = ?3 WHERE sub = ?1 AND hash = ?2")
      .bind(sub, hashes.known, hashes.renewed)
      .run(),
  );
}

interface PasskeyRow {
  readonly credential_id: string;
  readonly sub: string;
  readonly public_key: string;
  readonly sign_count: number;
  readonly transports: string;
  readonly backed_up: number;
  readonly name: string;
  readonly created_at_ms: number;
  readonly last_used_at_ms: number | null;
  readonly imported: number;
}

function toPasskey(row: PasskeyRow): Passkey {
  return {
    credentialId: row.credential_id,
    sub: row.sub,
    publicKey: row.public_key,
    signCount: row.sign_count,
    transports: readStored("transports of a passkey", row.transports, listOf(isText)),
    backedUp: row.backed_up === 1,
    name: row.name,
    createdAtMs: row.created_at_ms,
    lastUsedAtMs: row.last_used_at_ms ?? undefined,
    isImported: row.imported === 1,
  };
}

/** A passkey as a sign-in needs it. */
export interface FoundPasskey
  extends Passkey,
    Pick<User, "status">,
    Pick<PasswordRecord, "allowed">,
    Pick<Factors, "terms"> {
  /** Its person has no other passkey, no password, no identity elsewhere and no unused recovery code. */
  readonly isOnlyWayIn: boolean;
}

const onlyWayIn = `NOT ${hasOwnPassword("c.sub")}
  AND NOT EXISTS (SELECT 1 FROM webauthn_credentials o WHERE o.sub = c.sub AND o.credential_id <> c.credential_id)
  AND NOT EXISTS (SELECT 1 FROM user_identities i WHERE i.sub = c.sub)
  AND NOT EXISTS (SELECT 1 FROM user_recovery_codes r WHERE r.sub = c.sub AND r.used < ${allUsed})`;

/**
 * Contains the user's status, their consent to a client, and the terms that they have agreed to. The passkey of a suspended user is returned too; the
 * caller refuses it.
 */
export async function findPasskey(
  database: D1Database,
  credentialId: string,
  clientId?: string,
): Promise<FoundPasskey | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT c.*, u.status, u.terms_version, s.allowed, ${onlyWayIn} AS is_only FROM webauthn_credentials c JOIN users u ON u.sub = c.sub
           LEFT JOIN consents s ON s.sub = c.sub AND s.client_id = ?2 WHERE c.credential_id = ?1`,
      )
      .bind(credentialId, clientId ?? null)
      .first<PasskeyRow & Allowed & TermsRow & Pick<User, "status"> & { readonly is_only: number }>(),
  );
  if (row === null) return undefined;
  const { status, terms_version: terms } = row;
  const isOnlyWayIn = row.is_only === 1;
  return { ...toPasskey(row), status, allowed: toAllowed(row), terms: terms ?? undefined, isOnlyWayIn };
}

export async function listPasskeys(database: D1Database, sub: string): Promise<Passkey[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT * FROM webauthn_credentials WHERE sub = ?1 ORDER BY created_at_ms")
      .bind(sub)
      .all<PasskeyRow>(),
  );
  return results.map(toPasskey);
}

/** Stores a passkey. The statement fails, together with its transaction, if the credential id is already registered, for any user. */
export function savePasskey(database: D1Database, passkey: Passkey): D1PreparedStatement {
  return passkeyInsertion(database, passkey, "");
}

/** Changes nothing if the credential id is already registered, for any user. */
export function insertPasskey(database: D1Database, passkey: Passkey): D1PreparedStatement {
  return passkeyInsertion(database, passkey, "ON CONFLICT (credential_id) DO NOTHING");
}

function passkeyInsertion(database: D1Database, passkey: Passkey, onConflict: string): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO webauthn_credentials
           (credential_id, sub, public_key, sign_count, transports, backed_up, name, created_at_ms, last_used_at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ${onConflict}`,
    )
    .bind(
      passkey.credentialId,
      passkey.sub,
      passkey.publicKey,
      passkey.signCount,
      JSON.stringify(passkey.transports),
      passkey.backedUp ? 1 : 0,
      passkey.name,
      passkey.createdAtMs,
      passkey.lastUsedAtMs ?? null,
    );
}

/** Records a use: its time, and the counter that detects clones (WebAuthn §6.1.1). */
export async function recordPasskeyUse(
  database: D1Database,
  credentialId: string,
  use: { readonly signCount: number; readonly backedUp: boolean; readonly atMs: number },
): Promise<void> {
  await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `UPDATE webauthn_credentials SET sign_count = ?2, backed_up = ?3, last_used_at_ms = ?4
          WHERE credential_id = ?1`,
      )
      .bind(credentialId, use.signCount, use.backedUp ? 1 : 0, use.atMs)
      .run(),
  );
}

/** Changes nothing if the user has no such passkey. */
export function renamePasskey(
  database: D1Database,
  sub: string,
  { credentialId, name }: Pick<Passkey, "credentialId" | "name">,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare("UPDATE webauthn_credentials SET name = ?3 WHERE credential_id = ?1 AND sub = ?2")
    .bind(credentialId, sub, name);
}
