import { buildSmallRowFilter, FilterKeys } from "@edge-op/shared/leases/build-row-filter";
import { HeldRenewals } from "@edge-op/shared/leases/held-renewals";
import type { PendingChange } from "@edge-op/shared/leases/lease-holders";
import type { CheckResponse, LeaseRequest, LeaseResponse } from "@edge-op/shared/objects/token-revocation-store";
import type { RevocationSubject } from "@edge-op/shared/revocation/revocation-subject";
import { ShardReplica } from "@edge-op/shared/revocation/shard-replica";
import type { DurableState, Horizon, Plan, RevocationMachine } from "../src/revocation/revocation-machine.ts";
import type { Entry } from "../src/revocation/revoked-set.ts";
import type { Wiring } from "./lease-wiring.ts";
import { Agenda, Clock, randomFrom } from "./simulated-time.ts";

interface HeldCall {
  readonly request: LeaseRequest;
  readonly arrivedAtMs: number;
  receive(granted: Granted | undefined): void;
}

interface Granted {
  readonly response: LeaseResponse;
  /** In real time: when the shard takes the lease for ended. */
  readonly endsMs: number;
}

interface Instance {
  readonly clock: Clock;
  readonly machine: RevocationMachine;
  readonly held: HeldRenewals<HeldCall>;
  readonly waiting: Map<PendingChange, () => void>;
  /** Storage as this instance sees it: what was durable when it began, and its own writes. */
  readonly rows: Map<string, Entry>;
  building: boolean;
  alive: boolean;
  /** Whether an attempt to withdraw the horizon is due. */
  closing: boolean;
  horizons: number;
  /** When its writes so far are durable: replies are held until then. */
  durableAtMs: number;
}

interface Isolate {
  readonly clock: Clock;
  readonly replica: ShardReplica;
  /** The instance its calls reach; a superseded one for as long as it lives. */
  reaches: Instance;
  /** Number of the renewal that is out; the response to an older one starts no other. */
  renewal: number;
  renewing: boolean;
  lastUseMs: number;
  frozenUntilMs: number;
  alive: boolean;
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
/** Rows outlive the run: their death is a matter of the object and the replica. */
const neverMs = 10_000_000_000;
const address = { generation: 1, region: "wnam", shard: 0 };

/**
 * **A discrete-event simulation of protocols.md §2**: one shard, several isolates, the real machine, holders and replica. Clocks
 * differ by offset and rate; calls and writes take random times, are lost, late or doubled; renewals are held; isolates are
 * frozen, killed or let their leases go; instances are superseded and some go on answering those that still reach them. Real
 * time is what only the simulation knows; the invariants are checked in it.
 */
export class Simulation {
  readonly #random: () => number;
  readonly #wiring: Wiring;
  readonly #circumstances: Circumstances;
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
  readonly #acknowledgementsMs: number[] = [];
  readonly #counts = {
    decidedByLease: 0,
    decidedByCheck: 0,
    servedBySuperseded: 0,
    restarts: 0,
    heldRenewals: 0,
    confirmed: 0,
    releases: 0,
    frozen: 0,
    killed: 0,
    closed: 0,
    filters: 0,
    hits: 0,
  };

  constructor(seed: number, wiring: Wiring, circumstances: Circumstances = { faults: true }) {
    this.#random = randomFrom(seed);
    this.#wiring = wiring;
    this.#circumstances = circumstances;
    this.#leaseMs = circumstances.faults ? [100, 1_000, 2_000][Math.floor(this.#random() * 3)]! : 1_000;
    this.#owner = this.#boot();
    this.#isolates = Array.from({ length: isolateCount }, () => this.#isolate());
  }

  run(): Run {
    for (let index = 0; index < isolateCount; index += 1) {
      this.#repeat(10 + 400 * this.#random(), () => this.#request(this.#isolates[index]!));
    }
    this.#repeat(1_500, () => this.#revoke(`j:${this.#revocations++}`, 0));
    if (this.#circumstances.faults) {
      this.#repeat(4_000, () => this.#restart());
      this.#repeat(2_500, () => this.#freeze());
      this.#repeat(5_000, () => this.#kill());
      this.#repeat(3_000, () => this.#goIdle(this.#anyIsolate()));
    }
    while (!this.#violations.some((violation) => violation.startsWith("I1"))) {
      const event = this.#agenda.next();
      if (event === undefined || event.atMs > runMs) break;
      this.#nowMs = event.atMs;
      event.run();
    }
    return {
      violations: this.#violations,
      acknowledged: this.#acknowledgedAtMs.size,
      acknowledgementsMs: this.#acknowledgementsMs,
      ...this.#counts,
    };
  }

