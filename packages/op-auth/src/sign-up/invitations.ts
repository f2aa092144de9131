import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type EmailAddress, parseEmailAddress } from "@edge-op/shared/users/user-addresses";

/** **An invitation that nobody has accepted.** Its link proves its address, to which alone it was mailed. */
export interface Invitation {
  readonly id: string;
  readonly address: EmailAddress;
  readonly name: string | undefined;
  /** Written into the database by a command, not through the admin API: it does not depend on `SIGN_UP`. */
  readonly isByOperator: boolean;
}

interface InvitationRow {
  readonly id: string;
  readonly address: string;
  readonly document: string;
}

const open = "SELECT id, address, document FROM invitations WHERE id = ?1 AND until_ms > ?2";

/** `undefined` if it was used or withdrawn, or has ended. Cost: 1 D1 call. */
export async function findInvitation(database: D1Database, id: string, atMs: number): Promise<Invitation | undefined> {
  const row = await queryDatabase(() => database.prepare(open).bind(id, atMs).first<InvitationRow>());
  const address = row === null ? undefined : parseEmailAddress(row.address);
  if (row === null || address === undefined) return undefined;
  const { name, by_operator: byOperator } = readStored("an invitation", row.document, isJsonObject);
  return { id: row.id, address, name: typeof name === "string" ? name : undefined, isByOperator: byOperator === true };
}

/** Gives a person the roles and groups of an invitation, and deletes it. To be run in the transaction that inserts them. */
export function useInvitation(database: D1Database, sub: string, id: string): D1PreparedStatement[] {
  const listed = (member: "roles" | "groups") =>
    `SELECT ?1, value FROM json_each((SELECT document FROM invitations WHERE id = ?2), '$.${member}')`;
  return [
    database.prepare(`INSERT INTO user_roles (sub, role) ${listed("roles")}`).bind(sub, id),
    database.prepare(`INSERT INTO user_groups (sub, group_name) ${listed("groups")}`).bind(sub, id),
    database.prepare("DELETE FROM invitations WHERE id = ?1").bind(id),
  ];
}
