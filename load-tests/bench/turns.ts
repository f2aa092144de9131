import { cpuMicroseconds } from "../lib/process-time.ts";
import type { Target } from "./connection.ts";
import { type LoopResult, runLoop } from "./loops.ts";

/** One server under one load. */
export interface Measurement extends LoopResult {
  /** CPU time of all threads of the runtime, per request; absent if its process is not known. */
  readonly cpuMicros: number | undefined;
}

/** One of several servers that are compared: its requests, and the process whose CPU time counts. */
export interface Side {
  readonly target: Target;
  readonly processId: number | undefined;
}

export interface Turns {
  readonly connections: number;
  /** The length of a turn. */
  readonly seconds: number;
  /** In each round, every side has one turn, in the reverse order of the previous round. */
  readonly rounds: number;
  /** Per side, before the first round, because the runtime compiles for some seconds. */
  readonly warmUpSeconds: number;
}

/**
 * **Loads several servers in turns**, so that other work on the machine affects all of them, and returns the median of each figure, a
 * measurement for each side. The figures of one call are comparable; those of two calls are not.
 */
export async function measureInTurns<Name extends string>(
  sides: ReadonlyMap<Name, Side>,
  { connections, seconds, rounds, warmUpSeconds }: Turns,
): Promise<Map<Name, Measurement>> {
  for (const { target } of sides.values()) await runLoop(target, connections, warmUpSeconds);
  const measured = new Map<Name, Measurement[]>([...sides.keys()].map((name) => [name, []]));
  let order = [...sides];
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, side] of order) measured.get(name)!.push(await measureSide(side, connections, seconds));
    order = order.toReversed();
  }
  return new Map([...measured].map(([name, all]) => [name, medians(all)]));
}

async function measureSide({ target, processId }: Side, connections: number, seconds: number): Promise<Measurement> {
  const cpuBefore = processId === undefined ? 0 : cpuMicroseconds(processId);
  const result = await runLoop(target, connections, seconds);
  const cpuMicros = processId === undefined ? undefined : (cpuMicroseconds(processId) - cpuBefore) / result.requests;
  return { ...result, cpuMicros };
}

export function medians(all: readonly Measurement[]): Measurement {
  const of = (read: (measurement: Measurement) => number) => median(all.map(read));
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    perSecond: of(({ perSecond }) => perSecond),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p95Ms: of(({ p95Ms }) => p95Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    p999Ms: of(({ p999Ms }) => p999Ms),
    maxMs: Math.max(...all.map(({ maxMs }) => maxMs)),
    cpuMicros: all.every(({ cpuMicros }) => cpuMicros !== undefined) ? of(({ cpuMicros }) => cpuMicros!) : undefined,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}
