import { percentile } from "../lib/percentile.ts";
import type { Stage } from "../lib/presets.ts";
import { EventQueue } from "./event-queue.ts";
import { Random } from "./random.ts";
import { SimulatedStore, type StoreOutcome } from "./simulated-store.ts";
import type { Step, Workload } from "./system.ts";

export interface Traffic {
  readonly startRate: number;
  readonly stages: readonly Stage[];
  /** Above this number of requests in flight, an arrival is dropped, as in k6. */
  readonly maxVus: number;
  /** `even` spacing as in k6, or `poisson` as for people. */
  readonly arrivals: "even" | "poisson";
  readonly seed: number;
  /** Earlier requests are not counted, because caches and leases fill. */
  readonly countedFromMs: number;
}

export interface Outcome {
  readonly asked: number;
  readonly served: number;
  readonly dropped: number;
  readonly refused: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly stores: Readonly<Record<string, StoreOutcome>>;
}

class Run {
  readonly queue = new EventQueue();
  readonly random: Random;
  readonly workload: Workload;
  readonly traffic: Traffic;
  readonly stores: Map<string, SimulatedStore>;
  readonly isolateFreeAtMs: Float64Array;
  readonly keyHashes: Float64Array;
  readonly latencies: number[] = [];
  asked = 0;
  served = 0;
  dropped = 0;
  refused = 0;
  #inFlight = 0;
  #lastMs = 0;

  constructor(workload: Workload, traffic: Traffic) {
    this.workload = workload;
    this.traffic = traffic;
    this.random = new Random(traffic.seed);
    this.stores = new Map(
      Object.entries(workload.stores).map(([name, store]) => [
        name,
        new SimulatedStore(store, this.queue, this.random, traffic.countedFromMs),
      ]),
    );
    this.isolateFreeAtMs = new Float64Array(workload.isolates);
    this.keyHashes = Float64Array.from({ length: workload.keys }, () => this.random.next());
  }

  start(): void {
    let startMs = 0;
    let from = this.traffic.startRate;
    for (const stage of this.traffic.stages) {
      const stageStartMs = startMs;
      const fromRate = from;
      this.queue.at(stageStartMs, () => this.#arrive(stageStartMs, stage, fromRate));
      startMs += stage.seconds * 1000;
      from = stage.toRate;
    }
    this.#lastMs = startMs;
    this.queue.run(Number.POSITIVE_INFINITY);
  }

  /** One arrival now, and the next one of the stage by the current rate. */
  #arrive(stageStartMs: number, stage: Stage, fromRate: number): void {
    const nowMs = this.queue.nowMs;
    const rate = fromRate + ((stage.toRate - fromRate) * (nowMs - stageStartMs)) / (stage.seconds * 1000);
    const meanGapMs = 1000 / Math.max(rate, 1);
    const gapMs = this.traffic.arrivals === "even" ? meanGapMs : this.random.exponential(meanGapMs);
    const counted = nowMs >= this.traffic.countedFromMs;
    if (counted) this.asked += 1;
    if (this.#inFlight < this.traffic.maxVus) this.#serve(counted);
    else if (counted) this.dropped += 1;
    const nextMs = nowMs + gapMs;
    if (nextMs < stageStartMs + stage.seconds * 1000) {
      this.queue.at(nextMs, () => this.#arrive(stageStartMs, stage, fromRate));
    }
  }

  #serve(counted: boolean): void {
    this.#inFlight += 1;
    const startMs = this.queue.nowMs;
    const isolate = this.random.below(this.workload.isolates);
    const hash = this.keyHashes[this.random.below(this.workload.keys)]!;
    const next = (step: number): void => {
      if (step === this.workload.steps.length) {
        this.#inFlight -= 1;
        if (!counted) return;
        this.served += 1;
        this.latencies.push(this.queue.nowMs - startMs);
        return;
      }
      this.#take(this.workload.steps[step]!, isolate, hash, (ok) => {
        if (ok) {
          next(step + 1);
          return;
        }
        this.#inFlight -= 1;
        if (counted) this.refused += 1;
      });
    };
    next(0);
  }

  #take(step: Step, isolate: number, hash: number, done: (ok: boolean) => void): void {
    if (step.kind === "cpu") {
      const startMs = Math.max(this.queue.nowMs, this.isolateFreeAtMs[isolate]!);
      this.isolateFreeAtMs[isolate] = startMs + step.ms;
      this.queue.at(startMs + step.ms, () => done(true));
      return;
    }
    if (step.kind === "wait") {
      this.queue.at(this.queue.nowMs + step.ms, () => done(true));
      return;
    }
    const store = this.stores.get(step.store)!;
    const object = Math.floor(hash * store.objects.length);
    if (step.kind === "batched") store.batched(isolate, object, done);
    else if (this.random.next() < step.probability) store.call(object, 1, done);
    else done(true);
  }

  outcome(): Outcome {
    const sorted = this.latencies.sort((a, b) => a - b);
    return {
      asked: this.asked,
      served: this.served,
      dropped: this.dropped,
      refused: this.refused,
      p50: percentile(sorted, 0.5),
      p95: percentile(sorted, 0.95),
      p99: percentile(sorted, 0.99),
      stores: Object.fromEntries([...this.stores].map(([name, store]) => [name, store.outcome(this.#lastMs)])),
    };
  }
}

/**
 * **The discrete-event simulation.** Requests arrive by the stages' rate and go through the workload's steps; an object serves one call at a time,
 * first come first served, with exponentially spread work. Virtual users bound the number of requests in flight.
 */
export function simulate(workload: Workload, traffic: Traffic): Outcome {
  const run = new Run(workload, traffic);
  run.start();
  return run.outcome();
}
