import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { textLanguages } from "@edge-op/shared/config/text-languages";
import { visibleText } from "@edge-op/shared/http/plain-text";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { mostMemberRoles } from "@edge-op/shared/users/organizations";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { refuseRolesBeyond, requireRolesWithin } from "../admin/delegate.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { invitationSchema, invite, requireInvitations, showInvitation } from "../invitations/invitation-routes.ts";
import { deleteInvitation, findInvitation, listInvitations } from "../invitations/invitation-store.ts";
import { rbacNames } from "../roles/role-schema.ts";
import { organizations } from "./organization-table.ts";

const scope = "admin:users";
const path = "/organizations/{org_id}/invitations";

/** Mails of a deployment to people whom its administrators do not know. Two at the same moment may be one more. */
const mostOpen = 200;

async function requireFewer(database: D1Database, orgId: string): Promise<void> {
  const open = await listInvitations(database, { after: "", count: mostOpen, orgId });
  if (open.length < mostOpen) return;
  throw new OAuthError("conflict", "unique-constraint", {
    description: `The organization has ${mostOpen} open invitations: withdraw some, or wait until they end.`,
  });
}

const create = defineRoute({
  method: "POST",
  path,
  operationId: "inviteMember",
  summary:
    "Invites a person into an organisation by mail, whether or not they have an account. The link in it works once, for seven days. Whoever has a mailbox of an account joins with this account; anybody else creates one. Needs SIGN_UP other than off.",
  scope,
  body: z
    .strictObject({
      email: z.string().max(254).describe("The address that is invited."),
      name: visibleText(100).exactOptional().describe("Shown to the person, who may change it."),
      roles: rbacNames.max(mostMemberRoles).exactOptional().describe("Their roles in the organisation."),
      locale: z
        .enum(Object.keys(textLanguages))
        .exactOptional()
        .describe("The language of the mail; English by default."),
    })
    .meta({ id: "MemberInvitation" }),
  response: {
    status: 201,
    description: "The invitation. The link is in the mail only.",
    schema: invitationSchema,
    headers: ["Location"],
  },
  async handle(call) {
    const { body, context, delegate } = call;
    const { DB } = context.env;
    requireInvitations(call);
    const { orgId } = await organizations.require(DB, call.parameter("org_id"));
    const { email, name, locale, roles = [] } = body;
    const to = parseEmailAddress(email);
    if (to === undefined)
      throw invalidFields([{ path: "email", message: "must be an address that mail can be sent to" }]);
    if (delegate !== undefined) await requireRolesWithin(DB, delegate, roles);
    // Roles of the deployment have lists of their own, so that the release before gives none of them.
    const document = { name, locale, roles: [], groups: [], org_id: orgId, member_roles: roles.toSorted() };
    if (delegate !== undefined) await requireFewer(DB, orgId);
    return invite(call, to, document, {
      ...{ atMs: nowMs(), action: "invitation.create" },
      conditions: delegate === undefined ? [] : [refuseRolesBeyond(DB, delegate, roles)],
    });
  },
});

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listMemberInvitations",
  summary: "Lists the invitations of an organisation that nobody has accepted, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of invitations.",
    schema: z
      .strictObject({ invitations: z.array(invitationSchema), next_cursor: nextCursor })
      .meta({ id: "MemberInvitationList" }),
  },
  async handle({ context, parameter, query: { cursor, limit } }) {
    const { DB } = context.env;
    const { orgId } = await organizations.require(DB, parameter("org_id"));
    const stored = await listInvitations(DB, { after: readCursor(cursor), count: limit + 1, orgId });
    const { page, next } = cutPage(stored, limit, ({ id }) => id);
    const atMs = nowMs();
    return { body: { invitations: page.filter(({ untilMs }) => untilMs > atMs).map(showInvitation), ...next } };
  },
});

async function requireInvitation({ context, parameter }: AdminCall<unknown, unknown>) {
  const known = await findInvitation(context.env.DB, parameter("invitation_id"), nowMs());
  if (known === undefined || known.org_id !== parameter("org_id")) {
    throw new OAuthError("not_found", "invitation-not-found");
  }
  return known;
}

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{invitation_id}`,
  operationId: "withdrawMemberInvitation",
  summary: "Withdraws an invitation into an organisation: its link does not work any more when the call returns.",
  scope,
  response: { status: 204, description: "The invitation is withdrawn." },
  async handle(call) {
    const { id } = await requireInvitation(call);
    const event = { action: "invitation.delete", target: id, detail: { org_id: call.parameter("org_id") } };
    await commitChange(call, { statements: [deleteInvitation(call.context.env.DB, id)], forget: [], event });
    return { body: undefined };
  },
});

/**
 * **`/admin/organizations/{org_id}/invitations`** (ADR 72). What an invitation gives is in its row alone, never in the link or the request that
 * accepts it. Cost in D1 calls: an invitation 2, by a member 4, and 1 object call for the mail; a list 2; a withdrawal 2.
 */
export const memberInvitationRoutes: readonly AdminRoute[] = [create, list, remove];
