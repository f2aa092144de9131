import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { callObject, shardStub, withoutTimeLimit } from "../storage/call-object.ts";
import type { GenerationTable, RegionShards } from "../storage/generation-table.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import { objectName, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import { SharedCall } from "../storage/shared-call.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { RelayReplica } from "./relay-replica.ts";
import type { RelayLeaseResponse, RevocationRelayRpc } from "./relay-rpc.ts";
import type { ShardReplica } from "./shard-replica.ts";

export type RelayBindings = StorageBindings & {
  readonly REVOCATION_RELAY: DurableObjectNamespace<RevocationRelayRpc>;
};

type Context = RequestContext<RelayBindings>;

interface Relay {
  readonly name: string;
  readonly address: ShardAddress;
  readonly region: RegionShards | undefined;
  readonly replica: RelayReplica;
  readonly keeper: LeaseKeeper;
  /** A renewal is being held. If no lease covers a request then, the relay is not responding. */
  isHolding: boolean;
  /** The relay did not respond: no request waits for it until this time. */
  avoidUntilMs: number;
  /** The relay sends too many snapshots: this isolate checks exactly until this time. */
  pacedUntilMs: number;
  /** How long the relay is avoided after the next failure. */
  avoidMs: number;
}

/** How long a relay that did not respond is not called: at first, and at most, doubling with each failure. */
const firstAvoidMs = 500;
const longestAvoidMs = 8_000;

/** The replicas that the lease covers: those of the shards, which exact checks and direct leases use too. */
export interface RelayedReplicas {
  replicaOf(shard: string): ShardReplica;
  /** Called after content was installed: the isolate may have to discard replicas. */
  installed(): void;
  /** Called after the generation table was read again. */
  retain(table: GenerationTable): void;
}

/**
 * **An isolate's lease from its relay**, which covers all shards by one renewal (ADR 22). The relay is one of the newest generation of
 * relays in the region nearest to the isolate's requests, chosen by a random id of the isolate. Without relays nothing is called.
 *
 * Cost: 1.7 background calls per lease length, and half a call more for each change. A request that needs a lease waits at most `relayCallMs` for the
 * relay; while a renewal is out and the lease has ended, and for 0.5 to 8 s after a failure, none waits: the shards are called.
 */
export class RelayLease {
  readonly #control: ControlView;
  readonly #shardMap: ShardMap;
  readonly #replicas: RelayedReplicas;
  #key: string | undefined;
  #relay: Relay | undefined;
  /** False until the generation table has been read, and after a change of it. */
  #isPlaced = false;

