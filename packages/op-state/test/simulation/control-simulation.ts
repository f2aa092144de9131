import { controlLeaseLifeMs, controlLeaseMs, leaseTiming } from "@edge-op/shared/config/lease-timing";
import { Agenda, Clock, randomFrom } from "../../../../test/simulation/simulated-time.ts";
import { ControlLeases, type Registration } from "../../src/changes/control-leases.ts";
import type { Horizon } from "../../src/leases/durable-horizon.ts";
import type { LeaseWait } from "../../src/leases/given-leases.ts";
import type { PendingChange } from "../../src/leases/lease-holders.ts";
import { LeaseCoverage } from "../../src/revocation/log-follower.ts";
import { RevocationMachine } from "../../src/revocation/revocation-machine.ts";

export interface ControlWiring {
  /** The knowledge of a new instance of the control plane about its predecessor. */
  readonly inherited: (durable: ControlStorage) => Pick<ControlStorage, "horizon" | "restoredAtMs">;
  readonly countedFrom: (sentAtMs: number, receivedAtMs: number) => number;
  readonly vouchesMs: (coverage: LeaseCoverage, nowMs: number) => number;
  /** How long a lease for isolates may be. */
  readonly coveredMs: (leftMs: number) => number;
  readonly controlWaitMs: (waitMs: number) => number;
  /** Measured by the registered shard's clock. */
  readonly registered: (registration: Registration, nowMs: number) => Registration | undefined;
  readonly readsRegistrationsWithMark: boolean;
  readonly readsLogWithRegistration: boolean;
  readonly readsOnlyAnnounced: boolean;
  readonly waitsAfterRestoration: boolean;
  readonly checksMark: boolean;
  readonly shardWaits: boolean;
  readonly shardFence: boolean;
  readonly writesHorizon: boolean;
  readonly followConfirms: boolean;
  /** A premise about D1, not a rule of the product: no call that was made before a restoration is executed after it (ADR 11). */
  readonly restorationCancelsCalls: boolean;
}

export const protocol: ControlWiring = {
  inherited: ({ horizon, restoredAtMs }) => ({ horizon, restoredAtMs }),
  countedFrom: (sentAtMs) => sentAtMs,
  vouchesMs: (coverage, nowMs) => coverage.leftMs(nowMs),
  coveredMs: (leftMs) => leftMs,
  controlWaitMs: (waitMs) => waitMs,
  registered: (registration) => registration,
  readsRegistrationsWithMark: true,
  readsLogWithRegistration: true,
  readsOnlyAnnounced: true,
  waitsAfterRestoration: true,
  checksMark: true,
  shardWaits: true,
  shardFence: true,
  writesHorizon: true,
  followConfirms: false,
  restorationCancelsCalls: true,
};

const slowest = (1 - leaseTiming.driftRate) / (1 + leaseTiming.driftRate);

export const mutants: Readonly<Record<string, ControlWiring>> = {
  "a control lease counted from receipt": { ...protocol, countedFrom: (_, receivedAtMs) => receivedAtMs },
  "a control plane restarted without a fence": {
    ...protocol,
    inherited: () => ({ horizon: undefined, restoredAtMs: undefined }),
  },
  "a superseded control plane that grants beyond its horizon": { ...protocol, writesHorizon: false },
  "a wait of the control plane without drift": { ...protocol, controlWaitMs: (waitMs) => waitMs * slowest - 20 },
  "registrations not read in the announcing transaction": { ...protocol, readsRegistrationsWithMark: false },
  "a change that does not wait for the end of a registration": { ...protocol, registered: () => undefined },
  "the end of a registration compared with another clock": {
    ...protocol,
    registered: (registration, nowMs) =>
      registration.endsAtMs <= nowMs
        ? undefined
        : { ...registration, endsAtMs: registration.endsAtMs - leaseTiming.clockOffsetMs },
  },
  "a registration that does not read the log": { ...protocol, readsLogWithRegistration: false },
  "a registration that reads what is not announced": { ...protocol, readsOnlyAnnounced: false },
  "a restored D1 whose lost registrations are not waited for": { ...protocol, waitsAfterRestoration: false },
  "a D1 that is set back between the two transactions of an announcement": { ...protocol, checksMark: false },
  "a shard that vouches after its control lease": {
    ...protocol,
    vouchesMs: (coverage, nowMs) => coverage.leftMs(nowMs - 5_000),
  },
  "leases for isolates that end after the control lease": {
    ...protocol,
    coveredMs: () => Number.POSITIVE_INFINITY,
  },
  "a shard that acknowledges when it contains the change": { ...protocol, shardWaits: false },
  "a shard that forgets the leases of its predecessor": { ...protocol, shardFence: false },
  "a shard whose request confirms what it contains": { ...protocol, followConfirms: true },
};

