import type { CheckReply, LeaseReply } from "@edge-op/shared/objects/token-revocation-store";
import { ShardReplica } from "@edge-op/shared/revocation/shard-replica";
import type { DurableState, Entry, Horizon, Plan, RevocationMachine } from "../src/revocation/revocation-machine.ts";
import type { Wiring } from "./lease-wiring.ts";
import { Agenda, Clock, randomFrom } from "./simulated-time.ts";

interface Instance {
  readonly clock: Clock;
  readonly machine: RevocationMachine;
  alive: boolean;
  horizons: number;
  /** When its writes so far are durable: replies are held until then. */
  durableAtMs: number;
}

interface Isolate {
  readonly clock: Clock;
  readonly replica: ShardReplica;
  /** The instance its calls reach; a superseded one for as long as it lives. */
  reaches: Instance;
  renewing: boolean;
}

export interface Run {
  /** What went wrong, in words; empty for a correct protocol. */
  readonly violations: readonly string[];
  /** What the run was made of, so that a test can see it was not an idle one. */
  readonly acknowledged: number;
  readonly answeredByLease: number;
  readonly answeredByCheck: number;
  readonly answeredBySuperseded: number;
  readonly restarts: number;
}

const runMs = 25_000;
const isolateCount = 3;
/** Rows outlive the run: their death is a matter of the object and the replica. */
const neverMs = 10_000_000_000;
const address = { generation: 1, region: "wnam", shard: 0 };

/**
 * **A discrete-event simulation of protocols.md §2**: one shard, several isolates, the real machine and the real replica.
 * Clocks differ by offset and rate, calls and writes take random times, instances are superseded and some go on answering
 * those that still reach them. Real time is what only the simulation knows; the invariants are checked in it.
 */
export class Simulation {
  readonly #random: () => number;
  readonly #wiring: Wiring;
  readonly #leaseMs: number;
  readonly #agenda = new Agenda();
  #revocations = 0;
  #nowMs = 0;

  readonly #stored = new Map<string, Entry>();
  #storedSeq = 0;
  #storedHorizon: Horizon | undefined;
  #owner: Instance;
  readonly #isolates: Isolate[];

  readonly #acknowledgedAtMs = new Map<string, number>();
  readonly #violations: string[] = [];
  readonly #counts = { answeredByLease: 0, answeredByCheck: 0, answeredBySuperseded: 0, restarts: 0 };

