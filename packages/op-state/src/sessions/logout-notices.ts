import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import { loadClient } from "@edge-op/shared/clients/stored-clients";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { ControlView } from "@edge-op/shared/control/control-view";
import { fetchClientUrl } from "@edge-op/shared/http/fetch-client-url";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { type KeyBindings, KeyRing } from "@edge-op/shared/keys/key-ring";
import { log } from "@edge-op/shared/runtime/log";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { AlarmSchedule } from "../wake/alarm-schedule.ts";

export type LogoutBindings = SettingsVariables & KeyBindings;

/** The client to notify, the ended session, and the client's `sub` of the session's user. */
interface LogoutNotice {
  readonly clientId: string;
  readonly subject: string;
  readonly sid: string;
  /** The session's user. */
  readonly sub: string;
  /** When the client was registered; absent if its metadata document was not stored. */
  readonly registeredAtMs?: number;
}

const isLogoutNotice = objectOf<LogoutNotice>({ clientId: isText, subject: isText, sid: isText, sub: isText });

interface NoticeRow extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly notice: string;
  readonly tries: number;
  readonly created_at_ms: number;
}

const noticesPerAlarm = 20;
const logoutTokenLifetimeSeconds = 120;

/**
 * **The pending back-channel logout notices.** A notice is written in the transaction that ends the session, and deleted when its
 * client has acknowledged it, or after a day.
 *
 *   logout_notices(id, notice JSON, tries, created_at_ms, due_at_ms)
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html#BCRequest
 */
export class LogoutNotices {
  readonly #sql: SqlStorage;
  readonly #ctx: DurableObjectState;
  readonly #env: LogoutBindings;
  readonly #alarms: AlarmSchedule;

  constructor(ctx: DurableObjectState, env: LogoutBindings, alarms: AlarmSchedule) {
    this.#ctx = ctx;
    this.#sql = ctx.storage.sql;
    this.#env = env;
    this.#alarms = alarms;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS logout_notices (
        id INTEGER PRIMARY KEY, notice TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
        created_at_ms INTEGER NOT NULL, due_at_ms INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS logout_notices_due ON logout_notices (due_at_ms);`);
  }

  /** Synchronous: call it in the transaction that ends the session. */
  add(notice: LogoutNotice, nowMs: number): void {
    this.#sql.exec(
      "INSERT INTO logout_notices (notice, created_at_ms, due_at_ms) VALUES (?, ?, ?)",
      JSON.stringify(notice),
      nowMs,
      nowMs,
    );
    this.#alarms.wakeBy(nowMs);
  }

  /** When the next notice is due. */
  dueMs(): number | undefined {
    return (
      this.#sql.exec<{ due: number | null }>("SELECT min(due_at_ms) AS due FROM logout_notices").one().due ?? undefined
    );
  }

  /** A background task of the alarm, because a client's endpoint may be slow. Sends all due notices concurrently. Returns when it is next due. */
  async send(nowMs: number): Promise<number | undefined> {
    const due = this.#sql
      .exec<NoticeRow>(
        "SELECT * FROM logout_notices WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT ?",
        nowMs,
        noticesPerAlarm,
      )
      .toArray();
    if (due.length > 0) {
      const request = new Request(this.#env.ISSUER);
      const context = createRequestContext(request, this.#env, this.#ctx);
      // This object receives no control version, and KV may still contain a revoked key, so KeyManager itself is called.
      const keyRing = new KeyRing(new ControlView());
      const isCurrent = await keyRing.reload(context);
      await Promise.all(due.map((row) => this.#try(context, isCurrent ? keyRing : undefined, row, nowMs)));
    }
    return this.dueMs();
  }

  /** Without keys the attempt counts as failed. */
  async #try(
    context: RequestContext<LogoutBindings>,
    keyRing: KeyRing | undefined,
    row: NoticeRow,
    nowMs: number,
  ): Promise<void> {
    const notice = readStored("logout notice", row.notice, isLogoutNotice);
    const problem =
      keyRing === undefined ? "KeyManager did not respond" : await this.#attempt(context, keyRing, notice, row.id);
    if (problem === undefined) {
      this.#sql.exec("DELETE FROM logout_notices WHERE id = ?", row.id);
      return;
    }
    const nextMs = nextTryMs(row.tries, nowMs);
    const final = nextMs >= givesUpAtMs(row.created_at_ms);
    const event = final ? "logout-notice-abandoned" : "logout-notice-failed";
    log(event, { clientId: notice.clientId, tries: row.tries + 1, problem });
    if (final) this.#sql.exec("DELETE FROM logout_notices WHERE id = ?", row.id);
    else this.#sql.exec("UPDATE logout_notices SET tries = tries + 1, due_at_ms = ? WHERE id = ?", nextMs, row.id);
  }

  /** Returns the reason of a failure, or `undefined`. A client may be notified twice, but at least once within the retries. */
  async #attempt(
    context: RequestContext<LogoutBindings>,
    keyRing: KeyRing,
    notice: LogoutNotice,
    id: number,
  ): Promise<string | undefined> {
    try {
      return await this.#notify(context, keyRing, notice, id);
    } catch (cause) {
      return String(cause);
    }
  }

  async #notify(
    context: RequestContext<LogoutBindings>,
    keyRing: KeyRing,
    notice: LogoutNotice,
    id: number,
  ): Promise<string | undefined> {
    const { clientId, subject } = notice;
    const client = await queryDatabase(() => loadClient(this.#env.DB, clientId));
    const uri = client?.metadata.backchannel_logout_uri;
    if (client === undefined || uri === undefined) return undefined;
    // Another client has this id now; the session was not one of its own.
    if (notice.registeredAtMs !== undefined && notice.registeredAtMs !== client.createdAtMs) return undefined;
    const sid = await sectorSessionId(this.#env, notice, subject);
    const issuedAt = toSeconds(context.arrivedAtMs);
    const { settings } = context;
    const { id_token_signed_response_alg: registered } = client.metadata;
    const token = await keyRing.sign(context, {
      alg: signatureFor(settings, client, registered, settings.idTokenAlgorithm),
      typ: "logout+jwt",
      claims: {
        iss: context.settings.issuer,
        aud: clientId,
        iat: issuedAt,
        exp: issuedAt + logoutTokenLifetimeSeconds,
        // The same for every attempt, so that a receiver detects a repetition.
        jti: `${sid}.${id}`,
        sub: subject,
        sid,
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      },
    });
    const result = await fetchClientUrl(uri, context.settings.issuer, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ logout_token: token }).toString(),
    });
    if (result.kind !== "response") return result.reason;
    return isDelivered(result.status) ? undefined : `status ${result.status}`;
  }
}

/**
 * **The retry schedule of back-channel logout**: increasing delays, for a day. Pure.
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html#BCResponse
 */
const delaysMs = [1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000] as const;

const patienceMs = 24 * 3_600_000;

function nextTryMs(triesBefore: number, nowMs: number): number {
  return nowMs + delaysMs[Math.min(triesBefore, delaysMs.length - 1)]!;
}

function givesUpAtMs(createdAtMs: number): number {
  return createdAtMs + patienceMs;
}

/** 200 and 204 acknowledge the token. 400 means that the client cannot process it, and sending it again would not help. */
function isDelivered(status: number): boolean {
  return (status >= 200 && status < 300) || status === 400;
}
