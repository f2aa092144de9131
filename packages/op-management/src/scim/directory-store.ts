import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { Condition, FilterColumns } from "./filters.ts";
import { type Document, primaryEmail } from "./schema.ts";

/** A user as the directory sees it. */
export interface DirectoryUser {
  readonly scimId: string;
  /** `undefined`: pending. */
  readonly sub: string | undefined;
  /** SCIM of this organisation created the account. */
  readonly createdAccount: boolean;
  readonly active: boolean;
  readonly document: Document;
  /** The version of the membership and account that SCIM has suspended. */
  readonly suspendedAtMs: number | undefined;
  readonly createdAtMs: number;
  readonly version: number;
}

export interface DirectoryGroup {
  readonly groupId: string;
  readonly externalId: string | undefined;
  readonly displayName: string;
  readonly createdAtMs: number;
  readonly version: number;
}

export interface Window {
  readonly condition: Condition;
  readonly offset: number;
  readonly count: number;
}

interface UserRow {
  readonly scim_id: string;
  readonly sub: string | null;
  readonly created_account: number;
  readonly active: number;
  readonly document: string;
  readonly suspended_at_ms: number | null;
  readonly created_at_ms: number;
  readonly version: number;
}

interface GroupRow {
  readonly group_id: string;
  readonly external_id: string | null;
  readonly display_name: string;
  readonly created_at_ms: number;
  readonly version: number;
}

const lower = (value: unknown) => String(value).toLowerCase();
const same = (value: unknown) => String(value);

/** Without statistics, the planner prefers the order of the key to these indexes. */
const byIndex = (index: string, column: string) =>
  `scim_id IN (SELECT scim_id FROM scim_users INDEXED BY ${index} WHERE org_id = ?1 AND ${column} = $)`;

/** The attributes of filters, each with an index that begins with the organisation. */
export const userFilters: FilterColumns = {
  id: { column: "scim_id = $", toStored: same },
  username: { column: "user_name_key = $", toStored: lower },
  externalid: { column: "external_id = $", toStored: same },
  "emails.value": { column: byIndex("scim_users_by_email", "email_key"), toStored: lower },
  displayname: { column: byIndex("scim_users_by_display_name", "display_key"), toStored: lower },
  active: { column: "active = $", toStored: (value) => (lower(value) === "true" ? 1 : 0), isCommon: true },
};
export const groupFilters: FilterColumns = {
  id: { column: "group_id = $", toStored: same },
  displayname: { column: "display_key = $", toStored: lower },
  externalid: { column: "external_id = $", toStored: same },
  "members.value": {
    column: "group_id IN (SELECT group_id FROM scim_members WHERE org_id = ?1 AND scim_id = $)",
    toStored: same,
  },
};

/** Ids are random, and begin with their time: who is created while a directory pages is at the end. */
export function newId(atMs: number): string {
  return `${atMs.toString(36).padStart(9, "0")}${randomBase64Url(12)}`;
}

/**
 * **S1: the resources of one organisation**, the one of the token and the path. It is given here and nowhere else: each statement compares `org_id`
 * with it, and no text of a body reaches that comparison. Every change of a resource is conditional on the version that was read.
 */
export class DirectoryStore {
  readonly orgId: string;
  readonly #database: D1Database;

  constructor(database: D1Database, orgId: string) {
    this.#database = database;
    this.orgId = orgId;
  }

