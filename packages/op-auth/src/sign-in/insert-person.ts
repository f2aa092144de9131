import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { mostMemberships } from "@edge-op/shared/users/organizations";
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
    ...(invitation === undefined ? [] : useInvitation(DB, sub, invitation, atMs)),
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
  /** The active organisation of which the person becomes a member. */
  readonly organization: { readonly orgId: string; readonly name: string } | undefined;
}

interface InvitationRow {
  readonly id: string;
  readonly address: string;
  readonly document: string;
  readonly org_id: string | null;
  readonly organization: string | null;
}

const open = `SELECT i.id, i.address, i.document, o.org_id, o.document ->> '$.name' AS organization FROM invitations i
  LEFT JOIN organizations o ON o.org_id = i.document ->> '$.org_id' AND o.status = 'active' WHERE i.id = ?1 AND i.until_ms > ?2`;

/** `undefined` if it was used or withdrawn, or has ended. Cost: 1 D1 call. */
export async function findInvitation(database: D1Database, id: string, atMs: number): Promise<Invitation | undefined> {
  const row = await queryDatabase(() => peopleOf(database).prepare(open).bind(id, atMs).first<InvitationRow>());
  const address = row === null ? undefined : parseEmailAddress(row.address);
  if (row === null || address === undefined) return undefined;
  const { name, by_operator: byOperator, org_id: asked } = readStored("an invitation", row.document, isJsonObject);
  // The organisation is gone or disabled: nothing is left to be accepted.
  if (asked !== undefined && row.org_id === null) return undefined;
  const organization = row.org_id === null ? undefined : { orgId: row.org_id, name: row.organization ?? row.org_id };
  const given = typeof name === "string" ? name : undefined;
  return { id: row.id, address, name: given, isByOperator: byOperator === true, organization };
}

/** Gives a person the roles and groups of an invitation, and deletes it. To be run in the transaction that inserts them. */
function useInvitation(database: D1Database, sub: string, id: string, atMs: number): D1PreparedStatement[] {
  const listed = (member: "roles" | "groups") =>
    `SELECT ?1, value FROM json_each((SELECT document FROM invitations WHERE id = ?2), '$.${member}')`;
  return [
    peopleOf(database)
      .prepare(`INSERT INTO user_roles (sub, role) ${listed("roles")}`)
      .bind(sub, id),
    peopleOf(database)
      .prepare(`INSERT INTO user_groups (sub, group_name) ${listed("groups")}`)
      .bind(sub, id),
    ...joinInvited(database, sub, { id, atMs }),
    database.prepare("DELETE FROM invitations WHERE id = ?1").bind(id),
  ];
}

/** Makes a person a member as the row of the invitation says, while its organisation is active: none for an invitation of the deployment. */
function joinInvited(
  database: D1Database,
  sub: string,
  { id, atMs }: { readonly id: string; readonly atMs: number },
): D1PreparedStatement[] {
  const invited = `FROM invitations i JOIN organizations o ON o.org_id = i.document ->> '$.org_id' AND o.status = 'active'
    WHERE i.id = ?2 AND i.until_ms > ?3`;
  return [
    peopleOf(database)
      .prepare(
        `INSERT INTO memberships (sub, org_id, status, source, joined_at_ms, updated_at_ms) SELECT ?1, o.org_id,
           iif((SELECT count(*) FROM memberships WHERE sub = ?1) < ${mostMemberships}, 'active', NULL), 'invitation', ?3, ?3 ${invited}`,
      )
      .bind(sub, id, atMs),
    peopleOf(database)
      .prepare(
        `INSERT INTO membership_roles (sub, org_id, role) SELECT ?1, i.document ->> '$.org_id', r.value
           FROM invitations i JOIN organizations o ON o.org_id = i.document ->> '$.org_id' AND o.status = 'active'
           CROSS JOIN json_each(i.document, '$.member_roles') r WHERE i.id = ?2 AND i.until_ms > ?3`,
      )
      .bind(sub, id, atMs),
  ];
}

/**
 * **Accepts an invitation into an organisation for the account that has its address**: whoever opens the link has read a mail to it, and nobody else
 * gains anything. One transaction, which fails if the address is no longer theirs, the invitation was used or withdrawn, or they are a member.
 * `false`: nobody has the address. Cost: 2 D1 calls.
 */
export async function joinByInvitation(
  context: RequestContext<AuthEnv>,
  { id, address }: Pick<Invitation, "id" | "address">,
  orgId: string,
): Promise<boolean> {
  const { env, arrivedAtMs: atMs } = context;
  const { DB } = env;
  const held = "SELECT sub FROM user_addresses WHERE address_key = ?1 AND held_until_ms IS NULL";
  const find = peopleOf(DB).prepare(held).bind(address.key);
  const found = await queryDatabase(() => find.first<{ readonly sub: string }>());
  if (found === null) return false;
  const { sub } = found;
  // A status that is NULL fails the transaction.
  const stillTheirs = peopleOf(DB)
    .prepare(
      `INSERT INTO memberships (sub, org_id, status, source, joined_at_ms, updated_at_ms) SELECT '', '', NULL, '', 0, 0
         WHERE ?2 NOT IN (${held}) OR NOT EXISTS (SELECT 1 FROM invitations WHERE id = ?3 AND until_ms > ?4)`,
    )
    .bind(address.key, sub, id, atMs);
  const event = { action: "organization.member_add", target: orgId, actor: sub, detail: { sub, invitation: id } };
  const use = DB.prepare("DELETE FROM invitations WHERE id = ?1").bind(id);
  const statements = [stillTheirs, ...joinInvited(DB, sub, { id, atMs }), use, recordAdminEvent(context, event)];
  try {
    await queryDatabase(() => DB.batch(statements));
  } catch (error) {
    // They are a member already, or the invitation has just been used: nothing is left to be done.
    if (!(error instanceof UnavailableError && /constraint/i.test(String(error.cause)))) throw error;
  }
  wakeAuditLog(context);
  return true;
}