export interface ControlStorage {
  told: Change;
  horizon: Horizon | undefined;
  restoredAtMs: number | undefined;
}

interface Change {
  readonly version: number;
  /** Stands for the time of its row: another change with this number has another tag. */
  readonly tag: number;
}

interface Machine {
  readonly clock: Clock;
  frozenUntilMs: number;
}

interface ControlInstance extends Machine {
  readonly leases: ControlLeases;
  told: Change;
}

interface ShardInstance extends Machine {
  readonly index: number;
  readonly machine: RevocationMachine;
  readonly coverage: LeaseCoverage;
  readonly fenceMs: number;
  tag: number;
  followers: ((ok: boolean) => void)[] | undefined;
  /** When it last registered in a restored D1 before the control plane had left the gap: not guaranteed (ADR 11), until it has a later lease. */
  misledAtMs: number;
  readonly waits: Map<PendingChange, () => void>;
}

interface ShardStorage {
  cv: number;
  tag: number;
  seq: number;
  horizon: Horizon | undefined;
}

interface Isolate extends Machine {
  readonly name: string;
  readonly shard: number;
  seq: number;
  known: number;
  validUntilMs: number;
}

interface Database {
  rows: Change[];
  announced: number;
  registrations: Map<string, Registration>;
}

interface Place {
  /** It is unreachable until this time. */
  awayUntilMs: number;
}

const shards = 3;
const isolatesOfShard = 2;
/** Long leases, so that they often extend beyond the control lease if nothing bounds them. */
const leaseMs = 3_000;
const endMs = 90_000;

/**
 * **The control plane, D1, shards and isolates**, lost, hung, cut off from each other, superseded, frozen and restored in any combination, by the
 * product's own decisions: `ControlLeases`, `LeaseCoverage`, `RevocationMachine`. Messages, clocks, storage, D1 and isolates are simulated. A
 * {@link ControlWiring} replaces a rule, to show that the simulation detects the fault.
 *
 * I7: a decision includes every change that was acknowledged before its request arrived. ADR 11: no number is used for two changes.
 */
