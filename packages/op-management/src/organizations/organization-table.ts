import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import { organizationIdPattern } from "@edge-op/shared/users/organizations";
import { json, text } from "../admin/columns.ts";
import { takenError } from "../admin/taken-ids.ts";
import { VersionedTable } from "../admin/versioned-table.ts";

interface OrganizationDocument {
  readonly name: string;
  readonly require_mfa?: boolean;
}

/** **Organisations in D1.** Members have rows of their own (member-store.ts), which are deleted with the organisation. */
export const organizations = new VersionedTable({
  name: "organizations",
  noun: "organization",
  members: {
    orgId: text("org_id"),
    status: text("status", ["active", "disabled"]),
    document: json<OrganizationDocument>("document"),
  },
  key: "orgId",
  isKey: (orgId) => organizationIdPattern.test(orgId),
  document: "document",
  missing: "organization-not-found",
  forget: ({ orgId }) => [{ kind: "organization", id: orgId }],
  // Nothing else is unique.
  findTaken: async (_database, _organization, known) => (known === undefined ? takenError("org_id") : undefined),
});

/** Roles of members are in the copy of each membership. */
export const everyMembership = { kind: "membership", id: everyId } as const;

export function memberNotFound(): OAuthError {
  return new OAuthError("not_found", "organization-not-found");
}
