/**
 * **What members may do as administrators of their own organisation** (ADR 72): the one place that enforces two invariants.
 *
 * - O8: a delegated administrator changes and sees nothing of another organisation. The organisation of a call is that of the access token; the
 *   path must name it, and no body can. Of a member only the membership is shown.
 * - O9: nobody gives, takes or ends what needs an `org:` permission that they lack, and the last active owner stays.
 *
 * Permissions are those of the membership now, never of the token's scope. Each write is conditional on them in its own transaction.
 */

import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { organizationsAudience } from "@edge-op/protocol/oauth/scope";
import {
  findAccessToken,
  type PresentationScheme,
  requireUnrevoked,
  resourceError,
  verifyPresented,
} from "@edge-op/shared/callers/require-access-token";
import { settle } from "@edge-op/shared/control/settle";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import { heldRoles } from "@edge-op/shared/users/organizations";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";

/** Permissions of the roles of members; `org:owner` includes the others. */
export const delegatedPermissions = ["org:members", "org:connection", "org:scim", "org:settings", "org:owner"] as const;
export type DelegatedPermission = (typeof delegatedPermissions)[number];
export const owner = "org:owner";

/** The member who administers. */
export interface Delegate {
  readonly orgId: string;
  readonly sub: string;
  /** Those of {@link delegatedPermissions} that the membership gives. */
  readonly permissions: readonly string[];
  /** What the operation needs; absent: any of them. */
  readonly needed?: DelegatedPermission | undefined;
  /** How the token was presented. */
  readonly scheme: PresentationScheme;
}

/**
 * **Authorizes an operation on the organisation of the access token**, which has the audience `{issuer}/organizations`. Another organisation in the
 * path is as one that does not exist, and nothing of it is read. Cost: 0 calls warm (`direct`: 1 object call); a DPoP proof adds 1 object call.
 */
export async function authorizeDelegate(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  { orgId, needed }: { readonly orgId: string; readonly needed?: DelegatedPermission | undefined },
): Promise<{ readonly actor: AccessToken; readonly delegate: Delegate }> {
  const presented = findAccessToken(request);
  const { scheme } = presented;
  return settle(context, isolate, async () => {
    const path = new URL(request.url).pathname;
    const { accessToken: actor, proof } = await verifyPresented(context, isolate, request, presented, path);
    await requireUnrevoked(context, isolate, actor, scheme);
    if (!actor.audiences.includes(organizationsAudience(context.settings.issuer))) {
      throw resourceError(scheme, "invalid_token", "access-token-audience");
    }
    if (!actor.forUser || actor.orgId !== orgId) throw new OAuthError("not_found", "organization-not-found");
    const membership = await isolate.users.findMembership(context, orgId, actor.sub);
    const given = membership?.status === "active" ? membership.permissions : [];
    const permissions = given.filter((permission) => isDelegated(permission));
    const delegate = { orgId, sub: actor.sub, permissions, needed, scheme };
    if (!suffices(delegate)) throw permissionLacking(delegate);
    await proof?.spend();
    return { actor, delegate };
  });
}

function isDelegated(permission: string): boolean {
  return (delegatedPermissions as readonly string[]).includes(permission);
}

function holds({ permissions }: Delegate, permission: string): boolean {
  return permissions.includes(permission) || permissions.includes(owner);
}

function suffices(delegate: Delegate): boolean {
  return delegate.needed === undefined ? delegate.permissions.length > 0 : holds(delegate, delegate.needed);
}

function permissionLacking({ scheme, needed }: Delegate): OAuthError {
  return resourceError(scheme, "insufficient_scope", "organization-permission-lacking", {
    detail: `${needed ?? "an org: permission"} needed`,
    description: `The membership lacks the permission ${needed ?? "to administer the organization"}.`,
  });
}

/** Whether a row `m` of `memberships` gives a permission of the list: SQL texts, or a statement that selects them. */
export const givesOneOf = (permissions: string) =>
  `EXISTS (SELECT 1 FROM organization_role_permissions q WHERE q.permission IN (${permissions}) AND q.role IN (${heldRoles}))`;

