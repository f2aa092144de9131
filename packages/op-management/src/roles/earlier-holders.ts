import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { Assignment } from "./assignment-store.ts";

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
  return [database.prepare(statement).bind(assignment.name, JSON.stringify(assignment.values))];
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
    database.prepare(select).bind(name, JSON.stringify(values)).all<{ holder: string }>(),
  );
  if (results.length === 0) return undefined;
  const shown = results.slice(0, mostShown).map(({ holder }) => holder);
  const list = [...shown, ...(results.length > mostShown ? ["others"] : [])].join(", ");
  return new OAuthError("conflict", "role-has-holders", {
    description: `The ${noun} gives admin scopes for the first time, and is held already by ${list}. Take it from them, or send keep_holders if they shall have these scopes.`,
  });
}
