import type { ControlView } from "../cache/control-view.ts";
import { SharedCall } from "../calls/shared-call.ts";
import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { leaseTiming, longestWaitMs } from "../objects/lease-timing.ts";
import {
  type CheckResponse,
  type LeaseResponse,
  noVersion,
  type RevocationShard,
  type RevokeRequest,
} from "../objects/token-revocation-store.ts";
import { nowMs } from "../runtime/clock.ts";
import { within } from "../runtime/deadline.ts";
import { firstResult } from "../runtime/first-result.ts";
import { log } from "../runtime/log.ts";
import { callObject, shardStub, withoutTimeLimit } from "../sharding/call-object.ts";
import { callWaitingObject } from "../sharding/call-waiting-object.ts";
import type { GenerationTable, RegionShards } from "../sharding/generation-table.ts";
import { objectName, type ShardAddress } from "../sharding/shard-address.ts";
import type { ShardMap } from "../sharding/shard-map.ts";
import { ControlShards } from "./control-shards.ts";
import { isNamed, keysToCheck } from "./exact-check.ts";
import { type RelayBindings, RelayLease } from "./relay-lease.ts";
import { Renewals } from "./renewals.ts";
import type { RevocationSubject } from "./revocation-subject.ts";
import type { ShardReplica } from "./shard-replica.ts";
import { ShardReplicas } from "./shard-replicas.ts";

export type RevocationBindings = RelayBindings & {
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};

type Context = RequestContext<RevocationBindings>;

/** The state of one shard in this isolate. */
interface Shard {
  readonly name: string;
  readonly address: ShardAddress;
  readonly region: RegionShards;
  /** False after a change of the generation table: the shard must be located again. */
  located: boolean;
  readonly replica: ShardReplica;
  readonly renewals: Renewals;
  /** No lease is requested until then: the shard has too many rows, or responds more slowly than a lease lasts. */
  checkUntilMs: number;
}

interface CheckRequest {
  readonly shard: Shard;
  readonly subjects: readonly RevocationSubject[];
}

/** How long no lease is requested from a shard whose leases were of no use. */
const checkOnlyMs = 10_000;

/**
 * **Decides whether tokens are revoked** (docs/reference/protocols.md §2): by a lease that was valid when the request arrived,
 * otherwise by a call of the grant's shard. Without either it throws {@link UnavailableError}; it never guesses. Concurrent calls
 * of a shard are shared.
 *
 * Cost: `direct` one object call per shard; `strict` and `bounded` none while traffic keeps a lease. The control version of a
 * response is applied before the response is used, and a lease is used only after that.
 */
export class RevocationView {
  readonly #control: ControlView;
  readonly #shardMap: ShardMap;
  readonly #shards = new Map<string, Shard>();
  readonly #replicas = new ShardReplicas();
  readonly #relay: RelayLease;
  /** The shard whose lease ends last: it confirms the control version for requests that need no shard. */
  #latest: Shard | undefined;
  /** The shards from which this isolate reads the control version alone; isolates spread over the shards. */
  readonly #controlShards: ControlShards;