/** Fails, together with its transaction, where the condition is true. */
export function refuseWhere(
  database: D1Database,
  condition: string,
  ...values: readonly unknown[]
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO memberships (sub, org_id, status, source, joined_at_ms, updated_at_ms)
         SELECT '', '', NULL, '', 0, 0 WHERE ${condition}`,
    )
    .bind(...values);
}

const stillHolds = `EXISTS (SELECT 1 FROM memberships m JOIN organizations o ON o.org_id = m.org_id AND o.status = 'active'
  WHERE m.sub = ?1 AND m.org_id = ?2 AND m.status = 'active' AND ${givesOneOf("SELECT value FROM json_each(?3)")})`;

function authorityOf({ sub, orgId, needed }: Delegate): readonly string[] {
  const enough = needed === undefined ? delegatedPermissions : [needed, owner];
  return [sub, orgId, JSON.stringify(enough)];
}

/** **A write of a delegated administrator stands only while they hold the permission**: the first statement of its transaction. */
export function requireAuthorityNow(database: D1Database, delegate: Delegate): D1PreparedStatement {
  return refuseWhere(database, `NOT ${stillHolds}`, ...authorityOf(delegate));
}

/** After a failed commit: refuses if it failed because the authority has ended. Cost: 1 D1 call. */
export async function requireAuthority(database: D1Database, delegate: Delegate): Promise<void> {
  const statement = peopleOf(database)
    .prepare(`SELECT ${stillHolds} AS held`)
    .bind(...authorityOf(delegate));
  const row = await queryDatabase(() => statement.first<{ readonly held: number }>());
  if (row?.held !== 1) throw permissionLacking(delegate);
}

/** Whether a member, of the two parameters, has the permission of a row `p`, or all of them. */
export const hasNow = (sub: string, orgId: string) =>
  `EXISTS (SELECT 1 FROM memberships m WHERE m.sub = ${sub} AND m.org_id = ${orgId} AND m.status = 'active'
     AND ${givesOneOf(`p.permission, '${owner}'`)})`;

const rolesWith = `SELECT role FROM organization_role_permissions
  WHERE role IN (SELECT value FROM json_each(?1)) AND permission IN (SELECT value FROM json_each(?2))`;

/** **A statement that fails its transaction if one of the roles gives a permission that the delegate lacks by then.** */
export function refuseRolesBeyond(
  database: D1Database,
  { sub, orgId }: Delegate,
  roles: readonly string[],
): D1PreparedStatement {
  const beyondNow = `SELECT 1 FROM organization_role_permissions p WHERE p.role IN (SELECT value FROM json_each(?1))
    AND p.permission IN (SELECT value FROM json_each(?2)) AND NOT ${hasNow("?3", "?4")}`;
  const values = [JSON.stringify(roles), JSON.stringify(delegatedPermissions), sub, orgId];
  return refuseWhere(database, `EXISTS (${beyondNow})`, ...values);
}

export function lackedBy(delegate: Delegate): readonly string[] {
  return delegatedPermissions.filter((permission) => !holds(delegate, permission));
}

/** **O9 for roles**: refuses those that give a permission which the delegate lacks. Cost: 1 D1 call. */
export async function requireRolesWithin(
  database: D1Database,
  delegate: Delegate,
  roles: readonly string[],
): Promise<void> {
  const statement = peopleOf(database)
    .prepare(`${rolesWith} LIMIT 1`)
    .bind(JSON.stringify(roles), JSON.stringify(lackedBy(delegate)));
  const row = await queryDatabase(() => statement.first<{ readonly role: string }>());
  if (row !== null) throw beyond(`The role ${row.role} gives a permission`);
}

export function beyond(what: string): OAuthError {
  return new OAuthError("access_denied", "organization-permission-lacking", {
    status: 403,
    description: `${what} to administer the organization that your membership lacks.`,
  });
}
