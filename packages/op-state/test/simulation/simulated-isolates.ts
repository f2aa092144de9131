import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { ControlView } from "@edge-op/shared/control/control-view";
import { settle } from "@edge-op/shared/control/settle";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { RelayReplica } from "@edge-op/shared/leases/relay-replica";
import type { RelayLeaseRequest } from "@edge-op/shared/leases/relay-rpc";
import { type RenewalRun, RenewalRuns } from "@edge-op/shared/leases/renewal-runs";
import type { CheckResponse, LeaseResponse } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";
import { ShardReplica } from "@edge-op/shared/leases/shard-replica";
import type { RelayWiring } from "./relay-wiring.ts";
import {
  leaseMs,
  type Relay,
  type RelayGrant,
  relayCount,
  type SimulatedRelays,
  warmAfterMs,
} from "./simulated-relays.ts";
import { type Modes, type Shard, type SimulatedShards, shardNames } from "./simulated-shards.ts";
import { type Node, type SimulatedWorld, subjectOf } from "./simulated-world.ts";

/** The renewals of one lease. */
interface Renewing {
  readonly runs: RenewalRuns;
  /** Begins the run that waits for a renewal of the run before it. */
  follow: () => void;
}

export interface Isolate extends Node {
  relayed: RelayReplica;
  readonly replicas: Map<string, ShardReplica>;
  /** The index of its relay; `undefined`: it leases from the shards. */
  relay: number | undefined;
  readonly control: ControlView;
  /** Copies of records, with the version of their last change. */
  readonly records: Map<string, number>;
  /** By shard, and `relay`. */
  readonly renewals: Map<string, Renewing>;
  /** In real time: its last request. */
  lastUseMs: number;
  /** In real time: when a request was last decided by a lease. */
  leasedMs: number;
  /** In real time: until then it does not call its relay, or a shard. */
  readonly avoided: Map<string, number>;
}

/** A request that is complete: in real time, and by the isolate's clock as the isolate counts it. */
interface Arrival {
  readonly isolate: Isolate;
  readonly atMs: number;
  readonly arrivedAtMs: number;
}

export const isolateCount = 5;
const records = ["c-a", "c-b"];
/** An exact check that takes longer is 503. */
const checkMs = 2_500;
/** A renewal that is out for so much longer than its lease has failed (`limits.relayUpstreamMs`). */
const lostAfterMs = 1_000;
const noContext = {} as RequestContext<never>;

/**
 * **The isolates of a simulation of relays**: the real replicas, the control view and `settle`; requests with slow bodies, decisions
 * by leases and by exact checks, renewals. Each decision is compared with what was acknowledged before its request was complete.
 */
export class SimulatedIsolates {
  readonly isolates: Isolate[];
  /** Decisions that run: the simulation lets their promises settle after each event. */
  deciding = 0;
  /** While set, isolates lease from the shards. */
  relaysClosed = false;
  /** Requests of warm isolates in use that the relay's lease did not cover. */
  lapses = 0;
  readonly #world: SimulatedWorld;
  readonly #wiring: RelayWiring;
  readonly #modes: Modes;
  readonly #shards: SimulatedShards;
  readonly #relays: SimulatedRelays;
  /** The change of the generation table that an isolate learns of. */
  #tableCv = 0;
  /** By record: the newest change, and the newest that was acknowledged. */
  readonly #committed = new Map<string, number>();
  readonly #inForce = new Map<string, number>();

