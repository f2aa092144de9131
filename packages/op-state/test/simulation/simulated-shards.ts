import { unpacedSnapshots } from "@edge-op/shared/leases/snapshot-budget";
import { leaseTiming } from "@edge-op/shared/objects/lease-timing";
import type {
  CheckResponse,
  LeaseRequest,
  LeaseResponse,
  NamedChange,
} from "@edge-op/shared/objects/token-revocation-store";
import type { Horizon } from "../../src/revocation/durable-horizon.ts";
import { RevocationMachine } from "../../src/revocation/revocation-machine.ts";
import type { Entry } from "../../src/revocation/revoked-set.ts";
import type { RelayWiring } from "./relay-wiring.ts";
import {
  buildFilterIfDue,
  type HeldCall,
  type Node,
  neverMs,
  type Server,
  type SimulatedWorld,
} from "./simulated-world.ts";

export interface ShardInstance extends Server<LeaseRequest, ShardGrant> {
  readonly machine: RevocationMachine;
  /** Storage as this instance sees it: what there was when it began, and its own writes. */
  readonly rows: Map<string, Entry>;
  building: boolean;
}

/** A shard: its storage, and the instance that owns it. */
export interface Shard {
  readonly name: string;
  readonly index: number;
  readonly stored: Map<string, Entry>;
  seq: number;
  cv: number;
  horizon: Horizon | undefined;
  owner: ShardInstance;
  /** Some callers still reach it. */
  superseded: ShardInstance | undefined;
  /** In real time: until then it grants no leases. */
  checkOnlyUntilMs: number;
}

/** `endsMs`: in real time, when the server takes the lease for ended. */
export interface ShardGrant {
  readonly response: LeaseResponse;
  readonly endsMs: number;
}

/** What holds in one run. */
export interface Modes {
  /** Four rows in memory; the others in storage and in filters. */
  readonly filters: boolean;
  /** Snapshots are paced, at shards and relays. */
  readonly paced: boolean;
  /** Clocks change their rates within ±ρ, and those of isolates are set forward. */
  readonly clocks: boolean;
  /** Clocks of shards are ahead and those of isolates behind, as far as is stated, and rows expire. */
  readonly sweeps: boolean;
}

/** Small enough for a few rows: about one snapshot in flight. */
export const fewSnapshots = { bytesPerSecond: 3_000, bytesInFlight: 1_500, freeBytes: 100 };

export const shardNames = ["revocation:g1:wnam:0", "revocation:g1:wnam:1"];
const rowsInMemory = 4;

/**
 * **The shards of a simulation of relays**: the real machine, its storage, superseded instances, filters, sweeps, and phases without
 * leases. Holders are elsewhere.
 */
export class SimulatedShards {
  readonly shards: readonly Shard[];
  /** By row key: its shard, when the row may be deleted, and when its revocation was acknowledged. */
  readonly acknowledged = new Map<string, { readonly shard: Shard; readonly untilMs: number; readonly atMs: number }>();
  changes: readonly NamedChange[] = [{ version: 1, kind: "client", id: "c1" }];
  cv = 1;
  acknowledgedCv = 0;
  readonly #world: SimulatedWorld;
  readonly #wiring: RelayWiring;
  readonly #modes: Modes;
  readonly #inForce: () => void;
  #revocations = 0;

  /** `inForce` is called after each acknowledgement. */
  constructor(world: SimulatedWorld, wiring: RelayWiring, modes: Modes, inForce: () => void) {
    this.#world = world;
    this.#wiring = wiring;
    this.#modes = modes;
    this.#inForce = inForce;
    this.shards = shardNames.map((name, index) => {
      const stored = new Map<string, Entry>();
      const storage = { name, index, stored, seq: 0, cv: 1, horizon: undefined };
      const owner = this.#boot(storage);
      return { ...storage, owner, superseded: undefined, checkOnlyUntilMs: 0 };
    });
  }

  named(name: string): Shard {
    return this.shards.find((shard) => shard.name === name)!;
  }

  #boot({ stored, seq, cv, horizon }: Pick<Shard, "stored" | "seq" | "cv" | "horizon">): ShardInstance {
    const node = this.#world.node(this.#modes.sweeps ? 1 : undefined);
    const isLarge = this.#modes.filters && stored.size > rowsInMemory;
    const entries = isLarge ? { entries: undefined, cutOffs: [] } : { entries: [...stored.values()] };
    // A new instance does not know the latest changes by name.
    const durable = { ...entries, seq, cv, changes: [], horizon };
    const machine = new RevocationMachine(
      leaseTiming,
      this.#modes.filters ? rowsInMemory : 1_000,
      durable,
      this.#world.read(node),
      {
        exactRows: this.#modes.filters ? 1 : Number.POSITIVE_INFINITY,
        snapshots: this.#modes.paced ? fewSnapshots : unpacedSnapshots,
      },
    );
    return { ...this.#world.server<LeaseRequest, ShardGrant>(node), machine, rows: new Map(stored), building: false };
  }

