/** **`/admin/users/{sub}/export` and `/erasure`**: everything about a person in one document, and its end. */

import type { Settings } from "@edge-op/shared/config/settings";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { exportedEvents, exportPerson } from "@edge-op/shared/users/export-person";
import { personalTables } from "@edge-op/shared/users/personal-data";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { exampleOf } from "../admin/examples.ts";
import { eventSchema } from "../audit/event-resource.ts";
import { requireAuthorityOverRoles } from "../roles/role-authority.ts";
import { userRoutes } from "./user-routes.ts";
import { users } from "./user-table.ts";

const scope = "admin:users";
const dayMs = 86_400_000;

const remainderSchema = z
  .strictObject({
    where: z.string(),
    what: z.string(),
    why: z.string(),
    until: z.string().exactOptional().describe("When it is deleted at the latest (RFC 3339); absent: never."),
  })
  .meta({
    id: "Remainder",
    examples: [
      {
        ...{ where: "D1: cut_offs", what: "the sub", why: "earlier tokens stay refused" },
        until: "2027-11-20T12:26:40.000Z",
      },
    ],
  });

const exportSchema = z
  .strictObject({
    sub: z.string(),
    issuer: z.string(),
    exported_at: z.string().describe("RFC 3339."),
    data: z
      .record(z.string(), z.array(z.record(z.string(), z.unknown())))
      .describe("The person's rows by table, without secrets: times in RFC 3339."),
    events: z
      .array(eventSchema)
      .describe(
        "The activity of the account, newest first. Events caused by others do not show who they are or where they were.",
      ),
    more_events: z
      .boolean()
      .describe(`Whether the audit log has more than these ${exportedEvents} events: ask \`GET /audit?sub=…\`.`),
  })
  .meta({
    id: "UserExport",
    examples: [
      {
        ...{ sub: "u1cLmU5bGqTzqyG9bqk8Xyg", issuer: "https://op.example.com" },
        exported_at: "2026-11-18T12:26:40.000Z",
        data: { user_roles: [{ role: "editor" }], user_passwords: [{ updated_at: "2026-11-18T11:06:40.000Z" }] },
        ...{ events: [exampleOf(eventSchema)], more_events: false },
      },
    ],
  });

const exportUser = defineRoute({
  method: "GET",
  path: "/users/{sub}/export",
  operationId: "exportUser",
  summary:
    "Exports everything about a user as one document: account, credentials without secrets, sessions, consents, grants and audit events. It ends nothing, and is in the audit log.",
  scope,
  response: { status: 200, description: "The document.", schema: exportSchema },
  async handle(call) {
    const { sub, roles, groups } = await users.require(call.context.env.DB, call.parameter("sub"));
    // It contains where the person was, which of a greater administrator only the audit log shows.
    await requireAuthorityOverRoles(call, roles, groups);
    await commitChange(call, { statements: [], forget: [], event: { action: "user.export", target: sub } });
    return { body: await exportPerson(call.context, sub) };
  },
});

const erasureSchema = z
  .strictObject({
    sub: z.string(),
    erased_at: z.string().describe("RFC 3339."),
    erased: z.array(z.string()).describe("The tables whose rows of the person are deleted."),
    remains: z.array(remainderSchema).describe("Data that remains, with the reason and the end."),
  })
  .meta({
    id: "Erasure",
    examples: [
      {
        ...{ sub: "u1cLmU5bGqTzqyG9bqk8Xyg", erased_at: "2026-11-18T12:26:40.000Z" },
        ...{ erased: ["users", "user_roles"], remains: [exampleOf(remainderSchema)] },
      },
    ],
  });

const deletion = userRoutes.find(({ operationId }) => operationId === "deleteUser")!;

const eraseUser = defineRoute({
  method: "POST",
  path: "/users/{sub}/erasure",
  operationId: "eraseUser",
  summary:
    "Deletes a user with everything about them, ends every session and grant, retires the sub for ever, and says what stays and until when. In force everywhere when the call returns.",
  scope,
  preconditions: ["If-Match"],
  body: z
    .strictObject({ confirm: z.string().max(512).describe("The sub of the user, as a confirmation.") })
    .meta({ id: "ErasureRequest" }),
  response: { status: 200, description: "The user is erased.", schema: erasureSchema },
  async handle({ body, query: _, ...call }) {
    const sub = call.parameter("sub");
    if (body.confirm !== sub) throw invalidFields([{ path: "confirm", message: "must be the sub of the user" }]);
    await deletion.run({ ...call, json: undefined, search: new URLSearchParams() });
    const atMs = nowMs();
    return {
      body: {
        sub,
        erased_at: new Date(atMs).toISOString(),
        erased: personalTables.map(({ table }) => table),
        remains: remaindersOf(call.context.settings).map(({ days, ...remainder }) => ({
          ...remainder,
          ...(days === undefined ? {} : { until: new Date(atMs + days * dayMs).toISOString() }),
        })),
      },
    };
  },
});

/** Cost: an export 4 D1 calls and 1 for each 1,000 events; an erasure that of a deletion. */
export const personalDataRoutes: readonly AdminRoute[] = [exportUser, eraseUser];

/** Data that an erasure does not delete at once. */
interface Remainder {
  readonly where: string;
  readonly what: string;
  readonly why: string;
  /** It is deleted so many days after the erasure; `undefined`: this provider never deletes it. */
  readonly days: number | undefined;
}

/** The row of a cut-off, and the longest-lived token that it refuses (366 days and a quarter of an hour). */
const cutOffDays = 367;
/** A month until the row may be deleted, and a day until it is. */
const changeDays = 32;
/** An invitation, and the day until its row is deleted. */
const invitationDays = 8;
/** The days of which one segment has events, and the day until it is deleted. */
const segmentDays = 3;
/** D1's Time Travel. */
const timeTravelDays = 30;

function remaindersOf({ auditRetentionDays }: Pick<Settings, "auditRetentionDays">): readonly Remainder[] {
  return [
    {
      where: "D1: retired_subs, retired_subjects",
      what: "a MAC of the sub",
      why: "the sub is never given to another person",
      days: undefined,
    },
    {
      where: "D1: audit_events",
      what: "events with the sub: what happened, when, with which client, from which network",
      why: "evidence, linked by a hash chain; AUDIT_RETENTION_DAYS",
      days: auditRetentionDays + 1,
    },
    {
      where: "R2: segments of the audit log",
      what: "the same events, if the deployment has an archive",
      why: "the same; a segment is deleted when its newest event is",
      days: auditRetentionDays + segmentDays,
    },
    {
      where: "D1: admin_events, control_changes",
      what: "changes of the user: the sub, times, names of members",
      why: "isolates and the audit log read them",
      days: changeDays,
    },
    {
      where: "D1: invitations",
      what: "the sub, as the inviter of somebody who has not signed up yet",
      why: "the invitation can still be used",
      days: invitationDays,
    },
    { where: "D1: cut_offs", what: "the sub", why: "earlier tokens stay refused", days: cutOffDays },
    {
      where: "Durable Objects and KV",
      what: "the end of sessions and refresh families, mails that wait, copies of records",
      why: "deleted by their alarms and lifetimes",
      days: cutOffDays,
    },
    {
      where: "D1 Time Travel",
      what: "the databases as they were before",
      why: "a restoration to before the erasure brings the person back, suspended: erase again",
      days: timeTravelDays,
    },
  ];
}