  readonly #leases = new SharedCall<RelayBindings, Relay, void>({
    name: "relay",
    callMs: limits.relayCallMs,
    joinsCallInFlight: true,
    send: (context, relay) => this.#lease(context, relay, false),
  });

  constructor(control: ControlView, shardMap: ShardMap, replicas: RelayedReplicas) {
    this.#control = control;
    this.#shardMap = shardMap;
    this.#replicas = replicas;
    control.onChange("generations", () => {
      this.#isPlaced = false;
    });
  }

  covers(shard: string, arrivedAtMs: number): boolean {
    return this.#relay?.replica.covers(shard, arrivedAtMs) === true;
  }

  /** Whether the relay is to be called again for a snapshot. Its shards are not asked for one meanwhile. */
  isPaced(arrivedAtMs: number): boolean {
    return this.#relay !== undefined && arrivedAtMs < this.#relay.pacedUntilMs;
  }

  validUntilMs(shard: string): number {
    return this.#relay?.replica.validUntilMs(shard) ?? Number.NEGATIVE_INFINITY;
  }

  /** The replica of this shard has been discarded. */
  forget(shard: string): void {
    this.#relay?.replica.forget(shard);
  }

  /** Notes a request, and keeps the lease renewed in the background while there is traffic. */
  use(context: Context): void {
    if (!this.#isPlaced) context.waitUntil(this.#place(context).then((relay) => relay && this.#keep(context, relay)));
    else if (this.#relay !== undefined) this.#keep(context, this.#relay);
  }

  /** Requests a lease, unless the relay is known not to respond. Never throws: the caller sees whether there is one. */
  async request(context: Context): Promise<void> {
    const relay = this.#isPlaced ? this.#relay : await this.#place(context);
    if (relay === undefined || relay.isHolding || isNotCalled(relay, context)) return;
    await this.#leases.call(context, relay.name, relay).catch((cause: unknown) => this.#avoid(relay, cause));
  }

  #keep(context: Context, relay: Relay): void {
    if (isNotCalled(relay, context) || relay.keeper.noteUse(context.arrivedAtMs)) return;
    // Responds at once: requests that need the lease join this call.
    let isFirst = !relay.isHolding && !relay.replica.isValid(context.arrivedAtMs);
    relay.keeper.start(context, {
      get leaseMs() {
        return leaseMsOf(context, relay);
      },
      renew: () => {
        if (this.#relay !== relay) return undefined;
        const hold = !isFirst;
        isFirst = false;
        const renewal = hold ? this.#lease(context, relay, true) : this.#leases.call(context, relay.name, relay);
        return renewal.catch((cause: unknown) => {
          this.#avoid(relay, cause);
          throw cause;
        });
      },
      release: () => this.#release(context, relay, relay.replica.lapse()),
    });
  }

  #avoid(relay: Relay, cause: unknown): void {
    if (!(cause instanceof UnavailableError)) throw cause;
    if (nowMs() < relay.avoidUntilMs) return;
    relay.avoidUntilMs = nowMs() + relay.avoidMs;
    relay.avoidMs = Math.min(2 * relay.avoidMs, longestAvoidMs);
    log("relay-avoided", { relay: relay.name, cause: String(cause.cause) });
  }

  /** The relay of this isolate by the current generation table. A relay that is no longer used is released. */
  async #place(context: Context): Promise<Relay | undefined> {
    this.#key ??= crypto.randomUUID();
    const address = await this.#shardMap.placeRelay(context, this.#key);
    const table = await this.#shardMap.table(context);
    const name = address && objectName("relay", address);
    this.#isPlaced = true;
    this.#replicas.retain(table);
    const former = this.#relay;
    if (former?.name === name) return former;
    if (former !== undefined) {
      former.keeper.stop();
      context.waitUntil(this.#release(context, former, former.replica.lapse()));
    }
    const never = Number.NEGATIVE_INFINITY;
    this.#relay =
      address &&
      ({
        name: objectName("relay", address),
        address,
        region: table.find("relay", address),
        replica: new RelayReplica(),
        keeper: new LeaseKeeper(objectName("relay", address)),
        isHolding: false,
        avoidUntilMs: never,
        pacedUntilMs: never,
        avoidMs: firstAvoidMs,
      } satisfies Relay);
    return this.#relay;
  }

  async #lease(context: Context, relay: Relay, hold: boolean): Promise<void> {
    const { replica } = relay;
    const sentAtMs = nowMs();
    const request = replica.request(context.settings.leaseMs, this.#control.version, hold);
    relay.isHolding = hold;
    try {
      const call = async (): Promise<RelayLeaseResponse> => await this.#stub(context, relay).lease(request);
      // Without `hold` the shared call has a time limit.
      const timeoutMs = leaseMsOf(context, relay) + limits.relayUpstreamMs;
      const response: RelayLeaseResponse = await (hold
        ? callObject("relay", call, timeoutMs)
        : withoutTimeLimit("relay", call));
      // Installed after the announced changes have been applied: the next request confirms both.
      if (response.cv >= 0) await this.#control.observe(context, response.cv, response.changes);
      if (this.#relay !== relay) return;
      if (response.againMs !== undefined) {
        // Randomly, so that isolates that started together do not call again together.
        relay.pacedUntilMs = nowMs() + response.againMs * (1 + Math.random());
        relay.keeper.stop();
        return;
      }
      relay.avoidMs = firstAvoidMs;
      replica.install(response, request, sentAtMs, (shard) => this.#replicas.replicaOf(shard));
      this.#replicas.installed();
    } finally {
      if (hold) relay.isHolding = false;
    }
  }

  async #release(context: Context, relay: Relay, holder: string): Promise<void> {
    try {
      await callObject("relay", async () => await this.#stub(context, relay).release(holder));
    } catch (cause) {
      log("lease-not-released", { shard: relay.name, cause: String(cause) });
    }
  }

  #stub(context: Context, { address, region }: Relay): DurableObjectStub<RevocationRelayRpc> {
    return shardStub(context.settings, context.env.REVOCATION_RELAY, "relay", address, region);
  }
}

function isNotCalled({ avoidUntilMs, pacedUntilMs }: Relay, { arrivedAtMs }: Context): boolean {
  return arrivedAtMs < Math.max(avoidUntilMs, pacedUntilMs);
}

function leaseMsOf({ settings }: Context, { replica }: Relay): number {
  return Math.max(settings.leaseMs, replica.leaseMs);
}
