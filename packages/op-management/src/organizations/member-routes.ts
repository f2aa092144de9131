import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { membershipId } from "@edge-op/shared/cut-offs/cut-offs";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { longestMemberSub, mostMemberRoles, mostMemberships } from "@edge-op/shared/users/organizations";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import {
  entityTagDiffers,
  formatEtag,
  mayBeConflict,
  nextVersion,
  requireMatch,
  retryOnConflict,
} from "../admin/optimistic-concurrency.ts";
import { rbacNames } from "../roles/role-schema.ts";
import { users } from "../users/user-table.ts";
import { refuseLastOwner, ruleMemberChange } from "./member-rule.ts";
import {
  deleteMember,
  findMember,
  insertMember,
  listMembers,
  listMemberships,
  type StoredMember,
  updateMember,
} from "./member-store.ts";
import { memberNotFound, organizations } from "./organization-table.ts";

const scope = "admin:users";
const path = "/organizations/{org_id}/members";

const status = z.enum(["active", "suspended"]);
const roles = rbacNames.max(mostMemberRoles);

const memberSchema = z
  .strictObject({
    sub: z.string(),
    username: z.string(),
    org_id: z.string(),
    organization: z.string().describe("The organisation's name."),
    status,
    roles,
    source: z.string().describe("How they became a member: `administrator`, `import` or `scim`."),
    joined_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Member",
    examples: [
      {
        ...{ sub: "u1cLmU5bGqTzqyG9bqk8Xyg", username: "ann", org_id: "acme", organization: "Acme", status: "active" },
        ...{ roles: ["billing"], source: "administrator", joined_at: 1795000000, updated_at: 1795000000 },
      },
    ],
  });

function show(member: StoredMember): z.input<typeof memberSchema> {
  const { sub, username, orgId, organization, source, joinedAtMs, updatedAtMs } = member;
  return {
    ...{ sub, username, org_id: orgId, organization, status: member.status, roles: [...member.roles], source },
    joined_at: toSeconds(joinedAtMs),
    updated_at: toSeconds(updatedAtMs),
  };
}

function respond(member: StoredMember) {
  return { body: show(member), headers: { ETag: formatEtag(member.updatedAtMs) } };
}

type Call = AdminCall<unknown, unknown>;

async function requireMember(call: Call): Promise<StoredMember> {
  const found = await findMember(call.context.env.DB, call.parameter("org_id"), call.parameter("sub"));
  if (found === undefined) throw memberNotFound();
  return found;
}

/** The records of members that isolates may have copies of, and the cut-off that ends the grants of one. */
function changeOf({ orgId, sub }: StoredMember, verb: "update" | "remove", detail: Record<string, unknown>) {
  const id = membershipId(orgId, sub);
  return {
    forget: [{ kind: "membership", id }] as const,
    cutOff: { kind: "member", id } as const,
    event: { action: `organization.member_${verb}`, target: orgId, detail: { sub, ...detail } },
  };
}

const bodySchema = z
  .strictObject({ status: status.optional(), roles: roles.optional() })
  .meta({ id: "MemberReplacement" })
  .describe("What is not given is `active`, and no role.");

type Given = z.output<typeof bodySchema>;

/** The member as they are now; `undefined` if another change came in between. */
async function put(call: AdminCall<Given, undefined>, orgId: string, sub: string): Promise<StoredMember | undefined> {
  const { DB } = call.context.env;
  const known = await findMember(DB, orgId, sub);
  const given = { status: call.body.status ?? "active", roles: (call.body.roles ?? []).toSorted() };
  const atMs = nextVersion(known?.updatedAtMs ?? 0, nowMs());
  const written = { sub, orgId, ...given, atMs };
  const detail = { status: given.status, roles: given.roles };
  try {
    if (known === undefined) {
      // Only an administrator of the deployment knows people who are no members (O8).
      if (call.ifMatch !== undefined || call.delegate !== undefined) throw memberNotFound();
      await commitChange(call, {
        statements: insertMember(DB, written),
        forget: [],
        event: { action: "organization.member_add", target: orgId, detail: { sub, ...detail } },
      });
    } else {
      if (call.ifNoneMatch !== undefined) throw entityTagDiffers();
      requireMatch(call.ifMatch, formatEtag(known.updatedAtMs));
      const { cutOff, ...change } = changeOf(known, "update", detail);
      const isEnding = known.status === "active" && given.status === "suspended";
      const rule = call.delegate && (await ruleMemberChange(DB, call.delegate, known, given));
      await commitChange(call, {
        statements: [...(rule?.before ?? []), ...updateMember(DB, known, written), ...(rule?.after ?? [])],
        ...change,
        ...(isEnding && { cutOff }),
      });
    }
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    const current = await findMember(DB, orgId, sub);
    if (current?.updatedAtMs !== known?.updatedAtMs) return undefined;
    if (known === undefined) await refuseMore(call, sub);
    else if (call.delegate !== undefined) await refuseLastOwner(DB, known);
    throw cause;
  }
  return findMember(DB, orgId, sub);
}

