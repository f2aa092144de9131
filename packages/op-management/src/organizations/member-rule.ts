import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { heldRoles } from "@edge-op/shared/users/organizations";
import {
  beyond,
  type Delegate,
  delegatedPermissions,
  givesOneOf,
  hasNow,
  lackedBy,
  owner,
  refuseRolesBeyond,
  refuseWhere,
  requireRolesWithin,
} from "../admin/delegate.ts";
import type { StoredMember } from "./member-store.ts";

/** A member as they will be; `undefined`: removed. */
type NextMember = Pick<StoredMember, "status" | "roles"> | undefined;

/** The active owners of an organisation, by their own roles and by groups of the directory. */
const owners = `SELECT m.sub FROM memberships m CROSS JOIN users u ON u.sub = m.sub AND u.status = 'active'
    WHERE m.org_id = ?1 AND m.status = 'active' AND ${givesOneOf(`'${owner}'`)}`;

/** The permissions in the JSON of ?3 that the member of ?1 and ?2 has. */
const held = `SELECT p.permission FROM memberships m
    CROSS JOIN organization_role_permissions p ON p.permission IN (SELECT value FROM json_each(?3)) AND p.role IN (${heldRoles})
    WHERE m.sub = ?1 AND m.org_id = ?2`;

/**
 * **O9 for a change of a member**: refuses one that gives, takes or ends a permission that the delegate lacks. Returns the statements that fail the
 * transaction: before the change, if roles give more meanwhile; after it, if it took the last active owner. Cost: 2 D1 calls at the same time.
 */
export async function ruleMemberChange(
  database: D1Database,
  delegate: Delegate,
  known: StoredMember,
  next: NextMember,
): Promise<{ readonly before: readonly D1PreparedStatement[]; readonly after: readonly D1PreparedStatement[] }> {
  const roles = next?.roles ?? [];
  const touched = [
    ...known.roles.filter((role) => !roles.includes(role)),
    ...roles.filter((role) => !known.roles.includes(role)),
  ];
  const [permissions] = await Promise.all([findHeld(database, known), requireRolesWithin(database, delegate, touched)]);
  const lacked = lackedBy(delegate);
  const isEnded = next?.status !== known.status;
  if (isEnded && permissions.some((permission) => lacked.includes(permission))) {
    throw beyond("The member has a permission");
  }
  const { sub, orgId } = known;
  const all = JSON.stringify(delegatedPermissions);
  const ended = `EXISTS (${held} AND NOT ${hasNow("?4", "?2")})`;
  return {
    before: [
      refuseRolesBeyond(database, delegate, touched),
      ...(isEnded ? [refuseWhere(database, ended, sub, orgId, all, delegate.sub)] : []),
    ],
    after: permissions.includes(owner) ? [refuseWhere(database, `NOT EXISTS (${owners})`, orgId)] : [],
  };
}

async function findHeld(database: D1Database, { sub, orgId }: StoredMember): Promise<readonly string[]> {
  const statement = peopleOf(database).prepare(held).bind(sub, orgId, JSON.stringify(delegatedPermissions));
  const { results } = await queryDatabase(() => statement.all<{ readonly permission: string }>());
  return results.map(({ permission }) => permission);
}

/** After a failed commit: whether the member is the last active owner. Cost: 1 D1 call. */
export async function refuseLastOwner(database: D1Database, { sub, orgId }: StoredMember): Promise<void> {
  const statement = peopleOf(database).prepare(`SELECT 1 FROM (${owners}) WHERE sub <> ?2 LIMIT 1`).bind(orgId, sub);
  if ((await queryDatabase(() => statement.first())) !== null) return;
  throw new OAuthError("conflict", "organization-last-owner", {
    description: "The member is the last active owner of the organization: give the role to another member first.",
  });
}
