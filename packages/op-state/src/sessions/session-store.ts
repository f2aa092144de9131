import { authenticationOf } from "@edge-op/protocol/oauth/authentication-context";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { EventOrigin } from "@edge-op/shared/audit/audit-event";
import type { GrantRevocation } from "@edge-op/shared/grants/grant-revocation";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import type {
  AttemptLane,
  AttemptResult,
  EndedSession,
  NewSession,
  Opening,
  OpenResult,
  RefusedSignIn,
  Session,
  SessionAdmission,
  SessionClient,
  SessionContents,
  SessionGrant,
  SessionStoreRpc,
  SessionUse,
} from "@edge-op/shared/sessions/session-rpc";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type AuditBindings, AuditOutbox } from "../audit/audit-outbox.ts";
import { type GrantRevocationBindings, GrantRevocations } from "../revocation/grant-revocations.ts";
import { AlarmSchedule, type AlarmTask } from "../wake/alarm-schedule.ts";
import { FactsObject, Fence } from "../wake/state-object.ts";
import { type LogoutBindings, LogoutNotices } from "./logout-notices.ts";
import { SessionClients } from "./session-clients.ts";
import { isAlive, type SessionName, type SessionRow, SessionRows, toSession, toTimes } from "./session-row.ts";
import { SignInAttempts } from "./sign-in-attempts.ts";
import { SpentNames } from "./spent-names.ts";

export type SessionStoreEnv = LogoutBindings & GrantRevocationBindings & AuditBindings;

const sweptSessions = 200;
const sweptGrants = 1_000;
/** An expired session is refused at once. Its grants end within this time; one alarm sweeps many sessions. */
const sweepEveryMs = 60_000;
/** Longer than a request that opens a session, or that has used one, can be under way. */
const openingMs = 5 * 60_000;

const flowKey = (fid: string) => `flow ${fid}`;
const sidKey = (sid: string) => `sid ${sid}`;
const dismissalKey = (sid: string) => `dismissed ${sid}`;

/**
 * **A shard of sessions.** A session ends by logout, or when a sweep finds it after its idle or absolute end (session-row.ts). In the same
 * transaction its grants are handed to grant-revocations.ts and, on logout, its clients to logout-notices.ts. Its row is deleted when none of its
 * grants is due any more; until then, a repeated logout finds them.
 */
