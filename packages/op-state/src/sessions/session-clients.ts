import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { isGrantFamily } from "@edge-op/shared/grants/grant-revocation";
import type { Session, SessionClient, SessionGrant } from "@edge-op/shared/sessions/session-rpc";
import { isShardAddress } from "@edge-op/shared/storage/shard-address";
import type { GrantRevocations } from "../revocation/grant-revocations.ts";
import type { LogoutNotices } from "./logout-notices.ts";

interface ClientRow extends Record<string, SqlStorageValue> {
  readonly client_id: string;
  readonly subject: string;
  readonly consented: string;
  readonly registered_at_ms: number | null;
}

interface GrantRow extends Record<string, SqlStorageValue> {
  readonly grant_id: string;
  readonly sid: string;
  readonly client_id: string;
  readonly address: string;
  readonly until_ms: number;
  readonly family: string | null;
}

function toClient(row: ClientRow): SessionClient {
  return {
    clientId: row.client_id,
    subject: row.subject,
    consented: readStored("consented", row.consented, listOf(isText)),
    registeredAtMs: row.registered_at_ms ?? undefined,
  };
}

/**
 * **The clients that received codes in a session, and the grants that end with it.** No row outlives its session. A grant is
 * deleted only when it is handed to grant-revocations.ts, or when all of its tokens have expired. Synchronous: called in the
 * owner's transactions.
 *
 *   session_clients(sid, client_id, subject, consented, registered_at_ms)      registered_at_ms NULL: the client has no row
 *   session_grants(grant_id, sid, client_id, address, until_ms, family)        family NULL: no refresh tokens
 */
export class SessionClients {
  readonly #sql: SqlStorage;
  readonly #notices: LogoutNotices;
  readonly #revocations: GrantRevocations;

  constructor(sql: SqlStorage, notices: LogoutNotices, revocations: GrantRevocations) {
    this.#sql = sql;
    this.#notices = notices;
    this.#revocations = revocations;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS session_clients (
        sid TEXT NOT NULL, client_id TEXT NOT NULL, subject TEXT NOT NULL, consented TEXT NOT NULL,
        registered_at_ms INTEGER, PRIMARY KEY (sid, client_id)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS session_grants (
        grant_id TEXT PRIMARY KEY, sid TEXT NOT NULL, client_id TEXT NOT NULL, address TEXT NOT NULL,
        until_ms INTEGER NOT NULL, family TEXT) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS session_grants_by_session ON session_grants (sid, client_id);
      CREATE INDEX IF NOT EXISTS session_grants_dying ON session_grants (until_ms);`);
  }

  find(sid: string, clientId: string): SessionClient | undefined {
    const rows = this.#sql.exec<ClientRow>(
      "SELECT * FROM session_clients WHERE sid = ? AND client_id = ?",
      sid,
      clientId,
    );
    return rows.toArray().map(toClient)[0];
  }

  list(sid: string): SessionClient[] {
    return this.#sql.exec<ClientRow>("SELECT * FROM session_clients WHERE sid = ?", sid).toArray().map(toClient);
  }

  put(sid: string, client: SessionClient): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO session_clients (sid, client_id, subject, consented, registered_at_ms)
         VALUES (?, ?, ?, ?, ?)`,
      sid,
      client.clientId,
      client.subject,
      JSON.stringify(client.consented),
      client.registeredAtMs ?? null,
    );
  }

  addGrant(sid: string, clientId: string, { grantId, address, untilMs, family }: SessionGrant): void {
    this.#sql.exec(
      `INSERT OR IGNORE INTO session_grants (grant_id, sid, client_id, address, until_ms, family)
         VALUES (?, ?, ?, ?, ?, ?)`,
      grantId,
      sid,
      clientId,
      JSON.stringify(address),
      untilMs,
      family === undefined ? null : JSON.stringify(family),
    );
  }

  /** Removes the client from the session: it gets a logout token, and its grants are revoked. */
  dismiss(session: Pick<Session, "sid" | "sub">, client: SessionClient, atMs: number): void {
    this.#end(session, client, atMs);
    this.#sql.exec("DELETE FROM session_clients WHERE sid = ? AND client_id = ?", session.sid, client.clientId);
  }

  /** Removes each client of a session that has ended. The clients are known until the session's row is deleted. */
  dismissAll(session: Pick<Session, "sid" | "sub">, atMs: number): void {
    for (const client of this.list(session.sid)) this.#end(session, client, atMs);
  }

  forget(sid: string): void {
    this.#sql.exec("DELETE FROM session_clients WHERE sid = ?", sid);
  }

  #end({ sid, sub }: Pick<Session, "sid" | "sub">, client: SessionClient, atMs: number): void {
    const { clientId, subject, registeredAtMs } = client;
    const registered = registeredAtMs === undefined ? {} : { registeredAtMs };
    this.#notices.add({ clientId, subject, sid, sub, ...registered }, atMs);
    this.#revoke("sid = ? AND client_id = ?", [sid, clientId], atMs);
  }

  /**
   * The session has expired: at most `most` of its grants are revoked. Its clients are not notified, because nobody signed out.
   * Returns the number of grants; if it is `most`, there may be more.
   */
  expire(sid: string, most: number, atMs: number): number {
    return this.#revoke("grant_id IN (SELECT grant_id FROM session_grants WHERE sid = ? LIMIT ?)", [sid, most], atMs);
  }

  /** Deletes grants whose tokens have all expired. */
  sweep(most: number, atMs: number): number {
    const swept = this.#sql.exec(
      `DELETE FROM session_grants WHERE grant_id IN
         (SELECT grant_id FROM session_grants WHERE until_ms <= ? LIMIT ?) RETURNING 1`,
      atMs,
      most,
    );
    return swept.toArray().length;
  }

  #revoke(where: string, bindings: readonly SqlStorageValue[], atMs: number): number {
    const rows = this.#sql
      .exec<GrantRow>(
        `DELETE FROM session_grants WHERE ${where} RETURNING grant_id, sid, client_id, address, until_ms, family`,
        ...bindings,
      )
      .toArray();
    for (const { grant_id: grantId, client_id: clientId, until_ms: untilMs, ...row } of rows) {
      if (untilMs <= atMs) continue;
      const address = readStored("shard of a grant", row.address, isShardAddress);
      const family = row.family === null ? {} : { family: readStored("family of a grant", row.family, isGrantFamily) };
      const grant = { grantId, address };
      this.#revocations.add({ grant, clientId, reason: "session_ended", untilMs, ...family }, atMs, row.sid);
    }
    return rows.length;
  }
}
