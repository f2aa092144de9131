import { type HashKey, hashInto, randomHashKey } from "./row-filter.ts";

/** The size of one slot: two words of hash and one of time. */
const slotBytes = 12;
const smallest = 16;

/**
 * **A map from row keys to expiry times in 12 bytes a slot**, of which at most two thirds are used: a string and its entry in a `Map` take ten times
 * as much. A key is known by its hash of 64 bits under a random key of this map, so the probability that another key is mistaken for it is 10⁻¹³ at a
 * million rows. Times are whole seconds, rounded up.
 */
export class HashedRows {
  readonly #key: HashKey;
  readonly #hash = new Uint32Array(2);
  #slots = new Uint32Array(0);
  #size = 0;

  constructor(key = randomHashKey()) {
    this.#key = key;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.length * 4;
  }

  has(rowKey: string): boolean {
    if (this.#size === 0) return false;
    this.#hashOf(rowKey);
    return this.#slots[this.#slot(this.#hash[0]!, this.#hash[1]!) + 2] !== 0;
  }

  /** The later time counts if the key is known. */
  add(rowKey: string, untilMs: number): void {
    if (3 * (this.#size + 1) * slotBytes > 2 * this.bytes) this.#resize(this.#size + 1, 0);
    this.#hashOf(rowKey);
    this.#put(this.#hash[0]!, this.#hash[1]!, Math.min(Math.max(1, Math.ceil(untilMs / 1000)), 0xffff_ffff));
  }

  /** Removes the rows that expired at `atMs` or before. */
  prune(atMs: number): void {
    if (this.#size === 0) return;
    this.#resize(this.#size, Math.max(0, Math.floor(atMs / 1000)));
    if (this.#size === 0) this.#slots = new Uint32Array(0);
  }

  #hashOf(rowKey: string): void {
    hashInto(rowKey, this.#key, this.#hash, 0);
  }

  /** The index of the hash, or of the empty slot for it. */
  #slot(high: number, low: number): number {
    const count = this.#slots.length / 3;
    let index = low & (count - 1);
    for (;;) {
      const at = 3 * index;
      if (this.#slots[at + 2] === 0 || (this.#slots[at] === high && this.#slots[at + 1] === low)) return at;
      index = (index + 1) & (count - 1);
    }
  }

  #put(high: number, low: number, untilSeconds: number): void {
    const at = this.#slot(high, low);
    if (this.#slots[at + 2] === 0) this.#size += 1;
    this.#slots[at] = high;
    this.#slots[at + 1] = low;
    this.#slots[at + 2] = Math.max(untilSeconds, this.#slots[at + 2]!);
  }

  /** Stores the rows that are still live after `passedSeconds` in the smallest table for `rows`. */
  #resize(rows: number, passedSeconds: number): void {
    const old = this.#slots;
    let count = smallest;
    while (2 * count < 3 * rows) count *= 2;
    this.#slots = new Uint32Array(3 * count);
    this.#size = 0;
    for (let at = 0; at < old.length; at += 3) {
      if (old[at + 2]! > passedSeconds) this.#put(old[at]!, old[at + 1]!, old[at + 2]!);
    }
  }
}
