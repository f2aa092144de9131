import { isolateMemory } from "../config/limits.ts";

/** A response, as the metrics and the log line of its request describe it. */
export interface ObservedRequest {
  readonly endpoint: string;
  readonly method: string;
  readonly status: number;
  readonly outcome: "ok" | "refused" | "unavailable" | "failed";
  readonly code: string | undefined;
  readonly clientId: string | undefined;
  readonly failedHook: string | undefined;
  readonly durationMs: number;
  /** Of a sampled request. */
  readonly calls: { readonly object: number; readonly kv: number; readonly d1: number } | undefined;
}

/** A point has the number of its requests that took longer than each of these. */
export const durationBoundsMs = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000] as const;

/** How long requests are gathered. The first ones of an interval are points of their own, unless the interval before had more. */
const intervalMs = 60_000;
const singlePoints = 10;
/** An invocation may write 250 points. One may end an interval, and hold the next one: 2 × 120. */
const mostKinds = 120;
/** The platform ends `waitUntil` 30 s after the response. A request in 20 s holds what is gathered, so another is there before one ends. */
const holdMs = 25_000;
const holdAgainMs = 20_000;
const bytesOfKind = 400;

/** The columns of a point: blobs, and doubles that its requests add to. */
interface Sums {
  readonly blobs: string[];
  readonly doubles: number[];
}

type WaitUntil = (promise: Promise<unknown>) => void;

/**
 * **Counts the requests of an isolate**: one data point for all requests of a minute that have endpoint, method, status, error code, client and
 * failed hook in common, with their number, and the sum and a histogram of their durations (docs/operating/monitor.md#metrics). A quiet isolate
 * writes a point for each request, as its first ten of a minute are.
 *
 *   M1  the requests of all points are the requests that were observed, each once
 *   M2  what is gathered is written by the next request after the minute, or by the last one that holds it: 25 s after it at the latest
 *
 * An isolate that the platform ends before (memory, a fault) loses what it gathered: at most a minute of a busy isolate.
 */
export class RequestMetrics {
  readonly #dataset: AnalyticsEngineDataset;
  readonly #kinds = new Map<string, Sums>();
  #bytes = 0;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #requests = 0;
  #gathersAll = false;
  #heldAtMs = Number.NEGATIVE_INFINITY;

  constructor(dataset: AnalyticsEngineDataset) {
    this.#dataset = dataset;
  }

  get heldBytes(): number {
    return this.#bytes;
  }

  count(request: ObservedRequest, atMs: number, waitUntil: WaitUntil): void {
    if (atMs >= this.#startedAtMs + intervalMs) this.#begin(atMs);
    this.#requests += 1;
    if (!this.#gathersAll && this.#requests <= singlePoints) {
      const sums = sumsOf(request);
      add(sums.doubles, request);
      this.#write(sums);
      return;
    }
    const { endpoint, method, status, code, clientId, failedHook } = request;
    const key = `${endpoint}\n${method}\n${status}\n${code}\n${clientId}\n${failedHook}`;
    let sums = this.#kinds.get(key);
    if (sums === undefined) {
      const bytes = 2 * key.length + bytesOfKind;
      if (this.#kinds.size === mostKinds || this.#bytes + bytes > isolateMemory.requestMetrics) this.#flush();
      sums = sumsOf(request);
      this.#kinds.set(key, sums);
      this.#bytes += bytes;
    }
    add(sums.doubles, request);
    if (atMs >= this.#heldAtMs + holdAgainMs) this.#hold(atMs, waitUntil);
  }

  #begin(atMs: number): void {
    this.#flush();
    this.#gathersAll = this.#requests > singlePoints && atMs < this.#startedAtMs + 2 * intervalMs;
    this.#startedAtMs = atMs;
    this.#requests = 0;
  }

  #hold(atMs: number, waitUntil: WaitUntil): void {
    this.#heldAtMs = atMs;
    waitUntil(
      new Promise((resolve) => setTimeout(resolve, holdMs)).then(() => {
        // A later request holds what is there now.
        if (this.#heldAtMs !== atMs) return;
        this.#heldAtMs = Number.NEGATIVE_INFINITY;
        this.#flush();
      }),
    );
  }

  #flush(): void {
    for (const sums of this.#kinds.values()) this.#write(sums);
    this.#kinds.clear();
    this.#bytes = 0;
  }

  #write({ blobs, doubles }: Sums): void {
    this.#dataset.writeDataPoint({ indexes: [blobs[0]!], blobs, doubles });
  }
}

/** Counters are one less than the number of requests, because points of earlier releases are one request and have 0 there. */
function sumsOf({ endpoint, method, outcome, code, clientId, failedHook, status }: ObservedRequest): Sums {
  const blobs = [endpoint, method, outcome, code ?? "", clientId ?? ""];
  if (failedHook !== undefined) blobs.push(failedHook);
  return { blobs, doubles: [0, status, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] };
}

const firstBound = 7;

function add(doubles: number[], { durationMs, calls }: ObservedRequest): void {
  doubles[0]! += durationMs;
  doubles[5]! += 1;
  if (calls !== undefined) {
    doubles[6]! += 1;
    doubles[2] = Math.max(0, doubles[2]!) + calls.object;
    doubles[3] = Math.max(0, doubles[3]!) + calls.kv;
    doubles[4] = Math.max(0, doubles[4]!) + calls.d1;
  }
  for (let bound = 0; durationMs > (durationBoundsMs[bound] ?? Number.POSITIVE_INFINITY); bound += 1)
    doubles[firstBound + bound]! += 1;
}

const ofDatasets = new WeakMap<AnalyticsEngineDataset, RequestMetrics>();

/** The one of an isolate: the platform gives each of its requests the same binding. */
export function requestMetricsOf(dataset: AnalyticsEngineDataset): RequestMetrics {
  const known = ofDatasets.get(dataset);
  if (known !== undefined) return known;
  const made = new RequestMetrics(dataset);
  ofDatasets.set(dataset, made);
  return made;
}
