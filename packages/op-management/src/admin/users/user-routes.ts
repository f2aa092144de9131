import { hashPassword } from "@edge-op/shared/credentials/password-hash";
import { randomBase64Url } from "@edge-op/shared/oauth/bytes";
import { nowMs, toSeconds } from "@edge-op/shared/oauth/clock";
import type { UserClaims } from "@edge-op/shared/storage/user";
import type * as z from "zod";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin-route.ts";
import { commitChange } from "../commit-change.ts";
import { cutOff } from "../cut-off.ts";
import { applyMergePatch, mergePatchOf } from "../merge-patch.ts";
import { cutPage, readCursor } from "../paging.ts";
import { requireValid } from "../require-valid.ts";
import { requireFreeSubject, takenError } from "../subjects.ts";
import { formatEtag, mayHaveLost, nextVersion, requireMatch, retryOnConflict } from "../versions.ts";
import { userCreateSchema, userListQuery, userListSchema, userSchema, writableUser } from "./user-schema.ts";
import {
  deletePassword,
  deleteUser,
  findUser,
  insertUser,
  isUsernameTaken,
  listUsers,
  replaceGroups,
  replaceRoles,
  requireUser,
  type StoredUser,
  updateUser,
  upsertPassword,
} from "./user-store.ts";

/**
 * **`/admin/users`**. Cost: a read 1 D1; create 3 D1; a change 2 D1 and the control plane's round over the live shards;
 * suspending or deleting cuts off the user's grants too. A password costs its hash.
 */
const path = "/users/{sub}";
const scope = "admin:users";

function toResource(user: StoredUser): z.input<typeof userSchema> {
  return {
    sub: user.sub,
    username: user.username,
    status: user.status,
    claims: { ...user.claims },
    roles: [...user.roles],
    groups: [...user.groups],
    has_password: user.hasPassword,
    created_at: toSeconds(user.createdAtMs),
    updated_at: toSeconds(user.updatedAtMs),
  };
}

function toReply(user: StoredUser) {
  return { body: toResource(user), headers: { ETag: formatEtag(user.updatedAtMs) } };
}

const create = defineRoute({
  method: "POST",
  path: "/users",
  operationId: "createUser",
  summary: "Creates a user.",
  scope,
  body: userCreateSchema,
  reply: { status: 201, description: "The user.", schema: userSchema },
  async handle(call) {
    const database = call.context.env.DB;
    const {
      sub = `u${randomBase64Url(16)}`,
      username,
      status = "active",
      claims = {},
      roles = [],
      groups = [],
      password,
    } = call.body;
    const requireFree = async (): Promise<void> => {
      await requireFreeSubject(database, "sub", sub);
      if (await isUsernameTaken(database, username, sub)) throw takenError("username");
    };
    await requireFree();
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
    const hash = password === undefined ? [] : [upsertPassword(database, sub, await hashPassword(password), atMs)];
    try {
      await commitChange(call, {
        statements: [
          insertUser(database, user),
          ...replaceRoles(database, sub, roles),
          ...replaceGroups(database, sub, groups),
          ...hash,
        ],
        forget: [],
        event: { action: "user.create", target: sub },
      });
    } catch (cause) {
      await requireFree();
      throw cause;
    }
    const { body, headers } = toReply(user);
    const location = `${call.context.settings.issuer}/admin/users/${encodeURIComponent(sub)}`;
    return { body, headers: { ...headers, Location: location } };
  },
});

