import TinyQueue from "tinyqueue";
import { afterEach, expect, it, vi } from "vitest";
import { HeldCallQueue } from "../src/leases/held-calls.ts";
import { LeaseHolders } from "../src/leases/lease-holders.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** The number of holders visited while `work` runs: entries of maps that are listed, and entries that are taken from or filtered in a queue. */
function visitedDuring(work: () => void): number {
  let visited = 0;
  const listed = (list: (this: Map<unknown, unknown>) => MapIterator<unknown>) =>
    function (this: Map<unknown, unknown>) {
      visited += this.size;
      return list.call(this);
    };
  const { values, entries } = Map.prototype;
  vi.spyOn(Map.prototype, "values").mockImplementation(listed(values));
  vi.spyOn(Map.prototype, "entries").mockImplementation(listed(entries) as typeof entries);
  vi.spyOn(Map.prototype, Symbol.iterator).mockImplementation(listed(entries) as typeof entries);
  const { pop } = TinyQueue.prototype;
  vi.spyOn(TinyQueue.prototype, "pop").mockImplementation(function (this: TinyQueue<unknown>) {
    visited += 1;
    return pop.call(this);
  });
  const { filter } = Array.prototype;
  vi.spyOn(Array.prototype, "filter").mockImplementation(function (this: unknown[], keep) {
    visited += this.length;
    return filter.call(this, keep);
  });
  try {
    work();
  } finally {
    vi.restoreAllMocks();
  }
  return visited;
}

const calls = 2_000;

it.each([10, 1_000, 20_000])("a renewal among %i held ones looks at a few of them at most", (holders) => {
  const renewals = new HeldCallQueue<number>();
  for (let index = 0; index < holders; index += 1) renewals.hold(`${index}`, index, 1_000 + index);
  const due: unknown[] = [];
  const visited = visitedDuring(() => {
    for (let call = 0; call < calls; call += 1) {
      const nowMs = 1_000 + call;
      due.push([renewals.nextMs(), renewals.take(nowMs)]);
      // Another holder calls again before it is due.
      renewals.hold(`${(call + 7) % holders}`, (call + 7) % holders, nowMs + holders + 7);
      renewals.hold(`${call % holders}`, call % holders, nowMs + holders);
    }
  });
  expect(due).toHaveLength(calls);
  expect(visited / calls).toBeLessThan(5);
});

it.each([10, 1_000, 20_000])(
  "the end of the last of %i leases is known without a look at each, whatever is granted and released",
  (count) => {
    const holders = new LeaseHolders();
    for (let index = 0; index < count; index += 1) holders.give(`${index}`, 1, 1_000 + index);
    const ends: number[] = [];
    const visited = visitedDuring(() => {
      for (let call = 0; call < calls; call += 1) {
        const holder = `${call % count}`;
        if (call % 5 === 0) holders.release(holder);
        holders.give(holder, 1, 1_000 + count + call);
        ends.push(holders.lastEndMs);
        holders.confirm(holder, 1);
      }
    });
    expect(ends).toEqual(Array.from({ length: calls }, (_, call) => 1_000 + count + call));
    expect(visited / calls).toBeLessThan(5);
  },
);

it("the last end is that of the remaining leases", () => {
  const holders = new LeaseHolders();
  holders.give("a", 1, 3_000);
  holders.give("b", 1, 2_000);
  holders.give("a", 2, 2_500);
  expect([holders.lastEndMs, holders.leaseEndMs("a"), holders.leaseEndMs("b")]).toEqual([3_000, 3_000, 2_000]);
  holders.release("a");
  expect(holders.lastEndMs).toBe(2_000);
  holders.prune(2_000);
  expect([holders.lastEndMs, holders.size]).toEqual([Number.NEGATIVE_INFINITY, 0]);
});
