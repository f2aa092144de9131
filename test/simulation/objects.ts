import { currentTask, type Machine, runIn, type Task } from "./platform.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { type Row, Sqlite, sqlKind, type Written } from "./sqlite.ts";

/** The writes and messages of one turn; they are durable as a whole, or not at all. */
interface Turn {
  readonly written: Written[];
  readonly waiters: (() => void)[];
  alarmMs: number | undefined | "unchanged";
  isClosed: boolean;
}

/** The time after which an idle object hibernates. Its memory is lost. */
const hibernationMs = 10_000;

type Methods = Record<string, (...args: unknown[]) => unknown>;
type ObjectClass = new (ctx: DurableObjectState, env: never) => object;

/**
 * **One instance of an object**: its machine, its view of the storage, and the gate of the platform: no message leaves before all earlier writes are
 * durable. The writes of a superseded instance never become durable, so it ends when it writes.
 */
export class ObjectInstance {
  readonly task: Task;
  readonly host: ObjectHost;
  readonly sqlite: Sqlite;
  readonly #world: SimulatedWorld;
  readonly #pending: Turn[] = [];
  readonly #inFlight = new Set<(error: Error) => void>();
  #waiting: (() => void)[] = [];
  #blocks = 0;
  /** Calls in progress, here and from here, and timers. */
  #work = 0;
  #worked = 0;
  #object!: Methods;
  isSuperseded = false;

  constructor(host: ObjectHost, sqlite: Sqlite, task: Task) {
    this.host = host;
    this.task = task;
    this.sqlite = sqlite;
    this.#world = host.world;
    task.hold = (change) => this.hold(change);
  }