const list = defineRoute({
  method: "GET",
  path: "/users",
  operationId: "listUsers",
  summary: "Lists users in the order of their subs, a page at a time.",
  scope,
  query: userListQuery,
  reply: { status: 200, description: "A page of users.", schema: userListSchema },
  async handle({ context, query: { cursor, limit, status, username } }) {
    const rows = await listUsers(context.env.DB, readCursor(cursor), limit + 1, { status, username });
    const { page, next } = cutPage(rows, limit, ({ sub }) => sub);
    return { body: { users: page.map(toResource), ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path,
  operationId: "readUser",
  summary: "Shows a user.",
  scope,
  reply: { status: 200, description: "The user.", schema: userSchema },
  async handle({ context, parameter }) {
    return toReply(await requireUser(context.env.DB, parameter("sub")));
  },
});

const update = defineRoute({
  method: "PATCH",
  path,
  operationId: "updateUser",
  summary:
    "Changes a user by JSON Merge Patch: what is not named stays, null removes. In force everywhere when answered; status suspended also ends every grant of the user.",
  scope,
  body: mergePatchOf(writableUser).meta({ id: "UserPatch" }),
  reply: { status: 200, description: "The user as they are now.", schema: userSchema },
  async handle(call) {
    const user = await retryOnConflict(() => tryUpdate(call));
    if (call.body.status === "suspended") await cutOff(call, "sub", user.sub);
    return toReply(user);
  },
});

type PatchCall = AdminCall<Readonly<Record<string, unknown>>, undefined>;

/** The user after a patch, and what it says of the password. */
function patchUser(known: StoredUser, patch: Readonly<Record<string, unknown>>, atMs: number) {
  const { username, status, claims, roles, groups } = known;
  const merged = applyMergePatch({ username, status, claims, roles, groups }, patch);
  const valid = requireValid(writableUser.required({ username: true }), merged);
  const updatedAtMs = nextVersion(known.updatedAtMs, atMs);
  const stamped = patch.claims === undefined ? {} : { updated_at: toSeconds(updatedAtMs) };
  const user: StoredUser = {
    ...known,
    username: valid.username,
    status: valid.status ?? "active",
    claims: { ...valid.claims, ...stamped } as UserClaims,
    roles: (valid.roles ?? []).toSorted(),
    groups: (valid.groups ?? []).toSorted(),
    hasPassword: patch.password === undefined ? known.hasPassword : patch.password !== null,
    updatedAtMs,
  };
  return { user, password: patch.password === null ? null : valid.password };
}

/** `undefined` when another change came in between. */
async function tryUpdate(call: PatchCall): Promise<StoredUser | undefined> {
  const database = call.context.env.DB;
  const known = await requireUser(database, call.parameter("sub"));
  requireMatch(call.ifMatch, known.updatedAtMs);
  const { user, password } = patchUser(known, call.body, nowMs());
  const { sub } = known;
  if (await isUsernameTaken(database, user.username, sub)) throw takenError("username");
  const statements = [updateUser(database, user, known.updatedAtMs)];
  if (call.body.roles !== undefined) statements.push(...replaceRoles(database, sub, user.roles));
  if (call.body.groups !== undefined) statements.push(...replaceGroups(database, sub, user.groups));
  if (password === null) statements.push(deletePassword(database, sub));
  else if (password !== undefined) {
    statements.push(upsertPassword(database, sub, await hashPassword(password), user.updatedAtMs));
  }
  try {
    await commitChange(call, {
      statements,
      forget: [
        { kind: "user", id: sub },
        { kind: "rbac", id: sub },
      ],
      event: { action: "user.update", target: sub, detail: { fields: Object.keys(call.body) } },
    });
  } catch (cause) {
    if (!mayHaveLost(cause)) throw cause;
    const current = await findUser(database, sub);
    if (current?.updatedAtMs !== known.updatedAtMs) return undefined;
    if (await isUsernameTaken(database, user.username, sub)) throw takenError("username");
    throw cause;
  }
  return user;
}

/** Suspended and cut off before they go: should that fail half-way, the user is still there to be deleted again. */
const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteUser",
  summary: "Deletes a user and ends every grant they have given.",
  scope,
  reply: { status: 204, description: "The user is gone." },
  async handle(call) {
    const database = call.context.env.DB;
    const sub = call.parameter("sub");
    await retryOnConflict(() => tryUpdate({ ...call, body: { status: "suspended" } }));
    await cutOff(call, "sub", sub);
    await commitChange(call, {
      statements: [deleteUser(database, sub)],
      forget: [
        { kind: "user", id: sub },
        { kind: "rbac", id: sub },
      ],
      event: { action: "user.delete", target: sub },
    });
    return { body: undefined };
  },
});

export const userRoutes: readonly AdminRoute[] = [create, list, read, update, remove];
