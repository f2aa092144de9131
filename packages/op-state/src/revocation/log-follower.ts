import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { controlLeaseMs } from "@edge-op/shared/config/lease-timing";
import { limits } from "@edge-op/shared/config/limits";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlLease, ControlNews, ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { firstResult, within } from "@edge-op/shared/runtime/deadline";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { type Contained, registerAtDatabase } from "./register-at-database.ts";

export type LogFollowerBindings = SettingsVariables & {
  readonly DB: D1Database;
  readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc>;
};

/** The shard's part: the content of its log, and a method that stores more. */
interface Follower {
  readonly name: string;
  contained(): Contained;
  /** Synchronous; takes effect immediately. */
  install(news: ControlNews): void;
}

/**
 * **The control log as a shard follows it**: by a lease of the control plane, or a registration in D1 when that does not respond within a
 * second. Renewed in the background of calls, so an idle shard sleeps, and its next call follows first. Cost while the shard is in use:
 * 1 object call in 2.5 s; without the control plane, 1 D1 write.
 */
export class LogFollower {
  readonly #env: LogFollowerBindings;
  readonly #follower: Follower;
  readonly #coverage = new LeaseCoverage();
  #pending: Promise<void> | undefined;

  constructor(env: LogFollowerBindings, follower: Follower) {
    this.#env = env;
    this.#follower = follower;
  }

  /** How long the shard may vouch for the version that it contains. */
  leftMs(atMs: number): number {
    return this.#coverage.leftMs(atMs);
  }

  /** Whether the shard may vouch for `leastMs`; renews the lease in the background. */
  use(atMs: number, leastMs: number): boolean {
    if (this.#coverage.leftMs(atMs) < leastMs) return false;
    if (this.#coverage.isRenewalDue(atMs) && this.#pending === undefined) {
      this.follow().catch((cause: unknown) => {
        log("control-not-followed", { shard: this.#follower.name, cause: String(cause) });
      });
    }
    return true;
  }

  /** Resolves when the shard contains every change that was announced before this call, and may vouch for it. Concurrent calls share it. */
  follow(): Promise<void> {
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #renew(): Promise<void> {
    this.#coverage.begin(nowMs());
    const ways = [() => this.#lease(), () => this.#register()];
    await within(limits.objectCallMs, firstResult(ways, limits.controlPlaneMs), () => {
      throw new UnavailableError("control plane", new Error(`no response within ${limits.objectCallMs} ms`));
    });
  }

  async #lease(): Promise<void> {
    const stub = objectStub(readSettings(this.#env), this.#env.CONTROL_PLANE, controlPlaneName);
    for (;;) {
      const sentAtMs = nowMs();
      const { cv } = this.#follower.contained();
      const call = async (): Promise<ControlLease> => await stub.follow(this.#follower.name, cv);
      const { leaseMs, ...news } = await callObject("control plane", call);
      this.#follower.install(news);
      if (leaseMs === 0) continue;
      this.#coverage.extend(sentAtMs, leaseMs);
      return;
    }
  }

  async #register(): Promise<void> {
    const sentAtMs = nowMs();
    const { name } = this.#follower;
    this.#follower.install(await registerAtDatabase(this.#env.DB, name, this.#follower.contained(), sentAtMs));
    this.#coverage.extend(sentAtMs, controlLeaseMs);
    log("control-registered", { shard: name });
  }
}

/** A lease is renewed when this share of it has passed, while the shard is used. */
const renewShare = 1 / 4;

/**
 * **Until when a shard vouches for the control version** (docs/reference/protocols.md §2). Pure. A lease counts from before the call, and only
 * when the shard contains what came with it; its own leases for isolates end no later, by its own clock.
 */
export class LeaseCoverage {
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #followedAtMs = Number.NEGATIVE_INFINITY;

  /** How long the shard may vouch for the version that it contains. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#validUntilMs - nowMs);
  }

  isRenewalDue(nowMs: number): boolean {
    // A clock that was set back must not stop it.
    return Math.abs(nowMs - this.#followedAtMs) >= renewShare * controlLeaseMs;
  }

  /** Notes that a renewal begins. */
  begin(nowMs: number): void {
    this.#followedAtMs = nowMs;
  }

  /** Called after everything that came with the lease is stored. `sentAtMs`: before it was requested. */
  extend(sentAtMs: number, leaseMs: number): void {
    this.#validUntilMs = Math.max(this.#validUntilMs, sentAtMs + leaseMs);
  }
}
