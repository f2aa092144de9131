import { controlLeaseMs, leaseTiming, longestControlWaitMs } from "@edge-op/shared/config/lease-timing";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlLease } from "@edge-op/shared/control/control-plane-rpc";
import type { ChangeVersion } from "@edge-op/shared/control/control-view";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { HorizonKeeper } from "../leases/durable-horizon.ts";
import type { LeaseWait } from "../leases/given-leases.ts";
import { ConfirmationWaits } from "../leases/lease-holders.ts";
import type { AnnouncedLog } from "./announced-log.ts";
import { noteAnnounced } from "./change-log.ts";
import { ControlLeases } from "./control-leases.ts";
import type { UnfinishedWork } from "./unfinished-work.ts";

export type FollowerBindings = SettingsVariables & {
  readonly DB: D1Database;
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};

/**
 * When the alarm looks whether shards still renew, after a lease was given: before the platform lets an idle object hibernate, which takes 10 s, and
 * after three renewals that a shard in use would have made.
 */
const idleMs = 8_000;
/** A shard that did not respond is called again after this time, until its lease has ended. */
const raiseAgainMs = 500;

/**
 * **The shards that may vouch for a control version**: gives them leases, and brings a version into force. The shards that lack it are called at the
 * same time. A change does not wait for their calls, but for the ends of their leases and registrations. {@link ControlLeases} decides.
 *
 * Cost: an announcement is 1 D1 write, and 1 object call for each shard that was in use in the last ten seconds. While a shard is in use, an alarm in
 * eight seconds.
 */
export class Followers {
  readonly #env: FollowerBindings;
  readonly #log: AnnouncedLog;
  readonly #waits = new ConfirmationWaits();
  #leases!: ControlLeases;
  readonly #wakeBy: (atMs: number) => void;
  #horizon!: HorizonKeeper;
  #grantedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    ctx: DurableObjectState,
    env: FollowerBindings,
    announced: AnnouncedLog,
    ledger: UnfinishedWork,
    wakeBy: (atMs: number) => void,
  ) {
    this.#env = env;
    this.#log = announced;
    this.#wakeBy = wakeBy;
    void ctx.blockConcurrencyWhile(async () => {
      const horizon = ledger.leaseHorizon();
      const gap = announced.lastGap();
      // The clock is frozen between I/O: after a timer, it is later than the read, and the fence counts from then.
      if (horizon !== undefined || gap.version > 0) await scheduler.wait(1);
      const durable = { horizon, restoredAtMs: gap.version > 0 ? gap.atMs : undefined };
      this.#leases = new ControlLeases(leaseTiming, durable, nowMs());
      this.#horizon = new HorizonKeeper(this.#leases, (due) => ledger.writeLeaseHorizon(due));
      if (horizon !== undefined) this.#horizon.closeLater(() => this.#lookAgain());
    });
  }

  give(shard: string, since: number): ControlLease {
    const atMs = nowMs();
    const { isComplete, ...news } = this.#log.news(since, atMs);
    if (!isComplete) return { ...news, leaseMs: 0 };
    this.#horizon.reach(controlLeaseMs, atMs);
    this.#grantedAtMs = atMs;
    this.#wakeBy(atMs + idleMs);
    return { ...news, leaseMs: this.#leases.give(shard, news.cv, atMs) };
  }

  /**
   * Withdraws the horizon after the last lease, as a task of the alarm: no timer keeps the object awake while shards renew, which they do four times
   * in a lease.
   */
  closeWhenIdle(atMs: number): number | undefined {
    // A clock that was set back must not postpone it.
    if (Math.abs(atMs - this.#grantedAtMs) < idleMs) return this.#grantedAtMs + idleMs;
    this.#horizon.closeLater(() => this.#lookAgain());
    return undefined;
  }

  #lookAgain(): void {
    if (this.#leases.closesAtMs !== undefined) this.#wakeBy(nowMs() + idleMs);
  }

  /** D1 was restored: it has lost registrations. */
  restored(): void {
    this.#leases.restored(nowMs());
  }

  /**
   * Called after the change is stored as announced. Resolves with true when no shard vouches for an older version, and with false if D1 was restored
   * meanwhile.
   */
  async bringIntoForce(announced: ChangeVersion): Promise<boolean> {
    const cv = announced.version;
    const [isNoted] = await Promise.all([
      this.#waitForRegistered(announced),
      this.#waitFor(this.#leases.startWait(cv, nowMs()), cv),
    ]);
    return isNoted;
  }

  async #waitForRegistered(announced: ChangeVersion): Promise<boolean> {
    const registered = await noteAnnounced(this.#env.DB, announced);
    if (registered === undefined) return false;
    const cv = announced.version;
    await this.#waitFor(this.#leases.startRegisteredWait(cv, registered, nowMs()), cv);
    return true;
  }

  async #waitFor(wait: LeaseWait, cv: number): Promise<void> {
    const { pending, startedAtMs, leasesMs, fenceMs } = wait;
    const over = Promise.all([
      fenceMs > 0 ? scheduler.wait(fenceMs) : undefined,
      leasesMs > 0 ? this.#waits.wait(pending, startedAtMs) : undefined,
    ]);
    for (const shard of pending.lacking.keys()) void this.#tell(shard, cv, wait);
    await over;
    this.#leases.endWait(wait);
    for (const shard of pending.ended) log("shard-not-told", { shard, cause: "its lease has ended" });
  }

  /** Sends the change until the shard has acknowledged it, or its lease has ended. */
  async #tell(shard: string, cv: number, wait: LeaseWait): Promise<void> {
    const settings = readSettings(this.#env);
    const call = async () => {
      const stub = objectStub(settings, this.#env.TOKEN_REVOCATION_STORE, shard);
      const after = this.#leases.sentTo(shard);
      const { isComplete, ...news } = this.#log.news(after, nowMs());
      // A shard that lacks much reads the log itself.
      const change = isComplete ? { after, ...news } : { after: cv };
      const told = await stub.raise(change, settings.revocationMode !== "bounded");
      if (told.cv < cv) throw new Error(`the shard contains ${told.cv}`);
    };
    while (wait.pending.lacking.has(shard)) {
      try {
        await callObject("revocation shard", call, longestControlWaitMs);
        this.#waits.settle(this.#leases.confirm(wait, shard, cv));
      } catch (cause) {
        log("shard-not-told", { shard, cause: String(cause) });
        await scheduler.wait(raiseAgainMs);
      }
    }
  }
}
