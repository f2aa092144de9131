import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { UserAttributes } from "@edge-op/shared/users/attributes";
import type { UserClaims } from "@edge-op/shared/users/user";
import { isAddressTaken, parseEmailAddress, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { canonicalUsername } from "@edge-op/shared/users/username";
import { requireOtherSubject } from "../admin/actor.ts";
import { exists, integer, json, names, optional, readOnly, text } from "../admin/columns.ts";
import type { AdminCall } from "../admin/define-route.ts";
import { isSubjectTaken, takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";
import { requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { subPattern } from "./user-schema.ts";

const roles = "SELECT role FROM user_roles WHERE sub = users.sub ORDER BY role";
const groups = "SELECT group_name FROM user_groups WHERE sub = users.sub ORDER BY group_name";

/** **Users in D1.** Roles, groups and the password have rows of their own. */
export const users = new VersionedTable({
  name: "users",
  noun: "user",
  members: {
    sub: text("sub"),
    username: { ...text("username"), write: (username: string) => ({ username, username_key: usernameKey(username) }) },
    status: text("status", ["active", "suspended"]),
    claims: json<UserClaims>("claims"),
    attributes: json<UserAttributes>("attributes"),
    roles: names(`(SELECT json_group_array(role) FROM (${roles}))`),
    groups: names(`(SELECT json_group_array(group_name) FROM (${groups}))`),
    deletesAtMs: optional(integer("deletes_at_ms")),
    // Only the person agrees: a change by an administrator does not write it.
    termsVersion: readOnly(optional(text("terms_version"))),
    termsAcceptedAtMs: readOnly(optional(integer("terms_accepted_at_ms"))),
    hasPassword: exists("SELECT 1 FROM user_passwords WHERE sub = users.sub"),
  },
  key: "sub",
  isKey: (sub) => subPattern.test(sub),
  document: "claims",
  missing: "user-not-found",
  forget: ({ sub }) => [
    { kind: "user", id: sub },
    { kind: "rbac", id: sub },
  ],
  async findTaken(database, { sub, username, claims, attributes }, known) {
    const undeclared = await findUndeclared(database, attributes, known?.attributes);
    if (undeclared !== undefined) return takenError(`attributes.${undeclared}`, "is not a declared attribute any more");
    if (known === undefined && (await isSubjectTaken(database, sub))) return takenError("sub");
    if (username !== known?.username && (await isUsernameTaken(database, username, sub))) return takenError("username");
    const email = verifiedAddress(claims)?.key;
    const name = parseEmailAddress(username)?.key;
    if (await isAddressTaken(database, { sub, key: name }, nowMs()))
      return takenError("username", "is the address of another user");
    if (await isAddressTaken(database, { sub, key: email }, nowMs())) return takenError("claims.email");
    if (email === undefined || !(await isUsernameTaken(database, email, sub))) return undefined;
    return takenError("claims.email", "is the username of another user");
  },
});

export type StoredUser = StoredIn<typeof users>;

/** The name of an attribute in the JSON document ?2 that is not declared. */
export const undeclaredName = "SELECT key FROM json_each(?2) WHERE key NOT IN (SELECT name FROM attributes) LIMIT 1";

async function findUndeclared(
  database: D1Database,
  attributes: UserAttributes,
  known: UserAttributes = {},
): Promise<string | undefined> {
  const changed = Object.entries(attributes).filter(([name, value]) => known[name] !== value);
  if (changed.length === 0) return undefined;
  const statement = database
    .prepare(undeclaredName.replace("?2", "?1"))
    .bind(JSON.stringify(Object.fromEntries(changed)));
  return (await queryDatabase(() => statement.first<{ readonly key: string }>()))?.key;
}

/** The form in which usernames are compared; no user has NULL. */
export function usernameKey(username: string): string | null {
  return canonicalUsername(username) ?? null;
}

/** Whether another user has the name, in any spelling. */
export async function isUsernameTaken(database: D1Database, username: string, sub: string): Promise<boolean> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare("SELECT 1 FROM users WHERE username_key = ?1 AND sub <> ?2")
      .bind(usernameKey(username), sub)
      .first(),
  );
  return row !== null;
}

/** Fails, together with its transaction, if the sub belongs to a client, or belonged to a deleted user, whose hash is stored. */
export function refuseTakenSub(database: D1Database, sub: string, hash: Uint8Array): D1PreparedStatement {
  const isTaken = `EXISTS (SELECT 1 FROM clients WHERE client_id = ?1) OR EXISTS (SELECT 1 FROM retired_subs WHERE hash = ?2)`;
  return users.refuseIf(database, sub, isTaken, hash);
}

/** **Returns the user whose access a call ends**: never the caller, and nobody who has admin scopes that the caller lacks. Cost: 2 D1 calls. */
export async function requireOtherUser(call: AdminCall<unknown, unknown>): Promise<StoredUser> {
  const user = await users.require(call.context.env.DB, call.parameter("sub"));
  requireOtherSubject(call.actor, user.sub);
  await requireAuthorityOverRoles(call, user.roles, user.groups);
  return user;
}
