/** **Assignments in D1**: permissions of a role, roles of a group, roles and groups of a user. All tables have the same shape. */

import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

export interface AssignmentTable {
  readonly table: "role_permissions" | "group_roles" | "user_roles" | "user_groups";
  readonly holder: "role" | "group_name" | "sub";
  readonly value: "permission" | "role" | "group_name";
}

export const rolePermissions: AssignmentTable = { table: "role_permissions", holder: "role", value: "permission" };
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
    database
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
    database
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
  return database
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
    database.prepare(`DELETE FROM ${table} WHERE ${holder} = ?1`).bind(name),
    database
      .prepare(`INSERT INTO ${table} (${holder}, ${value}) SELECT ?1, value FROM json_each(?2)`)
      .bind(name, JSON.stringify(values)),
  ];
}