export class SessionStore
  extends FactsObject<SessionStoreEnv>
  implements Omit<SessionStoreRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #rows: SessionRows;
  readonly #alarms: AlarmSchedule;
  readonly #audit: AuditOutbox;
  readonly #fence: Fence;
  readonly #notices: LogoutNotices;
  readonly #revocations: GrantRevocations;
  readonly #clients: SessionClients;
  readonly #attempts: SignInAttempts;
  readonly #spent: SpentNames;
  readonly #notify: AlarmTask;

  constructor(ctx: DurableObjectState, env: SessionStoreEnv) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#rows = new SessionRows(sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#audit = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#fence = new Fence(sql);
    this.#notices = new LogoutNotices(ctx, env, this.#alarms);
    this.#revocations = new GrantRevocations(ctx, env, this.#alarms);
    this.#clients = new SessionClients(sql, this.#notices, this.#revocations);
    this.#attempts = new SignInAttempts(ctx, this.#alarms);
    this.#spent = new SpentNames(sql, this.#alarms);
    this.#notify = this.#alarms.inBackground(
      () => this.#notices.dueMs(),
      (atMs) => this.#notices.send(atMs),
    );
  }

  async open({ session, replaces, flow, admitted }: Opening, origin?: EventOrigin): Promise<OpenResult> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      if (this.#rows.find({ key: session.key }) !== undefined) return "opened";
      if (flow !== undefined && this.#spent.has(flowKey(flow.fid), atMs)) return "spent";
      if (this.#spent.has(sidKey(session.sid), atMs)) return "gone";
      if (admitted !== undefined && this.#isLate(session.sid, admitted, atMs)) return "gone";
      if (replaces !== undefined) {
        const old = this.#alive({ key: replaces }, atMs);
        if (old === undefined || old.sub !== session.sub || old.sid !== session.sid) return "gone";
        this.#rows.delete(old.sid);
      }
      if (flow !== undefined) this.#spent.add(flowKey(flow.fid), flow.untilMs);
      this.#insert(session, atMs);
      if (admitted !== undefined) this.#admit(session.sid, admitted, atMs);
      this.#event("sign-in.succeeded", session, atMs, {
        ...origin,
        ...(replaces === undefined ? {} : { renewed: true }),
      });
      return "opened";
    });
  }

  async use(key: string, clientId: string, grant: SessionGrant | undefined): Promise<SessionUse | undefined> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ key }, atMs);
      if (row === undefined) return undefined;
      this.#rows.touch(row, atMs);
      const client = this.#clients.find(row.sid, clientId);
      if (client !== undefined && grant !== undefined) this.#clients.addGrant(row.sid, clientId, grant);
      return { session: toSession(row), client, dismissal: this.#dismissal(row.sid, atMs) };
    });
  }

  async admit(
    key: string,
    client: SessionClient,
    grant: SessionGrant | undefined,
    dismissal?: number,
  ): Promise<boolean> {
    const atMs = nowMs();
    const admitted = { client, grant, dismissal };
    return this.ctx.storage.transactionSync(() => {
      const row = this.#alive({ key }, atMs);
      if (row === undefined || this.#isLate(row.sid, admitted, atMs)) return false;
      this.#rows.touch(row, atMs);
      this.#admit(row.sid, admitted, atMs);
      return true;
    });
  }

  async read(key: string): Promise<SessionContents | undefined> {
    const atMs = nowMs();
    const row = this.#alive({ key }, atMs);
    if (row === undefined) return undefined;
    return {
      session: toSession(row),
      clients: this.#clients.list(row.sid),
      dismissal: this.#dismissal(row.sid, atMs),
    };
  }

  async end(by: SessionName, reason: string, origin?: EventOrigin): Promise<EndedSession | undefined> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      this.#fence.pass();
      // An expired session that was not swept yet still has clients and grants.
      const row = this.#rows.find(by);
      if (row === undefined) {
        if ("sid" in by) this.#spent.add(sidKey(by.sid), atMs + openingMs);
        return undefined;
      }
      const session = toSession(row);
      if (row.ended_at_ms === null) {
        this.#clients.dismissAll(row, atMs);
        this.#rows.end(row.sid, atMs, atMs);
        this.#alarms.wakeBy(atMs + sweepEveryMs);
        this.#event("session.ended", session, atMs, { ...origin, reason });
      }
      return { session, clients: this.#clients.list(row.sid), due: this.#revocations.ofSession(row.sid) };
    });
  }

  async dismissClient(
    sid: string,
    clientId: string,
    reason: string,
    origin?: EventOrigin,
  ): Promise<readonly GrantRevocation[]> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      this.#fence.pass();
      const row = this.#rows.find({ sid });
      const client = this.#clients.find(sid, clientId);
      this.#spent.add(dismissalKey(sid), Math.max(atMs + openingMs, this.#dismissal(sid, atMs) + 1));
      if (row?.ended_at_ms === null && client !== undefined) {
        this.#clients.dismiss(row, client, atMs);
        this.#event("session.client-dismissed", toSession(row), atMs, { ...origin, clientId, reason });
      }
      return this.#revocations.ofSession(sid, clientId);
    });
  }

  async acknowledgeRevoked(
    sid: string,
    clientId: string | undefined,
    grantIds: readonly string[],
  ): Promise<readonly GrantRevocation[]> {
    this.#fence.pass();
    this.#revocations.acknowledge(grantIds);
    return this.#revocations.ofSession(sid, clientId);
  }

  async reserveAttempt(lanes: readonly AttemptLane[]): Promise<AttemptResult> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => this.#attempts.reserve(lanes, atMs));
  }

  async recordThrottledSignIn(key: string, throttled: RefusedSignIn): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      if (this.#attempts.isReportDue(key, atMs)) this.#appendDefined("sign-in.throttled", { ...throttled }, atMs);
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
        (_, passedMs) => this.#spent.sweep(passedMs),
        this.#notify,
        (atMs, passedMs) => this.#revocations.flush(atMs, passedMs),
        (atMs) => this.#audit.flush(atMs),
      ],
      info,
    );
  }

  #alive(by: SessionName, atMs: number): SessionRow | undefined {
    const row = this.#rows.find(by);
    // A forged key costs no write.
    if (row !== undefined) this.#fence.pass();
    return row?.ended_at_ms === null && isAlive(toTimes(row), atMs) ? row : undefined;
  }

  /** The last dismissal in the session that a request under way may not know; each has a greater number than the one before. */
  #dismissal(sid: string, atMs: number): number {
    return this.#spent.untilMs(dismissalKey(sid), atMs) ?? 0;
  }

  /** Whether a client was dismissed after the decision had read the session, and maybe the consent: that one would come back. */
  #isLate(sid: string, { dismissal }: SessionAdmission, atMs: number): boolean {
    return dismissal !== undefined && this.#dismissal(sid, atMs) > dismissal;
  }

  #admit(sid: string, { client, grant, dismissal }: SessionAdmission, atMs: number): void {
    // The previous release does not say when it read the consent. D1 has it, if it is in force.
    const isUnknown = dismissal === undefined && this.#dismissal(sid, atMs) > 0;
    this.#clients.put(sid, isUnknown ? { ...client, consented: [] } : client);
    if (grant !== undefined) this.#clients.addGrant(sid, client.clientId, grant);
  }

  #insert(session: NewSession, atMs: number): void {
    this.#alarms.wakeBy(this.#rows.insert(session, atMs) + sweepEveryMs);
  }

  async #sweep(atMs: number): Promise<number | undefined> {
    const { ended, nextMs } = this.#endExpired(atMs);
    if (ended.length > 0) await this.#unlist(ended);
    return nextMs;
  }

  /**
   * Removes expired sessions from the list in D1. If D1 does not respond, they stay listed until their absolute end, when a daily sweep deletes the
   * rows.
   */
  async #unlist(sids: readonly string[]): Promise<void> {
    const remove = peopleOf(this.env.DB).prepare(
      "DELETE FROM user_sessions WHERE sid IN (SELECT value FROM json_each(?1))",
    );
    try {
      await queryDatabase(() => remove.bind(JSON.stringify(sids)).run());
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("sessions-still-listed", { sessions: sids.length, cause: String(error.cause) });
    }
  }

  /** Bounded by sessions and by grants, so that a session with many silent sign-ins is ended by several alarms. */
  #endExpired(atMs: number): { readonly ended: readonly string[]; readonly nextMs: number | undefined } {
    return this.ctx.storage.transactionSync(() => {
      const ended: string[] = [];
      const dead = this.#rows.dying(atMs, sweptSessions);
      let grants = sweptGrants;
      for (const row of dead) {
        grants -= this.#clients.expire(row.sid, grants, atMs);
        if (grants <= 0) return { ended, nextMs: atMs };
        if (row.ended_at_ms === null) this.#event("session.ended", toSession(row), atMs, { reason: "expired" });
        if (this.#forget(row, atMs)) ended.push(row.sid);
      }
      const sweptOnes = this.#clients.sweep(sweptGrants, atMs);
      if (dead.length === sweptSessions || sweptOnes === sweptGrants) return { ended, nextMs: atMs };
      const dies = this.#rows.nextDeathMs();
      return { ended, nextMs: dies === undefined ? undefined : Math.max(dies, atMs) + sweepEveryMs };
    });
  }

  /** Returns false while grants of the session are due, because a repeated logout finds them by its row. */
  #forget({ sid }: SessionRow, atMs: number): boolean {
    if (this.#revocations.ofSession(sid).length > 0) {
      this.#rows.end(sid, atMs, atMs + sweepEveryMs);
      return false;
    }
    this.#clients.forget(sid);
    this.#rows.delete(sid);
    return true;
  }

  #event(
    type: string,
    { sid, sub, proofs }: Session,
    atMs: number,
    more: EventOrigin & { reason?: string; renewed?: true },
  ) {
    this.#appendDefined(
      type,
      { sid, sub, amr: proofs.length === 0 ? [] : authenticationOf(proofs).amr, ...more },
      atMs,
    );
  }

  #appendDefined(type: string, payload: Readonly<Record<string, unknown>>, atMs: number): void {
    this.#audit.append(
      { type, payload: Object.fromEntries(Object.entries(payload).filter(([, value]) => value)) },
      atMs,
    );
  }
}
