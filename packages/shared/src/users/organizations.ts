/**
 * **Organisations and who is a member of them** (ADR 72). What a grant of an organisation gives is the membership's and nothing else. Two records:
 * one of the organisation, one of each membership, each with the cut-offs that end its grants. The absence of a membership has no copy, so creating
 * one is no control change.
 */

import { isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import { cutOffKey, membershipId, parseCutOffs, type RecordedCutOff } from "../cut-offs/cut-offs.ts";
import type { RequestContext } from "../http/request-context.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import type { RecordQuery } from "../storage/record-kinds.ts";

export const organizationIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;

/** Of a person. A text with an organisation and a `sub` is the id of a record, which has at most 255 characters. */
export const mostMemberships = 200;
/** They are in every token of a member. */
export const mostMemberRoles = 50;
export const longestMemberSub = 255 - 64 - 1;

/** The values of `status`: of the membership, or of its organisation if that is disabled. */
export interface Membership {
  readonly status: "active" | "suspended";
  readonly orgId: string;
  /** The name of the organisation. */
  readonly name: string;
  /** A grant needs two factors. Only an active member learns it. */
  readonly requiresMfa: boolean;
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  /** Of the membership and of its organisation. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** A record as it is stored in KV. */
interface StoredOrganization {
  readonly status: "active" | "disabled";
  readonly name: string;
  readonly requiresMfa?: true;
  readonly cutOffs: readonly RecordedCutOff[];
}

type StoredMembership = Pick<Membership, "status" | "roles" | "permissions" | "cutOffs">;

/** Both records together; `undefined` without one of them. */
function joinMembership(
  orgId: string,
  organization: StoredOrganization | undefined,
  membership: StoredMembership | undefined,
): Membership | undefined {
  if (organization === undefined || membership === undefined) return undefined;
  const isActive = organization.status === "active" && membership.status === "active";
  return {
    ...membership,
    orgId,
    status: isActive ? "active" : "suspended",
    name: organization.name,
    requiresMfa: isActive && organization.requiresMfa === true,
    cutOffs: [...organization.cutOffs, ...membership.cutOffs],
  };
}

interface OrganizationRow {
  readonly status: StoredOrganization["status"];
  readonly document: string;
  readonly cut_offs: string;
}

const isDocument = objectOf<{ readonly name: string; readonly require_mfa?: unknown }>({ name: isText });

const cutOffsOf = (key: string) =>
  `(SELECT json_group_array(json_object('key', key, 'version', version)) FROM cut_offs WHERE key = ${key}) AS cut_offs`;

export const organizationQuery: RecordQuery<StoredOrganization> = {
  statement: (database, orgId) =>
    database
      .prepare(
        `SELECT status, document, ${cutOffsOf(`'${cutOffKey("org", "")}' || ?1`)} FROM organizations WHERE org_id = ?1`,
      )
      .bind(orgId),
  read: ([row]) => {
    if (row === undefined) return undefined;
    const { status, document, cut_offs: cutOffs } = row as OrganizationRow;
    const { name, require_mfa: requiresMfa } = readStored("organization", document, isDocument);
    return { status, name, ...(requiresMfa === true && { requiresMfa }), cutOffs: parseCutOffs(cutOffs) };
  },
};

/** **Whether a person is a member of an organisation that requires two factors.** Cost: 1 D1 call. */
export async function hasStrictMembership(database: D1Database, sub: string): Promise<boolean> {
  const select = peopleOf(database)
    .prepare(
      `SELECT 1 FROM memberships m CROSS JOIN organizations o ON o.org_id = m.org_id
        WHERE m.sub = ?1 AND o.document ->> '$.require_mfa' LIMIT 1`,
    )
    .bind(sub);
  return (await queryDatabase(() => select.first())) !== null;
}

interface MembershipRow {
  readonly status: Membership["status"];
  readonly roles: string;
  readonly permissions: string;
  readonly cut_offs: string;
}

const isNames = listOf(isText);
/** The roles of a row `m` of `memberships`: those that an administrator gives, and those that groups of the directory give (`scim_group_roles`). */
export const heldRoles = `SELECT role FROM membership_roles r WHERE r.sub = m.sub AND r.org_id = m.org_id
  UNION SELECT given.role FROM scim_users s CROSS JOIN scim_members i ON i.org_id = s.org_id AND i.scim_id = s.scim_id
    CROSS JOIN scim_group_roles given ON given.org_id = i.org_id AND given.group_id = i.group_id
    WHERE s.sub = m.sub AND s.org_id = m.org_id`;

export const membershipQuery: RecordQuery<StoredMembership> = {
  statement: (database, id) =>
    peopleOf(database)
      .prepare(
        `SELECT status, (SELECT json_group_array(role) FROM (${heldRoles} ORDER BY role)) AS roles,
            (SELECT json_group_array(permission) FROM (SELECT DISTINCT permission FROM organization_role_permissions
               WHERE role IN (${heldRoles}) ORDER BY permission)) AS permissions,
            ${cutOffsOf(`'${cutOffKey("member", "")}' || ?1`)}
           FROM memberships m WHERE m.sub = ?3 AND m.org_id = ?2`,
      )
      .bind(id, ...splitMembershipId(id)),
  read: ([row]) => {
    if (row === undefined) return undefined;
    const { status, roles, permissions, cut_offs: cutOffs } = row as MembershipRow;
    return {
      status,
      roles: readStored("roles", roles, isNames),
      permissions: readStored("permissions", permissions, isNames),
      cutOffs: parseCutOffs(cutOffs),
    };
  },
};

/** An organisation that a person may choose. */
export interface OwnOrganization {
  readonly orgId: string;
  readonly name: string;
}

/** **The active organisations in which a person is active**, by name: at most {@link mostMemberships}. Cost: 1 D1 call. */
export async function findOwnOrganizations(database: D1Database, sub: string): Promise<readonly OwnOrganization[]> {
  const statement = peopleOf(database)
    .prepare(
      `SELECT m.org_id AS orgId, o.document ->> '$.name' AS name
         FROM memberships m CROSS JOIN organizations o ON o.org_id = m.org_id AND o.status = 'active'
        WHERE m.sub = ?1 AND m.status = 'active' ORDER BY o.name_key, m.org_id LIMIT ${mostMemberships}`,
    )
    .bind(sub);
  const { results } = await queryDatabase(() => statement.all<OwnOrganization>());
  return results;
}

function splitMembershipId(id: string): readonly [orgId: string, sub: string] {
  const at = id.indexOf(":");
  return [id.slice(0, at), id.slice(at + 1)];
}

/** **Memberships with their organisations**, through memory, KV (1 h) and D1, both at the same time. Cost warm: 0. */
export class MembershipDirectory {
  readonly #organizations: ReadThrough<StoredOrganization>;
  readonly #memberships: ReadThrough<StoredMembership>;

  constructor(control: ControlView) {
    this.#organizations = ReadThrough.ofWhole(control, {
      kind: "organization",
      ttlSeconds: 3600,
      maxBytes: isolateMemory.organizations,
      query: organizationQuery,
    });
    this.#memberships = ReadThrough.ofWhole(control, {
      kind: "membership",
      ttlSeconds: 3600,
      maxBytes: isolateMemory.memberships,
      query: membershipQuery,
    });
  }

  /** `undefined` for an organisation that is unknown, or of which the user is no member. */
  async find(context: RequestContext<StorageBindings>, orgId: string, sub: string): Promise<Membership | undefined> {
    const [organization, membership] = await Promise.all([
      this.#organizations.find(context, orgId),
      this.#memberships.find(context, membershipId(orgId, sub)),
    ]);
    return joinMembership(orgId, organization, membership);
  }

  async readAhead(
    context: RequestContext<StorageBindings>,
    { orgId, sub }: { readonly orgId: string; readonly sub: string },
    isVerified: boolean | undefined,
  ): Promise<void> {
    await Promise.all([
      this.#organizations.readAhead(context, orgId, isVerified),
      this.#memberships.readAhead(context, membershipId(orgId, sub), isVerified),
    ]);
  }
}
