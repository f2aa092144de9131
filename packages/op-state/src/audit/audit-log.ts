import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import {
  type AuditLogRpc,
  type AuditLogStatus,
  auditLogName,
  type IssuedToken,
  type IssuedTokensResult,
} from "@edge-op/shared/objects/audit-log";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { FactsObject } from "../facts/facts-object.ts";
import { AlarmSchedule } from "../outbox/alarm-schedule.ts";
import { type AuditBindings, AuditOutbox } from "../outbox/audit-outbox.ts";
import { AdminEventRelay } from "./admin-event-relay.ts";
import { AuditChainWatch } from "./audit-chain-watch.ts";
import { AuditExport } from "./audit-export.ts";
import { sweepAuditLog } from "./audit-retention.ts";
import { IssuedTokens } from "./issued-tokens.ts";
import { moveEarlierLog } from "./move-earlier-log.ts";

type AuditLogEnv = SettingsVariables &
  AuditBindings & { readonly DB: D1Database; readonly AUDIT_EXPORT?: R2Bucket | undefined };

/** Between two rounds of keeping; also the longest time that a row of `admin_events` waits whose Worker died. */
const keepEveryMs = 300_000;
const nextBatchMs = 1_000;
const dayMs = 86_400_000;

/**
 * **Keeps the audit log** (ADR 35), by alarm: copies `admin_events` into the chain, watches the end of the chain, moves the log of
 * earlier releases, exports and applies the retention. Each task is bounded, and repeating one after a crash changes nothing. Its own
 * events are a shard of the chain like those of every object.
 *
 *   audit_keeping(id, due_ms)     one row: when the log is next kept
 */
export class AuditLog extends FactsObject<AuditLogEnv> implements Omit<AuditLogRpc, keyof Rpc.DurableObjectBranded> {
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #relay: AdminEventRelay;
  readonly #watch: AuditChainWatch;
  readonly #export: AuditExport;
  readonly #issued: IssuedTokens;

  constructor(ctx: DurableObjectState, env: AuditLogEnv) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS audit_keeping (id INTEGER PRIMARY KEY CHECK (id = 1), due_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO audit_keeping VALUES (1, 0);`);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, auditLogName, this.#alarms);
    this.#relay = new AdminEventRelay(ctx.storage, env.DB, this.#outbox);
    this.#watch = new AuditChainWatch(ctx.storage, env.AUDIT_DB, this.#outbox);
    this.#export = new AuditExport(ctx.storage, env.AUDIT_DB, env.AUDIT_EXPORT);
    this.#issued = new IssuedTokens(ctx.storage, this.#outbox, () => readSettings(env).auditTokensPerMinute);
  }

  async wake(): Promise<void> {
    this.#alarms.wakeBy(nowMs());
  }

  async recordIssued(tokens: readonly IssuedToken[], omitted: number): Promise<IssuedTokensResult> {
    return this.#issued.record(tokens, omitted, nowMs());
  }

  async status(): Promise<AuditLogStatus> {
    const { position, epoch } = this.#watch.known;
    return {
      relayedSeq: this.#relay.cursor.seq,
      oldestUnconfirmedAtMs: this.#outbox.oldestUnconfirmedAtMs(),
      position,
      exportedPosition: this.#export.position,
      setBacks: epoch,
    };
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [
        (atMs) => this.#relay.run(atMs),
        (atMs, passedMs) => this.#keep(atMs, passedMs),
        (atMs) => this.#outbox.flush(atMs),
      ],
      info,
    );
  }

  async #keep(atMs: number, passedMs: number): Promise<number> {
    const { due } = this.#sql.exec<{ due: number }>("SELECT due_ms AS due FROM audit_keeping").one();
    if (atMs < due && due <= atMs + keepEveryMs) return due;
    const { DB, AUDIT_DB } = this.env;
    if (await this.#watch.look(atMs)) await this.#export.rewind();
    const isMoving = await moveEarlierLog({ DB, AUDIT_DB }, atMs);
    const isExporting = await this.#export.run(atMs, this.#watch.known.epoch);
    const beforeMs = passedMs - readSettings(this.env).auditRetentionDays * dayMs;
    const isSweeping = await sweepAuditLog(AUDIT_DB, beforeMs, this.#export.position);
    await this.#relay.sweep(passedMs);
    const next = atMs + (isMoving || isExporting || isSweeping ? nextBatchMs : keepEveryMs);
    this.#sql.exec("UPDATE audit_keeping SET due_ms = ?", next);
    return next;
  }
}
