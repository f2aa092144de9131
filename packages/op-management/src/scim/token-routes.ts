import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { visibleText } from "@edge-op/shared/http/plain-text";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { mostMemberRoles } from "@edge-op/shared/users/organizations";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { mayBeConflict } from "../admin/optimistic-concurrency.ts";
import { everyMembership, memberNotFound, organizations } from "../organizations/organization-table.ts";
import { rbacNames } from "../roles/role-schema.ts";
import { deleteToken, listTokens, mostTokens, newToken, type StoredToken } from "./token-store.ts";

const scope = "admin:users";
const tokens = "/organizations/{org_id}/scim-tokens";
const groups = "/organizations/{org_id}/scim-groups";
const dayMs = 86_400_000;
const mostDays = 365;

const tokenSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    expires_at: z.int().describe("Seconds since the epoch."),
    token: z.string().optional().describe("Shown once, by its creation."),
  })
  .meta({
    id: "ScimToken",
    examples: [{ id: "c2NpbS10b2tlbjAx", name: "Entra", created_at: 1795000000, expires_at: 1826536000 }],
  });

const show = ({ id, name, createdAtMs, expiresAtMs }: StoredToken) => ({
  ...{ id, name, created_at: toSeconds(createdAtMs), expires_at: toSeconds(expiresAtMs) },
});

const list = defineRoute({
  method: "GET",
  path: tokens,
  operationId: "listScimTokens",
  summary: "Lists the SCIM tokens of an organisation that have not expired: at most five.",
  scope,
  response: {
    status: 200,
    description: "The tokens.",
    schema: z.strictObject({ scim_tokens: z.array(tokenSchema) }).meta({ id: "ScimTokenList" }),
  },
  async handle({ context, parameter }) {
    const { DB } = context.env;
    const { orgId } = await organizations.require(DB, parameter("org_id"));
    return { body: { scim_tokens: (await listTokens(DB, orgId, nowMs())).map(show) } };
  },
});

