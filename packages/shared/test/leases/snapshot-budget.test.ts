import { SnapshotBudget } from "@edge-op/shared/leases/snapshot-budget";
import { expect, it } from "vitest";

it("a thousand snapshots at once are spread by their bytes; none waits for ever", () => {
  const budget = new SnapshotBudget(1_000);
  let nowMs = 5_000;
  let sent = 0;
  const sentPerSecond: number[] = [];
  for (let second = 0; second < 12; second += 1) {
    const before = sent;
    for (let tries = 0; tries < 50; tries += 1) if (budget.take(100, nowMs) === 0) sent += 1;
    sentPerSecond.push(sent - before);
    nowMs += 1_000;
  }
  // A second's worth ahead, then ten a second.
  expect(sentPerSecond[0]).toBeGreaterThanOrEqual(10);
  expect(sentPerSecond[0]).toBeLessThanOrEqual(21);
  expect(new Set(sentPerSecond.slice(1))).toEqual(new Set([10]));
});

it("a snapshot that is larger than a second's worth is sent, and the next one waits for it", () => {
  const budget = new SnapshotBudget(1_000);
  expect(budget.take(5_000, 0)).toBe(0);
  expect(budget.take(5_000, 0)).toBe(4_000);
  expect(budget.take(5_000, 3_999)).toBe(1);
  expect(budget.take(5_000, 4_000)).toBe(0);
});

it("a clock that is set back does not stop snapshots", () => {
  const budget = new SnapshotBudget(1_000);
  budget.take(1_000, 1_000_000);
  expect(budget.take(1_000, 0)).toBeLessThanOrEqual(2_000);
  expect(budget.take(1_000, 2_000)).toBe(0);
});
