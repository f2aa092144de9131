/**
 * **A bounded map in isolate memory** whose entries end by time. When full the oldest entry goes (insertion order; a hit
 * does not move an entry: allocation on hot paths costs more than a rare reload).
 */
export class IsolateCache<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: string, atMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.untilMs > atMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, untilMs: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#maxEntries) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    this.#entries.set(key, { value, untilMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}
