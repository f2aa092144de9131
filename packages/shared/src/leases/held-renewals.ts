interface Held<Call> {
  readonly call: Call;
  readonly untilMs: number;
}

/** The shortest time between two wake-ups, and how many answers a second wake-ups may cause. */
const wakeGapMs = 25;
const wakesPerSecond = 500;

/**
 * **The renewals that a lease server holds**: one for each holder, answered when there is news, or when half of its lease has
 * passed. Pure: the caller reads the clock, answers what is returned, and calls again at {@link nextMs}.
 *
 * Wake-ups are paced by the number of holders: news cause at most {@link wakesPerSecond} answers a second, however many
 * changes there are. Beyond that, news wait for the next renewal, and a change waits at most until leases have ended.
 */
export class HeldRenewals<Call> {
  readonly #held = new Map<string, Held<Call>>();
  #wakeAtMs: number | undefined;
  #lastWakeMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#held.size;
  }

  /** Holds a call until `untilMs`. Returns the call of the same holder that was held before: it is answered now. */
  hold(holder: string, call: Call, untilMs: number): Call | undefined {
    const before = this.release(holder);
    this.#held.set(holder, { call, untilMs });
    return before;
  }

  /** Takes the call of one holder out, to be answered. */
  release(holder: string): Call | undefined {
    const held = this.#held.get(holder);
    this.#held.delete(holder);
    return held?.call;
  }

  /** There is news. Call {@link take} now and at {@link nextMs}. */
  announce(nowMs: number): void {
    if (this.#held.size === 0 || this.#wakeAtMs !== undefined) return;
    const gapMs = Math.max(wakeGapMs, (this.#held.size * 1000) / wakesPerSecond);
    // A clock that was set back must not postpone the wake-up.
    this.#wakeAtMs = Math.max(nowMs, Math.min(this.#lastWakeMs, nowMs) + gapMs);
  }

  /** The calls to answer now. */
  take(nowMs: number): Call[] {
    if (this.#wakeAtMs !== undefined && nowMs >= this.#wakeAtMs) {
      const all = [...this.#held.values()].map(({ call }) => call);
      this.#held.clear();
      this.#lastWakeMs = nowMs;
      this.#wakeAtMs = undefined;
      return all;
    }
    const due: Call[] = [];
    for (const [holder, { call, untilMs }] of this.#held) {
      if (untilMs > nowMs) continue;
      this.#held.delete(holder);
      due.push(call);
    }
    return due;
  }

  /** When the next call is to be answered; `undefined` while none is held. */
  nextMs(): number | undefined {
    if (this.#held.size === 0) return undefined;
    let next = this.#wakeAtMs ?? Number.POSITIVE_INFINITY;
    for (const { untilMs } of this.#held.values()) next = Math.min(next, untilMs);
    return next;
  }
}