  readonly #leases = new SharedCall<RevocationBindings, Shard, void>({
    name: "revocation",
    // A lease is valid for every request that arrives while it lasts, and it lasts from before it was requested.
    joinsCallInFlight: true,
    send: (context, shard) => this.#lease(context, shard, false),
  });
  readonly #checks = new SharedCall<RevocationBindings, CheckRequest, CheckResponse>({
    name: "revocation",
    maxBatch: 200,
    send: async (context, requests) => [await this.#check(context, requests)],
  });

  constructor(control: ControlView, shardMap: ShardMap) {
    this.#control = control;
    this.#shardMap = shardMap;
    this.#controlShards = new ControlShards(shardMap);
    this.#relay = new RelayLease(control, shardMap, {
      replicaOf: (shard) => this.#replicas.of(shard),
      installed: () => this.#discardReplicas(),
      retain: (table) => this.#retain(table),
    });
    control.onChange("generations", () => {
      for (const shard of this.#shards.values()) shard.located = false;
    });
  }

  /** Throws {@link UnavailableError} if neither a lease nor the shard is available. */
  async isRevoked(context: Context, subjects: readonly RevocationSubject[]): Promise<boolean> {
    let pending: Map<Shard, RevocationSubject[]> | undefined;
    for (const subject of subjects) {
      const shard = this.#known(subject.address) ?? (await this.#locate(context, subject.address));
      // Every token of a retired generation has expired, and no object may be addressed (G1).
      if (shard === undefined) return true;
      if (this.#covers(shard, context.arrivedAtMs)) {
        this.#use(context, shard);
        context.progress.controlConfirmed = true;
        if (shard.replica.isRevoked(subject)) return true;
        if (!shard.replica.needsCheck(subject)) continue;
      }
      pending ??= new Map();
      pending.set(shard, [...(pending.get(shard) ?? []), subject]);
    }
    if (pending === undefined) return false;
    const verdicts = await Promise.all([...pending].map(([shard, those]) => this.#consult(context, shard, those)));
    return verdicts.includes(true);
  }

  /** Resolves when the revocation is durable and, unless the mode is `bounded`, in force everywhere. */
  async revoke(context: Context, address: ShardAddress, requests: readonly RevokeRequest[]): Promise<void> {
    const shard = this.#known(address) ?? (await this.#locate(context, address));
    // Retired: every token of the generation has expired.
    if (shard === undefined) return;
    const { revocationMode, leaseMs } = context.settings;
    const wait = revocationMode !== "bounded";
    const waitMs = wait ? longestWaitMs(leaseTiming, leaseMs) : 0;
    const { cv } = await callWaitingObject<{ readonly cv: number }>("revocation", {
      call: async () => await stubOf(context, shard).revoke(requests, wait),
      probe: async () => await stubOf(context, shard).check([], [], -1),
      waitMs,
    });
    await this.#control.observe(context, cv);
    context.progress.controlConfirmed = true;
  }

  /**
   * Whether `control.version` is as fresh as the request's arrival: a lease was valid then, or a shard has responded since. No
   * cost.
   */
  isControlConfirmed(context: Context): boolean {
    const { progress, arrivedAtMs } = context;
    // A shard that a change of generations has removed may not receive the next change.
    if (!progress.controlConfirmed && this.#latest?.located && this.#covers(this.#latest, arrivedAtMs)) {
      this.#use(context, this.#latest);
      progress.controlConfirmed = true;
    }
    return progress.controlConfirmed;
  }

  /**
   * Confirms the control version. Every live shard knows it, so if one fails or is slow the next is called: at most `controlShards`
   * shards, `objectCallMs` in total. Cost: 0 or 1 object call while the isolate's shard responds.
   */
  async confirmControl(context: Context): Promise<void> {
    if (this.isControlConfirmed(context)) return;
    const addresses = await this.#controlShards.inTurn(context);
    const pending = firstResult(
      addresses.map((address, turn) => async () => {
        const shard = this.#known(address) ?? (await this.#locate(context, address));
        if (shard === undefined) throw new UnavailableError("generation table", new Error("no shard to call"));
        await this.#consult(context, shard, []);
        if (turn > 0) this.#controlShards.prefer(address);
      }),
      limits.controlShardMs,
    );
    await within(limits.objectCallMs, pending, () => {
      throw new UnavailableError("revocation", new Error(`no shard responded within ${limits.objectCallMs} ms`));
    });
  }

  #known(address: ShardAddress): Shard | undefined {
    const shard = this.#shards.get(objectName("revocation", address));
    return shard?.located ? shard : undefined;
  }

  async #locate(context: Context, address: ShardAddress): Promise<Shard | undefined> {
    const name = objectName("revocation", address);
    const region = await this.#shardMap.locate(context, "revocation", address);
    const known = this.#shards.get(name);
    if (region === undefined) {
      this.#forget(name);
      return undefined;
    }
    if (known !== undefined) {
      known.located = true;
      return known;
    }
    const never = Number.NEGATIVE_INFINITY;
    const replica = this.#replicas.of(name);
    const shard = {
      name,
      address,
      region,
      located: true,
      replica,
      renewals: new Renewals(name),
      checkUntilMs: never,
    };
    this.#shards.set(name, shard);
    return shard;
  }

  /** Whether a lease, of the shard or of the relay, is valid for a request that arrived then. */
  #covers(shard: Shard, arrivedAtMs: number): boolean {
    return shard.replica.covers(arrivedAtMs) || this.#relay.covers(shard.name, arrivedAtMs);
  }

  /** Records the use, and keeps the lease renewed in the background while there is traffic: the relay's if it covers the shard. */
  #use(context: Context, shard: Shard): void {
    this.#relay.use(context);
    if (this.#relay.covers(shard.name, context.arrivedAtMs)) return;
    if (shard.renewals.noteUse(context.arrivedAtMs)) return;
    shard.renewals.start(context, {
      get leaseMs() {
        return Math.max(context.settings.leaseMs, shard.replica.leaseMs);
      },
      renew: () => (this.#shards.get(shard.name) === shard ? this.#lease(context, shard, true) : undefined),
      release: () => this.#release(context, shard, shard.replica.lapse()),
    });
  }

  /**
   * Releases the lease, so that the shard need not wait for this holder. If the call is lost, the shard waits until the lease has
   * ended.
   */
  async #release(context: Context, shard: Shard, holder: string): Promise<void> {
    try {
      await callObject("revocation", async () => await stubOf(context, shard).release(holder));
    } catch (cause) {
      log("lease-not-released", { shard: shard.name, cause: String(cause) });
    }
  }

  /** Calls a shard whose lease does not cover the request: for a lease if there is traffic, otherwise for an exact check. */
  async #consult(context: Context, shard: Shard, subjects: readonly RevocationSubject[]): Promise<boolean> {
    const { arrivedAtMs, settings } = context;
    const isLeasing = settings.revocationMode !== "direct";
    if (isLeasing) {
      const isUsed = shard.renewals.isUsedWithin(settings.leaseMs, arrivedAtMs);
      shard.renewals.noteUse(arrivedAtMs);
      if (isUsed) await this.#requestLease(context, shard);
      else this.#relay.use(context);
      if (this.#covers(shard, arrivedAtMs)) {
        this.#use(context, shard);
        this.#noteLatest(shard);
        context.progress.controlConfirmed = true;
        if (subjects.some((subject) => shard.replica.isRevoked(subject))) return true;
        if (!subjects.some((subject) => shard.replica.needsCheck(subject))) return false;
      }
    }
    const remember = shard.replica.rememberCheck();
    const response = await this.#checks.call(context, shard.name, { shard, subjects });
    context.progress.controlConfirmed = true;
    for (const subject of subjects) remember(subject, response);
    return subjects.some((subject) => isNamed(subject, response));
  }

  /** From the relay, or else from the shard. */
  async #requestLease(context: Context, shard: Shard): Promise<void> {
    await this.#relay.request(context);
    const { arrivedAtMs } = context;
    if (this.#covers(shard, arrivedAtMs) || this.#relay.isPaced(arrivedAtMs) || arrivedAtMs < shard.checkUntilMs)
      return;
    await this.#leases.call(context, shard.name, shard);
  }

  async #lease(context: Context, shard: Shard, hold: boolean): Promise<void> {
    const { replica } = shard;
    const sentAtMs = nowMs();
    const request = replica.request(context.settings.leaseMs, this.#control.version, hold);
    const call = async () => await stubOf(context, shard).lease(request);
    const response = await withoutTimeLimit<LeaseResponse>("revocation", call);
    // Installed after the announced changes have been applied: the next request confirms both.
    await this.#control.observe(context, response.cv, response.changes);
    if (response.kind === "lease") replica.install(response, request, sentAtMs);
    if (response.kind === "checkOnly" || this.#replicas.isFull) {
      shard.renewals.stop();
      this.#relay.forget(shard.name);
      const holder = replica.clear();
      if (response.kind === "lease") context.waitUntil(this.#release(context, shard, holder));
    }
    const againMs = (response.kind === "checkOnly" && response.againMs) || checkOnlyMs;
    // At random, so that isolates that started together do not come again together.
    if (!replica.covers(nowMs())) shard.checkUntilMs = nowMs() + againMs * (1 + Math.random());
    else this.#noteLatest(shard);
  }

  #noteLatest(shard: Shard): void {
    const endMs = ({ name, replica }: Shard) => Math.max(replica.validUntilMs, this.#relay.validUntilMs(name));
    if (this.#latest === undefined || endMs(shard) >= endMs(this.#latest)) this.#latest = shard;
  }

  async #check(context: Context, requests: readonly CheckRequest[]): Promise<CheckResponse> {
    const { shard } = requests[0]!;
    const subjects = requests.flatMap((request) => request.subjects);
    const { rows, cutOffs } = keysToCheck(subjects);
    const sinceCv = this.#control.version ?? noVersion;
    const call = async () => await stubOf(context, shard).check(rows, cutOffs, sinceCv);
    const response = await withoutTimeLimit<CheckResponse>("revocation", call);
    await this.#control.observe(context, response.cv, response.changes);
    return response;
  }

  /** The estimated size of all replicas. */
  get heldBytes(): number {
    return this.#replicas.heldBytes;
  }

  /** Discards the largest replicas until the others fit. Their shards are called. */
  #discardReplicas(): void {
    while (this.#replicas.isFull) {
      const name = this.#replicas.largest();
      const shard = this.#shards.get(name);
      shard?.renewals.stop();
      if (shard !== undefined) shard.checkUntilMs = nowMs() + checkOnlyMs;
      this.#relay.forget(name);
      this.#replicas.of(name).clear();
    }
  }

  #forget(name: string): void {
    this.#shards.delete(name);
    this.#replicas.delete(name);
    this.#relay.forget(name);
  }

  #retain(table: GenerationTable): void {
    const live = new Set(table.live("revocation").map((address) => objectName("revocation", address)));
    for (const name of this.#replicas.outside(live)) this.#forget(name);
  }
}

function stubOf(context: Context, { address, region }: Shard): DurableObjectStub<RevocationShard> {
  return shardStub(context.settings, context.env.TOKEN_REVOCATION_STORE, "revocation", address, region);
}
