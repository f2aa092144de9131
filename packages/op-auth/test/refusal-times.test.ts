/** **The time of a refused password tells nothing**, measured on a clock that the test moves. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RefusalTimes } from "../src/runtime/refusal-times.ts";

const deadlineMs = 2_000;
let draw = 0.5;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  vi.spyOn(Math, "random").mockImplementation(() => draw);
  draw = 0.5;
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The time of a sign-in whose verification takes `ms`. */
async function timeOf(times: RefusalTimes, ms: number, askedHook: boolean, isRefused = true): Promise<number> {
  const startedAtMs = Date.now();
  const verify = async () => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { isRefused, askedHook };
  };
  const held = times.hold(verify).then(() => Date.now() - startedAtMs);
  await vi.advanceTimersByTimeAsync(Math.max(ms, deadlineMs) + 1);
  expect(vi.getTimerCount()).toBe(0);
  return held;
}

async function timesWith(...tookMs: readonly number[]): Promise<RefusalTimes> {
  const times = new RefusalTimes();
  for (const ms of tookMs) await timeOf(times, ms, true);
  return times;
}

it("while no refusal of the hook is known, each takes as long as the hook may; then as long as the slowest", async () => {
  const times = new RefusalTimes();
  expect(await timeOf(times, 5, false)).toBe(deadlineMs);
  expect(await timeOf(times, 300, true)).toBe(deadlineMs);
  expect(await timeOf(times, 120, true)).toBe(301);
  expect(await timeOf(times, 5, false)).toBe(301);
  // Nothing between the two, which would tell that a hook was asked, and how long it took.
  expect(await timeOf(times, 302, true)).toBe(deadlineMs);
  expect(await timeOf(times, 5, false)).toBe(303);
});

it("a right password is not held, and does not count: an earlier system may be slower about wrong ones", async () => {
  const times = await timesWith(300);
  expect(await timeOf(times, 40, true, false)).toBe(40);
  expect(await timeOf(times, 900, true, false)).toBe(900);
  expect(await timeOf(times, 5, false)).toBe(301);
});

it("the deadline is as probable for a person about whom the hook is asked as for anybody else, however long it takes", async () => {
  const orders = (rest: readonly number[]): number[][] =>
    rest.length === 0
      ? [[]]
      : rest.flatMap((each) => orders(rest.filter((other) => other !== each)).map((order) => [each, ...order]));
  const late = { marked: 0, others: 0 };
  const all = orders([10, 20, 700, 1_500]);
  for (const [index, [last = 0, ...known]] of all.entries()) {
    const times = await timesWith(...known);
    draw = (index + 0.5) / all.length;
    if ((await timeOf(times, 5, false)) === deadlineMs) late.others += 1;
    if ((await timeOf(times, last, true)) === deadlineMs) late.marked += 1;
  }
  expect(late).toEqual({ marked: all.length / 4, others: all.length / 4 });
});

it("also among refusals of the same millisecond, whose order is drawn", async () => {
  const late = { marked: 0, others: 0 };
  for (const known of [0.1, 0.9]) {
    for (const next of [0.2, 0.8]) {
      const times = new RefusalTimes();
      draw = known;
      await timeOf(times, 7, true);
      draw = next;
      if ((await timeOf(times, 5, false)) === deadlineMs) late.others += 1;
      if ((await timeOf(times, 7, true)) === deadlineMs) late.marked += 1;
    }
  }
  expect(late).toEqual({ marked: 2, others: 2 });
});

it("forgets a slow refusal after 32 others, and a hook that hangs costs no more than the deadline", async () => {
  const times = await timesWith(9_000);
  expect(await timeOf(times, 5, false)).toBe(deadlineMs);
  for (let count = 0; count < 31; count += 1) await timeOf(times, 50, true);
  expect(await timeOf(times, 5, false)).toBe(deadlineMs);
  await timeOf(times, 50, true);
  expect(await timeOf(times, 5, false)).toBe(51);
});

it("a verification that throws leaves no timer", async () => {
  await expect(new RefusalTimes().hold(() => Promise.reject(new Error("down")))).rejects.toThrow("down");
  expect(vi.getTimerCount()).toBe(0);
});
