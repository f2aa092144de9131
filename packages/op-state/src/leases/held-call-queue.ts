import { CurrentEnds } from "./current-ends.ts";

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
