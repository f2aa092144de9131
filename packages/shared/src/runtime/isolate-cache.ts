import { heapBytes, mapEntryBytes, ownText, stringBytes } from "./heap-bytes.ts";

export interface IsolateCacheOptions<Value> {
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
