export interface Waiter {
  readonly arrivedAtMs: number;
  isDone: boolean;
}

export interface Call<W extends Waiter> {
  /** The leader first; in a line that joins, every request that arrived before the call ended. */
  readonly waiters: W[];
  isSent: boolean;
  readonly lostAtMs: number;
}

/** The next step of a waiter. */
export type Step<W extends Waiter> =
  | { readonly kind: "lead"; readonly call: Call<W> }
  /** Waits for a signal, at most `forMs`, then calls {@link CallLine.check}. */
  | { readonly kind: "wait"; readonly forMs: number }
  | { readonly kind: "done" }
  /** Fails as unavailable and signals `next`, which may depend on it. */
  | { readonly kind: "giveUp"; readonly next: W | undefined };

export interface LineOptions {
  /**
   * The maximum number of waiters of a call. A line that joins has no such bound, because its calls carry the leader's request
   * alone.
   */
  readonly maxBatch: number;
  /** Arrivals join a call that has been sent. */
  readonly joins: boolean;
  readonly callMs: number;
}

/** The maximum delay of timers and continuations of a live request. */
const graceMs = 500;

/** The time after which a waiter that has not been served has failed. */
export function longestWaitMs(callMs: number): number {
  return 2 * callMs + 2 * graceMs;
}

/**
 * **Decides which requests of an isolate share a call of one object.** Pure: no I/O, no clock. A line is *idle* (no call) or has one call that is
 * *gathering* or *sent*. A waiter is in the queue, in the current call, or done.
 *
 * A leader sends the call and ends it within `callMs`. A call that has not ended {@link graceMs} later is lost: the next arrival or timer leads
 * another call for the same waiters, and a late result of the lost call is ignored. A waiter waits at most `longestWaitMs`: it either leads early
 * enough to be served by its own call, or fails.
 */
export class CallLine<W extends Waiter> {
  readonly #options: LineOptions;
  #call: Call<W> | undefined;
  /** Waiters behind the current call, oldest first. While the line is idle the first of them has been signalled. */
  #queue: W[] = [];

  constructor(options: LineOptions) {
    this.#options = options;
  }

  arrive(waiter: W, atMs: number): Step<W> {
    const call = this.#call;
    if (call === undefined || this.isLost(call, atMs)) return this.#lead(waiter, atMs);
    const { joins, maxBatch } = this.#options;
    if (joins || (!call.isSent && call.waiters.length < maxBatch)) call.waiters.push(waiter);
    else this.#queue.push(waiter);
    return this.#wait(waiter, call, atMs);
  }

  /** Called after a signal, a timer or the waiter's own call. */
  check(waiter: W, atMs: number): Step<W> {
    if (waiter.isDone) return { kind: "done" };
    const { callMs } = this.#options;
    const leavesAtMs = waiter.arrivedAtMs + longestWaitMs(callMs);
    const call = this.#call;
    if (call === undefined || this.isLost(call, atMs)) {
      // A leader is served by its own call, so it must have the time for one.
      return atMs <= leavesAtMs - callMs ? this.#lead(waiter, atMs) : this.#giveUp(waiter);
    }
    return atMs < leavesAtMs ? this.#wait(waiter, call, atMs) : this.#giveUp(waiter);
  }

  /** The waiters whose requests are sent now; `undefined` if the call has been declared lost. */
  depart(call: Call<W>): readonly W[] | undefined {
    if (this.#call !== call) return undefined;
    call.isSent = true;
    return call.waiters;
  }

  /** Serves the waiters of a call that has ended. Returns the waiter to signal, which makes the next call. */
  end(call: Call<W>, serve: (waiter: W, index: number) => void): W | undefined {
    if (this.#call !== call) return undefined;
    this.#call = undefined;
    for (const [index, waiter] of call.waiters.entries()) {
      if (waiter.isDone) continue;
      waiter.isDone = true;
      serve(waiter, index);
    }
    return this.#queue[0];
  }

  get isEmpty(): boolean {
    return this.#call === undefined && this.#queue.length === 0;
  }

  /** Whether a call was lost so long ago that no request can wait for it. */
  isAbandoned(atMs: number): boolean {
    return this.#call !== undefined && atMs >= this.#call.lostAtMs + longestWaitMs(this.#options.callMs);
  }

  protected isLost(call: Call<W>, atMs: number): boolean {
    return atMs >= call.lostAtMs;
  }

  /** Takes the waiters of a lost call first, then those of the queue. Waiters that exceed the batch stay in the queue. */
  protected takeAlong(leader: W, lost: Call<W> | undefined, queue: readonly W[]): W[] {
    if (lost === undefined && queue.length === 0) return [];
    return [...(lost?.waiters ?? []), ...queue].filter((other) => other !== leader && !other.isDone);
  }

  #lead(leader: W, atMs: number): Step<W> {
    const others = this.takeAlong(leader, this.#call, this.#queue);
    const room = this.#options.joins ? others.length : this.#options.maxBatch - 1;
    const call: Call<W> = {
      waiters: [leader, ...others.slice(0, room)],
      isSent: false,
      lostAtMs: atMs + this.#options.callMs + graceMs,
    };
    this.#queue = others.slice(room);
    this.#call = call;
    return { kind: "lead", call };
  }

  #wait(waiter: W, call: Call<W>, atMs: number): Step<W> {
    const leavesAtMs = waiter.arrivedAtMs + longestWaitMs(this.#options.callMs);
    return { kind: "wait", forMs: Math.min(call.lostAtMs, leavesAtMs) - atMs };
  }

  #giveUp(waiter: W): Step<W> {
    waiter.isDone = true;
    this.#queue = this.#queue.filter((other) => other !== waiter);
    return { kind: "giveUp", next: this.#call === undefined ? this.#queue[0] : undefined };
  }
}