  async findUser(scimId: string): Promise<DirectoryUser | undefined> {
    return (await this.#selectUsers("AND scim_id = ?2", scimId))[0];
  }

  async findByExternalId(externalId: string): Promise<DirectoryUser | undefined> {
    return (await this.#selectUsers("AND external_id = ?2", externalId))[0];
  }

  async listUsers({ condition: { sql, values }, count, offset }: Window): Promise<readonly DirectoryUser[]> {
    if (count === 0) return [];
    return this.#selectUsers(`${sql} ORDER BY scim_id LIMIT ${count} OFFSET ${offset}`, ...values);
  }

  async #selectUsers(rest: string, ...values: readonly unknown[]): Promise<readonly DirectoryUser[]> {
    const statement = peopleOf(this.#database)
      .prepare(
        `SELECT scim_id, sub, created_account, active, document, suspended_at_ms, created_at_ms, version
           FROM scim_users WHERE org_id = ?1 ${rest}`,
      )
      .bind(this.orgId, ...values);
    const { results } = await queryDatabase(() => statement.all<UserRow>());
    return results.map((row) => ({
      scimId: row.scim_id,
      sub: row.sub ?? undefined,
      createdAccount: row.created_account === 1,
      active: row.active === 1,
      document: readStored("SCIM user", row.document, isJsonObject) as Document,
      suspendedAtMs: row.suspended_at_ms ?? undefined,
      createdAtMs: row.created_at_ms,
      version: row.version,
    }));
  }

  /** How many resources of the organisation match: reads their index. */
  async count(table: "scim_users" | "scim_groups", { sql, values }: Condition): Promise<number> {
    const statement = peopleOf(this.#database)
      .prepare(`SELECT count(*) AS count FROM ${table} WHERE org_id = ?1 ${sql}`)
      .bind(this.orgId, ...values);
    return (await queryDatabase(() => statement.first<{ readonly count: number }>()))!.count;
  }

  insertUser(user: DirectoryUser): D1PreparedStatement {
    return peopleOf(this.#database)
      .prepare(
        `INSERT INTO scim_users (org_id, scim_id, sub, created_account, suspended_at_ms, version, active, document, external_id,
             user_name_key, email_key, display_key, created_at_ms)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`,
      )
      .bind(...this.#written(user), user.createdAtMs);
  }

  updateUser(user: DirectoryUser): D1PreparedStatement {
    return peopleOf(this.#database)
      .prepare(
        `UPDATE scim_users SET sub = ?3, created_account = ?4, suspended_at_ms = ?5, version = ?6, active = ?7,
             document = ?8, external_id = ?9, user_name_key = ?10, email_key = ?11, display_key = ?12
           WHERE org_id = ?1 AND scim_id = ?2`,
      )
      .bind(...this.#written(user));
  }

  #written({
    scimId,
    sub,
    createdAccount,
    suspendedAtMs,
    version,
    active,
    document,
  }: DirectoryUser): readonly unknown[] {
    const textOf = (name: string) => (typeof document[name] === "string" ? String(document[name]) : undefined);
    return [
      ...[this.orgId, scimId, sub ?? null, createdAccount ? 1 : 0, suspendedAtMs ?? null, version, active ? 1 : 0],
      ...[JSON.stringify(document), textOf("externalId") ?? null, lower(textOf("userName"))],
      ...[primaryEmail(document)?.toLowerCase() ?? null, textOf("displayName")?.toLowerCase() ?? null],
    ];
  }

  /** Fails, together with its transaction, if there is no such user of this version: before each change of it. */
  refuseOtherVersion(scimId: string, known: number): D1PreparedStatement {
    return peopleOf(this.#database)
      .prepare(
        `INSERT INTO scim_users (org_id, scim_id, created_account, user_name_key, active, document, created_at_ms, version)
           SELECT ?1, '', 0, '', 0, '', 0, NULL
            WHERE NOT EXISTS (SELECT 1 FROM scim_users WHERE org_id = ?1 AND scim_id = ?2 AND version = ?3)`,
      )
      .bind(this.orgId, scimId, known);
  }

  /** Fails, together with its transaction, if the condition is true of the user; its values begin with ?3. */
  refuseUserIf(scimId: string, condition: string, ...values: readonly unknown[]): D1PreparedStatement {
    return peopleOf(this.#database)
      .prepare(`UPDATE scim_users SET version = NULL WHERE org_id = ?1 AND scim_id = ?2 AND (${condition})`)
      .bind(this.orgId, scimId, ...values);
  }

  deleteUser(scimId: string): D1PreparedStatement {
    return peopleOf(this.#database)
      .prepare("DELETE FROM scim_users WHERE org_id = ?1 AND scim_id = ?2")
      .bind(this.orgId, scimId);
  }

  /** The groups of users, by user. */
  async listGroupsOf(scimIds: readonly string[]): Promise<ReadonlyMap<string, readonly DirectoryGroup[]>> {
    if (scimIds.length === 0) return new Map();
    const statement = this.#database
      .prepare(
        `SELECT m.scim_id, g.group_id, g.external_id, g.display_name, g.created_at_ms, g.version
           FROM json_each(?2) AS asked CROSS JOIN scim_members m ON m.org_id = ?1 AND m.scim_id = asked.value
           CROSS JOIN scim_groups g ON g.org_id = m.org_id AND g.group_id = m.group_id`,
      )
      .bind(this.orgId, JSON.stringify(scimIds));
    const { results } = await queryDatabase(() => statement.all<GroupRow & { readonly scim_id: string }>());
    const byUser = Map.groupBy(results, (row) => row.scim_id);
    return new Map([...byUser].map(([scimId, rows]) => [scimId, rows.map(toGroup)]));
  }

  async findGroup(groupId: string): Promise<DirectoryGroup | undefined> {
    return (await this.#selectGroups("AND group_id = ?2", groupId))[0];
  }

  async findGroupByExternalId(externalId: string): Promise<DirectoryGroup | undefined> {
    return (await this.#selectGroups("AND external_id = ?2", externalId))[0];
  }

  async listGroups({ condition: { sql, values }, count, offset }: Window): Promise<readonly DirectoryGroup[]> {
    if (count === 0) return [];
    return this.#selectGroups(`${sql} ORDER BY group_id LIMIT ${count} OFFSET ${offset}`, ...values);
  }

  async #selectGroups(rest: string, ...values: readonly unknown[]): Promise<readonly DirectoryGroup[]> {
    const statement = this.#database
      .prepare(
        `SELECT group_id, external_id, display_name, created_at_ms, version FROM scim_groups WHERE org_id = ?1 ${rest}`,
      )
      .bind(this.orgId, ...values);
    const { results } = await queryDatabase(() => statement.all<GroupRow>());
    return results.map(toGroup);
  }

  insertGroup({ groupId, externalId, displayName, createdAtMs, version }: DirectoryGroup): D1PreparedStatement {
    return this.#database
      .prepare(
        `INSERT INTO scim_groups (org_id, group_id, external_id, display_name, display_key, created_at_ms, version)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
      )
      .bind(this.orgId, groupId, externalId ?? null, displayName, displayName.toLowerCase(), createdAtMs, version);
  }

  /** Fails, together with its transaction, if the version is no longer `known`, or roles were given to the group or taken from it since. */
  updateGroup(group: DirectoryGroup, known: number, givesRoles: boolean): D1PreparedStatement {
    const { groupId, externalId, displayName, version } = group;
    return this.#database
      .prepare(
        `UPDATE scim_groups SET external_id = ?3, display_name = ?4, display_key = ?5,
             version = iif(version = ?7 AND ?8 = EXISTS (SELECT 1 FROM scim_group_roles WHERE org_id = ?1 AND group_id = ?2), ?6, NULL)
           WHERE org_id = ?1 AND group_id = ?2`,
      )
      .bind(
        ...[this.orgId, groupId, externalId ?? null, displayName, displayName.toLowerCase()],
        ...[version, known, givesRoles ? 1 : 0],
      );
  }

  deleteGroup(groupId: string): D1PreparedStatement {
    return this.#database
      .prepare("DELETE FROM scim_groups WHERE org_id = ?1 AND group_id = ?2")
      .bind(this.orgId, groupId);
  }

  async listMembers(groupIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const statement = this.#database
      .prepare(
        `SELECT m.group_id, m.scim_id FROM json_each(?2) AS asked
           CROSS JOIN scim_members m ON m.org_id = ?1 AND m.group_id = asked.value ORDER BY m.group_id, m.scim_id`,
      )
      .bind(this.orgId, JSON.stringify(groupIds));
    const { results } = await queryDatabase(() =>
      statement.all<{ readonly group_id: string; readonly scim_id: string }>(),
    );
    const byGroup = Map.groupBy(results, (row) => row.group_id);
    return new Map([...byGroup].map(([groupId, rows]) => [groupId, rows.map((row) => row.scim_id)]));
  }

  /** How many of these are users of the organisation. */
  async countUsers(scimIds: readonly string[]): Promise<number> {
    if (scimIds.length === 0) return 0;
    const condition = "AND scim_id IN (SELECT value FROM json_each(?2))";
    return this.count("scim_users", { sql: condition, values: [JSON.stringify(scimIds)] });
  }

  /** Two statements, for any number of members: those who leave, and those who join. `keeps`: who is not named stays. */
  changeMembers(groupId: string, { keeps, add, remove }: MemberChange): readonly D1PreparedStatement[] {
    const leaving = keeps ? "IN" : "NOT IN";
    return [
      this.#database
        .prepare(
          `DELETE FROM scim_members WHERE org_id = ?1 AND group_id = ?2 AND scim_id ${leaving} (SELECT value FROM json_each(?3))`,
        )
        .bind(this.orgId, groupId, JSON.stringify(keeps ? [...remove] : [...add])),
      peopleOf(this.#database)
        .prepare(
          `INSERT OR IGNORE INTO scim_members (org_id, group_id, scim_id)
             SELECT u.org_id, ?2, u.scim_id FROM json_each(?3) AS asked
             CROSS JOIN scim_users u ON u.org_id = ?1 AND u.scim_id = asked.value`,
        )
        .bind(this.orgId, groupId, JSON.stringify([...add])),
    ];
  }

  async givesRoles(groupId: string): Promise<boolean> {
    const statement = this.#database
      .prepare("SELECT 1 FROM scim_group_roles WHERE org_id = ?1 AND group_id = ?2 LIMIT 1")
      .bind(this.orgId, groupId);
    return (await queryDatabase(() => statement.first())) !== null;
  }

  /** The people whose groups a change touches, at most `most`: with everybody of the group if `keeps` is false. */
  async listTouched(groupId: string, { keeps, add, remove }: MemberChange, most: number): Promise<readonly string[]> {
    const members = "SELECT scim_id FROM scim_members WHERE org_id = ?1 AND group_id = ?2";
    const statement = peopleOf(this.#database)
      .prepare(
        `SELECT DISTINCT u.sub FROM scim_users u WHERE u.org_id = ?1 AND u.sub IS NOT NULL
           AND u.scim_id IN (SELECT value FROM json_each(?3)${keeps ? "" : ` UNION ${members}`}) AND ?2 <> '' LIMIT ${most}`,
      )
      .bind(this.orgId, groupId, JSON.stringify([...add, ...remove]));
    const { results } = await queryDatabase(() => statement.all<{ readonly sub: string }>());
    return results.map(({ sub }) => sub);
  }
}

/** What a request makes of the members of a group. */
export interface MemberChange {
  readonly keeps: boolean;
  readonly add: ReadonlySet<string>;
  readonly remove: ReadonlySet<string>;
}

function toGroup(row: GroupRow): DirectoryGroup {
  return {
    groupId: row.group_id,
    externalId: row.external_id ?? undefined,
    displayName: row.display_name,
    createdAtMs: row.created_at_ms,
    version: row.version,
  };
}
