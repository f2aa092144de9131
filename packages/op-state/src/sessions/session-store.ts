import { DurableObject } from "cloudflare:workers";
import type {
  AttemptLimit,
  AttemptOutcome,
  NewSession,
  Session,
  SessionClient,
  SessionContents,
  SessionGrant,
  SessionStoreRpc,
  SessionUse,
} from "@edge-op/shared/objects/session-store";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { SignInAttempts } from "../challenges/sign-in-attempts.ts";
import { AlarmSchedule } from "../outbox/alarm-schedule.ts";
import { type AuditBindings, AuditOutbox } from "../outbox/audit-outbox.ts";
import { type GrantRevocationBindings, GrantRevocations } from "../outbox/grant-revocations.ts";
import { type LogoutBindings, LogoutNotices } from "./logout-notices.ts";
import { diesAtMs, isAlive, isUseWorthRecording } from "./session-machine.ts";
import { type SessionRow, toSession, toTimes } from "./session-row.ts";

export type SessionStoreEnv = LogoutBindings & GrantRevocationBindings & AuditBindings;

const sweptRows = 500;
/** Dead rows may lie for so long: sweeping is for space, not for truth. */
const sweepEveryMs = 600_000;

/**
 * **A shard of sessions.** A session row dies at its idle or absolute end (session-machine.ts), by logout at once; what it
 * owes then lives in logout-notices.ts and grant-revocations.ts. Ending and owing are one transaction, so no logout is half done.
 *
 *   sessions(sid, key, sub, signed_in_at_ms, acr, amr, idle_ms, seen_at_ms, ends_at_ms, dies_at_ms)
 *   session_clients(sid, client_id, subject, consented), session_grants(grant_id, sid, client_id, address, until_ms)
 */
