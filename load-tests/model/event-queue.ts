interface Event {
  readonly timeMs: number;
  readonly order: number;
  readonly action: () => void;
}

function before(a: Event, b: Event): boolean {
  return a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order);
}

/** **Simulated time**: a binary heap of events, which run in order; events at the same time run in insertion order. */
export class EventQueue {
  readonly #heap: Event[] = [];
  #asked = 0;
  nowMs = 0;

  at(timeMs: number, action: () => void): void {
    const event = { timeMs, order: this.#asked++, action };
    let slot = this.#heap.push(event) - 1;
    while (slot > 0) {
      const parent = (slot - 1) >> 1;
      if (!before(event, this.#heap[parent]!)) break;
      this.#heap[slot] = this.#heap[parent]!;
      slot = parent;
    }
    this.#heap[slot] = event;
  }

  /** Runs until no event is left or the time exceeds `untilMs`. */
  run(untilMs: number): void {
    let first = this.#heap[0];
    while (first !== undefined && first.timeMs <= untilMs) {
      this.nowMs = first.timeMs;
      this.#removeFirst();
      first.action();
      first = this.#heap[0];
    }
  }

  #removeFirst(): void {
    const moved = this.#heap.pop()!;
    const length = this.#heap.length;
    if (length === 0) return;
    let slot = 0;
    for (;;) {
      let child = 2 * slot + 1;
      if (child >= length) break;
      if (child + 1 < length && before(this.#heap[child + 1]!, this.#heap[child]!)) child += 1;
      if (!before(this.#heap[child]!, moved)) break;
      this.#heap[slot] = this.#heap[child]!;
      slot = child;
    }
    this.#heap[slot] = moved;
  }
}
