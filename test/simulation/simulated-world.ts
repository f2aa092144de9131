import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { createAuditConsumer } from "../../packages/op-management/src/audit/audit-consumer.ts";
import { ControlPlane } from "../../packages/op-state/src/control/control-plane.ts";
// What an alarm imports on first use: simulated time does not wait for a file.
import "../../packages/op-state/src/audit/audit-archive.ts";
import "../../packages/op-state/src/audit/audit-retention.ts";
import "../../packages/op-state/src/sweeps/seal-secrets-again.ts";
import "../../packages/op-state/src/sweeps/sweep-clients.ts";
import "../../packages/op-state/src/sweeps/sweep-database.ts";
import "../../packages/op-state/src/sweeps/sweep-leaving-users.ts";
import { KeyManager } from "../../packages/op-state/src/keys/key-manager.ts";
import { RefreshTokenRotator } from "../../packages/op-state/src/refresh/refresh-token-rotator.ts";
import { RevocationRelay } from "../../packages/op-state/src/relay/revocation-relay.ts";
import { TokenRevocationStore } from "../../packages/op-state/src/revocation/token-revocation-store.ts";
import { SessionStore } from "../../packages/op-state/src/sessions/session-store.ts";
import type { AuditMessage } from "../../packages/shared/src/audit/audit-event.ts";
import { databaseFor } from "./database.ts";
import type { Meter } from "./meter.ts";
import { namespaceFor, ObjectHost, type ObjectInstance } from "./objects.ts";
import { currentTask, type Machine, runIn, settled, type Task, type Timeline } from "./platform.ts";
import { Agenda, Clock, randomFrom } from "./simulated-time.ts";
import { Sqlite } from "./sqlite.ts";

const objectClasses = {
  revocation: TokenRevocationStore,
  relay: RevocationRelay,
  session: SessionStore,
  refresh: RefreshTokenRotator,
  control: ControlPlane,
  keys: KeyManager,
};

function schemaOf(folder: string): string {
  const path = join(repositoryRoot, folder);
  return readdirSync(path)
    .sort()
    .map((name) => readFileSync(join(path, name), "utf8"))
    .join("\n");
}

const schema = schemaOf("migrations");
const auditSchema = schemaOf("audit-migrations");
/** How long a queue collects messages for its consumer. */
const queueMs = 5_000;

let worlds = 0;

/** A machine of Cloudflare, or the name of a place that is not one machine: an object, D1, KV. */
export type Place = Machine | string;

export interface WorldOptions {
  readonly faults: boolean;
  /** How far the clocks of objects are ahead of the mean, and those of isolates behind, in parts of 27 s; by default at random between −1 and 1. */
  readonly clockOffset?: (isObject: boolean) => number;
  readonly shards: number;
  readonly relays: number;
  readonly leaseMs: number;
  readonly meter?: Meter;
}

/**
 * **The platform of a simulation**: real time (which only the simulation knows), random values, the network, objects, D1 and KV. The seed determines
 * everything.
 */
export class SimulatedWorld implements Timeline {
  readonly random: () => number;
  readonly faults: boolean;
  readonly violations: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly partitions = new Set<Place>();
  readonly d1 = new Sqlite();
  /** The initial reading of clocks, on average: later than everything that the previous run has left in the memory of this process. */
  readonly beganAtMs = 1_000_000 + 600_000 * worlds++;
  readonly #options: WorldOptions;
  readonly #agenda = new Agenda();
  readonly #hosts = new Map<string, ObjectHost>();
  readonly #copies = new Map<string, string[]>();
  readonly #auditDatabase = new Sqlite();
  readonly #consume = createAuditConsumer();
  #nowMs = 0;
  /** Counts what the platform charges for. With one, idle objects hibernate, and the audit log has its own database. */
  readonly meter: Meter | undefined;
  /** Observes each call of an object. */
  watch = (_machine: Machine, _name: string, _method: string): void => {};

  constructor(seed: number, options: WorldOptions) {
    this.#options = options;
    this.random = randomFrom(seed);
    this.faults = options.faults;
    this.meter = options.meter;
    const regions = (shards: number) => JSON.stringify({ wnam: { shards, hint: "wnam" } });
    this.d1.script(schema);
    if (options.meter !== undefined) this.#auditDatabase.script(auditSchema);
    this.d1.run({
      sql: "UPDATE shard_generations SET regions = CASE store WHEN 'revocation' THEN ? ELSE ? END",
      values: [regions(options.shards), regions(1)],
    });
    if (options.relays > 0) this.#setRelays(regions(options.relays));
  }

