import type {
  AuditLogStatus,
  RefusalQuery,
  ReportResult,
  RequestReport,
  StoredRefusal,
} from "@edge-op/shared/audit/audit-log-rpc";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import { type AlarmTask, reportSize } from "../wake/alarm-schedule.ts";
import { AdminEventCopier } from "./admin-event-copier.ts";
import { AuditChainWatch } from "./audit-chain-watch.ts";
import type { AuditBindings, AuditOutbox } from "./audit-outbox.ts";
import { IssuedTokens, ReportPace } from "./issued-tokens.ts";
import { RecentRefusals } from "./recent-refusals.ts";

export type AuditWorkEnv = SettingsVariables &
  AuditBindings & { readonly DB: D1Database; readonly AUDIT_EXPORT?: R2Bucket | undefined };

/** The time between two rounds while the deployment is used; also the longest time that a row of `admin_events` waits if its Worker failed. */
const keepEveryMs = 300_000;
const nextBatchMs = 1_000;
const archive = onFirstUse(() => import("./audit-archive.ts"));
const retention = onFirstUse(() => import("./audit-retention.ts"));
/** An isolate of a busy deployment reports at this interval at most, and counts what it cannot hold in between. */
const busyPauseMs = 5_000;
/** The time between two rounds otherwise. */
const dayMs = 86_400_000;

/**
 * **Keeps the audit log** (ADR 35), by the alarm of `ControlPlane`: copies `admin_events` into the chain, watches the end of the chain,
 * seals old events and applies the retention. Each task is bounded, and repeating one after a crash changes
 * nothing. Its events are in the outbox of the object.
 *
 *   audit_keeping(id, due_ms)     one row: when the log is next kept
 */
export class AuditWork {
  readonly #sql: SqlStorage;
  readonly #env: AuditWorkEnv;
  readonly #outbox: AuditOutbox;
  readonly #copier: AdminEventCopier;
  readonly #watch: AuditChainWatch;
  readonly #issued: IssuedTokens;
  readonly #refusals: RecentRefusals;
  readonly #pace = new ReportPace();
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** When the next round is due; `undefined`: not read from storage yet. */
  #dueMs: number | undefined;
  /** Whether D1 may have rows that are not copied. If this instance is lost, the next round copies them. */
  #hasRows = false;
  #sizedAtMs = Number.NEGATIVE_INFINITY;

