/** Proofs whose ends are this close are forgotten together. */
const slotMs = 32_000;
/** Of an entry: two of the proof's hash, two of the operation that used it. */
const entryWords = 4;
const entryBytes = entryWords * Uint32Array.BYTES_PER_ELEMENT;
const firstEntries = 32;

/** A proof by the hash that is its key, and the operation of the request that used it. */
export interface TableEntry {
  readonly key: string;
  readonly operationId: string;
}

interface Slot {
  words: Uint32Array;
  count: number;
}

/**
 * **Used DPoP proofs in memory**, at most `maxBytes`: 60 bits of each proof's hash, open addressing, one table for each {@link slotMs} in which
 * proofs end. Two entries with equal bits refuse a proof that was not used (1 in 10^13), and accept none twice.
 */
export class ProofTable {
  readonly #maxBytes: number;
  readonly #slots = new Map<number, Slot>();
  #bytes = 0;
  #count = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The size of {@link save}, without the headers of its slots. */
  get savedBytes(): number {
    return this.#count * entryBytes;
  }

  forget(atMs: number): void {
    for (const [index, slot] of this.#slots) {
      if ((index + 1) * slotMs > atMs) continue;
      this.#slots.delete(index);
      this.#bytes -= slot.words.byteLength;
      this.#count -= slot.count;
    }
  }

  /** Whether the proof was used, and by which operation. A proof is found whatever end it was stored with. */
  find({ key, operationId }: TableEntry): "absent" | "same" | "other" {
    const hash = hashOf(key);
    for (const { words } of this.#slots.values()) {
      const at = placeOf(words, hash);
      if (words.length === 0 || words[at] === 0) continue;
      const [first, second] = operationOf(operationId);
      return words[at + 2] === first && words[at + 3] === second ? "same" : "other";
    }
    return "absent";
  }

  /** False if there is no room. The proof is absent. */
  add({ key, operationId }: TableEntry, untilMs: number): boolean {
    return this.#insert(Math.floor(untilMs / slotMs), [...hashOf(key), ...operationOf(operationId)]);
  }

  /** For each slot its number, its entries and their number. */
  save(): Uint8Array<ArrayBuffer> {
    const saved = new Uint32Array(this.#slots.size * 2 + this.#count * entryWords);
    let end = 0;
    for (const [index, { words, count }] of this.#slots) {
      saved.set([index, count], end);
      end += 2;
      for (let at = 0; at < words.length; at += entryWords) {
        if (words[at] === 0) continue;
        saved.set(words.subarray(at, at + entryWords), end);
        end += entryWords;
      }
    }
    return new Uint8Array(saved.buffer);
  }

  load(bytes: Uint8Array<ArrayBuffer>): void {
    const saved = new Uint32Array(bytes.slice().buffer);
    for (let at = 0; at < saved.length; ) {
      const [index = 0, count = 0] = saved.subarray(at, at + 2);
      at += 2;
      for (const end = at + count * entryWords; at < end; at += entryWords) {
        this.#insert(index, saved.subarray(at, at + entryWords));
      }
    }
  }

  #insert(index: number, entry: ArrayLike<number>): boolean {
    const slot = this.#slots.get(index) ?? { words: new Uint32Array(0), count: 0 };
    if ((slot.count + 1) * entryWords * 4 > slot.words.length * 3 && !this.#grow(slot)) return false;
    this.#slots.set(index, slot);
    slot.words.set(entry, placeOf(slot.words, entry));
    slot.count += 1;
    this.#count += 1;
    return true;
  }

  #grow(slot: Slot): boolean {
    const before = slot.words;
    const length = Math.max(before.length * 2, firstEntries * entryWords);
    const more = (length - before.length) * Uint32Array.BYTES_PER_ELEMENT;
    if (this.#bytes + more > this.#maxBytes) return false;
    slot.words = new Uint32Array(length);
    this.#bytes += more;
    for (let at = 0; at < before.length; at += entryWords) {
      if (before[at] === 0) continue;
      const entry = before.subarray(at, at + entryWords);
      slot.words.set(entry, placeOf(slot.words, entry));
    }
    return true;
  }
}

/** Where the entry is, or would be. A table without entries has length 0, where nothing is found. */
function placeOf(words: Uint32Array, entry: ArrayLike<number>): number {
  if (words.length === 0) return 0;
  const mask = words.length / entryWords - 1;
  for (let place = (entry[0]! ^ entry[1]!) & mask; ; place = (place + 1) & mask) {
    const at = place * entryWords;
    if (words[at] === 0 || (words[at] === entry[0] && words[at + 1] === entry[1])) return at;
  }
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** 60 bits of a key's end, which is a hash in base64url. The first word is not 0, which marks a free place. */
function hashOf(key: string): readonly [number, number] {
  return [digitsAt(key, key.length - 5) + 1, digitsAt(key, key.length - 10)];
}

function digitsAt(text: string, from: number): number {
  let value = 0;
  for (let at = from; at < from + 5; at += 1) value = value * 64 + Math.max(0, digits.indexOf(text.charAt(at)));
  return value;
}

/** 64 random bits of a UUID. */
function operationOf(operationId: string): readonly [number, number] {
  return [Number.parseInt(operationId.slice(0, 8), 16) >>> 0, Number.parseInt(operationId.slice(-8), 16) >>> 0];
}
