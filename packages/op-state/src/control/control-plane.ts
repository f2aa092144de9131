import type {
  AuditLogStatus,
  RefusalQuery,
  ReportResult,
  RequestReport,
  StoredRefusal,
} from "@edge-op/shared/audit/audit-log-rpc";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import type {
  CommittedCutOff,
  ControlLease,
  ControlPlaneRpc,
  CutOffIntent,
} from "@edge-op/shared/control/control-plane-rpc";
import type { RecordName } from "@edge-op/shared/http/request-context";
import type { MailBindings } from "@edge-op/shared/mail/tell-person";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { storedGenerations } from "@edge-op/shared/storage/generation-table";
import type { CacheBindings } from "@edge-op/shared/storage/kv-cache";
import { type ControlKind, everyId } from "@edge-op/shared/storage/record-kinds";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { AuditOutbox } from "../audit/audit-outbox.ts";
import { AuditWork, type AuditWorkEnv } from "../audit/audit-work.ts";
import { type BackupEnv, DatabaseBackup } from "../backup/database-backup.ts";
import { AnnouncedLog } from "../changes/announced-log.ts";
import { findCommitted, nextAnnouncement } from "../changes/change-log.ts";
import { type FollowerBindings, Followers } from "../changes/followers.ts";
import { RecordCopies } from "../changes/record-copies.ts";
import { UnfinishedWork } from "../changes/unfinished-work.ts";
import { type OrderedCutOff, resumeMs } from "../cut-offs/cut-off-ledger.ts";
import { type CutOffRequest, CutOffWork, committedBy } from "../cut-offs/cut-off-work.ts";
import { GenerationWork, type OpeningRequest } from "../generations/generation-work.ts";
import { OpenedGenerations } from "../generations/opened-generations.ts";
import { type SessionEndingBindings, SessionEndings } from "../sessions/session-endings.ts";
import { AlarmSchedule, type AlarmTask } from "../wake/alarm-schedule.ts";
import { FactsObject, Fence } from "../wake/state-object.ts";

type ControlPlaneEnv = SettingsVariables &
  MasterKeyBindings &
  CacheBindings &
  AuditWorkEnv &
  SessionEndingBindings &
  MailBindings &
  FollowerBindings &
  BackupEnv;

/** Overdue work is retried after this. */
const againMs = 5_000;
const sweepRows = 1_000;
/** Once a day. */
const sealing = onFirstUse(() => import("../sweeps/seal-secrets-again.ts"));
const databaseSweeps = onFirstUse(() => import("../sweeps/sweep-database.ts"));
const clientSweeps = onFirstUse(() => import("../sweeps/sweep-clients.ts"));
const userSweeps = onFirstUse(() => import("../sweeps/sweep-leaving-users.ts"));

/**
 * **Announces administrative changes, and gives shards leases on them**, so that a change waits only for shards that may vouch for an older version
 * ({@link Followers}). Unfinished work is in the ledger, and the alarm repeats it until it is finished: every step is idempotent.
 */
