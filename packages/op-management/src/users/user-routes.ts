import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { savePassword } from "@edge-op/shared/users/credentials";
import { retiredHash, retireSub } from "@edge-op/shared/users/retired-subs";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import type * as z from "zod";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminCall, AdminRoute } from "../admin/define-route.ts";
import { isSubRetired, takenError } from "../admin/taken-ids.ts";
import { replaceAssignment, userGroups, userRoles } from "../roles/assignment-store.ts";
import { refuseGreaterRoles, requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { patchUser } from "./patch-user.ts";
import { searchUsers } from "./search-users.ts";
import { keepAddress, keepAttributes, requireAcceptablePassword } from "./user-rules.ts";
import { userConditions, userCreateSchema, userSchema, userSearch, writableUser } from "./user-schema.ts";
import { refuseTakenSub, type StoredUser, users } from "./user-table.ts";

/**
 * **`/admin/users`**. Cost in D1 calls: a read 1; a creation 1, 2 with roles or groups, 1 more with attributes, 2 more in
 * parallel for a chosen sub; a change 4, and the control plane's calls of the live shards; a deletion 6, and three rounds of these calls. A new
 * password also costs its hash.
 */
export const userRoutes: readonly AdminRoute[] = defineRecordRoutes({
  table: users,
  key: "sub",
  scope: "admin:users",
  summaries: {
    create: "Creates a user.",
    list: "Lists users in the order of their subs, a page at a time; those with a common beginning in the order of what they have in common.",
    read: "Shows a user.",
    update:
      "Changes a user by JSON Merge Patch: members that are not named are kept, null removes a member. In force everywhere when the call returns. Status suspended, or a new password, also ends every session and grant of the user.",
    remove: "Deletes a user and ends every grant of the user. The sub is never assigned again.",
  },
  now: "The user as they are now.",
  writable: writableUser,
  createBody: userCreateSchema,
  shown: userSchema,
  conditions: userConditions,
  search: { schema: userSearch, find: searchUsers },
  show: ({
    sub,
    username,
    status,
    claims,
    attributes,
    roles,
    groups,
    hasPassword,
    createdAtMs,
    updatedAtMs,
    deletesAtMs,
    termsVersion,
    termsAcceptedAtMs,
  }) => ({
    sub,
    username,
    status,
    claims,
    attributes,
    roles,
    groups,
    has_password: hasPassword,
    created_at: toSeconds(createdAtMs),
    updated_at: toSeconds(updatedAtMs),
    ...(deletesAtMs === undefined ? {} : { deletes_at: toSeconds(deletesAtMs) }),
    ...(termsVersion === undefined || termsAcceptedAtMs === undefined
      ? {}
      : { terms: { version: termsVersion, accepted_at: toSeconds(termsAcceptedAtMs) } }),
  }),
  create: createUser,
  patch: patchUser,
  ended: { status: "suspended" },
  async remove({ context: { env } }, { sub }) {
    const unheld = env.DB.prepare("DELETE FROM held_records WHERE kind = 'user' AND id = ?1").bind(sub);
    return { statements: [await retireSub(env, sub), unheld] };
  },
});

async function createUser(call: AdminCall<z.output<typeof userCreateSchema>, undefined>) {
  const { env } = call.context;
  const { username, status = "active", claims = {}, attributes = {}, roles = [], groups = [], password } = call.body;
  if (roles.length + groups.length > 0) await requireAuthorityOverRoles(call, roles, groups);
  const { sub = `u${randomBase64Url(16)}` } = call.body;
  if (call.body.sub !== undefined && (await isSubRetired(env, sub))) {
    throw takenError("sub", "was a deleted user's, and is never given again");
  }
  const atMs = nowMs();
  const record: StoredUser = {
    ...{ sub, username, status, roles: roles.toSorted(), groups: groups.toSorted() },
    claims: { updated_at: toSeconds(atMs), ...claims },
    attributes,
    hasPassword: password !== undefined,
    deletesAtMs: undefined,
    termsVersion: undefined,
    termsAcceptedAtMs: undefined,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  };
  if (password !== undefined) await requireAcceptablePassword(call.context, record, password);
  const written = await keepAttributes(env.DB, sub, attributes, attributes);
  await users.create(call, record, {
    statements: [
      refuseTakenSub(env.DB, sub, await retiredHash(env, sub)),
      ...makeWordsOf(env.DB, record),
      ...keepAddress(env.DB, record, undefined),
      ...written,
      ...(roles.length + groups.length > 0 ? [refuseGreaterRoles(call, roles, groups)] : []),
      ...replaceAssignment(env.DB, userRoles, { name: sub, values: roles }),
      ...replaceAssignment(env.DB, userGroups, { name: sub, values: groups }),
      ...(password === undefined ? [] : [savePassword(env.DB, sub, await hashPassword(password), atMs)]),
    ],
  });
  return { record };
}
