import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { within } from "@edge-op/shared/runtime/deadline";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { callObject } from "../../src/storage/call-object.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Made in the test that waits: the runtime resumes no wait of one test for what another made. */
const never = () => new Promise<string>(() => {});

describe("a wait with a limit", () => {
  it("returns the promise's result if it settles in time", async () => {
    expect(await within(5_000, Promise.resolve("in time"), () => "late")).toBe("in time");
    await expect(within(5_000, Promise.reject(new Error("failed")), () => "late")).rejects.toThrow("failed");
  });

  it("returns or throws the result of `late` if the promise has not settled", async () => {
    const late = within(1, never(), () => "late");
    vi.advanceTimersByTime(1);
    expect(await late).toBe("late");
    const refuse = () => {
      throw new Error("too late");
    };
    const refused = expect(within(1, never(), refuse)).rejects.toThrow("too late");
    vi.advanceTimersByTime(1);
    await refused;
  });
});

describe("a call to an object", () => {
  it("that takes too long or throws is unavailability", async () => {
    const calling = callObject("refresh", never, 1).catch((error: unknown) => error);
    vi.advanceTimersByTime(1);
    const late = await calling;
    expect(late).toBeInstanceOf(UnavailableError);
    expect(String((late as UnavailableError).cause)).toBe("Error: no response within 1 ms");
    const thrown = await callObject("refresh", () => Promise.reject(new Error("overloaded"))).catch(
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(UnavailableError);
    expect(String((thrown as UnavailableError).cause)).toBe("Error: overloaded");
  });

  it("that settles in time returns its result, whichever way the limit is set", async () => {
    expect(await callObject("refresh", async () => "answer", 1_000)).toBe("answer");
  });
});
