import { buildSmallRowFilter, FilterKeys } from "@edge-op/shared/leases/build-row-filter";
import { HeldRenewals } from "@edge-op/shared/leases/held-renewals";
import type { PendingChange } from "@edge-op/shared/leases/lease-holders";
import type { RevocationSubject } from "@edge-op/shared/revocation/revocation-subject";
import type { RevocationMachine } from "../../src/revocation/revocation-machine.ts";
import { Agenda, Clock, randomFrom } from "./simulated-time.ts";

/** Something that runs: its clock, and whether it runs at all. */
export interface Node {
  readonly clock: Clock;
  alive: boolean;
  frozenUntilMs: number;
}

export interface HeldCall<Request, Response> {
  readonly request: Request;
  readonly arrivedAtMs: number;
  respond(response: Response): void;
}

/** A lease server: the renewals that it holds, and the changes that wait for its holders. */
export interface Server<Request, Response> extends Node {
  readonly held: HeldRenewals<HeldCall<Request, Response>>;
  readonly waiting: Map<PendingChange, () => void>;
}

/** Rows outlive the run. */
export const neverMs = 10_000_000_000;

/** The shares of delays up to 30 ms, and up to 400 ms; the longest delay. */
export interface Delays {
  readonly short: number;
  readonly medium: number;
  readonly longestMs: number;
}

/**
 * **Time, chance and network of a simulation**, and what lease servers of both tiers do with held calls and waits. Everything
 * follows from the seed. Real time is what only the simulation knows.
 */
export class SimulatedWorld {
  readonly random: () => number;
  readonly faults: boolean;
  readonly violations: string[] = [];
  readonly acknowledgementsMs: number[] = [];
  readonly counts: Record<string, number> = {};
  readonly partitions = new Set<Node>();
  readonly #delays: Delays;
  readonly #agenda = new Agenda();
  #nowMs = 0;

