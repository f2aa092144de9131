import { expect, it } from "vitest";
import { LeaseHolders, nextWaitMs, type PendingChange } from "../src/leases/lease-holders.ts";

it("a holder that confirms a change keeps its longer lease, and a later change waits for that", () => {
  const holders = new LeaseHolders();
  holders.give("isolate", 1, 2_000);
  holders.give("isolate", 2, 1_500);
  holders.confirm("isolate", 2);
  expect(holders.await(3, 1_000)).toMatchObject({ lacking: new Map([["isolate", 2_000]]) });
});

/** The wait in virtual time. Returns when it ended, and the number of looks. */
function waitFor(pending: PendingChange, startedAtMs: number, confirm: (atMs: number) => void = () => {}) {
  let atMs = startedAtMs;
  for (let looks = 1; ; looks += 1) {
    const waitMs = nextWaitMs(pending, atMs);
    if (waitMs === 0) return { atMs, looks };
    for (let passed = 0; passed < waitMs && pending.lacking.size > 0; passed += 1) {
      atMs += 1;
      confirm(atMs);
    }
    if (pending.lacking.size === 0) return { atMs, looks };
  }
}

it.each([
  ["its own lease ends, when the others have confirmed before", 1_005, 1_200],
  ["the others have confirmed, when its lease has ended before", 1_300, 1_300],
])("a lost holder is awaited until %s", (_, confirmedMs, overMs) => {
  const holders = new LeaseHolders();
  holders.give("a", 1, 2_000);
  holders.give("lost", 1, 1_200);
  holders.give("b", 1, 1_900);
  const pending = holders.await(2, 1_000);
  const { atMs } = waitFor(pending, 1_000, (now) => {
    if (now === 1_004) holders.confirm("a", 2);
    if (now === confirmedMs) holders.confirm("b", 2);
  });
  expect(atMs).toBe(overMs);
  expect(pending).toEqual({ seq: 2, lacking: new Map(), ended: new Set(["lost"]) });
});

it("holders that do not confirm are awaited until the last of their leases has ended, and no longer", () => {
  const holders = new LeaseHolders();
  for (let index = 0; index < 1_000; index += 1) holders.give(`${index}`, 1, 1_000 + index);
  const { atMs, looks } = waitFor(holders.await(2, 1_000), 1_000);
  expect(atMs).toBe(1_999);
  // A look is a pass over the holders.
  expect(looks).toBeLessThanOrEqual(20);
});

it("a released holder is not awaited; one that confirms less than the change is", () => {
  const holders = new LeaseHolders();
  holders.give("released", 1, 3_000);
  holders.give("behind", 1, 1_500);
  const pending = holders.await(5, 1_000);
  holders.release("released");
  holders.give("behind", 4, 1_800);
  holders.confirm("behind", 4);
  expect(pending.lacking).toEqual(new Map([["behind", 1_500]]));
  expect(nextWaitMs(pending, 1_000)).toBe(500);
  expect(nextWaitMs(pending, 1_499)).toBe(1);
  expect(nextWaitMs(pending, 1_500)).toBe(0);
});
