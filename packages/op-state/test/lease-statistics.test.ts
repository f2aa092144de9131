import { expect, it } from "vitest";
import { LeaseStatistics } from "../src/leases/lease-statistics.ts";

const nobody: ReadonlySet<string> = new Set();

it("counts waits by what ended them, and remembers the longest", () => {
  const statistics = new LeaseStatistics(1_000, 500);
  const wait = (leasesMs: number, fenceMs: number, lacking: ReadonlySet<string>, waitedMs: number) => {
    statistics.start();
    statistics.end({ startedAtMs: 0, leasesMs, fenceMs, lacking }, waitedMs);
  };
  wait(1_000, 0, nobody, 20);
  wait(1_000, 0, nobody, 30);
  wait(1_000, 0, new Set(["frozen"]), 1_000);
  wait(0, 2_000, nobody, 2_000);
  wait(1_000, 1_500, nobody, 1_500);
  statistics.start();
  statistics.count("leasesGranted");
  statistics.count("renewalsHeld");
  statistics.count("renewalsHeld");
  statistics.count("releases");
  expect(statistics.read({ holders: 3, confirmations: 7 })).toEqual({
    sinceMs: 1_000,
    holders: 3,
    waiting: 1,
    leasesGranted: 1,
    renewalsHeld: 2,
    confirmations: 7,
    releases: 1,
    waits: { count: 5, longestMs: 2_000, endedByConfirmation: 3, endedByLeaseEnd: 1, bootFences: 2 },
  });
});

it("a slow wait is logged with ten of its holders, at most once a second; the next line counts those without one", () => {
  const statistics = new LeaseStatistics(0, 500);
  const frozen = new Set(Array.from({ length: 12 }, (_, index) => `h${index}`));
  const end = (waitedMs: number, atMs: number) =>
    statistics.end({ startedAtMs: atMs - waitedMs, leasesMs: 1_000, fenceMs: 0, lacking: frozen }, atMs);
  expect(end(499, 10_000)).toBeUndefined();
  expect(end(500, 10_000)).toEqual({
    waitedMs: 500,
    fenceMs: 0,
    lacking: ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"],
    lackingInAll: 12,
    unlogged: 0,
  });
  expect(end(900, 10_400)).toBeUndefined();
  expect(end(900, 10_999)).toBeUndefined();
  expect(end(900, 11_000)).toMatchObject({ waitedMs: 900, unlogged: 2 });
  // A clock that was set back suppresses nothing.
  expect(end(900, 5_000)).toMatchObject({ unlogged: 0 });
});
