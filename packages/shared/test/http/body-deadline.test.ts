import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { BodyDeadline } from "../../src/http/body-deadline.ts";

const limitMs = 15_000;
let deadline: BodyDeadline;
let background: Promise<unknown>[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  background = [];
  deadline = new BodyDeadline({
    limitMs,
    late: () => {
      throw new Error("late");
    },
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const execution = { waitUntil: (promise: Promise<unknown>) => background.push(promise) };

/** Waits for a body; the result is its value, or the error. */
function wait(body: Promise<string>): Promise<string> {
  return deadline.wait(body, execution).catch((error: Error) => error.message);
}

/** Enough arrivals to make the isolate busy; their bodies are complete. */
async function makeBusy(): Promise<void> {
  await Promise.all(Array.from({ length: 16 }, () => wait(Promise.resolve("read"))));
}

const never = () => new Promise<string>(() => {});

it("in a quiet isolate a body has a timer, cleared when it is complete, and no watch", async () => {
  const late = wait(never());
  expect(await wait(Promise.resolve("read"))).toBe("read");
  expect([vi.getTimerCount(), background.length]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(limitMs);
  expect(await late).toBe("late");
});

it("in a busy isolate, one watch ends the wait for every late body, at most a second late, and then stops", async () => {
  await makeBusy();
  const [first, second] = [wait(never()), wait(never())];
  expect(await wait(Promise.resolve("read"))).toBe("read");
  expect([vi.getTimerCount(), background.length]).toEqual([1, 1]);
  let isLate = false;
  void first.then(() => {
    isLate = true;
  });
  await vi.advanceTimersByTimeAsync(limitMs - 1);
  expect(isLate).toBe(false);
  await vi.advanceTimersByTimeAsync(1_001);
  expect([await first, await second]).toEqual(["late", "late"]);
  await Promise.all(background);
  expect(vi.getTimerCount()).toBe(0);
});

it("an incomplete body fails with its own error", async () => {
  await makeBusy();
  expect(await wait(Promise.reject(new Error("cut off")))).toBe("cut off");
});

it("a watch accepts bodies for five seconds; the next arrival starts another one", async () => {
  await makeBusy();
  const bodies = [wait(never())];
  await vi.advanceTimersByTimeAsync(4_900);
  await makeBusy();
  bodies.push(wait(never()));
  expect(background.length).toBe(1);
  await vi.advanceTimersByTimeAsync(100);
  await makeBusy();
  bodies.push(wait(never()));
  expect(background.length).toBe(2);
  await vi.advanceTimersByTimeAsync(limitMs + 1_000);
  expect(await Promise.all(bodies)).toEqual(["late", "late", "late"]);
  await Promise.all(background);
});

it("a watch that is lost with its request is replaced by the next arrival, which ends the wait for earlier bodies too", async () => {
  await makeBusy();
  const late = wait(never());
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(2_000);
  await makeBusy();
  void wait(never());
  expect(background.length).toBe(2);
  await vi.advanceTimersByTimeAsync(limitMs);
  expect(await late).toBe("late");
});
