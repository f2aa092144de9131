import { percentile } from "../lib/percentile.ts";
import type { PacedResult } from "../model/store-report.ts";

/** **A paced load**: connections that each send at an even pace, one request at a time, because a refresh needs the previous response. */
export async function runPaced(
  send: (connection: number) => Promise<void>,
  connections: number,
  perSecond: number,
  seconds: number,
): Promise<PacedResult> {
  const gapMs = (1000 * connections) / perSecond;
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  const latencies: number[] = [];
  const drive = async (connection: number) => {
    for (let due = startedAt + (gapMs * connection) / connections; due < endAt; due += gapMs) {
      const waitMs = due - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const sentAt = performance.now();
      await send(connection);
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, connection) => drive(connection)));
  latencies.sort((a, b) => a - b);
  const elapsed = (performance.now() - startedAt) / 1000;
  return {
    operations: latencies.length,
    perSecond: latencies.length / elapsed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}
