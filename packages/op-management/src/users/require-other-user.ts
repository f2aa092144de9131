import type { AdminCall } from "../admin/define-route.ts";
import { requireOtherSubject } from "../admin/own-authority.ts";
import { requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { type StoredUser, users } from "./user-table.ts";

/** **Returns the user whose access a call ends**: never the caller, and nobody who has admin scopes that the caller lacks. Cost: 2 D1 calls. */
export async function requireOtherUser(call: AdminCall<unknown, unknown>): Promise<StoredUser> {
  const user = await users.require(call.context.env.DB, call.parameter("sub"));
  requireOtherSubject(call.actor, user.sub);
  await requireAuthorityOverRoles(call, user.roles, user.groups);
  return user;
}
