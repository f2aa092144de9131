import type { PacedResult } from "../model/store-report.ts";

/**
 * **A paced load**: connections that each send at an even pace, one request at a time, because a refresh needs the response before it.
 */

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
  let late = 0;
  const drive = async (connection: number) => {
    for (let due = startedAt + (gapMs * connection) / connections; due < endAt; due += gapMs) {
      const now = performance.now();
      if (now < due) await new Promise((resolve) => setTimeout(resolve, due - now));
      else if (now > due + gapMs / 2) late += 1;
      const sentAt = performance.now();
      await send(connection);
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, connection) => drive(connection)));
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  const elapsed = (performance.now() - startedAt) / 1000;
  return {
    operations: latencies.length,
    perSecond: latencies.length / elapsed,
    p50: at(0.5),
    p99: at(0.99),
    late: late / latencies.length,
  };
}