  #setRelays(regions: string): void {
    const sql =
      "INSERT INTO shard_generations (store, generation, regions, minted_from_ms, retired) VALUES ('relay', 1, ?, 0, 0)";
    this.d1.run({ sql, values: [regions] });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Runs events until `untilMs`, each until nothing can continue without another event. */
  async run(untilMs: number, goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      const event = this.#agenda.next();
      if (event === undefined) break;
      if (event.atMs > untilMs) {
        this.#agenda.at(event.atMs, () => event.run());
        break;
      }
      this.#nowMs = event.atMs;
      event.run();
      await settled();
    }
  }

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }

  violate(what: string): void {
    this.violations.push(`${what}, at ${Math.round(this.#nowMs)} ms`);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** Like {@link chance}, but never in runs without faults. */
  fails(probability: number): boolean {
    return this.random() < probability && this.faults;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!;
  }

  at(atMs: number, run: () => void): void {
    this.#agenda.at(Math.max(atMs, this.#nowMs), run);
  }

  after(delayMs: number, run: () => void): void {
    this.#agenda.at(this.#nowMs + delayMs, run);
  }

  repeat(meanMs: number, run: () => void): void {
    this.after(-Math.log(1 - this.random()) * meanMs, () => {
      run();
      this.repeat(meanMs, run);
    });
  }

  machine(isObject = true): Machine {
    const clock = new Clock(this.random, this.beganAtMs, this.#options.clockOffset?.(isObject));
    return { clock, isAlive: true, frozenUntilMs: 0, readsAtMs: undefined };
  }

  task(machine: Machine): Task {
    return { machine, timeline: this, isOver: false };
  }

  /** The current reading of the machine's clock. */
  read({ clock }: Machine): number {
    return clock.read(this.#nowMs);
  }

  /** Mostly short, sometimes very long. */
  delay(): number {
    const scale = this.random();
    if (!this.faults) return 15 * scale;
    return (scale < 0.85 ? 30 : scale < 0.98 ? 400 : 3_000) * this.random();
  }

  /** How long a write takes to become durable. */
  writeMs(): number {
    return this.fails(0.03) ? this.delay() : 3 * this.random();
  }

  deliver(task: Task, run: () => void): void {
    const { machine } = task;
    if (task.isOver || !machine.isAlive) return;
    if (this.#nowMs < machine.frozenUntilMs) {
      this.at(machine.frozenUntilMs, () => this.deliver(task, run));
      return;
    }
    machine.readsAtMs = undefined;
    runIn(task, run);
  }

  /** Sends a message, which may be lost, delayed or duplicated. */
  send(from: Place, to: Place, run: () => void, lost: () => void = () => {}): void {
    if (this.partitions.has(from) || this.partitions.has(to) || this.fails(0.02)) {
      lost();
      return;
    }
    this.after(this.delay(), run);
    if (this.fails(0.02)) this.after(this.delay(), run);
  }

  /** The response to a call of an object is lost; the object does not learn of it. */
  disconnected(_instance: ObjectInstance, _method: string, _args: readonly unknown[]): void {}

  host(name: string): ObjectHost {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    const [store = ""] = name.split(":");
    const ObjectClass = objectClasses[store as keyof typeof objectClasses];
    if (ObjectClass === undefined) throw new Error(`the simulation has no object ${name}`);
    const host = new ObjectHost(name, this, ObjectClass);
    this.#hosts.set(name, host);
    return host;
  }

  get hosts(): readonly ObjectHost[] {
    return [...this.#hosts.values()];
  }

  /** The bindings of an isolate, or of an instance of an object. */
  envFor(task: Task, from?: ObjectInstance): object {
    const namespace = namespaceFor(this, task, from);
    return {
      LEASE_MS: String(this.#options.leaseMs),
      ISSUER: "https://op.example.com",
      OP_MASTER_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
      TOKEN_REVOCATION_STORE: namespace,
      REVOCATION_RELAY: namespace,
      SESSION_STORE: namespace,
      REFRESH_TOKEN_ROTATOR: namespace,
      CONTROL_PLANE: namespace,
      KEY_MANAGER: namespace,
      DB: databaseFor(this, from === undefined ? currentTask : () => task, from),
      AUDIT_DB: databaseFor(this, from === undefined ? currentTask : () => task, from, this.#auditDatabase),
      AUDIT_QUEUE: { sendBatch: async (messages: readonly { readonly body: AuditMessage }[]) => this.#queue(messages) },
      CACHE: {
        get: (key: string) => this.#readCopy(key),
        put: (key: string, text: string) => this.#writeCopy(key, text),
      },
    };
  }

  /** The queue of audit events, whose consumer is an isolate. */
  #queue(messages: readonly { readonly body: AuditMessage }[]): void {
    if (this.meter === undefined) return;
    this.meter.queued(messages.length);
    this.after(queueMs, () => {
      const task = this.task(this.machine(false));
      const events = messages.map(({ body }) => body);
      const background = { waitUntil: (work: Promise<unknown>) => void work.catch(() => {}) };
      this.deliver(
        task,
        () => void this.#consume(events, Object.assign(Object.create(null), this.envFor(task)), background),
      );
    });
  }

  /** KV: each location has its own copies, up to a minute old. */
  #readCopy(key: string): Promise<unknown> {
    const task = currentTask();
    this.meter?.usedKv("read");
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.send(task.machine, "KV", () => {
      const texts = this.#copies.get(key) ?? [];
      const text = this.chance(0.5) ? texts.at(-1) : texts[Math.floor(this.random() * (texts.length + 1))];
      this.deliver(task, () => resolve(text === undefined ? null : JSON.parse(text)));
    });
    return promise;
  }

  async #writeCopy(key: string, text: string): Promise<void> {
    this.meter?.usedKv("write");
    this.after(this.delay(), () => this.#copies.set(key, [...(this.#copies.get(key) ?? []), text]));
  }
}
