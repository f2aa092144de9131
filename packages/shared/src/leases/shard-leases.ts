import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { callObject, shardStub, withoutTimeLimit } from "../storage/call-object.ts";
import type { GenerationTable, RegionShards } from "../storage/generation-table.ts";
import { objectName, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import { SharedCall } from "../storage/shared-call.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { type RelayBindings, RelayLease } from "./relay-lease.ts";
import type { LeaseResponse, RevocationShard } from "./revocation-shard-rpc.ts";
import { type ShardReplica, ShardReplicas } from "./shard-replica.ts";

export type RevocationBindings = RelayBindings & {
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};

type Context = RequestContext<RevocationBindings>;

/** The state of one shard in this isolate. */
export interface LeasedShard {
  readonly name: string;
  readonly address: ShardAddress;
  readonly region: RegionShards;
  /** False after a change of the generation table: the shard must be located again. */
  located: boolean;
  readonly replica: ShardReplica;
  readonly keeper: LeaseKeeper;
  /** No lease is requested until this time: the shard has too many rows, or responds more slowly than a lease lasts. */
  checkUntilMs: number;
}

/** How long no lease is requested from a shard whose leases were of no use. */
const checkOnlyMs = 10_000;

/**
 * **The leases of an isolate on shards, and their replicas**: of its relay, or else of the shards themselves. They are renewed in the
 * background while requests use them. The control version of a response is applied before the response is installed.
 */
export class ShardLeases {
  readonly #control: ControlView;
  readonly #shardMap: ShardMap;
  readonly #shards = new Map<string, LeasedShard>();
  readonly #replicas = new ShardReplicas();
  readonly #relay: RelayLease;
  /** The shard whose lease ends last: it confirms the control version for requests that need no shard. */
  #latest: LeasedShard | undefined;

  readonly #leases = new SharedCall<RevocationBindings, LeasedShard, void>({
    name: "revocation",
    // A lease is valid for every request that arrives while it lasts, and it lasts from before it was requested.
    joinsCallInFlight: true,
    send: (context, shard) => this.#lease(context, shard, false),
  });

  constructor(control: ControlView, shardMap: ShardMap) {
    this.#control = control;
    this.#shardMap = shardMap;
    this.#relay = new RelayLease(control, shardMap, {
      replicaOf: (shard) => this.#replicas.of(shard),
      installed: () => this.#discardReplicas(),
      retain: (table) => this.#retain(table),
    });
    control.onChange("generations", () => {
      for (const shard of this.#shards.values()) shard.located = false;
    });
  }

  known(address: ShardAddress): LeasedShard | undefined {
    const shard = this.#shards.get(objectName("revocation", address));
    return shard?.located ? shard : undefined;
  }

  /** `undefined`: its generation has been retired. Throws {@link UnavailableError} if the table is not known. */
  async locate(context: Context, address: ShardAddress): Promise<LeasedShard | undefined> {
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
      keeper: new LeaseKeeper(name),
      checkUntilMs: never,
    };
    this.#shards.set(name, shard);
    return shard;
  }

  /** Whether a lease, of the shard or of the relay, is valid for a request that arrived then. */
  covers(shard: LeasedShard, arrivedAtMs: number): boolean {
    return shard.replica.covers(arrivedAtMs) || this.#relay.covers(shard.name, arrivedAtMs);
  }

  /** Records the use, and keeps the lease renewed in the background while there is traffic: the relay's if it covers the shard. */
  use(context: Context, shard: LeasedShard): void {
    this.#relay.use(context);
    if (this.#relay.covers(shard.name, context.arrivedAtMs)) return;
    if (shard.keeper.noteUse(context.arrivedAtMs)) return;
    shard.keeper.start(context, {
      get leaseMs() {
        return Math.max(context.settings.leaseMs, shard.replica.leaseMs);
      },
      renew: () => (this.#shards.get(shard.name) === shard ? this.#lease(context, shard, true) : undefined),
      release: () => this.#release(context, shard, shard.replica.lapse()),
    });
  }

  /** Releases the lease, so that the shard does not wait for this holder. If the call is lost, the shard waits until the lease has ended. */
  async #release(context: Context, shard: LeasedShard, holder: string): Promise<void> {
    try {
      await callObject("revocation", async () => await shardStubOf(context, shard).release(holder));
    } catch (cause) {
      log("lease-not-released", { shard: shard.name, cause: String(cause) });
    }
  }

  /** Whether a lease that confirms the control version was valid then; keeps that lease. */
  confirmsControl(context: Context): boolean {
    const latest = this.#latest;
    // A shard that a change of generations has removed is no longer used.
    if (latest?.located !== true || !this.covers(latest, context.arrivedAtMs)) return false;
    this.use(context, latest);
    return true;
  }

  /** Requests a lease for a request that none covers, if the shard was used within the length of a lease. Returns whether it covers the request. */
  async request(context: Context, shard: LeasedShard): Promise<boolean> {
    const { arrivedAtMs, settings } = context;
    const isUsed = shard.keeper.isUsedWithin(settings.leaseMs, arrivedAtMs);
    shard.keeper.noteUse(arrivedAtMs);
    if (isUsed) await this.#requestLease(context, shard);
    else this.#relay.use(context);
    if (!this.covers(shard, arrivedAtMs)) return false;
    this.use(context, shard);
    this.#noteLatest(shard);
    return true;
  }

  /** Requests a lease from the relay, or else from the shard. */
  async #requestLease(context: Context, shard: LeasedShard): Promise<void> {
    await this.#relay.request(context);
    const { arrivedAtMs } = context;
    if (this.covers(shard, arrivedAtMs) || this.#relay.isPaced(arrivedAtMs) || arrivedAtMs < shard.checkUntilMs) return;
    await this.#leases.call(context, shard.name, shard);
  }

  async #lease(context: Context, shard: LeasedShard, hold: boolean): Promise<void> {
    const { replica } = shard;
    const sentAtMs = nowMs();
    const request = replica.request(context.settings.leaseMs, this.#control.version, hold);
    const call = async () => await shardStubOf(context, shard).lease(request);
    const response = await withoutTimeLimit<LeaseResponse>("revocation", call);
    // Installed after the announced changes have been applied: the next request confirms both.
    await this.#control.observe(context, response.cv, response.changes);
    if (response.kind === "lease") replica.install(response, request, sentAtMs);
    if (response.kind === "checkOnly" || this.#replicas.isFull) {
      shard.keeper.stop();
      this.#relay.forget(shard.name);
      const holder = replica.clear();
      if (response.kind === "lease") context.waitUntil(this.#release(context, shard, holder));
    }
    const againMs = response.kind === "checkOnly" ? response.againMs : checkOnlyMs;
    // Randomly, so that isolates that started together do not call again together.
    if (!replica.covers(nowMs())) shard.checkUntilMs = nowMs() + againMs * (1 + Math.random());
    else this.#noteLatest(shard);
  }

  #noteLatest(shard: LeasedShard): void {
    const endMs = ({ name, replica }: LeasedShard) => Math.max(replica.validUntilMs, this.#relay.validUntilMs(name));
    if (this.#latest === undefined || endMs(shard) >= endMs(this.#latest)) this.#latest = shard;
  }

  /** The estimated size of all replicas. */
  get heldBytes(): number {
    return this.#replicas.heldBytes;
  }

  /** Discards the largest replicas until the others fit. Their shards are then called. */
  #discardReplicas(): void {
    while (this.#replicas.isFull) {
      const name = this.#replicas.largest();
      const shard = this.#shards.get(name);
      shard?.keeper.stop();
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

export function shardStubOf(context: Context, { address, region }: LeasedShard): DurableObjectStub<RevocationShard> {
  return shardStub(context.settings, context.env.TOKEN_REVOCATION_STORE, "revocation", address, region);
}
