/** **Requests and responses of `/admin/invitations`.** */

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { textLanguages } from "@edge-op/shared/config/text-languages";
import { visibleText } from "@edge-op/shared/http/plain-text";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { invitationToken } from "@edge-op/shared/mail/sealed-links";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { type EmailAddress, isAddressTaken, parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { mayBeConflict } from "../admin/optimistic-concurrency.ts";
import { takenError } from "../admin/taken-ids.ts";
import { refuseGreaterRoles, requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { rbacNames } from "../roles/role-schema.ts";
import {
  deleteInvitation,
  findInvitation,
  insertInvitation,
  invitedKey,
  isInvited,
  listInvitations,
  type StoredInvitation,
} from "./invitation-store.ts";

const email = z.string().max(254).describe("The address that is invited. Mail can be sent to it, and nobody has it.");
const name = visibleText(100).describe("Shown to the person, who may change it.");

const invitationCreateSchema = z
  .strictObject({
    email,
    name: name.exactOptional(),
    roles: rbacNames.exactOptional(),
    groups: rbacNames.exactOptional(),
    locale: z
      .enum(Object.keys(textLanguages))
      .exactOptional()
      .describe("The language of the mail; English by default."),
  })
  .meta({ id: "InvitationCreate" });

export const invitationSchema = z
  .strictObject({
    invitation_id: z.string(),
    email,
    name: name.exactOptional(),
    roles: z.array(z.string()),
    groups: z.array(z.string()),
    org_id: z.string().exactOptional().describe("The organisation of which the person becomes a member."),
    member_roles: z.array(z.string()).exactOptional().describe("Their roles there."),
    invited_by: z.string().describe("The subject of the admin token."),
    created_at: z.int().describe("Seconds since the epoch."),
    expires_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Invitation",
    examples: [
      {
        ...{ invitation_id: "pYc2T0F3m6q1Xn4bV8sLwg", email: "maria@example.com", name: "Maria Muster" },
        ...{ roles: [], groups: ["staff"], invited_by: "console" },
        ...{ created_at: 1795000000, expires_at: 1795604800 },
      },
    ],
  });

const path = "/invitations";
const scope = "admin:users";

/** The longest time for which a mail is worth acting upon. */
const invitationMs = 7 * 86_400_000;

export function showInvitation(invitation: StoredInvitation) {
  const { id, address, name, roles, groups, inviter, createdAtMs, untilMs } = invitation;
  const { org_id: orgId, member_roles: memberRoles } = invitation;
  return {
    ...{ invitation_id: id, email: address, roles, groups, invited_by: inviter },
    ...(name === undefined ? {} : { name }),
    ...(orgId === undefined ? {} : { org_id: orgId, member_roles: memberRoles ?? [] }),
    created_at: toSeconds(createdAtMs),
    expires_at: toSeconds(untilMs),
  };
}

export function requireInvitations({ context: { settings } }: Pick<AdminCall<unknown, unknown>, "context">): void {
  if (settings.signUp !== "off") return;
  const description = "Invitations need SIGN_UP=invitation or SIGN_UP=open.";
  throw new OAuthError("conflict", "invitations-off", { description });
}

const create = defineRoute({
  method: "POST",
  path,
  operationId: "createInvitation",
  summary:
    "Invites a person by mail. The link in it works once, for seven days: it proves the address, and the person chooses how to sign in. Needs SIGN_UP other than off.",
  scope,
  body: invitationCreateSchema,
  response: {
    status: 201,
    description: "The invitation. The link is in the mail only.",
    schema: invitationSchema,
    headers: ["Location"],
  },
  async handle(call) {
    const { body, context } = call;
    requireInvitations(call);
    const { email, name, roles = [], groups = [], locale } = body;
    const to = parseEmailAddress(email);
    if (to === undefined)
      throw invalidFields([{ path: "email", message: "must be an address that mail can be sent to" }]);
    // Whoever accepts it has these roles, so the inviter must be allowed to give them.
    if (roles.length + groups.length > 0) await requireAuthorityOverRoles(call, roles, groups);
    const atMs = nowMs();
    if (await isAddressTaken(context.env.DB, { sub: "", key: to.key }, atMs)) throw takenError("email");
    const document = { name, locale, roles: roles.toSorted(), groups: groups.toSorted() };
    return invite(call, to, document, {
      ...{ atMs, action: "invitation.create" },
      conditions: [refuseGreaterRoles(call, roles, groups)],
    });
  },
});

interface Inviting {
  readonly atMs: number;
  readonly action: string;
  /** The id of the invitation that this one replaces. */
  readonly replaced?: string;
  /** Statements that fail the transaction unless the inviter may give what it gives. */
  readonly conditions: readonly D1PreparedStatement[];
}

/** **Commits an invitation, and mails its link.** */
export async function invite(
  call: AdminCall<unknown, unknown>,
  to: EmailAddress,
  document: Omit<StoredInvitation, "id" | "address" | "inviter" | "createdAtMs" | "untilMs">,
  { atMs, action, replaced, conditions }: Inviting,
) {
  const { context, actor } = call;
  const { env, settings } = context;
  const id = randomBase64Url(16);
  const { roles, groups, locale, org_id: orgId, member_roles: memberRoles } = document;
  const key = invitedKey(to.key, orgId);
  const lasting = { inviter: actor.sub, createdAtMs: atMs, untilMs: atMs + invitationMs };
  const invitation: StoredInvitation = { ...document, ...lasting, id, address: to.address };
  const link = `/invitation?${new URLSearchParams({ token: await invitationToken(env, id) })}`;
  const given = orgId === undefined ? { roles, groups } : { org_id: orgId, roles: memberRoles };
  const detail = { ...given, ...(replaced === undefined ? {} : { replaced }) };
  try {
    await commitChange(call, {
      statements: [
        ...(replaced === undefined ? [] : [deleteInvitation(env.DB, replaced)]),
        ...conditions,
        ...insertInvitation(env.DB, key, invitation),
      ],
      forget: [],
      event: { action, target: id, detail },
      notice: { sub: id, kind: "invitation", locale, removed: to.address, undo: { address: to.address, path: link } },
    });
  } catch (cause) {
    if (mayBeConflict(cause) && (await isInvited(env.DB, key))) throw takenError("email", "is invited already");
    throw cause;
  }
  return { body: showInvitation(invitation), headers: { Location: `${settings.issuer}/admin${path}/${id}` } };
}

const resend = defineRoute({
  method: "POST",
  path: `${path}/{invitation_id}/resend`,
  operationId: "resendInvitation",
  summary:
    "Mails an invitation again, for seven more days, with a new link and a new id. The link of the first mail does not work any more when the call returns.",
  scope,
  response: {
    status: 201,
    description: "The invitation that replaces it.",
    schema: invitationSchema,
    headers: ["Location"],
  },
  async handle(call) {
    const { DB } = call.context.env;
    requireInvitations(call);
    const id = call.parameter("invitation_id");
    const atMs = nowMs();
    const known = await findInvitation(DB, id, atMs);
    if (known === undefined) throw new OAuthError("not_found", "invitation-not-found");
    const { id: _, address, inviter: __, createdAtMs: ___, untilMs: ____, ...document } = known;
    const { roles, groups, org_id: orgId } = document;
    await requireAuthorityOverRoles(call, roles, groups);
    const to = parseEmailAddress(address) ?? { key: address.toLowerCase(), address };
    // An organisation invites people who have an account, too.
    if (orgId === undefined && (await isAddressTaken(DB, { sub: "", key: to.key }, atMs))) throw takenError("email");
    return invite(call, to, document, {
      ...{ atMs, action: "invitation.resend", replaced: id },
      conditions: [refuseGreaterRoles(call, roles, groups)],
    });
  },
});

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listInvitations",
  summary: "Lists invitations that nobody has accepted, a page at a time.",
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of invitations.",
    schema: z
      .strictObject({ invitations: z.array(invitationSchema), next_cursor: nextCursor })
      .meta({ id: "InvitationList" }),
  },
  async handle({ context, query: { cursor, limit } }) {
    const stored = await listInvitations(context.env.DB, { after: readCursor(cursor), count: limit + 1 });
    const { page, next } = cutPage(stored, limit, ({ id }) => id);
    const atMs = nowMs();
    return { body: { invitations: page.filter(({ untilMs }) => untilMs > atMs).map(showInvitation), ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path: `${path}/{invitation_id}`,
  operationId: "readInvitation",
  summary: "Shows an invitation that nobody has accepted.",
  scope,
  response: { status: 200, description: "The invitation.", schema: invitationSchema },
  async handle({ context, parameter }) {
    const known = await findInvitation(context.env.DB, parameter("invitation_id"), nowMs());
    if (known === undefined) throw new OAuthError("not_found", "invitation-not-found");
    return { body: showInvitation(known) };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{invitation_id}`,
  operationId: "deleteInvitation",
  summary: "Withdraws an invitation: its link does not work any more when the call returns.",
  scope,
  response: { status: 204, description: "The invitation is withdrawn." },
  async handle(call) {
    const { DB } = call.context.env;
    const id = call.parameter("invitation_id");
    const known = await findInvitation(DB, id, nowMs());
    if (known === undefined) throw new OAuthError("not_found", "invitation-not-found");
    const { roles, groups } = known;
    await requireAuthorityOverRoles(call, roles, groups);
    const event = { action: "invitation.delete", target: id };
    await commitChange(call, { statements: [deleteInvitation(DB, id)], forget: [], event });
    return { body: undefined };
  },
});

/**
 * **`/admin/invitations`**. Cost: a creation 2 D1 calls, 3 with roles or groups, and 1 object call for the mail; a list 1 D1 call; a deletion 3;
 * mailing it again 4, and 1 object call.
 */
export const invitationRoutes: readonly AdminRoute[] = [create, list, read, resend, remove];
