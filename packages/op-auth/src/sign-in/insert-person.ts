import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { retiredHash } from "@edge-op/shared/users/retired-subs";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import type { UserClaims } from "@edge-op/shared/users/user";
import { type EmailAddress, insertAddress, parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { ProvenNewcomer } from "../step/flow.ts";
import { announceSignUp } from "../upstream/provision-user.ts";

export interface NewCredential {
  readonly method: "passkey" | "password";
  /** Inserts it. */
  readonly credential: D1PreparedStatement;
  /** The language of the page. */
  readonly locale: string;
  /** The version of the terms that the person agrees to. */
  readonly terms: string | undefined;
}

/**
 * **Inserts a person who has proven their address**, with their credential and the roles of their invitation, in one transaction: all of it or
 * nothing. The address is the username. False if it has a person or is somebody's username, if the invitation was used, withdrawn or has ended, and
 * if an old page would give the `sub` of a deleted person again. Cost: 1 D1 call.
 */
export async function insertPerson(
  context: RequestContext<AuthEnv>,
  { sub, name, address, invitation }: ProvenNewcomer,
  { locale, credential, method, terms }: NewCredential,
): Promise<boolean> {
  const { env, arrivedAtMs: atMs } = context;
  const { DB } = env;
  const { address: email, key } = address;
  const claims: UserClaims = { name, email, email_verified: true, locale, updated_at: toSeconds(atMs) };
  const retired = await retiredHash(env, sub);
  // A document that is NULL fails the transaction.
  const insert = peopleOf(DB)
    .prepare(
      `INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms, terms_version, terms_accepted_at_ms)
       SELECT ?1, ?2, ?3, iif((?6 IS NULL OR EXISTS (SELECT 1 FROM invitations WHERE id = ?6 AND until_ms > ?5))
         AND NOT EXISTS (SELECT 1 FROM retired_subs WHERE hash = ?7), ?4, NULL), ?5, ?5, ?8, iif(?8 IS NULL, NULL, ?5)`,
    )
    .bind(sub, email, key, JSON.stringify(claims), atMs, invitation ?? null, retired, terms ?? null);
  const signedUp = { action: "user.sign_up", target: sub, actor: sub, detail: { method, invitation } };
  const agreed = { action: "terms.accepted", target: sub, actor: sub, detail: { version: terms } };
  const statements = [
    insert,
    ...insertAddress(DB, sub, address, atMs),
    credential,
    ...(invitation === undefined ? [] : useInvitation(DB, sub, invitation)),
    recordAdminEvent(context, signedUp),
    ...(terms === undefined ? [] : [recordAdminEvent(context, agreed)]),
    ...makeWordsOf(DB, { sub, username: email, claims }),
  ];
  try {
    await queryDatabase(() => DB.batch(statements));
  } catch (error) {
    if (error instanceof UnavailableError && /constraint/i.test(String(error.cause))) return false;
    throw error;
  }
  wakeAuditLog(context);
  announceSignUp(context, { sub, username: email, claims, method });
  return true;
}

/** **An invitation that nobody has accepted.** Its link proves its address, to which alone it was mailed. */
export interface Invitation {
  readonly id: string;
  readonly address: EmailAddress;
  readonly name: string | undefined;
  /** Written into the database by a command, not through the admin API: it does not depend on `SIGN_UP`. */
  readonly isByOperator: boolean;
}

interface InvitationRow {
  readonly id: string;
  readonly address: string;
  readonly document: string;
}

const open = "SELECT id, address, document FROM invitations WHERE id = ?1 AND until_ms > ?2";

/** `undefined` if it was used or withdrawn, or has ended. Cost: 1 D1 call. */
export async function findInvitation(database: D1Database, id: string, atMs: number): Promise<Invitation | undefined> {
  const row = await queryDatabase(() => peopleOf(database).prepare(open).bind(id, atMs).first<InvitationRow>());
  const address = row === null ? undefined : parseEmailAddress(row.address);
  if (row === null || address === undefined) return undefined;
  const { name, by_operator: byOperator } = readStored("an invitation", row.document, isJsonObject);
  return { id: row.id, address, name: typeof name === "string" ? name : undefined, isByOperator: byOperator === true };
}

/** Gives a person the roles and groups of an invitation, and deletes it. To be run in the transaction that inserts them. */
function useInvitation(database: D1Database, sub: string, id: string): D1PreparedStatement[] {
  const listed = (member: "roles" | "groups") =>
    `SELECT ?1, value FROM json_each((SELECT document FROM invitations WHERE id = ?2), '$.${member}')`;
  return [
    peopleOf(database)
      .prepare(`INSERT INTO user_roles (sub, role) ${listed("roles")}`)
      .bind(sub, id),
    peopleOf(database)
      .prepare(`INSERT INTO user_groups (sub, group_name) ${listed("groups")}`)
      .bind(sub, id),
    database.prepare("DELETE FROM invitations WHERE id = ?1").bind(id),
  ];
}
