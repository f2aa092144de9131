import type { AttemptLimit } from "@edge-op/shared/sessions/session-rpc";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AttemptBucket, emptyAtMs, refund, reserveInLanes } from "../src/sessions/sign-in-attempts.ts";

const limits = fc.record({ capacity: fc.integer({ min: 1, max: 50 }), drainMs: fc.integer({ min: 1, max: 60_000 }) });
const waits = fc.array(fc.integer({ min: 0, max: 120_000 }), { maxLength: 200 });

/** One lane with one bucket. A refusal takes no place, so the bucket remains unchanged. */
function reserve(bucket: AttemptBucket | undefined, limit: AttemptLimit, nowMs: number) {
  const { result, taken } = reserveInLanes([[{ key: "only", limit }]], () => bucket, nowMs);
  return { result, bucket: taken[0]?.bucket ?? bucket ?? { level: 0, atMs: nowMs } };
}

describe("a bucket of attempts", () => {
  it("admits at most its capacity plus the drained places in any time span", () => {
    fc.assert(
      fc.property(limits, waits, (limit, delays) => {
        let bucket: AttemptBucket | undefined;
        let nowMs = 0;
        let allowed = 0;
        for (const delay of delays) {
          nowMs += delay;
          const attempt = reserve(bucket, limit, nowMs);
          bucket = attempt.bucket;
          if (attempt.result.kind === "allowed") allowed += 1;
        }
        expect(allowed).toBeLessThanOrEqual(limit.capacity + nowMs / limit.drainMs + 1e-6);
      }),
    );
  });

  it("refuses nobody for longer than one drain, and allows an attempt after the returned wait", () => {
    fc.assert(
      fc.property(limits, waits, (limit, delays) => {
        let bucket: AttemptBucket | undefined;
        let nowMs = 0;
        for (const delay of delays) {
          nowMs += delay;
          const attempt = reserve(bucket, limit, nowMs);
          bucket = attempt.bucket;
          if (attempt.result.kind === "allowed") continue;
          expect(attempt.result.retryAfterMs).toBeLessThanOrEqual(limit.drainMs);
          expect(reserve(bucket, limit, nowMs + attempt.result.retryAfterMs + 1).result.kind).toBe("allowed");
        }
      }),
    );
  });

  it("is empty at the returned time, and a clock that is set back drains and fills nothing", () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 100 }), (limit, attempts) => {
        let bucket: AttemptBucket | undefined;
        for (let attempt = 0; attempt < attempts; attempt += 1) bucket = reserve(bucket, limit, 1_000_000).bucket;
        expect(refund(bucket, limit, emptyAtMs(bucket!, limit)).level).toBe(0);
        const { result, bucket: setBack } = reserve(bucket, limit, 0);
        expect(result).toEqual(reserve(bucket, limit, 1_000_000).result);
        expect(setBack.level).toBeGreaterThanOrEqual(Math.min(bucket!.level, limit.capacity));
        expect(emptyAtMs(setBack, limit)).toBeGreaterThanOrEqual(emptyAtMs(bucket!, limit));
      }),
    );
  });
});
