import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, readCursor } from "../admin/paging.ts";
import { hashSub } from "../admin/taken-ids.ts";
import { createUser } from "./create-user.ts";
import { applyUserPatch, updateUserRoute } from "./update-user.ts";
import { toResource, toResponse } from "./user-resource.ts";
import { userListQuery, userListSchema, userSchema } from "./user-schema.ts";
import { deleteUser, listUsers, requireUser } from "./user-store.ts";

/**
 * **`/admin/users`**. Cost: a read 1 D1 call; a deletion 5 D1 calls and three rounds of the control plane's calls of the live
 * shards.
 */
const path = "/users/{sub}";
const scope = "admin:users";

const list = defineRoute({
  method: "GET",
  path: "/users",
  operationId: "listUsers",
  summary: "Lists users in the order of their subs, a page at a time.",
  scope,
  query: userListQuery,
  response: { status: 200, description: "A page of users.", schema: userListSchema },
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
  response: { status: 200, description: "The user.", schema: userSchema },
  async handle({ context, parameter }) {
    return toResponse(await requireUser(context.env.DB, parameter("sub")));
  },
});

/** The user is suspended and cut off before the deletion, so that a deletion that failed half-way can be repeated. */
const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteUser",
  summary: "Deletes a user and ends every grant they have given. Nobody gets the sub again.",
  scope,
  response: { status: 204, description: "The user is gone." },
  async handle(call) {
    const { sub } = await applyUserPatch({ ...call, body: { status: "suspended" } });
    await commitChange(call, {
      statements: deleteUser(call.context.env.DB, sub, await hashSub(sub)),
      forget: [
        { kind: "user", id: sub },
        { kind: "rbac", id: sub },
      ],
      event: { action: "user.delete", target: sub },
    });
    return { body: undefined };
  },
});

export const userRoutes: readonly AdminRoute[] = [createUser, list, read, updateUserRoute, remove];
