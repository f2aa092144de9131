/**
 * **The model of Edge OP's writes and of reads in `direct`**: the calls of a warm request (the endpoints' own tests enforce them), CPU as measured by
 * the benchmark, and objects no faster than the documented soft limit. `leases.ts` is the model of reads in `strict`.
 */

import { platform } from "./platform.ts";
import { type Outcome, simulate } from "./simulate.ts";
import type { Store, Workload } from "./system.ts";

type Kind = "introspect" | "refresh";

/** Requests per second that keep one isolate alive; Cloudflare's number of isolates cannot be known, only varied. */
const requestsPerIsolate = 300;

/** CPU of a warm request through the front door, measured by `npm run bench` on a faster machine than that of reports/bench. */
export const cpuMs = { introspect: 0.16, exchange: 0.2, userinfo: 0.11, refresh: 0.45 } as const;

/** Round trip between Worker and object within one region. */
const objectRoundTripMs = 10;
/** A response is held until the write is durable. */
const commitMs = 10;
/** The work for a stored row in addition to a call (measured: batched rotations cost 91 µs each). */
const rowMs = 0.1;
/** The work for a row look-up in addition to a call. */
const lookUpMs = 0.02;
/** The minimum number of isolates: a busy region never runs on one. */
const fewestIsolates = 4;

function objects(count: number, itemMs: number, waitMs: number): Store {
  return {
    objects: count,
    callMs: 1000 / platform.objectCallsPerSecond - itemMs,
    itemMs,
    waitMs,
    longestQueueMs: 5000,
  };
}

function workloadOf(kind: Kind, rate: number, shards: number): Workload {
  const isolates = Math.max(fewestIsolates, Math.ceil(rate / requestsPerIsolate));
  const store =
    kind === "refresh"
      ? objects(shards, rowMs, objectRoundTripMs + commitMs)
      : objects(shards, lookUpMs, objectRoundTripMs);
  return {
    isolates,
    keys: 100_000,
    stores: { store },
    steps: [
      { kind: "cpu", ms: cpuMs[kind] },
      { kind: "batched", store: "store" },
    ],
  };
}

export interface Prediction {
  readonly isolates: number;
  readonly objectCallsPerSecond: number;
  readonly objectCallsPerRequest: number;
  /** Share of time for which the busiest object works. */
  readonly busiestObject: number;
  /** Measured inside Cloudflare, without the client's network. */
  readonly p50: number;
  readonly p99: number;
  readonly holds: boolean;
}

const settleMs = 3000;
const countedSeconds = 4;

/** For `introspect` in `direct`, by revocation shards; for `refresh`, by refresh shards. */
export function predict(kind: Kind, rate: number, shards: number): Prediction {
  const workload = workloadOf(kind, rate, shards);
  const outcome = simulate(workload, {
    startRate: rate,
    stages: [{ seconds: settleMs / 1000 + countedSeconds, toRate: rate }],
    maxVus: Number.POSITIVE_INFINITY,
    arrivals: "poisson",
    seed: 1,
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
