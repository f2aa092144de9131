import { describe, expect, it } from "vitest";
import { Guarantee, violations } from "../soak/guarantee.ts";
import { runSoak } from "../soak/run-soak.ts";

describe("protocols.md §2 I1: an introspection invoked after a revoke returned never answers active", () => {
  it("holds while objects are evicted, the runtime restarted, generations opened and keys rotated", {
    timeout: 120_000,
  }, async () => {
    const result = await runSoak({ seconds: 12, clients: 2, mode: "strict", log: () => {} });
    expect(result.introspections).toMatchObject({
      "revoked-but-active": 0,
      "valid-but-inactive": 0,
      "no-answer-without-fault": 0,
    });
    expect(result.introspections.right).toBeGreaterThan(50);
    for (const count of [
      result.revoked,
      result.evictions,
      result.restarts,
      result.generationsOpened,
      result.keysRotated,
    ]) {
      expect(count).toBeGreaterThan(0);
    }
  });
});

describe("the judge of the soak", () => {
  const seen = { isolate: "op", invokedAtMs: 200, answeredAtMs: 210, status: 200 };

  it("calls an answer by its name", () => {
    const guarantee = new Guarantee();
    const token = guarantee.issued();
    guarantee.revokeSent(token, 100);
    guarantee.revokeReturned(token, 150);
    expect(guarantee.judge({ ...seen, token, active: true })).toBe("revoked-but-active");
    expect(guarantee.judge({ ...seen, token, invokedAtMs: 149, active: true })).toBe("right");
    expect(guarantee.judge({ ...seen, token, invokedAtMs: 80, answeredAtMs: 99, active: false })).toBe(
      "valid-but-inactive",
    );
    expect(guarantee.judge({ ...seen, token, active: false })).toBe("right");
    expect(guarantee.judge({ ...seen, token, status: 503, active: undefined })).toBe("no-answer-without-fault");
    guarantee.faultBegins(190)(195);
    expect(guarantee.judge({ ...seen, token, status: 503, active: undefined })).toBe("unavailable");
    expect(guarantee.judge({ ...seen, token, status: 500, active: undefined })).toBe("no-answer-without-fault");
    expect(violations(guarantee.counts)).toBe(4);
  });
});
