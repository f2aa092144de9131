import { isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **An invitation in D1**: it ends with its use, its withdrawal, or after seven days by the daily sweep. */
export interface StoredInvitation extends InvitationDocument {
  readonly id: string;
  /** As mail is sent to it. */
  readonly address: string;
  /** The subject of the admin token. */
  readonly inviter: string;
  readonly createdAtMs: number;
  readonly untilMs: number;
}

interface InvitationDocument {
  readonly name?: string | undefined;
  /** The language of the mail. */
  readonly locale?: string | undefined;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** The organisation of which the person becomes a member, and their roles there (ADR 72). */
  readonly org_id?: string | undefined;
  readonly member_roles?: readonly string[] | undefined;
}

interface InvitationRow {
  readonly id: string;
  readonly address: string;
  readonly document: string;
  readonly inviter: string;
  readonly created_at_ms: number;
  readonly until_ms: number;
}

const isDocument = objectOf<InvitationDocument>({ roles: listOf(isText), groups: listOf(isText) });

function toInvitation(row: InvitationRow): StoredInvitation {
  const { id, address, document, inviter, created_at_ms: createdAtMs, until_ms: untilMs } = row;
  return { id, address, inviter, createdAtMs, untilMs, ...readStored("an invitation", document, isDocument) };
}

/** An address has one invitation of the deployment at a time, and one of each organisation: no space is in an address or an id. */
export function invitedKey(key: string, orgId: string | undefined): string {
  return orgId === undefined ? key : `${orgId} ${key}`;
}

/** Fails, together with its transaction, if the key is invited already ({@link invitedKey}). */
export function insertInvitation(
  database: D1Database,
  key: string,
  { id, address, inviter, createdAtMs, untilMs, ...members }: StoredInvitation,
): D1PreparedStatement[] {
  const document = JSON.stringify(members);
  return [
    database.prepare("DELETE FROM invitations WHERE address_key = ?1 AND until_ms <= ?2").bind(key, createdAtMs),
    database
      .prepare(
        `INSERT INTO invitations (id, address_key, address, document, inviter, created_at_ms, until_ms)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
      )
      .bind(id, key, address, document, inviter, createdAtMs, untilMs),
  ];
}

export async function isInvited(database: D1Database, key: string): Promise<boolean> {
  const select = database.prepare("SELECT 1 FROM invitations WHERE address_key = ?1").bind(key);
  return (await queryDatabase(() => select.first())) !== null;
}

/** In the order of their ids, with those that have ended since the last sweep; of one organisation if `orgId` is given. */
export async function listInvitations(
  database: D1Database,
  { after, count, orgId }: { readonly after: string; readonly count: number; readonly orgId?: string },
): Promise<StoredInvitation[]> {
  const select =
    orgId === undefined
      ? database.prepare("SELECT * FROM invitations WHERE id > ?1 ORDER BY id LIMIT ?2").bind(after, count)
      : database
          .prepare("SELECT * FROM invitations WHERE document ->> '$.org_id' = ?3 AND id > ?1 ORDER BY id LIMIT ?2")
          .bind(after, count, orgId);
  const { results } = await queryDatabase(() => select.all<InvitationRow>());
  return results.map(toInvitation);
}

export async function findInvitation(
  database: D1Database,
  id: string,
  atMs: number,
): Promise<StoredInvitation | undefined> {
  const select = database.prepare("SELECT * FROM invitations WHERE id = ?1 AND until_ms > ?2").bind(id, atMs);
  const row = await queryDatabase(() => select.first<InvitationRow>());
  return row === null ? undefined : toInvitation(row);
}

export function deleteInvitation(database: D1Database, id: string): D1PreparedStatement {
  return database.prepare("DELETE FROM invitations WHERE id = ?1").bind(id);
}
