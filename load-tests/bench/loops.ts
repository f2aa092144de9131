import { percentile } from "../lib/percentile.ts";
import { Connection, type Target } from "./connection.ts";

export interface LoopResult {
  /** The number of responses. */
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

export function summarize(latencies: readonly number[], seconds: number): LoopResult {
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    requests: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    p99Ms: percentile(sorted, 0.99),
    p999Ms: percentile(sorted, 0.999),
    maxMs: sorted.at(-1) ?? 0,
  };
}

/**
 * **Closed-loop load, like wrk's**: a number of connections with one request in flight each, as fast as responses arrive. The first wrong
 * response ends it.
 */
export async function runLoop(target: Target, connections: number, seconds: number): Promise<LoopResult> {
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  const latencies: number[] = [];
  const all = Array.from({ length: connections }, (_, number) => new Connection(target, number));
  const drive = async (connection: Connection) => {
    await connection.opened;
    for (let sentAt = performance.now(), now = 0; now < endAt; sentAt = now) {
      await connection.exchange();
      now = performance.now();
      latencies.push(now - sentAt);
    }
  };
  try {
    await Promise.all(all.map(drive));
  } finally {
    for (const connection of all) connection.close();
  }
  return summarize(latencies, (performance.now() - startedAt) / 1000);
}

/** Times of an open loop in milliseconds from its start. */
export function scheduleOf(perSecond: number, seconds: number): number[] {
  return Array.from({ length: Math.round(perSecond * seconds) }, (_, index) => (index * 1000) / perSecond);
}

/** A request that waits longer fails the run. */
const longestMs = 30_000;

/**
 * **Open-loop load**: requests are sent at fixed times, whether or not earlier responses have arrived. Latency counts from the time at which a
 * request was due, so that a pause delays all requests that fall into it (no coordinated omission). Connections are reused, and opened when all are
 * in use.
 */
export async function runOpenLoop(
  target: Target,
  perSecond: number,
  seconds: number,
  maxConnections: number,
): Promise<LoopResult> {
  const connections = new Connections(target, maxConnections);
  const startedAt = performance.now();
  const pending = new Set<Promise<void>>();
  const latencies: number[] = [];
  let failure: Error | undefined;
  for (const atMs of scheduleOf(perSecond, seconds)) {
    await until(startedAt + atMs);
    if (failure !== undefined) break;
    const exchange = connections.exchange().then(
      () => {
        latencies.push(performance.now() - startedAt - atMs);
      },
      (error: unknown) => {
        failure ??= error instanceof Error ? error : new Error(String(error));
      },
    );
    pending.add(exchange);
    void exchange.then(() => pending.delete(exchange));
  }
  const late = setTimeout(() => connections.fail(new Error(`no response within ${longestMs} ms`)), longestMs);
  await Promise.all(pending);
  clearTimeout(late);
  const elapsed = (performance.now() - startedAt) / 1000;
  connections.close();
  if (failure !== undefined) throw failure;
  return summarize(latencies, elapsed);
}

/** A timer may be a millisecond late, which counts as latency equally for every server; active waiting would take a core from them. */
async function until(atMs: number): Promise<void> {
  const leftMs = atMs - performance.now();
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

/** Numbered connections, at most `most`; further exchanges wait for the first free one. */
class Connections {
  readonly #target: Target;
  readonly #most: number;
  readonly #free: Connection[] = [];
  readonly #all: Connection[] = [];
  readonly #waiting: { resolve(): void; reject(error: unknown): void }[] = [];

  constructor(target: Target, most: number) {
    this.#target = target;
    this.#most = most;
  }

  async exchange(): Promise<void> {
    const connection = await this.#take();
    try {
      await connection.exchange();
    } finally {
      this.#free.push(connection);
      this.#waiting.shift()?.resolve();
    }
  }

  async #take(): Promise<Connection> {
    for (;;) {
      const free = this.#free.shift();
      if (free !== undefined) return free;
      if (this.#all.length < this.#most) {
        const connection = new Connection(this.#target, this.#all.length);
        this.#all.push(connection);
        return connection;
      }
      await new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    }
  }

  fail(error: Error): void {
    for (const waiting of this.#waiting) waiting.reject(error);
    for (const connection of this.#all) connection.fail(error);
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }
}
