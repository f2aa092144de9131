import type { RelayLeaseRequest, RelayLeaseResponse } from "@edge-op/shared/objects/revocation-relay";
import type { LeaseRequest } from "@edge-op/shared/objects/token-revocation-store";
import type { RelayMachine } from "../../src/relay/relay-machine.ts";
import type { RelayWiring } from "./relay-wiring.ts";
import { type Modes, type Shard, type ShardGrant, type SimulatedShards, shardNames } from "./simulated-shards.ts";
import type { HeldCall, Server, SimulatedWorld } from "./simulated-world.ts";

export interface RelayGrant {
  readonly response: RelayLeaseResponse;
  /** In real time: when the relay takes the lease for ended, and when each shard takes the relay's lease for ended. */
  readonly endsMs: number;
  readonly shardEndsMs: ReadonlyMap<string, number>;
}

export interface Relay extends Server<RelayLeaseRequest, RelayGrant> {
  readonly machine: RelayMachine;
  readonly shardEndsMs: Map<string, number>;
  keeping: boolean;
}

export const relayCount = 2;
export const leaseMs = 1_000;
/** In real time: isolates have leases by then, unless snapshots are paced. */
export const warmAfterMs = 2_000;

/** **The relays of a simulation**: the real machine, its renewals at the shards, and its confirmations. */
export class SimulatedRelays {
  readonly relays: Relay[];
  readonly #world: SimulatedWorld;
  readonly #wiring: RelayWiring;
  readonly #modes: Modes;
  readonly #shards: SimulatedShards;
  #runs = 0;
  /** Requests for a lease of isolates that had time to become warm. */
  warmCalls = 0;

  constructor(world: SimulatedWorld, wiring: RelayWiring, modes: Modes, shards: SimulatedShards) {
    this.#world = world;
    this.#wiring = wiring;
    this.#modes = modes;
    this.#shards = shards;
    this.relays = Array.from({ length: relayCount }, () => this.#boot());
  }

  #boot(): Relay {
    const machine = this.#wiring.bootRelay(`relay-${this.#runs++}`, this.#modes.paced);
    machine.setShards(shardNames);
    const server = this.#world.server<RelayLeaseRequest, RelayGrant>(this.#world.node());
    return { ...server, machine, shardEndsMs: new Map(), keeping: false };
  }

