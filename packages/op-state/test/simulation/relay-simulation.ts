import type { RelayWiring } from "./relay-wiring.ts";
import { isolateCount, SimulatedIsolates } from "./simulated-isolates.ts";
import { SimulatedRelays, warmAfterMs } from "./simulated-relays.ts";
import { type Modes, SimulatedShards } from "./simulated-shards.ts";
import { type Node, SimulatedWorld } from "./simulated-world.ts";

export interface RelayRun {
  readonly violations: readonly string[];
  readonly acknowledgementsMs: readonly number[];
  /** What the run was made of, so that a test can see that it was not an idle one. */
  readonly counts: Readonly<Record<string, number>>;
  /** Calls a second of a warm isolate to its relay, and requests of warm isolates that the relay's lease did not cover. */
  readonly callsPerIsolate: number;
  readonly lapses: number;
}

export interface RelayCircumstances {
  readonly faults?: boolean;
  readonly modes?: Partial<Modes>;
  /** Rows of each shard at the beginning. */
  readonly rows?: number;
  /** The mean time from one revocation to the next; administrative changes are then left out. */
  readonly revokeMs?: number;
  /** The mean time between requests of each isolate. */
  readonly requestMs?: number;
}

const runMs = 14_000;

/** C1, of a run without faults and without changes: calls a second of a warm isolate to its relay, and no lease that ends while it is used. */
export function isCostly({ callsPerIsolate, lapses }: RelayRun): boolean {
  return callsPerIsolate > 1.8 || lapses > 0;
}

/**
 * **A discrete-event simulation of shards, relays and isolates** (ADR 24), with the real machines, holders, replicas, control views and
 * `settle`. Clocks differ by offset and by ±ρ; messages are lost, late, doubled and reordered; shards, relays and isolates are
 * restarted, superseded by an instance that runs beside the old one, frozen and cut off; isolates discard replicas; shards stop granting
 * leases; relays are closed and opened; requests have slow bodies. In half of the runs each: large sets are filters, snapshots are
 * paced, clocks change, rows expire and are swept. The invariants are checked in real time, which only the simulation knows.
 */
export class RelaySimulation {
  readonly #world: SimulatedWorld;
  readonly #wiring: RelayWiring;
  readonly #modes: Modes;
  readonly #shards: SimulatedShards;
  readonly #relays: SimulatedRelays;
  readonly #isolates: SimulatedIsolates;
  readonly #stepped = new Set<Node>();
  readonly #revokeMs: number | undefined;
  readonly #requestMs: number | undefined;

  constructor(seed: number, wiring: RelayWiring, circumstances: RelayCircumstances = {}) {
    const { faults = true, modes = {}, rows = 0, revokeMs, requestMs } = circumstances;
    this.#revokeMs = revokeMs;
    this.#requestMs = requestMs;
    const world = new SimulatedWorld(seed, faults);
    this.#world = world;
    this.#wiring = wiring;
    this.#modes = {
      filters: world.chance(0.5),
      paced: world.chance(0.5),
      clocks: world.fails(0.5),
      sweeps: world.fails(0.5),
      ...wiring.modes,
      ...modes,
    };
    this.#shards = new SimulatedShards(world, wiring, this.#modes, () => this.#isolates.assertAllCurrent());
    this.#shards.fill(rows);
    this.#relays = new SimulatedRelays(world, wiring, this.#modes, this.#shards);
    this.#isolates = new SimulatedIsolates(world, wiring, this.#modes, this.#shards, this.#relays);
  }

  async run(): Promise<RelayRun> {
    const { violations, acknowledgementsMs, counts, faults } = this.#world;
    for (let index = 0; index < isolateCount; index += 1) {
      const meanMs = this.#requestMs ?? 20 + 150 * this.#world.random();
      this.#world.repeat(meanMs, () => this.#isolates.request(this.#isolates.isolates[index]!));
    }
    this.#world.repeat(this.#revokeMs ?? 700, () => this.#shards.revoke());
    if (this.#revokeMs === undefined) this.#world.repeat(2_500, () => this.#isolates.change());
    if (this.#modes.sweeps) this.#world.repeat(700, () => this.#shards.sweep());
    if (faults) this.#startFaults();
    while (violations.every((violation) => violation.startsWith("I2"))) {
      if (!this.#world.advance(runMs)) break;
      // Decisions go on by promises, which the event may have settled.
      for (let turn = 0; this.#isolates.deciding > 0 && turn < 12; turn += 1) await Promise.resolve();
    }
    if (!faults) this.#isolates.assertLeased();
    const relayed = this.#isolates.isolates.filter(({ relay }) => relay !== undefined).length;
    const callsPerIsolate = (1_000 * this.#relays.warmCalls) / relayed / (runMs - warmAfterMs);
    return { violations, acknowledgementsMs, counts, callsPerIsolate, lapses: this.#isolates.lapses };
  }

  /** In each run one of the faults is frequent. */
  #startFaults(): void {
    const anyIsolate = () => this.#world.pick(this.#isolates.isolates);
    const faults: readonly (readonly [number, () => void])[] = [
      [4_000, () => this.#relays.restart()],
      [8_000, () => this.#shards.restart()],
      [2_500, () => this.#freeze()],
      [5_000, () => this.#isolates.kill()],
      [5_000, () => this.#partition()],
      [3_000, () => this.#isolates.goIdle(anyIsolate())],
      [5_000, () => this.#isolates.discard(anyIsolate())],
      [6_000, () => this.#shards.stopLeases()],
      [16_000, () => this.#isolates.toggleRelays()],
    ];
    const frequent = this.#world.pick(faults);
    for (const fault of faults) this.#world.repeat(fault[0] / (fault === frequent ? 6 : 1), fault[1]);
    if (this.#modes.clocks) this.#world.repeat(400, () => this.#changeClock());
  }

  #freeze(): void {
    this.#world.count("frozen");
    const node = this.#world.pick<Node>([...this.#isolates.isolates, ...this.#relays.relays]);
    node.frozenUntilMs = this.#world.nowMs + 3_000 * this.#world.random();
  }

  #partition(): void {
    const node = this.#world.pick<Node>([...this.#isolates.isolates, ...this.#relays.relays, ...this.#relays.relays]);
    this.#world.partitions.add(node);
    this.#world.count("partitions");
    this.#world.after(3_000 * this.#world.random(), () => this.#world.partitions.delete(node));
  }

  /**
   * Within what is stated: rates within ±ρ, differences below 60 s, and an isolate that is set forward, whose leases end early. A
   * clock that is set otherwise runs faster or slower than ±ρ for a moment.
   */
  #changeClock(): void {
    this.#world.count("clockChanges");
    const nodes = { isolate: this.#isolates.isolates, relay: this.#relays.relays, shard: this.#shards.nodes };
    this.#world.pick(Object.values<readonly Node[]>(nodes).flat()).clock.slew(this.#world.nowMs);
    const { of, byMs } = this.#wiring.clockStep;
    const stepped = this.#world.pick<Node>(nodes[of]);
    if (this.#stepped.has(stepped)) return;
    this.#stepped.add(stepped);
    stepped.clock.step(this.#world.nowMs, byMs);
  }
}
