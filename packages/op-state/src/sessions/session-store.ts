import { queryDatabase } from "@edge-op/shared/cache/query-database";
import { UnavailableError } from "@edge-op/shared/oauth/errors";
import type {
  AttemptLane,
  AttemptResult,
  EventOrigin,
  NewSession,
  RefusedSignIn,
  Session,
  SessionClient,
  SessionContents,
  SessionGrant,
  SessionStoreRpc,
  SessionUse,
} from "@edge-op/shared/objects/session-store";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { SignInAttempts } from "../challenges/sign-in-attempts.ts";
import { FactsObject } from "../facts/facts-object.ts";
import { AlarmSchedule } from "../outbox/alarm-schedule.ts";
import { type AuditBindings, AuditOutbox } from "../outbox/audit-outbox.ts";
import { Fence } from "../outbox/fence.ts";
import { type GrantRevocationBindings, GrantRevocations } from "../outbox/grant-revocations.ts";
import { type LogoutBindings, LogoutNotices } from "./logout-notices.ts";
import { SessionClients } from "./session-clients.ts";
import { diesAtMs, isAlive, isUseWorthRecording } from "./session-machine.ts";
import { type SessionRow, toSession, toTimes } from "./session-row.ts";

export type SessionStoreEnv = LogoutBindings & GrantRevocationBindings & AuditBindings;

const sweptSessions = 200;
const sweptGrants = 1_000;
/** An expired session is refused at once. Its grants end within this, and one alarm sweeps many sessions. */
const sweepEveryMs = 60_000;

/**
 * **A shard of sessions.** A session's row is deleted at once by logout, or swept after its idle or absolute end
 * (session-machine.ts). In the same transaction its grants are handed to grant-revocations.ts and, on logout, its clients to
 * logout-notices.ts.
 *
 *   sessions(sid, key, sub, signed_in_at_ms, acr, amr, idle_ms, seen_at_ms, ends_at_ms, dies_at_ms); clients: session-clients.ts
 */
