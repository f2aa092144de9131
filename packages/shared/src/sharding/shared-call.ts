import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { nowMs } from "../runtime/clock.ts";
import { within } from "../runtime/deadline.ts";

export interface SharedCallOptions<Env, Request, Reply> {
  /** In the log and in {@link UnavailableError}. */
  readonly name: string;
  /** Most requests that one call carries. */
  readonly maxBatch: number;
  /**
   * Sends one call for all, by the leader's bindings: one reply each in the order asked, or a single one for all. Must be
   * idempotent: after a time limit the same requests may be sent again.
   */
  send(context: RequestContext<Env>, requests: readonly Request[]): Promise<readonly Reply[]>;
  /** Arrivals take part in a call that is already out, instead of the next: for replies that are right for them too. */
  readonly joinsCallInFlight?: boolean;
  /** How long a waiter sees no call begin or end before it takes the leader for gone. */
  readonly patienceMs?: number;
}

type Turn<Reply> =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "lead" };

interface Waiter<Request, Reply> {
  readonly request: Request;
  flight: Flight<Request, Reply> | undefined;
  resolve(turn: Turn<Reply>): void;
}

interface Flight<Request, Reply> {
  readonly passengers: Waiter<Request, Reply>[];
}

interface Line<Request, Reply> {
  waiting: Waiter<Request, Reply>[];
  /** The call in flight; replaced when its leader is taken for gone, so that a late one cannot disturb its successor. */
  flight: Flight<Request, Reply> | undefined;
}

/**
 * An isolate that was asked so often in so short a time is short of CPU: many of its requests have come and had no turn on the
 * core yet. Its leaders wait a moment, in which those get to take part in the call: 1.8 requests in a call instead of 1.1, and a
 * fifth less CPU for a refresh. In a quieter isolate nobody waits.
 */
const busy = { asks: 16, withinMs: 32, gatherMs: 2 } as const;

/** A waiter that has seen calls go by for so many patiences without being served gives up: 503, and the caller tries again. */
const patiences = 3;

/**
 * **Batches calls of one isolate to one object** (protocols.md §2, "Sharing a call"): while one is in flight, requests that
 * arrive join the next. A request may not touch another's I/O, so each waits on a promise of its own; a leader calls for
 * all under `waitUntil` and hands the next batch to its first waiter; whoever finds the leader gone calls in its place.
 * The timer that notices is also what keeps a waiter alive: the runtime ends a request that waits for no I/O of its own.
 */
export class SharedCall<Env, Request, Reply> {
  readonly #lines = new Map<string, Line<Request, Reply>>();
  readonly #options: SharedCallOptions<Env, Request, Reply>;
  /** When the last requests came; the oldest of them at `#oldest`. */
  readonly #askedAtMs = Array.from({ length: busy.asks }, () => Number.NEGATIVE_INFINITY);
  #oldest = 0;
  #isBusy = false;

  constructor(options: SharedCallOptions<Env, Request, Reply>) {
    this.#options = options;
  }

  /** `key` names the object: one call in flight each. */
  async ask(context: RequestContext<Env>, key: string, request: Request): Promise<Reply> {
    this.#noteRequest();
    const line = this.#line(key);
    const { promise, resolve } = Promise.withResolvers<Turn<Reply>>();
    const waiter: Waiter<Request, Reply> = { request, flight: undefined, resolve };
    if (line.flight === undefined) return this.#lead(context, key, line, waiter);
    if (this.#options.joinsCallInFlight) {
      waiter.flight = line.flight;
      line.flight.passengers.push(waiter);
    } else {
      line.waiting.push(waiter);
    }
    // A caller that hangs up must not take the lead down with it.
    context.waitUntil(promise);
    const turn = await this.#awaitTurn(line, waiter, promise);
    if (turn.kind !== "lead") return read(turn);
    // The lead came so late that someone else has taken it, and this waiter along.
    if (waiter.flight !== undefined) return this.ask(context, key, request);
    return this.#lead(context, key, line, waiter);
  }

