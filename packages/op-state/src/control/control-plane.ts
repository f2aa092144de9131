import { DurableObject } from "cloudflare:workers";
import { everyId } from "@edge-op/shared/cache/control-view";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import {
  type ControlPlaneRpc,
  type CutOffIntent,
  controlPlaneName,
  raiseTimeoutMs,
} from "@edge-op/shared/objects/control-plane";
import {
  type CutOff,
  type CutOffKind,
  cutOffKey,
  type RevocationShard,
} from "@edge-op/shared/objects/token-revocation-store";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { askObject, shardStub } from "@edge-op/shared/sharding/ask-object";
import type { Generation, RegionShards } from "@edge-op/shared/sharding/generation-table";
import { loadGenerations } from "@edge-op/shared/sharding/load-generations";
import type { ShardedStore } from "@edge-op/shared/sharding/shard-address";
import { AlarmSchedule } from "../outbox/alarm-schedule.ts";
import { type AuditBindings, AuditOutbox } from "../outbox/audit-outbox.ts";
import { sweepChangeLog, versionToTell } from "./change-log.ts";
import { ControlLedger, type CutOffOperation, type Opening, type Retirement, resumeMs } from "./control-ledger.ts";
import {
  answerDelayMs,
  areValidRegions,
  cutOffTimes,
  newestGeneration,
  raiseTargets,
  retirementDueMs,
  shardsOf,
  type Target,
} from "./control-machine.ts";
import { isInactive } from "./is-inactive.ts";

type ControlPlaneEnv = SettingsVariables &
  AuditBindings & { readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard> };

/** What is overdue, because a shard does not acknowledge, is tried again after this. */
const againMs = 5_000;
/** Cut-offs that one call brings to a new shard. */
const seedRows = 2_000;

/**
 * **Makes a change known on every live shard, and keeps at it** until all have acknowledged. What is promised is in the
 * ledger first; everything told is idempotent (cut-offs and versions combine by max), so resuming is doing it again.
 *
 * Whatever is told goes to the table's live shards *and* to those of an opening or retirement in progress. The ledger is
 * read before D1: a change told to a table that lacks a new generation was in the ledger, or in D1, before that
 * generation's shards were seeded from both (G4).
 */
