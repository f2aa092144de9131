import { setTimeout as sleep } from "node:timers/promises";
import { heldShare } from "../../packages/shared/src/config/lease-timing.ts";
import type { LeaseMeasurement } from "../model/lease-report.ts";
import type { Extent } from "./lease-plan.ts";
import { LeaseStage, latencyOf } from "./lease-stage.ts";

const shards = 8;
const leaseMs = 1000;
const warmUpMs = 4000;
const gapMs = 120;
/** Changes per revocation. */
const changesPart = 1 / 3;
/** The time limit for the revocations, and for the changes, on a slow machine. */
const longestMs = 25_000;

export async function measureLeases(
  isolates: number,
  relays: number,
  ratePerIsolate: number,
  { seconds, revocations }: Extent,
  signal: AbortSignal,
): Promise<LeaseMeasurement> {
  const stage = await LeaseStage.prepare(isolates, relays === 0 ? {} : { relays });
  const stop = () => void stage.stop();
  signal.addEventListener("abort", stop);
  try {
    await stage.prepareChanges();
    stage.startLoad(ratePerIsolate);
    await sleep(warmUpMs);
    const steady = await countSteady(stage, seconds);
    const revoke = await repeat(revocations, signal, async () => (await stage.revoke(stage.isolates)).elapsedMs);
    const before = await stage.countDatabase();
    const change = await repeat(revocations * changesPart, signal, (count) => stage.change(count));
    const after = await stage.countDatabase();
    const reads = after.reduce((sum, each, index) => sum + each - before[index]!, 0);
    return {
      isolates,
      relays,
      ratePerIsolate,
      leaseMs,
      shards,
      relayShare: heldShare.relay,
      ...steady,
      revoke: latencyOf(revoke),
      change: latencyOf(change),
      d1ReadsPerChange: after.length === 0 ? undefined : reads / after.length / change.length,
      failures: stage.failures,
      violations: stage.violations,
    };
  } finally {
    signal.removeEventListener("abort", stop);
    await stage.stop();
  }
}

/** Repeats an operation with pauses; fewer times on a slow machine. */
async function repeat(times: number, signal: AbortSignal, operation: (count: number) => Promise<number>) {
  const elapsed: number[] = [];
  const untilMs = performance.now() + longestMs;
  while (elapsed.length < times && performance.now() < untilMs && !signal.aborted) {
    elapsed.push(await operation(elapsed.length));
    await sleep(gapMs);
  }
  return elapsed;
}

type Steady = Pick<LeaseMeasurement, "callsPerSecond" | "busiestShard" | "busiestRelay" | "methods">;

async function countSteady(stage: LeaseStage, countedSeconds: number): Promise<Steady> {
  const first = await stage.countObjects();
  const startedAt = performance.now();
  await sleep(countedSeconds * 1000);
  const last = await stage.countObjects();
  const seconds = (performance.now() - startedAt) / 1000;
  const rates = (from: Readonly<Record<string, number>>, to: Readonly<Record<string, number>>) =>
    Object.fromEntries(
      Object.entries(to)
        .map(([name, count]) => [name, (count - (from[name] ?? 0)) / seconds] as const)
        .filter(([name, rate]) => rate > 0 && isOfLeases(name)),
    );
  const methods = rates(first.methods, last.methods);
  const objects = rates(first.objects, last.objects);
  const busiest = (className: string) =>
    Math.max(0, ...Object.entries(objects).map(([name, rate]) => (name.startsWith(className) ? rate : 0)));
  return {
    callsPerSecond: Object.values(methods).reduce((sum, rate) => sum + rate, 0),
    busiestShard: busiest("TokenRevocationStore"),
    busiestRelay: busiest("RevocationRelay"),
    methods,
  };
}

/** Alarms are not calls. */
function isOfLeases(name: string): boolean {
  return /^(TokenRevocationStore|RevocationRelay)/.test(name) && !name.endsWith(".alarm");
}
