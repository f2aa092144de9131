import { defaultHabits, readsPerDay } from "../../load-tests/model/habits.ts";
import type { MeasuredDay } from "../../load-tests/model/measured-days.ts";
import { readsBegun, settle } from "../../packages/shared/src/control/settle.ts";
import { endSession } from "../../packages/shared/src/endings/endings.ts";
import { newGrantId } from "../../packages/shared/src/grants/grant.ts";
import { tokenKey } from "../../packages/shared/src/grants/grant-revocation.ts";
import type { RevocationSubject } from "../../packages/shared/src/leases/revocation-subject.ts";
import { Meter } from "./meter.ts";
import { type Arrival, SimulatedIsolate } from "./simulated-isolate.ts";
import { SimulatedWorld } from "./simulated-world.ts";

export interface DayOptions {
  /** Users of a month; 0: nobody uses the deployment. */
  readonly users: number;
  /** How long the simulation is; the result is that of a day. */
  readonly hours: number;
  readonly isolates: number;
  /** Shards of revocations. */
  readonly shards: number;
}

const hourMs = 3_600_000;
const neverMs = 100_000_000_000;
/** Before the day begins, the set-up is announced and its audit rows are copied. */
const setUpMs = 15 * 60_000;
const lifetime = { idleMs: neverMs, absoluteMs: neverMs };

/**
 * **A day of a deployment**, without faults: people act at random times, each request at one of the isolates. The objects of revocations, sessions,
 * keys and the control plane, their alarms and the consumer of the audit queue are those of the product.
 */
export class UsualDay {
  readonly #meter = new Meter();
  readonly #world: SimulatedWorld;
  readonly #options: DayOptions;
  readonly #isolates: SimulatedIsolate[] = [];
  readonly #sessions: string[] = [];
  #grants = 0;

  constructor(options: DayOptions) {
    this.#options = options;
    this.#world = new SimulatedWorld(1, {
      faults: false,
      shards: options.shards,
      relays: 0,
      leaseMs: 1_000,
      meter: this.#meter,
    });
  }

  async run(): Promise<MeasuredDay> {
    const { users, hours, isolates, shards } = this.#options;
    const habits = defaultHabits;
    const activeUsers = users * habits.dailyShare;
    const world = this.#world;
    for (let index = 0; index < isolates; index += 1) this.#isolates.push(new SimulatedIsolate(world));
    // Every object has been used before.
    this.#wake("control", "wakeAudit");
    this.#wake("keys", "schedule");
    for (let shard = 0; shard < shards; shard += 1) this.#wake(`revocation:g1:wnam:${shard}`, "statistics");
    await world.run(setUpMs, () => true);
    this.#meter.reset();
    const meanMs = (timesPerUser: number) => (24 * hourMs) / (activeUsers * timesPerUser);
    const often = (timesPerUser: number, act: () => void) => {
      if (activeUsers * timesPerUser > 0) world.repeat(meanMs(timesPerUser), act);
    };
    often(habits.signIns, () => this.#signIn());
    often(habits.furtherCodes, () =>
      this.#request(async ({ context, memory }) => {
        await memory.sessions.read(context, this.#sessions.at(-1) ?? "");
      }),
    );
    often(readsPerDay(habits) + habits.refreshes, () => this.#request((arrival) => this.#read(arrival)));
    often(habits.signOuts, () => this.#signOut());
    often(habits.tokenRevocations, () =>
      this.#request(({ context, memory }) => {
        const { jti, address } = this.#subject();
        const event = { type: "token.revoked", payload: { jti } };
        const untilMs = world.beganAtMs + world.nowMs + hourMs;
        return memory.revocation.revoke(context, address, [
          { key: tokenKey(jti), untilMs, operationId: `revoke ${jti}`, event },
        ]);
      }),
    );
    const endMs = setUpMs + hours * hourMs;
    await world.run(endMs, () => true);
    if (world.violations.length > 0) throw new Error(world.violations[0]);
    this.#meter.end(endMs);
    return { users, isolates, shards, ...this.#meter.scaled(24 / hours) };
  }

  #wake(object: string, method: string): void {
    const instance = this.#world.host(object).reached();
    this.#world.deliver(instance.task, () => instance.invoke(method, [], () => {}));
  }

  #request(work: (arrival: Arrival) => Promise<unknown>): void {
    this.#world.pick(this.#isolates).receive(async (arrival) => {
      try {
        await work(arrival);
      } catch (error) {
        this.#world.violate(String(error));
      }
    });
  }

  #subject(): RevocationSubject {
    this.#grants += 1;
    const shard = Math.floor(this.#world.random() * this.#options.shards);
    const grantId = newGrantId({ client: 1, user: 1 });
    const address = { generation: 1, region: "wnam", shard };
    return { address, jti: `t${this.#grants}`, grantId, sub: "someone", clientId: "client", lineage: [] };
  }

  async #read({ context, memory }: Arrival): Promise<void> {
    const subject = this.#subject();
    await settle(context, memory, () => memory.revocation.isRevoked(context, [subject]), readsBegun);
  }

  #signIn(): void {
    this.#request(async (arrival) => {
      const { context, memory } = arrival;
      await this.#read(arrival);
      const version = memory.control.version ?? 0;
      const atMs = context.arrivedAtMs;
      const proof = { method: "password", sub: "someone", atMs, controlVersion: version } as const;
      const prepared = await memory.sessions.prepare(context, { sub: "someone", proofs: [proof], version }, lifetime);
      await memory.sessions.open(context, prepared, lifetime);
      for (const clientId of ["client", "other"]) {
        const { grantId, address } = this.#subject();
        const client = { clientId, subject: "someone", consented: [], registeredAtMs: undefined };
        const grant = { grantId, address, untilMs: atMs + 24 * hourMs };
        await memory.sessions.admit(context, prepared.id, { client, grant });
      }
      this.#sessions.push(prepared.id);
    });
  }

  #signOut(): void {
    const id = this.#sessions.shift();
    if (id !== undefined) this.#request(({ context, memory }) => endSession(context, memory, { id }, "logout"));
  }
}