export class SessionStore
  extends DurableObject<SessionStoreEnv>
  implements Omit<SessionStoreRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #audit: AuditOutbox;
  readonly #notices: LogoutNotices;
  readonly #revocations: GrantRevocations;
  readonly #attempts: SignInAttempts;

  constructor(ctx: DurableObjectState, env: SessionStoreEnv) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS sessions (
        sid TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, sub TEXT NOT NULL, signed_in_at_ms INTEGER NOT NULL,
        acr TEXT NOT NULL, amr TEXT NOT NULL, idle_ms INTEGER NOT NULL, seen_at_ms INTEGER NOT NULL,
        ends_at_ms INTEGER NOT NULL, dies_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS sessions_dying ON sessions (dies_at_ms);
      CREATE TABLE IF NOT EXISTS session_clients (
        sid TEXT NOT NULL, client_id TEXT NOT NULL, subject TEXT NOT NULL, consented TEXT NOT NULL,
        PRIMARY KEY (sid, client_id)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS session_grants (
        grant_id TEXT PRIMARY KEY, sid TEXT NOT NULL, client_id TEXT NOT NULL, address TEXT NOT NULL,
        until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS session_grants_by_session ON session_grants (sid, client_id);
      CREATE INDEX IF NOT EXISTS session_grants_dying ON session_grants (until_ms);`);
    this.#alarms = new AlarmSchedule(ctx);
    this.#audit = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#notices = new LogoutNotices(ctx, env, this.#alarms);
    this.#revocations = new GrantRevocations(ctx, env, this.#alarms);
    this.#attempts = new SignInAttempts(ctx, this.#alarms);
  }

  async open(session: NewSession): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      if (this.#row({ key: session.key }) !== undefined) return;
      this.#insert(session, atMs);
      this.#event("session.opened", session, atMs);
    });
  }

  async renew(oldKey: string, session: NewSession): Promise<boolean> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const old = this.#alive({ key: oldKey }, atMs);
      if (old === undefined || old.sub !== session.sub || old.sid !== session.sid) return false;
      this.#sql.exec("DELETE FROM sessions WHERE sid = ?", old.sid);
      this.#insert(session, atMs);
      this.#event("session.renewed", session, atMs);
      return true;
    });
  }

  async use(key: string, clientId: string, grant: SessionGrant | undefined): Promise<SessionUse | undefined> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ key }, atMs);
      if (row === undefined) return undefined;
      this.#touch(row, atMs);
      const client = this.#client(row.sid, clientId);
      if (client !== undefined && grant !== undefined) this.#addGrant(row.sid, clientId, grant);
      return { session: toSession(row), client };
    });
  }

  async admit(key: string, client: SessionClient, grant: SessionGrant | undefined): Promise<boolean> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ key }, atMs);
      if (row === undefined) return false;
      this.#touch(row, atMs);
      this.#sql.exec(
        "INSERT OR REPLACE INTO session_clients (sid, client_id, subject, consented) VALUES (?, ?, ?, ?)",
        row.sid,
        client.clientId,
        client.subject,
        JSON.stringify(client.consented),
      );
      if (grant !== undefined) this.#addGrant(row.sid, client.clientId, grant);
      return true;
    });
  }

  async read(key: string): Promise<SessionContents | undefined> {
    const row = this.#alive({ key }, nowMs());
    return row && { session: toSession(row), clients: this.#clients(row.sid) };
  }

  async end(by: { readonly key: string } | { readonly sid: string }, reason: string): Promise<Session | undefined> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive(by, atMs);
      if (row === undefined) return undefined;
      for (const client of this.#clients(row.sid)) this.#dismiss(row, client, atMs);
      this.#sql.exec("DELETE FROM sessions WHERE sid = ?", row.sid);
      const session = toSession(row);
      this.#event("session.ended", session, atMs, reason);
      return session;
    });
  }

  async dismissClient(sid: string, clientId: string, reason: string): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ sid }, atMs);
      const client = this.#client(sid, clientId);
      if (row === undefined || client === undefined) return;
      this.#dismiss(row, client, atMs);
      this.#event("session.client-dismissed", { ...toSession(row), clientId }, atMs, reason);
    });
  }

  async reserveAttempt(key: string, limit: AttemptLimit): Promise<AttemptOutcome> {
    return this.#attempts.reserve(key, limit, nowMs());
  }

  async refundAttempt(key: string, limit: AttemptLimit): Promise<void> {
    this.#attempts.refund(key, limit, nowMs());
  }

  override async alarm(): Promise<void> {
    await this.#alarms.run([
      (atMs) => this.#sweep(atMs),
      (atMs) => this.#attempts.sweep(atMs),
      (atMs) => this.#revocations.flush(atMs),
      (atMs) => this.#notices.send(atMs),
      (atMs) => this.#audit.flush(atMs),
    ]);
  }

  #row(by: { readonly key: string } | { readonly sid: string }): SessionRow | undefined {
    const found =
      "key" in by
        ? this.#sql.exec<SessionRow>("SELECT * FROM sessions WHERE key = ?", by.key)
        : this.#sql.exec<SessionRow>("SELECT * FROM sessions WHERE sid = ?", by.sid);
    return found.toArray()[0];
  }

  #alive(by: { readonly key: string } | { readonly sid: string }, atMs: number): SessionRow | undefined {
    const row = this.#row(by);
    return row !== undefined && isAlive(toTimes(row), atMs) ? row : undefined;
  }

  #insert(session: NewSession, atMs: number): void {
    const diesAt = diesAtMs({ seenAtMs: atMs, idleMs: session.idleMs, endsAtMs: session.endsAtMs });
    this.#sql.exec(
      "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      session.sid,
      session.key,
      session.sub,
      session.signedInAtMs,
      session.acr,
      JSON.stringify(session.amr),
      session.idleMs,
      atMs,
      session.endsAtMs,
      diesAt,
    );
    this.#alarms.wakeBy(diesAt + sweepEveryMs);
  }

  #touch(row: SessionRow, atMs: number): void {
    if (!isUseWorthRecording(toTimes(row), atMs)) return;
    const diesAt = diesAtMs({ ...toTimes(row), seenAtMs: atMs });
    this.#sql.exec("UPDATE sessions SET seen_at_ms = ?, dies_at_ms = ? WHERE sid = ?", atMs, diesAt, row.sid);
  }

  #client(sid: string, clientId: string): SessionClient | undefined {
    return this.#clients(sid, clientId)[0];
  }

  #clients(sid: string, clientId?: string): SessionClient[] {
    const rows = this.#sql.exec<{ client_id: string; subject: string; consented: string }>(
      `SELECT client_id, subject, consented FROM session_clients WHERE sid = ? ${clientId === undefined ? "" : "AND client_id = ?"}`,
      ...(clientId === undefined ? [sid] : [sid, clientId]),
    );
    return rows.toArray().map((row) => ({
      clientId: row.client_id,
      subject: row.subject,
      consented: JSON.parse(row.consented) as string[],
    }));
  }

  #addGrant(sid: string, clientId: string, { grantId, address, untilMs }: SessionGrant): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO session_grants (grant_id, sid, client_id, address, until_ms) VALUES (?, ?, ?, ?, ?)",
      grantId,
      sid,
      clientId,
      JSON.stringify(address),
      untilMs,
    );
  }

  /** The client is owed a notice, its grants their revocation, and both are forgotten here. */
  #dismiss({ sid, sub }: SessionRow, { clientId, subject }: SessionClient, atMs: number): void {
    this.#notices.add({ clientId, subject, sid, sub }, atMs);
    const grants = this.#sql.exec<{ grant_id: string; address: string; until_ms: number }>(
      "DELETE FROM session_grants WHERE sid = ? AND client_id = ? RETURNING grant_id, address, until_ms",
      sid,
      clientId,
    );
    for (const grant of grants.toArray()) {
      if (grant.until_ms <= atMs) continue;
      const address = JSON.parse(grant.address) as SessionGrant["address"];
      const untilMs = grant.until_ms;
      this.#revocations.add(
        { grant: { grantId: grant.grant_id, address }, clientId, reason: "session_ended", untilMs },
        atMs,
      );
    }
    this.#sql.exec("DELETE FROM session_clients WHERE sid = ? AND client_id = ?", sid, clientId);
  }

  #sweep(atMs: number): number | undefined {
    const dead = this.#sql
      .exec<{ sid: string }>("SELECT sid FROM sessions WHERE dies_at_ms <= ? LIMIT ?", atMs, sweptRows)
      .toArray();
    for (const { sid } of dead) {
      this.#sql.exec("DELETE FROM session_grants WHERE sid = ?", sid);
      this.#sql.exec("DELETE FROM session_clients WHERE sid = ?", sid);
      this.#sql.exec("DELETE FROM sessions WHERE sid = ?", sid);
    }
    this.#sql.exec(
      "DELETE FROM session_grants WHERE grant_id IN (SELECT grant_id FROM session_grants WHERE until_ms <= ? LIMIT ?)",
      atMs,
      sweptRows,
    );
    if (dead.length === sweptRows) return atMs;
    const { dies } = this.#sql.exec<{ dies: number | null }>("SELECT min(dies_at_ms) AS dies FROM sessions").one();
    return dies === null ? undefined : Math.max(dies, atMs) + sweepEveryMs;
  }

  #event(type: string, { sid, sub, ...rest }: Session & { clientId?: string }, atMs: number, reason?: string): void {
    const payload = { sid, sub, amr: rest.amr, clientId: rest.clientId, reason };
    this.#audit.append(
      { type, payload: Object.fromEntries(Object.entries(payload).filter(([, value]) => value)) },
      atMs,
    );
  }
}
