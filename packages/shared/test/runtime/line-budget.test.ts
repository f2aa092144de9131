import { LineBudget } from "@edge-op/shared/runtime/line-budget";
import { describe, expect, it } from "vitest";

function taken(budget: LineBudget, times: readonly number[]): number[] {
  return times.filter((atMs) => budget.take(atMs));
}

describe("the lines of a busy isolate are bounded", () => {
  it("all lines of a quiet isolate are written", () => {
    const times = Array.from({ length: 100 }, (_, index) => 1_000_000 + index * 100);
    expect(taken(new LineBudget({ perSecond: 10, burst: 1 }), times)).toEqual(times);
  });

  it("when there are many, a fixed number per second is written, spread evenly", () => {
    const times = Array.from({ length: 10_000 }, (_, index) => 1_000_000 + index);
    const written = taken(new LineBudget({ perSecond: 10, burst: 20 }), times);
    expect(written.slice(0, 20)).toEqual(times.slice(0, 20));
    expect(written.length).toBeLessThanOrEqual(20 + 100);
    expect(written.length).toBeGreaterThanOrEqual(20 + 98);
    expect(written.slice(20).every((atMs, index, all) => index === 0 || atMs - all[index - 1]! >= 99)).toBe(true);
  });

  it("a pause restores the burst and no more; a clock that is set back restores nothing", () => {
    const budget = new LineBudget({ perSecond: 10, burst: 20 });
    const at = (ms: number) =>
      taken(
        budget,
        Array.from({ length: 50 }, () => ms),
      ).length;
    expect(at(1_000_000)).toBe(20);
    expect(at(2_000_000)).toBe(20);
    expect(at(1_000_000)).toBe(0);
  });
});
