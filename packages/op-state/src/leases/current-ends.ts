import TinyQueue from "tinyqueue";

/** The queue is rebuilt when it has more outdated entries than current ones, and at least this many. */
const outdatedAtMost = 64;

/**
 * **The first of many ends, most of which are replaced before they pass.** An outdated entry remains in the queue until it is first, or until
 * outdated entries outnumber current ones: O(log n) for each entry, amortised. Pure.
 */
export class CurrentEnds<Entry> {
  readonly #compare: (one: Entry, other: Entry) => number;
  readonly #isCurrent: (entry: Entry) => boolean;
  #queue: TinyQueue<Entry>;

  constructor(compare: (one: Entry, other: Entry) => number, isCurrent: (entry: Entry) => boolean) {
    this.#compare = compare;
    this.#isCurrent = isCurrent;
    this.#queue = new TinyQueue([], compare);
  }

  /** `current`: how many entries are current, this one included. */
  add(entry: Entry, current: number): void {
    this.#queue.push(entry);
    if (this.#queue.length <= 2 * current + outdatedAtMost) return;
    this.#queue = new TinyQueue(this.#queue.data.filter(this.#isCurrent), this.#compare);
  }

  get first(): Entry | undefined {
    for (let entry = this.#queue.peek(); entry !== undefined; entry = this.#queue.peek()) {
      if (this.#isCurrent(entry)) return entry;
      this.#queue.pop();
    }
    return undefined;
  }
}
