import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { visibleText } from "@edge-op/shared/http/plain-text";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { organizationIdPattern } from "@edge-op/shared/users/organizations";
import * as z from "zod";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { lowerAscii, textParameter } from "../admin/list-page.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { domainRoutes } from "./domain-routes.ts";
import { memberInvitationRoutes } from "./invitation-routes.ts";
import { memberRoutes } from "./member-routes.ts";
import { organizationRoleRoutes } from "./organization-role-routes.ts";
import { organizations } from "./organization-table.ts";

const status = z.enum(["active", "disabled"]);
const documentSchema = z.strictObject({
  name: visibleText(200).describe("As people see it when they choose."),
  require_mfa: z
    .boolean()
    .exactOptional()
    .describe("Its grants need a sign-in with two factors. Requiring it ends every grant of the organisation."),
});

const createSchema = documentSchema
  .extend({
    status: status.optional(),
    org_id: z
      .string()
      .regex(organizationIdPattern, "must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes")
      .optional()
      .describe("Chosen by the server unless given. It is the `org_id` of tokens: never give it to another company."),
  })
  .meta({ id: "OrganizationCreate" });

const organizationSchema = documentSchema
  .extend({
    org_id: z.string(),
    status,
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Organization",
    examples: [
      { ...{ org_id: "acme", name: "Acme", status: "active" }, ...{ created_at: 1795000000, updated_at: 1795000000 } },
    ],
  });

/**
 * **`/admin/organizations`**: companies, their members and what roles of members give (ADR 72). Disabling or deleting one, and requiring two
 * factors, ends every grant of it, in force everywhere when the call returns. Cost: a read 1 D1; a creation 1 D1; a change 2 D1 and a round of the
 * control plane, a deletion two rounds.
 */
export const organizationRoutes: readonly AdminRoute[] = [
  ...defineRecordRoutes({
    table: organizations,
    key: "org_id",
    scope: "admin:users",
    summaries: {
      create: "Creates an organisation.",
      list: "Lists organisations in the order of their ids, a page at a time; those whose names begin alike in the order of their names.",
      read: "Shows an organisation.",
      update:
        "Changes an organisation by JSON Merge Patch. In force everywhere when the call returns. Disabling it, or requiring two factors, ends every grant of the organisation; its members keep their sessions.",
      remove: "Deletes an organisation with its memberships and domains, and ends every grant of it.",
    },
    writable: documentSchema.extend({ status }),
    createBody: createSchema,
    shown: organizationSchema,
    conditions: {
      status: {
        schema: status.optional().describe("Organisations with this status."),
        column: "status",
        match: "exact",
      },
      name: {
        schema: textParameter("A name; A to Z are a to z."),
        column: "name_key",
        match: "text",
        toStored: lowerAscii,
      },
    },
    show: ({ orgId, status: current, document, createdAtMs, updatedAtMs }) => ({
      org_id: orgId,
      ...document,
      status: current,
      created_at: toSeconds(createdAtMs),
      updated_at: toSeconds(updatedAtMs),
    }),
    async create(call) {
      const { org_id: orgId = `o${randomBase64Url(12)}`, status: initial = "active", ...document } = call.body;
      const atMs = nowMs();
      const record = { orgId, status: initial, document, createdAtMs: atMs, updatedAtMs: atMs };
      await organizations.create(call, record);
      return { record };
    },
    patch: ({ body, delegate }) => {
      const { status: asked, ...others } = body;
      // Its own administrators cannot end it, nor undo what the deployment's have done.
      if (delegate !== undefined && asked !== undefined) {
        throw invalidFields([{ path: "status", message: "is set by administrators of the deployment" }]);
      }
      return async (known) => {
        const { merged, keepOthers } = patchStored(documentSchema, { ...known.document }, others);
        const changed = {
          status: asked === undefined ? known.status : requireValid(status, asked),
          document: keepOthers(requireValid(documentSchema, merged)),
        };
        const isStricter = changed.document.require_mfa === true && known.document.require_mfa !== true;
        const isEnding = isStricter || (known.status === "active" && changed.status === "disabled");
        return { changed, ...(isEnding && { cutOff: { kind: "org", id: known.orgId } as const }) };
      };
    },
    ended: { status: "disabled" },
  }),
  ...memberRoutes,
  ...memberInvitationRoutes,
  ...domainRoutes,
  ...organizationRoleRoutes,
];
