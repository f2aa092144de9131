import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type ActorRequest, refuseOwn, requireAuthority } from "../admin/actor.ts";
import type { AdminCall } from "../admin/define-route.ts";
import type { Assignment } from "./assignment-store.ts";

/** Roles ?1 and those of groups ?2. */
const assignedRoles = `SELECT value FROM json_each(?1)
  UNION SELECT role FROM group_roles WHERE group_name IN (SELECT value FROM json_each(?2))`;

/** **Refuses to assign or remove roles and groups** unless the actor has every admin scope that they grant. Cost: 1 D1. */
export async function requireAuthorityOverRoles(
  { context, actor }: ActorRequest,
  roles: readonly string[],
  groups: readonly string[],
): Promise<void> {
  const { results } = await queryDatabase(() =>
    peopleOf(context.env.DB)
      .prepare(
        `SELECT DISTINCT permission FROM role_permissions
        WHERE permission GLOB 'admin:*' AND role IN (${assignedRoles})`,
      )
      .bind(JSON.stringify(roles), JSON.stringify(groups))
      .all<{ permission: string }>(),
  );
  requireAuthority(
    actor,
    results.map(({ permission }) => permission),
  );
}

/** Roles that give no permission, and groups that give no role: often misspelt. Cost: 1 D1, with roles or groups. */
export async function findWithoutPermissions(
  database: D1Database,
  roles: readonly string[],
  groups: readonly string[],
): Promise<string[]> {
  if (roles.length + groups.length === 0) return [];
  const { results } = await queryDatabase(() =>
    database
      .prepare(
        `SELECT 'role ' || value AS name FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM role_permissions WHERE role = value)
           UNION ALL SELECT 'group ' || value FROM json_each(?2) WHERE NOT EXISTS (SELECT 1 FROM group_roles WHERE group_name = value)`,
      )
      .bind(JSON.stringify(roles), JSON.stringify(groups))
      .all<{ readonly name: string }>(),
  );
  return results.map(({ name }) => name);
}

/**
 * A statement that fails, together with its transaction, if the roles and groups that a person gets have got an admin scope that the actor lacks
 * since {@link requireAuthorityOverRoles}.
 */
export function refuseGreaterRoles(
  { context, actor }: ActorRequest,
  roles: readonly string[],
  groups: readonly string[],
): D1PreparedStatement {
  return peopleOf(context.env.DB)
    .prepare(
      `INSERT INTO role_permissions (role, permission) SELECT '', NULL WHERE EXISTS (
       SELECT 1 FROM role_permissions WHERE permission GLOB 'admin:*' AND permission NOT IN (SELECT value FROM json_each(?3))
          AND role IN (${assignedRoles}))`,
    )
    .bind(JSON.stringify(roles), JSON.stringify(groups), JSON.stringify(actor.scope));
}

/** The records that a change replaces: a user, the permissions of a role, or the roles of a group. */
interface RbacChange {
  readonly user?: { readonly roles: readonly string[]; readonly groups: readonly string[] };
  readonly role?: Assignment;
  readonly group?: Assignment;
}

/**
 * The permissions of roles ?1 and groups ?2 or of user ?7, with the roles ?4 of group ?3 and the permissions ?6 of role ?5 in place of the stored
 * ones.
 */
const permissionsAfter = `
  WITH groups (name) AS (SELECT value FROM json_each(?2) UNION SELECT group_name FROM user_groups WHERE sub = ?7),
  roles (role) AS (
    SELECT value FROM json_each(?1)
    UNION SELECT role FROM user_roles WHERE sub = ?7
    UNION SELECT role FROM group_roles WHERE group_name IN (SELECT name FROM groups) AND group_name IS NOT ?3
    UNION SELECT value FROM json_each(?4) WHERE EXISTS (SELECT 1 FROM groups WHERE name = ?3))
  SELECT permission FROM role_permissions WHERE role IN (SELECT role FROM roles) AND role IS NOT ?5
  UNION SELECT value FROM json_each(?6) WHERE EXISTS (SELECT 1 FROM roles WHERE role = ?5)`;

/** Refuses a change that removes an admin scope of the access token from the user to whom the token belongs. Cost: 1 D1, only for a user's token. */
export async function requireOwnPermissions(
  { context, actor }: Pick<AdminCall<unknown, unknown>, "context" | "actor">,
  { user, role, group }: RbacChange,
): Promise<void> {
  if (!actor.forUser) return;
  const list = (values: readonly string[] = []) => JSON.stringify(values);
  const { results } = await queryDatabase(() =>
    peopleOf(context.env.DB)
      .prepare(permissionsAfter)
      .bind(
        list(user?.roles),
        list(user?.groups),
        group?.name ?? null,
        list(group?.values),
        role?.name ?? null,
        list(role?.values),
        user === undefined ? actor.sub : null,
      )
      .all<{ permission: string }>(),
  );
  const kept = new Set(results.map(({ permission }) => permission));
  const lost = actor.scope.filter((value) => isAdminScope(value) && !kept.has(value));
  if (lost.length > 0) throw refuseOwn(`${actor.sub} would lose ${lost.join(" ")}`);
}
