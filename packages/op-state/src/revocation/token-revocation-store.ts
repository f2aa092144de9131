import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import { limits } from "@edge-op/shared/config/limits";
import type {
  CheckResponse,
  CutOff,
  LeaseRequest,
  LeaseResponse,
  NamedChange,
  RevocationShard,
  RevocationStatistics,
  RevokeRequest,
} from "@edge-op/shared/leases/revocation-shard-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { type AuditBindings, AuditOutbox } from "../outbox/audit-outbox.ts";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { FactsObject } from "../wake/state-object.ts";
import { ConfirmationWaits } from "./confirmation-waits.ts";
import { buildFilter } from "./filter-build.ts";
import { HeldCalls } from "./held-calls.ts";
import { LeaseStatistics } from "./lease-statistics.ts";
import { type Plan, RevocationMachine } from "./revocation-machine.ts";
import { RevocationRows } from "./revocation-rows.ts";

const sweptRows = 1_000;
/** Expired rows are swept once a minute. */
const sweepEveryMs = 60_000;
/** An operation may be repeated for at least this long, also if its token has expired. */
const repeatableMs = 600_000;

/**
 * **A shard of revocations.** `RevocationMachine` decides; its memory is a copy of {@link RevocationRows}. A change takes effect
 * after its write, in the same turn, and the platform holds every response until the write is durable (I5).
 *
 * A revocation is acknowledged when no lease without it is left, here or with a superseded instance of this object. Cost: a durable
 * write per revocation, and at most one in 2 s for any number of leases and checks.
 */
