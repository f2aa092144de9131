import { platform } from "./platform.ts";
import { type Outcome, simulate } from "./simulate.ts";
import type { Step, Store, Workload } from "./system.ts";

/**
 * **The model of Edge OP**: the calls of a warm request (the endpoints' own tests enforce them), CPU as measured by the benchmark,
 * and objects no faster than the documented soft limit.
 */
export type RevocationMode = "direct" | "strict";
export type Kind = "introspect" | "exchange" | "userinfo" | "refresh";

export interface Deployment {
  readonly mode: RevocationMode;
  readonly leaseMs: number;
  readonly revocationShards: number;
  readonly refreshShards: number;
  /** Requests a second that keep one isolate alive; how many isolates Cloudflare runs cannot be known, only varied. */
  readonly requestsPerIsolate: number;
}

export const defaultDeployment: Deployment = {
  mode: "strict",
  leaseMs: 1000,
  revocationShards: 8,
  refreshShards: 16,
  requestsPerIsolate: 300,
};

/** CPU of a warm request through the front door, as `npm run bench` measured it in `strict` (reports/2026-11-21-bench). */
export const cpuMs: Readonly<Record<Kind, number>> = { introspect: 0.16, exchange: 0.2, userinfo: 0.11, refresh: 0.45 };

/** Worker to object and back, inside one region. */
const objectRoundTripMs = 10;
/** A reply held until the write is durable. */
const commitMs = 10;
/** A stored row on top of a call (measured: batched rotations cost 91 µs each). */
const rowMs = 0.1;
/** A row looked up on top of a call. */
const lookUpMs = 0.02;
/** Fewest isolates: a busy region never runs on one. */
const fewestIsolates = 4;

function isolatesFor(rate: number, deployment: Deployment): number {
  return Math.max(fewestIsolates, Math.ceil(rate / deployment.requestsPerIsolate));
}

function objects(count: number, itemMs: number, waitMs: number): Store {
  return {
    objects: count,
    callMs: 1000 / platform.objectCallsPerSecond - itemMs,
    itemMs,
    waitMs,
    longestQueueMs: 5000,
  };
}

function workloadOf(kind: Kind, rate: number, deployment: Deployment): Workload {
  const cpu: Step = { kind: "cpu", ms: cpuMs[kind] };
  const base = { name: `${kind}, ${deployment.mode}`, isolates: isolatesFor(rate, deployment), keys: 100_000 };
  if (kind === "refresh") {
    const rotator = objects(deployment.refreshShards, rowMs, objectRoundTripMs + commitMs);
    return { ...base, stores: { rotator }, steps: [cpu, { kind: "batched", store: "rotator" }] };
  }
  const check: Step =
    deployment.mode === "strict"
      ? { kind: "leased", store: "revocation", leaseMs: deployment.leaseMs }
      : { kind: "batched", store: "revocation" };
  const revocation = objects(deployment.revocationShards, lookUpMs, objectRoundTripMs);
  return { ...base, stores: { revocation }, steps: [cpu, check] };
}

export interface Prediction {
  readonly isolates: number;
  readonly objectCallsPerSecond: number;
  readonly objectCallsPerRequest: number;
  /** Share of the time that the busiest object works. */
  readonly busiestObject: number;
  /** Inside Cloudflare: the client's network is not in it. */
  readonly p50: number;
  readonly p99: number;
  readonly holds: boolean;
}

const settleMs = 3000;
const countedSeconds = 4;

export function predict(kind: Kind, rate: number, deployment: Deployment, seed = 1): Prediction {
  const workload = workloadOf(kind, rate, deployment);
  const outcome = simulate(workload, {
    startRate: rate,
    stages: [{ seconds: settleMs / 1000 + countedSeconds, toRate: rate }],
    maxVus: Number.POSITIVE_INFINITY,
    arrivals: "poisson",
    seed,
    countedFromMs: settleMs,
  });
  return read(outcome, workload.isolates);
}

/** Half a second at p99 inside Cloudflare is too slow for the rate to count as sustained. */
const holdsP99Ms = 500;

function read(outcome: Outcome, isolates: number): Prediction {
  const stores = Object.values(outcome.stores);
  const calls = stores.reduce((sum, store) => sum + store.calls, 0);
  return {
    isolates,
    objectCallsPerSecond: Math.round(calls / countedSeconds),
    objectCallsPerRequest: calls / Math.max(1, outcome.asked),
    busiestObject: Math.max(...stores.map((store) => store.busiest)),
    p50: outcome.p50,
    p99: outcome.p99,
    holds: outcome.refused === 0 && outcome.p99 < holdsP99Ms,
  };
}
