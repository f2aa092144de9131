import { isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { isolateMemory } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import { parseCutOffs, selectCutOffs } from "../cut-offs/cut-offs.ts";
import type { RequestContext } from "../http/request-context.ts";
import { onFirstUse } from "../runtime/on-first-use.ts";
import { peopleOf } from "../storage/people.ts";
import { ReadThrough, type StorageBindings } from "../storage/read-through.ts";
import { loadRecord, type RecordQuery } from "../storage/record-kinds.ts";
import {
  attributesId,
  isUserAttributes,
  type MappedAttributes,
  type MappedValue,
  mappedValues,
  storedAttributes,
} from "./attributes.ts";
import type { Membership, OwnOrganization } from "./organizations.ts";
import type { RbacClaims, User, UserClaims } from "./user.ts";

/**
 * **Finds users** through memory (1 h), KV (1 h) and D1, **their RBAC claims** (5 min), **their memberships of organisations** (1 h) **and the
 * mapping of their attributes to claims** (one record), kept current by the control version. Cost warm: 0. The mapping is not read for a user
 * without attributes.
 */
export class UserDirectory {
  readonly #users: ReadThrough<User>;
  readonly #rbac: ReadThrough<RbacClaims>;
  /** Loaded with the first grant of an organisation. */
  readonly #memberships;
  readonly #attributes: ReadThrough<MappedAttributes>;

  constructor(control: ControlView) {
    this.#users = ReadThrough.ofWhole(control, {
      kind: "user",
      ttlSeconds: 3600,
      maxBytes: isolateMemory.users,
      query: userQuery,
    });
    this.#rbac = ReadThrough.ofWhole(control, {
      kind: "rbac",
      ttlSeconds: 300,
      maxBytes: isolateMemory.rbacClaims,
      query: rbacQuery,
    });
    this.#memberships = onFirstUse(async () => new (await import("./organizations.ts")).MembershipDirectory(control));
    this.#attributes = ReadThrough.ofWhole(control, { ...storedAttributes, maxBytes: isolateMemory.attributes });
  }

  /** Users who are not active are returned too; the caller refuses them. */
  find(context: RequestContext<StorageBindings>, sub: string): Promise<User | undefined> {
    return this.#users.find(context, sub);
  }

  /** {@link ReadThrough.readAhead} of the user and, if the request may need them, the RBAC claims. */
  async readAhead(
    context: RequestContext<StorageBindings>,
    { sub, withRbac, isVerified, orgId }: NamedUser,
  ): Promise<void> {
    const readRbac = async () => {
      if (orgId !== undefined) return (await this.#memberships()).readAhead(context, { orgId, sub }, isVerified);
      return withRbac ? this.#rbac.readAhead(context, sub, isVerified) : undefined;
    };
    await Promise.all([this.#users.readAhead(context, sub, isVerified), readRbac()]);
  }

  /** The attributes that are mapped to claims. */
  async findMapping(context: RequestContext<StorageBindings>): Promise<MappedAttributes> {
    return (await this.#attributes.find(context, attributesId)) ?? { attributes: [] };
  }

  /** The values of a user that are mapped to claims. */
  async findMappedValues(
    context: RequestContext<StorageBindings>,
    user: Pick<User, "attributes"> | undefined,
  ): Promise<readonly MappedValue[]> {
    const values = user?.attributes;
    return values === undefined ? [] : mappedValues(values, await this.findMapping(context));
  }

  /** The membership of a user, with what it gives; `undefined` for an organisation that is unknown, or of which the user is no member. */
  async findMembership(
    context: RequestContext<StorageBindings>,
    orgId: string,
    sub: string,
  ): Promise<Membership | undefined> {
    return (await this.#memberships()).find(context, orgId, sub);
  }

  /** The organisations that a person may choose, from D1. */
  async findOrganizations(context: RequestContext<StorageBindings>, sub: string): Promise<readonly OwnOrganization[]> {
    return (await import("./organizations.ts")).findOwnOrganizations(context.env.DB, sub);
  }

  async findRbacClaims(context: RequestContext<StorageBindings>, sub: string): Promise<RbacClaims> {
    return (await this.#rbac.find(context, sub)) ?? { roles: [], groups: [], permissions: [] };
  }
}

/** A user that the text of a request names, and what of them it may need. */
export interface NamedUser {
  readonly sub: string;
  /** Whether the request may need the user's roles, groups and permissions. */
  readonly withRbac: boolean;
  /** Whether this provider has sealed the text that names the user: D1 is read too if KV has no copy. */
  readonly isVerified?: boolean;
  /** The organisation of the grant: its roles and permissions are those of the membership. */
  readonly orgId?: string | undefined;
}

const isUserClaims = objectOf<UserClaims>({});
const isNames = listOf(isText);

interface UserRow {
  readonly sub: string;
  readonly username: string;
  readonly status: User["status"];
  readonly claims: string;
  readonly attributes: string;
  readonly cut_offs: string;
}

/** Reads a user from D1. */
export const userQuery: RecordQuery<User> = {
  statement: (database, sub) =>
    peopleOf(database)
      .prepare(
        `SELECT sub, username, ${statusOfUser} AS status, claims, attributes, ${selectCutOffs("sub")} FROM users WHERE sub = ?1`,
      )
      .bind(sub),
  read: ([row]) => row && readUser(row as UserRow),
};

export function loadUser(database: D1Database, sub: string): Promise<User | undefined> {
  return loadRecord(database, userQuery, sub);
}

function readUser(row: UserRow): User {
  const claims = readStored("claims of a user", row.claims, isUserClaims);
  const cutOffs = parseCutOffs(row.cut_offs);
  const attributes = readStored("attributes of a user", row.attributes, isUserAttributes);
  const hasSome = Object.keys(attributes).length > 0;
  return {
    ...{ sub: row.sub, username: row.username, status: row.status, claims, cutOffs },
    ...(hasSome ? { attributes } : {}),
  };
}

interface RbacRow {
  readonly roles: string;
  readonly groups: string;
  readonly permissions: string;
}

/** Roles are assigned to the user or to the user's groups; permissions are assigned to roles. */
const rbacQuery: RecordQuery<RbacClaims> = {
  statement: (database, sub) =>
    peopleOf(database)
      .prepare(
        `WITH held(role) AS (
         SELECT role FROM user_roles WHERE sub = ?1
         UNION SELECT gr.role FROM user_groups ug JOIN group_roles gr ON gr.group_name = ug.group_name WHERE ug.sub = ?1)
       SELECT (SELECT json_group_array(role) FROM (SELECT role FROM held ORDER BY role)) AS roles,
              (SELECT json_group_array(group_name) FROM (SELECT group_name FROM user_groups WHERE sub = ?1 ORDER BY group_name)) AS groups,
              (SELECT json_group_array(permission) FROM (SELECT DISTINCT permission FROM role_permissions
                 WHERE role IN (SELECT role FROM held) ORDER BY permission)) AS permissions`,
      )
      .bind(sub),
  read: ([row]) => row && readRbacClaims(row as RbacRow),
};

function readRbacClaims({ roles, groups, permissions }: RbacRow): RbacClaims {
  return {
    roles: readStored("roles", roles, isNames),
    groups: readStored("groups", groups, isNames),
    permissions: readStored("permissions", permissions, isNames),
  };
}

/**
 * **Accounts that their person has asked to delete**: until `deletes_at_ms` they can sign in to keep it, and nothing else; then `ControlPlane` erases
 * it. The status that readers see is `leaving`; that of the row stays what an administrator has set, and a suspended account is not erased.
 */

/** The status of a user, as an expression over a row of `users`. */
const statusOfUser = "iif(status = 'active' AND deletes_at_ms IS NOT NULL, 'leaving', status)";

/** Sets when an account is erased, or keeps it; the first request counts. Returns a statement for the transaction of the change. */
export function changeDeletion(
  database: D1Database,
  sub: string,
  { atMs, deletesAtMs }: { readonly atMs: number; readonly deletesAtMs: number | undefined },
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `UPDATE users SET deletes_at_ms = ?2, updated_at_ms = max(updated_at_ms + 1, ?3)
         WHERE sub = ?1 AND (deletes_at_ms IS NULL) <> (?2 IS NULL)`,
    )
    .bind(sub, deletesAtMs ?? null, atMs);
}
