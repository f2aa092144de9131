import type { CheckResponse, LeaseRequest, LeaseResponse } from "@edge-op/shared/objects/token-revocation-store";
import { ShardReplica } from "@edge-op/shared/revocation/shard-replica";
import type { Horizon } from "../../src/revocation/durable-horizon.ts";
import type { DurableState, Plan, RevocationMachine } from "../../src/revocation/revocation-machine.ts";
import type { Entry } from "../../src/revocation/revoked-set.ts";
import type { Wiring } from "./lease-wiring.ts";
import {
  buildFilterIfDue,
  type HeldCall,
  type Node,
  neverMs,
  type Server,
  SimulatedWorld,
  subjectOf,
} from "./simulated-world.ts";

interface Granted {
  readonly response: LeaseResponse;
  /** In real time: when the shard takes the lease for ended. */
  readonly endsMs: number;
}

interface Instance extends Server<LeaseRequest, Granted | undefined> {
  readonly machine: RevocationMachine;
  /** Storage as this instance sees it: what was durable when it began, and its own writes. */
  readonly rows: Map<string, Entry>;
  building: boolean;
  /** Whether an attempt to withdraw the horizon is due. */
  closing: boolean;
  horizons: number;
  /** When its writes so far are durable: replies are held until then. */
  durableAtMs: number;
}

interface Isolate extends Node {
  readonly replica: ShardReplica;
  /** The instance its calls reach; a superseded one for as long as it lives. */
  reaches: Instance;
  /** Number of the renewal that is out; the response to an older one starts no other. */
  renewal: number;
  renewing: boolean;
  lastUseMs: number;
  /** The id under which a wiring that does not rename goes on. */
  holder: string | undefined;
}

export interface Run {
  /** What went wrong, in words; empty for a correct protocol. */
  readonly violations: readonly string[];
  /** What the run was made of, so that a test can see it was not an idle one. */
  readonly acknowledged: number;
  readonly decidedByLease: number;
  readonly decidedByCheck: number;
  readonly servedBySuperseded: number;
  readonly restarts: number;
  readonly heldRenewals: number;
  readonly confirmed: number;
  readonly releases: number;
  readonly frozen: number;
  readonly killed: number;
  readonly closed: number;
  /** Filters that were built, and acknowledged rows that were found by a filter and checked exactly. */
  readonly filters: number;
  readonly hits: number;
  /** How long each acknowledgement took from the commit on, in real time. */
  readonly acknowledgementsMs: readonly number[];
}

export interface Circumstances {
  /** Instances and isolates end, freeze and are cut off; calls are lost, late and doubled. */
  readonly faults: boolean;
}

const runMs = 25_000;
const isolateCount = 3;

/**
 * **A discrete-event simulation of protocols.md §2**: one shard, several isolates, the real machine, holders and replica. Clocks
 * differ by offset and rate; calls and writes take random times, are lost, late or doubled; renewals are held; isolates are
 * frozen, killed or let their leases go; instances are superseded and some go on answering those that still reach them. Real
 * time is what only the simulation knows; the invariants are checked in it.
 */
export class Simulation {
  readonly #world: SimulatedWorld;
  readonly #wiring: Wiring;
  readonly #leaseMs: number;
  #revocations = 0;

  readonly #stored = new Map<string, Entry>();
  #storedSeq = 0;
  #storedHorizon: Horizon | undefined;
  #owner: Instance;
  readonly #isolates: Isolate[];