export class ControlSimulation {
  readonly violations: string[] = [];
  readonly counts = {
    answered: 0,
    byLease: 0,
    byCheck: 0,
    registered: 0,
    restarts: 0,
    superseded: 0,
    setBack: 0,
    refused: 0,
  };
  /** The waits of changes, without those within ten seconds of a start of the control plane or of a restoration. */
  readonly waitsMs: number[] = [];
  readonly #random: () => number;
  readonly #wiring: ControlWiring;
  readonly #agenda = new Agenda();
  readonly #faults: boolean;
  #nowMs = 0;
  #tags = 0;
  #answered = 0;
  #database: Database = { rows: [{ version: 1, tag: 0 }], announced: 0, registrations: new Map() };
  readonly #snapshots: Database[] = [];
  #isRestored = false;
  readonly database: Place = { awayUntilMs: 0 };
  readonly control: Place = { awayUntilMs: 0 };
  readonly #cutOff: Place[] = [];
  readonly #controlStorage: ControlStorage = {
    told: { version: 0, tag: 0 },
    horizon: undefined,
    restoredAtMs: undefined,
  };
  #control: ControlInstance;
  #oldControl: ControlInstance | undefined;
  readonly #storage: ShardStorage[] = [];
  readonly #shards: ShardInstance[] = [];
  readonly #oldShards: (ShardInstance | undefined)[] = [];
  readonly #isolates: Isolate[] = [];
  readonly #adopted = new Map<number, number>();
  #disturbedAtMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number, wiring: ControlWiring, { faults = true } = {}) {
    this.#random = randomFrom(seed);
    this.#wiring = wiring;
    this.#faults = faults;
    this.#control = this.#startControl();
    for (let index = 0; index < shards; index += 1) {
      this.#storage.push({ cv: 0, tag: 0, seq: 0, horizon: undefined });
      this.#cutOff.push({ awayUntilMs: 0 });
      this.#shards.push(this.#startShard(index));
      this.#oldShards.push(undefined);
      for (let each = 0; each < isolatesOfShard; each += 1) {
        const known = { seq: -1, known: -1, validUntilMs: Number.NEGATIVE_INFINITY };
        this.#isolates.push({ ...this.#newMachine(), name: `${index}.${each}`, shard: index, ...known });
      }
    }
  }

  run(): this {
    for (const isolate of this.#isolates) this.#requestLater(isolate);
    this.#after(100, () => this.#changeLater());
    if (this.#faults) this.#after(200, () => this.#disturbLater());
    this.#after(1_000, () => this.#closeLater());
    for (let event = this.#agenda.next(); event !== undefined && event.atMs < endMs; event = this.#agenda.next()) {
      this.#nowMs = event.atMs;
      event.run();
    }
    return this;
  }

  /** For a test of one outage. */
  at(atMs: number, work: () => void): void {
    this.#agenda.at(atMs, work);
  }

  restartControl(): void {
    this.#oldControl = undefined;
    this.#control = this.#startControl();
  }

  hangShard(index: number, untilMs: number): void {
    this.#shards[index]!.frozenUntilMs = untilMs;
  }

  // Time and messages

  #after(ms: number, run: () => void): void {
    this.#agenda.at(this.#nowMs + ms, run);
  }

  /** Runs when the machine runs again. */
  #on(node: Machine, run: () => void): void {
    if (node.frozenUntilMs > this.#nowMs) this.#agenda.at(node.frozenUntilMs, () => this.#on(node, run));
    else run();
  }

  #timer(node: Machine, ms: number, run: () => void): void {
    this.#after(node.clock.realDuration(ms), () => this.#on(node, run));
  }

  /** One leg of a message: lost, late, or in flight for some milliseconds. */
  #send(deliver: () => void): void {
    const chance = this.#faults ? this.#random() : 1;
    if (chance < 0.02) return;
    this.#after(chance < 0.05 ? this.#random() * 4_000 : 1 + this.#random() * 25, deliver);
  }

  #local(node: Machine): number {
    return node.clock.read(this.#nowMs);
  }

  #newMachine(): Machine {
    return { clock: new Clock(this.#random, 1_000_000), frozenUntilMs: 0 };
  }

  // D1

  #onDatabase<T>(work: (database: Database) => T, done: (result: T) => void): void {
    const { setBack } = this.counts;
    this.#send(() => {
      const isCancelled = this.#wiring.restorationCancelsCalls && this.counts.setBack > setBack;
      if (isCancelled || this.database.awayUntilMs > this.#nowMs) return;
      const result = work(this.#database);
      this.#send(() => done(result));
    });
  }

  #append(version: number): Change {
    const change = { version, tag: ++this.#tags };
    this.#database.rows.push(change);
    this.#snapshots.push(copyOf(this.#database));
    return change;
  }

  /** Restores D1 to before the last announced change, which the control plane detects. */
  #setBack(): void {
    const earlier = this.#snapshots.filter(({ rows }) => rows.at(-1)!.version < this.#controlStorage.told.version);
    const target = earlier[Math.floor(this.#random() * earlier.length)];
    if (target === undefined) return;
    this.#database = copyOf(target);
    this.#isRestored = true;
    this.#disturbedAtMs = this.#nowMs;
    this.counts.setBack += 1;
  }

  // The control plane

  #startControl(): ControlInstance {
    const machine = this.#newMachine();
    const inherited = this.#wiring.inherited(this.#controlStorage);
    const bootAtMs = machine.clock.read(this.#nowMs);
    this.#disturbedAtMs = this.#nowMs;
    return { ...machine, leases: new ControlLeases(leaseTiming, inherited, bootAtMs), told: this.#controlStorage.told };
  }

  /** A superseded instance fails when it writes. */
  #writeControl(control: ControlInstance, write: (storage: ControlStorage) => void): boolean {
    if (control !== this.#control) return false;
    write(this.#controlStorage);
    return true;
  }

  #follow(control: ControlInstance, shard: ShardInstance, since: number): Change | undefined {
    const atMs = this.#local(control);
    const due = control.leases.horizonDue(controlLeaseMs, atMs);
    if (due !== undefined) {
      const isWritten = this.#writeControl(control, (storage) => {
        storage.horizon = due;
      });
      if (!isWritten && this.#wiring.writesHorizon) return undefined;
      control.leases.extend(due, atMs);
    }
    if (this.#wiring.followConfirms) this.#settle(control.leases.confirm(noWait(), nameOf(shard), since));
    control.leases.give(nameOf(shard), control.told.version, atMs);
    return control.told;
  }

  #changeLater(): void {
    this.#after(500 + this.#random() * 4_000, () => this.#changeLater());
    const control = this.#control;
    if (this.control.awayUntilMs > this.#nowMs) return;
    this.#onDatabase(
      (database) => this.#append(database.rows.at(-1)!.version + 1),
      // A Worker may crash between the commit and the announcement.
      (change) => this.#random() < 0.9 && this.#on(control, () => this.#announce(control, change)),
    );
  }

  #announce(control: ControlInstance, committed: Change): void {
    const { told } = control;
    this.#onDatabase(
      ({ rows }) => ({ newest: rows.at(-1)!, hasTold: told.version === 0 || rows.some((row) => isSame(row, told)) }),
      ({ newest, hasTold }) =>
        this.#on(control, () => {
          const now = control.told;
          const isOvertaken = !isSame(now, told) && now.version > newest.version;
          if (isOvertaken) this.#announce(control, committed);
          else if (hasTold && newest.version >= committed.version) this.#record(control, newest);
          else this.#leaveGap(control, Math.max(now.version, committed.version));
        }),
    );
  }

  #leaveGap(control: ControlInstance, used: number): void {
    this.#onDatabase(
      ({ rows }) => this.#append(Math.max(rows.at(-1)!.version, used) + 2),
      (gap) =>
        this.#on(control, () => {
          const restoredAtMs = this.#local(control);
          if (this.#wiring.waitsAfterRestoration) control.leases.restored(restoredAtMs);
          const write = (storage: ControlStorage) => {
            storage.restoredAtMs = this.#wiring.waitsAfterRestoration ? restoredAtMs : undefined;
          };
          if (this.#writeControl(control, write)) this.#record(control, gap);
        }),
    );
  }

  #record(control: ControlInstance, newest: Change): void {
    const isNewer = newest.version > control.told.version;
    const write = (storage: ControlStorage) => {
      if (isNewer) storage.told = newest;
    };
    if (!this.#writeControl(control, write)) return;
    if (isNewer) control.told = newest;
    const { told } = control;
    const { version } = told;
    const startedAtMs = this.#nowMs;
    let left = 2;
    const isOver = () => {
      left -= 1;
      if (left > 0) return;
      this.#answered = Math.max(this.#answered, version);
      this.counts.answered += 1;
      if (this.#disturbedAtMs < startedAtMs - 15_000) this.waitsMs.push(this.#nowMs - startedAtMs);
    };
    this.#waitFor(control, control.leases.startWait(version, this.#local(control)), isOver);
    const early = [...this.#database.registrations.values()];
    this.#onDatabase(
      (database) => {
        const isThere = database.rows.some((row) => isSame(row, told));
        if (!isThere && this.#wiring.checksMark) return undefined;
        database.announced = Math.max(database.announced, version);
        // An earlier announcement that was late does not show that the newest change was lost.
        if (isThere && isSame(told, this.#controlStorage.told)) this.#isRestored = false;
        return this.#wiring.readsRegistrationsWithMark ? [...database.registrations.values()] : early;
      },
      (registrations) =>
        this.#on(control, () => {
          if (registrations === undefined) {
            this.#announce(control, told);
            return;
          }
          const atMs = this.#local(control);
          const counted = registrations.flatMap((each) => this.#wiring.registered(each, atMs) ?? []);
          this.#waitFor(control, control.leases.startRegisteredWait(version, counted, atMs), isOver);
        }),
    );
  }

  readonly #settled = new Map<PendingChange, () => void>();

  #settle(pending: readonly PendingChange[]): void {
    for (const each of pending) this.#settled.get(each)?.();
  }

  #waitFor(control: ControlInstance, wait: LeaseWait, done: () => void): void {
    const { pending, leasesMs, fenceMs } = wait;
    let left = 1 + (leasesMs > 0 ? 1 : 0);
    const isOver = () => {
      left -= 1;
      if (left === 0) done();
    };
    this.#timer(control, this.#wiring.controlWaitMs(fenceMs), isOver);
    if (leasesMs === 0) return;
    let isSettled = false;
    const settle = () => {
      if (isSettled) return;
      isSettled = true;
      pending.lacking.clear();
      control.leases.endWait(wait);
      isOver();
    };
    this.#settled.set(pending, settle);
    this.#timer(control, this.#wiring.controlWaitMs(leasesMs), settle);
    for (const name of pending.lacking.keys()) this.#tell(control, name, wait);
  }

  #tell(control: ControlInstance, name: string, wait: LeaseWait): void {
    if (!wait.pending.lacking.has(name)) return;
    this.#timer(control, 500, () => this.#tell(control, name, wait));
    const index = Number(name);
    if (this.#isAway(this.#cutOff[index]!)) return;
    const { told } = control;
    this.#send(() => {
      const shard = this.#routed(index);
      this.#on(shard, () => {
        if (!this.#install(shard, told)) return;
        this.#acknowledge(shard, () =>
          this.#send(() => this.#on(control, () => this.#settle(control.leases.confirm(wait, name, told.version)))),
        );
      });
    });
  }

  // Shards

  #startShard(index: number): ShardInstance {
    const machine = this.#newMachine();
    const { cv, tag, seq, horizon } = this.#storage[index]!;
    const durable = { entries: [], seq, cv, changes: [], horizon: this.#wiring.shardFence ? horizon : undefined };
    const bootAtMs = machine.clock.read(this.#nowMs);
    return {
      ...machine,
      index,
      machine: new RevocationMachine(leaseTiming, 100, durable, bootAtMs),
      coverage: new LeaseCoverage(),
      fenceMs: 0,
      tag,
      followers: undefined,
      misledAtMs: Number.NEGATIVE_INFINITY,
      waits: new Map(),
    };
  }

  /** A superseded instance may still receive calls. */
  #routed(index: number): ShardInstance {
    const old = this.#oldShards[index];
    return old !== undefined && this.#random() < 0.4 ? old : this.#shards[index]!;
  }

  #writeShard(shard: ShardInstance, write: (storage: ShardStorage) => void): boolean {
    if (shard !== this.#shards[shard.index]) return false;
    write(this.#storage[shard.index]!);
    return true;
  }

  #install(shard: ShardInstance, { version, tag }: Change): boolean {
    if (version <= shard.machine.cv) return true;
    const plan = shard.machine.plan({ rows: [], cutOffs: [], cv: version, changes: [] });
    const isWritten = this.#writeShard(shard, (storage) => {
      storage.cv = version;
      storage.tag = tag;
      storage.seq = plan.seq;
    });
    if (!isWritten) return false;
    shard.machine.apply(plan);
    shard.tag = tag;
    const other = this.#adopted.get(version);
    if (other !== undefined && other !== tag) this.violations.push(`ADR 11: ${version} is two changes`);
    this.#adopted.set(version, tag);
    return true;
  }

  #acknowledge(shard: ShardInstance, done: () => void): void {
    if (!this.#wiring.shardWaits) {
      done();
      return;
    }
    const { pending, leasesMs, fenceMs } = shard.machine.startWait(this.#local(shard));
    let left = 2;
    const isOver = () => {
      left -= 1;
      if (left === 0) done();
    };
    this.#timer(shard, fenceMs, isOver);
    let isSettled = leasesMs === 0;
    if (isSettled) {
      isOver();
      return;
    }
    const settle = () => {
      if (isSettled) return;
      isSettled = true;
      isOver();
    };
    shard.waits.set(pending, settle);
    this.#timer(shard, leasesMs, settle);
  }

  /** Registers at the control plane first, and a second later in D1 too. */
  #followControl(shard: ShardInstance, done: (ok: boolean) => void): void {
    if (shard.followers !== undefined) {
      shard.followers.push(done);
      return;
    }
    shard.followers = [done];
    const finish = (ok: boolean) => {
      const waiting = shard.followers ?? [];
      shard.followers = undefined;
      for (const each of waiting) each(ok);
    };
    let isDone = false;
    const extended = (sentAtMs: number) => {
      shard.coverage.extend(this.#wiring.countedFrom(sentAtMs, this.#local(shard)), controlLeaseMs);
      if (isDone) return;
      isDone = true;
      finish(true);
    };
    shard.coverage.begin(this.#local(shard));
    this.#askControl(shard, (sentAtMs) => {
      if (sentAtMs > shard.misledAtMs) shard.misledAtMs = Number.NEGATIVE_INFINITY;
      extended(sentAtMs);
    });
    this.#timer(shard, 1_000, () => !isDone && this.#register(shard, extended));
    this.#timer(shard, 5_000, () => {
      if (isDone) return;
      isDone = true;
      finish(false);
    });
  }

  #askControl(shard: ShardInstance, granted: (sentAtMs: number) => void): void {
    const sentAtMs = this.#local(shard);
    const since = shard.machine.cv;
    if (this.#isAway(this.control) || this.#isAway(this.#cutOff[shard.index]!)) return;
    this.#send(() => {
      const control = this.#oldControl !== undefined && this.#random() < 0.4 ? this.#oldControl : this.#control;
      this.#on(control, () => {
        const told = this.#follow(control, shard, since);
        if (told === undefined) return;
        this.#send(() => this.#on(shard, () => this.#install(shard, told) && granted(sentAtMs)));
      });
    });
  }

  #register(shard: ShardInstance, granted: (sentAtMs: number) => void): void {
    const sentAtMs = this.#local(shard);
    const contained = { version: shard.machine.cv, tag: shard.tag };
    const registration = { shard: nameOf(shard), version: contained.version, endsAtMs: sentAtMs + controlLeaseLifeMs };
    this.#onDatabase(
      ({ rows, announced, registrations }) => {
        registrations.set(nameOf(shard), registration);
        const until = this.#wiring.readsOnlyAnnounced ? announced : Number.POSITIVE_INFINITY;
        const newest = rows.findLast(({ version }) => version <= until);
        const hasAnnounced = announced <= contained.version || (newest?.version ?? 0) >= announced;
        const hasContained = contained.version === 0 || rows.some((row) => isSame(row, contained));
        return { isContinued: hasContained && hasAnnounced, newest, isMisled: this.#isRestored };
      },
      ({ isContinued, newest, isMisled }) =>
        this.#on(shard, () => {
          if (!isContinued) return;
          if (this.#wiring.readsLogWithRegistration && newest !== undefined && !this.#install(shard, newest)) return;
          if (isMisled) shard.misledAtMs = Math.max(shard.misledAtMs, sentAtMs);
          this.counts.registered += 1;
          granted(sentAtMs);
        }),
    );
  }

  #vouchesMs(shard: ShardInstance): number {
    return this.#wiring.vouchesMs(shard.coverage, this.#local(shard));
  }

  /** Calls `answer` when the shard may vouch for this long. */
  #vouching(shard: ShardInstance, leastMs: number, answer: (leftMs: number) => void): void {
    const atMs = this.#local(shard);
    const leftMs = this.#vouchesMs(shard);
    if (leftMs >= leastMs) {
      if (shard.coverage.isRenewalDue(atMs) && shard.followers === undefined) this.#followControl(shard, () => {});
      answer(leftMs);
      return;
    }
    this.#followControl(shard, (ok) => {
      const nowLeftMs = this.#vouchesMs(shard);
      if (ok && nowLeftMs >= 1) answer(nowLeftMs);
      else this.counts.refused += 1;
    });
  }

  #reach(shard: ShardInstance, lengthMs: number): boolean {
    const atMs = this.#local(shard);
    const due = shard.machine.horizonDue(lengthMs, atMs);
    if (due === undefined) return true;
    const isWritten = this.#writeShard(shard, (storage) => {
      storage.horizon = due;
    });
    if (isWritten) shard.machine.extend(due, atMs);
    return isWritten;
  }

  #lease(shard: ShardInstance, isolate: Isolate, answer: (response: Answer) => void): void {
    const request = { holder: isolate.name, sinceSeq: isolate.seq, confirmedSeq: isolate.seq, filterSeq: -1 };
    for (const change of shard.machine.confirm(request)) shard.waits.get(change)?.();
    this.#vouching(shard, leaseMs / 2, (leftMs) => {
      if (!this.#reach(shard, leaseMs)) return;
      const full = { ...request, sinceCv: -1, leaseMs, hold: false };
      const covered = this.#wiring.coveredMs(leftMs);
      const response = shard.machine.lease(full, 0, this.#local(shard), covered);
      if (response.kind !== "lease") return;
      answer({ cv: response.cv, seq: response.seq, leaseMs: response.leaseMs, isMisled: isMisled(shard) });
    });
  }

  #check(shard: ShardInstance, answer: (response: Answer) => void): void {
    this.#vouching(shard, 1, () => {
      if (!this.#reach(shard, 0)) return;
      const { cv } = shard.machine.check([], [], -1, this.#local(shard), () => undefined);
      answer({ cv, seq: -1, leaseMs: 0, isMisled: isMisled(shard) });
    });
  }

  // Isolates

  #requestLater(isolate: Isolate): void {
    // Bursts and pauses: a shard that is idle for longer than its control lease follows again.
    this.#after(this.#random() < 0.02 ? this.#random() * 25_000 : 20 + this.#random() * 300, () =>
      this.#on(isolate, () => {
        this.#request(isolate);
        this.#requestLater(isolate);
      }),
    );
  }

  #request(isolate: Isolate): void {
    const arrivedAtMs = this.#local(isolate);
    const arrived = { answered: this.#answered, atMs: this.#nowMs };
    const leftMs = isolate.validUntilMs - arrivedAtMs;
    if (leftMs > 0) {
      this.counts.byLease += 1;
      this.#decide(isolate, arrived);
      if (leftMs > leaseMs / 2) return;
    }
    const isCheck = leftMs <= 0 && this.#random() < 0.5;
    this.#send(() => {
      const shard = this.#routed(isolate.shard);
      this.#on(shard, () => {
        const answer = (response: Answer) =>
          this.#send(() => this.#on(isolate, () => this.#answer(isolate, response, { arrivedAtMs, arrived, isCheck })));
        if (isCheck) this.#check(shard, answer);
        else this.#lease(shard, isolate, answer);
      });
    });
  }

  #answer(isolate: Isolate, { cv, seq, leaseMs: length, isMisled }: Answer, request: Requested): void {
    isolate.known = Math.max(isolate.known, cv);
    if (isMisled) return;
    if (request.isCheck) {
      this.counts.byCheck += 1;
      this.#decide(isolate, request.arrived);
      return;
    }
    isolate.seq = Math.max(isolate.seq, seq);
    isolate.validUntilMs = Math.max(isolate.validUntilMs, request.arrivedAtMs + length);
  }

  #decide(isolate: Isolate, { answered, atMs }: Requested["arrived"]): void {
    if (isolate.known < answered) this.violations.push(`I7: ${isolate.known} for ${answered}, arrived at ${atMs}`);
  }

  // Faults

  #isAway({ awayUntilMs }: Place): boolean {
    return awayUntilMs > this.#nowMs;
  }

  #disturbLater(): void {
    this.#after(300 + this.#random() * 2_500, () => this.#disturbLater());
    const untilMs = this.#nowMs + this.#random() * (this.#random() < 0.3 ? 30_000 : 3_000);
    const index = Math.floor(this.#random() * shards);
    const isolate = this.#isolates[Math.floor(this.#random() * this.#isolates.length)]!;
    const faults = [
      () => (this.database.awayUntilMs = untilMs),
      () => (this.control.awayUntilMs = untilMs),
      () => (this.#cutOff[index]!.awayUntilMs = untilMs),
      () => (this.#cutOff[index]!.awayUntilMs = untilMs),
      () => (this.#shards[index]!.frozenUntilMs = untilMs),
      () => (this.#control.frozenUntilMs = untilMs),
      () => (isolate.frozenUntilMs = untilMs),
      () => this.#supersedeControl(),
      () => this.#supersedeShard(index),
      () => this.#setBack(),
      () => isolate.clock.slew(this.#nowMs),
      () => this.#shards[index]!.clock.slew(this.#nowMs),
    ];
    faults[Math.floor(this.#random() * faults.length)]!();
  }

  #supersedeControl(): void {
    this.counts.restarts += 1;
    this.#oldControl = this.#random() < 0.7 ? this.#control : undefined;
    this.#control = this.#startControl();
  }

  #supersedeShard(index: number): void {
    this.counts.superseded += 1;
    this.#oldShards[index] = this.#random() < 0.7 ? this.#shards[index] : undefined;
    this.#shards[index] = this.#startShard(index);
  }

  /** The horizon is withdrawn when no lease is left. */
  #closeLater(): void {
    this.#after(3_000, () => this.#closeLater());
    const { leases } = this.#control;
    if (!leases.mayClose(this.#local(this.#control))) return;
    this.#controlStorage.horizon = undefined;
    leases.close();
  }
}

interface Answer {
  readonly cv: number;
  readonly seq: number;
  readonly leaseMs: number;
  readonly isMisled: boolean;
}

interface Requested {
  readonly arrivedAtMs: number;
  /** The state at the arrival: the number of completed operations. */
  readonly arrived: { readonly answered: number; readonly atMs: number };
  readonly isCheck: boolean;
}

function nameOf({ index }: ShardInstance): string {
  return String(index);
}

function isMisled({ misledAtMs }: ShardInstance): boolean {
  return misledAtMs > Number.NEGATIVE_INFINITY;
}

function isSame(one: Change, other: Change): boolean {
  return one.version === other.version && one.tag === other.tag;
}

function copyOf({ rows, announced, registrations }: Database): Database {
  return { rows: [...rows], announced, registrations: new Map(registrations) };
}

function noWait(): LeaseWait {
  return { pending: { seq: 0, lacking: new Map(), ended: new Set() }, startedAtMs: 0, leasesMs: 0, fenceMs: 0 };
}
