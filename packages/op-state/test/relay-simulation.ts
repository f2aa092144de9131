import { HeldRenewals } from "@edge-op/shared/leases/held-renewals";
import type { PendingChange } from "@edge-op/shared/leases/lease-holders";
import { leaseTiming } from "@edge-op/shared/objects/lease-timing";
import type { RelayLeaseRequest, RelayLeaseResponse } from "@edge-op/shared/objects/revocation-relay";
import type { LeaseRequest, LeaseResponse, NamedChange } from "@edge-op/shared/objects/token-revocation-store";
import { RelayReplica } from "@edge-op/shared/revocation/relay-replica";
import { ShardReplica } from "@edge-op/shared/revocation/shard-replica";
import type { RelayMachine } from "../src/relay/relay-machine.ts";
import { type Horizon, RevocationMachine } from "../src/revocation/revocation-machine.ts";
import type { Entry } from "../src/revocation/revoked-set.ts";
import type { RelayWiring } from "./relay-wiring.ts";
import { Agenda, Clock, randomFrom } from "./simulated-time.ts";

/** Something that runs: its clock, and whether it runs at all. */
interface Node {
  readonly clock: Clock;
  alive: boolean;
  frozenUntilMs: number;
}

interface HeldCall<Request, Response> {
  readonly request: Request;
  readonly arrivedAtMs: number;
  respond(response: Response): void;
}

interface Server<Request, Response> extends Node {
  readonly held: HeldRenewals<HeldCall<Request, Response>>;
  readonly waiting: Map<PendingChange, () => void>;
}

interface ShardInstance extends Server<LeaseRequest, ShardGrant> {
  readonly machine: RevocationMachine;
}

/** A shard: its storage, and the instance that owns it. */
interface Shard {
  readonly name: string;
  readonly stored: Map<string, Entry>;
  seq: number;
  cv: number;
  horizon: Horizon | undefined;
  owner: ShardInstance;
}

/** `endsMs`: in real time, when the server takes the lease for ended. */
interface ShardGrant {
  readonly response: LeaseResponse;
  readonly endsMs: number;
}

interface RelayGrant {
  readonly response: RelayLeaseResponse;
  readonly endsMs: number;
  /** In real time, when each shard takes the relay's lease for ended. */
  readonly shardEndsMs: ReadonlyMap<string, number>;
}

interface Relay extends Server<RelayLeaseRequest, RelayGrant> {
  readonly machine: RelayMachine;
  readonly shardEndsMs: Map<string, number>;
  keeping: boolean;
}

interface Isolate extends Node {
  relayed: RelayReplica;
  readonly replicas: Map<string, ShardReplica>;
  /** The index of its relay; `undefined`: it leases from the shards. */
  relay: number | undefined;
  cv: number;
  /** Numbers of the renewals that are out, by relay or shard; an older one starts no other. */
  readonly renewals: Map<string, number>;
  lastUseMs: number;
}

export interface RelayRun {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  readonly controlAcknowledged: number;
  readonly decidedByRelay: number;
  readonly decidedByShard: number;
  readonly decidedByCheck: number;
  readonly upstreamConfirmations: number;
  readonly uncovered: number;
  readonly relayRestarts: number;
  readonly shardRestarts: number;
  readonly servedBySuperseded: number;
  readonly frozen: number;
  readonly killed: number;
  readonly partitions: number;
  readonly discarded: number;
  readonly closings: number;
  readonly relayCalls: number;
  readonly acknowledgementsMs: readonly number[];
}

const runMs = 14_000;
const shardNames = ["revocation:g1:wnam:0", "revocation:g1:wnam:1"];
const relayCount = 2;
const isolateCount = 5;
const leaseMs = 1_000;
const neverMs = 10_000_000_000;

/**
 * **A discrete-event simulation of shards, relays and isolates** (ADR 24), with the real machines, holders and replicas. Clocks differ
 * by offset and by ±ρ; messages are lost, late, doubled and reordered; shards, relays and isolates are restarted, superseded by an
 * instance that runs beside the old one, frozen and cut off; isolates discard replicas; shards stop granting leases; relays are
 * closed and opened. The invariants are checked in real time, which only the simulation knows.
 */
