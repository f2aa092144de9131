import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { applyMergePatch } from "@edge-op/protocol/encoding/merge-patch";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import type { NoticeKind } from "@edge-op/shared/mail/mail-sender-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import type { UserAttributes } from "@edge-op/shared/users/attributes";
import { deletePassword, savePassword } from "@edge-op/shared/users/credentials";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import { makeWordsOf } from "@edge-op/shared/users/search-index";
import type { UserClaims } from "@edge-op/shared/users/user";
import { requireOtherSubject } from "../admin/actor.ts";
import type { PatchCall } from "../admin/define-record-routes.ts";
import { nextVersion } from "../admin/optimistic-concurrency.ts";
import { takenError } from "../admin/taken-ids.ts";
import { replaceAssignment, userGroups, userRoles } from "../roles/assignment-store.ts";
import { refuseGreaterRoles, requireAuthorityOverRoles, requireOwnPermissions } from "../roles/role-authority.ts";
import { keepAddress, keepAttributes, removedAddress, requireAcceptablePassword } from "./user-rules.ts";
import { isUsernameTaken, type StoredUser } from "./user-table.ts";

/** **Applies a patch to a user.** A suspension and a new password end every session and grant, and empty the account page. */
export function patchUser(call: PatchCall) {
  const { actor, body } = call;
  const { DB } = call.context.env;
  const { password } = body;
  let hash: string | undefined;
  return async (known: StoredUser) => {
    const { sub } = known;
    const atMs = nextVersion(known.updatedAtMs, nowMs());
    const changed = applyPatch(known, body, atMs);
    const isCutOff = endsGrants(body);
    if (isCutOff) requireOtherSubject(actor, sub);
    else if (actor.sub === sub) await requireOwnPermissions(call, { user: changed });
    await requireAuthorityOverRoles(call, [...known.roles, ...changed.roles], [...known.groups, ...changed.groups]);
    if (typeof password === "string") {
      await requireAcceptablePassword(call.context, changed, password);
      hash ??= await hashPassword(password);
    }
    const { username } = changed;
    if (username !== known.username && (await isUsernameTaken(DB, username, sub))) throw takenError("username");
    const statements = [
      ...(body.username === undefined && body.claims === undefined ? [] : makeWordsOf(DB, changed)),
      ...keepAddress(DB, changed, known),
      ...(await keepAttributes(DB, sub, writtenAttributes(body), changed.attributes)),
      ...(body.roles === undefined && body.groups === undefined
        ? []
        : [refuseGreaterRoles(call, changed.roles, changed.groups)]),
      ...(body.roles === undefined ? [] : replaceAssignment(DB, userRoles, { name: sub, values: changed.roles })),
      ...(body.groups === undefined ? [] : replaceAssignment(DB, userGroups, { name: sub, values: changed.groups })),
      ...(password === null ? [deletePassword(DB, sub)] : []),
      ...(hash === undefined ? [] : [savePassword(DB, sub, hash, atMs)]),
      ...(isCutOff ? forgetAccess(DB, sub) : []),
    ];
    const removed = removedAddress(changed, known);
    const kind = noticeOf(password, removed);
    const notice = kind && { sub, claims: known.claims, kind, removed };
    return { changed, statements, notice, cutOff: isCutOff ? ({ kind: "sub", id: sub } as const) : undefined };
  };
}

function noticeOf(password: unknown, removedAddress: string | undefined): NoticeKind | undefined {
  if (password === undefined) return removedAddress === undefined ? undefined : "address-changed-by-administrator";
  return password === null ? "password-removed-by-administrator" : "password-set-by-administrator";
}

/** The sessions are ended (ADR 16). */
export function forgetAccess(database: D1Database, sub: string): D1PreparedStatement[] {
  const ending = { reason: "ended by an administrator", atMs: nowMs() };
  return [...endUserSessions(database, sub, ending), forgetOfflineGrants(database, sub)];
}

/** Members that the patch does not name are kept as stored: their schema has validated them, and no member depends on another. */
export function applyPatch(known: StoredUser, patch: JsonObject, atMs: number): StoredUser {
  const { password, ...rest } = patch;
  if (Object.keys(rest).every((name) => name === "status")) {
    const status = rest.status === undefined ? known.status : rest.status === "suspended" ? "suspended" : "active";
    return { ...known, status, hasPassword: hasPasswordAfter(known, password) };
  }
  const { username, status, claims, attributes, roles, groups } = known;
  if (rest["username"] === null) throw invalidFields([{ path: "username", message: "is required" }]);
  const merged = applyMergePatch(
    { username, status, claims: { ...claims }, attributes: { ...attributes }, roles, groups },
    rest,
  );
  const isStamped = patch.claims !== undefined && !(isJsonObject(patch.claims) && "updated_at" in patch.claims);
  return {
    ...known,
    username: merged["username"] as string,
    status: merged["status"] as StoredUser["status"],
    claims: { ...(merged["claims"] as UserClaims), ...(isStamped ? { updated_at: toSeconds(atMs) } : {}) },
    attributes: (merged["attributes"] ?? {}) as UserAttributes,
    roles: ((merged["roles"] ?? []) as readonly string[]).toSorted(),
    groups: ((merged["groups"] ?? []) as readonly string[]).toSorted(),
    hasPassword: hasPasswordAfter(known, password),
  };
}

/** Those that the patch gives a value. */
function writtenAttributes({ attributes }: JsonObject): UserAttributes {
  const named = isJsonObject(attributes) ? Object.entries(attributes) : [];
  return Object.fromEntries(named.filter(([, value]) => value !== null)) as UserAttributes;
}

function hasPasswordAfter(known: StoredUser, password: unknown): boolean {
  return password === undefined ? known.hasPassword : password !== null;
}

/** Anyone who knew the old password may have opened sessions and obtained grants. */
function endsGrants({ status, password }: JsonObject): boolean {
  return status === "suspended" || password !== undefined;
}