  constructor(
    world: SimulatedWorld,
    wiring: RelayWiring,
    modes: Modes,
    shards: SimulatedShards,
    relays: SimulatedRelays,
  ) {
    this.#world = world;
    this.#wiring = wiring;
    this.#modes = modes;
    this.#shards = shards;
    this.#relays = relays;
    this.isolates = Array.from({ length: isolateCount }, (_, index) => this.#boot(index));
  }

  #boot(index: number): Isolate {
    const relay = index % 3 === 2 || this.relaysClosed ? undefined : index % relayCount;
    const replicas = new Map(shardNames.map((name) => [name, new ShardReplica()]));
    const control = new ControlView();
    void control.observe(noContext, this.#shards.cv);
    const cached = new Map<string, number>();
    control.onChange("client", (id) => (id === undefined ? cached.clear() : cached.delete(id)));
    const node = this.#world.node(this.#modes.sweeps ? -1 : undefined);
    const state = { relayed: this.#wiring.replica(), replicas, relay, control, records: cached };
    return { ...node, ...state, lastUseMs: 0, leasedMs: 0, renewals: new Map(), avoided: new Map() };
  }

  kill(): void {
    const index = Math.floor(this.#world.random() * isolateCount);
    this.isolates[index]!.alive = false;
    this.isolates[index] = this.#boot(index);
    this.#world.count("killed");
  }

  // Requests.

  /** A request about a token of one shard. Its body is complete at once, or much later. */
  request(isolate: Isolate): void {
    if (!this.#world.isRunning(isolate)) return;
    const headersAtMs = this.#world.read(isolate);
    const isSlow = this.#world.fails(0.15);
    if (isSlow) this.#world.count("slowBodies");
    this.#world.after(isSlow ? 3_000 * this.#world.random() : 0, () =>
      this.#world.whenRunning(isolate, () => this.#arrive(isolate, headersAtMs)),
    );
  }

  #arrive(isolate: Isolate, headersAtMs: number): void {
    const idleMs = this.#world.nowMs - isolate.lastUseMs;
    isolate.lastUseMs = this.#world.nowMs;
    const completeAtMs = this.#world.read(isolate);
    const arrivedAtMs = this.#wiring.arrivesWithBody ? completeAtMs : headersAtMs;
    const arrival = { isolate, atMs: this.#world.nowMs, arrivedAtMs };
    if (this.#world.chance(0.2)) void this.#settle(arrival);
    const shard = this.#world.pick(this.#shards.shards);
    if (isolate.relay !== undefined) this.#keepRelayed(isolate);
    else this.#keepDirect(isolate, shard);
    const byRelay = isolate.relayed.covers(shard.name, arrivedAtMs);
    if (byRelay || isolate.replicas.get(shard.name)!.covers(arrivedAtMs)) {
      isolate.leasedMs = this.#world.nowMs;
      this.#world.count(byRelay ? "decidedByRelay" : "decidedByShard");
      // The decision takes a while: it is made by the lease that was valid at arrival.
      this.#world.after(this.#world.delay(), () =>
        this.#world.whenRunning(isolate, () => this.#decide(arrival, shard)),
      );
      return;
    }
    if (isolate.relay !== undefined) {
      this.#world.count("uncovered");
      if (idleMs < leaseMs && this.#world.nowMs > warmAfterMs) this.lapses += 1;
      if (this.#world.chance(0.5) && !this.#isAvoided(isolate, "relay")) this.#keepDirect(isolate, shard);
    }
    this.#check(arrival, shard, this.#someDue(arrival, shard));
  }

  /** Whether the token is revoked for this request, and live by the clock of its isolate. */
  #isDue({ atMs, arrivedAtMs }: Arrival, key: string): boolean {
    const acknowledged = this.#shards.acknowledged.get(key);
    return acknowledged !== undefined && acknowledged.atMs < atMs && acknowledged.untilMs > arrivedAtMs;
  }

  #someDue(arrival: Arrival, shard: Shard): string | undefined {
    const keys = [...this.#shards.acknowledged].filter(([, { shard: of }]) => of === shard).map(([key]) => key);
    return this.#world.pick(keys.filter((key) => this.#isDue(arrival, key)));
  }

  #decide(arrival: Arrival, shard: Shard): void {
    const { isolate, arrivedAtMs } = arrival;
    const replica = isolate.replicas.get(shard.name)!;
    // The replica was discarded meanwhile: the isolate calls the shard.
    if (!isolate.relayed.covers(shard.name, arrivedAtMs) && !replica.covers(arrivedAtMs)) return;
    for (const [key, { shard: of }] of this.#shards.acknowledged) {
      if (of !== shard || !this.#isDue(arrival, key) || replica.isRevoked(subjectOf(key, shard.index))) continue;
      const isHit = replica.needsCheck(subjectOf(key, shard.index));
      if (isHit && this.#wiring.checksHits) {
        this.#world.count("hits");
        this.#check(arrival, shard, key);
      } else this.#world.violate(`I1: a request that came after its acknowledgement does not find ${key}`);
    }
  }

  #check(arrival: Arrival, shard: Shard, key: string | undefined): void {
    if (key === undefined) return;
    const { isolate } = arrival;
    const instance = this.#shards.reachedBy(shard);
    const remember = isolate.replicas.get(shard.name)!.rememberCheck();
    this.#world.send(isolate, instance, () => {
      if (this.#world.nowMs > arrival.atMs + checkMs) return;
      const response = this.#shards.check(shard, instance, [key], isolate.control.version!);
      if (response === undefined) return;
      this.#world.send(instance, isolate, () => {
        this.#world.count("decidedByCheck");
        remember(subjectOf(key, shard.index), response);
        if (this.#isDue(arrival, key) && !response.revoked.includes(key))
          this.#world.violate(`I1: a check that came after its acknowledgement lacks ${key}`);
      });
    });
  }

  /** No lease may be in force at an isolate without what has been acknowledged. */
  assertCurrent(isolate: Isolate, what: string): void {
    if (!isolate.alive) return;
    const atMs = this.#world.read(isolate);
    const covered = this.#coveredAt(isolate, atMs);
    for (const [key, { shard, untilMs }] of this.#shards.acknowledged) {
      if (untilMs <= atMs || !covered.includes(shard.name)) continue;
      const replica = isolate.replicas.get(shard.name)!;
      const subject = subjectOf(key, shard.index);
      if (!replica.isRevoked(subject) && !replica.needsCheck(subject)) this.#world.violate(`${what} ${key}`);
    }
    if (covered.length > 0 && isolate.control.version! < this.#shards.acknowledgedCv)
      this.#world.violate(`${what} control version ${this.#shards.acknowledgedCv}`);
  }

  assertAllCurrent(): void {
    for (const isolate of this.isolates) this.assertCurrent(isolate, "I1: a lease outlives the acknowledgement of");
  }

  /** At the end of a run without faults: requests are decided by leases. */
  assertLeased(): void {
    for (const [index, { leasedMs }] of this.isolates.entries()) {
      if (leasedMs < this.#world.nowMs - 4_000) this.#world.violate(`L1: isolate ${index} has no lease`);
    }
  }

  #coveredAt({ relayed, replicas }: Isolate, atMs: number): readonly string[] {
    return shardNames.filter((name) => relayed.covers(name, atMs) || replicas.get(name)!.covers(atMs));
  }

  // Decisions at one control version.

  /** An administrator changes a record. */
  change(): void {
    const id = this.#world.pick(records);
    const committed = this.#shards.change(id, (cv) => this.#inForce.set(id, Math.max(cv, this.#inForce.get(id) ?? 0)));
    this.#committed.set(id, committed);
  }

  async #settle(arrival: Arrival): Promise<void> {
    const { isolate, arrivedAtMs } = arrival;
    const expected = records.map((id) => this.#inForce.get(id) ?? 0);
    const progress = { controlConfirmed: this.#wiring.takesVersionForConfirmed };
    const context = { progress, arrivedAtMs } as RequestContext<RevocationBindings>;
    const isCovered = () => this.#coveredAt(isolate, arrivedAtMs).length > 0;
    const revocation = {
      confirmControl: async () => {
        progress.controlConfirmed ||= isCovered();
        if (progress.controlConfirmed) return;
        await this.#confirmControl(arrival);
        progress.controlConfirmed = true;
      },
    };
    const decide = async () => {
      const found: number[] = [];
      for (const id of records) found.push(await this.#read(context, isolate, id));
      return found;
    };
    this.deciding += 1;
    try {
      const found = this.#wiring.settles
        ? await settle(context, { control: isolate.control, revocation }, decide)
        : await this.#decideAtOnce(decide, revocation.confirmControl);
      this.#world.count("settled");
      for (const [index, version] of found.entries()) {
        if (version < expected[index]!)
          this.#world.violate(`I1: a decision rests on ${records[index]} of ${version}, not of ${expected[index]}`);
      }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#world.count("unavailable");
    } finally {
      this.deciding -= 1;
    }
  }

  /** A mutant of `settle`: the version is confirmed, and what was decided before stands. */
  async #decideAtOnce(decide: () => Promise<number[]>, confirmControl: () => Promise<void>): Promise<number[]> {
    const found = await decide();
    await confirmControl();
    return found;
  }

  /** As `ReadThrough`: noted first; then the copy, or D1. */
  async #read(context: RequestContext<RevocationBindings>, isolate: Isolate, id: string): Promise<number> {
    const { control, records: cached } = isolate;
    context.progress.reads?.note("client", id);
    const held = cached.get(id);
    await this.#pause(isolate);
    if (held !== undefined) return held;
    const readAt = control.version;
    const found = this.#committed.get(id) ?? 0;
    await this.#pause(isolate);
    if (control.isCurrent("client", id, readAt)) cached.set(id, found);
    return found;
  }

  #pause(isolate: Isolate): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(this.#world.delay(), () => {
        if (isolate.alive) this.#world.whenRunning(isolate, resolve);
        else resolve();
      });
    });
  }

  /** From any shard. */
  #confirmControl({ isolate }: Arrival): Promise<void> {
    return new Promise((resolve, reject) => {
      const shard = this.#world.pick(this.#shards.shards);
      const instance = this.#shards.reachedBy(shard);
      this.#world.after(checkMs, () => reject(new UnavailableError("revocation", new Error("no response"))));
      this.#world.send(isolate, instance, () => {
        const response = this.#shards.check(shard, instance, [], isolate.control.version!);
        if (response === undefined) return;
        this.#world.send(instance, isolate, () => this.#applyControl(isolate, response, resolve));
      });
    });
  }

  /** Changes that came with the response are applied at once; otherwise the isolate reads D1 first. */
  #applyControl(
    isolate: Isolate,
    response: Pick<LeaseResponse | CheckResponse, "cv" | "changes">,
    then: () => void,
  ): void {
    const { cv, changes } = response;
    const known = isolate.control.version!;
    if (cv <= known || !this.#wiring.appliesControl) {
      then();
      if (!this.#wiring.appliesControl) this.#world.after(this.#world.delay(), () => this.#observe(isolate, cv));
      return;
    }
    const news = (changes ?? []).filter(({ version }) => version > known);
    const isNamed = news[0]?.version === known + 1 && news.at(-1)?.version === cv && news.length === cv - known;
    const apply = () => {
      this.#observe(isolate, cv);
      then();
    };
    if (isNamed) apply();
    else this.#world.after(this.#world.delay(), () => this.#world.whenRunning(isolate, apply));
  }

  /** With every change by name, so that `ControlView` applies them at once. */
  #observe(isolate: Isolate, cv: number): void {
    const before = isolate.control.version!;
    void isolate.control.observe(
      noContext,
      cv,
      this.#shards.changes.filter(({ version }) => version <= cv),
    );
    if (before <= this.#tableCv && isolate.control.version! >= this.#tableCv && this.#tableCv > 0)
      this.#readTable(isolate);
  }

  #readTable(isolate: Isolate): void {
    const index = this.isolates.indexOf(isolate);
    if (index < 0 || index % 3 === 2) return;
    if (!this.relaysClosed) isolate.relay = index % relayCount;
    else if (this.#wiring.leavesClosedRelay && isolate.relay !== undefined) {
      const holder = isolate.relayed.lapse();
      isolate.relayed = this.#wiring.replica();
      const relay = this.#relays.relays[isolate.relay]!;
      isolate.relay = undefined;
      isolate.renewals.get("relay")?.runs.stop();
      this.#world.send(isolate, relay, () => this.#relays.release(relay, holder));
    }
  }

  /** An administrator closes the relays, or opens them again. */
  toggleRelays(): void {
    this.#world.count("closings");
    this.relaysClosed = !this.relaysClosed;
    this.#tableCv = this.#shards.cv + 1;
    this.change();
  }

  // Leases.

  #isAvoided(isolate: Isolate, name: string): boolean {
    return this.#world.nowMs < (isolate.avoided.get(name) ?? 0);
  }

  #avoid(isolate: Isolate, name: string, againMs: number): void {
    const untilMs = this.#wiring.comesAgain ? this.#world.nowMs + againMs * (1 + this.#world.random()) : Infinity;
    isolate.avoided.set(name, untilMs);
    isolate.renewals.get(name)?.runs.stop();
  }

  #keepDirect(isolate: Isolate, shard: Shard): void {
    this.#keep(isolate, shard.name, (run) => this.#renewDirect(isolate, shard, run));
  }

  #renewDirect(isolate: Isolate, shard: Shard, run: RenewalRun): void {
    const replica = isolate.replicas.get(shard.name)!;
    const isRelayed = isolate.relay !== undefined && isolate.relayed.covers(shard.name, this.#world.read(isolate));
    const instance = this.#shards.reachedBy(shard);
    const step = this.#nextStep(isolate, shard.name, run);
    if (step === "end") return;
    if (step === "release" || isRelayed) {
      isolate.renewals.get(shard.name)!.runs.stop();
      const holder = replica.lapse();
      this.#world.send(isolate, instance, () => this.#shards.release(shard, instance, holder));
      return;
    }
    const request = replica.request(this.#relays.requestedMs(), isolate.control.version, true);
    const sentAtMs = this.#world.read(isolate);
    const again = this.#again(isolate, shard.name, run, () => this.#renewDirect(isolate, shard, run));
    this.#world.send(isolate, instance, () => {
      this.#shards.lease(shard, instance, request, ({ response, endsMs }) => {
        this.#world.send(instance, isolate, () => {
          if (response.kind !== "lease") {
            replica.clear();
            if (this.#wiring.forgetsDiscarded) isolate.relayed.forget(shard.name);
            this.#avoid(isolate, shard.name, response.againMs);
            return;
          }
          const from = this.#wiring.sentAt(sentAtMs, this.#world.read(isolate), response.heldMs);
          this.#applyControl(isolate, response, () => {
            const before = replica.validUntilMs;
            replica.install(response, request, from);
            this.#assertEnd(isolate, before, replica.validUntilMs, endsMs, "shard");
            this.assertCurrent(isolate, "I1: a lease arrives that lacks");
            again();
          });
        });
      });
    });
  }

  /** I2, in runs whose clocks keep their rates: otherwise the end in real time is not known in advance. */
  #assertEnd(isolate: Isolate, beforeMs: number, untilMs: number, endsMs: number, server: string): void {
    if (this.#modes.clocks || untilMs <= beforeMs) return;
    if (isolate.clock.realOf(untilMs) > endsMs) this.#world.violate(`I2: a lease outlives the ${server}'s`);
  }

  /** As `Renewals`: a run begins at once, or when the renewal of the run before it has returned or takes too long. */
  #keep(isolate: Isolate, name: string, renew: (run: RenewalRun) => void): void {
    if (this.#isAvoided(isolate, name)) return;
    const known = isolate.renewals.get(name);
    const renewing = known ?? { runs: new RenewalRuns(), follow: () => {} };
    isolate.renewals.set(name, renewing);
    const atMs = this.#world.read(isolate);
    if (renewing.runs.noteUse(atMs)) return;
    const run = renewing.runs.start(atMs, this.#keptMs(isolate, name));
    let isBegun = false;
    const begin = () => {
      if (isBegun) return;
      isBegun = true;
      this.#world.whenRunning(isolate, () => renew(run));
    };
    renewing.follow = begin;
    if (run.waitMs === 0 || !this.#wiring.awaitsRenewal) begin();
    else this.#world.after(isolate.clock.realDuration(run.waitMs), begin);
  }

  #keptMs({ relayed, replicas }: Isolate, name: string): number {
    return Math.max(leaseMs, name === "relay" ? relayed.leaseMs : replicas.get(name)!.leaseMs);
  }

  #nextStep(isolate: Isolate, name: string, { number }: RenewalRun): "renew" | "release" | "end" {
    if (!isolate.alive) return "end";
    const { runs, follow } = isolate.renewals.get(name)!;
    const step = runs.next(number, this.#world.read(isolate), this.#keptMs(isolate, name));
    if (step === "end" && runs.isAwaited(number)) follow();
    return step;
  }

  /** Continues a run once: after the response. A renewal without one fails. */
  #again(isolate: Isolate, name: string, { number }: RenewalRun, renew: () => void): () => void {
    const { runs } = isolate.renewals.get(name)!;
    let isOver = false;
    const once = (then: () => void) => () => {
      if (isOver) return;
      isOver = true;
      this.#world.whenRunning(isolate, then);
    };
    const failed = once(() => runs.fail(number, this.#world.read(isolate)));
    this.#world.after(isolate.clock.realDuration(this.#keptMs(isolate, name) + lostAfterMs), failed);
    return once(renew);
  }

  #keepRelayed(isolate: Isolate): void {
    this.#keep(isolate, "relay", (run) => this.#renewRelayed(isolate, run));
  }

  #renewRelayed(isolate: Isolate, run: RenewalRun): void {
    const step = this.#nextStep(isolate, "relay", run);
    if (step === "end" || isolate.relay === undefined) return;
    const relay = this.#relays.relays[isolate.relay]!;
    if (step === "release") {
      this.#releaseRelayed(isolate, relay);
      return;
    }
    const isClosed = this.relaysClosed && isolate.control.version! > this.#tableCv;
    if (isClosed) this.#world.violate("a closed relay is used");
    const request = isolate.relayed.request(this.#relays.requestedMs(), isolate.control.version, true);
    const sentAtMs = this.#world.read(isolate);
    const again = this.#again(isolate, "relay", run, () => this.#renewRelayed(isolate, run));
    this.#world.send(isolate, relay, () => {
      this.#relays.lease(relay, request, (grant) => {
        const lost = () => {
          if (this.#wiring.forgetsOnDisconnect) this.#relays.release(relay, request.holder);
        };
        const install = () => this.#receiveRelayed(isolate, relay, request, sentAtMs, grant, again);
        this.#world.send(relay, isolate, install, lost);
      });
    });
  }

  #receiveRelayed(
    isolate: Isolate,
    relay: Relay,
    request: RelayLeaseRequest,
    sentAtMs: number,
    grant: RelayGrant,
    again: () => void,
  ): void {
    const { response } = grant;
    if (response.againMs !== undefined) {
      this.#avoid(isolate, "relay", response.againMs);
      return;
    }
    const from = this.#wiring.sentAt(sentAtMs, this.#world.read(isolate), response.heldMs);
    if (this.#wiring.confirmsOnReceipt) {
      const early = { ...request, instance: response.instance, version: response.version };
      this.#world.send(isolate, relay, () => this.#world.settle(relay, relay.machine.confirm(early)));
    }
    const isLate = this.#world.faults && (this.#wiring.confirmsOnReceipt || this.#world.chance(0.2));
    this.#world.after(isLate ? this.#world.delay() : 0, () =>
      this.#world.whenRunning(isolate, () =>
        this.#applyControl(isolate, response, () => this.#installRelayed(isolate, request, from, grant, again)),
      ),
    );
  }

  #installRelayed(
    isolate: Isolate,
    request: RelayLeaseRequest,
    from: number,
    { response, endsMs, shardEndsMs }: RelayGrant,
    again: () => void,
  ): void {
    const { relayed } = isolate;
    const before = shardNames.map((name) => relayed.validUntilMs(name));
    relayed.install(response, request, from, (name) => isolate.replicas.get(name)!);
    for (const [index, name] of shardNames.entries()) {
      this.#assertEnd(isolate, before[index]!, relayed.validUntilMs(name), endsMs, "relay");
      this.#assertEnd(isolate, before[index]!, relayed.validUntilMs(name), shardEndsMs.get(name) ?? 0, "shard");
    }
    this.assertCurrent(isolate, "I1: a lease arrives that lacks");
    again();
  }

  #releaseRelayed(isolate: Isolate, relay: Relay): void {
    isolate.renewals.get("relay")?.runs.stop();
    const holder = isolate.relayed.lapse();
    this.#world.send(isolate, relay, () => this.#relays.release(relay, holder));
  }

  goIdle(isolate: Isolate): void {
    if (!this.#world.isRunning(isolate) || isolate.relay === undefined) return;
    this.#releaseRelayed(isolate, this.#relays.relays[isolate.relay]!);
  }

  /** The isolate needs the memory: it gives up a replica. */
  discard(isolate: Isolate): void {
    if (!this.#world.isRunning(isolate)) return;
    const name = this.#world.pick(shardNames);
    isolate.replicas.get(name)!.clear();
    if (this.#wiring.forgetsDiscarded) isolate.relayed.forget(name);
    this.#world.count("discarded");
  }
}