async function refuseMore({ context }: Call, sub: string): Promise<void> {
  const held = await listMemberships(context.env.DB, sub, { after: "", count: mostMemberships });
  if (held.length < mostMemberships) return;
  const description = `The user is a member of ${mostMemberships} organisations already.`;
  throw new OAuthError("conflict", "unique-constraint", { description });
}

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listMembers",
  summary: "Lists the members of an organisation in the order of their subs, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of members.",
    schema: z.strictObject({ members: z.array(memberSchema), next_cursor: nextCursor }).meta({ id: "MemberList" }),
  },
  async handle({ context, parameter, query: { cursor, limit } }) {
    const { DB } = context.env;
    const { orgId } = await organizations.require(DB, parameter("org_id"));
    const rows = await listMembers(DB, orgId, { after: readCursor(cursor), count: limit + 1 });
    const { page, next } = cutPage(rows, limit, ({ sub }) => sub);
    return { body: { members: page.map(show), ...next } };
  },
});

const listOfUser = defineRoute({
  method: "GET",
  path: "/users/{sub}/memberships",
  operationId: "listMemberships",
  summary: "Lists the organisations of a user in the order of their ids, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of memberships.",
    schema: z
      .strictObject({ memberships: z.array(memberSchema), next_cursor: nextCursor })
      .meta({ id: "MembershipList" }),
  },
  async handle({ context, parameter, query: { cursor, limit } }) {
    const { DB } = context.env;
    const { sub } = await users.require(DB, parameter("sub"));
    const rows = await listMemberships(DB, sub, { after: readCursor(cursor), count: limit + 1 });
    const { page, next } = cutPage(rows, limit, ({ orgId }) => orgId);
    return { body: { memberships: page.map(show), ...next } };
  },
});

const response = { status: 200, description: "The member.", schema: memberSchema, headers: ["ETag"] } as const;

const read = defineRoute({
  method: "GET",
  path: `${path}/{sub}`,
  operationId: "readMember",
  summary: "Shows a member of an organisation.",
  scope,
  response,
  handle: async (call) => respond(await requireMember(call)),
});

const replace = defineRoute({
  method: "PUT",
  path: `${path}/{sub}`,
  operationId: "replaceMember",
  summary:
    "Makes a user a member of an organisation, or replaces the status and roles of a member. In force everywhere when the call returns. Status suspended also ends every grant of the member in this organisation; other roles are in the next token.",
  scope,
  preconditions: ["If-Match", "If-None-Match"],
  body: bodySchema,
  response,
  async handle(call) {
    const { DB } = call.context.env;
    const { orgId } = await organizations.require(DB, call.parameter("org_id"));
    const named = call.parameter("sub");
    // To a delegate, who is no member does not exist (O8): `put` says so of both.
    const { sub } = call.delegate === undefined ? await users.require(DB, named) : { sub: named };
    if (sub.length > longestMemberSub) {
      throw invalidFields([{ path: "sub", message: `of a member has at most ${longestMemberSub} characters` }]);
    }
    return respond(await retryOnConflict(() => put(call, orgId, sub)));
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{sub}`,
  operationId: "deleteMember",
  summary:
    "Removes a member from an organisation and ends every grant of theirs in it, in force everywhere when the call returns. The user and their sessions stay.",
  scope,
  preconditions: ["If-Match"],
  response: { status: 204, description: "The user is no member." },
  async handle(call) {
    const known = await requireMember(call);
    requireMatch(call.ifMatch, formatEtag(known.updatedAtMs));
    const { DB } = call.context.env;
    const rule = call.delegate && (await ruleMemberChange(DB, call.delegate, known, undefined));
    try {
      await commitChange(call, {
        statements: [...(rule?.before ?? []), ...deleteMember(DB, known), ...(rule?.after ?? [])],
        ...changeOf(known, "remove", {}),
      });
    } catch (cause) {
      if (rule !== undefined && mayBeConflict(cause)) await refuseLastOwner(DB, known);
      throw cause;
    }
    return { body: undefined };
  },
});

/**
 * **`/admin/organizations/{org_id}/members`.** A membership is a versioned record: removal and suspension commit a cut-off in the same transaction,
 * so that no token of the member in this organisation is accepted anywhere when the call has returned. Cost in D1 calls: a read 1, a list 2; an
 * addition 5; a change 5, a removal 2, and a round of the control plane.
 */
export const memberRoutes: readonly AdminRoute[] = [list, read, replace, remove, listOfUser];
