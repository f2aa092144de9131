import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type Membership, mostMemberships } from "@edge-op/shared/users/organizations";
import { refuseWhere } from "../admin/delegate.ts";

/** **Memberships in D1**: the authority, never a copy. */
export interface StoredMember {
  readonly sub: string;
  readonly orgId: string;
  readonly username: string;
  /** Of the organisation. */
  readonly organization: string;
  readonly status: Membership["status"];
  readonly source: string;
  readonly roles: readonly string[];
  readonly joinedAtMs: number;
  readonly updatedAtMs: number;
}

type Row = Omit<StoredMember, "roles"> & { readonly roles: string };

const select = `SELECT m.sub, m.org_id AS orgId, u.username, o.document ->> '$.name' AS organization, m.status, m.source,
    (SELECT json_group_array(role ORDER BY role) FROM membership_roles r WHERE r.sub = m.sub AND r.org_id = m.org_id) AS roles,
    m.joined_at_ms AS joinedAtMs, m.updated_at_ms AS updatedAtMs
  FROM memberships m CROSS JOIN users u ON u.sub = m.sub CROSS JOIN organizations o ON o.org_id = m.org_id`;

function toMember({ roles, ...row }: Row): StoredMember {
  return { ...row, roles: readStored("roles of a member", roles, listOf(isText)) };
}

export async function findMember(database: D1Database, orgId: string, sub: string): Promise<StoredMember | undefined> {
  const statement = peopleOf(database).prepare(`${select} WHERE m.org_id = ?1 AND m.sub = ?2`).bind(orgId, sub);
  const row = await queryDatabase(() => statement.first<Row>());
  return row === null ? undefined : toMember(row);
}

/** A page of the members of an organisation, in the order of their subs. */
export async function listMembers(
  database: D1Database,
  orgId: string,
  { after, count }: { readonly after: string; readonly count: number },
): Promise<readonly StoredMember[]> {
  const statement = peopleOf(database)
    .prepare(`${select} WHERE m.org_id = ?1 AND m.sub > ?2 ORDER BY m.sub LIMIT ?3`)
    .bind(orgId, after, count);
  const { results } = await queryDatabase(() => statement.all<Row>());
  return results.map(toMember);
}

/** A page of the memberships of a user, in the order of the organisations' ids. */
export async function listMemberships(
  database: D1Database,
  sub: string,
  { after, count }: { readonly after: string; readonly count: number },
): Promise<readonly StoredMember[]> {
  const statement = peopleOf(database)
    .prepare(`${select} WHERE m.sub = ?1 AND m.org_id > ?2 ORDER BY m.org_id LIMIT ?3`)
    .bind(sub, after, count);
  const { results } = await queryDatabase(() => statement.all<Row>());
  return results.map(toMember);
}

type Written = Pick<StoredMember, "sub" | "orgId" | "status" | "roles"> & { readonly atMs: number };
type Added = Written & { readonly source?: "administrator" | "scim" };

/** Fails, together with its transaction, for somebody who is a member, or of {@link mostMemberships} organisations already. */
export function insertMember(
  database: D1Database,
  { sub, orgId, status, roles, atMs, source = "administrator" }: Added,
): readonly D1PreparedStatement[] {
  return [
    peopleOf(database)
      .prepare(
        `INSERT INTO memberships (sub, org_id, status, source, joined_at_ms, updated_at_ms)
           SELECT ?1, ?2, iif((SELECT count(*) FROM memberships WHERE sub = ?1) < ${mostMemberships}, ?3, NULL), ?5, ?4, ?4`,
      )
      .bind(sub, orgId, status, atMs, source),
    insertRoles(database, { sub, orgId, roles }),
  ];
}

/** Fails, together with its transaction, if the version is no longer `known`. */
export function updateMember(
  database: D1Database,
  known: StoredMember,
  { sub, orgId, status, roles, atMs }: Written,
): readonly D1PreparedStatement[] {
  return [
    refuseOtherVersion(database, known),
    peopleOf(database)
      .prepare("UPDATE memberships SET status = ?3, updated_at_ms = ?4 WHERE sub = ?1 AND org_id = ?2")
      .bind(sub, orgId, status, atMs),
    peopleOf(database).prepare("DELETE FROM membership_roles WHERE sub = ?1 AND org_id = ?2").bind(sub, orgId),
    insertRoles(database, { sub, orgId, roles }),
  ];
}

export function deleteMember(database: D1Database, known: StoredMember): readonly D1PreparedStatement[] {
  return [
    refuseOtherVersion(database, known),
    peopleOf(database).prepare("DELETE FROM memberships WHERE sub = ?1 AND org_id = ?2").bind(known.sub, known.orgId),
  ];
}

function refuseOtherVersion(database: D1Database, { sub, orgId, updatedAtMs }: StoredMember): D1PreparedStatement {
  const known = "SELECT 1 FROM memberships WHERE sub = ?1 AND org_id = ?2 AND updated_at_ms = ?3";
  return refuseWhere(database, `NOT EXISTS (${known})`, sub, orgId, updatedAtMs);
}

function insertRoles(
  database: D1Database,
  { sub, orgId, roles }: Pick<StoredMember, "sub" | "orgId" | "roles">,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare("INSERT INTO membership_roles (sub, org_id, role) SELECT ?1, ?2, value FROM json_each(?3)")
    .bind(sub, orgId, JSON.stringify(roles));
}
