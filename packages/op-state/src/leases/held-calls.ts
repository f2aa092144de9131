import { nowMs } from "@edge-op/shared/runtime/clock";
import { HeldCallQueue } from "./held-call-queue.ts";

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
