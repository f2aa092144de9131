import { expect, test } from "vitest";
import { loadOf } from "../lib/presets.ts";
import { monthlyCost } from "../model/cost.ts";
import { defaultDeployment, predict } from "../model/provider.ts";
import { simulateReference } from "../model/reference-system.ts";
import { simulate } from "../model/simulate.ts";
import { sizeFor } from "../model/sizing.ts";

const oneObject = { objects: 1, callMs: 2, itemMs: 0, waitMs: 0, longestQueueMs: 60_000 };

function holdAt(rate: number, maxVus = Number.POSITIVE_INFINITY) {
  const stages = [{ seconds: 20, toRate: rate }];
  return { startRate: rate, stages, maxVus, arrivals: "poisson" as const, seed: 7, countedFromMs: 2000 };
}

test("an object below its ceiling queues as queueing theory says (Pollaczek–Khinchine)", () => {
  const workload = {
    name: "one object",
    isolates: 1,
    keys: 1,
    stores: { only: oneObject },
    steps: [{ kind: "call" as const, store: "only", probability: 1 }],
  };
  const rate = 250;
  const outcome = simulate(workload, { ...holdAt(rate), stages: [{ seconds: 200, toRate: rate }] });
  // Half of the 2 ms is fixed, half exponential: E[S²] = 2² + 1² = 5; wait = λ·E[S²] / 2(1 − ρ) = 0.25·5 / (2·0.5) = 1.25 ms.
  expect(outcome.stores.only!.busiest).toBeCloseTo(0.5, 1);
  expect(outcome.p50).toBeGreaterThan(2);
  expect(outcome.p50).toBeLessThan(3.25);
  expect(outcome.dropped).toBe(0);
});

test("an object beyond its ceiling drops what the virtual users cannot hold", () => {
  const workload = {
    name: "one object",
    isolates: 1,
    keys: 1,
    stores: { only: oneObject },
    steps: [{ kind: "call" as const, store: "only", probability: 1 }],
  };
  const outcome = simulate(workload, holdAt(1000, 1500));
  expect(outcome.served / 18).toBeCloseTo(500, -2);
  expect(outcome.dropped).toBeGreaterThan(7000);
  // Little's law: 1,500 in flight at 500/s wait 3 s.
  expect(outcome.p50 / 1000).toBeCloseTo(3, 0);
});

test("exchange of the reference holds 2,500/s and saturates at 3,000/s, with 16 shards as with 8", () => {
  expect(simulateReference("exchange", 8, 2500).saturated).toBe(false);
  expect(simulateReference("exchange", 8, 3000).saturated).toBe(true);
  expect(simulateReference("exchange", 16, 3000).saturated).toBe(true);
});

test("introspection of the reference holds 300/s and saturates at 750/s, with 32 shards", () => {
  expect(simulateReference("introspect", 16, 300).saturated).toBe(false);
  const at750 = simulateReference("introspect", 32, 750);
  expect(at750.saturated).toBe(true);
  // Published: 87,771 requests, p95 2,605 ms. The stated error is 20 %.
  expect(Math.abs(at750.served / 87_771 - 1)).toBeLessThan(0.2);
  expect(Math.abs(at750.p95 / 2605 - 1)).toBeLessThan(0.2);
});

test("refresh of the reference at 3,000/s: 32 shards refuse, 48 do not", () => {
  expect(simulateReference("refresh", 32, 3000).failed).toBeGreaterThan(1000);
  expect(simulateReference("refresh", 48, 3000).failed).toBe(0);
});

test("strict mode: lease renewals follow isolates, not the rate, and more shards do not lighten an object", () => {
  const at3000 = predict("introspect", 3000, { ...defaultDeployment, requestsPerIsolate: 300 });
  const at6000 = predict("introspect", 6000, { ...defaultDeployment, requestsPerIsolate: 600 });
  expect(at6000.isolates).toBe(at3000.isolates);
  expect(at6000.objectCallsPerSecond / at3000.objectCallsPerSecond).toBeLessThan(1.15);
  const busier = predict("introspect", 30_000, { ...defaultDeployment, revocationShards: 32 });
  const fewer = predict("introspect", 30_000, defaultDeployment);
  expect(fewer.busiestObject / busier.busiestObject).toBeLessThan(1.5);
});

test("direct mode: a busy object gets larger batches instead of longer queues", () => {
  const light = predict("introspect", 3000, { ...defaultDeployment, mode: "direct" });
  const heavy = predict("introspect", 30_000, { ...defaultDeployment, mode: "direct" });
  expect(light.objectCallsPerRequest).toBeGreaterThan(0.8);
  expect(heavy.objectCallsPerRequest).toBeLessThan(0.5);
  expect(heavy.holds).toBe(true);
});

test("the cost of Cloudflare's own example, 15 million requests of 7 ms, is 8.00 dollars", () => {
  expect(monthlyCost({ workerRequests: 15e6, workerCpuMs: 15e6 * 7 })).toBeCloseTo(8, 2);
});

test("sizing grows with users and never plans an object beyond half of its limit", () => {
  const small = sizeFor(10_000, 10);
  const large = sizeFor(50_000_000, 300);
  expect(small.refreshShards).toBe(8);
  expect(large.peak.refreshes / large.refreshShards).toBeLessThanOrEqual(500);
  expect(large.cost.total).toBeGreaterThan(small.cost.total);
});

test("a preset that does not exist names those that do", () => {
  expect(() => loadOf("introspect", "rps0", "hold")).toThrow("smoke, rps100, rps300");
});