export class TokenRevocationStore
  extends FactsObject<AuditBindings>
  implements Omit<RevocationShard, keyof Rpc.DurableObjectBranded>
{
  readonly #rows: RevocationRows;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #held = new HeldCalls<LeaseRequest, LeaseResponse>((request, heldMs, atMs) =>
    this.#grant(request, heldMs, atMs),
  );
  readonly #waits = new ConfirmationWaits();
  readonly #statistics = new LeaseStatistics(nowMs(), limits.slowAcknowledgementMs);
  #machine!: RevocationMachine;
  #buildsFilter = false;
  /** Whether a timer runs that withdraws the horizon. */
  #closing = false;

  constructor(ctx: DurableObjectState, env: AuditBindings) {
    super(ctx, env);
    this.#rows = new RevocationRows(ctx.storage.sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    void ctx.blockConcurrencyWhile(async () => {
      const durable = this.#rows.load(limits.leaseReplicaRows);
      // The clock is frozen between I/O: after a timer it is later than the read, and the fence counts from there.
      if (durable.horizon !== undefined) await scheduler.wait(1);
      this.#machine = new RevocationMachine(leaseTiming, limits.leaseReplicaRows, durable, nowMs(), {
        exactRows: limits.leaseSnapshotRows,
        snapshots: limits.leaseSnapshots,
      });
      this.#closeLater();
    });
  }

  async lease(request: LeaseRequest): Promise<LeaseResponse> {
    this.#waits.settle(this.#machine.confirm(request));
    const atMs = nowMs();
    const untilMs = this.#machine.holdUntilMs(request, atMs);
    if (untilMs > atMs) {
      this.#statistics.count("renewalsHeld");
      return this.#held.hold(request, atMs, untilMs);
    }
    this.#held.resolveHeld(request.holder);
    return this.#grant(request, 0, atMs);
  }

  async confirm(holder: string, seq: number): Promise<void> {
    this.#waits.settle(this.#machine.confirm({ holder, confirmedSeq: seq }));
  }

  async release(holder: string): Promise<void> {
    this.#held.resolveHeld(holder);
    this.#waits.settle(this.#machine.release(holder));
    this.#statistics.count("releases");
    this.#close();
  }

  async check(rowKeys: readonly string[], cutOffKeys: readonly string[], sinceCv: number): Promise<CheckResponse> {
    const atMs = nowMs();
    this.#reach(0, atMs);
    return this.#machine.check(rowKeys, cutOffKeys, sinceCv, atMs, this.#find);
  }

  async revoke(
    requests: readonly RevokeRequest[],
    wait: boolean,
    sinceCv?: number,
  ): Promise<{ readonly cv: number; readonly changes?: readonly NamedChange[] | undefined }> {
    const atMs = nowMs();
    const plan = this.#machine.plan({ rows: requests, cutOffs: [], cv: 0 }, this.#find);
    this.#commit(plan, () => {
      for (const { operationId, untilMs, event } of requests) {
        const first = this.#rows.isFirst(operationId, Math.max(untilMs, atMs + repeatableMs));
        if (first) this.#outbox.append(event, atMs);
      }
    });
    const acknowledged = await this.#acknowledge(wait);
    if (sinceCv === undefined) return acknowledged;
    return { cv: this.#machine.cv, changes: this.#machine.changesSince(sinceCv) };
  }

  async raise(
    change: { readonly cutOffs?: readonly CutOff[]; readonly cv?: number; readonly changes?: readonly NamedChange[] },
    wait: boolean,
  ): Promise<{ readonly cv: number }> {
    const { cutOffs = [], cv = 0, changes = [] } = change;
    this.#commit(this.#machine.plan({ rows: [], cutOffs, cv, changes }, this.#find));
    return this.#acknowledge(wait);
  }

  async statistics(): Promise<RevocationStatistics> {
    const { confirmations } = this.#machine;
    return this.#statistics.read({ confirmations, holders: this.#machine.countLiveHolders(nowMs()) });
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run([(atMs) => this.#outbox.flush(atMs), (_, passedMs) => this.#sweep(passedMs)], info);
  }

  #grant(request: LeaseRequest, heldMs: number, atMs: number): LeaseResponse {
    this.#reach(request.leaseMs, atMs);
    const response = this.#machine.lease(request, heldMs, atMs);
    if (response.kind === "lease") this.#statistics.count("leasesGranted");
    this.#buildFilterIfDue();
    return response;
  }

  readonly #find = (key: string) => this.#rows.find(key);

  /** Until it is built, isolates without a replica check exactly; those that have one get deltas. */
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

  #reach(leaseMs: number, atMs: number): void {
    const horizon = this.#machine.horizonDue(leaseMs, atMs);
    if (horizon === undefined) return;
    this.#rows.writeHorizon(horizon);
    this.#machine.extend(horizon, atMs);
    this.#closeLater();
  }

  /** No lease is left: after a sleep the next revocation need not wait for leases that cannot exist. */
  #close(): void {
    if (!this.#machine.mayClose(nowMs())) return;
    this.#rows.writeHorizon(undefined);
    this.#machine.close();
  }

  /** Withdraws the horizon when the last lease has ended, also if its holder never releases it. */
  #closeLater(): void {
    const closesAtMs = this.#machine.closesAtMs;
    if (closesAtMs === undefined || this.#closing) return;
    this.#closing = true;
    setTimeout(
      () => {
        this.#closing = false;
        this.#close();
        this.#closeLater();
      },
      Math.max(1, Math.ceil(closesAtMs - nowMs())),
    );
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
  async #acknowledge(wait: boolean): Promise<{ readonly cv: number }> {
    if (!wait) return { cv: this.#machine.cv };
    const startedAtMs = nowMs();
    const due = this.#machine.startWait(startedAtMs);
    const { pending, leasesMs, fenceMs } = due;
    if (leasesMs === 0 && fenceMs === 0) return { cv: this.#machine.cv };
    this.#statistics.start();
    await Promise.all([
      fenceMs > 0 ? scheduler.wait(fenceMs) : undefined,
      leasesMs > 0 ? this.#waits.wait(pending, startedAtMs) : undefined,
    ]);
    this.#machine.endWait(due);
    const slow = this.#statistics.end({ startedAtMs, leasesMs, fenceMs, lacking: pending.ended }, nowMs());
    if (slow !== undefined) log("acknowledgement-slow", { shard: this.ctx.id.name ?? "", ...slow });
    return { cv: this.#machine.cv };
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
