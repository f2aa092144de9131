import { firstResult } from "@edge-op/shared/runtime/deadline";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const never = () => new Promise<string>(() => {});
const fails = (message: string) => () => Promise.reject(new Error(message));

it("starts one attempt while it settles in time", async () => {
  const second = vi.fn(never);
  expect(await firstResult([async () => "a", second], 100)).toBe("a");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(second).not.toHaveBeenCalled();
});

it("starts the next attempt at once when one fails", async () => {
  expect(await firstResult([fails("a"), fails("b"), async () => "c"], 100)).toBe("c");
});

it("starts the next attempt after its patience, and takes the first result", async () => {
  const slow = Promise.withResolvers<string>();
  const third = vi.fn(never);
  const asked = firstResult([() => slow.promise, never, third], 100);
  await vi.advanceTimersByTimeAsync(150);
  slow.resolve("slow");
  expect(await asked).toBe("slow");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(third).not.toHaveBeenCalled();
});

it("fails only when all have failed", async () => {
  const late = Promise.withResolvers<string>();
  const asked = firstResult([() => late.promise, fails("b")], 100);
  let settled = false;
  asked
    .catch(() => {})
    .finally(() => {
      settled = true;
    });
  await vi.advanceTimersByTimeAsync(500);
  expect(settled).toBe(false);
  late.reject(new Error("a"));
  await expect(asked).rejects.toThrow("a");
});
