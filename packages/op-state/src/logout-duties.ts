import { fetchClientUrl } from "@edge-op/shared/http/fetch-client-url";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { SettingsVariables } from "@edge-op/shared/http/settings";
import { type KeyBindings, KeyRing } from "@edge-op/shared/keys/key-ring";
import { toSeconds } from "@edge-op/shared/oauth/clock";
import { grantKey, type RevocationShard } from "@edge-op/shared/revocation/revocation-shard";
import { objectName } from "@edge-op/shared/sharding/shard-address";
import { loadClient } from "@edge-op/shared/storage/client-directory";
import { ControlView } from "@edge-op/shared/storage/control-view";
import type { SessionGrant } from "@edge-op/shared/storage/session-store";
import type { AlarmSchedule } from "./alarm-schedule.ts";
import { givesUpAtMs, isDelivered, nextTryMs } from "./logout-retry.ts";

export type LogoutBindings = SettingsVariables &
  KeyBindings & { readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard> };

/** What a client is told: whom it knew, in which session. */
interface Notice {
  readonly clientId: string;
  readonly subject: string;
  readonly sid: string;
}

type Duty =
  | { readonly kind: "notify"; readonly notice: Notice }
  | { readonly kind: "revoke"; readonly grant: SessionGrant };

interface DutyRow extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly duty: string;
  readonly tries: number;
  readonly created_at_ms: number;
}

const dutiesPerAlarm = 20;
const logoutTokenLifetimeSeconds = 120;

/**
 * **What is still to be done after a session ended**: clients to tell (back-channel logout) and grants to revoke. A duty is
 * written in the transaction that ends the session and dies when its receiver has acknowledged it, or gives up after a day.
 *
 *   logout_duties(id, duty JSON, tries, created_at_ms, due_at_ms)
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html#BCRequest
 */
export class LogoutDuties {
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
      CREATE TABLE IF NOT EXISTS logout_duties (
        id INTEGER PRIMARY KEY, duty TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
        created_at_ms INTEGER NOT NULL, due_at_ms INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS logout_duties_due ON logout_duties (due_at_ms);`);
  }

  /** Synchronous: call it in the transaction that ends the session. */
  add(duty: Duty, nowMs: number): void {
    this.#sql.exec(
      "INSERT INTO logout_duties (duty, created_at_ms, due_at_ms) VALUES (?, ?, ?)",
      JSON.stringify(duty),
      nowMs,
      nowMs,
    );
    this.#alarms.wakeBy(nowMs);
  }

  /** The alarm's task: tries what is due, all at once. Answers when it wants to run next. */
  async perform(nowMs: number): Promise<number | undefined> {
    const due = this.#sql
      .exec<DutyRow>(
        "SELECT * FROM logout_duties WHERE due_at_ms <= ? ORDER BY due_at_ms LIMIT ?",
        nowMs,
        dutiesPerAlarm,
      )
      .toArray();
    if (due.length > 0) {
      const request = new Request(this.#env.ISSUER);
      const context = createRequestContext(request, this.#env, this.#ctx);
      // A ring of its own each time: it has seen no control version, so it asks for the keys of now.
      const keyRing = new KeyRing(new ControlView());
      await Promise.all(due.map((row) => this.#try(context, keyRing, row, nowMs)));
    }
    const [next] = this.#sql.exec<{ due: number | null }>("SELECT min(due_at_ms) AS due FROM logout_duties").toArray();
    return next?.due ?? undefined;
  }

  async #try(context: RequestContext<LogoutBindings>, keyRing: KeyRing, row: DutyRow, nowMs: number): Promise<void> {
    const duty = JSON.parse(row.duty) as Duty;
    const problem = await this.#attempt(context, keyRing, duty, row);
    if (problem === undefined) {
      this.#sql.exec("DELETE FROM logout_duties WHERE id = ?", row.id);
      return;
    }
    const nextMs = nextTryMs(row.tries, nowMs);
    const final = nextMs >= givesUpAtMs(row.created_at_ms);
    const event = final ? "logout-duty-abandoned" : "logout-duty-failed";
    console.warn(JSON.stringify({ event, duty: duty.kind, tries: row.tries + 1, problem }));
    if (final) this.#sql.exec("DELETE FROM logout_duties WHERE id = ?", row.id);
    else this.#sql.exec("UPDATE logout_duties SET tries = tries + 1, due_at_ms = ? WHERE id = ?", nextMs, row.id);
  }

  /** What went wrong, or `undefined`. A duty may be done twice, never not at all. */
  async #attempt(
    context: RequestContext<LogoutBindings>,
    keyRing: KeyRing,
    duty: Duty,
    row: DutyRow,
  ): Promise<string | undefined> {
    try {
      if (duty.kind === "notify") return await this.#notify(context, keyRing, duty.notice, row.id);
      await this.#revoke(duty.grant);
      return undefined;
    } catch (cause) {
      return String(cause);
    }
  }

  async #notify(
    context: RequestContext<LogoutBindings>,
    keyRing: KeyRing,
    { clientId, subject, sid }: Notice,
    dutyId: number,
  ): Promise<string | undefined> {
    const client = await loadClient(this.#env.DB, clientId);
    const uri = client?.metadata.backchannel_logout_uri;
    if (client === undefined || uri === undefined) return undefined;
    const issuedAt = toSeconds(context.arrivedAtMs);
    const token = await keyRing.sign(context, {
      alg: client.metadata.id_token_signed_response_alg ?? context.settings.idTokenAlgorithm,
      typ: "logout+jwt",
      claims: {
        iss: context.settings.issuer,
        aud: clientId,
        iat: issuedAt,
        exp: issuedAt + logoutTokenLifetimeSeconds,
        // The same for every try, so that a receiver can tell a repetition.
        jti: `${sid}.${dutyId}`,
        sub: subject,
        sid,
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      },
    });
    const outcome = await fetchClientUrl(uri, context.settings.issuer, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ logout_token: token }).toString(),
    });
    if (outcome.kind === "failed") return outcome.reason;
    return isDelivered(outcome.status) ? undefined : `status ${outcome.status}`;
  }

  async #revoke({ grantId, address, untilMs }: SessionGrant): Promise<void> {
    const namespace = this.#env.TOKEN_REVOCATION_STORE;
    // The grant was placed by the generation table when it was made: its shard exists, and needs no location hint.
    const shard = namespace.get(namespace.idFromName(objectName("revocation", address)));
    const event = { type: "grant.revoked", payload: { grantId, reason: "session ended" } };
    await shard.revoke([{ key: grantKey(grantId), untilMs, operationId: `logout:${grantId}`, event }], false);
  }
}