export class SessionStore
  extends FactsObject<SessionStoreEnv>
  implements Omit<SessionStoreRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #audit: AuditOutbox;
  readonly #fence: Fence;
  readonly #notices: LogoutNotices;
  readonly #revocations: GrantRevocations;
  readonly #clients: SessionClients;
  readonly #attempts: SignInAttempts;

  constructor(ctx: DurableObjectState, env: SessionStoreEnv) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS sessions (
        sid TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, sub TEXT NOT NULL, signed_in_at_ms INTEGER NOT NULL,
        acr TEXT NOT NULL, amr TEXT NOT NULL, idle_ms INTEGER NOT NULL, seen_at_ms INTEGER NOT NULL,
        ends_at_ms INTEGER NOT NULL, dies_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS sessions_dying ON sessions (dies_at_ms);`);
    this.#alarms = new AlarmSchedule(ctx);
    this.#audit = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#fence = new Fence(this.#sql);
    this.#notices = new LogoutNotices(ctx, env, this.#alarms);
    this.#revocations = new GrantRevocations(ctx, env, this.#alarms);
    this.#clients = new SessionClients(this.#sql, this.#notices, this.#revocations);
    this.#attempts = new SignInAttempts(ctx, this.#alarms);
  }

  async open(session: NewSession, origin?: EventOrigin): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      if (this.#row({ key: session.key }) !== undefined) return;
      this.#insert(session, atMs);
      this.#event("sign-in.succeeded", session, atMs, { ...origin });
    });
  }

  async renew(oldKey: string, session: NewSession, origin?: EventOrigin): Promise<boolean> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const old = this.#alive({ key: oldKey }, atMs);
      if (old === undefined || old.sub !== session.sub || old.sid !== session.sid) return false;
      this.#sql.exec("DELETE FROM sessions WHERE sid = ?", old.sid);
      this.#insert(session, atMs);
      this.#event("sign-in.succeeded", session, atMs, { ...origin, renewed: true });
      return true;
    });
  }

  async use(key: string, clientId: string, grant: SessionGrant | undefined): Promise<SessionUse | undefined> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ key }, atMs);
      if (row === undefined) return undefined;
      this.#touch(row, atMs);
      const client = this.#clients.find(row.sid, clientId);
      if (client !== undefined && grant !== undefined) this.#clients.addGrant(row.sid, clientId, grant);
      return { session: toSession(row), client };
    });
  }

  async admit(key: string, client: SessionClient, grant: SessionGrant | undefined): Promise<boolean> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ key }, atMs);
      if (row === undefined) return false;
      this.#touch(row, atMs);
      this.#clients.put(row.sid, client);
      if (grant !== undefined) this.#clients.addGrant(row.sid, client.clientId, grant);
      return true;
    });
  }

  async read(key: string): Promise<SessionContents | undefined> {
    const row = this.#alive({ key }, nowMs());
    return row && { session: toSession(row), clients: this.#clients.list(row.sid) };
  }

  async end(
    by: { readonly key: string } | { readonly sid: string },
    reason: string,
    origin?: EventOrigin,
  ): Promise<Session | undefined> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      this.#fence.pass();
      // An expired session that was not swept yet still has clients and grants.
      const row = this.#row(by);
      if (row === undefined) return undefined;
      for (const client of this.#clients.list(row.sid)) this.#clients.dismiss(row, client, atMs);
      this.#sql.exec("DELETE FROM sessions WHERE sid = ?", row.sid);
      const session = toSession(row);
      this.#event("session.ended", session, atMs, { ...origin, reason });
      return session;
    });
  }

  async dismissClient(sid: string, clientId: string, reason: string, origin?: EventOrigin): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      this.#fence.pass();
      const row = this.#row({ sid });
      const client = this.#clients.find(sid, clientId);
      if (row === undefined || client === undefined) return;
      this.#clients.dismiss(row, client, atMs);
      this.#event("session.client-dismissed", toSession(row), atMs, { ...origin, clientId, reason });
    });
  }

  async reserveAttempt(key: string, lanes: readonly AttemptLane[], throttled?: RefusedSignIn): Promise<AttemptResult> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const result = this.#attempts.reserve(lanes, atMs);
      const isRecorded = result.kind === "refused" && throttled !== undefined && this.#attempts.isReportDue(key, atMs);
      if (isRecorded) this.#appendDefined("sign-in.throttled", { ...throttled }, atMs);
      return result;
    });
  }

  async recordFailedSignIn(failed: RefusedSignIn): Promise<void> {
    this.#appendDefined("sign-in.failed", { ...failed }, nowMs());
  }

  async refundAttempt(lane: AttemptLane): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => this.#attempts.refund(lane, atMs));
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [
        (_, passedMs) => this.#sweep(passedMs),
        (_, passedMs) => this.#attempts.sweep(passedMs),
        (atMs, passedMs) => this.#revocations.flush(atMs, passedMs),
        (atMs) => this.#notices.send(atMs),
        (atMs) => this.#audit.flush(atMs),
      ],
      info,
    );
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
    // A forged key costs no write.
    if (row !== undefined) this.#fence.pass();
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

  async #sweep(atMs: number): Promise<number | undefined> {
    const { ended, nextMs } = this.#endExpired(atMs);
    if (ended.length > 0) await this.#unlist(ended);
    return nextMs;
  }

  /** Expired sessions are not listed any more. If D1 does not respond, they are until their absolute end: a daily sweep deletes the rows then. */
  async #unlist(sids: readonly string[]): Promise<void> {
    const remove = this.env.DB.prepare("DELETE FROM user_sessions WHERE sid IN (SELECT value FROM json_each(?1))");
    try {
      await queryDatabase(() => remove.bind(JSON.stringify(sids)).run());
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("sessions-still-listed", { sessions: sids.length, cause: String(error.cause) });
    }
  }

  /** Bounded by sessions and by grants: a session of many silent sign-ins is ended by several alarms. */
  #endExpired(atMs: number): { readonly ended: readonly string[]; readonly nextMs: number | undefined } {
    return this.ctx.storage.transactionSync(() => {
      const ended: string[] = [];
      const dead = this.#sql
        .exec<SessionRow>(
          "SELECT * FROM sessions WHERE dies_at_ms <= ? ORDER BY dies_at_ms LIMIT ?",
          atMs,
          sweptSessions,
        )
        .toArray();
      let grants = sweptGrants;
      for (const row of dead) {
        grants -= this.#clients.expire(row.sid, grants, atMs);
        if (grants <= 0) return { ended, nextMs: atMs };
        this.#sql.exec("DELETE FROM sessions WHERE sid = ?", row.sid);
        ended.push(row.sid);
        this.#event("session.ended", toSession(row), atMs, { reason: "expired" });
      }
      const sweptOnes = this.#clients.sweep(sweptGrants, atMs);
      if (dead.length === sweptSessions || sweptOnes === sweptGrants) return { ended, nextMs: atMs };
      const { dies } = this.#sql.exec<{ dies: number | null }>("SELECT min(dies_at_ms) AS dies FROM sessions").one();
      return { ended, nextMs: dies === null ? undefined : Math.max(dies, atMs) + sweepEveryMs };
    });
  }

  #event(
    type: string,
    { sid, sub, amr }: Session,
    atMs: number,
    more: EventOrigin & { reason?: string; renewed?: true },
  ) {
    this.#appendDefined(type, { sid, sub, amr, ...more }, atMs);
  }

  #appendDefined(type: string, payload: Readonly<Record<string, unknown>>, atMs: number): void {
    this.#audit.append(
      { type, payload: Object.fromEntries(Object.entries(payload).filter(([, value]) => value)) },
      atMs,
    );
  }
}