export class RelaySimulation {
  readonly #random: () => number;
  readonly #wiring: RelayWiring;
  readonly #faults: boolean;
  readonly #agenda = new Agenda();
  readonly #shards: Shard[];
  readonly #relays: Relay[];
  readonly #isolates: Isolate[];
  readonly #acknowledged = new Map<string, string>();
  readonly #partitions = new Set<Node>();
  readonly #counts = {
    controlAcknowledged: 0,
    decidedByRelay: 0,
    decidedByShard: 0,
    decidedByCheck: 0,
    upstreamConfirmations: 0,
    uncovered: 0,
    relayRestarts: 0,
    shardRestarts: 0,
    servedBySuperseded: 0,
    frozen: 0,
    killed: 0,
    partitions: 0,
    discarded: 0,
    closings: 0,
    relayCalls: 0,
  };
  readonly #violations: string[] = [];
  readonly #acknowledgementsMs: number[] = [];
  #nowMs = 0;
  #revocations = 0;
  #instances = 0;
  #cv = 1;
  #changes: NamedChange[] = [{ version: 1, kind: "client", id: "c1" }];
  #acknowledgedCv = 0;
  /** While set, isolates lease from the shards. */
  #relaysClosedAtMs: number | undefined;

  constructor(seed: number, wiring: RelayWiring, faults = true) {
    this.#random = randomFrom(seed);
    this.#wiring = wiring;
    this.#faults = faults;
    this.#shards = shardNames.map((name) => {
      const storage = { name, stored: new Map<string, Entry>(), seq: 0, cv: 1, horizon: undefined };
      return { ...storage, owner: this.#bootShard(storage) };
    });
    this.#relays = Array.from({ length: relayCount }, () => this.#bootRelay());
    this.#isolates = Array.from({ length: isolateCount }, (_, index) => this.#bootIsolate(index));
  }

  run(): RelayRun {
    for (let index = 0; index < isolateCount; index += 1) {
      this.#repeat(20 + 150 * this.#random(), () => this.#request(this.#isolates[index]!));
    }
    this.#repeat(700, () => this.#revoke());
    this.#repeat(2_500, () => this.#change());
    if (this.#faults) this.#startFaults();
    while (this.#violations.length === 0 || this.#violations.every((violation) => violation.startsWith("I2"))) {
      const event = this.#agenda.next();
      if (event === undefined || event.atMs > runMs) break;
      this.#nowMs = event.atMs;
      event.run();
    }
    return {
      violations: this.#violations,
      acknowledged: this.#acknowledged.size,
      acknowledgementsMs: this.#acknowledgementsMs,
      ...this.#counts,
    };
  }

  /** In each run one of the faults is frequent. */
  #startFaults(): void {
    const faults: readonly (readonly [number, () => void])[] = [
      [4_000, () => this.#restartRelay()],
      [8_000, () => this.#restartShard(this.#pick(this.#shards))],
      [2_500, () => this.#freeze()],
      [5_000, () => this.#kill()],
      [5_000, () => this.#partition()],
      [3_000, () => this.#goIdle(this.#pick(this.#isolates))],
      [5_000, () => this.#discard(this.#pick(this.#isolates))],
      [16_000, () => this.#toggleRelays()],
    ];
    const frequent = this.#pick(faults);
    for (const fault of faults) this.#repeat(fault[0] / (fault === frequent ? 6 : 1), fault[1]);
  }

  // Time, chance and the network.

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }

  #after(delayMs: number, run: () => void): void {
    this.#agenda.at(this.#nowMs + delayMs, run);
  }

  #repeat(meanMs: number, run: () => void): void {
    this.#after(-Math.log(1 - this.#random()) * meanMs, () => {
      run();
      this.#repeat(meanMs, run);
    });
  }

  #delay(): number {
    const scale = this.#random();
    if (!this.#faults) return 15 * scale;
    return scale < 0.85 ? 30 * this.#random() : scale < 0.98 ? 400 * this.#random() : 3_000 * this.#random();
  }

  #isLost(one: Node, other: Node): boolean {
    return this.#partitions.has(one) || this.#partitions.has(other) || (this.#faults && this.#random() < 0.02);
  }

  /** Runs when the node does: later if it is frozen, never if it has ended. */
  #whenRunning(node: Node, run: () => void): void {
    if (!node.alive) return;
    if (this.#nowMs >= node.frozenUntilMs) run();
    else this.#agenda.at(node.frozenUntilMs, () => this.#whenRunning(node, run));
  }

  #send(from: Node, to: Node, run: () => void, lost: () => void = () => {}): void {
    if (this.#isLost(from, to)) {
      lost();
      return;
    }
    this.#after(this.#delay(), () => this.#whenRunning(to, run));
    if (this.#faults && this.#random() < 0.02) this.#after(this.#delay(), () => this.#whenRunning(to, run));
  }

  #at(node: Node): number {
    return node.clock.read(this.#nowMs);
  }

  /** Leases have various lengths: a server under pressure grants longer ones, and shorter ones later. */
  #leaseMs(): number {
    return this.#faults && this.#random() < 0.3 ? 300 + 2_700 * this.#random() : leaseMs;
  }

  #node(): Node {
    return { clock: new Clock(this.#random), alive: true, frozenUntilMs: 0 };
  }

  #violate(what: string): void {
    this.#violations.push(`${what}, at ${Math.round(this.#nowMs)} ms`);
  }

  // Shards.

  #bootShard(from: Omit<Shard, "owner">): ShardInstance {
    const node = this.#node();
    const { seq, cv, horizon } = from;
    const durable = { entries: [...from.stored.values()], seq, cv, horizon };
    const machine = new RevocationMachine(leaseTiming, 1_000, durable, this.#at(node));
    // A new instance does not know the latest changes by name.
    return { ...node, machine, held: new HeldRenewals(), waiting: new Map() };
  }

  /** The successor opens the storage; the old instance answers on for a while, or ends. */
  #restartShard(shard: Shard): void {
    const old = shard.owner;
    shard.owner = this.#bootShard(shard);
    this.#counts.shardRestarts += 1;
    this.#after(this.#random() < 0.4 ? 0 : 4_000 * this.#random(), () => {
      old.alive = false;
    });
    if (this.#random() < 0.5) this.#superseded.set(shard, old);
    else this.#superseded.delete(shard);
  }

  /** Some callers still reach the old instance. */
  readonly #superseded = new Map<Shard, ShardInstance>();

  #reachedBy(shard: Shard): ShardInstance {
    const old = this.#superseded.get(shard);
    if (old?.alive !== true || this.#random() < 0.5) return shard.owner;
    this.#counts.servedBySuperseded += 1;
    return old;
  }

  /** Whether the instance may answer: a superseded one cannot write another horizon. */
  #reach(shard: Shard, instance: ShardInstance, length: number): boolean {
    const atMs = this.#at(instance);
    const horizon = instance.machine.horizonDue(length, atMs);
    if (horizon === undefined) return true;
    if (shard.owner !== instance) {
      instance.alive = false;
      return false;
    }
    shard.horizon = horizon;
    instance.machine.extend(horizon, atMs);
    return true;
  }

  #leaseOfShard(shard: Shard, instance: ShardInstance, request: LeaseRequest, respond: (grant: ShardGrant) => void) {
    const { machine, held } = instance;
    const atMs = this.#at(instance);
    this.#settle(instance, machine.confirm(request));
    const call = { request, arrivedAtMs: atMs, respond };
    const untilMs = machine.holdUntilMs(request, atMs);
    const before = untilMs > atMs ? held.hold(request.holder, call, untilMs) : held.release(request.holder);
    if (before !== undefined) this.#grantOfShard(shard, instance, before);
    if (untilMs <= atMs) this.#grantOfShard(shard, instance, call);
    this.#runHeld(instance, (due) => this.#grantOfShard(shard, instance, due));
  }

  #grantOfShard(shard: Shard, instance: ShardInstance, call: HeldCall<LeaseRequest, ShardGrant>): void {
    const { machine, clock } = instance;
    const atMs = this.#at(instance);
    if (!instance.alive || !this.#reach(shard, instance, call.request.leaseMs)) return;
    const response =
      this.#faults && this.#random() < 0.002
        ? ({ kind: "checkOnly", cv: machine.cv, changes: undefined } as const)
        : machine.lease(call.request, Math.max(0, atMs - call.arrivedAtMs), atMs);
    call.respond({ response, endsMs: clock.realOf(machine.releaseAtMs) });
  }

  #runHeld<Request, Response>(
    server: Server<Request, Response>,
    grant: (call: HeldCall<Request, Response>) => void,
  ): void {
    if (!server.alive) return;
    for (const call of server.held.take(this.#at(server))) grant(call);
    const nextMs = server.held.nextMs();
    if (nextMs === undefined) return;
    const realMs = Math.max(this.#nowMs + 0.5, server.clock.realOf(nextMs));
    this.#agenda.at(realMs, () => this.#whenRunning(server, () => this.#runHeld(server, grant)));
  }

  #announceShard(shard: Shard, instance: ShardInstance): void {
    instance.held.announce(this.#at(instance));
    this.#runHeld(instance, (call) => this.#grantOfShard(shard, instance, call));
  }

  #settle(server: Pick<ShardInstance, "waiting">, changes: readonly PendingChange[]): void {
    for (const change of changes) server.waiting.get(change)?.();
  }

  /** Waits on the server's timers, or until the last holder has confirmed. */
  #await(server: Pick<ShardInstance, "waiting" | "clock">, pending: PendingChange, forMs: number, then: () => void) {
    let isOver = forMs <= 0;
    if (isOver) return then();
    const end = () => {
      if (isOver) return;
      isOver = true;
      server.waiting.delete(pending);
      then();
    };
    server.waiting.set(pending, end);
    this.#after(server.clock.realDuration(forMs), end);
  }

  #revoke(): void {
    const shard = this.#pick(this.#shards);
    const key = `j:${this.#revocations++}`;
    const attempt = (left: number): void => {
      const instance = shard.owner;
      if (left === 0 || !instance.alive) return;
      const begunMs = this.#nowMs;
      const plan = instance.machine.plan({ rows: [{ key, untilMs: neverMs }], cutOffs: [], cv: 0 });
      for (const entry of plan.entries) shard.stored.set(entry.key, entry);
      shard.seq = plan.seq;
      instance.machine.apply(plan);
      this.#announceShard(shard, instance);
      this.#inForce(instance, () => {
        if (!instance.alive || shard.owner !== instance) return this.#after(500, () => attempt(left - 1));
        this.#acknowledgementsMs.push(this.#nowMs - begunMs);
        this.#acknowledged.set(key, shard.name);
        for (const isolate of this.#isolates)
          this.#assertCurrent(isolate, "I1: a lease outlives the acknowledgement of");
      });
    };
    attempt(4);
  }

  #inForce(instance: ShardInstance, then: () => void): void {
    const { machine, clock } = instance;
    const wait = machine.startWait(this.#at(instance));
    let missing = 2;
    const done = () => {
      missing -= 1;
      if (missing > 0) return;
      machine.endWait(wait);
      then();
    };
    this.#await(instance, wait.pending, wait.leasesMs, done);
    this.#after(clock.realDuration(wait.fenceMs), done);
  }

  /** An administrative change: on every shard, then acknowledged. */
  #change(): void {
    this.#cv += 1;
    const cv = this.#cv;
    this.#changes = [...this.#changes, { version: cv, kind: "client" as const, id: `c${cv}` }].slice(-50);
    const changes = this.#changes;
    let missing = this.#shards.length;
    for (const shard of this.#shards) {
      const attempt = (): void => {
        const instance = shard.owner;
        const plan = instance.machine.plan({ rows: [], cutOffs: [], cv, changes });
        for (const entry of plan.entries) shard.stored.set(entry.key, entry);
        shard.seq = plan.seq;
        shard.cv = Math.max(shard.cv, cv);
        instance.machine.apply(plan);
        this.#announceShard(shard, instance);
        this.#inForce(instance, () => {
          if (!instance.alive || shard.owner !== instance) return this.#after(500, attempt);
          missing -= 1;
          if (missing > 0) return;
          this.#counts.controlAcknowledged += 1;
          this.#acknowledgedCv = Math.max(this.#acknowledgedCv, cv);
          for (const isolate of this.#isolates)
            this.#assertCurrent(isolate, "I1: a lease outlives the acknowledgement of");
        });
      };
      this.#after(this.#delay(), attempt);
    }
  }

  // Relays.

  #bootRelay(): Relay {
    const machine = this.#wiring.bootRelay(`relay-${this.#instances++}`);
    machine.setShards(shardNames);
    const state = { machine, shardEndsMs: new Map<string, number>(), keeping: false };
    return { ...this.#node(), held: new HeldRenewals(), waiting: new Map(), ...state };
  }

  #restartRelay(): void {
    const index = Math.floor(this.#random() * relayCount);
    const old = this.#relays[index]!;
    this.#relays[index] = this.#bootRelay();
    this.#counts.relayRestarts += 1;
    // Otherwise it goes on beside its successor: calls that have reached it are answered.
    if (this.#random() < 0.6) old.alive = false;
  }

  #keepLeases(relay: Relay): void {
    if (relay.keeping) return;
    relay.keeping = true;
    for (const shard of this.#shards) this.#renewUpstream(relay, shard, 0);
  }

  #renewUpstream(relay: Relay, shard: Shard, number: number): void {
    if (!relay.alive) return;
    const used = relay.machine.countLiveHolders(this.#at(relay)) > 0 || relay.held.size > 0;
    if (!used || (!this.#wiring.releasesWhenUnused && this.#random() < 0.02)) {
      this.#releaseUpstream(relay);
      return;
    }
    if (!relay.keeping) return;
    const request = relay.machine.request(shard.name, this.#leaseMs());
    if (request === undefined) return;
    const sent = this.#wiring.upstream(request);
    const sentAtMs = this.#at(relay);
    let isOver = false;
    const again = (delayMs: number) => {
      if (isOver) return;
      isOver = true;
      this.#after(delayMs, () => this.#whenRunning(relay, () => this.#renewUpstream(relay, shard, number + 1)));
    };
    const instance = this.#reachedBy(shard);
    this.#send(relay, instance, () => {
      this.#leaseOfShard(shard, instance, sent, (grant) => {
        const lost = () => {
          if (this.#wiring.forgetsOnDisconnect) this.#settle(instance, instance.machine.release(sent.holder));
        };
        this.#send(instance, relay, () => this.#installUpstream(relay, shard, request, sentAtMs, grant, again), lost);
      });
    });
    this.#after(2 * leaseMs, () => again(0));
  }

  #installUpstream(
    relay: Relay,
    shard: Shard,
    request: LeaseRequest,
    sentAtMs: number,
    { response, endsMs }: ShardGrant,
    again: (delayMs: number) => void,
  ): void {
    const { machine } = relay;
    const atMs = this.#at(relay);
    const heldMs = response.kind === "lease" ? response.heldMs : 0;
    const isNews = machine.install(shard.name, response, request, this.#wiring.sentAt(sentAtMs, atMs, heldMs));
    const known = relay.shardEndsMs.get(shard.name) ?? 0;
    relay.shardEndsMs.set(shard.name, Math.max(known, endsMs));
    if (isNews) {
      relay.held.announce(atMs);
      this.#runHeld(relay, (call) => this.#grantOfRelay(relay, call));
    }
    const wait = machine.startWait(atMs);
    if (wait !== undefined) {
      this.#await(relay, wait.pending, this.#wiring.waitsForIsolates ? wait.leasesMs : 0, () =>
        this.#whenRunning(relay, () => {
          for (const { shard: name, holder, seq } of machine.endWait(wait)) {
            this.#counts.upstreamConfirmations += 1;
            const to = this.#reachedBy(this.#shards.find((other) => other.name === name)!);
            this.#send(relay, to, () => this.#settle(to, to.machine.confirm({ holder, confirmedSeq: seq })));
          }
        }),
      );
    }
    again(response.kind === "lease" ? 0 : 500);
  }

  #releaseUpstream(relay: Relay): void {
    relay.keeping = false;
    for (const { shard: name, holder } of relay.machine.lapse()) {
      const shard = this.#shards.find((other) => other.name === name)!;
      const to = this.#reachedBy(shard);
      this.#send(relay, to, () => {
        this.#settle(to, to.machine.release(holder));
        if (!to.machine.mayClose(this.#at(to)) || shard.owner !== to) return;
        shard.horizon = undefined;
        to.machine.close();
      });
    }
  }

  #leaseOfRelay(relay: Relay, sent: RelayLeaseRequest, respond: (grant: RelayGrant) => void): void {
    const { machine, held } = relay;
    const atMs = this.#at(relay);
    const request = this.#wiring.downstream(sent, machine.version);
    this.#counts.relayCalls += 1;
    this.#settle(relay, machine.confirm(request));
    const call = { request, arrivedAtMs: atMs, respond };
    const untilMs = machine.holdUntilMs(request, atMs);
    const before = untilMs > atMs ? held.hold(request.holder, call, untilMs) : held.release(request.holder);
    if (before !== undefined) this.#grantOfRelay(relay, before);
    if (untilMs <= atMs) this.#grantOfRelay(relay, call);
    this.#runHeld(relay, (due) => this.#grantOfRelay(relay, due));
    this.#keepLeases(relay);
  }

  #grantOfRelay(relay: Relay, { request, arrivedAtMs, respond }: HeldCall<RelayLeaseRequest, RelayGrant>): void {
    const { machine, clock } = relay;
    const atMs = this.#at(relay);
    const response = machine.lease(request, Math.max(0, atMs - arrivedAtMs), atMs);
    if (this.#wiring.confirmsOnSend) this.#settle(relay, machine.confirm({ ...request, ...response }));
    const endsMs = clock.realOf(machine.leaseEndMs(request.holder));
    respond({ response: this.#wiring.response(response, request), endsMs, shardEndsMs: new Map(relay.shardEndsMs) });
  }

  // Isolates.

  #bootIsolate(index: number): Isolate {
    const relay = index % 3 === 2 || this.#relaysClosedAtMs !== undefined ? undefined : index % relayCount;
    const replicas = new Map(shardNames.map((name) => [name, new ShardReplica()]));
    const state = { relayed: new RelayReplica(), replicas, relay, cv: this.#cv, renewals: new Map<string, number>() };
    return { ...this.#node(), ...state, lastUseMs: 0 };
  }

  /** A request about a token of one shard. */
  #request(isolate: Isolate): void {
    if (!isolate.alive || this.#nowMs < isolate.frozenUntilMs) return;
    isolate.lastUseMs = this.#nowMs;
    const shard = this.#pick(this.#shards);
    const arrivedMs = this.#nowMs;
    const atMs = this.#at(isolate);
    if (isolate.relay !== undefined) this.#keepRelayed(isolate);
    else this.#keepDirect(isolate, shard);
    const byRelay = isolate.relayed.covers(shard.name, atMs);
    if (byRelay || isolate.replicas.get(shard.name)!.covers(atMs)) {
      this.#counts[byRelay ? "decidedByRelay" : "decidedByShard"] += 1;
      // The body is slow, or the decision takes a while: it is made by the lease that was valid at arrival.
      this.#after(this.#delay(), () => this.#whenRunning(isolate, () => this.#decide(isolate, shard, arrivedMs)));
      return;
    }
    if (isolate.relay !== undefined) {
      this.#counts.uncovered += 1;
      if (this.#random() < 0.5) this.#keepDirect(isolate, shard);
    }
    this.#check(isolate, shard, arrivedMs);
  }

  readonly #acknowledgedAtMs = new Map<string, number>();

  #decide(isolate: Isolate, shard: Shard, arrivedMs: number): void {
    const arrivedAtMs = isolate.clock.read(arrivedMs);
    // The replica was discarded meanwhile: the isolate calls the shard.
    if (!isolate.relayed.covers(shard.name, arrivedAtMs) && !isolate.replicas.get(shard.name)!.covers(arrivedAtMs))
      return;
    for (const [key, atMs] of this.#acknowledgedAtMs) {
      if (atMs >= arrivedMs || this.#acknowledged.get(key) !== shard.name || knows(isolate, shard.name, key)) continue;
      this.#violate(`I1: a request that came after its acknowledgement does not find ${key}`);
    }
  }

  #check(isolate: Isolate, shard: Shard, arrivedMs: number): void {
    const key = this.#pick([...this.#acknowledged.keys()].filter((one) => this.#acknowledged.get(one) === shard.name));
    if (key === undefined) return;
    const instance = this.#reachedBy(shard);
    const due = (this.#acknowledgedAtMs.get(key) ?? arrivedMs) < arrivedMs;
    this.#send(isolate, instance, () => {
      if (!this.#reach(shard, instance, 0)) return;
      const { revoked } = instance.machine.check([key], [], isolate.cv, this.#at(instance), () => undefined);
      this.#counts.decidedByCheck += 1;
      if (due && !revoked.includes(key)) this.#violate(`I1: a check that came after its acknowledgement lacks ${key}`);
    });
  }

  #keepDirect(isolate: Isolate, shard: Shard): void {
    if (isolate.renewals.has(shard.name)) return;
    isolate.renewals.set(shard.name, 0);
    this.#renewDirect(isolate, shard, 0);
  }

  #renewDirect(isolate: Isolate, shard: Shard, number: number): void {
    if (!isolate.alive || isolate.renewals.get(shard.name) !== number) return;
    const replica = isolate.replicas.get(shard.name)!;
    const isCovered = isolate.relay !== undefined && isolate.relayed.covers(shard.name, this.#at(isolate));
    const instance = this.#reachedBy(shard);
    if (this.#nowMs - isolate.lastUseMs > leaseMs || isCovered) {
      isolate.renewals.delete(shard.name);
      const holder = replica.lapse();
      this.#send(isolate, instance, () => this.#settle(instance, instance.machine.release(holder)));
      return;
    }
    const request = replica.request(this.#leaseMs(), isolate.cv, true);
    const sentAtMs = this.#at(isolate);
    const again = this.#next(isolate, shard.name, number, (next) => this.#renewDirect(isolate, shard, next));
    this.#send(isolate, instance, () => {
      this.#leaseOfShard(shard, instance, request, ({ response, endsMs }) => {
        this.#send(instance, isolate, () => {
          if (response.kind !== "lease") return again();
          const from = this.#wiring.sentAt(sentAtMs, this.#at(isolate), response.heldMs);
          this.#applyControl(isolate, response, () => {
            const before = replica.validUntilMs;
            replica.install(response, request, from);
            const untilMs = replica.validUntilMs;
            if (untilMs > before && isolate.clock.realOf(untilMs) > endsMs)
              this.#violate("I2: a lease outlives the shard's");
            this.#assertCurrent(isolate, "I1: a lease arrives that lacks");
            again();
          });
        });
      });
    });
  }

  /** Starts the next renewal once: after the response, or when the call is taken for lost. */
  #next(isolate: Isolate, name: string, number: number, renew: (number: number) => void): () => void {
    let isOver = false;
    const again = (): void => {
      if (isOver || isolate.renewals.get(name) !== number) return;
      isOver = true;
      isolate.renewals.set(name, number + 1);
      this.#whenRunning(isolate, () => renew(number + 1));
    };
    this.#after(2 * leaseMs, again);
    return again;
  }

  #keepRelayed(isolate: Isolate): void {
    if (isolate.renewals.has("relay")) return;
    isolate.renewals.set("relay", 0);
    this.#renewRelayed(isolate, 0);
  }

  #renewRelayed(isolate: Isolate, number: number): void {
    if (!isolate.alive || isolate.renewals.get("relay") !== number) return;
    if (isolate.relay === undefined) {
      isolate.renewals.delete("relay");
      return;
    }
    const relay = this.#relays[isolate.relay]!;
    if (this.#nowMs - isolate.lastUseMs > leaseMs) {
      this.#releaseRelayed(isolate, relay);
      return;
    }
    if (this.#relaysClosedAtMs !== undefined && isolate.cv > this.#closedAtCv) this.#violate("a closed relay is used");
    const request = isolate.relayed.request(this.#leaseMs(), isolate.cv, true);
    const sentAtMs = this.#at(isolate);
    const again = this.#next(isolate, "relay", number, (next) => this.#renewRelayed(isolate, next));
    this.#send(isolate, relay, () => {
      this.#leaseOfRelay(relay, request, (grant) => {
        const lost = () => {
          if (this.#wiring.forgetsOnDisconnect) this.#settle(relay, relay.machine.release(request.holder));
        };
        this.#send(relay, isolate, () => this.#installRelayed(isolate, relay, request, sentAtMs, grant, again), lost);
      });
    });
  }

  #installRelayed(
    isolate: Isolate,
    relay: Relay,
    request: RelayLeaseRequest,
    sentAtMs: number,
    { response, endsMs, shardEndsMs }: RelayGrant,
    again: () => void,
  ): void {
    const from = this.#wiring.sentAt(sentAtMs, this.#at(isolate), response.heldMs);
    if (this.#wiring.confirmsOnReceipt) {
      const early = { ...request, instance: response.instance, version: response.version };
      this.#send(isolate, relay, () => this.#settle(relay, relay.machine.confirm(early)));
    }
    const install = () => {
      const before = shardNames.map((name) => isolate.relayed.validUntilMs(name));
      isolate.relayed.install(response, request, from, (name) => isolate.replicas.get(name)!);
      for (const [index, name] of shardNames.entries()) {
        const untilMs = isolate.relayed.validUntilMs(name);
        if (untilMs <= before[index]!) continue;
        const realMs = isolate.clock.realOf(untilMs);
        if (realMs > endsMs) this.#violate("I2: a lease outlives the relay's");
        if (realMs > (shardEndsMs.get(name) ?? 0)) this.#violate("I2: a lease outlives the shard's");
      }
      this.#assertCurrent(isolate, "I1: a lease arrives that lacks");
      again();
    };
    this.#after(this.#faults && (this.#wiring.confirmsOnReceipt || this.#random() < 0.2) ? this.#delay() : 0, () =>
      this.#whenRunning(isolate, () => this.#applyControl(isolate, response, install)),
    );
  }

  /** Changes that came with the response are applied at once; otherwise the isolate reads D1 first. */
  #applyControl(isolate: Isolate, response: Pick<LeaseResponse, "cv" | "changes">, then: () => void): void {
    const { cv, changes } = response;
    if (cv <= isolate.cv || !this.#wiring.appliesControl) {
      then();
      if (!this.#wiring.appliesControl) this.#after(this.#delay(), () => this.#act(isolate, cv));
      return;
    }
    const news = (changes ?? []).filter(({ version }) => version > isolate.cv);
    const isKnown = news[0]?.version === isolate.cv + 1 && news.length === cv - isolate.cv;
    const apply = () => {
      this.#act(isolate, cv);
      then();
    };
    if (isKnown) apply();
    else this.#after(this.#delay(), () => this.#whenRunning(isolate, apply));
  }

  #act(isolate: Isolate, cv: number): void {
    const from = isolate.cv;
    isolate.cv = Math.max(isolate.cv, cv);
    if (from > this.#tableCv || isolate.cv < this.#tableCv) return;
    this.#readTable(isolate);
  }

  /** The change of the generation table that an isolate learns of. */
  #tableCv = 0;
  #closedAtCv = 0;

  #readTable(isolate: Isolate): void {
    const index = this.#isolates.indexOf(isolate);
    if (index < 0 || index % 3 === 2) return;
    if (this.#relaysClosedAtMs === undefined) isolate.relay = index % relayCount;
    else if (this.#wiring.leavesClosedRelay && isolate.relay !== undefined) {
      const holder = isolate.relayed.lapse();
      isolate.relayed = new RelayReplica();
      const relay = this.#relays[isolate.relay]!;
      isolate.relay = undefined;
      isolate.renewals.delete("relay");
      this.#send(isolate, relay, () => this.#settle(relay, relay.machine.release(holder)));
    }
  }

  /** An administrator closes the relays, or opens them again. */
  #toggleRelays(): void {
    this.#counts.closings += 1;
    this.#relaysClosedAtMs = this.#relaysClosedAtMs === undefined ? this.#nowMs : undefined;
    this.#tableCv = this.#cv + 1;
    this.#closedAtCv = this.#cv + 1;
    this.#change();
  }

  #releaseRelayed(isolate: Isolate, relay: Relay): void {
    isolate.renewals.delete("relay");
    const holder = isolate.relayed.lapse();
    this.#send(isolate, relay, () => this.#settle(relay, relay.machine.release(holder)));
  }

  #goIdle(isolate: Isolate): void {
    if (!isolate.alive || this.#nowMs < isolate.frozenUntilMs || isolate.relay === undefined) return;
    this.#releaseRelayed(isolate, this.#relays[isolate.relay]!);
  }

  /** The isolate needs the memory: it gives up a replica. */
  #discard(isolate: Isolate): void {
    if (!isolate.alive || this.#nowMs < isolate.frozenUntilMs) return;
    const shard = this.#pick(this.#shards);
    isolate.replicas.get(shard.name)!.clear();
    if (this.#wiring.forgetsDiscarded) isolate.relayed.forget(shard.name);
    this.#counts.discarded += 1;
  }

  // Faults.

  #freeze(): void {
    this.#counts.frozen += 1;
    this.#pick<Node>([...this.#isolates, ...this.#relays]).frozenUntilMs = this.#nowMs + 3_000 * this.#random();
  }

  #kill(): void {
    const index = Math.floor(this.#random() * isolateCount);
    this.#isolates[index]!.alive = false;
    this.#isolates[index] = this.#bootIsolate(index);
    this.#counts.killed += 1;
  }

  #partition(): void {
    const node = this.#pick<Node>([...this.#isolates, ...this.#relays, ...this.#relays]);
    this.#partitions.add(node);
    this.#counts.partitions += 1;
    this.#after(3_000 * this.#random(), () => this.#partitions.delete(node));
  }

  // Invariants.

  /** No lease may be in force at an isolate without what has been acknowledged. */
  #assertCurrent(isolate: Isolate, what: string): void {
    if (!isolate.alive) return;
    const atMs = this.#at(isolate);
    const covered = shardNames.filter(
      (name) => isolate.relayed.covers(name, atMs) || isolate.replicas.get(name)!.covers(atMs),
    );
    for (const [key, name] of this.#acknowledged) {
      if (!this.#acknowledgedAtMs.has(key)) this.#acknowledgedAtMs.set(key, this.#nowMs);
      if (covered.includes(name) && !knows(isolate, name, key)) this.#violate(`${what} ${key}`);
    }
    if (covered.length > 0 && isolate.cv < this.#acknowledgedCv)
      this.#violate(`${what} control version ${this.#acknowledgedCv}`);
  }
}

function knows(isolate: Isolate, shard: string, key: string): boolean {
  const address = { generation: 1, region: "wnam", shard: Number(shard.at(-1)) };
  const token = { address, jti: key.slice(2), grantId: "", grantCreatedAtMs: 0, sub: "", clientId: "", lineage: [] };
  return isolate.replicas.get(shard)!.isRevoked(token);
}
