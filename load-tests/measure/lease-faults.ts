import { setTimeout as sleep } from "node:timers/promises";
import type { Latency } from "../model/lease-report.ts";
import type { Extent, FaultName } from "./lease-plan.ts";
import { LeaseStage, latencyOf } from "./lease-stage.ts";

/** **Waits of revocations under a fault** of an isolate in a process of its own. */
export interface LeaseFaults {
  readonly fault: FaultName;
  readonly relays: number;
  /** All isolates that hold leases when the fault begins, including the faulty one. */
  readonly isolates: number;
  /** The first `/revoke`, right after the fault began. */
  readonly first: Latency;
  /** The calls in the next two seconds. */
  readonly later: Latency;
  /** Tokens that any isolate, including the faulty one, reported as active after their revocation was acknowledged. */
  readonly violations: number;
}

const isolates = 4;
const ratePerIsolate = 10;
const warmUpMs = 2500;
const later = 4;
const gapMs = 300;

export async function measureFault(
  fault: FaultName,
  relays: number,
  { repetitions }: Extent,
  signal: AbortSignal,
): Promise<LeaseFaults> {
  const stage = await LeaseStage.prepare(isolates - 1, {
    isolateProcesses: true,
    ...(relays === 0 ? {} : { relays }),
  });
  const stop = () => void stage.stop();
  signal.addEventListener("abort", stop);
  try {
    return { relays, isolates, ...(await repeatFault(stage, fault, repetitions, signal)) };
  } finally {
    signal.removeEventListener("abort", stop);
    await stage.stop();
  }
}

async function repeatFault(
  stage: LeaseStage,
  fault: FaultName,
  repetitions: number,
  signal: AbortSignal,
): Promise<Omit<LeaseFaults, "relays" | "isolates">> {
  stage.startLoad(ratePerIsolate);
  const firsts: number[] = [];
  const laters: number[] = [];
  let isolate = await stage.provider.startIsolate();
  for (let count = 0; count < repetitions && !signal.aborted; count += 1) {
    if (fault === "killed" && count > 0) isolate = await stage.provider.startIsolate();
    const origin = isolate.origins["op-management"]!;
    stage.startLoad(ratePerIsolate, [origin]);
    await sleep(warmUpMs);
    if (fault === "killed") await isolate.kill();
    else if (fault === "frozen") isolate.freeze();
    else if (fault === "cut off") await isolate.cutOff();
    stage.stopLoad([origin]);
    const first = await stage.revoke(stage.isolates);
    firsts.push(first.elapsedMs);
    const tokens = [first.token];
    for (let turn = 0; turn < later; turn += 1) {
      await sleep(gapMs);
      const { elapsedMs, token } = await stage.revoke(stage.isolates);
      laters.push(elapsedMs);
      tokens.push(token);
    }
    if (fault === "frozen") isolate.thaw();
    if (fault === "cut off") await isolate.reconnect();
    if (fault !== "killed") for (const token of tokens) await stage.expectRefused([origin], token);
  }
  return { fault, first: latencyOf(firsts), later: latencyOf(laters), violations: stage.violations };
}