const create = defineRoute({
  method: "POST",
  path: tokens,
  operationId: "createScimToken",
  summary:
    "Creates a SCIM token of an organisation. It changes the people and groups of this organisation, and nothing else.",
  scope,
  body: z
    .strictObject({
      name: visibleText(100).describe("For whom it is: `Entra`."),
      days: z.int().min(1).max(mostDays).optional().describe("How long it is accepted; a year unless given."),
    })
    .meta({ id: "ScimTokenCreate" }),
  response: { status: 201, description: "The token, which is shown once.", schema: tokenSchema },
  async handle(call) {
    const { env } = call.context;
    const { orgId } = await organizations.require(env.DB, call.parameter("org_id"));
    const { name, days = mostDays } = call.body;
    const atMs = nowMs();
    const expiresAtMs = atMs + days * dayMs;
    const { id, token, statement } = await newToken(env, orgId, { name, atMs, expiresAtMs });
    try {
      await commitChange(call, {
        statements: [statement],
        forget: [],
        event: { action: "organization.scim_token_create", target: orgId, detail: { id } },
      });
    } catch (cause) {
      if (!mayBeConflict(cause) || (await listTokens(env.DB, orgId, atMs)).length < mostTokens) throw cause;
      throw new OAuthError("conflict", "id-taken", {
        description: `The organisation has ${mostTokens} tokens. Delete one that no directory uses.`,
      });
    }
    return { body: { ...show({ id, name, createdAtMs: atMs, expiresAtMs }), token } };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${tokens}/{token_id}`,
  operationId: "deleteScimToken",
  summary: "Deletes a SCIM token. No request with it is accepted when the call has returned.",
  scope,
  response: { status: 204, description: "There is no such token any more." },
  async handle(call) {
    const { DB } = call.context.env;
    const { orgId } = await organizations.require(DB, call.parameter("org_id"));
    const id = call.parameter("token_id");
    if (!(await listTokens(DB, orgId, 0)).some((each) => each.id === id)) throw memberNotFound();
    await commitChange(call, {
      statements: [deleteToken(DB, orgId, id)],
      forget: [],
      event: { action: "organization.scim_token_delete", target: orgId, detail: { id } },
    });
    return { body: undefined };
  },
});

const groupSchema = z.strictObject({ group_id: z.string(), name: z.string(), roles: z.array(z.string()) }).meta({
  id: "ScimGroup",
  examples: [{ group_id: "0mhqk2x9cJq3pV8sT1bRzYw4n", name: "Finance", roles: ["billing"] }],
});

interface GroupRow {
  readonly group_id: string;
  readonly name: string;
  readonly roles: string;
}

const selectGroups = `SELECT group_id, display_name AS name,
    (SELECT json_group_array(role ORDER BY role) FROM scim_group_roles r WHERE r.org_id = g.org_id AND r.group_id = g.group_id) AS roles
  FROM scim_groups g WHERE org_id = ?1`;

async function readGroups(database: D1Database, rest: string, ...values: readonly unknown[]) {
  const statement = database.prepare(`${selectGroups} ${rest}`).bind(...values);
  const { results } = await queryDatabase(() => statement.all<GroupRow>());
  return results.map(({ roles, ...row }) => ({ ...row, roles: JSON.parse(roles) as string[] }));
}

const listGroups = defineRoute({
  method: "GET",
  path: groups,
  operationId: "listScimGroups",
  summary:
    "Lists the groups that the directory of an organisation has sent, with the roles that they give, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of groups.",
    schema: z
      .strictObject({ scim_groups: z.array(groupSchema), next_cursor: nextCursor })
      .meta({ id: "ScimGroupList" }),
  },
  async handle({ context, parameter, query: { cursor, limit } }) {
    const { DB } = context.env;
    const { orgId } = await organizations.require(DB, parameter("org_id"));
    const rest = "AND group_id > ?2 ORDER BY group_id LIMIT ?3";
    const rows = await readGroups(DB, rest, orgId, readCursor(cursor), limit + 1);
    const { page, next } = cutPage(rows, limit, ({ group_id: groupId }) => groupId);
    return { body: { scim_groups: page, ...next } };
  },
});

const replaceGroup = defineRoute({
  method: "PUT",
  path: `${groups}/{group_id}`,
  operationId: "replaceScimGroup",
  summary:
    "Sets which roles of members a group of the directory gives. It is named by its id, whatever the directory calls it. In force everywhere when the call returns.",
  scope,
  body: z.strictObject({ roles: rbacNames.max(mostMemberRoles) }).meta({ id: "ScimGroupReplacement" }),
  response: { status: 200, description: "The group.", schema: groupSchema },
  async handle(call) {
    const { DB } = call.context.env;
    const { orgId } = await organizations.require(DB, call.parameter("org_id"));
    const groupId = call.parameter("group_id");
    const [known] = await readGroups(DB, "AND group_id = ?2", orgId, groupId);
    if (known === undefined) throw memberNotFound();
    const roles = [...new Set(call.body.roles)].toSorted();
    const key = [orgId, groupId] as const;
    await commitChange(call, {
      statements: [
        DB.prepare("DELETE FROM scim_group_roles WHERE org_id = ?1 AND group_id = ?2").bind(...key),
        DB.prepare(
          "INSERT INTO scim_group_roles (org_id, group_id, role) SELECT ?1, ?2, value FROM json_each(?3)",
        ).bind(...key, JSON.stringify(roles)),
      ],
      // Members may change at the same time: no copy of before is left.
      forget: [everyMembership],
      event: { action: "organization.scim_group_roles", target: orgId, detail: { group_id: groupId, roles } },
    });
    return { body: { ...known, roles } };
  },
});

/**
 * **`/admin/organizations/{org_id}/scim-tokens` and `…/scim-groups`**: who may send an organisation's people, and what its groups give. Cost in D1
 * calls: a list 2; a token 2 to 3; the roles of a group 3, and a round of the control plane.
 */
export const scimTokenRoutes: readonly AdminRoute[] = [list, create, remove, listGroups, replaceGroup];