  /** The old run ends, or goes on beside its successor: calls that have reached it are answered. */
  restart(): void {
    const index = Math.floor(this.#world.random() * relayCount);
    const old = this.relays[index]!;
    this.relays[index] = this.#boot();
    this.#world.count("relayRestarts");
    if (this.#world.chance(0.6)) old.alive = false;
  }

  lease(relay: Relay, sent: RelayLeaseRequest, respond: (grant: RelayGrant) => void): void {
    const { machine } = relay;
    const atMs = this.#world.read(relay);
    const request = this.#wiring.downstream(sent, machine.version);
    this.#world.count("relayCalls");
    if (this.#world.nowMs > warmAfterMs) this.warmCalls += 1;
    this.#world.settle(relay, machine.confirm(request));
    const call = { request, arrivedAtMs: atMs, respond };
    const untilMs = this.#wiring.holdUntilMs(machine.holdUntilMs(request, atMs), atMs);
    this.#world.holdOrGrant(relay, call, untilMs, (due) => this.#grant(relay, due));
    this.#keepLeases(relay);
  }

  release(relay: Relay, holder: string): void {
    this.#world.settle(relay, relay.machine.release(holder));
  }

  #grant(relay: Relay, { request, arrivedAtMs, respond }: HeldCall<RelayLeaseRequest, RelayGrant>): void {
    const { machine, clock } = relay;
    const atMs = this.#world.read(relay);
    const response = machine.lease(request, Math.max(0, atMs - arrivedAtMs), atMs);
    if (response.againMs !== undefined) this.#world.count("paced");
    if (this.#wiring.confirmsOnSend) this.#world.settle(relay, machine.confirm({ ...request, ...response }));
    const endsMs = clock.realOf(machine.leaseEndMs(request.holder));
    respond({ response: this.#wiring.response(response, request), endsMs, shardEndsMs: new Map(relay.shardEndsMs) });
  }

  /** Leases have various lengths: a server under pressure grants longer ones, and shorter ones later. */
  requestedMs(): number {
    return this.#world.faults && this.#world.chance(0.3) ? 300 + 2_700 * this.#world.random() : leaseMs;
  }

  #keepLeases(relay: Relay): void {
    if (relay.keeping) return;
    relay.keeping = true;
    for (const shard of this.#shards.shards) this.#renew(relay, shard);
  }

  #renew(relay: Relay, shard: Shard): void {
    if (!relay.alive) return;
    const isUsed = relay.machine.countLiveHolders(this.#world.read(relay)) > 0 || relay.held.size > 0;
    if (!isUsed || (!this.#wiring.releasesWhenUnused && this.#world.chance(0.02))) {
      this.#releaseAll(relay);
      return;
    }
    if (!relay.keeping) return;
    const request = relay.machine.request(shard.name, this.requestedMs());
    if (request === undefined) return;
    const sent = this.#wiring.upstream(request);
    const sentAtMs = this.#world.read(relay);
    let isOver = false;
    const again = (delayMs: number) => {
      if (isOver) return;
      isOver = true;
      this.#world.after(delayMs, () => this.#world.whenRunning(relay, () => this.#renew(relay, shard)));
    };
    const instance = this.#shards.reachedBy(shard);
    this.#world.send(relay, instance, () => {
      this.#shards.lease(shard, instance, sent, (grant) => {
        const lost = () => {
          if (this.#wiring.forgetsOnDisconnect) this.#shards.release(shard, instance, sent.holder);
        };
        this.#world.send(instance, relay, () => this.#install(relay, shard, request, sentAtMs, grant, again), lost);
      });
    });
    this.#world.after(2 * leaseMs, () => again(0));
  }

  #install(
    relay: Relay,
    shard: Shard,
    request: LeaseRequest,
    sentAtMs: number,
    { response, endsMs }: ShardGrant,
    again: (delayMs: number) => void,
  ): void {
    const { machine } = relay;
    const atMs = this.#world.read(relay);
    const heldMs = response.kind === "lease" ? response.heldMs : 0;
    const isNews = machine.install(shard.name, response, request, this.#wiring.sentAt(sentAtMs, atMs, heldMs));
    const known = relay.shardEndsMs.get(shard.name) ?? 0;
    relay.shardEndsMs.set(shard.name, Math.max(known, endsMs));
    if (isNews) this.#world.announce(relay, (call) => this.#grant(relay, call));
    const wait = machine.startWait(atMs);
    if (wait !== undefined) {
      const nextWaitMs = this.#wiring.waitsForIsolates ? this.#wiring.nextWaitMs : () => 0;
      this.#world.await(relay, wait.pending, wait.startedAtMs, nextWaitMs, () =>
        this.#world.whenRunning(relay, () => {
          for (const { shard: name, holder, seq } of machine.endWait(wait)) {
            this.#world.count("upstreamConfirmations");
            const to = this.#shards.reachedBy(this.#shards.named(name));
            this.#world.send(relay, to, () => this.#shards.confirm(to, holder, seq));
          }
        }),
      );
    }
    const isCovered = machine.isCovered(shard.name, atMs);
    again(response.kind === "lease" || isCovered ? 0 : response.againMs);
  }

  #releaseAll(relay: Relay): void {
    relay.keeping = false;
    for (const { shard: name, holder } of relay.machine.lapse()) {
      const shard = this.#shards.named(name);
      const to = this.#shards.reachedBy(shard);
      this.#world.send(relay, to, () => this.#shards.release(shard, to, holder));
    }
  }
}
