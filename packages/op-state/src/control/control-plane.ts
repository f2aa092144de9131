import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { cutOffUntilMs } from "@edge-op/shared/directory/cut-offs";
import type { AuditLogStatus, IssuedToken, IssuedTokensResult } from "@edge-op/shared/objects/audit-log";
import {
  type CommittedCutOff,
  type ControlPlaneRpc,
  type CutOffIntent,
  controlPlaneName,
  raiseTimeoutMs,
} from "@edge-op/shared/objects/control-plane";
import {
  type CutOff,
  type CutOffKind,
  cutOffKey,
  cutOffKind,
  type RevocationShard,
} from "@edge-op/shared/objects/token-revocation-store";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { callObject, shardStub } from "@edge-op/shared/sharding/call-object";
import { AuditKeeper, type AuditKeeperEnv } from "../audit/audit-keeper.ts";
import { FactsObject } from "../facts/facts-object.ts";
import { AlarmSchedule } from "../outbox/alarm-schedule.ts";
import { AuditOutbox } from "../outbox/audit-outbox.ts";
import { Fence } from "../outbox/fence.ts";
import { type Announcement, nextAnnouncement } from "./change-log.ts";
import { ControlLedger } from "./control-ledger.ts";
import { areValidRegions, raiseTargets, type Target } from "./control-machine.ts";
import { type CutOffOperation, isOrdered, type OrderedCutOff, resumeMs } from "./cut-off-ledger.ts";
import { appendCutOff, recordCutOffs } from "./cut-off-records.ts";
import { findCommitted } from "./find-committed.ts";
import { GenerationWork, type OpeningRequest } from "./generation-work.ts";
import { lostGenerations, OpenedGenerations } from "./opened-generations.ts";
import { type SessionEndingBindings, SessionEndings } from "./session-endings.ts";
import { sweepClients } from "./sweep-clients.ts";
import { sweepDatabase } from "./sweep-database.ts";

type ControlPlaneEnv = SettingsVariables &
  AuditKeeperEnv &
  SessionEndingBindings & { readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard> };

interface CutOffRequest {
  readonly kind: CutOffKind;
  readonly id: string;
  readonly actor: string;
}

/** Overdue work, because a shard did not acknowledge, is retried after this. */
const againMs = 5_000;

/**
 * **Sends a change to every live shard, and retries** until all have acknowledged. The ledger is written first, and every raise is
 * idempotent (cut-offs and versions combine by max), so resuming means repeating.
 *
 * Shards that are raised: the live ones of D1's table, those of an opening or retirement in progress, and those that D1 has lost
 * (ADR 11). The ledger is read before D1: a change raised by a table without a new generation was in the ledger or in D1 before
 * that generation's shards were seeded from both (G4).
 */
