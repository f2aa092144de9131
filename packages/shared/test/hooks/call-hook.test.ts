import { parseEnabledHooks } from "@edge-op/shared/config/setting-values";
import { callHook, type HooksWorker, hookDeadlineMs } from "@edge-op/shared/hooks/call-hook";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hostileResults } from "../../../../test/fixtures/hostile-results.ts";

const lines: string[] = [];
const request = { sub: "s", username: "u", password: "p" };

beforeEach(() => {
  lines.length = 0;
  for (const level of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((text: unknown) => {
      lines.push(JSON.stringify(text));
    });
  }
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function workerWith(legacyPassword: (given: unknown) => unknown): { readonly HOOKS: HooksWorker } {
  return { HOOKS: { legacyPassword } as object as HooksWorker };
}

const call = (env: { readonly HOOKS?: HooksWorker }) => callHook({ env }, "legacyPassword", request, String);

describe("a hook that fails", () => {
  it.each([
    ["is not bound", {}, "no Worker is bound as HOOKS"],
    ["is not implemented", { HOOKS: {} as HooksWorker }, "TypeError"],
    ["throws", workerWith(() => Promise.reject(new Error("the CRM is down"))), "the CRM is down"],
    [
      "throws at once",
      workerWith(() => {
        throw new RangeError("no");
      }),
      "RangeError: no",
    ],
    ["throws an error without texts", workerWith(hostileResults["an error without texts"]!), "object: object"],
    ["throws no error", workerWith(() => Promise.reject(Object.create(null) as Error)), "object"],
  ])("because it %s is one line with its name, and no exception", async (_, env, cause) => {
    expect(await call(env)).toEqual({ kind: "failed", cause: expect.stringContaining(cause) as string });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("hook-failed");
    expect(lines[0]).toContain("legacyPassword");
  });

  it("because it hangs ends at its deadline, and a later result or error is nobody's", async () => {
    vi.useFakeTimers();
    const { promise, reject } = Promise.withResolvers<boolean>();
    const called = call(workerWith(() => promise));
    await vi.advanceTimersByTimeAsync(hookDeadlineMs.legacyPassword);
    expect(await called).toEqual({
      kind: "failed",
      cause: expect.stringContaining("no response within 2000 ms") as string,
    });
    reject(new Error("late"));
    await vi.advanceTimersByTimeAsync(1);
    expect(lines).toHaveLength(1);
  });
});

describe("a decision in which a hook took part", () => {
  it("is marked, whether the hook answered or failed, so that it is not remembered", async () => {
    const noted = async (env: { readonly HOOKS?: HooksWorker }) => {
      const progress = { controlConfirmed: false };
      await callHook({ env, progress }, "legacyPassword", request, String);
      return progress;
    };
    const called = { controlConfirmed: false, calledHook: true };
    expect(await noted(workerWith(() => Promise.resolve(true)))).toEqual(called);
    expect(await noted({})).toEqual({ ...called, failedHook: "legacyPassword" });
  });
});

describe("ENABLED_HOOKS", () => {
  it("names the hooks, and what follows the failure of one", () => {
    expect(parseEnabledHooks("ENABLED_HOOKS", "")).toEqual({});
    expect(parseEnabledHooks("ENABLED_HOOKS", "claims  beforeSignIn")).toEqual({
      claims: "open",
      beforeSignIn: "closed",
    });
    expect(parseEnabledHooks("ENABLED_HOOKS", "claims=closed beforeSignIn=open legacyPassword")).toEqual({
      claims: "closed",
      beforeSignIn: "open",
      legacyPassword: "closed",
    });
  });

  it.each(["claim", "claims=", "claims=maybe", "legacyPassword=open", "mail", "claims,beforeSignIn", "__proto__"])(
    "refuses %s",
    (text) => {
      expect(() => parseEnabledHooks("ENABLED_HOOKS", text)).toThrow("ENABLED_HOOKS must be claims, beforeSignIn");
    },
  );
});
