import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { savePassword } from "@edge-op/shared/users/credentials";
import type { UserClaims } from "@edge-op/shared/users/user";
import { commitChange } from "../admin/commit-change.ts";
import { defineRoute } from "../admin/define-route.ts";
import { hashSub, isSubjectTaken, isSubRetired, takenError } from "../admin/taken-ids.ts";
import { requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { requireAcceptablePassword } from "./require-acceptable-password.ts";
import { toResponse } from "./user-resource.ts";
import { userCreateSchema, userSchema } from "./user-schema.ts";
import { insertUser, isUsernameTaken, replaceGroups, replaceRoles, type StoredUser } from "./user-store.ts";

/** **`POST /admin/users`**. Cost: 1 D1, 2 with roles or groups, and the hash of a password. */
export const createUser = defineRoute({
  method: "POST",
  path: "/users",
  operationId: "createUser",
  summary: "Creates a user.",
  scope: "admin:users",
  body: userCreateSchema,
  response: { status: 201, description: "The user.", schema: userSchema },
  async handle(call) {
    const { env, settings } = call.context;
    const { username, status = "active", claims = {}, roles = [], groups = [], password } = call.body;
    if (roles.length + groups.length > 0) await requireAuthorityOverRoles(call, roles, groups);
    const sub = call.body.sub ?? `u${randomBase64Url(16)}`;
    const atMs = nowMs();
    const user: StoredUser = {
      sub,
      username,
      status,
      claims: { updated_at: toSeconds(atMs), ...claims } as UserClaims,
      roles: roles.toSorted(),
      groups: groups.toSorted(),
      hasPassword: password !== undefined,
      createdAtMs: atMs,
      updatedAtMs: atMs,
    };
    if (password !== undefined) requireAcceptablePassword(settings, user, password);
    const hash = password === undefined ? [] : [savePassword(env.DB, sub, await hashPassword(password), atMs)];
    const memberships = [...replaceRoles(env.DB, sub, roles), ...replaceGroups(env.DB, sub, groups)];
    const subHash = await hashSub(sub);
    try {
      await commitChange(call, {
        statements: [insertUser(env.DB, user, subHash), ...memberships, ...hash],
        forget: [],
        event: { action: "user.create", target: sub },
      });
    } catch (cause) {
      if (await isSubjectTaken(env.DB, sub)) throw takenError("sub");
      if (await isSubRetired(env.DB, sub)) throw takenError("sub", "was a deleted user's, and is never given again");
      if (await isUsernameTaken(env.DB, username, sub)) throw takenError("username");
      throw cause;
    }
    const { body, headers } = toResponse(user);
    return { body, headers: { ...headers, Location: `${settings.issuer}/admin/users/${encodeURIComponent(sub)}` } };
  },
});
