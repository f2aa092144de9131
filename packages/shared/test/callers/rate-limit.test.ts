import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { beforeEach, describe, expect, it } from "vitest";
import { RateShield } from "../../src/callers/rate-limit.ts";
import type { RequestContext } from "../../src/http/request-context.ts";

/** The platform's limiter as documented: a counter per key, which allows requests below the limit. */
class CountingLimiter implements RateLimit {
  readonly counted = new Map<string, number>();
  calls = 0;
  failing = false;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  async limit({ key, delta = 1 }: RateLimitOptions): Promise<RateLimitOutcome> {
    this.calls += 1;
    if (this.failing) throw new Error("away");
    const before = this.counted.get(key) ?? 0;
    this.counted.set(key, before + delta);
    return { success: before < this.#limit };
  }
}

let limiter: CountingLimiter;
let shield: RateShield;
let background: Promise<unknown>[];
beforeEach(() => {
  limiter = new CountingLimiter(100);
  shield = new RateShield();
  background = [];
});

function at(
  arrivedAtMs: number,
): RequestContext<{ CLIENT_RATE_LIMIT: RateLimit; FAILED_AUTHENTICATION_RATE_LIMIT: RateLimit }> {
  return {
    env: { CLIENT_RATE_LIMIT: limiter, FAILED_AUTHENTICATION_RATE_LIMIT: limiter },
    arrivedAtMs,
    requestId: "test",
    cf: { colo: "CDG" },
    waitUntil: (promise: Promise<unknown>) => background.push(promise),
  } as never;
}

async function result(arrivedAtMs: number, clientId = "app"): Promise<string> {
  try {
    shield.countRequest(at(arrivedAtMs), "/token", clientId);
    return "passed";
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return `${error.status} ${error.headers["Retry-After"]}`;
  } finally {
    await Promise.all(background);
  }
}

describe("RFC 6585 §4 rate limits", () => {
  it("a client over its limit gets 429 with Retry-After, another client does not, and it is served again later", async () => {
    for (let request = 0; request < 150; request += 1) await result(1_000);
    await result(1_300);
    expect(limiter.counted.get("/token app")).toBe(151);
    await result(1_600);
    expect(await result(1_601)).toBe("429 1");
    expect(await result(1_601, "other")).toBe("passed");
    limiter.counted.clear();
    expect(await result(2_601)).toBe("passed");
  });

  it("thousands of requests cause a few calls of the limiter, and none waits for it", async () => {
    for (let request = 0; request < 5_000; request += 1) shield.countRequest(at(1_000 + request / 10), "/token", "app");
    expect(limiter.calls).toBe(2);
  });

  it("a limiter that does not respond limits nothing", async () => {
    limiter.failing = true;
    for (let ms = 1_000; ms < 3_000; ms += 100) expect(await result(ms)).toBe("passed");
  });

  it("a runtime without delta counts one by one", async () => {
    const limit = limiter.limit.bind(limiter);
    limiter.limit = async (options) => {
      if (options.delta !== undefined) throw new Error("bad rate limit options: [delta]");
      return limit(options);
    };
    for (const atMs of [1_000, 1_001, 1_002, 1_300]) await result(atMs);
    expect(limiter.counted.get("/token app")).toBe(4);
  });

  it("failed authentications are counted by the address that the platform reports; without one, nothing is counted", async () => {
    const request = new Request("https://op.example.com/token", { headers: { "cf-connecting-ip": "192.0.2.1" } });
    shield.countFailedAuthentication(at(1_000), request);
    shield.countFailedAuthentication(at(1_000), new Request("https://op.example.com/token"));
    await Promise.all(background);
    expect([...limiter.counted]).toEqual([["failed 192.0.2.1", 1]]);
  });
});
