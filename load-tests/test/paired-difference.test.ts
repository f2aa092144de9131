import { expect, test } from "vitest";
import { isEqual, pairedDifference } from "../measure/paired-difference.ts";
import { Random } from "../model/random.ts";

/** Differences of 3 ms in either direction, around `shiftMs`. */
function differences(count: number, shiftMs: number): number[] {
  const random = new Random(7);
  return Array.from({ length: count }, () => shiftMs + (random.next() - 0.5) * 6);
}

test.each([
  ["equal", 0, 1000, true],
  ["half a millisecond", 0.5, 1000, true],
  ["two milliseconds", 2, 1000, false],
  ["two milliseconds faster", -2, 1000, false],
  ["equal, but from too few pairs to know", 0, 5, false],
])("%s: the whole interval decides", (_, shiftMs, count, expected) => {
  expect(isEqual(pairedDifference(differences(count, shiftMs), new Random(1)), 1)).toBe(expected);
});

test("the median of the differences is in its interval; a few slow requests do not move it", () => {
  const slow = Array.from({ length: 100 }, () => 500);
  const { medianMs, lowMs, highMs, pairs } = pairedDifference([...differences(2000, 0.2), ...slow], new Random(1));
  expect(pairs).toBe(2100);
  expect(medianMs).toBeGreaterThan(lowMs);
  expect(medianMs).toBeLessThan(highMs);
  expect([lowMs > 0, highMs < 0.7]).toEqual([true, true]);
});
