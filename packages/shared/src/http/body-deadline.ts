import { ArrivalRate } from "../runtime/arrival-rate.ts";
import { nowMs } from "../runtime/clock.ts";
import { within } from "../runtime/deadline.ts";
import type { WaitUntil } from "./request-context.ts";

/** A body that is being received under the watch. */
interface Receiving {
  readonly dueAtMs: number;
  /** Fails the wait of its request. */
  end(error: unknown): void;
}

export interface BodyDeadlineOptions {
  /** A request whose body is not complete after this time is refused. */
  readonly limitMs: number;
  readonly late: () => never;
}

/** An isolate is busy from 100 requests a second. */
const busy = { count: 16, withinMs: 160 } as const;
/** How often the watch checks for late bodies. */
const watchEveryMs = 1_000;
/** The platform ends background work 30 s after the response: a watch accepts bodies for this long and is then replaced. */
const acceptsForMs = 5_000;

/**
 * **The time limit of request bodies.** Each body has a timer, except in a busy isolate, where a timer per body is a twelfth of the CPU of an
 * introspection: there one watch, in the background of one request, ends the wait for all late bodies, at most a second late. It runs until its
 * bodies are complete. If the watch is lost with its request, the next arrival replaces it.
 */
export class BodyDeadline {
  readonly #options: BodyDeadlineOptions;
  readonly #rate = new ArrivalRate(busy);
  readonly #receiving = new Set<Receiving>();
  /** Number of the current watch. */
  #watch = 0;
  /** The current watch accepts bodies until this time, … */
  #acceptsUntilMs = Number.NEGATIVE_INFINITY;
  /** … unless it is lost: it has not checked by this time. */
  #looksByMs = Number.NEGATIVE_INFINITY;

  constructor(options: BodyDeadlineOptions) {
    this.#options = options;
  }

  /** `background` is that of the request; without it, the body has its own timer. */
  wait<Body>(body: Promise<Body>, background: WaitUntil | undefined): Promise<Body> {
    const { limitMs, late } = this.#options;
    const atMs = nowMs();
    if (!this.#rate.isBusyAt(atMs) || background === undefined) return within(limitMs, body, late);
    if (atMs >= this.#acceptsUntilMs || atMs >= this.#looksByMs) background.waitUntil(this.#keepWatch(atMs));
    return this.#watched(body, atMs + limitMs);
  }

  #watched<Body>(body: Promise<Body>, dueAtMs: number): Promise<Body> {
    const { promise, resolve, reject } = Promise.withResolvers<Body>();
    const receiving: Receiving = { dueAtMs, end: reject };
    this.#receiving.add(receiving);
    body.then(
      (value) => {
        this.#receiving.delete(receiving);
        resolve(value);
      },
      (error: unknown) => {
        this.#receiving.delete(receiving);
        reject(error);
      },
    );
    return promise;
  }

  async #keepWatch(startedAtMs: number): Promise<void> {
    this.#watch += 1;
    const watch = this.#watch;
    this.#acceptsUntilMs = startedAtMs + acceptsForMs;
    const endsAtMs = this.#acceptsUntilMs + this.#options.limitMs + watchEveryMs;
    for (let atMs = startedAtMs; atMs < endsAtMs; atMs = nowMs()) {
      if (this.#watch === watch) this.#looksByMs = atMs + 2 * watchEveryMs;
      await new Promise<void>((resolve) => {
        setTimeout(resolve, watchEveryMs);
      });
      this.#endLate(nowMs());
      if (this.#receiving.size === 0) break;
    }
    if (this.#watch === watch) this.#acceptsUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** All bodies have the same limit, so the earliest ones are due first. */
  #endLate(atMs: number): void {
    for (const receiving of this.#receiving) {
      if (receiving.dueAtMs > atMs) return;
      this.#receiving.delete(receiving);
      receiving.end(errorOf(this.#options.late));
    }
  }
}

function errorOf(late: () => never): unknown {
  try {
    return late();
  } catch (error) {
    return error;
  }
}
