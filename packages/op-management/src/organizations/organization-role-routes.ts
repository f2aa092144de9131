import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { contentEtag, entityTagDiffers, requireMatch } from "../admin/optimistic-concurrency.ts";
import {
  type Assignment,
  findAssignment,
  listAssignments,
  refuseUnlessAssigned,
  replaceAssignment,
  organizationRolePermissions as table,
} from "../roles/assignment-store.ts";
import { permissions, rbacNamePattern } from "../roles/role-schema.ts";
import { everyMembership } from "./organization-table.ts";

const scope = "admin:users";
const path = "/organization-roles";

const roleSchema = z.strictObject({ role: z.string(), permissions: z.array(z.string()) }).meta({
  id: "OrganizationRole",
  examples: [{ role: "billing", permissions: ["invoices:read"] }],
});
const response = { status: 200, description: "The role.", schema: roleSchema, headers: ["ETag"] } as const;

const show = ({ name, values }: Assignment) => ({ role: name, permissions: [...values] });

async function respond(assignment: Assignment) {
  return { body: show(assignment), headers: { ETag: await contentEtag(assignment.values) } };
}

async function requireRole(call: AdminCall<unknown, unknown>): Promise<Assignment> {
  const found = await findAssignment(call.context.env.DB, table, call.parameter("name"));
  if (found === undefined) throw new OAuthError("not_found", "rbac-name-not-found");
  return found;
}

/** The role of a conditional request, which fails with 412 if it is another one. */
async function requireVersion(call: AdminCall<unknown, unknown>): Promise<Assignment> {
  const found = await requireRole(call);
  requireMatch(call.ifMatch, await contentEtag(found.values));
  return found;
}

/** What a creation that replaces none rests on; `undefined` for an unconditional request. */
async function requireNew(call: AdminCall<unknown, unknown>): Promise<Assignment | undefined> {
  if (call.ifNoneMatch === undefined) return undefined;
  const name = call.parameter("name");
  if ((await findAssignment(call.context.env.DB, table, name)) !== undefined) throw entityTagDiffers();
  return { name, values: [] };
}

async function replace(
  call: AdminCall<unknown, unknown>,
  known: Assignment | undefined,
  assignment: Assignment,
): Promise<void> {
  const { DB } = call.context.env;
  await commitChange(call, {
    statements: [
      ...(known === undefined ? [] : [refuseUnlessAssigned(DB, table, known)]),
      ...replaceAssignment(DB, table, assignment),
    ],
    forget: [everyMembership],
    event: {
      action: "organization-role.update",
      target: assignment.name,
      detail: { given: assignment.values.length },
    },
  });
}

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listOrganizationRoles",
  summary: "Lists roles of members that give permissions, in the order of their names, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of roles.",
    schema: z
      .strictObject({ organization_roles: z.array(roleSchema), next_cursor: nextCursor })
      .meta({ id: "OrganizationRoleList" }),
  },
  async handle({ context, query: { cursor, limit } }) {
    const rows = await listAssignments(context.env.DB, table, readCursor(cursor), limit + 1);
    const { page, next } = cutPage(rows, limit, ({ name }) => name);
    return { body: { organization_roles: page.map(show), ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path: `${path}/{name}`,
  operationId: "readOrganizationRole",
  summary: "Shows which permissions a role of members gives.",
  scope,
  response,
  handle: async (call) => respond(await requireRole(call)),
});

const put = defineRoute({
  method: "PUT",
  path: `${path}/{name}`,
  operationId: "replaceOrganizationRole",
  summary:
    "Sets which permissions a role gives to members who have it, in every organisation. Never an admin scope. In force everywhere when the call returns.",
  scope,
  preconditions: ["If-Match", "If-None-Match"],
  body: z.strictObject({ permissions }).meta({ id: "OrganizationRoleReplacement" }),
  response,
  async handle(call) {
    const name = call.parameter("name");
    if (!rbacNamePattern.test(name)) throw invalidFields([{ path: "role", message: "is not a name" }]);
    const values = call.body.permissions.toSorted();
    if (values.some(isAdminScope)) {
      throw invalidFields([{ path: "permissions", message: "of an organisation never have an admin scope" }]);
    }
    const known = call.ifMatch === undefined ? await requireNew(call) : await requireVersion(call);
    await replace(call, known, { name, values });
    return respond({ name, values });
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{name}`,
  operationId: "deleteOrganizationRole",
  summary: "Takes every permission from a role of members. Members who have the role keep it.",
  scope,
  preconditions: ["If-Match"],
  response: { status: 204, description: "The role has no permissions." },
  async handle(call) {
    const known = await requireVersion(call);
    await replace(call, known, { name: known.name, values: [] });
    return { body: undefined };
  },
});

/**
 * **`/admin/organization-roles`**: what roles of members give. They are a list of their own, so that a role of the deployment, which may give admin
 * scopes, is never given by a membership. Cost: a read 1 D1; a change 2 D1 and a round of the control plane.
 */
export const organizationRoleRoutes: readonly AdminRoute[] = [list, read, put, remove];