  #isolate(): Isolate {
    return {
      clock: new Clock(this.#random),
      replica: new ShardReplica(),
      reaches: this.#owner,
      renewal: 0,
      renewing: false,
      lastUseMs: Number.NEGATIVE_INFINITY,
      frozenUntilMs: 0,
      alive: true,
      holder: undefined,
    };
  }

  #anyIsolate(): Isolate {
    return this.#isolates[Math.floor(this.#random() * isolateCount)]!;
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
    if (!this.#circumstances.faults) return 15 * scale;
    return scale < 0.8 ? 30 * this.#random() : scale < 0.97 ? 400 * this.#random() : 4_000 * this.#random();
  }

  #isLost(): boolean {
    return this.#random() < 0.02 && this.#circumstances.faults;
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
    const held = new HeldRenewals<HeldCall>();
    return {
      clock,
      machine,
      held,
      waiting: new Map(),
      rows: new Map(this.#stored),
      building: false,
      alive: true,
      closing: false,
      horizons: 0,
      durableAtMs: this.#nowMs,
    };
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

  /** For a while the isolate runs nothing; its clock goes on. */
  #freeze(): void {
    this.#counts.frozen += 1;
    this.#anyIsolate().frozenUntilMs = this.#nowMs + 3_000 * this.#random();
  }

  #kill(): void {
    const index = Math.floor(this.#random() * isolateCount);
    this.#isolates[index]!.alive = false;
    this.#isolates[index] = this.#isolate();
    this.#counts.killed += 1;
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
    this.#closeLater(instance);
  }

