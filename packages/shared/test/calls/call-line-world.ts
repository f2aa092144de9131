import {
  type Call,
  type CallLine,
  type LineOptions,
  longestWaitMs,
  type Step,
  type Waiter,
} from "@edge-op/shared/calls/call-line";

/** **A line and the requests that use it**, in simulated time: what `SharedCall` does with promises and timers, by an agenda. */
export const callMs = 1_000;
/** When a call is taken for lost, after it was begun. */
const lostMs = callMs + 500;
/** A request whose continuations and timers run within this is prompt. */
const promptMs = 20;

export interface Behaviour {
  /** After the arrival before it. */
  readonly gapMs: number;
  /** What its call takes if it leads; the time limit cuts it off. */
  readonly sendMs: number;
  readonly gatherMs: number;
  /** How late its continuations and timers run; more than {@link promptMs} is a starved request. */
  readonly lagMs: number;
  /** When its request is gone, after its arrival: nothing of it runs any more. */
  readonly vanishesAfterMs: number | undefined;
}

interface Sent {
  readonly requests: readonly Simulated[];
  readonly sentAtMs: number;
}

export interface Simulated extends Waiter {
  readonly name: number;
  readonly behaviour: Behaviour;
  /** Ends its present wait; a later one has another. */
  wait: object | undefined;
  end: { readonly kind: "served" | "gaveUp"; readonly atMs: number } | undefined;
  /** Followed its steps to the end. */
  hasReturned: boolean;
}

export type LineClass = new (options: LineOptions) => CallLine<Simulated>;

export interface Run {
  /** What went wrong, in words; empty for a correct line. */
  readonly violations: readonly string[];
  readonly served: number;
  readonly gaveUp: number;
  readonly replaced: number;
}

export class LineWorld {
  readonly #options: LineOptions;
  readonly #line: CallLine<Simulated>;
  readonly #events: { readonly atMs: number; readonly order: number; run(): void }[] = [];
  readonly #requests: Simulated[] = [];
  readonly #sent = new Map<Call<Simulated>, Sent>();
  readonly #violations: string[] = [];
  #newest: Call<Simulated> | undefined;
  #replaced = 0;
  #nowMs = 0;
  #order = 0;

  constructor(line: LineClass, options: { readonly joins: boolean; readonly maxBatch: number }) {
    this.#options = { ...options, callMs };
    this.#line = new line(this.#options);
  }

  run(behaviours: readonly Behaviour[]): Run {
    let atMs = 0;
    for (const [name, behaviour] of behaviours.entries()) {
      atMs += behaviour.gapMs;
      this.#at(atMs, () => this.#arrive(name, behaviour));
    }
    // When everything is long over, a request is served at once.
    const last: Behaviour = { gapMs: 0, sendMs: 5, gatherMs: 0, lagMs: 0, vanishesAfterMs: undefined };
    this.#at(atMs + 10 * lostMs, () => this.#arrive(behaviours.length, last));
    for (let steps = 0; this.#events.length > 0 && this.#violations.length === 0; steps += 1) {
      if (steps > 20_000) this.#violate("it never ends");
      const next = this.#events.reduce((a, b) => (b.atMs < a.atMs || (b.atMs === a.atMs && b.order < a.order) ? b : a));
      this.#events.splice(this.#events.indexOf(next), 1);
      this.#nowMs = next.atMs;
      next.run();
    }
    if (this.#violations.length === 0) this.#judge();
    const ends = this.#requests.map(({ end }) => end?.kind);
    return {
      violations: this.#violations,
      served: ends.filter((kind) => kind === "served").length,
      gaveUp: ends.filter((kind) => kind === "gaveUp").length,
      replaced: this.#replaced,
    };
  }

  #at(atMs: number, run: () => void): void {
    this.#order += 1;
    this.#events.push({ atMs, order: this.#order, run });
  }