  /** Notes that something begins (1) or ends (−1) that keeps the object awake. */
  hold(change: 1 | -1): void {
    if (this.task.isOver) return;
    this.#work += change;
    const { meter } = this.#world;
    if (meter === undefined) return;
    if (change === 1 && this.#work === 1) meter.woke(this.host.name, this.#world.nowMs);
    if (this.#work > 0) return;
    meter.slept(this.host.name, this.#world.nowMs);
    this.#worked += 1;
    const worked = this.#worked;
    this.#world.after(hibernationMs, () => {
      if (this.#worked === worked && this.#work === 0 && this.#pending.length === 0) this.host.hibernate(this);
    });
  }

  /** The constructor runs with the clock as it was before storage was read. */
  start(ObjectClass: ObjectClass, env: object): void {
    this.task.machine.readsAtMs = this.#world.nowMs - this.host.bootMs;
    runIn(this.task, () => {
      this.#object = Reflect.construct(ObjectClass, [this.#state(), env]);
    });
  }

  /** Runs a method and delivers its result when it may leave. */
  invoke(method: string, args: readonly unknown[], respond: (result: () => unknown) => void): void {
    if (this.#blocks > 0) {
      this.#waiting.push(() => this.invoke(method, args, respond));
      return;
    }
    if (this.task.isOver) return;
    this.hold(1);
    const leave = (result: () => unknown) => {
      this.#inFlight.delete(failed);
      this.whenDurable(() => {
        this.hold(-1);
        respond(result);
      });
    };
    const failed = (error: Error) => respond(() => raise(error));
    this.#inFlight.add(failed);
    if (this.isSuperseded) this.#world.count("servedBySuperseded");
    runIn(this.task, () => {
      Promise.resolve()
        .then(() => this.#object[method]!(...args))
        .then(
          (value) => leave(() => value),
          (error: unknown) => leave(() => raise(error)),
        );
    });
  }

  /** Callers see a lost connection, or nothing at all. */
  end(): void {
    if (this.task.isOver) return;
    this.task.isOver = true;
    for (const failed of this.#inFlight) {
      if (this.#world.chance(0.5)) this.#world.after(this.#world.delay(), () => failed(new Error("connection lost")));
    }
  }

  whenDurable(run: () => void): void {
    const last = this.#pending.at(-1);
    if (last === undefined) run();
    else last.waiters.push(run);
  }

  /** Called when another instance reads the storage: the first of the pending turns may have arrived. */
  supersede(): void {
    this.isSuperseded = true;
    while (this.#pending.length > 0 && this.#pending[0]!.isClosed && this.#world.chance(0.5)) this.#becomeDurable();
  }

  #state(): DurableObjectState {
    const { host } = this;
    const storage = {
      sql: { exec: (sql: string, ...values: unknown[]) => this.#exec(sql, values), databaseSize: 0 },
      transactionSync: <T>(run: () => T) => this.#transaction(run),
      getAlarm: async () => this.#alarmMs ?? null,
      setAlarm: async (atMs: number) => {
        this.#world.meter?.wrote(host.name, 1);
        this.#turn().alarmMs = atMs;
      },
    };
    return Object.assign(Object.create(null), {
      id: { name: host.name, toString: () => host.name },
      storage,
      waitUntil: (promise: Promise<unknown>) => void promise.catch(() => {}),
      blockConcurrencyWhile: (run: () => Promise<unknown>) => this.#block(run),
    });
  }

  get #alarmMs(): number | undefined {
    const { alarmMs = "unchanged" } = this.#pending.findLast((turn) => turn.alarmMs !== "unchanged") ?? {};
    return alarmMs === "unchanged" ? this.host.alarmMs : alarmMs;
  }

  async #block(run: () => Promise<unknown>): Promise<void> {
    this.#blocks += 1;
    await run();
    this.#blocks -= 1;
    if (this.#blocks > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const next of waiting) next();
  }

  #exec(sql: string, values: readonly unknown[]) {
    const kind = sqlKind(sql);
    let rows: readonly Row[] = [];
    if (kind === "script") this.sqlite.script(sql);
    else {
      const executed = this.sqlite.run({ sql, values });
      ({ rows } = executed);
      if (kind === "write") this.#world.meter?.wrote(this.host.name, executed.changes);
    }
    if (kind !== "read") this.#turn().written.push({ sql, values });
    return {
      toArray: () => [...rows],
      one: () => {
        if (rows.length !== 1) throw new Error(`${rows.length} rows instead of one`);
        return rows[0];
      },
      [Symbol.iterator]: () => rows[Symbol.iterator](),
    };
  }

  #transaction<T>(run: () => T): T {
    const turn = this.#turn();
    const before = turn.written.length;
    try {
      return this.sqlite.transaction(run);
    } catch (error) {
      turn.written.splice(before);
      throw error;
    }
  }

  /** The writes of this event. */
  #turn(): Turn {
    const last = this.#pending.at(-1);
    if (last !== undefined && !last.isClosed) return last;
    const turn: Turn = { written: [], waiters: [], alarmMs: "unchanged", isClosed: false };
    this.#pending.push(turn);
    if (this.isSuperseded) {
      this.#world.after(0, () => this.end());
      return turn;
    }
    this.#world.after(0, () => {
      turn.isClosed = true;
      this.#world.after(this.#world.writeMs(), () => this.#arrive(turn));
    });
    return turn;
  }

  /** Makes the turn durable, with the turns before it. */
  #arrive(turn: Turn): void {
    if (this.isSuperseded || !this.#pending.includes(turn)) return;
    while (this.#becomeDurable() !== turn);
  }

  #becomeDurable(): Turn {
    const turn = this.#pending.shift()!;
    this.host.store(turn.written, turn.alarmMs, this);
    for (const waiter of turn.waiters) waiter();
    return turn;
  }
}

function raise(error: unknown): never {
  throw error;
}

/** **An object by its name**: its durable state, its alarm, and the instance that owns it. Some callers may still reach the previous instance. */
export class ObjectHost {
  readonly name: string;
  readonly world: SimulatedWorld;
  readonly #ObjectClass: ObjectClass;
  readonly #durable: Written[] = [];
  alarmMs: number | undefined;
  /** How long before the first event of an instance its clock was read. */
  bootMs = 0;
  owner: ObjectInstance | undefined;
  superseded: ObjectInstance | undefined;
  #alarms = 0;
  #asleep: Sqlite | undefined;

  constructor(name: string, world: SimulatedWorld, ObjectClass: ObjectClass) {
    this.name = name;
    this.world = world;
    this.#ObjectClass = ObjectClass;
  }

  reached(): ObjectInstance {
    const { superseded } = this;
    if (superseded !== undefined && !superseded.task.isOver && this.world.chance(0.5)) return superseded;
    if (this.owner === undefined || this.owner.task.isOver) this.owner = this.#boot(this.#asleep);
    return this.owner;
  }

  /** Ends an idle instance, whose writes are durable. */
  hibernate(instance: ObjectInstance): void {
    if (this.owner !== instance || instance.task.isOver) return;
    this.#asleep = instance.sqlite;
    instance.end();
  }