  readonly #acknowledgedAtMs = new Map<string, number>();
  readonly #counts = {
    decidedByLease: 0,
    decidedByCheck: 0,
    servedBySuperseded: 0,
    restarts: 0,
    heldRenewals: 0,
    releases: 0,
    frozen: 0,
    killed: 0,
    closed: 0,
    filters: 0,
    hits: 0,
  };

  constructor(seed: number, wiring: Wiring, circumstances: Circumstances = { faults: true }) {
    this.#world = new SimulatedWorld(seed, circumstances.faults, { short: 0.8, medium: 0.97, longestMs: 4_000 });
    this.#wiring = wiring;
    this.#leaseMs = circumstances.faults ? this.#world.pick([100, 1_000, 2_000]) : 1_000;
    this.#owner = this.#boot();
    this.#isolates = Array.from({ length: isolateCount }, () => this.#isolate());
  }

  run(): Run {
    for (let index = 0; index < isolateCount; index += 1) {
      this.#world.repeat(10 + 400 * this.#world.random(), () => this.#request(this.#isolates[index]!));
    }
    this.#world.repeat(1_500, () => this.#revoke(`j:${this.#revocations++}`, 0));
    if (this.#world.faults) {
      this.#world.repeat(4_000, () => this.#restart());
      this.#world.repeat(2_500, () => this.#freeze());
      this.#world.repeat(5_000, () => this.#kill());
      this.#world.repeat(3_000, () => this.#goIdle(this.#anyIsolate()));
    }
    const { violations, acknowledgementsMs } = this.#world;
    while (!violations.some((violation) => violation.startsWith("I1"))) if (!this.#world.advance(runMs)) break;
    const confirmed = this.#world.counts["confirmed"] ?? 0;
    return { violations, acknowledged: this.#acknowledgedAtMs.size, acknowledgementsMs, confirmed, ...this.#counts };
  }

  #isolate(): Isolate {
    return {
      ...this.#world.node(),
      replica: new ShardReplica(),
      reaches: this.#owner,
      renewal: 0,
      renewing: false,
      lastUseMs: Number.NEGATIVE_INFINITY,
      holder: undefined,
    };
  }

  #anyIsolate(): Isolate {
    return this.#world.pick(this.#isolates);
  }

  #boot(): Instance {
    const node = this.#world.node();
    const durable: DurableState = {
      entries: [...this.#stored.values()],
      seq: this.#storedSeq,
      cv: 0,
      changes: [],
      horizon: this.#storedHorizon,
    };
    const machine = this.#wiring.boot(durable, this.#world.read(node));
    return {
      ...this.#world.server<LeaseRequest, Granted | undefined>(node),
      machine,
      rows: new Map(this.#stored),
      building: false,
      closing: false,
      horizons: 0,
      durableAtMs: this.#world.nowMs,
    };
  }

  /** A successor opens the storage; the old instance ends now, or goes on answering those that still reach it. */
  #restart(): void {
    const old = this.#owner;
    this.#owner = this.#boot();
    this.#counts.restarts += 1;
    for (const isolate of this.#isolates) {
      if (isolate.reaches === old && this.#world.random() < 0.4) isolate.reaches = this.#owner;
    }
    const lives = this.#world.random() < 0.3 ? 0 : 15_000 * this.#world.random();
    this.#world.after(lives, () => this.#end(old));
  }

  #end(instance: Instance): void {
    instance.alive = false;
    for (const isolate of this.#isolates) if (isolate.reaches === instance) isolate.reaches = this.#owner;
  }

  /** For a while the isolate runs nothing; its clock goes on. */
  #freeze(): void {
    this.#counts.frozen += 1;
    this.#anyIsolate().frozenUntilMs = this.#world.nowMs + 3_000 * this.#world.random();
  }

  #kill(): void {
    const index = Math.floor(this.#world.random() * isolateCount);
    this.#isolates[index]!.alive = false;
    this.#isolates[index] = this.#isolate();
    this.#counts.killed += 1;
  }

  /** Durable in order, unless the instance has lost the storage by then: that ends it, and its replies with it. */
  #write(instance: Instance, commit: () => void): void {
    instance.durableAtMs = Math.max(instance.durableAtMs, this.#world.nowMs + this.#world.delay());
    this.#world.at(instance.durableAtMs, () => {
      if (!instance.alive) return;
      if (instance === this.#owner) commit();
      else this.#end(instance);
    });
  }

  #writePlan(instance: Instance, plan: Plan): void {
    if (plan.entries.length === 0) return;
    this.#write(instance, () => {
      for (const entry of plan.entries) this.#stored.set(entry.key, entry);
      this.#storedSeq = plan.seq;
    });
  }

  #reach(instance: Instance, leaseMs: number, atMs: number): void {
    const horizon = instance.machine.horizonDue(leaseMs, atMs);
    if (horizon === undefined) return;
    if (this.#wiring.writesHorizon(instance.horizons, leaseMs)) {
      this.#write(instance, () => {
        this.#storedHorizon = horizon;
      });
    }
    instance.horizons += 1;
    instance.machine.extend(horizon, atMs);
    this.#closeLater(instance);
  }

  /** The horizon is withdrawn when the last lease has ended. */
  #closeLater(instance: Instance): void {
    const closesAtMs = instance.machine.closesAtMs;
    if (closesAtMs === undefined || instance.closing) return;
    instance.closing = true;
    this.#world.at(Math.max(this.#world.nowMs + 1, instance.clock.realOf(closesAtMs)), () => {
      instance.closing = false;
      if (!instance.alive) return;
      this.#close(instance);
      this.#closeLater(instance);
    });
  }

  #close(instance: Instance): void {
    if (!this.#wiring.mayClose(instance.machine, this.#world.read(instance))) return;
    this.#counts.closed += 1;
    this.#write(instance, () => {
      this.#storedHorizon = undefined;
    });
    if (this.#wiring.servesWhenClosed) return;
    instance.machine.close();
  }

  /** Carries a call there and its reply back. `undefined`: no reply. */
  #call<T>(
    to: () => Instance,
    handle: (instance: Instance, atMs: number, respond: (response: T) => void) => void,
    receive: (response: T | undefined) => void,
  ): void {
    const deliver = (): void => {
      const instance = to();
      if (!instance.alive || this.#world.fails(0.02)) {
        this.#world.after(5_000, () => receive(undefined));
        return;
      }
      handle(instance, this.#world.read(instance), (response) =>
        this.#reply(
          instance,
          () => receive(response),
          () => receive(undefined),
        ),
      );
    };
    this.#world.after(this.#world.delay(), deliver);
    if (this.#world.fails(0.02)) this.#world.after(this.#world.delay(), deliver);
  }

  /** Held until what was written before it is durable. */
  #reply(instance: Instance, deliver: () => void, lose: () => void): void {
    this.#world.at(Math.max(this.#world.nowMs, instance.durableAtMs), () => {
      if (!instance.alive) return this.#world.after(5_000, lose);
      if (instance !== this.#owner) this.#counts.servedBySuperseded += 1;
      this.#world.after(this.#world.delay(), deliver);
    });
  }

  #revoke(key: string, attempt: number): void {
    if (attempt > 5) return;
    const again = () => this.#revoke(key, attempt + 1);
    // An impatient caller sends it again while the first call waits.
    if (this.#world.faults && this.#world.random() < 0.2) this.#world.after(this.#world.delay(), again);
    const stray = this.#anyIsolate();
    const to = () => (this.#world.faults && this.#world.random() < 0.15 ? stray.reaches : this.#owner);
    this.#world.after(this.#world.delay(), () => {
      const instance = to();
      if (!instance.alive) return this.#world.after(1_000, again);
      const committedMs = this.#world.nowMs;
      const { machine } = instance;
      const change = { rows: [{ key, untilMs: neverMs }], cutOffs: [], cv: 0 };
      const plan = machine.plan(change, (known) => instance.rows.get(known));
      this.#writePlan(instance, plan);
      machine.apply(plan);
      for (const entry of plan.entries) instance.rows.set(entry.key, entry);
      this.#buildFilterIfDue(instance);
      if (plan.entries.length > 0) this.#world.announce(instance, (call) => this.#grant(instance, call));
      const waits = plan.entries.length > 0 || this.#wiring.waitsWhenRepeated;
      const acknowledge = () => {
        if (!instance.alive) return this.#world.after(1_000, again);
        // The reply may be lost: the caller sends the same operation again.
        if (this.#world.faults && this.#world.random() < 0.2) return this.#world.after(this.#world.delay(), again);
        this.#reply(
          instance,
          () => {
            this.#world.acknowledgementsMs.push(this.#world.nowMs - committedMs);
            this.#acknowledged(key);
          },
          again,
        );
      };
      if (waits) this.#awaitInForce(instance, acknowledge);
      else acknowledge();
    });
  }

  #awaitInForce(instance: Instance, then: () => void): void {
    const { machine, clock } = instance;
    const atMs = this.#world.read(instance);
    const wait = machine.startWait(atMs);
    const fenceMs = this.#wiring.waitsForFence ? wait.fenceMs : 0;
    let missing = 1;
    const done = () => {
      missing -= 1;
      if (missing > 0) return;
      machine.endWait(wait);
      then();
    };
    if (fenceMs > 0) {
      missing += 1;
      this.#world.after(clock.realDuration(fenceMs), done);
    }
    missing += 1;
    this.#world.await(instance, wait.pending, atMs, this.#wiring.nextWaitMs, done);
    done();
  }

  #buildFilterIfDue(instance: Instance): void {
    buildFilterIfDue(this.#world, instance, {
      soon: () => Array.from({ length: 6 }, (_, index) => `j:${this.#revocations + index}`),
      numbersAtEnd: this.#wiring.numbersFilterAtEnd,
      built: () => {
        this.#counts.filters += 1;
      },
    });
  }

  #grant(instance: Instance, call: HeldCall<LeaseRequest, Granted | undefined>): void {
    const { request, arrivedAtMs, respond } = call;
    const { machine, clock } = instance;
    const atMs = this.#world.read(instance);
    this.#reach(instance, this.#leaseMs, atMs);
    const response = this.#wiring.respond(machine.lease(request, Math.max(0, atMs - arrivedAtMs), atMs));
    this.#buildFilterIfDue(instance);
    if (this.#wiring.confirmsOnSend && response.kind === "lease")
      this.#world.settle(instance, machine.confirm({ ...request, confirmedSeq: response.seq }));
    const endsMs = clock.realOf(machine.releaseAtMs);
    if (this.#world.fails(0.02)) {
      if (this.#wiring.forgetsOnDisconnect) this.#world.settle(instance, machine.release(request.holder));
      this.#world.after(5_000, () => respond(undefined));
      return;
    }
    respond({ response, endsMs });
  }

  #request(isolate: Isolate): void {
    if (this.#isFrozen(isolate)) return;
    const arrivedMs = this.#world.nowMs;
    const arrivedAtMs = this.#world.read(isolate);
    const { replica } = isolate;
    isolate.lastUseMs = this.#world.nowMs;
    if (replica.covers(arrivedAtMs)) {
      this.#keepRenewing(isolate);
      this.#world.after(this.#world.delay(), () => {
        // Meanwhile the replica may have been discarded.
        if (replica.covers(arrivedAtMs)) this.#decideByReplica(isolate, arrivedMs);
        else this.#check(isolate, arrivedMs);
      });
    } else if (this.#world.random() < 0.3) {
      this.#check(isolate, arrivedMs);
    } else {
      this.#lease(isolate, false, () => {
        if (!replica.covers(arrivedAtMs)) return this.#check(isolate, arrivedMs);
        this.#keepRenewing(isolate);
        this.#decideByReplica(isolate, arrivedMs);
      });
    }
  }

  #isFrozen(isolate: Isolate): boolean {
    return !isolate.alive || this.#world.nowMs < isolate.frozenUntilMs;
  }

  /** One held renewal after the other, while requests come. */
  #keepRenewing(isolate: Isolate): void {
    if (isolate.renewing) return;
    isolate.renewing = true;
    isolate.renewal += 1;
    const number = isolate.renewal;
    const renew = (): void => {
      if (!isolate.alive || number !== isolate.renewal) return;
      if (this.#isFrozen(isolate)) {
        this.#world.after(50, renew);
        return;
      }
      if (this.#world.nowMs - isolate.lastUseMs > this.#leaseMs) {
        this.#goIdle(isolate);
        return;
      }
      this.#lease(isolate, true, renew);
      // The isolate takes a renewal for lost before the call ends: another request starts to renew.
      this.#world.after(2 * this.#leaseMs, () => {
        if (number === isolate.renewal && this.#world.random() < 0.5) isolate.renewing = false;
      });
    };
    renew();
  }

  /** No more requests come: the lease is given up, and the shard hears of it, or not. */
  #goIdle(isolate: Isolate): void {
    if (this.#isFrozen(isolate)) return;
    isolate.renewal += 1;
    isolate.renewing = false;
    const released = isolate.holder ?? isolate.replica.lapse();
    if (!this.#wiring.renamesOnRelease) isolate.holder = released;
    this.#counts.releases += 1;
    this.#call<undefined>(
      () => isolate.reaches,
      (instance, _, respond) => {
        this.#world.settle(instance, instance.machine.release(released));
        this.#close(instance);
        respond(undefined);
      },
      () => {},
    );
  }

  #lease(isolate: Isolate, hold: boolean, then: () => void): void {
    const sentAtMs = this.#world.read(isolate);
    const request = isolate.replica.request(this.#leaseMs, undefined, hold);
    const sent = isolate.holder === undefined ? request : { ...request, holder: isolate.holder };
    let isOver = false;
    this.#call<Granted>(
      () => isolate.reaches,
      (instance, atMs, respond) => {
        const { machine } = instance;
        this.#world.settle(instance, machine.confirm(sent));
        const answer = (granted: Granted | undefined) => granted && respond(granted);
        const untilMs = machine.holdUntilMs(sent, atMs);
        if (untilMs > atMs) this.#counts.heldRenewals += 1;
        const call = { request: sent, arrivedAtMs: atMs, respond: answer };
        this.#world.holdOrGrant(instance, call, untilMs, (due) => this.#grant(instance, due));
      },
      (granted) => {
        const goOn = () => {
          if (isOver) return;
          isOver = true;
          then();
        };
        if (granted === undefined) goOn();
        else this.#receive(isolate, request, sentAtMs, granted, goOn);
      },
    );
    // A response that never comes: the caller goes on without it.
    this.#world.after(6_000 + this.#leaseMs, () => {
      if (isOver) return;
      isOver = true;
      then();
    });
  }

  /** A frozen isolate installs when it runs again; the control version it must act on first may take a while. */
  #receive(
    isolate: Isolate,
    request: LeaseRequest,
    sentAtMs: number,
    { response, endsMs }: Granted,
    then: () => void,
  ): void {
    if (!isolate.alive) return;
    if (response.kind !== "lease") {
      isolate.replica.clear();
      then();
      return;
    }
    const thawMs = Math.max(0, isolate.frozenUntilMs - this.#world.nowMs);
    const receivedAtMs = isolate.clock.read(this.#world.nowMs + thawMs);
    if (this.#wiring.confirmsOnReceipt) {
      const early = { ...request, confirmedSeq: response.seq };
      this.#call<undefined>(
        () => isolate.reaches,
        (instance) => this.#world.settle(instance, instance.machine.confirm(early)),
        () => {},
      );
    }
    this.#world.after(thawMs + (this.#world.random() < 0.1 ? this.#world.delay() : 0), () => {
      const { replica, clock } = isolate;
      const from = this.#wiring.sentAt(sentAtMs, receivedAtMs, response.heldMs);
      const before = replica.validUntilMs;
      replica.install(
        response,
        request.holder === replica.holder || isolate.holder === undefined
          ? request
          : { ...request, holder: replica.holder },
        from,
      );
      if (replica.validUntilMs > before && clock.realOf(replica.validUntilMs) > endsMs)
        this.#world.violate("I2: a lease outlives the shard's");
      this.#assertCurrent(isolate, "I1: a lease arrives that lacks");
      then();
    });
  }

  #check(isolate: Isolate, arrivedMs: number, key = this.#someAcknowledged(arrivedMs)): void {
    if (key === undefined) return;
    const remember = isolate.replica.rememberCheck();
    this.#call<CheckResponse>(
      () => isolate.reaches,
      (instance, atMs, respond) => {
        this.#reach(instance, 0, atMs);
        respond(instance.machine.check([key], [], -1, atMs, (known) => instance.rows.get(known)));
      },
      (response) => {
        if (response === undefined) return;
        this.#counts.decidedByCheck += 1;
        remember(subjectOf(key), response);
        const acknowledgedAtMs = this.#acknowledgedAtMs.get(key);
        if (acknowledgedAtMs === undefined || acknowledgedAtMs >= arrivedMs) return;
        if (!response.revoked.includes(key))
          this.#world.violate(`I1: a check that came after its acknowledgement lacks ${key}`);
      },
    );
  }

  #decideByReplica(isolate: Isolate, arrivedMs: number): void {
    const key = this.#someAcknowledged(arrivedMs);
    if (key === undefined) return;
    this.#counts.decidedByLease += 1;
    const { replica } = isolate;
    // A token that is not revoked yet, and perhaps soon: what is remembered of its check must not outlast that.
    const alive = `j:${this.#revocations + Math.floor(4 * this.#world.random())}`;
    if (this.#wiring.checksHits && replica.needsCheck(subjectOf(alive))) this.#check(isolate, arrivedMs, alive);
    if (!replica.isRevoked(subjectOf(key)) && replica.needsCheck(subjectOf(key))) {
      this.#counts.hits += 1;
      if (this.#wiring.checksHits) this.#check(isolate, arrivedMs, key);
      else this.#world.violate(`I1: ${key} is treated as not revoked`);
      return;
    }
    if (!knows(isolate, key))
      this.#world.violate(`I1: a request that came after its acknowledgement does not find ${key}`);
  }

  #someAcknowledged(beforeMs: number): string | undefined {
    const keys = [...this.#acknowledgedAtMs].filter(([, atMs]) => atMs < beforeMs);
    return keys[Math.floor(this.#world.random() ** 0.3 * keys.length)]?.[0];
  }

  /** From now on no isolate may answer a request without it: whether one arrives this moment or not. */
  #acknowledged(key: string): void {
    if (!this.#acknowledgedAtMs.has(key)) this.#acknowledgedAtMs.set(key, this.#world.nowMs);
    if (!this.#stored.has(key)) this.#world.violate(`I5: ${key} is acknowledged and not durable`);
    for (const isolate of this.#isolates) this.#assertCurrent(isolate, "I1: a lease outlives the acknowledgement of");
  }

  #assertCurrent(isolate: Isolate, what: string): void {
    if (!isolate.alive || !isolate.replica.covers(this.#world.read(isolate))) return;
    for (const key of this.#acknowledgedAtMs.keys()) if (!knows(isolate, key)) this.#world.violate(`${what} ${key}`);
  }
}

/** Found revoked, or not decided without an exact check. */
function knows({ replica }: Isolate, key: string): boolean {
  return replica.isRevoked(subjectOf(key)) || replica.needsCheck(subjectOf(key));
}
