import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { savePassword } from "@edge-op/shared/users/credentials";
import type * as z from "zod";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminCall, AdminRoute } from "../admin/define-route.ts";
import { hashSub } from "../admin/taken-ids.ts";
import { replaceAssignment, userGroups, userRoles } from "../roles/assignment-store.ts";
import { requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { patchUser } from "./patch-user.ts";
import { requireAcceptablePassword } from "./require-acceptable-password.ts";
import { keepAddress } from "./user-address.ts";
import { userConditions, userCreateSchema, userSchema, writableUser } from "./user-schema.ts";
import { refuseTakenSub, type StoredUser, usernameKey, users } from "./user-table.ts";

/**
 * **`/admin/users`**. Cost: a read 1 D1 call; a creation 1 D1, 2 with roles or groups; a change 4 D1 and the control plane's calls of the live shards; a deletion 5 D1 calls and
 * three rounds of these; for a new password also its hash.
 */
export const userRoutes: readonly AdminRoute[] = defineRecordRoutes({
  table: users,
  key: "sub",
  scope: "admin:users",
  summaries: {
    create: "Creates a user.",
    list: "Lists users in the order of their subs, a page at a time.",
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
  where: ({ username, ...conditions }) =>
    typeof username === "string" ? { ...conditions, username_key: usernameKey(username) } : conditions,
  show: ({ sub, username, status, claims, roles, groups, hasPassword, createdAtMs, updatedAtMs }) => ({
    sub,
    username,
    status,
    claims,
    roles,
    groups,
    has_password: hasPassword,
    created_at: toSeconds(createdAtMs),
    updated_at: toSeconds(updatedAtMs),
  }),
  create: createUser,
  patch: patchUser,
  ended: { status: "suspended" },
  async remove({ context }, { sub }) {
    const retired = context.env.DB.prepare("INSERT OR IGNORE INTO retired_subs (hash) VALUES (?1)");
    return { statements: [retired.bind(await hashSub(sub))] };
  },
});

async function createUser(call: AdminCall<z.output<typeof userCreateSchema>, undefined>) {
  const { env, settings } = call.context;
  const { username, status = "active", claims = {}, roles = [], groups = [], password } = call.body;
  if (roles.length + groups.length > 0) await requireAuthorityOverRoles(call, roles, groups);
  const sub = call.body.sub ?? `u${randomBase64Url(16)}`;
  const atMs = nowMs();
  const record: StoredUser = {
    ...{ sub, username, status, roles: roles.toSorted(), groups: groups.toSorted() },
    claims: { updated_at: toSeconds(atMs), ...claims },
    hasPassword: password !== undefined,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  };
  if (password !== undefined) requireAcceptablePassword(settings, record, password);
  await users.create(call, record, {
    statements: [
      refuseTakenSub(env.DB, sub, await hashSub(sub)),
      ...keepAddress(env.DB, record, undefined),
      ...replaceAssignment(env.DB, userRoles, { name: sub, values: roles }),
      ...replaceAssignment(env.DB, userGroups, { name: sub, values: groups }),
      ...(password === undefined ? [] : [savePassword(env.DB, sub, await hashPassword(password), atMs)]),
    ],
  });
  return { record };
}
