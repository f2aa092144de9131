/** **Assignments in D1**: permissions of a role, roles of a group, roles and groups of a user. All tables have the same shape. */

import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

export interface AssignmentTable {
  readonly table: "role_permissions" | "organization_role_permissions" | "group_roles" | "user_roles" | "user_groups";
  readonly holder: "role" | "group_name" | "sub";
  readonly value: "permission" | "role" | "group_name";
}

export const rolePermissions: AssignmentTable = { table: "role_permissions", holder: "role", value: "permission" };
export const organizationRolePermissions: AssignmentTable = {
  table: "organization_role_permissions",
  holder: "role",
  value: "permission",
};
export const groupRoles: AssignmentTable = { table: "group_roles", holder: "group_name", value: "role" };
export const userRoles: AssignmentTable = { table: "user_roles", holder: "sub", value: "role" };
export const userGroups: AssignmentTable = { table: "user_groups", holder: "sub", value: "group_name" };

export interface Assignment {
  readonly name: string;
  readonly values: readonly string[];
}

function toAssignment(row: { name: string; given: string }): Assignment {
  return { name: row.name, values: readStored("assignment", row.given, listOf(isText)) };
}

/** `undefined` if the name has no assignments. */
export async function findAssignment(
  database: D1Database,
  { table, holder, value }: AssignmentTable,
  name: string,
): Promise<Assignment | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT ${holder} AS name, json_group_array(${value} ORDER BY ${value}) AS given FROM ${table} WHERE ${holder} = ?1 GROUP BY ${holder}`,
      )
      .bind(name)
      .first<{ name: string; given: string }>(),
  );
  return row === null ? undefined : toAssignment(row);
}

export async function listAssignments(
  database: D1Database,
  { table, holder, value }: AssignmentTable,
  after: string,
  count: number,
): Promise<Assignment[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT ${holder} AS name, json_group_array(${value} ORDER BY ${value}) AS given FROM ${table}
          WHERE ${holder} > ?1 GROUP BY ${holder} ORDER BY ${holder} LIMIT ?2`,
      )
      .bind(after, count)
      .all<{ name: string; given: string }>(),
  );
  return results.map(toAssignment);
}

/** A statement that fails, together with its transaction, unless the name has exactly these values, in their order. */
export function refuseUnlessAssigned(
  database: D1Database,
  { table, holder, value }: AssignmentTable,
  { name, values }: Assignment,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO ${table} (${holder}, ${value}) SELECT ?1, NULL
        WHERE (SELECT json_group_array(${value} ORDER BY ${value}) FROM ${table} WHERE ${holder} = ?1) <> json(?2)`,
    )
    .bind(name, JSON.stringify(values));
}

/** Replaces the assignments of the name by `values`. */
export function replaceAssignment(
  database: D1Database,
  { table, holder, value }: AssignmentTable,
  { name, values }: Assignment,
): D1PreparedStatement[] {
  return [
    peopleOf(database).prepare(`DELETE FROM ${table} WHERE ${holder} = ?1`).bind(name),
    peopleOf(database)
      .prepare(`INSERT INTO ${table} (${holder}, ${value}) SELECT ?1, value FROM json_each(?2)`)
      .bind(name, JSON.stringify(values)),
  ];
}

/**
 * **Earlier holders of a role or group that gives its first admin scope.** A name may be given to people before it means anything (a role without
 * permissions is a value of the claim `roles`), and is kept by them when it is deleted. Anyone with `admin:users` could thus give away the
 * administrators' role of tomorrow. So the change is refused if the name has holders, unless its request says that they keep it.
 */
type Noun = "role" | "group";

/** Who has the name ?1: users, groups, and invitations that nobody has accepted. */
const holders = {
  role: `SELECT 'user ' || sub AS holder FROM user_roles WHERE role = ?1
    UNION ALL SELECT 'group ' || group_name FROM group_roles WHERE role = ?1
    UNION ALL SELECT 'invitation ' || invitations.id FROM invitations, json_each(document, '$.roles') WHERE value = ?1`,
  group: `SELECT 'user ' || sub AS holder FROM user_groups WHERE group_name = ?1
    UNION ALL SELECT 'invitation ' || invitations.id FROM invitations, json_each(document, '$.groups') WHERE value = ?1`,
};

/** Whether the name ?1 gives no admin scope, and would with the permissions or roles ?2. */
const isFirst = {
  role: `NOT EXISTS (SELECT 1 FROM role_permissions WHERE role = ?1 AND permission GLOB 'admin:*')
    AND EXISTS (SELECT 1 FROM json_each(?2) WHERE value GLOB 'admin:*')`,
  group: `NOT EXISTS (SELECT 1 FROM role_permissions WHERE permission GLOB 'admin:*'
      AND role IN (SELECT role FROM group_roles WHERE group_name = ?1))
    AND EXISTS (SELECT 1 FROM role_permissions WHERE permission GLOB 'admin:*' AND role IN (SELECT value FROM json_each(?2)))`,
};

/** A role that gives no admin scope needs no look. */
function mayGain(noun: Noun, { values }: Assignment): boolean {
  return noun === "group" ? values.length > 0 : values.some(isAdminScope);
}

/** Statements that fail, together with their transaction, if the name has holders and gets its first admin scope. They precede the change. */
export function refuseHolders(database: D1Database, noun: Noun, assignment: Assignment): D1PreparedStatement[] {
  if (!mayGain(noun, assignment)) return [];
  const statement = `INSERT INTO role_permissions (role, permission) SELECT '', NULL
    WHERE ${isFirst[noun]} AND EXISTS (${holders[noun]})`;
  return [peopleOf(database).prepare(statement).bind(assignment.name, JSON.stringify(assignment.values))];
}

const mostShown = 5;

/** The refusal, which names some holders, if that is why a commit has failed. Cost: 1 D1. */
export async function findHolders(
  database: D1Database,
  noun: Noun,
  assignment: Assignment,
): Promise<OAuthError | undefined> {
  if (!mayGain(noun, assignment)) return undefined;
  const { name, values } = assignment;
  const select = `SELECT holder FROM (${holders[noun]}) WHERE ${isFirst[noun]} LIMIT ${mostShown + 1}`;
  const { results } = await queryDatabase(() =>
    peopleOf(database).prepare(select).bind(name, JSON.stringify(values)).all<{ holder: string }>(),
  );
  if (results.length === 0) return undefined;
  const shown = results.slice(0, mostShown).map(({ holder }) => holder);
  const list = [...shown, ...(results.length > mostShown ? ["others"] : [])].join(", ");
  return new OAuthError("conflict", "role-has-holders", {
    description: `The ${noun} gives admin scopes for the first time, and is held already by ${list}. Take it from them, or send keep_holders if they shall have these scopes.`,
  });
}
