import type { AdminRoute } from "./admin/define-route.ts";
import type { DelegatedPermission } from "./admin/delegate.ts";
import { organizationRoutes } from "./organizations/organization-routes.ts";
import { scimTokenRoutes } from "./scim/token-routes.ts";

/** An operation of the admin API that members may use for their own organisation. */
interface DelegatedRoute {
  /** Below `/organizations`. */
  readonly path: string;
  readonly route: AdminRoute;
  /** Absent: any permission to administer the organisation. */
  readonly needed?: DelegatedPermission;
}

const delegated: Readonly<Record<string, DelegatedPermission | "any">> = {
  readOrganization: "any",
  updateOrganization: "org:settings",
  listOrganizationRoles: "org:members",
  listMembers: "org:members",
  readMember: "org:members",
  replaceMember: "org:members",
  deleteMember: "org:members",
  ...{ inviteMember: "org:members", listMemberInvitations: "org:members", withdrawMemberInvitation: "org:members" },
  ...{ listDomains: "org:connection", claimDomain: "org:connection", checkDomain: "org:connection" },
  ...{ deleteDomain: "org:connection", listScimTokens: "org:scim", createScimToken: "org:scim" },
  // What groups give is decided by who may give everything.
  ...{ deleteScimToken: "org:scim", listScimGroups: "org:scim", replaceScimGroup: "org:owner" },
};

/**
 * **What a company may administer itself** (ADR 72): the operations of `/admin/organizations/{org_id}` that are named here, by the same handlers,
 * each with the permission that it needs. The roles of members, which have no path below it, are at `/organizations/{org_id}/roles`.
 */
export const delegatedRoutes: readonly DelegatedRoute[] = [...organizationRoutes, ...scimTokenRoutes].flatMap(
  (route) => {
    const needed = delegated[route.operationId];
    if (needed === undefined) return [];
    return [{ route, path: pathOf(route), ...(needed === "any" ? {} : { needed }) }];
  },
);

function pathOf({ path }: AdminRoute): string {
  return path.startsWith("/organizations/{org_id}") ? path.slice("/organizations".length) : "/{org_id}/roles";
}