  constructor(seed: number, wiring: Wiring) {
    this.#random = randomFrom(seed);
    this.#wiring = wiring;
    this.#leaseMs = [100, 1_000, 2_000][Math.floor(this.#random() * 3)]!;
    this.#owner = this.#boot();
    this.#isolates = Array.from({ length: isolateCount }, () => ({
      clock: new Clock(this.#random),
      replica: new ShardReplica(),
      reaches: this.#owner,
      renewing: false,
    }));
  }

  run(): Run {
    for (const isolate of this.#isolates) {
      this.#repeat(10 + 400 * this.#random(), () => this.#request(isolate));
    }
    this.#repeat(1_500, () => this.#revoke(`j:${this.#revocations++}`, 0));
    this.#repeat(4_000, () => this.#restart());
    while (!this.#violations.some((violation) => violation.startsWith("I1"))) {
      const event = this.#agenda.next();
      if (event === undefined || event.atMs > runMs) break;
      this.#nowMs = event.atMs;
      event.run();
    }
    return { violations: this.#violations, acknowledged: this.#acknowledgedAtMs.size, ...this.#counts };
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

  /** Mostly short, sometimes very long. */
  #delay(): number {
    const scale = this.#random();
    return scale < 0.8 ? 30 * this.#random() : scale < 0.97 ? 400 * this.#random() : 4_000 * this.#random();
  }

  #boot(): Instance {
    const clock = new Clock(this.#random);
    const durable: DurableState = {
      entries: [...this.#stored.values()],
      seq: this.#storedSeq,
      cv: 0,
      horizon: this.#storedHorizon,
    };
    const machine = this.#wiring.boot(durable, clock.read(this.#nowMs));
    return { clock, machine, alive: true, horizons: 0, durableAtMs: this.#nowMs };
  }

  /** A successor opens the storage; the old instance ends now, or goes on answering those that still reach it. */
  #restart(): void {
    const old = this.#owner;
    this.#owner = this.#boot();
    this.#counts.restarts += 1;
    for (const isolate of this.#isolates) {
      if (isolate.reaches === old && this.#random() < 0.4) isolate.reaches = this.#owner;
    }
    const lives = this.#random() < 0.3 ? 0 : 15_000 * this.#random();
    this.#after(lives, () => this.#end(old));
  }

  #end(instance: Instance): void {
    instance.alive = false;
    for (const isolate of this.#isolates) if (isolate.reaches === instance) isolate.reaches = this.#owner;
  }

  /** Durable in order, unless the instance has lost the storage by then: that ends it, and its replies with it. */
  #write(instance: Instance, commit: () => void): void {
    instance.durableAtMs = Math.max(instance.durableAtMs, this.#nowMs + this.#delay());
    this.#agenda.at(instance.durableAtMs, () => {
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
  }

  /** Carries a call there and its reply back. `undefined`: nobody answered. */
  #call<T>(
    to: () => Instance,
    handle: (instance: Instance, atMs: number) => T,
    receive: (reply: T | undefined) => void,
  ): void {
    this.#after(this.#delay(), () => {
      const instance = to();
      if (!instance.alive || this.#random() < 0.02) return this.#after(5_000, () => receive(undefined));
      const reply = handle(instance, instance.clock.read(this.#nowMs));
      this.#reply(
        instance,
        () => receive(reply),
        () => receive(undefined),
      );
    });
  }

  /** Held until what was written before it is durable. */
  #reply(instance: Instance, deliver: () => void, lose: () => void): void {
    this.#agenda.at(Math.max(this.#nowMs, instance.durableAtMs), () => {
      if (!instance.alive) return this.#after(5_000, lose);
      if (instance !== this.#owner) this.#counts.answeredBySuperseded += 1;
      this.#after(this.#delay(), deliver);
    });
  }

  #revoke(key: string, attempt: number): void {
    if (attempt > 5) return;
    const again = () => this.#revoke(key, attempt + 1);
    // An impatient caller sends it again while the first call waits.
    if (this.#random() < 0.2) this.#after(this.#delay(), again);
    const stray = this.#isolates[Math.floor(this.#random() * isolateCount)]!;
    const to = () => (this.#random() < 0.15 ? stray.reaches : this.#owner);
    this.#after(this.#delay(), () => {
      const instance = to();
      if (!instance.alive) return this.#after(1_000, again);
      const { machine, clock } = instance;
      const plan = machine.plan({ rows: [{ key, untilMs: neverMs }], cutOffs: [], cv: 0 });
      this.#writePlan(instance, plan);
      machine.apply(plan);
      const waits = plan.entries.length > 0 || this.#wiring.waitsWhenRepeated;
      const waitMs = waits ? Math.max(0, Math.ceil(machine.releaseAtMs - clock.read(this.#nowMs))) : 0;
      this.#after(clock.realDuration(waitMs), () => {
        if (!instance.alive) return this.#after(1_000, again);
        // The reply may be lost: the caller sends the same operation again.
        if (this.#random() < 0.2) return this.#after(this.#delay(), again);
        this.#reply(instance, () => this.#acknowledged(key), again);
      });
    });
  }

  #request(isolate: Isolate): void {
    const arrivedMs = this.#nowMs;
    const arrivedAtMs = isolate.clock.read(arrivedMs);
    const { replica } = isolate;
    if (replica.covers(arrivedAtMs)) {
      if (replica.isDue(arrivedAtMs)) this.#renew(isolate);
      this.#after(this.#delay(), () => this.#answerByReplica(isolate, arrivedMs));
    } else if (this.#random() < 0.3) {
      this.#check(isolate, arrivedMs);
    } else {
      this.#lease(isolate, () => {
        if (replica.covers(arrivedAtMs)) this.#answerByReplica(isolate, arrivedMs);
        else this.#check(isolate, arrivedMs);
      });
    }
  }

  #renew(isolate: Isolate): void {
    if (isolate.renewing) return;
    isolate.renewing = true;
    this.#lease(isolate, () => {
      isolate.renewing = false;
    });
  }

  #lease(isolate: Isolate, then: () => void): void {
    const sentAtMs = isolate.clock.read(this.#nowMs);
    const sinceSeq = isolate.replica.seq;
    const grant = (instance: Instance, atMs: number) => {
      this.#reach(instance, this.#leaseMs, atMs);
      const reply: LeaseReply = instance.machine.lease(sinceSeq, this.#leaseMs, atMs);
      return { reply, endsMs: instance.clock.realOf(instance.machine.releaseAtMs) };
    };
    this.#call(
      () => isolate.reaches,
      grant,
      (granted) => {
        if (granted?.reply.kind !== "lease") return then();
        const from = this.#wiring.leaseFrom(sentAtMs, isolate.clock.read(this.#nowMs));
        isolate.replica.install(granted.reply, from, sinceSeq);
        if (isolate.clock.realOf(from + granted.reply.leaseMs) > granted.endsMs)
          this.#violate("I2: a lease outlives the shard's");
        this.#assertCurrent(isolate, "I1: a lease arrives that lacks");
        then();
      },
    );
  }

  #check(isolate: Isolate, arrivedMs: number): void {
    const key = this.#someAcknowledged(arrivedMs);
    if (key === undefined) return;
    const look = (instance: Instance, atMs: number): CheckReply => {
      this.#reach(instance, 0, atMs);
      return instance.machine.check([key], [], atMs, () => undefined);
    };
    this.#call(
      () => isolate.reaches,
      look,
      (reply) => {
        if (reply === undefined) return;
        this.#counts.answeredByCheck += 1;
        if (!reply.revoked.includes(key)) this.#violate(`I1: a check that came after its acknowledgement lacks ${key}`);
      },
    );
  }

  #answerByReplica(isolate: Isolate, arrivedMs: number): void {
    const key = this.#someAcknowledged(arrivedMs);
    if (key === undefined) return;
    this.#counts.answeredByLease += 1;
    if (!knows(isolate, key)) this.#violate(`I1: a request that came after its acknowledgement is not told of ${key}`);
  }

  #someAcknowledged(beforeMs: number): string | undefined {
    const keys = [...this.#acknowledgedAtMs].filter(([, atMs]) => atMs < beforeMs);
    return keys[Math.floor(this.#random() ** 0.3 * keys.length)]?.[0];
  }

  /** From now on no isolate may answer a request without it: whether one arrives this moment or not. */
  #acknowledged(key: string): void {
    if (!this.#acknowledgedAtMs.has(key)) this.#acknowledgedAtMs.set(key, this.#nowMs);
    if (!this.#stored.has(key)) this.#violate(`I5: ${key} is acknowledged and not durable`);
    for (const isolate of this.#isolates) this.#assertCurrent(isolate, "I1: a lease outlives the acknowledgement of");
  }

  #assertCurrent(isolate: Isolate, what: string): void {
    if (!isolate.replica.covers(isolate.clock.read(this.#nowMs))) return;
    for (const key of this.#acknowledgedAtMs.keys()) if (!knows(isolate, key)) this.#violate(`${what} ${key}`);
  }

  #violate(what: string): void {
    this.#violations.push(`${what}, at ${Math.round(this.#nowMs)} ms`);
  }
}

function knows(isolate: Isolate, key: string): boolean {
  const jti = key.slice(2);
  return isolate.replica.isRevoked({
    address,
    jti,
    grantId: "",
    grantCreatedAtMs: 0,
    sub: "",
    clientId: "",
    lineage: [],
  });
}