  /** The horizon is withdrawn when the last lease has ended. */
  #closeLater(instance: Instance): void {
    const closesAtMs = instance.machine.closesAtMs;
    if (closesAtMs === undefined || instance.closing) return;
    instance.closing = true;
    this.#agenda.at(Math.max(this.#nowMs + 1, instance.clock.realOf(closesAtMs)), () => {
      instance.closing = false;
      if (!instance.alive) return;
      this.#close(instance);
      this.#closeLater(instance);
    });
  }

  #close(instance: Instance): void {
    if (!this.#wiring.mayClose(instance.machine, instance.clock.read(this.#nowMs))) return;
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
      if (!instance.alive || this.#isLost()) {
        this.#after(5_000, () => receive(undefined));
        return;
      }
      handle(instance, instance.clock.read(this.#nowMs), (response) =>
        this.#reply(
          instance,
          () => receive(response),
          () => receive(undefined),
        ),
      );
    };
    this.#after(this.#delay(), deliver);
    if (this.#isLost()) this.#after(this.#delay(), deliver);
  }

  /** Held until what was written before it is durable. */
  #reply(instance: Instance, deliver: () => void, lose: () => void): void {
    this.#agenda.at(Math.max(this.#nowMs, instance.durableAtMs), () => {
      if (!instance.alive) return this.#after(5_000, lose);
      if (instance !== this.#owner) this.#counts.servedBySuperseded += 1;
      this.#after(this.#delay(), deliver);
    });
  }

  #revoke(key: string, attempt: number): void {
    if (attempt > 5) return;
    const again = () => this.#revoke(key, attempt + 1);
    // An impatient caller sends it again while the first call waits.
    if (this.#circumstances.faults && this.#random() < 0.2) this.#after(this.#delay(), again);
    const stray = this.#anyIsolate();
    const to = () => (this.#circumstances.faults && this.#random() < 0.15 ? stray.reaches : this.#owner);
    this.#after(this.#delay(), () => {
      const instance = to();
      if (!instance.alive) return this.#after(1_000, again);
      const committedMs = this.#nowMs;
      const { machine } = instance;
      const change = { rows: [{ key, untilMs: neverMs }], cutOffs: [], cv: 0 };
      const plan = machine.plan(change, (known) => instance.rows.get(known));
      this.#writePlan(instance, plan);
      machine.apply(plan);
      for (const entry of plan.entries) instance.rows.set(entry.key, entry);
      this.#buildFilterIfDue(instance);
      if (plan.entries.length > 0) this.#announce(instance);
      const waits = plan.entries.length > 0 || this.#wiring.waitsWhenRepeated;
      const acknowledge = () => {
        if (!instance.alive) return this.#after(1_000, again);
        // The reply may be lost: the caller sends the same operation again.
        if (this.#circumstances.faults && this.#random() < 0.2) return this.#after(this.#delay(), again);
        this.#reply(
          instance,
          () => {
            this.#acknowledgementsMs.push(this.#nowMs - committedMs);
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
    const { machine, clock, waiting } = instance;
    const wait = machine.startWait(clock.read(this.#nowMs));
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
      this.#after(clock.realDuration(fenceMs), done);
    }
    if (wait.leasesMs > 0) {
      missing += 1;
      let isOver = false;
      const end = () => {
        if (isOver) return;
        isOver = true;
        waiting.delete(wait.pending);
        done();
      };
      waiting.set(wait.pending, () => {
        this.#counts.confirmed += 1;
        end();
      });
      this.#after(clock.realDuration(wait.leasesMs), end);
    }
    done();
  }

  /**
   * Rows that are written during the build are in the filter, or not. It also contains rows that are not revoked yet: what a real filter
   * contains by chance is too rare to be seen here.
   */
  #buildFilterIfDue(instance: Instance): void {
    const { machine, rows } = instance;
    if (instance.building || !machine.isFilterDue) return;
    instance.building = true;
    const { seq } = machine;
    const begun = [...rows.keys()];
    this.#after(this.#delay(), () => {
      const late = [...rows.keys()].slice(begun.length).filter(() => this.#random() < 0.5);
      const chance = Array.from({ length: 6 }, (_, index) => `j:${this.#revocations + index}`);
      const keys = new FilterKeys({ k0: this.#random() * 2 ** 32, k1: this.#random() * 2 ** 32 });
      const contents = this.#wiring.numbersFilterAtEnd ? begun : [...begun, ...late];
      for (const key of new Set([...contents, ...chance.filter(() => this.#random() < 0.5)])) keys.add(key);
      const bytes = buildSmallRowFilter(keys, () => this.#random() * 2 ** 32)!;
      const numbered = this.#wiring.numbersFilterAtEnd ? machine.seq : seq;
      machine.useFilter({ seq: numbered, untilMs: neverMs, bytes }, keys.count);
      instance.building = false;
      this.#counts.filters += 1;
    });
  }

  #announce(instance: Instance): void {
    instance.held.announce(instance.clock.read(this.#nowMs));
    this.#resolveHeld(instance);
  }

  /** Answers what is due, and comes again when the next is. */
  #resolveHeld(instance: Instance): void {
    if (!instance.alive) return;
    const atMs = instance.clock.read(this.#nowMs);
    for (const call of instance.held.take(atMs)) this.#grant(instance, call, atMs);
    const nextMs = instance.held.nextMs();
    if (nextMs === undefined) return;
    this.#agenda.at(Math.max(this.#nowMs + 0.5, instance.clock.realOf(nextMs)), () => this.#resolveHeld(instance));
  }

  #grant(instance: Instance, { request, arrivedAtMs, receive }: HeldCall, atMs: number): void {
    const { machine, clock } = instance;
    this.#reach(instance, this.#leaseMs, atMs);
    const response = this.#wiring.respond(machine.lease(request, Math.max(0, atMs - arrivedAtMs), atMs));
    this.#buildFilterIfDue(instance);
    if (this.#wiring.confirmsOnSend && response.kind === "lease")
      this.#settle(instance, machine.confirm({ ...request, confirmedSeq: response.seq }));
    const endsMs = clock.realOf(machine.releaseAtMs);
    if (this.#isLost()) {
      if (this.#wiring.forgetsOnDisconnect) this.#settle(instance, machine.release(request.holder));
      this.#after(5_000, () => receive(undefined));
      return;
    }
    receive({ response, endsMs });
  }

  #settle(instance: Instance, changes: readonly PendingChange[]): void {
    for (const change of changes) instance.waiting.get(change)?.();
  }

  #request(isolate: Isolate): void {
    if (this.#isFrozen(isolate)) return;
    const arrivedMs = this.#nowMs;
    const arrivedAtMs = isolate.clock.read(arrivedMs);
    const { replica } = isolate;
    isolate.lastUseMs = this.#nowMs;
    if (replica.covers(arrivedAtMs)) {
      this.#keepRenewing(isolate);
      this.#after(this.#delay(), () => {
        // Meanwhile the replica may have been discarded.
        if (replica.covers(arrivedAtMs)) this.#decideByReplica(isolate, arrivedMs);
        else this.#check(isolate, arrivedMs);
      });
    } else if (this.#random() < 0.3) {
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
    return !isolate.alive || this.#nowMs < isolate.frozenUntilMs;
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
        this.#after(50, renew);
        return;
      }
      if (this.#nowMs - isolate.lastUseMs > this.#leaseMs) {
        this.#goIdle(isolate);
        return;
      }
      this.#lease(isolate, true, renew);
      // The isolate takes a renewal for lost before the call ends: another request starts to renew.
      this.#after(2 * this.#leaseMs, () => {
        if (number === isolate.renewal && this.#random() < 0.5) isolate.renewing = false;
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
        this.#settle(instance, instance.machine.release(released));
        this.#close(instance);
        respond(undefined);
      },
      () => {},
    );
  }

  #lease(isolate: Isolate, hold: boolean, then: () => void): void {
    const sentAtMs = isolate.clock.read(this.#nowMs);
    const request = isolate.replica.request(this.#leaseMs, undefined, hold);
    const sent = isolate.holder === undefined ? request : { ...request, holder: isolate.holder };
    let isOver = false;
    this.#call<Granted>(
      () => isolate.reaches,
      (instance, atMs, respond) => {
        const { machine, held } = instance;
        this.#settle(instance, machine.confirm(sent));
        const receive = (granted: Granted | undefined) => granted && respond(granted);
        const call = { request: sent, arrivedAtMs: atMs, receive };
        const untilMs = machine.holdUntilMs(sent, atMs);
        const before = untilMs > atMs ? held.hold(sent.holder, call, untilMs) : held.release(sent.holder);
        if (before !== undefined) this.#grant(instance, before, atMs);
        if (untilMs > atMs) this.#counts.heldRenewals += 1;
        else this.#grant(instance, call, atMs);
        this.#resolveHeld(instance);
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
    this.#after(6_000 + this.#leaseMs, () => {
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
    const thawMs = Math.max(0, isolate.frozenUntilMs - this.#nowMs);
    const receivedAtMs = isolate.clock.read(this.#nowMs + thawMs);
    if (this.#wiring.confirmsOnReceipt) {
      const early = { ...request, confirmedSeq: response.seq };
      this.#call<undefined>(
        () => isolate.reaches,
        (instance) => this.#settle(instance, instance.machine.confirm(early)),
        () => {},
      );
    }
    this.#after(thawMs + (this.#random() < 0.1 ? this.#delay() : 0), () => {
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
        this.#violate("I2: a lease outlives the shard's");
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
          this.#violate(`I1: a check that came after its acknowledgement lacks ${key}`);
      },
    );
  }

  #decideByReplica(isolate: Isolate, arrivedMs: number): void {
    const key = this.#someAcknowledged(arrivedMs);
    if (key === undefined) return;
    this.#counts.decidedByLease += 1;
    const { replica } = isolate;
    // A token that is not revoked yet, and perhaps soon: what is remembered of its check must not outlast that.
    const alive = `j:${this.#revocations + Math.floor(4 * this.#random())}`;
    if (this.#wiring.checksHits && replica.needsCheck(subjectOf(alive))) this.#check(isolate, arrivedMs, alive);
    if (!replica.isRevoked(subjectOf(key)) && replica.needsCheck(subjectOf(key))) {
      this.#counts.hits += 1;
      if (this.#wiring.checksHits) this.#check(isolate, arrivedMs, key);
      else this.#violate(`I1: ${key} is treated as not revoked`);
      return;
    }
    if (!knows(isolate, key)) this.#violate(`I1: a request that came after its acknowledgement does not find ${key}`);
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
    if (!isolate.alive || !isolate.replica.covers(isolate.clock.read(this.#nowMs))) return;
    for (const key of this.#acknowledgedAtMs.keys()) if (!knows(isolate, key)) this.#violate(`${what} ${key}`);
  }

  #violate(what: string): void {
    this.#violations.push(`${what}, at ${Math.round(this.#nowMs)} ms`);
  }
}

/** Found revoked, or not decided without an exact check. */
function knows({ replica }: Isolate, key: string): boolean {
  return replica.isRevoked(subjectOf(key)) || replica.needsCheck(subjectOf(key));
}

function subjectOf(key: string): RevocationSubject {
  return { address, jti: key.slice(2), grantId: "", grantCreatedAtMs: 0, sub: "", clientId: "", lineage: [] };
}
