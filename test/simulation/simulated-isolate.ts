import type { AuthEnv } from "../../packages/op-auth/src/runtime/auth-env.ts";
import { createIsolate } from "../../packages/op-auth/src/runtime/isolate.ts";
import type { ControlPlaneBindings } from "../../packages/shared/src/control/commit-control-change.ts";
import { Form } from "../../packages/shared/src/http/read-form.ts";
import { createRequestContext, type RequestContext } from "../../packages/shared/src/http/request-context.ts";
import { type Machine, runIn, type Task } from "./platform.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

/** Records of D1. Each contains the number of its last change. */
export const records = {
  client: {
    ids: ["client-a", "client-b"],
    insert: `INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES (?1, '{"client_name":"0","token_endpoint_auth_method":"none","grant_types":[],"response_types":[],"redirect_uris":[],"scope":"","audiences":[]}', 0, 0)`,
    update:
      "UPDATE clients SET metadata = json_set(metadata, '$.client_name', (SELECT max(version) || '' FROM control_changes)) WHERE client_id = ?1",
  },
  user: {
    ids: ["user-a", "user-b"],
    insert: "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES (?1, '0', ?1, 0, 0)",
    update: "UPDATE users SET username = (SELECT max(version) || '' FROM control_changes) WHERE sub = ?1",
  },
} as const;
export type RecordKind = keyof typeof records;
export const recordKinds = ["client", "user"] as const;

const head = { method: "POST", headers: new Headers() };
const emptyForm = new Form(new Map());
const farMs = 100_000_000_000;
/** The time after its response at which the platform ends the work of a request. */
const backgroundMs = 30_000;

type Memory = ReturnType<typeof createIsolate>;
export type IsolateEnv = AuthEnv & ControlPlaneBindings;

/** A complete request. `atMs`: in real time. */
export interface Arrival {
  readonly context: RequestContext<IsolateEnv>;
  readonly memory: Memory;
  readonly atMs: number;
}

/** Reads a record as an endpoint does, within a decision: the number of its last change. */
export async function readRecord({ context, memory }: Arrival, kind: RecordKind, id: string): Promise<number> {
  if (kind === "user") return Number((await memory.users.find(context, id))?.username ?? 0);
  const header = `Basic ${id}`;
  const known = memory.knownCredentials.find(context, header, emptyForm);
  const client = known ?? (await memory.clients.find(context, id));
  if (known === undefined && client !== undefined) memory.knownCredentials.add(context, header, client, farMs);
  return Number(client?.metadata.client_name ?? 0);
}

/** **An isolate**: a machine, and the product's state in its memory. Each request is a separate task. */
export class SimulatedIsolate {
  readonly machine: Machine;
  /** In real time: no request arrives before. */
  idleUntilMs = 0;
  readonly #world: SimulatedWorld;
  readonly #env: IsolateEnv;
  readonly #memory: Memory;

  constructor(world: SimulatedWorld) {
    this.#world = world;
    this.machine = world.machine(false);
    const task = world.task(this.machine);
    this.#env = Object.assign(Object.create(null), world.envFor(task));
    this.#memory = runIn(task, createIsolate);
  }

  get isRunning(): boolean {
    return this.machine.isAlive && this.#world.nowMs >= this.machine.frozenUntilMs;
  }

  /**
   * Runs `decide` for a request when its body is complete, immediately or much later. The caller may disconnect at any time, which ends everything
   * that the request has begun.
   */
  receive(decide: (arrival: Arrival) => Promise<void>): void {
    const task = this.#world.task(this.machine);
    const isSlow = this.#world.fails(0.15);
    if (isSlow) this.#world.count("slowBodies");
    this.#world.deliver(task, () => {
      this.#endSometimes(task);
      this.readBody(task, isSlow ? 3_000 * this.#world.random() : 0, decide);
    });
  }

  readBody(task: Task, bodyMs: number, decide: (arrival: Arrival) => Promise<void>): void {
    const arrive = () => this.#world.deliver(task, () => this.arrive(this.createContext(), decide));
    if (bodyMs === 0) arrive();
    else this.#world.after(bodyMs, arrive);
  }

  createContext(): Arrival["context"] {
    const execution = { waitUntil: (promise: Promise<unknown>) => void promise.catch(() => {}) };
    return createRequestContext(head, this.#env, execution);
  }

  arrive(context: Arrival["context"], decide: (arrival: Arrival) => Promise<void>): void {
    void decide({ context, memory: this.#memory, atMs: this.#world.nowMs });
  }

  #endSometimes(task: Task): void {
    const end = () => {
      task.isOver = true;
    };
    this.#world.after(this.#world.fails(0.02) ? this.#world.delay() : backgroundMs, end);
  }
}