  /** `announce`: announces the newest changes of D1. */
  constructor(storage: DurableObjectStorage, env: AuditWorkEnv, outbox: AuditOutbox, announce: () => Promise<unknown>) {
    this.#sql = storage.sql;
    this.#env = env;
    this.#outbox = outbox;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS audit_keeping (id INTEGER PRIMARY KEY CHECK (id = 1), due_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO audit_keeping VALUES (1, 0);
      DROP TABLE IF EXISTS audit_exports;`);
    this.#copier = new AdminEventCopier(storage, env.DB, outbox, announce);
    this.#watch = new AuditChainWatch(storage, env.AUDIT_DB, outbox);
    this.#issued = new IssuedTokens(storage, outbox, () => readSettings(env).auditTokensPerMinute);
    this.#refusals = new RecentRefusals(storage);
  }

  /** The tasks for the object's alarm. */
  readonly tasks: readonly AlarmTask[] = [
    (atMs) => this.#runCopier(atMs),
    (atMs, passedMs) => this.#keep(atMs, passedMs),
    (atMs, passedMs) => this.#refusals.sweep(atMs, passedMs),
  ];

  /**
   * A shard follows the control log, which it does before it decides anything. Returns when the next round is due, if that is earlier than it was.
   */
  noteUse(atMs: number): number | undefined {
    this.#usedAtMs = atMs;
    this.#dueMs ??= this.#storedDueMs();
    if (this.#dueMs <= atMs + keepEveryMs) return undefined;
    return this.#setDue(atMs + keepEveryMs);
  }

  /** A change in D1 has a row for the audit log. */
  wakeCopier(): void {
    this.#hasRows = true;
  }

  /** D1 was restored: to be called before its changes are announced. */
  holdLost(atMs: number): Promise<void> {
    return this.#copier.rewindIfSetBack(atMs);
  }

  /** `dueMs`: when the alarm is needed. {@link ReportPace} bounds the number of reports. */
  report({ tokens, omittedTokens, refusals, omittedRefusals }: RequestReport): ReportResult & { dueMs?: number } {
    const atMs = nowMs();
    const hasManyTokens = tokens.length + omittedTokens > 0 && this.#issued.record(tokens, omittedTokens, atMs);
    const { isBusy, dueMs } = this.#refusals.record(refusals, omittedRefusals, atMs);
    const pauseMs = Math.max(hasManyTokens || isBusy ? busyPauseMs : 0, this.#pace.nextPlaceMs(atMs));
    return { pauseMs, ...(dueMs === undefined ? {} : { dueMs }) };
  }

  refusals(query: RefusalQuery): readonly StoredRefusal[] {
    return this.#refusals.list(query);
  }

  status(): AuditLogStatus {
    const { position, epoch } = this.#watch.known;
    return {
      relayedSeq: this.#copier.cursor.seq,
      oldestUnconfirmedAtMs: this.#outbox.oldestUnconfirmedAtMs(),
      position,
      setBacks: epoch,
    };
  }

  async #runCopier(atMs: number): Promise<number | undefined> {
    if (!this.#hasRows) return undefined;
    this.#hasRows = false;
    try {
      const again = await this.#copier.run(atMs);
      this.#hasRows ||= again !== undefined;
      return again;
    } catch (cause) {
      this.#hasRows = true;
      throw cause;
    }
  }

  async #keep(atMs: number, passedMs: number): Promise<number> {
    if (!this.isDue(atMs)) return this.#storedDueMs();
    const { AUDIT_DB, AUDIT_EXPORT } = this.#env;
    const isCopying = (await this.#copier.run(atMs)) !== undefined;
    await this.#watch.look(atMs);
    const { auditRetentionDays: retentionDays, auditRecentDays: recentDays } = readSettings(this.#env);
    const { epoch } = this.#watch.known;
    const isSweeping =
      AUDIT_EXPORT === undefined
        ? await (await retention()).sweepAuditLog(AUDIT_DB, passedMs - retentionDays * dayMs)
        : await new (await archive()).AuditArchive(AUDIT_DB, AUDIT_EXPORT).run(passedMs, {
            epoch,
            recentDays,
            retentionDays,
          });
    await this.#copier.sweep(passedMs);
    await this.#reportSize(atMs);
    const hasMore = isCopying || isSweeping;
    return this.#setDue(atMs + (hasMore ? nextBatchMs : this.#isInUse(atMs) ? keepEveryMs : dayMs));
  }

  #isInUse(atMs: number): boolean {
    return Math.abs(atMs - this.#usedAtMs) < keepEveryMs;
  }

  /** Whether a round is due. */
  isDue(atMs: number): boolean {
    const due = this.#storedDueMs();
    return atMs >= due || due > atMs + dayMs;
  }

  #storedDueMs(): number {
    return this.#sql.exec<{ due: number }>("SELECT due_ms AS due FROM audit_keeping").one().due;
  }

  #setDue(dueMs: number): number {
    this.#sql.exec("UPDATE audit_keeping SET due_ms = ?", dueMs);
    this.#dueMs = dueMs;
    return dueMs;
  }

  async #reportSize(atMs: number): Promise<void> {
    if (Math.abs(atMs - this.#sizedAtMs) < dayMs) return;
    this.#sizedAtMs = atMs;
    const { AUDIT_DB } = this.#env;
    reportSize("AUDIT_DB", await queryAuditDatabase(() => AUDIT_DB.prepare("SELECT 1").run()));
  }
}
