import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import * as z from "zod";
import { requireAuthority } from "../admin/actor.ts";
import { commitChange } from "../admin/commit-change.ts";
import { titleOf } from "../admin/define-record-routes.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { contentEtag, entityTagDiffers, mayBeConflict, requireMatch } from "../admin/optimistic-concurrency.ts";
import {
  type Assignment,
  type AssignmentTable,
  findAssignment,
  findHolders,
  groupRoles,
  listAssignments,
  refuseHolders,
  refuseUnlessAssigned,
  replaceAssignment,
  rolePermissions,
} from "./assignment-store.ts";
import { requireAuthorityOverRoles, requireOwnPermissions } from "./role-authority.ts";
import { permissions, rbacNamePattern, rbacNames } from "./role-schema.ts";

interface Kind {
  readonly noun: "role" | "group";
  readonly gives: "permissions" | "roles";
  readonly table: AssignmentTable;
  readonly values: z.ZodType<string[]>;
  readonly example: Assignment;
}

const scope = "admin:users";

const keepHolders = z
  .boolean()
  .exactOptional()
  .describe(
    "Whether those who have the name already get its first admin scopes. Otherwise a change that gives them to anyone is refused.",
  );

async function replace(
  call: AdminCall<unknown, unknown>,
  { noun, table }: Pick<Kind, "noun" | "table">,
  assignment: Assignment,
  keepsHolders = false,
): Promise<void> {
  const { name, values } = assignment;
  if (noun === "role") {
    requireAuthority(call.actor, values);
    await requireAuthorityOverRoles(call, [name], []);
  } else await requireAuthorityOverRoles(call, values, [name]);
  await requireOwnPermissions(call, { [noun]: assignment });
  const database = call.context.env.DB;
  const known = await findVersion(call, table, name);
  const commit = commitChange(call, {
    statements: [
      ...(known === undefined ? [] : [refuseUnlessAssigned(database, table, known)]),
      ...(keepsHolders ? [] : refuseHolders(database, noun, assignment)),
      ...replaceAssignment(database, table, assignment),
    ],
    forget: [{ kind: "rbac", id: everyId }],
    event: {
      action: `${noun}.update`,
      target: name,
      detail: { given: values.length, ...(keepsHolders ? { keep_holders: true } : {}) },
    },
  });
  await commit.catch(async (cause) => {
    if (!mayBeConflict(cause)) throw cause;
    if (known !== undefined) await findVersion(call, table, name);
    throw (keepsHolders ? undefined : await findHolders(database, noun, assignment)) ?? cause;
  });
}

/** The assignment that a conditional request replaces; `undefined` for an unconditional one. Refuses with 412 if it is another one. */
async function findVersion(
  { context, ifMatch, ifNoneMatch }: AdminCall<unknown, unknown>,
  table: AssignmentTable,
  name: string,
): Promise<Assignment | undefined> {
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  const known = await findAssignment(context.env.DB, table, name);
  if (known === undefined ? ifMatch !== undefined : ifNoneMatch !== undefined) throw entityTagDiffers();
  if (known !== undefined) requireMatch(ifMatch, await contentEtag(known.values));
  return known ?? { name, values: [] };
}

async function requireAssignment(call: AdminCall<unknown, unknown>, table: AssignmentTable): Promise<Assignment> {
  const found = await findAssignment(call.context.env.DB, table, call.parameter("name"));
  if (found === undefined) throw new OAuthError("not_found", "rbac-name-not-found");
  return found;
}

function routesOf({ noun, gives, table, values, example }: Kind): AdminRoute[] {
  const title = titleOf(noun);
  const path = `/${noun}s`;
  const named = `${path}/{name}`;
  const resource = z.strictObject({ [noun]: z.string(), [gives]: z.array(z.string()) }).meta({
    id: title,
    examples: [{ [noun]: example.name, [gives]: example.values }],
  });
  const response = { status: 200, description: `The ${noun}.`, schema: resource, headers: ["ETag"] } as const;
  const show = (assignment: Assignment) => ({ [noun]: assignment.name, [gives]: assignment.values });
  const respond = async (assignment: Assignment) => ({
    body: show(assignment),
    headers: { ETag: await contentEtag(assignment.values) },
  });
  const list = defineRoute({
    method: "GET",
    path,
    operationId: `list${title}s`,
    summary: `Lists ${noun}s that give ${gives}, in the order of their names, a page at a time.`,
    scope,
    query: pageQuery,
    response: {
      status: 200,
      description: `A page of ${noun}s.`,
      schema: z.strictObject({ [`${noun}s`]: z.array(resource), next_cursor: nextCursor }).meta({ id: `${title}List` }),
    },
    async handle({ context, query: { cursor, limit } }) {
      const rows = await listAssignments(context.env.DB, table, readCursor(cursor), limit + 1);
      const { page, next } = cutPage(rows, limit, ({ name }) => name);
      return { body: { [`${noun}s`]: page.map(show), ...next } };
    },
  });
  const read = defineRoute({
    method: "GET",
    path: named,
    operationId: `read${title}`,
    summary: `Shows which ${gives} a ${noun} gives.`,
    scope,
    response,
    handle: async (call) => respond(await requireAssignment(call, table)),
  });
  const put = defineRoute({
    method: "PUT",
    path: named,
    operationId: `replace${title}`,
    summary: `Sets which ${gives} a ${noun} gives. Its first admin scopes need keep_holders if anyone has the ${noun} already. In force everywhere when the call returns.`,
    scope,
    preconditions: ["If-Match", "If-None-Match"],
    body: z
      .strictObject({ [gives]: values, keep_holders: keepHolders })
      .meta({ id: `${title}Replacement`, required: [gives] }),
    response,
    async handle(call) {
      const name = call.parameter("name");
      if (!rbacNamePattern.test(name)) throw invalidFields([{ path: noun, message: "is not a name" }]);
      const assignment = { name, values: (call.body[gives] as string[]).toSorted() };
      await replace(call, { noun, table }, assignment, call.body["keep_holders"] === true);
      return respond(assignment);
    },
  });
  const remove = defineRoute({
    method: "DELETE",
    path: named,
    operationId: `delete${title}`,
    summary: `Takes every one of its ${gives} from a ${noun}. Users who have the ${noun} keep it. In force everywhere when the call returns.`,
    scope,
    preconditions: ["If-Match"],
    response: { status: 204, description: `The ${noun} has no assignments.` },
    async handle(call) {
      const { name } = await requireAssignment(call, table);
      await replace(call, { noun, table }, { name, values: [] });
      return { body: undefined };
    },
  });
  return [list, read, put, remove];
}

/**
 * **`/admin/roles` and `/admin/groups`**: the permissions of a role, the roles of a group. A change may affect every user, so every copy of RBAC
 * claims is discarded. The entity tag of an assignment is a hash of its values. Cost: a read 1 D1 call; a change 2 D1 calls, 3 with a condition, and
 * the control plane's calls of the live shards.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-2.2.3.1
 */
export const rbacRoutes: readonly AdminRoute[] = [
  ...routesOf({
    ...{ noun: "role", gives: "permissions", table: rolePermissions, values: permissions },
    example: { name: "editor", values: ["articles:write"] },
  }),
  ...routesOf({
    ...{ noun: "group", gives: "roles", table: groupRoles, values: rbacNames },
    example: { name: "staff", values: ["editor"] },
  }),
];
