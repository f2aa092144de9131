import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { endUserSessions } from "@edge-op/shared/users/ending-sessions";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import type { UserClaims } from "@edge-op/shared/users/user";
import { canonicalUsername } from "@edge-op/shared/users/username";
import { subPattern } from "./user-schema.ts";

/** **Users in D1**, for the admin API: always the authority, never a cache. */
export interface StoredUser {
  readonly sub: string;
  readonly username: string;
  readonly status: "active" | "suspended";
  readonly claims: UserClaims;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly hasPassword: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

interface UserRow {
  readonly sub: string;
  readonly username: string;
  readonly status: "active" | "suspended";
  readonly claims: string;
  readonly roles: string;
  readonly groups: string;
  readonly has_password: number;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

const select = `
  SELECT u.sub, u.username, u.status, u.claims, u.created_at_ms, u.updated_at_ms,
         (SELECT json_group_array(role) FROM (SELECT role FROM user_roles WHERE sub = u.sub ORDER BY role)) AS roles,
         (SELECT json_group_array(group_name) FROM
           (SELECT group_name FROM user_groups WHERE sub = u.sub ORDER BY group_name)) AS groups,
         EXISTS (SELECT 1 FROM user_passwords WHERE sub = u.sub) AS has_password
    FROM users u`;

function toUser(row: UserRow): StoredUser {
  return {
    sub: row.sub,
    username: row.username,
    status: row.status,
    claims: JSON.parse(row.claims) as UserClaims,
    roles: JSON.parse(row.roles) as string[],
    groups: JSON.parse(row.groups) as string[],
    hasPassword: row.has_password === 1,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export async function findUser(database: D1Database, sub: string): Promise<StoredUser | undefined> {
  if (!subPattern.test(sub)) return undefined;
  const row = await queryDatabase(() => database.prepare(`${select} WHERE u.sub = ?1`).bind(sub).first<UserRow>());
  return row === null ? undefined : toUser(row);
}

export async function requireUser(database: D1Database, sub: string): Promise<StoredUser> {
  const user = await findUser(database, sub);
  if (user === undefined) throw new OAuthError("not_found", "user-not-found");
  return user;
}

/** Whether another user has the name, in any spelling. */
export async function isUsernameTaken(database: D1Database, username: string, sub: string): Promise<boolean> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT 1 FROM users WHERE username_key = ?1 AND sub <> ?2")
      .bind(canonicalUsername(username) ?? null, sub)
      .first(),
  );
  return row !== null;
}

/** The users after a sub, in the order of their subs. */
export async function listUsers(
  database: D1Database,
  after: string,
  count: number,
  only: { readonly status: string | undefined; readonly username: string | undefined },
): Promise<StoredUser[]> {
  const { status = null, username } = only;
  const { results } = await queryDatabase(() =>
    username === undefined
      ? database
          .prepare(`${select} WHERE u.sub > ?1 AND (?2 IS NULL OR u.status = ?2) ORDER BY u.sub LIMIT ?3`)
          .bind(after, status, count)
          .all<UserRow>()
      : database
          .prepare(`${select} WHERE u.username_key = ?1 AND u.sub > ?2 AND (?3 IS NULL OR u.status = ?3)`)
          .bind(canonicalUsername(username) ?? null, after, status)
          .all<UserRow>(),
  );
  return results.map(toUser);
}

/**
 * Fails, and with it its transaction, if the sub is a user's or a client's or was a deleted user's, or if the name is taken in some
 * spelling: claims may not be NULL. `subHash`: `hashSub` of the sub.
 */
export function insertUser(database: D1Database, user: StoredUser, subHash: ArrayBuffer): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO users (sub, username, username_key, status, claims, created_at_ms, updated_at_ms)
         VALUES (?1, ?2, ?7, ?3, iif(EXISTS (SELECT 1 FROM clients WHERE client_id = ?1)
                                     OR EXISTS (SELECT 1 FROM retired_subs WHERE hash = ?8), NULL, ?4), ?5, ?6)`,
    )
    .bind(
      user.sub,
      user.username,
      user.status,
      JSON.stringify(user.claims),
      user.createdAtMs,
      user.updatedAtMs,
      canonicalUsername(user.username) ?? null,
      subHash,
    );
}

/** Fails, and with it its transaction, when the version is no longer `expected`: claims may not be NULL. */
export function updateUser(database: D1Database, user: StoredUser, expected: number): D1PreparedStatement {
  return database
    .prepare(
      `UPDATE users SET username = ?2, username_key = ?7, status = ?3,
                        claims = iif(updated_at_ms = ?6, ?4, NULL), updated_at_ms = ?5
        WHERE sub = ?1`,
    )
    .bind(
      user.sub,
      user.username,
      user.status,
      JSON.stringify(user.claims),
      user.updatedAtMs,
      expected,
      canonicalUsername(user.username) ?? null,
    );
}

/** Nobody gets the sub again: relying parties would take them for this user. */
export function deleteUser(database: D1Database, sub: string, subHash: ArrayBuffer): D1PreparedStatement[] {
  return [
    database.prepare("DELETE FROM users WHERE sub = ?1").bind(sub),
    database.prepare("INSERT OR IGNORE INTO retired_subs (hash) VALUES (?1)").bind(subHash),
  ];
}

/** For a change that ends all grants: the sessions are ended (ADR 54), and the account page lists nothing any more. */
export function forgetAccess(database: D1Database, sub: string): D1PreparedStatement[] {
  const ending = { reason: "ended by an administrator", atMs: nowMs() };
  return [...endUserSessions(database, sub, ending), forgetOfflineGrants(database, sub)];
}

/** Replaces the user's roles by `roles`. */
export function replaceRoles(database: D1Database, sub: string, roles: readonly string[]): D1PreparedStatement[] {
  return [
    database.prepare("DELETE FROM user_roles WHERE sub = ?1").bind(sub),
    database
      .prepare("INSERT INTO user_roles (sub, role) SELECT ?1, value FROM json_each(?2)")
      .bind(sub, JSON.stringify(roles)),
  ];
}

/** Replaces the user's groups by `groups`. */
export function replaceGroups(database: D1Database, sub: string, groups: readonly string[]): D1PreparedStatement[] {
  return [
    database.prepare("DELETE FROM user_groups WHERE sub = ?1").bind(sub),
    database
      .prepare("INSERT INTO user_groups (sub, group_name) SELECT ?1, value FROM json_each(?2)")
      .bind(sub, JSON.stringify(groups)),
  ];
}