  #line(key: string): Line<Request, Reply> {
    const known = this.#lines.get(key);
    if (known !== undefined) return known;
    const line: Line<Request, Reply> = { waiting: [], flight: undefined };
    this.#lines.set(key, line);
    return line;
  }

  async #awaitTurn(
    line: Line<Request, Reply>,
    waiter: Waiter<Request, Reply>,
    promise: Promise<Turn<Reply>>,
  ): Promise<Turn<Reply>> {
    for (let round = 0; round < patiences; round += 1) {
      const seen = line.flight;
      const turn = await within(this.#options.patienceMs ?? limits.objectCallMs + 500, promise, () => undefined);
      if (turn !== undefined) return turn;
      if (line.flight !== seen) continue;
      // Everyone the lost leader had on board is carried by the next one: this waiter.
      const stranded = seen === undefined ? [] : seen.passengers.filter((passenger) => passenger !== waiter);
      line.waiting = [...stranded, ...line.waiting];
      line.flight = { passengers: [] };
      waiter.flight = undefined;
      return { kind: "lead" };
    }
    // Nobody is to hand the lead to one who has left.
    line.waiting = line.waiting.filter((other) => other !== waiter);
    throw new UnavailableError(this.#options.name, new Error("no turn came"));
  }

  #noteRequest(): void {
    const atMs = nowMs();
    this.#isBusy = atMs - this.#askedAtMs[this.#oldest]! <= busy.withinMs;
    this.#askedAtMs[this.#oldest] = atMs;
    this.#oldest = (this.#oldest + 1) % busy.asks;
  }

  /** Sends for this waiter and all who wait, and promises it its reply anew. */
  async #lead(
    context: RequestContext<Env>,
    key: string,
    line: Line<Request, Reply>,
    waiter: Waiter<Request, Reply>,
  ): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Turn<Reply>>();
    waiter.resolve = resolve;
    const flight = { passengers: [waiter] };
    waiter.flight = flight;
    line.flight = flight;
    line.waiting = line.waiting.filter((other) => other !== waiter);
    context.waitUntil(this.#fly(context, key, line, flight));
    return read(await promise);
  }

  async #fly(
    context: RequestContext<Env>,
    key: string,
    line: Line<Request, Reply>,
    flight: Flight<Request, Reply>,
  ): Promise<void> {
    const { joinsCallInFlight, maxBatch } = this.#options;
    if (this.#isBusy && !joinsCallInFlight) await scheduler.wait(busy.gatherMs);
    // Taken for gone meanwhile: whoever leads now carries this flight's passengers.
    if (line.flight !== flight) return;
    for (const passenger of line.waiting.splice(0, maxBatch - 1)) {
      passenger.flight = flight;
      flight.passengers.push(passenger);
    }
    await this.#carry(context, flight.passengers);
    if (line.flight === flight) this.#handOver(key, line);
  }

  /** Never rejects: whatever happens is told to every passenger, those that joined meanwhile included. */
  async #carry(context: RequestContext<Env>, passengers: Waiter<Request, Reply>[]): Promise<void> {
    try {
      const replies = await this.#options.send(
        context,
        passengers.map((passenger) => passenger.request),
      );
      for (const [index, passenger] of passengers.entries()) passenger.resolve(this.#turnOf(replies, index));
    } catch (error) {
      for (const passenger of passengers) passenger.resolve({ kind: "failed", error });
    }
  }

  #turnOf(replies: readonly Reply[], index: number): Turn<Reply> {
    const at = replies.length === 1 ? 0 : index;
    if (at < replies.length) return { kind: "reply", reply: replies[at]! };
    const error = new Error(`${replies.length} replies, asked for more than ${index}`);
    return { kind: "failed", error: new UnavailableError(this.#options.name, error) };
  }

  #handOver(key: string, line: Line<Request, Reply>): void {
    const [heir] = line.waiting;
    line.flight = undefined;
    if (heir === undefined) {
      this.#lines.delete(key);
      return;
    }
    // Until the heir has woken up, arrivals go on waiting: it takes them along.
    line.flight = { passengers: [] };
    heir.resolve({ kind: "lead" });
  }
}

function read<Reply>(turn: Turn<Reply>): Reply {
  if (turn.kind === "reply") return turn.reply;
  throw turn.kind === "failed" ? turn.error : new Error("a leader was told to lead");
}