  /** Another instance takes over. The present one continues to respond for a while, or ends. */
  restart(answersOn: boolean): void {
    const before = this.owner;
    if (before === undefined || before.task.isOver) return;
    this.superseded?.end();
    before.supersede();
    this.superseded = answersOn ? before : undefined;
    if (answersOn) this.world.after(6_000 * this.world.random(), () => before.end());
    else before.end();
    this.owner = this.#boot();
  }

  store(written: readonly Written[], alarmMs: number | undefined | "unchanged", by: ObjectInstance): void {
    this.#durable.push(...written);
    if (alarmMs === "unchanged") return;
    this.alarmMs = alarmMs;
    this.#armAlarm(by.task.machine);
  }

  #boot(asleep?: Sqlite): ObjectInstance {
    const sqlite = asleep ?? this.#restore();
    this.#asleep = undefined;
    const task = this.world.task(this.world.machine());
    const instance = new ObjectInstance(this, sqlite, task);
    this.bootMs = this.world.faults ? this.world.random() * this.world.pick([100, 3_000]) : 0;
    instance.start(this.#ObjectClass, this.world.envFor(task, instance));
    this.#armAlarm(task.machine);
    return instance;
  }

  #restore(): Sqlite {
    const sqlite = new Sqlite();
    for (const { sql, values } of this.#durable) {
      if (sqlKind(sql) === "script") sqlite.script(sql);
      else sqlite.run({ sql, values });
    }
    return sqlite;
  }

  #armAlarm(machine: Machine): void {
    const { alarmMs } = this;
    if (alarmMs === undefined) return;
    this.#alarms += 1;
    const number = this.#alarms;
    const realMs = Math.max(this.world.nowMs + 1, machine.clock.realOf(alarmMs));
    this.world.at(realMs, () => this.#fire(number, alarmMs));
  }

  #fire(number: number, scheduledTime: number): void {
    if (number !== this.#alarms) return;
    this.alarmMs = undefined;
    const instance = this.reached();
    this.world.meter?.called(this.name, "alarm");
    this.world.deliver(instance.task, () => {
      instance.invoke("alarm", [{ scheduledTime, isRetry: false, retryCount: 0 }], (result) => {
        try {
          result();
        } catch {
          this.alarmMs ??= scheduledTime;
          this.world.after(2_000, () => this.#armAlarm(instance.task.machine));
        }
      });
    });
  }
}

/** The namespace of a class of objects, as it is bound for the code of `task`. */
export function namespaceFor(world: SimulatedWorld, task: Task, from: ObjectInstance | undefined): object {
  const getByName = (name: string) =>
    new Proxy(
      {},
      {
        get: (_, method) => {
          if (typeof method !== "string" || method === "then") return undefined;
          return (...args: unknown[]) => callObject(world, { task, from, name, method, args });
        },
      },
    );
  const namespace = { getByName, jurisdiction: () => namespace };
  return namespace;
}

interface Call {
  readonly task: Task;
  readonly from: ObjectInstance | undefined;
  readonly name: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The call belongs to the task in which it is made: the request of an isolate, or the instance of an object. */
function callObject(world: SimulatedWorld, { task: bound, from, name, method, args }: Call): Promise<unknown> {
  const caller = from === undefined ? currentTask() : bound;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const host = world.host(name);
  const sent = structuredClone(args);
  world.watch(caller.machine, name, method);
  world.meter?.called(name, method);
  from?.hold(1);
  const fail = () => {
    if (world.chance(0.5)) world.after(world.delay(), () => world.deliver(caller, () => reject(new Error("lost"))));
  };
  const send = () =>
    world.send(
      caller.machine,
      name,
      () => {
        const instance = host.reached();
        world.deliver(instance.task, () =>
          instance.invoke(method, sent, (result) =>
            world.send(
              name,
              caller.machine,
              () => world.deliver(caller, () => settle(result)),
              () => {
                world.disconnected(instance, method, sent);
                fail();
              },
            ),
          ),
        );
      },
      fail,
    );
  const settle = (result: () => unknown) => {
    from?.hold(-1);
    try {
      resolve(structuredClone(result()));
    } catch (error) {
      reject(error);
    }
  };
  if (from === undefined) send();
  else from.whenDurable(send);
  return promise;
}