  /** The successor opens the storage; the old instance answers on for a while, or ends. */
  restart(): void {
    const shard = this.#world.pick(this.shards);
    const old = shard.owner;
    shard.owner = this.#boot(shard);
    this.#world.count("shardRestarts");
    this.#world.after(this.#world.chance(0.4) ? 0 : 4_000 * this.#world.random(), () => {
      old.alive = false;
    });
    shard.superseded = this.#world.chance(0.5) ? old : undefined;
  }

  /** For a while the shard grants no leases, as with too many cut-offs. */
  stopLeases(): void {
    this.#world.pick(this.shards).checkOnlyUntilMs = this.#world.nowMs + 2_500 * this.#world.random();
  }

  /** The instance that a call reaches. */
  reachedBy(shard: Shard): ShardInstance {
    const { superseded, owner } = shard;
    if (superseded?.alive !== true || this.#world.chance(0.5)) return owner;
    this.#world.count("servedBySuperseded");
    return superseded;
  }

  /** Whether the instance may answer: a superseded one cannot write another horizon. */
  #reach(shard: Shard, instance: ShardInstance, leaseMs: number): boolean {
    const atMs = this.#world.read(instance);
    const horizon = instance.machine.horizonDue(leaseMs, atMs);
    if (horizon === undefined) return true;
    if (shard.owner !== instance) {
      instance.alive = false;
      return false;
    }
    shard.horizon = horizon;
    instance.machine.extend(horizon, atMs);
    return true;
  }

  lease(shard: Shard, instance: ShardInstance, request: LeaseRequest, respond: (grant: ShardGrant) => void): void {
    const { machine } = instance;
    const atMs = this.#world.read(instance);
    this.#world.settle(instance, machine.confirm(request));
    const call = { request, arrivedAtMs: atMs, respond };
    this.#world.holdOrGrant(instance, call, machine.holdUntilMs(request, atMs), (due) =>
      this.#grant(shard, instance, due),
    );
  }

  #grant(shard: Shard, instance: ShardInstance, call: HeldCall<LeaseRequest, ShardGrant>): void {
    const { machine, clock } = instance;
    const atMs = this.#world.read(instance);
    if (!instance.alive || !this.#reach(shard, instance, call.request.leaseMs)) return;
    const response: LeaseResponse =
      this.#world.nowMs < shard.checkOnlyUntilMs
        ? { kind: "checkOnly", cv: machine.cv, changes: undefined, againMs: 500 }
        : machine.lease(call.request, Math.max(0, atMs - call.arrivedAtMs), atMs);
    this.#buildFilterIfDue(instance);
    if (response.kind === "checkOnly") this.#world.count("checkOnly");
    else if (response.filter !== undefined) this.#world.count("filtersSent");
    const endsMs = clock.realOf(machine.releaseAtMs);
    call.respond({ response: this.#wiring.shardResponse(response, call.request), endsMs });
  }

  confirm(instance: ShardInstance, holder: string, seq: number): void {
    this.#world.settle(instance, instance.machine.confirm({ holder, confirmedSeq: seq }));
  }

  /** The horizon is withdrawn when the last lease has been released. */
  release(shard: Shard, instance: ShardInstance, holder: string): void {
    const { machine } = instance;
    this.#world.settle(instance, machine.release(holder));
    if (!machine.mayClose(this.#world.read(instance)) || shard.owner !== instance) return;
    shard.horizon = undefined;
    machine.close();
  }

  /** `undefined`: no answer. */
  check(shard: Shard, instance: ShardInstance, keys: readonly string[], sinceCv: number): CheckResponse | undefined {
    if (!instance.alive || !this.#reach(shard, instance, 0)) return undefined;
    const find = (key: string) => instance.rows.get(key);
    return instance.machine.check(keys, [], sinceCv, this.#world.read(instance), find);
  }

  #buildFilterIfDue(instance: ShardInstance): void {
    buildFilterIfDue(this.#world, instance, {
      soon: () => Array.from({ length: 6 }, (_, index) => `j:${this.#revocations + index}`),
      numbersAtEnd: this.#wiring.numbersFilterAtEnd,
      built: () => this.#world.count("filtersBuilt"),
    });
  }

  /** Rows of the past, which no holder has been waited for. */
  fill(count: number): void {
    for (let row = 0; row < count; row += 1) {
      for (const shard of this.shards) this.#write(shard, { key: this.#nextKey(), untilMs: neverMs });
    }
  }

  #nextKey(): string {
    this.#revocations += 1;
    return `j:${this.#revocations - 1}`;
  }

  #write(shard: Shard, row?: { readonly key: string; readonly untilMs: number }, cv = 0): void {
    const instance = shard.owner;
    const change = { rows: row === undefined ? [] : [row], cutOffs: [], cv, changes: cv === 0 ? [] : this.changes };
    const plan = instance.machine.plan(change, (key) => instance.rows.get(key));
    for (const entry of plan.entries) {
      shard.stored.set(entry.key, entry);
      instance.rows.set(entry.key, entry);
    }
    shard.seq = plan.seq;
    shard.cv = Math.max(shard.cv, cv);
    instance.machine.apply(plan);
    this.#buildFilterIfDue(instance);
    this.#world.announce(instance, (call) => this.#grant(shard, instance, call));
  }

  revoke(): void {
    const shard = this.#world.pick(this.shards);
    const key = this.#nextKey();
    // Live by the slowest clocks for some seconds, and expired by the fastest, a minute before the row is deleted.
    const expiresAtMs = 1_000_000 + this.#world.nowMs - 27_000 + 6_000 * this.#world.random();
    const untilMs = this.#modes.sweeps && this.#world.chance(0.5) ? expiresAtMs : neverMs;
    const attempt = (left: number): void => {
      const instance = shard.owner;
      if (left === 0 || !instance.alive) return;
      const begunMs = this.#world.nowMs;
      this.#write(shard, { key, untilMs });
      this.#acknowledge(instance, () => {
        if (!instance.alive || shard.owner !== instance) return this.#world.after(500, () => attempt(left - 1));
        this.#world.acknowledgementsMs.push(this.#world.nowMs - begunMs);
        this.#world.count("acknowledged");
        this.acknowledged.set(key, { shard, untilMs, atMs: this.#world.nowMs });
        this.#inForce();
      });
    };
    attempt(4);
  }

  #acknowledge(instance: ShardInstance, then: () => void): void {
    const { machine, clock } = instance;
    const atMs = this.#world.read(instance);
    const wait = machine.startWait(atMs);
    let missing = 2;
    const done = () => {
      missing -= 1;
      if (missing > 0) return;
      machine.endWait(wait);
      then();
    };
    this.#world.await(instance, wait.pending, atMs, this.#wiring.nextWaitMs, done);
    this.#world.after(clock.realDuration(wait.fenceMs), done);
  }

  /** An administrative change of one record: on every shard, then acknowledged. Returns its version. */
  change(id: string, acknowledged: (cv: number) => void): number {
    this.cv += 1;
    const { cv } = this;
    this.changes = [...this.changes, { version: cv, kind: "client" as const, id }].slice(-50);
    let missing = this.shards.length;
    for (const shard of this.shards) {
      const attempt = (): void => {
        const instance = shard.owner;
        this.#write(shard, undefined, cv);
        this.#acknowledge(instance, () => {
          if (!instance.alive || shard.owner !== instance) return this.#world.after(500, attempt);
          missing -= 1;
          if (missing > 0) return;
          this.#world.count("controlAcknowledged");
          this.acknowledgedCv = Math.max(this.acknowledgedCv, cv);
          acknowledged(cv);
          this.#inForce();
        });
      };
      this.#world.after(this.#world.delay(), attempt);
    }
    return cv;
  }

  /** Deletes the rows that have expired by the slowest clock. */
  sweep(): void {
    for (const shard of this.shards) {
      const { machine, rows } = shard.owner;
      const deadBeforeMs = this.#wiring.deadBefore(this.#world.read(shard.owner));
      const dead = [...shard.stored.values()].filter(({ untilMs }) => untilMs <= deadBeforeMs).map(({ key }) => key);
      this.#world.count("swept", dead.length);
      for (const key of dead) {
        shard.stored.delete(key);
        rows.delete(key);
      }
      machine.forget(dead);
      if (!machine.isComplete && shard.stored.size <= rowsInMemory / 2) machine.hold([...shard.stored.values()]);
    }
  }

  get nodes(): readonly Node[] {
    return this.shards.map(({ owner }) => owner);
  }
}
