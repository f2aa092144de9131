import { expect, it } from "vitest";
import { LeaseLength } from "../src/leases/recent-changes.ts";

function lengthFor(holders: number, requestedMs = 1_000): number {
  const length = new LeaseLength(10_000, 0.5);
  length.adapt(holders);
  return length.givenMs(requestedMs);
}

it("leases are as long as requested while their renewals stay below 400 a second", () => {
  for (const holders of [0, 1, 180]) expect(lengthFor(holders)).toBe(1_000);
  expect(lengthFor(0, 250)).toBe(250);
  expect(lengthFor(5_000, 0)).toBe(0);
  expect(lengthFor(10, Number.NaN)).toBe(0);
});

it("more holders get longer leases, so that they cause at most 400 renewals a second, up to the longest lease", () => {
  for (const holders of [300, 625, 1_800]) {
    const renewals = (2_000 * holders) / lengthFor(holders);
    expect(renewals).toBeLessThanOrEqual(400);
    expect(renewals).toBeGreaterThan(350);
  }
  expect(lengthFor(5_000)).toBe(10_000);
  expect(lengthFor(10, 20_000)).toBe(10_000);
});

it("renewals that are held longer require shorter leases", () => {
  const length = new LeaseLength(10_000, 0.6);
  length.adapt(600);
  expect(length.givenMs(1_000)).toBe(2_750);
});

it("the length does not follow every single holder", () => {
  const length = new LeaseLength(10_000, 0.5);
  const seen = new Set<number>();
  for (let round = 0; round < 100; round += 1) {
    length.adapt(400 + (round % 30));
    seen.add(length.givenMs(1_000));
  }
  expect(seen.size).toBeLessThanOrEqual(2);
  length.adapt(100);
  expect(length.givenMs(1_000)).toBe(1_000);
});
