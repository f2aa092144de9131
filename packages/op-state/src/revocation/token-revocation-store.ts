import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import { limits } from "@edge-op/shared/config/limits";
import type { ControlNews } from "@edge-op/shared/control/control-plane-rpc";
import { namesAny } from "@edge-op/shared/control/control-view";
import type { ReadCondition } from "@edge-op/shared/control/read-set";
import type { RevokeRequest } from "@edge-op/shared/grants/grant-revocation";
import type {
  CheckResponse,
  LeaseRequest,
  LeaseResponse,
  RevocationFilter,
  RevocationShard,
  RevocationStatistics,
  RevokeResponse,
} from "@edge-op/shared/leases/revocation-shard-rpc";
import { randomHashKey } from "@edge-op/shared/leases/row-filter";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { type AuditBindings, AuditOutbox } from "../audit/audit-outbox.ts";
import { HorizonKeeper } from "../leases/durable-horizon.ts";
import { HeldCalls } from "../leases/held-calls.ts";
import { ConfirmationWaits } from "../leases/lease-holders.ts";
import { LeaseStatistics } from "../leases/lease-statistics.ts";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { FactsObject } from "../wake/state-object.ts";
import { buildRowFilter, FilterKeys } from "./build-row-filter.ts";
import { LogFollower, type LogFollowerBindings } from "./log-follower.ts";
import { type Plan, RevocationMachine } from "./revocation-machine.ts";
import { RevocationRows } from "./revocation-rows.ts";
import { randomSeed } from "./revoked-set.ts";

/** Rows that one query reads: a few milliseconds. */
const pageRows = 2_000;
/** A build that has done nothing for this long belongs to an object that was evicted. */
const lostAfterMs = 10_000;

/** Objects share the memory of an isolate, and a build needs 40 MB for a million rows, so only one runs at a time. */
let busyUntilMs = Number.NEGATIVE_INFINITY;

/** The rows of a shard in the order of their keys. */
export interface RowPages {
  page(afterKey: string, limit: number): readonly { readonly key: string; readonly untilMs: number }[];
}

/**
 * **Builds a filter of the rows in storage**, in slices of a few milliseconds; requests are handled between them. It may or may not contain rows that
 * are written meanwhile; it contains everything up to `seq`, the number at its beginning. Returns `undefined` if another object of this isolate is
 * building; try again later.
 */
export async function buildFilter(
  pages: RowPages,
  seq: number,
): Promise<{ readonly filter: RevocationFilter; readonly rows: number } | undefined> {
  const waitMs = busyUntilMs - nowMs();
  // A longer wait means that a clock was set back.
  if (waitMs > 0 && waitMs <= lostAfterMs) return undefined;
  const pause = async () => {
    busyUntilMs = nowMs() + lostAfterMs;
    await scheduler.wait(0);
  };
  try {
    const keys = new FilterKeys(randomHashKey());
    let untilMs = 0;
    let last = "";
    for (;;) {
      const page = pages.page(last, pageRows);
      for (const row of page) {
        keys.add(row.key);
        untilMs = Math.max(untilMs, row.untilMs);
      }
      await pause();
      if (page.length < pageRows) break;
      last = page.at(-1)!.key;
    }
    const build = buildRowFilter(keys, randomSeed);
    for (let step = build.next(); ; step = build.next()) {
      if (step.done === true) {
        return step.value && { filter: { seq, untilMs, bytes: step.value }, rows: keys.count };
      }
      await pause();
    }
  } finally {
    busyUntilMs = Number.NEGATIVE_INFINITY;
  }
}

const sweptRows = 1_000;
/** The interval at which expired rows are deleted. */
const sweepEveryMs = 60_000;
/** How long an operation may be repeated at least, even if its token has expired. */
const repeatableMs = 600_000;

type ShardEnv = AuditBindings & LogFollowerBindings;

/**
 * **A shard of revocations.** `RevocationMachine` decides; its memory is a copy of {@link RevocationRows}. A change takes effect after its write, in
 * the same turn, and the platform holds every response until the write is durable (I5).
 *
 * A revocation is acknowledged when every lease without it has ended, also those of a superseded instance of this object. Cost: a durable write per
 * revocation, and at most one in 2 s for any number of leases and checks, which also vouch for the control version ({@link LogFollower}).
 */
