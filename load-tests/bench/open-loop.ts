import { connect, type Socket } from "node:net";
import { readResponse, type Target } from "./closed-loop.ts";

/**
 * **Open-loop load**: requests are sent at fixed times, whether or not earlier ones were answered. A latency counts from the time at
 * which its request was to be sent, so that a pause delays all requests that fall into it (no coordinated omission). Connections are
 * reused, and opened when all are in use. Every response is checked.
 */
export interface OpenLoopResult {
  readonly requests: number;
  /** Responses. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/** Times of a run in milliseconds from its start. */
export function scheduleOf(perSecond: number, seconds: number): number[] {
  return Array.from({ length: Math.round(perSecond * seconds) }, (_, index) => (index * 1000) / perSecond);
}

export function summarize(latencies: readonly number[], seconds: number): OpenLoopResult {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    requests: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    p999Ms: at(0.999),
    maxMs: sorted.at(-1) ?? 0,
  };
}

/** A request that waits longer fails the run. */
const longestMs = 30_000;

export async function runOpenLoop(
  target: Target,
  perSecond: number,
  seconds: number,
  maxConnections: number,
): Promise<OpenLoopResult> {
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

/** A timer may be a millisecond late, which counts as latency, for every server alike; waiting actively would take a core from them. */
async function until(atMs: number): Promise<void> {
  const leftMs = atMs - performance.now();
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

interface Waiting {
  resolve(): void;
  reject(error: unknown): void;
}

/** Numbered connections, at most `most`; exchanges beyond wait for the first free one. */
class Connections {
  readonly #target: Target;
  readonly #most: number;
  readonly #free: Connection[] = [];
  readonly #all: Connection[] = [];
  readonly #waiting: Waiting[] = [];

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

class Connection {
  readonly #target: Target;
  readonly #number: number;
  readonly #socket: Socket;
  #received = "";
  #waiting: Waiting | undefined;

  constructor(target: Target, number: number) {
    this.#target = target;
    this.#number = number;
    const { hostname, port } = new URL(target.origin);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.setEncoding("latin1");
    this.#socket.on("error", (error) => this.fail(error));
    this.#socket.on("close", () => this.fail(new Error("the provider closed a connection")));
    this.#socket.on("data", (chunk: string) => this.#receive(chunk));
  }

  exchange(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(this.#target.next(this.#number), "latin1");
    });
  }

  #receive(chunk: string): void {
    this.#received += chunk;
    const response = readResponse(this.#received);
    if (response === undefined) return;
    this.#received = "";
    const waiting = this.#waiting;
    this.#waiting = undefined;
    try {
      this.#target.check(this.#number, response.status, response.body);
      waiting?.resolve();
    } catch (error) {
      waiting?.reject(error);
    }
  }

  fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  close(): void {
    this.#socket.removeAllListeners("close").destroy();
  }
}
