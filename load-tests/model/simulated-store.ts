import { percentile } from "../lib/percentile.ts";
import type { EventQueue } from "./event-queue.ts";
import type { Random } from "./random.ts";
import type { Store } from "./system.ts";

export interface StoreOutcome {
  readonly calls: number;
  /** Share of time for which the busiest object worked. */
  readonly busiest: number;
  /** Time from call to response, without the network. */
  readonly p99: number;
}

/** Share of an object's work that is random; the rest is the same each time. */
const spread = 0.5;

interface SimulatedObject {
  freeAtMs: number;
  busyMs: number;
}

interface Batch {
  inFlight: boolean;
  waiting: ((ok: boolean) => void)[];
}

/** **One simulated store**: objects that process one call at a time, and batching in the isolates. */
export class SimulatedStore {
  readonly objects: SimulatedObject[];
  readonly store: Store;
  readonly latencies: number[] = [];
  /** The batch being formed, by isolate and object. */
  readonly batches = new Map<number, Batch>();
  calls = 0;
  readonly #queue: EventQueue;
  readonly #random: Random;
  readonly #countedFromMs: number;

  constructor(store: Store, queue: EventQueue, random: Random, countedFromMs: number) {
    this.store = store;
    this.#queue = queue;
    this.#random = random;
    this.#countedFromMs = countedFromMs;
    this.objects = Array.from({ length: store.objects }, () => ({ freeAtMs: 0, busyMs: 0 }));
  }

  call(index: number, items: number, done: (ok: boolean) => void): void {
    const object = this.objects[index]!;
    const sentMs = this.#queue.nowMs;
    const arrivedMs = sentMs + this.store.waitMs / 2;
    const counted = sentMs >= this.#countedFromMs;
    if (counted) this.calls += 1;
    this.#queue.at(arrivedMs, () => {
      const startMs = Math.max(arrivedMs, object.freeAtMs);
      if (startMs - arrivedMs > this.store.longestQueueMs) {
        this.#queue.at(arrivedMs + this.store.waitMs / 2, () => done(false));
        return;
      }
      const mean = this.store.callMs + items * this.store.itemMs;
      const workMs = mean * (1 - spread) + this.#random.exponential(mean * spread);
      object.freeAtMs = startMs + workMs;
      if (counted) {
        object.busyMs += workMs;
        this.latencies.push(object.freeAtMs - arrivedMs);
      }
      this.#queue.at(object.freeAtMs + this.store.waitMs / 2, () => done(true));
    });
  }

  batched(isolate: number, index: number, done: (ok: boolean) => void): void {
    const slot = isolate * this.store.objects + index;
    let batch = this.batches.get(slot);
    if (batch === undefined) {
      batch = { inFlight: false, waiting: [] };
      this.batches.set(slot, batch);
    }
    batch.waiting.push(done);
    if (!batch.inFlight) this.#send(batch, index);
  }

  #send(batch: Batch, index: number): void {
    const riding = batch.waiting;
    batch.waiting = [];
    batch.inFlight = true;
    this.call(index, riding.length, (ok) => {
      batch.inFlight = false;
      if (batch.waiting.length > 0) this.#send(batch, index);
      for (const done of riding) done(ok);
    });
  }

  outcome(endMs: number): StoreOutcome {
    const elapsedMs = Math.max(endMs, ...this.objects.map((object) => object.freeAtMs)) - this.#countedFromMs;
    return {
      calls: this.calls,
      busiest: Math.max(...this.objects.map((object) => object.busyMs)) / elapsedMs,
      p99: percentile(
        this.latencies.sort((a, b) => a - b),
        0.99,
      ),
    };
  }
}