export class ControlPlane
  extends DurableObject<ControlPlaneEnv>
  implements Omit<ControlPlaneRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #ledger: ControlLedger;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  /** The end of the queue of openings and retirements: one at a time. */
  #tableWork: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: ControlPlaneEnv) {
    super(ctx, env);
    this.#ledger = new ControlLedger(ctx.storage.sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, controlPlaneName, this.#alarms);
  }

  async begin(operationId: string, cutOff?: CutOffIntent): Promise<void> {
    this.#alarms.wakeBy(this.#ledger.addIntent(operationId, cutOff, nowMs()));
  }

  async publish(operationId: string): Promise<{ readonly cv: number }> {
    const intended = this.#ledger.findIntendedCutOff(operationId);
    const operations = intended === undefined ? [] : [this.#startCutOff(operationId, intended)];
    const cv = await this.#raiseEverywhere(operations);
    this.#ledger.clearIntent(operationId);
    for (const { notBeforeMs } of operations) {
      this.#ledger.finishCutOff(operationId, nowMs());
      await scheduler.wait(answerDelayMs(notBeforeMs, nowMs()));
    }
    return { cv };
  }

  async cutOff(request: {
    readonly kind: CutOffKind;
    readonly id: string;
    readonly operationId: string;
    readonly actor: string;
  }): Promise<{ readonly notBeforeMs: number }> {
    const { operationId } = request;
    const operation = this.#startCutOff(operationId, request);
    if (!operation.done) {
      await this.#raiseEverywhere([operation]);
      this.#ledger.finishCutOff(operationId, nowMs());
    }
    await scheduler.wait(answerDelayMs(operation.notBeforeMs, nowMs()));
    return { notBeforeMs: operation.notBeforeMs };
  }

  /** Promised from here on: the alarm carries it out if nobody else does. */
  #startCutOff(
    operationId: string,
    { kind, id, actor }: { readonly kind: CutOffKind; readonly id: string; readonly actor: string },
  ): CutOffOperation {
    const atMs = nowMs();
    const operation = this.ctx.storage.transactionSync(() => {
      const known = this.#ledger.findCutOff(operationId);
      if (known !== undefined) return known;
      const added = this.#ledger.addCutOff(operationId, cutOffKey(kind, id), cutOffTimes(atMs), atMs);
      const payload = { kind, id, operationId, actor, notBeforeMs: added.notBeforeMs };
      this.#outbox.append({ type: "cut-off", payload }, atMs);
      return added;
    });
    this.#alarms.wakeBy(atMs + resumeMs);
    return operation;
  }

  async openGeneration(request: {
    readonly store: ShardedStore;
    readonly regions: Readonly<Record<string, RegionShards>>;
    readonly operationId: string;
  }): Promise<{ readonly generation: number }> {
    if (!areValidRegions(request.regions)) throw new Error("regions of a generation must be named and have shards");
    return this.#oneAtATime(async () => {
      const known = this.#ledger.findOpening(request.operationId);
      if (known?.done) return { generation: known.generation };
      await this.#finishOpenings();
      const finished = this.#ledger.findOpening(request.operationId);
      if (finished !== undefined) return { generation: finished.generation };
      const table = await this.#readTable();
      const { operationId, store, regions } = request;
      const opening = { operationId, store, regions, generation: newestGeneration(table, store) + 1, done: false };
      this.#ledger.addOpening(opening, nowMs());
      this.#alarms.wakeBy(nowMs() + resumeMs);
      await this.#carryOut(opening);
      return { generation: opening.generation };
    });
  }

  override async alarm(): Promise<void> {
    await this.#alarms.run([
      (atMs) => this.#resumeIntents(atMs),
      (atMs) => this.#resumeCutOffs(atMs),
      () => this.#oneAtATime(() => this.#finishOpenings()),
      (atMs) => this.#oneAtATime(() => this.#retireDue(atMs)),
      (atMs) => {
        this.#ledger.sweep(atMs);
        const next = this.#ledger.nextOperationMs();
        return next && Math.max(next, atMs + againMs);
      },
      (atMs) => sweepChangeLog(this.#ledger, this.env.DB, atMs),
      (atMs) => this.#outbox.flush(atMs),
    ]);
  }

  async #resumeIntents(atMs: number): Promise<number | undefined> {
    if (this.#ledger.hasDueIntent(atMs)) {
      const operations: CutOffOperation[] = [];
      for (const { operationId, cutOff } of this.#ledger.dueIntendedCutOffs(atMs)) {
        if (await isInactive(this.env.DB, cutOff)) operations.push(this.#startCutOff(operationId, cutOff));
      }
      await this.#raiseEverywhere(operations);
      for (const { operationId } of operations) this.#ledger.finishCutOff(operationId, nowMs());
      this.#ledger.settleIntents(atMs);
    }
    return this.#ledger.nextIntentMs();
  }

  async #resumeCutOffs(atMs: number): Promise<undefined> {
    const due = this.#ledger.dueCutOffs(atMs);
    if (due.length === 0) return;
    await this.#raiseEverywhere(due);
    for (const { operationId } of due) this.#ledger.finishCutOff(operationId, nowMs());
  }

  async #finishOpenings(): Promise<undefined> {
    for (const opening of this.#ledger.unfinishedOpenings()) await this.#carryOut(opening);
  }

  /** Seed, then list, then tell: before a new shard can be named by an id it knows all that the old ones know (G4). */
  async #carryOut(opening: Opening): Promise<void> {
    const { operationId, store, generation, regions } = opening;
    if (store === "revocation") await this.#seed(shardsOf(generation, regions));
    const { DB } = this.env;
    const atMs = nowMs();
    const isNew = "NOT EXISTS (SELECT 1 FROM shard_generations WHERE store = ?3 AND generation = ?4)";
    await DB.batch([
      this.#announceTable(isNew, opening, atMs),
      DB.prepare(
        "INSERT OR IGNORE INTO shard_generations (store, generation, regions, minted_from_ms) VALUES (?1, ?2, ?3, ?4)",
      ).bind(store, generation, JSON.stringify(regions), atMs),
      DB.prepare(
        "UPDATE shard_generations SET minted_until_ms = ?3 WHERE store = ?1 AND generation < ?2 AND minted_until_ms IS NULL",
      ).bind(store, generation, atMs),
    ]);
    await this.#publishNewest();
    const knownAtMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      this.#ledger.finishOpening(opening, retirementDueMs(store, knownAtMs), knownAtMs);
      this.#outbox.append(
        { type: "generation-opened", payload: { operationId, store, generation, regions } },
        knownAtMs,
      );
    });
  }

  async #seed(targets: readonly Target[]): Promise<void> {
    const cutOffs = this.#ledger.liveCutOffs(nowMs());
    const cv = await versionToTell(this.#ledger, this.env.DB);
    for (let from = 0; from === 0 || from < cutOffs.length; from += seedRows) {
      await this.#raise(targets, { cutOffs: cutOffs.slice(from, from + seedRows), cv });
    }
  }

  async #retireDue(atMs: number): Promise<undefined> {
    for (const retirement of this.#ledger.dueRetirements(atMs)) await this.#retire(retirement);
  }

  /**
   * Its shards are told as well: an isolate that asks one of them must learn that the table has changed. A generation that is
   * the newest again, in a D1 that was set back (ADR 11), is not retired: its next opening says when.
   */
  async #retire(retirement: Retirement): Promise<void> {
    const { store, generation } = retirement;
    const { DB } = this.env;
    const isEnded = "minted_until_ms IS NOT NULL";
    const isLive = `EXISTS (SELECT 1 FROM shard_generations WHERE store = ?3 AND generation = ?4 AND retired = 0 AND ${isEnded})`;
    const retire = `UPDATE shard_generations SET retired = 1 WHERE store = ?1 AND generation = ?2 AND ${isEnded}`;
    const [, retired] = await DB.batch([
      this.#announceTable(isLive, retirement, nowMs()),
      DB.prepare(retire).bind(store, generation),
    ]);
    if (retired!.meta.changes === 0) {
      this.#ledger.finishRetirement(retirement);
      return;
    }
    await this.#publishNewest();
    this.ctx.storage.transactionSync(() => {
      this.#ledger.finishRetirement(retirement);
      this.#outbox.append({ type: "generation-retired", payload: { store, generation } }, nowMs());
    });
  }

  /** A row for the change that follows in the same batch, unless an earlier attempt has made it. */
  #announceTable(isNew: string, { store, generation }: Retirement, atMs: number): D1PreparedStatement {
    return this.env.DB.prepare(
      `INSERT INTO control_changes (kind, id, at_ms) SELECT 'generations', ?1, ?2 WHERE ${isNew}`,
    ).bind(everyId, atMs, store, generation);
  }

  #publishNewest(): Promise<number> {
    return this.#raiseEverywhere([]);
  }

  /** Tells cut-offs and D1's newest control version to all; resolves when all have acknowledged. */
  async #raiseEverywhere(cutOffs: readonly CutOff[]): Promise<number> {
    const unlisted = {
      opening: this.#ledger.unfinishedOpenings().filter(({ store }) => store === "revocation"),
      retiring: this.#ledger
        .dueRetirements(nowMs())
        .filter(({ store }) => store === "revocation")
        .map(({ generation }) => generation),
    };
    const [cv, table] = await Promise.all([versionToTell(this.#ledger, this.env.DB), this.#readTable()]);
    const told = cutOffs.map(({ key, notBeforeMs, untilMs }) => ({ key, notBeforeMs, untilMs }));
    await this.#raise(raiseTargets(table, unlisted), told.length === 0 ? { cv } : { cutOffs: told, cv });
    return cv;
  }

  /** Every shard is tried, also when one fails: those that can be told are. */
  async #raise(
    targets: readonly Target[],
    change: { readonly cutOffs?: readonly CutOff[]; readonly cv: number },
  ): Promise<void> {
    const settings = readSettings(this.env);
    const results = await Promise.allSettled(
      targets.map(({ address, region }) => {
        const stub = shardStub(this.env.TOKEN_REVOCATION_STORE, "revocation", address, region);
        const call = () => stub.raise(change, settings.revocationMode !== "bounded");
        return askObject("revocation shard", call, raiseTimeoutMs(settings));
      }),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #readTable(): Promise<readonly Generation[]> {
    return (await loadGenerations(this.env.DB)) ?? [];
  }

  #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tableWork.then(work);
    // Whoever asked for the work is told of its failure; the next in the queue does not mind.
    this.#tableWork = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }
}