  constructor(seed: number, faults: boolean, delays: Delays = { short: 0.85, medium: 0.98, longestMs: 3_000 }) {
    this.#delays = delays;
    this.random = randomFrom(seed);
    this.faults = faults;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Runs the next event; false when none is left before `untilMs`. */
  advance(untilMs: number): boolean {
    const event = this.#agenda.next();
    if (event === undefined || event.atMs > untilMs) return false;
    this.#nowMs = event.atMs;
    event.run();
    return true;
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

  /** Like {@link chance}, and never without faults. */
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

  node(offset?: number): Node {
    return { clock: new Clock(this.random, offset), alive: true, frozenUntilMs: 0 };
  }

  /** What the node's clock reads now. */
  read({ clock }: Pick<Node, "clock">): number {
    return clock.read(this.#nowMs);
  }

  isRunning({ alive, frozenUntilMs }: Node): boolean {
    return alive && this.#nowMs >= frozenUntilMs;
  }

  /** Mostly short, sometimes very long. */
  delay(): number {
    const scale = this.random();
    if (!this.faults) return 15 * scale;
    const { short, medium, longestMs } = this.#delays;
    return (scale < short ? 30 : scale < medium ? 400 : longestMs) * this.random();
  }

  /** Runs when the node does: later if it is frozen, never if it has ended. */
  whenRunning(node: Node, run: () => void): void {
    if (!node.alive) return;
    if (this.#nowMs >= node.frozenUntilMs) run();
    else this.at(node.frozenUntilMs, () => this.whenRunning(node, run));
  }

  /** A message, which may be lost, late or doubled. */
  send(from: Node, to: Node, run: () => void, lost: () => void = () => {}): void {
    if (this.partitions.has(from) || this.partitions.has(to) || this.fails(0.02)) {
      lost();
      return;
    }
    this.after(this.delay(), () => this.whenRunning(to, run));
    if (this.fails(0.02)) this.after(this.delay(), () => this.whenRunning(to, run));
  }

  server<Request, Response>(node: Node): Server<Request, Response> {
    return { ...node, held: new HeldRenewals(), waiting: new Map() };
  }

  /** Holds a call until `untilMs`, or grants it now; an earlier call of the same holder is granted in any case. */
  holdOrGrant<Request extends { readonly holder: string }, Response>(
    server: Server<Request, Response>,
    call: HeldCall<Request, Response>,
    untilMs: number,
    grant: (call: HeldCall<Request, Response>) => void,
  ): void {
    const { holder } = call.request;
    const isHeld = untilMs > call.arrivedAtMs;
    const before = isHeld ? server.held.hold(holder, call, untilMs) : server.held.release(holder);
    if (before !== undefined) grant(before);
    if (!isHeld) grant(call);
    this.runHeld(server, grant);
  }

  /** Grants the held calls that are due, and again when the next one is. */
  runHeld<Request, Response>(
    server: Server<Request, Response>,
    grant: (call: HeldCall<Request, Response>) => void,
  ): void {
    if (!server.alive) return;
    for (const call of server.held.take(this.read(server))) grant(call);
    const nextMs = server.held.nextMs();
    if (nextMs === undefined) return;
    const realMs = Math.max(this.#nowMs + 0.5, server.clock.realOf(nextMs));
    this.at(realMs, () => this.whenRunning(server, () => this.runHeld(server, grant)));
  }

  announce<Request, Response>(
    server: Server<Request, Response>,
    grant: (call: HeldCall<Request, Response>) => void,
  ): void {
    server.held.announce(this.read(server));
    this.runHeld(server, grant);
  }

  settle({ waiting }: Pick<Server<never, never>, "waiting">, changes: readonly PendingChange[]): void {
    for (const change of changes) waiting.get(change)?.();
  }

  /** Waits on the server's timers, one after the other as `nextWaitMs` says, or until the last holder has confirmed. */
  await(
    { waiting, clock }: Pick<Server<never, never>, "waiting" | "clock">,
    pending: PendingChange,
    startedAtMs: number,
    nextWaitMs: NextWait,
    then: () => void,
  ): void {
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      waiting.delete(pending);
      then();
    };
    waiting.set(pending, () => {
      this.count("confirmed");
      end();
    });
    const look = (reachedMs: number) => {
      if (isOver) return;
      const waitMs = nextWaitMs(pending, reachedMs);
      if (waitMs <= 0) end();
      else this.after(clock.realDuration(waitMs), () => look(reachedMs + waitMs));
    };
    look(startedAtMs);
  }
}

/** For how long a server waits before it looks at a change again; 0 when no lease without it is left. */
export type NextWait = (pending: PendingChange, reachedMs: number) => number;

/** The parts of an instance of a shard that a filter is built from. */
interface FilteredShard {
  readonly machine: RevocationMachine;
  readonly rows: ReadonlyMap<string, unknown>;
  building: boolean;
}

/**
 * Rows that are written during the build are in the filter, or not. It also contains rows that are not revoked yet (`soon`): what a real
 * filter contains by chance is too rare to be seen here. `numbersAtEnd`: a mutant.
 */
export function buildFilterIfDue(
  world: SimulatedWorld,
  instance: FilteredShard,
  { soon, numbersAtEnd, built }: { soon(): readonly string[]; readonly numbersAtEnd: boolean; built(): void },
): void {
  const { machine, rows } = instance;
  if (instance.building || !machine.isFilterDue) return;
  instance.building = true;
  const { seq } = machine;
  const begun = new Set(rows.keys());
  world.after(world.delay(), () => {
    const late = [...rows.keys()].filter((key) => !begun.has(key) && world.chance(0.5));
    const byChance = soon().filter(() => world.chance(0.5));
    const { bytes, rows: count } = randomFilter(
      world.random,
      new Set([...begun, ...(numbersAtEnd ? [] : late), ...byChance]),
    );
    machine.useFilter({ seq: numbersAtEnd ? machine.seq : seq, untilMs: neverMs, bytes }, count);
    instance.building = false;
    built();
  });
}

/** A filter of random keys and seed; `undefined` never happens for so few rows. */
function randomFilter(random: () => number, rows: Iterable<string>): { bytes: Uint8Array; rows: number } {
  const keys = new FilterKeys({ k0: random() * 2 ** 32, k1: random() * 2 ** 32 });
  for (const key of rows) keys.add(key);
  return { bytes: buildSmallRowFilter(keys, () => random() * 2 ** 32)!, rows: keys.count };
}

/** The token that a row `j:…` revokes. */
export function subjectOf(key: string, shard = 0): RevocationSubject {
  const address = { generation: 1, region: "wnam", shard };
  return { address, jti: key.slice(2), grantId: "", sub: "", clientId: "", lineage: [] };
}
