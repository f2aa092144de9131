import { nowMs } from "@edge-op/shared/runtime/clock";
import { CurrentEnds } from "./lease-holders.ts";

interface HeldCall<Request, Response> {
  readonly request: Request;
  readonly arrivedAtMs: number;
  resolve(response: Response): void;
  reject(error: unknown): void;
}

/**
 * **Holds lease renewals until a change is announced**, with one timer for all of them. `HeldCallQueue` decides which calls are due;
 * `respond` gives the lease at that moment. A wait ends by a change, after a share of the lease, by a second call of the same holder,
 * or by its release.
 */
export class HeldCalls<Request extends { readonly holder: string }, Response> {
  readonly #respond: (request: Request, heldMs: number, atMs: number) => Response;
  readonly #queue = new HeldCallQueue<HeldCall<Request, Response>>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(respond: (request: Request, heldMs: number, atMs: number) => Response) {
    this.#respond = respond;
  }

  get size(): number {
    return this.#queue.size;
  }

  hold(request: Request, atMs: number, untilMs: number): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const call = { request, arrivedAtMs: atMs, resolve, reject };
    const before = this.#queue.hold(request.holder, call, untilMs);
    if (before !== undefined) this.#settle(before, atMs);
    this.#arm(atMs);
    return promise;
  }

  /** Resolves the held call of a holder that calls again or releases its lease. */
  resolveHeld(holder: string): void {
    const before = this.#queue.release(holder);
    if (before !== undefined) this.#settle(before, nowMs());
  }

  /** Announces a change to every holder. */
  announce(): void {
    const atMs = nowMs();
    this.#queue.announce(atMs);
    this.#run(atMs);
  }

  #run(atMs: number): void {
    for (const call of this.#queue.take(atMs)) this.#settle(call, atMs);
    this.#arm(atMs);
  }

  #settle(call: HeldCall<Request, Response>, atMs: number): void {
    try {
      call.resolve(this.#respond(call.request, Math.max(0, atMs - call.arrivedAtMs), atMs));
    } catch (error) {
      call.reject(error);
    }
  }

  #arm(atMs: number): void {
    const nextMs = this.#queue.nextMs();
    if (nextMs === undefined || nextMs >= this.#timerAtMs) return;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timerAtMs = nextMs;
    this.#timer = setTimeout(
      () => {
        this.#timerAtMs = Number.POSITIVE_INFINITY;
        this.#run(nowMs());
      },
      Math.max(0, nextMs - atMs),
    );
  }
}

interface Held<Call> {
  readonly holder: string;
  readonly call: Call;
  readonly untilMs: number;
}

/** The shortest time between two wake-ups, and the maximum number of responses per second that wake-ups cause. */
const wakeGapMs = 25;
const wakesPerSecond = 500;

/**
 * **The renewals that a lease server holds**: at most one per holder, due when a change is announced or when a share of its lease has passed. Pure:
 * the caller reads the clock, responds to the calls that are returned, and calls again at {@link nextMs}. A call costs O(log n) for n holders.
 *
 * Wake-ups are paced by the number of holders: changes cause at most {@link wakesPerSecond} responses a second. Beyond that, a change is sent with
 * the next renewal, and waits at most until the leases have ended.
 */
export class HeldCallQueue<Call> {
  readonly #held = new Map<string, Held<Call>>();
  readonly #ends = new CurrentEnds<Held<Call>>(
    (one, other) => one.untilMs - other.untilMs,
    (held) => this.#held.get(held.holder) === held,
  );
  #wakeAtMs: number | undefined;
  #lastWakeMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#held.size;
  }

  /** Holds a call until `untilMs`. Returns the earlier call of the same holder, which is due now. */
  hold(holder: string, call: Call, untilMs: number): Call | undefined {
    const before = this.release(holder);
    const held = { holder, call, untilMs };
    this.#held.set(holder, held);
    this.#ends.add(held, this.#held.size);
    return before;
  }

  /** Removes and returns the call of one holder. */
  release(holder: string): Call | undefined {
    const held = this.#held.get(holder);
    this.#held.delete(holder);
    return held?.call;
  }

  /** Announces a change. Call {@link take} now and at {@link nextMs}. */
  announce(nowMs: number): void {
    if (this.#held.size === 0 || this.#wakeAtMs !== undefined) return;
    const gapMs = Math.max(wakeGapMs, (this.#held.size * 1000) / wakesPerSecond);
    // A clock that was set back must not postpone the wake-up.
    this.#wakeAtMs = Math.max(nowMs, Math.min(this.#lastWakeMs, nowMs) + gapMs);
  }

  /** Removes and returns the calls that are due. */
  take(nowMs: number): Call[] {
    if (this.#wakeAtMs !== undefined && nowMs >= this.#wakeAtMs) {
      const all = [...this.#held.values()].map(({ call }) => call);
      this.#held.clear();
      this.#lastWakeMs = nowMs;
      this.#wakeAtMs = undefined;
      return all;
    }
    const due: Call[] = [];
    for (let held = this.#ends.first; held !== undefined && held.untilMs <= nowMs; held = this.#ends.first) {
      this.#held.delete(held.holder);
      due.push(held.call);
    }
    return due;
  }

  /** When the next call is due; `undefined` while none is held. */
  nextMs(): number | undefined {
    const first = this.#ends.first;
    return first && Math.min(first.untilMs, this.#wakeAtMs ?? Number.POSITIVE_INFINITY);
  }
}
