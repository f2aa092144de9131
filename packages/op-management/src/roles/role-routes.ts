import type { Stored } from "@edge-op/protocol/encoding/json-object";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import type * as z from "zod";
import { requireAuthority } from "../admin/actor.ts";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminResponse, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, readCursor } from "../admin/paging.ts";
import {
  type Assignment,
  type AssignmentTable,
  findAssignment,
  groupRoles,
  listAssignments,
  replaceAssignment,
  rolePermissions,
} from "./assignment-store.ts";
import { requireAuthorityOverRoles, requireOwnPermissions } from "./role-authority.ts";
import {
  groupListSchema,
  groupRolesSchema,
  groupSchema,
  rbacListQuery,
  rbacNamePattern,
  roleListSchema,
  rolePermissionsSchema,
  roleSchema,
} from "./role-schema.ts";

/**
 * **`/admin/roles` and `/admin/groups`**: the permissions of a role, the roles of a group. A change may concern every user, so
 * every copy of RBAC claims is discarded. Cost: a read 1 D1 call; a change 2 D1 calls and the control plane's calls of the live
 * shards.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-2.2.3.1
 */
interface Kind<Resource extends z.ZodType, List extends z.ZodType, Body extends z.ZodType> {
  readonly noun: "role" | "group";
  readonly path: string;
  readonly gives: string;
  readonly table: AssignmentTable;
  readonly resource: Resource;
  readonly list: List;
  readonly body: Body;
  valuesOf(body: z.output<Body>): readonly string[];
  toResource(assignment: Assignment): Stored<z.input<Resource>>;
  toList(page: readonly Stored<z.input<Resource>>[], next: { next_cursor?: string }): Stored<z.input<List>>;
}

const scope = "admin:users";

async function replace(
  call: AdminCall<unknown, unknown>,
  kind: { readonly noun: "role" | "group"; readonly table: AssignmentTable },
  assignment: Assignment,
): Promise<void> {
  const { name, values } = assignment;
  if (kind.noun === "role") {
    requireAuthority(call.actor, values);
    await requireAuthorityOverRoles(call, [name], []);
  } else await requireAuthorityOverRoles(call, values, [name]);
  await requireOwnPermissions(call, { [kind.noun]: assignment });
  await commitChange(call, {
    statements: replaceAssignment(call.context.env.DB, kind.table, assignment),
    forget: [{ kind: "rbac", id: everyId }],
    event: { action: `${kind.noun}.update`, target: name, detail: { given: values.length } },
  });
}

async function requireAssignment(call: AdminCall<unknown, unknown>, table: AssignmentTable): Promise<Assignment> {
  const found = await findAssignment(call.context.env.DB, table, call.parameter("name"));
  if (found === undefined) throw new OAuthError("not_found", "rbac-name-not-found");
  return found;
}

function routesOf<Resource extends z.ZodType, List extends z.ZodType, Body extends z.ZodType>(
  kind: Kind<Resource, List, Body>,
): AdminRoute[] {
  const { noun, path, gives, table } = kind;
  const title = noun === "role" ? "Role" : "Group";
  const named = `${path}/{name}`;
  const response = { status: 200, description: `The ${noun}.`, schema: kind.resource } as const;
  const list = defineRoute({
    method: "GET",
    path,
    operationId: `list${title}s`,
    summary: `Lists ${noun}s that give ${gives}, in the order of their names, a page at a time.`,
    scope,
    query: rbacListQuery,
    response: { status: 200, description: `A page of ${noun}s.`, schema: kind.list },
    async handle({ context, query: { cursor, limit } }): Promise<AdminResponse<Stored<z.input<List>>>> {
      const rows = await listAssignments(context.env.DB, table, readCursor(cursor), limit + 1);
      const { page, next } = cutPage(rows, limit, ({ name }) => name);
      return { body: kind.toList(page.map(kind.toResource), next) };
    },
  });
  const read = defineRoute({
    method: "GET",
    path: named,
    operationId: `read${title}`,
    summary: `Shows which ${gives} a ${noun} gives.`,
    scope,
    response,
    handle: async (call) => ({ body: kind.toResource(await requireAssignment(call, table)) }),
  });
  const put = defineRoute({
    method: "PUT",
    path: named,
    operationId: `replace${title}`,
    summary: `Sets which ${gives} a ${noun} gives. In force everywhere when the call returns.`,
    scope,
    body: kind.body,
    response,
    async handle(call) {
      const name = call.parameter("name");
      if (!rbacNamePattern.test(name)) throw invalidFields([{ path: noun, message: "is not a name" }]);
      const assignment = { name, values: kind.valuesOf(call.body).toSorted() };
      await replace(call, kind, assignment);
      return { body: kind.toResource(assignment) };
    },
  });
  const remove = defineRoute({
    method: "DELETE",
    path: named,
    operationId: `delete${title}`,
    summary: `Takes every one of its ${gives} from a ${noun}. Who has the ${noun} keeps it. In force everywhere when the call returns.`,
    scope,
    response: { status: 204, description: `The ${noun} gives nothing.` },
    async handle(call) {
      const { name } = await requireAssignment(call, table);
      await replace(call, kind, { name, values: [] });
      return { body: undefined };
    },
  });
  return [list, read, put, remove];
}

export const rbacRoutes: readonly AdminRoute[] = [
  ...routesOf({
    noun: "role",
    path: "/roles",
    gives: "permissions",
    table: rolePermissions,
    resource: roleSchema,
    list: roleListSchema,
    body: rolePermissionsSchema,
    valuesOf: ({ permissions }) => permissions,
    toResource: ({ name, values }) => ({ role: name, permissions: values }),
    toList: (roles, next) => ({ roles, ...next }),
  }),
  ...routesOf({
    noun: "group",
    path: "/groups",
    gives: "roles",
    table: groupRoles,
    resource: groupSchema,
    list: groupListSchema,
    body: groupRolesSchema,
    valuesOf: ({ roles }) => roles,
    toResource: ({ name, values }) => ({ group: name, roles: values }),
    toList: (groups, next) => ({ groups, ...next }),
  }),
];
