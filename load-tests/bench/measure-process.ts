import { runLoop, type Target } from "./closed-loop.ts";
import type { Measurement } from "./measurement.ts";
import { cpuMicroseconds, pin } from "./process-time.ts";

/** **One process under one load**: throughput, latency, and the CPU of a request. */
export interface Loop {
  readonly connections: number;
  readonly seconds: number;
}

/** `server` is a process id; without it CPU stays unknown. Answers are checked; the first wrong one ends it. */
export async function measureProcess(
  server: number | undefined,
  target: Target,
  { connections, seconds }: Loop,
): Promise<Measurement> {
  const cpuBefore = server === undefined ? 0 : cpuMicroseconds(server);
  const result = await runLoop(target, connections, seconds);
  const cpuMicros = server === undefined ? undefined : (cpuMicroseconds(server) - cpuBefore) / result.requests;
  return { ...result, cpuMicros };
}

/** The server on one core, this process on another; false where there is no `taskset`. */
export function pinApart(server: number | undefined): boolean {
  return server !== undefined && pin(server, "0") && pin(process.pid, "1");
}