export class ControlPlane
  extends FactsObject<ControlPlaneEnv>
  implements Omit<ControlPlaneRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #ledger: UnfinishedWork;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #fence: Fence;
  readonly #log: AnnouncedLog;
  readonly #followers: Followers;
  readonly #cutOffs: CutOffWork;
  readonly #generations: GenerationWork;
  readonly #audit: AuditWork;
  readonly #endings: SessionEndings;
  readonly #copies: RecordCopies;
  readonly #backup: DatabaseBackup;

  constructor(ctx: DurableObjectState, env: ControlPlaneEnv) {
    super(ctx, env);
    this.#ledger = new UnfinishedWork(ctx.storage.sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, controlPlaneName, this.#alarms);
    this.#audit = new AuditWork(ctx.storage, env, this.#outbox, () => this.#announce([]));
    this.#fence = new Fence(ctx.storage.sql);
    this.#endings = new SessionEndings(ctx.storage.sql, env);
    this.#copies = new RecordCopies(ctx, env);
    this.#backup = new DatabaseBackup(ctx.storage.sql, env, (name, rows, atMs) => {
      this.#outbox.append({ type: "deployment.backed-up", payload: { name, rows } }, atMs);
      log("backed-up", { name, rows });
    });
    this.#log = new AnnouncedLog(ctx.storage.sql);
    this.#followers = new Followers(ctx, env, this.#log, this.#ledger, (atMs) => this.#alarms.wakeBy(atMs));
    this.#cutOffs = new CutOffWork({
      storage: ctx.storage,
      database: env.DB,
      ledger: this.#ledger.cutOffs,
      outbox: this.#outbox,
      endings: this.#endings,
      wakeBy: (atMs) => this.#alarms.wakeBy(atMs),
    });
    this.#generations = new GenerationWork({
      storage: ctx.storage,
      database: env.DB,
      ledger: this.#ledger,
      opened: new OpenedGenerations(ctx.storage.sql),
      outbox: this.#outbox,
      wakeForOpening: () => this.#alarms.wakeBy(nowMs() + resumeMs),
      publishNewest: () => this.#announce([], [{ kind: storedGenerations.kind, id: everyId }]),
    });
  }

  async begin(operationId: string, cutOff?: CutOffIntent): Promise<void> {
    this.#alarms.wakeBy(this.#ledger.addIntent(operationId, cutOff, nowMs()));
  }

  async follow(shard: string, since: number): Promise<ControlLease> {
    this.#noteUse();
    return this.#followers.give(shard, since);
  }

  async publish(
    operationId: string,
    committed?: CommittedCutOff,
    changed: readonly RecordName<ControlKind>[] = [],
  ): Promise<{ readonly cv: number }> {
    const intended = this.#ledger.findIntendedCutOff(operationId);
    const operations = intended === undefined ? [] : [await this.#cutOffs.order(operationId, intended, committed)];
    const cv = await this.#announce(operations, changed);
    this.#ledger.clearIntent(operationId);
    this.#cutOffs.finish(operations);
    return { cv };
  }

  async cutOff(request: CutOffRequest & { readonly operationId: string }): Promise<void> {
    const operation = await this.#cutOffs.order(request.operationId, request);
    if (operation.done) return;
    await this.#announce([operation]);
    this.#cutOffs.finish([operation]);
  }

  async openGeneration(request: OpeningRequest): Promise<{ readonly generation: number }> {
    return this.#generations.open(request);
  }

  async sealAgain(batches: number): Promise<Readonly<Record<string, number>>> {
    const { countSealedBefore, sealSecretsAgain } = await sealing();
    for (let done = 0; done < batches; done += 1) if (await sealSecretsAgain(this.env)) break;
    return countSealedBefore(this.env);
  }

  async backUp(): Promise<boolean> {
    const isBegun = this.#backup.begin(nowMs());
    if (isBegun) this.#alarms.wakeBy(nowMs());
    return isBegun;
  }

  async wakeAudit(): Promise<void> {
    this.#audit.wakeCopier();
    this.#noteUse();
    this.#alarms.wakeBy(nowMs());
  }

  #noteUse(): void {
    const due = this.#audit.noteUse(nowMs());
    if (due !== undefined) this.#alarms.wakeBy(due);
  }

  async report(report: RequestReport): Promise<ReportResult> {
    const { pauseMs, dueMs } = this.#audit.report(report);
    if (dueMs !== undefined) this.#alarms.wakeBy(dueMs);
    return { pauseMs };
  }

  async refusals(query: RefusalQuery): Promise<readonly StoredRefusal[]> {
    return this.#audit.refusals(query);
  }

  async auditStatus(): Promise<AuditLogStatus> {
    return this.#audit.status();
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(Object.values(this.#tasks()).flat(), info);
  }

  /** By subject, in the order in which they run. */
  #tasks(): Readonly<Record<string, readonly AlarmTask[]>> {
    return {
      changes: [
        () => this.#announceFirst(),
        (atMs) => this.#followers.closeWhenIdle(atMs),
        (atMs, passedMs) => this.#resumeIntents(atMs, passedMs),
        (atMs) => this.#resumeCutOffs(atMs),
      ],
      generations: [
        (atMs) => this.#generations.resume(this.#audit.isDue(atMs)),
        (_, passedMs) => this.#generations.retireDue(passedMs),
      ],
      sweeps: [(atMs, passedMs) => this.#sweepOwn(atMs, passedMs), (_, passedMs) => this.#sweepDatabase(passedMs)],
      sessions: [(atMs) => this.#endings.resume(atMs)],
      backup: [(atMs) => this.#backup.run(atMs)],
      audit: [...this.#audit.tasks, (atMs) => this.#outbox.flush(atMs)],
    };
  }

  /** Stores an intent before changes of this object's own: if their announcement fails, the alarm repeats it. */
  async #intending<T>(change: () => Promise<T>): Promise<T> {
    const operationId = crypto.randomUUID();
    this.#alarms.wakeBy(this.#ledger.addIntent(operationId, undefined, nowMs()));
    const result = await change();
    this.#ledger.clearIntent(operationId);
    return result;
  }

  /** Deletes ended rows of this object. */
  #sweepOwn(atMs: number, passedMs: number): number | undefined {
    this.#ledger.sweep(passedMs);
    this.#log.sweep(passedMs, sweepRows);
    const next = earliest(this.#ledger.nextOperationMs(), this.#log.nextSweepMs());
    return next && Math.max(next, atMs + againMs);
  }

  async #sweepDatabase(passedMs: number): Promise<number> {
    const [{ sealSecretsAgain }, { sweepDatabase }] = await Promise.all([sealing(), databaseSweeps()]);
    const sweepOthers = async () => (await sealSecretsAgain(this.env)) && this.#sweepRecords(passedMs);
    // A Worker that listed an ending session may have died before it ended it.
    const whenDone = () => this.#endings.mark(passedMs);
    const lastAnnounced = this.#log.last().version;
    return sweepDatabase(this.#ledger, this.env.DB, { lastAnnounced, sweepOthers, whenDone }, passedMs);
  }

  #sweepRecords(passedMs: number): Promise<boolean> {
    const settings = readSettings(this.env);
    const waitUntil = (promise: Promise<unknown>) => this.ctx.waitUntil(promise);
    return this.#intending(async () => {
      const [{ sweepClients }, { sweepLeavingUsers }] = await Promise.all([clientSweeps(), userSweeps()]);
      const swept = [
        await sweepClients(this.env.DB, settings, passedMs),
        await sweepLeavingUsers({ env: this.env, settings, waitUntil }, passedMs),
      ];
      if (swept.some(({ needsAnnouncement }) => needsAnnouncement)) await this.#announce([]);
      return swept.every(({ isDone }) => isDone);
    });
  }

  /**
   * Announces the changes of the set-up, which have not been announced. Otherwise isolates would begin with a version from before them, and an
   * administrator's first change would make each isolate discard everything.
   */
  async #announceFirst(): Promise<undefined> {
    if (this.#log.last().version === 0) await this.#intending(() => this.#announce([]));
  }

  async #resumeIntents(atMs: number, passedMs: number): Promise<number | undefined> {
    if (this.#ledger.hasDueIntent(atMs)) {
      const operations: OrderedCutOff[] = [];
      for (const { operationId, cutOff } of this.#ledger.dueIntendedCutOffs(atMs)) {
        const version = await findCommitted(this.env.DB, cutOff);
        if (version === undefined) continue;
        const committed = { version, listsSessions: true };
        operations.push(await this.#cutOffs.order(operationId, cutOff, committed));
      }
      await this.#announce(operations);
      this.#cutOffs.finish(operations);
      this.#ledger.settleIntents(atMs, passedMs);
    }
    return this.#ledger.nextIntentMs();
  }

  async #resumeCutOffs(atMs: number): Promise<undefined> {
    const due = await this.#cutOffs.orderDue(atMs);
    if (due.length === 0) return;
    await this.#announce(due);
    this.#cutOffs.finish(due);
  }

  /**
   * Announces D1's newest control version with its changes and cut-offs; resolves when no shard vouches for an older one. A cut-off that a restored
   * D1 has lost, or whose number grants of the lost time have too, is committed again first. The alarm re-lists generations that D1 has lost.
   */
  async #announce(
    operations: readonly OrderedCutOff[],
    changed: readonly RecordName<ControlKind>[] = [],
  ): Promise<number> {
    this.#fence.pass();
    const holdLost = () => this.#audit.holdLost(nowMs());
    const next = await nextAnnouncement(this.#log, this.env.DB, committedBy(operations, changed), holdLost);
    const { announced, isRestored, found, records } = next;
    if (isRestored) {
      this.#followers.restored();
      this.#generations.restored();
      this.#alarms.wakeBy(nowMs());
    }
    const gap = this.#log.lastGap().version;
    const isLost = (operation: OrderedCutOff) => this.#ledger.cutOffs.isLost(operation, gap, found);
    if (operations.some(isLost)) return this.#announce(await this.#cutOffs.orderAgain(operations, isLost), changed);
    this.#copies.write(records, announced.version);
    const isInForce = await this.#followers.bringIntoForce(announced);
    return isInForce ? announced.version : this.#announce(operations, changed);
  }
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
