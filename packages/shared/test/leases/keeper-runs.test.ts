import { expect, it } from "vitest";
import { type RenewalRun, RenewalRuns } from "../../src/leases/renewal-runs.ts";

const leaseMs = 1_000;

/** A run that has begun at 0 and renews. */
function begun(): { readonly runs: RenewalRuns; readonly first: RenewalRun } {
  const runs = new RenewalRuns();
  expect(runs.noteUse(0)).toBe(false);
  const first = runs.start(0, leaseMs);
  expect(first.waitMs).toBe(0);
  expect(runs.next(first.number, 1, leaseMs)).toBe("renew");
  return { runs, first };
}

/** One renewal after the other, each held for 600 ms, while a request arrives every 50 ms. Returns when the last one was sent. */
function renewUntil(runs: RenewalRuns, { number }: RenewalRun, endMs: number): number {
  let sentAtMs = 1;
  for (let atMs = 50; atMs < endMs; atMs += 50) {
    expect(runs.noteUse(atMs)).toBe(true);
    if (atMs < sentAtMs + 600) continue;
    expect(runs.next(number, atMs, leaseMs)).toBe("renew");
    sentAtMs = atMs;
  }
  return sentAtMs;
}

it("a request takes over the renewals after five seconds, once the outstanding one has returned", () => {
  const { runs, first } = begun();
  const sentAtMs = renewUntil(runs, first, 5_000);
  expect(runs.noteUse(5_000)).toBe(false);
  const second = runs.start(5_000, leaseMs);
  expect(second.waitMs).toBe(sentAtMs + 700 - 5_000);
  expect(runs.noteUse(5_050)).toBe(true);
  // The renewal returns: the first run ends, and the second one begins.
  expect(runs.isAwaited(first.number)).toBe(true);
  expect(runs.next(first.number, 5_100, leaseMs)).toBe("end");
  expect(runs.next(second.number, 5_100, leaseMs)).toBe("renew");
  expect(runs.isAwaited(first.number)).toBe(false);
});

it("a renewal that does not return is awaited no longer than its lease lasts", () => {
  const { runs, first } = begun();
  for (let atMs = 50; atMs <= 1_000; atMs += 50) runs.noteUse(atMs);
  expect(runs.noteUse(1_001)).toBe(false);
  const second = runs.start(1_001, leaseMs);
  expect(second.waitMs).toBe(0);
  expect(runs.next(second.number, 1_001, leaseMs)).toBe("renew");
  expect(runs.next(first.number, 1_500, leaseMs)).toBe("end");
  runs.fail(first.number, 1_500);
  expect(runs.noteUse(1_500)).toBe(true);
});

it("a failure ends the run and the one that waits for it; a request starts another one 100 ms later", () => {
  const { runs, first } = begun();
  renewUntil(runs, first, 5_000);
  const second = runs.start(5_000, leaseMs);
  runs.fail(first.number, 5_010);
  expect(runs.next(second.number, 5_020, leaseMs)).toBe("end");
  expect(runs.noteUse(5_109)).toBe(true);
  expect(runs.noteUse(5_110)).toBe(false);
  expect(runs.start(5_110, leaseMs).waitMs).toBe(0);
});

it("a lease that was not used for its length is released, and its run ends", () => {
  const { runs, first } = begun();
  runs.noteUse(300);
  expect(runs.next(first.number, 1_300, leaseMs)).toBe("renew");
  expect(runs.next(first.number, 1_301, leaseMs)).toBe("release");
  expect(runs.next(first.number, 1_302, leaseMs)).toBe("end");
  expect(runs.noteUse(1_302)).toBe(false);
});

it("stopping a run ends it and the one that waits for it; setting a clock back does not prolong a wait", () => {
  const { runs, first } = begun();
  renewUntil(runs, first, 5_000);
  const second = runs.start(-60_000, leaseMs);
  expect(second.waitMs).toBe(700);
  runs.stop();
  expect(runs.isAwaited(first.number)).toBe(false);
  expect(runs.next(second.number, 5_100, leaseMs)).toBe("end");
  expect(runs.start(5_100, leaseMs).waitMs).toBe(0);
});
