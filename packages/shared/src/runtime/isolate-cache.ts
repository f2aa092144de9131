interface IsolateCacheOptions<Value> {
  /** The maximum size of all entries together, keys included. An entry that is larger on its own is not stored. */
  readonly maxBytes: number;
  /** Bytes of a value that its members do not show, such as imported keys. */
  readonly attachedBytes?: (value: Value) => number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly untilMs: number;
  readonly bytes: number;
}

/**
 * **A map in isolate memory, bounded by bytes**, whose entries expire. When it is full, the oldest entries are evicted, in insertion order: a hit
 * does not move an entry, because allocation on hot paths costs more than a rare reload.
 *
 * The size of an entry is estimated by {@link heapBytes} when it is stored. A hit estimates and allocates nothing. The bounds of all caches are in
 * one table, `isolateMemory` (config/limits.ts).
 */
export class IsolateCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #maxBytes: number;
  readonly #attachedBytes: (value: Value) => number;
  #bytes = 0;

  constructor({ maxBytes, attachedBytes = () => 0 }: IsolateCacheOptions<Value>) {
    this.#maxBytes = maxBytes;
    this.#attachedBytes = attachedBytes;
  }

  get(key: string, atMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.untilMs > atMs) return entry.value;
    this.delete(key);
    return undefined;
  }

  set(key: string, value: Value, untilMs: number): void {
    this.delete(key);
    const bytes = mapEntryBytes + stringBytes(key) + heapBytes(value) + this.#attachedBytes(value);
    if (bytes > this.#maxBytes) return;
    this.#makeRoom(bytes);
    this.#entries.set(ownText(key), { value, untilMs, bytes });
    this.#bytes += bytes;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The estimated size of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  #makeRoom(bytes: number): void {
    for (const [key, entry] of this.#entries) {
      if (this.#bytes + bytes <= this.#maxBytes) return;
      this.#entries.delete(key);
      this.#bytes -= entry.bytes;
    }
  }
}

const sizes = {
  /** The map, hash, length and padding of a string. */
  string: 24,
  /** A number that is not a small integer is an object of its own. */
  number: 16,
  /** An array and its element store, without the elements. */
  array: 48,
  object: 48,
  /** One element or property. */
  slot: 8,
  /** A typed array, its buffer, and the buffer's store. */
  bytes: 200,
} as const;

/** The memory of a `Map` entry besides key and value: its slots, including the half that is empty after the table has grown, and the record. */
export const mapEntryBytes = 128;

const beyondLatin1 = /[\u{100}-\u{10ffff}]/u;

/** A string has one byte per character, or two if any character is outside Latin-1. */
export function stringBytes(text: string): number {
  return sizes.string + (beyondLatin1.test(text) ? 2 * text.length : text.length);
}

/**
 * **Estimates how many bytes of heap a value occupies**, by walking it: for copies in isolate memory, which are bounded in bytes. It is called once
 * when an entry is stored, never when it is read, and takes a fraction of the time of parsing or verifying the value.
 *
 * The sizes are those of V8 without compressed pointers; with them, as in Workers, the real size is smaller. Depth is unbounded, so the walk does not
 * recurse. Plain data only: strings, numbers, arrays, objects, and typed arrays.
 */
export function heapBytes(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === "string") bytes += stringBytes(next);
    else if (typeof next === "number") bytes += isSmall(next) ? 0 : sizes.number;
    else if (Array.isArray(next)) {
      bytes += sizes.array + sizes.slot * next.length;
      for (const element of next) left.push(element);
    } else if (ArrayBuffer.isView(next)) {
      bytes += sizes.bytes + next.byteLength;
    } else if (typeof next === "object" && next !== null) {
      bytes += sizes.object;
      for (const member of Object.values(next)) {
        bytes += sizes.slot;
        left.push(member);
      }
    }
  }
  return bytes;
}

function isSmall(value: number): boolean {
  return (value | 0) === value;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/**
 * Copies text to memory of its own. A substring refers to the text that it was cut from, so an id of 20 characters would keep the header or body of
 * its request in memory.
 */
export function ownText(text: string): string {
  return text.isWellFormed() ? decoder.decode(encoder.encode(text)) : text;
}