  /** As part of a request: not when it is gone by then, and as late as it is starved. */
  #later(request: Simulated, delayMs: number, run: () => void): void {
    this.#at(this.#nowMs + delayMs + request.behaviour.lagMs, () => {
      const { vanishesAfterMs } = request.behaviour;
      if (vanishesAfterMs === undefined || this.#nowMs < request.arrivedAtMs + vanishesAfterMs) run();
    });
  }

  #arrive(name: number, behaviour: Behaviour): void {
    const request: Simulated = {
      name,
      behaviour,
      arrivedAtMs: this.#nowMs,
      isDone: false,
      wait: undefined,
      end: undefined,
      hasReturned: false,
    };
    this.#requests.push(request);
    this.#follow(request, this.#line.arrive(request, this.#nowMs));
  }

  #follow(request: Simulated, step: Step<Simulated>): void {
    if (step.kind === "lead") this.#lead(request, step.call);
    else if (step.kind === "wait") this.#wait(request, step.forMs);
    else this.#return(request, step);
  }

  #return(request: Simulated, step: Extract<Step<Simulated>, { kind: "done" | "giveUp" }>): void {
    if (step.kind === "giveUp") {
      this.#finish(request, "gaveUp");
      if (step.next !== undefined) this.#signal(step.next);
    }
    if (request.end === undefined) this.#violate(`${request.name} is done and has no end`);
    request.hasReturned = true;
  }

  #wait(request: Simulated, forMs: number): void {
    if (forMs <= 0) this.#violate(`${request.name} waits for no time at all`);
    const wait = {};
    request.wait = wait;
    this.#later(request, forMs, () => {
      if (request.wait === wait) this.#check(request);
    });
  }

  #signal(request: Simulated): void {
    if (request.wait === undefined) return;
    request.wait = undefined;
    this.#later(request, 0, () => this.#check(request));
  }

  #check(request: Simulated): void {
    request.wait = undefined;
    this.#follow(request, this.#line.check(request, this.#nowMs));
  }

  #lead(leader: Simulated, call: Call<Simulated>): void {
    if (this.#newest !== undefined) this.#replaced += 1;
    this.#newest = call;
    if (call.waiters[0] !== leader) this.#violate(`${leader.name} leads a call that does not carry it`);
    const { gatherMs, sendMs } = leader.behaviour;
    const depart = () => {
      const requests = this.#line.depart(call);
      if (requests === undefined) return this.#check(leader);
      this.#noteSent(call, requests);
      this.#later(leader, Math.min(sendMs, callMs), () => this.#end(leader, call));
    };
    if (gatherMs === 0) depart();
    else this.#later(leader, gatherMs, depart);
  }

  #noteSent(call: Call<Simulated>, requests: readonly Simulated[]): void {
    if (call !== this.#newest) this.#violate("a call is sent after it was replaced");
    if (requests.length > this.#options.maxBatch) this.#violate(`a call carries ${requests.length}`);
    this.#sent.set(call, { requests: [...requests], sentAtMs: this.#nowMs });
  }

  #end(leader: Simulated, call: Call<Simulated>): void {
    const { requests, sentAtMs } = this.#sent.get(call)!;
    const next = this.#line.end(call, (request, index) => {
      const isCarried = this.#options.joins ? call.waiters.includes(request) : requests[index] === request;
      if (!isCarried) this.#violate(`${request.name} is served by a call that it took no part in`);
      if (!this.#options.joins && request.arrivedAtMs > sentAtMs) this.#violate(`${request.name} came after the call`);
      this.#finish(request, "served");
      this.#signal(request);
    });
    if (call === this.#newest) this.#newest = undefined;
    if (next !== undefined) this.#signal(next);
    this.#check(leader);
  }

  #finish(request: Simulated, kind: "served" | "gaveUp"): void {
    if (request.end !== undefined) this.#violate(`${request.name} has ended twice`);
    request.end = { kind, atMs: this.#nowMs };
  }

  #judge(): void {
    const lastRequest = this.#requests.at(-1)!;
    if (lastRequest.end?.kind !== "served" || lastRequest.end.atMs > lastRequest.arrivedAtMs + 5) {
      this.#violate("a request that comes long after everything is not served at once");
    }
    const faulty = this.#requests.filter((request) => !isHealthy(request));
    if (faulty.length === 0 && !this.#line.isEmpty) this.#violate("the line is not empty in the end");
    for (const request of this.#requests) if (isHealthy(request)) this.#judgeHealthy(request, faulty);
  }

  #judgeHealthy(request: Simulated, faulty: readonly Simulated[]): void {
    const { name, arrivedAtMs, end } = request;
    if (end === undefined || !request.hasReturned) {
      this.#violate(`${name} waits for ever`);
      return;
    }
    const tookMs = end.atMs - arrivedAtMs;
    if (tookMs > longestWaitMs(callMs) + 3 * promptMs) this.#violate(`${name} waited for ${tookMs} ms`);
    if (!this.#options.joins && this.#options.maxBatch < this.#requests.length) return;
    // One lost leader costs nobody the reply, unless it came late to the lead of a queue; and without one nobody is slower than two calls.
    const present = faulty.filter((other) => isPresent(other, request));
    if (end.kind === "gaveUp" && present.length < (this.#options.joins ? 2 : 1))
      this.#violate(`${name} gives up for ${present.length} faults`);
    const sendMs = Math.max(...this.#requests.map(({ behaviour }) => behaviour.sendMs + behaviour.gatherMs));
    if (faulty.length === 0 && tookMs > 2 * Math.min(sendMs, callMs) + 8 * promptMs) {
      this.#violate(`${name} waited for ${tookMs} ms although nobody was lost`);
    }
    // Whose place a lost one held too long is there for the next arrival.
    const isLongAfter = faulty.every((other) => arrivedAtMs >= lastSeenMs(other) + lostMs);
    if (isLongAfter && tookMs > 2 * callMs + 8 * promptMs) this.#violate(`${name} waits long after the last fault`);
  }

  #violate(what: string): void {
    this.#violations.push(`${what}, at ${this.#nowMs} ms`);
  }
}

function isHealthy({ behaviour }: Simulated): boolean {
  return behaviour.lagMs <= promptMs && behaviour.vanishesAfterMs === undefined;
}

/** The last moment at which a faulty request may have begun a call. */
function lastSeenMs({ arrivedAtMs, behaviour }: Simulated): number {
  return (
    arrivedAtMs +
    Math.min(behaviour.vanishesAfterMs ?? Number.POSITIVE_INFINITY, longestWaitMs(callMs)) +
    behaviour.lagMs
  );
}

/** Whether a call that the faulty one led could be in the way of the request. */
function isPresent(faulty: Simulated, request: Simulated): boolean {
  return faulty.arrivedAtMs <= request.end!.atMs && lastSeenMs(faulty) + lostMs >= request.arrivedAtMs;
}
