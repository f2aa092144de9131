import { expect, it } from "vitest";
import { SnapshotBudget } from "../src/leases/snapshot-budget.ts";

const unlimited = Number.POSITIVE_INFINITY;
const byRate = { bytesPerSecond: 1_000, bytesInFlight: unlimited, freeBytes: 0 };
const inFlight = { bytesPerSecond: unlimited, bytesInFlight: 1_000, freeBytes: 0 };

it("a thousand snapshots at once are spread by their bytes; none waits forever", () => {
  const budget = new SnapshotBudget(byRate);
  let nowMs = 5_000;
  let sent = 0;
  const sentPerSecond: number[] = [];
  for (let second = 0; second < 12; second += 1) {
    const before = sent;
    for (let tries = 0; tries < 50; tries += 1) if (budget.take(`${second} ${tries}`, 100, 1, nowMs) === 0) sent += 1;
    sentPerSecond.push(sent - before);
    nowMs += 1_000;
  }
  // A second's worth ahead, then ten a second.
  expect(sentPerSecond[0]).toBeGreaterThanOrEqual(10);
  expect(sentPerSecond[0]).toBeLessThanOrEqual(21);
  expect(new Set(sentPerSecond.slice(1))).toEqual(new Set([10]));
});

it("refused holders are given consecutive turns within ten seconds", () => {
  const budget = new SnapshotBudget(byRate);
  budget.take("first", 2_000, 1, 0);
  const turns = Array.from({ length: 200 }, (_, holder) => budget.take(`${holder}`, 100, 1, 0));
  expect(turns[0]).toBe(1_000);
  expect(turns.slice(1, 50)).toEqual(Array.from({ length: 49 }, (_, holder) => 1_100 + 100 * holder));
  expect(Math.max(...turns)).toBe(10_000);
});

it("a snapshot that is larger than a second's worth is sent, and the next one waits for it", () => {
  const budget = new SnapshotBudget(byRate);
  expect(budget.take("a", 5_000, 1, 0)).toBe(0);
  expect(budget.take("b", 5_000, 1, 0)).toBe(4_000);
  expect(budget.allows("b", 5_000, 3_999)).toBe(false);
  expect(budget.take("b", 5_000, 1, 4_000)).toBe(0);
});

it("snapshots in flight are bounded by their bytes, until holders have installed them, release them, or are lost", () => {
  const budget = new SnapshotBudget(inFlight);
  expect(budget.take("a", 400, 7, 0)).toBe(0);
  expect(budget.take("b", 400, 7, 0)).toBe(0);
  expect(budget.take("c", 400, 7, 0)).toBeGreaterThan(0);
  expect(budget.inFlightBytes).toBe(800);
  budget.installed("a", 6);
  expect(budget.allows("c", 400, 10)).toBe(false);
  budget.installed("a", 7);
  expect(budget.take("c", 400, 7, 10)).toBe(0);
  budget.released("b");
  expect(budget.take("d", 400, 7, 20)).toBe(0);
  // It is not sent twice to one holder; a lost snapshot counts for two seconds.
  expect(budget.take("c", 400, 7, 1_000)).toBeGreaterThan(0);
  expect(budget.take("e", 400, 7, 2_020)).toBe(0);
  expect(budget.inFlight).toBe(1);
});

it("a snapshot larger than the bound is sent alone", () => {
  const budget = new SnapshotBudget(inFlight);
  expect(budget.take("a", 5_000, 1, 0)).toBe(0);
  expect(budget.take("b", 5_000, 1, 1)).toBeGreaterThan(0);
});

it("small responses are not paced", () => {
  const budget = new SnapshotBudget({ ...byRate, freeBytes: 100 });
  budget.take("large", 9_000, 1, 0);
  for (let holder = 0; holder < 100; holder += 1) expect(budget.take(`${holder}`, 100, 1, 0)).toBe(0);
  expect(budget.inFlight).toBe(1);
});

it("setting a clock back does not stop snapshots", () => {
  const budget = new SnapshotBudget(byRate);
  budget.take("a", 1_000, 1, 1_000_000);
  expect(budget.take("b", 1_000, 1, 0)).toBeLessThanOrEqual(2_000);
  expect(budget.take("b", 1_000, 1, 2_000)).toBe(0);
  const bounded = new SnapshotBudget({ ...inFlight, bytesPerSecond: 1_000_000 });
  bounded.take("a", 1_000, 1, 1_000_000);
  expect(bounded.take("b", 1_000, 1, 0)).toBeLessThanOrEqual(1_001);
  expect(bounded.take("b", 1_000, 1, 1_001)).toBe(0);
});

it("relays come before isolates: they wait only for each other", () => {
  const budget = new SnapshotBudget({ bytesPerSecond: 1_000, bytesInFlight: 4_000, freeBytes: 0 });
  // A thousand cold isolates.
  for (let isolate = 0; isolate < 1_000; isolate += 1) budget.take(`isolate ${isolate}`, 500, 1, 0);
  expect(budget.take("one more", 500, 1, 0)).toBe(10_000);
  expect(budget.take("relay", 500, 1, 0, true)).toBe(0);
  expect(budget.take("relay", 500, 1, 0, true)).toBeGreaterThan(0);
  expect(budget.take("another relay", 500, 1, 0, true)).toBe(0);
  // A quarter of the bytes in flight, in addition to those of isolates; then in turn.
  expect(budget.take("third relay", 500, 1, 0, true)).toBeGreaterThan(0);
  expect(budget.take("third relay", 500, 1, 0, true)).toBeLessThanOrEqual(2_000);
  expect(budget.inFlightBytes).toBeLessThanOrEqual(4_000 * 1.25);
  budget.installed("relay", 1);
  expect(budget.take("third relay", 500, 1, 600, true)).toBe(0);
});

it("isolates pay for snapshots sent to relays: all of them together stay within the rate", () => {
  const budget = new SnapshotBudget(byRate);
  budget.take("isolate", 500, 1, 0);
  for (const relay of ["a", "b"]) expect(budget.take(relay, 1_000, 1, 0, true)).toBe(0);
  expect(budget.allows("other", 500, 1_400)).toBe(false);
  expect(budget.take("other", 500, 1, 1_500)).toBe(0);
});

it("a snapshot of any size is sent to a relay while none is in flight to another", () => {
  const budget = new SnapshotBudget(inFlight);
  budget.take("isolate", 1_000, 1, 0);
  expect(budget.take("relay", 5_000, 1, 0, true)).toBe(0);
  expect(budget.take("other", 100, 1, 0, true)).toBeGreaterThan(0);
  budget.released("relay");
  expect(budget.take("other", 100, 1, 1, true)).toBe(0);
});
