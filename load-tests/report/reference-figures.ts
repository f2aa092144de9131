/**
 * **The published figures of the reference system** (December 2025, one region, k6 from Portland against production). Its percentiles are *Worker
 * duration*, measured by the platform inside the Worker, not a client's latency. Milliseconds; absent means not published. `variant` is the shard
 * count or cache.
 */

import type { ScenarioName } from "../lib/presets.ts";

export interface ReferenceFigure {
  readonly scenario: ScenarioName;
  readonly variant: string;
  readonly rate: number;
  readonly requests?: number;
  readonly p50?: number;
  readonly p95?: number;
  readonly p99?: number;
  readonly objectP99?: number;
  readonly objectErrors: number;
}

export const referenceFigures: readonly ReferenceFigure[] = [
  {
    scenario: "exchange",
    variant: "8 shards",
    rate: 2000,
    requests: 292_343,
    p50: 112,
    p95: 500,
    p99: 589,
    objectP99: 1020,
    objectErrors: 0,
  },
  {
    scenario: "exchange",
    variant: "8 shards",
    rate: 2500,
    requests: 365_624,
    p50: 76,
    p95: 225,
    p99: 297,
    objectP99: 271,
    objectErrors: 0,
  },
  {
    scenario: "exchange",
    variant: "8 shards",
    rate: 3000,
    requests: 390_444,
    p50: 1657,
    p95: 2144,
    p99: 2269,
    objectP99: 2222,
    objectErrors: 8,
  },
  {
    scenario: "introspect",
    variant: "16 shards",
    rate: 300,
    requests: 43_874,
    p50: 229,
    p95: 324,
    p99: 329,
    objectP99: 417,
    objectErrors: 0,
  },
  {
    scenario: "introspect",
    variant: "16 shards",
    rate: 500,
    requests: 72_302,
    p50: 216,
    p95: 1110,
    p99: 1253,
    objectP99: 325,
    objectErrors: 0,
  },
  {
    scenario: "introspect",
    variant: "32 shards, cache",
    rate: 500,
    requests: 71_941,
    p50: 518,
    p95: 1245,
    p99: 1350,
    objectP99: 688,
    objectErrors: 0,
  },
  {
    scenario: "introspect",
    variant: "32 shards",
    rate: 750,
    requests: 87_771,
    p50: 227,
    p95: 2605,
    p99: 2687,
    objectP99: 1771,
    objectErrors: 0,
  },
  { scenario: "refresh", variant: "16 shards", rate: 200, requests: 29_186, p99: 816, objectP99: 18, objectErrors: 0 },
  {
    scenario: "refresh",
    variant: "32 shards",
    rate: 3000,
    p50: 12,
    p95: 100,
    p99: 781,
    objectP99: 781,
    objectErrors: 11_972,
  },
  { scenario: "refresh", variant: "48 shards", rate: 3000, p50: 12, p95: 39, p99: 43, objectP99: 43, objectErrors: 0 },
  {
    scenario: "userinfo",
    variant: "",
    rate: 1000,
    requests: 146_231,
    p50: 114,
    p95: 139,
    p99: 200,
    objectP99: 8,
    objectErrors: 0,
  },
  {
    scenario: "userinfo",
    variant: "",
    rate: 2000,
    requests: 293_947,
    p50: 118,
    p95: 254,
    p99: 350,
    objectP99: 7,
    objectErrors: 0,
  },
  {
    scenario: "userinfo",
    variant: "",
    rate: 2500,
    requests: 365_648,
    p50: 127,
    p95: 325,
    p99: 585,
    objectP99: 5,
    objectErrors: 0,
  },
  {
    scenario: "userinfo",
    variant: "",
    rate: 3000,
    requests: 436_456,
    p50: 150,
    p95: 1032,
    p99: 1736,
    objectP99: 6,
    objectErrors: 0,
  },
  {
    scenario: "silent",
    variant: "64 shards",
    rate: 3000,
    requests: 445_378,
    p50: 1243,
    p95: 1583,
    p99: 1642,
    objectErrors: 0,
  },
];

/** Storage calls of one request of the reference, and its Worker CPU if published. */
export const referenceCosts: Readonly<
  Partial<Record<ScenarioName, { readonly object: number; readonly d1?: number; readonly cpuP50Ms?: number }>>
> = {
  exchange: { object: 2.1, cpuP50Ms: 2.3 },
  introspect: { object: 1.8 },
  refresh: { object: 3.1, d1: 1.17, cpuP50Ms: 4.8 },
  userinfo: { object: 1.0, cpuP50Ms: 1.1 },
};
