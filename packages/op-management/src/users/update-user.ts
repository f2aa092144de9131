import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { deletePassword, savePassword } from "@edge-op/shared/users/credentials";
import type { UserClaims } from "@edge-op/shared/users/user";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, defineRoute } from "../admin/define-route.ts";
import { nextVersion, requireMatch } from "../admin/entity-tags.ts";
import { applyMergePatch } from "../admin/merge-patch.ts";
import { requireOtherSubject } from "../admin/own-authority.ts";
import { mayBeConflict, retryOnConflict } from "../admin/retry-on-conflict.ts";
import { takenError } from "../admin/taken-ids.ts";
import { requireAuthorityOverRoles, requireOwnPermissions } from "../roles/role-authority.ts";
import { requireAcceptablePassword } from "./require-acceptable-password.ts";
import { toResponse } from "./user-resource.ts";
import { userPatchSchema, userSchema } from "./user-schema.ts";
import {
  findUser,
  forgetAccess,
  isUsernameTaken,
  replaceGroups,
  replaceRoles,
  requireUser,
  type StoredUser,
  updateUser,
} from "./user-store.ts";

/**
 * **`PATCH /admin/users/{sub}`**. Cost: 4 D1 calls and the control plane's calls of the live shards; for a new password also its
 * hash.
 */
export type UserPatchCall = AdminCall<JsonObject, undefined>;

/** Memberships and password have their own rows, which are written if the patch names them. */
interface UserPatch {
  readonly user: StoredUser;
  readonly passwordHash: string | undefined;
}

export const updateUserRoute = defineRoute({
  method: "PATCH",
  path: "/users/{sub}",
  operationId: "updateUser",
  summary:
    "Changes a user by JSON Merge Patch: what is not named stays, null removes. In force everywhere when the call returns; status suspended, or a password, also ends every session and grant of the user.",
  scope: "admin:users",
  body: userPatchSchema,
  response: { status: 200, description: "The user as they are now.", schema: userSchema },
  async handle(call) {
    return toResponse(await applyUserPatch(call));
  },
});

/** The user after the patch, committed on top of concurrent changes. */
export async function applyUserPatch(call: UserPatchCall): Promise<StoredUser> {
  const { password } = call.body;
  let passwordHash: string | undefined;
  return retryOnConflict(async () => {
    const known = await requireUser(call.context.env.DB, call.parameter("sub"));
    requireMatch(call.ifMatch, known.updatedAtMs);
    const user = patchUser(known, call.body, nowMs());
    if (endsGrants(call.body)) requireOtherSubject(call.actor, known.sub);
    else if (call.actor.sub === known.sub) await requireOwnPermissions(call, { user });
    await requireAuthorityOverRoles(call, [...known.roles, ...user.roles], [...known.groups, ...user.groups]);
    if (typeof password === "string") {
      requireAcceptablePassword(call.context.settings, user, password);
      passwordHash ??= await hashPassword(password);
    }
    return commitUser(call, known, { user, passwordHash });
  });
}

/** What the patch does not name is kept as it is stored: its schema has validated the rest, and no member depends on another. */
function patchUser(known: StoredUser, patch: JsonObject, atMs: number): StoredUser {
  const { password, ...rest } = patch;
  const updatedAtMs = nextVersion(known.updatedAtMs, atMs);
  if (Object.keys(rest).every((name) => name === "status")) {
    const status = rest.status === undefined ? known.status : rest.status === "suspended" ? "suspended" : "active";
    return { ...known, status, hasPassword: hasPasswordAfter(known, password), updatedAtMs };
  }
  const { username, status, claims, roles, groups } = known;
  if (rest["username"] === null) throw invalidFields([{ path: "username", message: "is required" }]);
  const merged = applyMergePatch({ username, status, claims: { ...claims }, roles, groups }, rest);
  const isStamped = patch.claims !== undefined && !(isJsonObject(patch.claims) && "updated_at" in patch.claims);
  return {
    ...known,
    username: merged["username"] as string,
    status: merged["status"] as StoredUser["status"],
    claims: { ...(merged["claims"] as UserClaims), ...(isStamped ? { updated_at: toSeconds(updatedAtMs) } : {}) },
    roles: ((merged["roles"] ?? []) as readonly string[]).toSorted(),
    groups: ((merged["groups"] ?? []) as readonly string[]).toSorted(),
    hasPassword: hasPasswordAfter(known, password),
    updatedAtMs,
  };
}

function hasPasswordAfter(known: StoredUser, password: unknown): boolean {
  return password === undefined ? known.hasPassword : password !== null;
}

/** A person who knew the old password may have opened sessions and obtained grants. */
function endsGrants({ status, password }: JsonObject): boolean {
  return status === "suspended" || password !== undefined;
}

/** `undefined` after a concurrent change. */
async function commitUser(
  call: UserPatchCall,
  known: StoredUser,
  { user, passwordHash }: UserPatch,
): Promise<StoredUser | undefined> {
  const database = call.context.env.DB;
  const { sub } = known;
  const statements = [updateUser(database, user, known.updatedAtMs)];
  if (call.body.roles !== undefined) statements.push(...replaceRoles(database, sub, user.roles));
  if (call.body.groups !== undefined) statements.push(...replaceGroups(database, sub, user.groups));
  if (call.body.password === null) statements.push(deletePassword(database, sub));
  if (passwordHash !== undefined) statements.push(savePassword(database, sub, passwordHash, user.updatedAtMs));
  const isCutOff = endsGrants(call.body);
  if (isCutOff) statements.push(...forgetAccess(database, sub));
  const isRenamed = user.username !== known.username;
  try {
    if (isRenamed && (await isUsernameTaken(database, user.username, sub))) throw takenError("username");
    await commitChange(call, {
      statements,
      forget: [
        { kind: "user", id: sub },
        { kind: "rbac", id: sub },
      ],
      event: { action: "user.update", target: sub, detail: { fields: Object.keys(call.body) } },
      cutOff: isCutOff ? { kind: "sub", id: sub } : undefined,
    });
    return user;
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    if (isRenamed && (await isUsernameTaken(database, user.username, sub))) throw takenError("username");
    const current = await findUser(database, sub);
    if (current?.updatedAtMs !== known.updatedAtMs) return undefined;
    throw cause;
  }
}
