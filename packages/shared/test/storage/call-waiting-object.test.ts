import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { limits } from "../../src/config/limits.ts";
import { callWaitingObject } from "../../src/leases/confirm-revocation.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const waitMs = 12_500;
const after = <T>(ms: number, value: T) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));
const never = () => new Promise<never>(() => undefined);

/** The result of a call, and its duration by the clock of the test. */
async function timed(call: () => Promise<string>, probe: () => Promise<unknown>, wait = waitMs) {
  const startedAtMs = Date.now();
  const probes = vi.fn(probe);
  const result = callWaitingObject("revocation", { call, probe: probes, waitMs: wait }).then(
    (value) => ({ value, ms: Date.now() - startedAtMs }),
    (error: unknown) => ({ error, ms: Date.now() - startedAtMs }),
  );
  await vi.advanceTimersByTimeAsync(20_000);
  return { ...(await result), probes: probes.mock.calls.length };
}

it("an object that responds soon is not probed", async () => {
  expect(await timed(() => after(4_900, "done"), never)).toEqual({ value: "done", ms: 4_900, probes: 0 });
});

it("an object that waits for leases, and responds to a probe, is awaited", async () => {
  expect(
    await timed(
      () => after(12_000, "done"),
      () => after(100, "here"),
    ),
  ).toEqual({ value: "done", ms: 12_000, probes: 1 });
});

it("a hanging object fails 1.5 s after its probe", async () => {
  const { error, ms, probes } = (await timed(never, never)) as { error: unknown; ms: number; probes: number };
  expect(error).toBeInstanceOf(UnavailableError);
  expect([ms, probes]).toEqual([limits.objectCallMs + limits.probeMs, 1]);
});

it("an object whose probe fails has failed immediately", async () => {
  expect(await timed(never, () => Promise.reject(new Error("overloaded")))).toMatchObject({ ms: 5_000 });
});

it("an object that only responds to probes has failed by the time its leases must have ended", async () => {
  expect(await timed(never, () => after(1, "here"))).toMatchObject({ ms: limits.objectCallMs + waitMs });
});

it("without leases, it is an ordinary call", async () => {
  expect(await timed(never, never, 0)).toMatchObject({ ms: limits.objectCallMs, probes: 0 });
});