export class ControlPlane
  extends FactsObject<ControlPlaneEnv>
  implements Omit<ControlPlaneRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #ledger: ControlLedger;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #fence: Fence;
  readonly #opened: OpenedGenerations;
  readonly #generations: GenerationWork;
  readonly #keeper: AuditKeeper;
  readonly #endings: SessionEndings;

  constructor(ctx: DurableObjectState, env: ControlPlaneEnv) {
    super(ctx, env);
    this.#ledger = new ControlLedger(ctx.storage.sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, controlPlaneName, this.#alarms);
    this.#keeper = new AuditKeeper(ctx.storage, env, this.#outbox);
    this.#fence = new Fence(ctx.storage.sql);
    this.#endings = new SessionEndings(ctx.storage.sql, env);
    this.#opened = new OpenedGenerations(ctx.storage.sql);
    this.#generations = new GenerationWork({
      storage: ctx.storage,
      database: env.DB,
      ledger: this.#ledger,
      opened: this.#opened,
      outbox: this.#outbox,
      wakeForOpening: () => this.#alarms.wakeBy(nowMs() + resumeMs),
      raise: (targets, change) => this.#raise(targets, change),
      publishNewest: () => this.#raiseEverywhere([]),
    });
  }

  async begin(operationId: string, cutOff?: CutOffIntent): Promise<void> {
    this.#alarms.wakeBy(this.#ledger.addIntent(operationId, cutOff, nowMs()));
  }

  async publish(operationId: string, committed?: CommittedCutOff): Promise<{ readonly cv: number }> {
    const intended = this.#ledger.findIntendedCutOff(operationId);
    const operations =
      intended === undefined ? [] : [await this.#order(this.#startCutOff(operationId, intended), committed)];
    const cv = await this.#raiseEverywhere(operations);
    this.#ledger.clearIntent(operationId);
    for (const operation of operations) this.#ledger.cutOffs.finish(operation.operationId, nowMs());
    return { cv };
  }

  async cutOff(request: CutOffRequest & { readonly operationId: string }): Promise<void> {
    const { operationId } = request;
    const operation = await this.#order(this.#startCutOff(operationId, request));
    if (operation.done) return;
    await this.#raiseEverywhere([operation]);
    this.#ledger.cutOffs.finish(operationId, nowMs());
  }

  /** `committed`: its change, in whose transaction D1 has got the cut-off; without one, the cut-off becomes a change itself. */
  async #order(operation: CutOffOperation, committed?: CommittedCutOff): Promise<OrderedCutOff> {
    if (isOrdered(operation)) return operation;
    const version = committed?.version ?? (await appendCutOff(this.env.DB, operation, nowMs()));
    const atMs = nowMs();
    const listsSessions = committed?.listsSessions !== false && cutOffKind(operation.key) === "sub";
    if (listsSessions) this.#alarms.wakeBy(atMs);
    return this.ctx.storage.transactionSync(() => {
      if (listsSessions) this.#endings.mark(atMs);
      const ordered = this.#ledger.cutOffs.order(operation.operationId, version);
      this.#ledger.cutOffs.markRecorded(ordered);
      return ordered;
    });
  }

  /** Durable from here on: the alarm completes it if the caller does not. */
  #startCutOff(operationId: string, { kind, id, actor }: CutOffRequest): CutOffOperation {
    const atMs = nowMs();
    const operation = this.ctx.storage.transactionSync(() => {
      const known = this.#ledger.cutOffs.find(operationId);
      if (known !== undefined) return known;
      const added = this.#ledger.cutOffs.add(operationId, cutOffKey(kind, id), cutOffUntilMs(atMs), atMs);
      const payload = { kind, id, operationId, actor };
      this.#outbox.append({ type: "cut-off", payload }, atMs);
      return added;
    });
    this.#alarms.wakeBy(atMs + resumeMs);
    return operation;
  }

  async openGeneration(request: OpeningRequest): Promise<{ readonly generation: number }> {
    if (!areValidRegions(request.store, request.regions))
      throw new Error("regions of a generation must be named and have shards");
    return this.#generations.open(request);
  }

  async wakeAudit(): Promise<void> {
    this.#alarms.wakeBy(nowMs());
  }

  async recordIssued(tokens: readonly IssuedToken[], omitted: number): Promise<IssuedTokensResult> {
    return this.#keeper.recordIssued(tokens, omitted);
  }

  async auditStatus(): Promise<AuditLogStatus> {
    return this.#keeper.status();
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [
        (atMs) => this.#announceFirst(atMs),
        (atMs, passedMs) => this.#resumeIntents(atMs, passedMs),
        (atMs) => this.#resumeCutOffs(atMs),
        () => this.#generations.resume(),
        (_, passedMs) => this.#generations.retireDue(passedMs),
        (atMs, passedMs) => {
          this.#ledger.sweep(passedMs);
          const next = this.#ledger.nextOperationMs();
          return next && Math.max(next, atMs + againMs);
        },
        (_, passedMs) => {
          const sweepOthers = () => this.#sweepClients(passedMs);
          // A Worker that listed an ending session may have died before it ended it.
          const whenDone = () => this.#endings.mark(passedMs);
          return sweepDatabase(this.#ledger, this.env.DB, { sweepOthers, whenDone }, passedMs);
        },
        (atMs) => this.#endings.resume(atMs),
        ...this.#keeper.tasks,
        (atMs) => this.#outbox.flush(atMs),
      ],
      info,
    );
  }

  /** The intent before the transaction: should the announcement fail, the alarm repeats it. */
  async #sweepClients(passedMs: number): Promise<boolean> {
    const operationId = crypto.randomUUID();
    this.#alarms.wakeBy(this.#ledger.addIntent(operationId, undefined, nowMs()));
    const { isDone, needsAnnouncement } = await sweepClients(this.env.DB, readSettings(this.env), passedMs);
    if (needsAnnouncement) await this.#raiseEverywhere([]);
    this.#ledger.clearIntent(operationId);
    return isDone;
  }

  /**
   * The changes of the set-up, which nobody announced. Otherwise isolates would begin with a version from before them, and the first change
   * of an administrator would make each of them discard everything.
   */
  async #announceFirst(atMs: number): Promise<undefined> {
    if (this.#ledger.lastAnnounced().version > 0) return;
    const operationId = crypto.randomUUID();
    this.#alarms.wakeBy(this.#ledger.addIntent(operationId, undefined, atMs));
    await this.#raiseEverywhere([]);
    this.#ledger.clearIntent(operationId);
  }

  async #resumeIntents(atMs: number, passedMs: number): Promise<number | undefined> {
    if (this.#ledger.hasDueIntent(atMs)) {
      const operations: OrderedCutOff[] = [];
      for (const { operationId, cutOff } of this.#ledger.dueIntendedCutOffs(atMs)) {
        const version = await findCommitted(this.env.DB, cutOff);
        if (version === undefined) continue;
        operations.push(await this.#order(this.#startCutOff(operationId, cutOff), { version, listsSessions: true }));
      }
      await this.#raiseEverywhere(operations);
      for (const { operationId } of operations) this.#ledger.cutOffs.finish(operationId, nowMs());
      this.#ledger.settleIntents(atMs, passedMs);
    }
    return this.#ledger.nextIntentMs();
  }

  async #resumeCutOffs(atMs: number): Promise<undefined> {
    const due: OrderedCutOff[] = [];
    for (const operation of this.#ledger.cutOffs.due(atMs)) due.push(await this.#order(operation));
    if (due.length === 0) return;
    await this.#raiseEverywhere(due);
    for (const { operationId } of due) this.#ledger.cutOffs.finish(operationId, nowMs());
  }

  /**
   * Raises cut-offs and D1's newest control version on all shards; resolves when all have acknowledged. The ledger and the opened
   * generations are read before D1 (G4). The alarm lists generations again that D1 has lost.
   */
  async #raiseEverywhere(operations: readonly OrderedCutOff[]): Promise<number> {
    this.#fence.pass();
    const retiring = this.#ledger
      .dueRetirements(nowMs())
      .filter(({ store }) => store === "revocation")
      .map(({ generation }) => generation);
    const committed = {
      keys: operations.map(({ key }) => key),
      newest: Math.max(0, ...operations.map(({ version }) => version)),
    };
    const [{ announcement, found }, table] = await Promise.all([
      nextAnnouncement(this.#ledger, this.env.DB, committed),
      this.#generations.readTable(),
    ]);
    const { cv } = announcement;
    // In one turn: a generation that is opened later is seeded with the versions of this turn.
    const opened = this.#opened.all();
    const gap = this.#ledger.lastGap();
    const ordered = operations.map(({ operationId }) => this.#ledger.cutOffs.orderBehindGap(operationId, gap));
    const missing = ordered.filter((cutOff) => !this.#ledger.cutOffs.isRecorded(cutOff, found));
    if (missing.length > 0) {
      await this.#record(missing);
      return this.#raiseEverywhere(operations);
    }
    const told = ordered.map((cutOff) => this.#ledger.cutOffs.replicated(cutOff, nowMs()));
    const change = told.length === 0 ? announcement : { cutOffs: told, ...announcement };
    await this.#raise(raiseTargets(table, { opened, retiring }), change);
    if (lostGenerations(opened, table).length > 0) this.#alarms.wakeBy(nowMs());
    return cv;
  }

  /** In the records before in the shards. The change that D1 may get by it is announced with the next raise. */
  async #record(cutOffs: readonly CutOff[]): Promise<void> {
    await recordCutOffs(this.env.DB, cutOffs, nowMs());
    for (const cutOff of cutOffs) this.#ledger.cutOffs.markRecorded(cutOff);
  }

  /** Calls every shard, also when one fails. */
  async #raise(
    targets: readonly Target[],
    change: Announcement & { readonly cutOffs?: readonly CutOff[] },
  ): Promise<void> {
    const settings = readSettings(this.env);
    const results = await Promise.allSettled(
      targets.map(({ address, region }) => {
        const stub = shardStub(settings, this.env.TOKEN_REVOCATION_STORE, "revocation", address, region);
        const call = () => stub.raise(change, settings.revocationMode !== "bounded");
        return callObject("revocation shard", call, raiseTimeoutMs(settings));
      }),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