export class TokenRevocationStore
  extends FactsObject<ShardEnv>
  implements Omit<RevocationShard, keyof Rpc.DurableObjectBranded>
{
  readonly #rows: RevocationRows;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #held = new HeldCalls<LeaseRequest, LeaseResponse>((request, heldMs, atMs) =>
    this.#give(request, heldMs, atMs),
  );
  readonly #waits = new ConfirmationWaits();
  readonly #statistics = new LeaseStatistics(nowMs(), limits.slowAcknowledgementMs);
  readonly #control: LogFollower;
  #machine!: RevocationMachine;
  #horizon!: HorizonKeeper;
  #buildsFilter = false;

  constructor(ctx: DurableObjectState, env: ConstructorParameters<typeof FactsObject<ShardEnv>>[1]) {
    super(ctx, env);
    this.#rows = new RevocationRows(ctx.storage.sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#control = new LogFollower(env, {
      name: this.#outbox.name ?? "",
      contained: () => ({ cv: this.#machine.cv, cvAtMs: this.#rows.cvAtMs() }),
      install: (news) => this.#install(news),
    });
    void ctx.blockConcurrencyWhile(async () => {
      const durable = this.#rows.load(limits.leaseReplicaRows);
      // The clock is frozen between I/O: after a timer, it is later than the read, and the fence counts from then.
      if (durable.horizon !== undefined) await scheduler.wait(1);
      this.#machine = new RevocationMachine(leaseTiming, limits.leaseReplicaRows, durable, nowMs(), {
        exactRows: limits.leaseSnapshotRows,
        snapshots: limits.leaseSnapshots,
      });
      this.#horizon = new HorizonKeeper(this.#machine, (horizon) => this.#rows.writeHorizon(horizon));
      this.#horizon.closeLater();
    });
  }

  async lease(request: LeaseRequest): Promise<LeaseResponse> {
    this.#waits.settle(this.#machine.confirm(request));
    // If less than half of the lease were left, holders would have to renew immediately.
    if (!this.#control.use(nowMs(), Math.max(1, request.leaseMs / 2))) await this.#control.follow();
    const atMs = nowMs();
    const untilMs = this.#machine.holdUntilMs(request, atMs);
    if (untilMs > atMs) {
      this.#statistics.count("renewalsHeld");
      return this.#held.hold(request, atMs, untilMs);
    }
    this.#held.resolveHeld(request.holder);
    return this.#give(request, 0, atMs);
  }

  async confirm(holder: string, seq: number): Promise<void> {
    this.#waits.settle(this.#machine.confirm({ holder, confirmedSeq: seq }));
  }

  async release(holder: string): Promise<void> {
    this.#held.resolveHeld(holder);
    this.#waits.settle(this.#machine.release(holder));
    this.#statistics.count("releases");
    this.#horizon.close();
  }

  async check(rowKeys: readonly string[], cutOffKeys: readonly string[], sinceCv: number): Promise<CheckResponse> {
    if (!this.#control.use(nowMs(), 1)) await this.#control.follow();
    const atMs = nowMs();
    this.#vouch(atMs);
    this.#horizon.reach(0, atMs);
    return this.#machine.check(rowKeys, cutOffKeys, sinceCv, atMs, this.#find);
  }

  async revoke(
    requests: readonly RevokeRequest[],
    wait: boolean,
    sinceCv?: number,
    condition?: ReadCondition,
  ): Promise<RevokeResponse> {
    if (condition !== undefined && !(await this.#isCurrent(condition))) return { isOutdated: true };
    const atMs = nowMs();
    const plan = this.#machine.plan({ rows: requests, cutOffs: [], cv: 0 }, this.#find);
    this.#commit(plan, () => {
      for (const { operationId, untilMs, event } of requests) {
        const first = this.#rows.isFirst(operationId, Math.max(untilMs, atMs + repeatableMs));
        if (first && event !== undefined) this.#outbox.append(event, atMs);
      }
    });
    await this.#acknowledge(wait);
    if (sinceCv === undefined || this.#control.leftMs(nowMs()) === 0) return {};
    return { cv: this.#machine.cv, changes: this.#machine.changesSince(sinceCv) };
  }

  async raise(
    change: Partial<ControlNews> & { readonly after?: number },
    wait: boolean,
  ): Promise<{ readonly cv: number }> {
    if ((change.after ?? 0) > this.#machine.cv) await this.#control.follow();
    else this.#install({ cv: 0, cvAtMs: undefined, changes: [], cutOffs: [], ...change });
    await this.#acknowledge(wait);
    return { cv: this.#machine.cv };
  }

  async statistics(): Promise<RevocationStatistics> {
    const { confirmations } = this.#machine;
    return this.#statistics.read({ confirmations, holders: this.#machine.countLiveHolders(nowMs()) });
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run([(atMs) => this.#outbox.flush(atMs), (_, passedMs) => this.#sweep(passedMs)], info);
  }

  /** Installs the part of the control log that the shard lacks, with the time of the newest change. */
  #install({ cv, cvAtMs, changes, cutOffs }: ControlNews): void {
    const isNewer = cv > this.#machine.cv;
    this.#commit(this.#machine.plan({ rows: [], cutOffs, cv, changes }, this.#find), () => {
      if (isNewer) this.#rows.writeCvAtMs(cvAtMs);
    });
  }

  /** Whether the shard vouches for a control version at which the reads are current. */
  async #isCurrent({ version, reads }: ReadCondition): Promise<boolean> {
    // Without the control log, the caller confirms the version elsewhere: a revocation does not wait for it.
    if (!this.#control.use(nowMs(), 1)) await this.#control.follow().catch(() => undefined);
    if (this.#control.leftMs(nowMs()) < 1) return false;
    const changes = this.#machine.changesSince(version);
    return changes !== undefined && !namesAny(changes, reads);
  }

  #vouch(atMs: number): number {
    const leftMs = this.#control.leftMs(atMs);
    if (leftMs < 1) throw new UnavailableError("control plane", new Error("the control version is not known"));
    return leftMs;
  }

  #give(request: LeaseRequest, heldMs: number, atMs: number): LeaseResponse {
    const coveredMs = this.#vouch(atMs);
    this.#horizon.reach(request.leaseMs, atMs);
    this.#horizon.closeLater();
    const response = this.#machine.lease(request, heldMs, atMs, coveredMs);
    if (response.kind === "lease") this.#statistics.count("leasesGranted");
    this.#buildFilterIfDue();
    return response;
  }

  readonly #find = (key: string) => this.#rows.find(key);

  /** Until the filter is built, isolates without a replica check exactly; those with one receive deltas. */
  #buildFilterIfDue(): void {
    if (this.#buildsFilter || !this.#machine.isFilterDue) return;
    this.#buildsFilter = true;
    this.ctx.waitUntil(this.#buildFilter());
  }

  async #buildFilter(): Promise<void> {
    try {
      const built = await buildFilter(this.#rows, this.#machine.seq);
      if (built !== undefined) this.#machine.useFilter(built.filter, built.rows);
    } catch (cause) {
      log("filter-not-built", { shard: this.ctx.id.name ?? "", cause: String(cause) });
    } finally {
      this.#buildsFilter = false;
    }
  }

  #commit(plan: Plan, alongside: () => void = () => {}): void {
    this.ctx.storage.transactionSync(() => {
      this.#rows.write(plan);
      alongside();
    });
    const isNews = plan.seq > this.#machine.seq;
    this.#machine.apply(plan);
    if (isNews) this.#held.announce();
    this.#buildFilterIfDue();
    const next = this.#rows.nextDeathMs();
    if (next !== undefined) this.#alarms.wakeBy(nextSweepMs(next));
  }

  /**
   * Waits until every holder that may lack the change has confirmed it or its lease has ended. The waits are durations on timers:
   * this instance's clock is not read again.
   */
  async #acknowledge(wait: boolean): Promise<void> {
    if (!wait) return;
    const due = this.#machine.startWait(nowMs());
    const { pending, startedAtMs, leasesMs, fenceMs } = due;
    if (leasesMs === 0 && fenceMs === 0) return;
    this.#statistics.start();
    await Promise.all([
      fenceMs > 0 ? scheduler.wait(fenceMs) : undefined,
      leasesMs > 0 ? this.#waits.wait(pending, startedAtMs) : undefined,
    ]);
    this.#machine.endWait(due);
    const slow = this.#statistics.end({ startedAtMs, leasesMs, fenceMs, lacking: pending.ended }, nowMs());
    if (slow !== undefined) log("acknowledgement-slow", { shard: this.ctx.id.name ?? "", ...slow });
  }

  #sweep(atMs: number): number | undefined {
    const deadBeforeMs = atMs - leaseTiming.clockOffsetMs;
    this.#machine.forget(this.#rows.sweep(deadBeforeMs, sweptRows));
    if (!this.#machine.isComplete) {
      const entries = this.#rows.entries(limits.leaseReplicaRows / 2);
      if (entries !== undefined) this.#machine.hold(entries);
    }
    const next = this.#rows.nextDeathMs();
    if (next === undefined) return undefined;
    return next <= deadBeforeMs ? atMs : nextSweepMs(next);
  }
}

/** An isolate whose clock is behind may accept a token that has expired by this clock: the row must outlive it there. */
function nextSweepMs(untilMs: number): number {
  return Math.ceil((untilMs + leaseTiming.clockOffsetMs) / sweepEveryMs) * sweepEveryMs;
}
