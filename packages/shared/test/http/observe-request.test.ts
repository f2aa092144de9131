import { finishResponse } from "@edge-op/shared/http/finish-response";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { createRequestContext, type MetricsBindings } from "@edge-op/shared/http/request-context";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

/** The log line and the data point of a request. */
const secret = "s3cr3t-value";
let lines: Record<string, unknown>[];
let points: AnalyticsEngineDataPoint[];

beforeEach(() => {
  lines = [];
  points = [];
  vi.spyOn(console, "info").mockImplementation((line: string) => lines.push(JSON.parse(line)));
});
afterEach(() => {
  vi.restoreAllMocks();
});

function contextOf(variables: Record<string, string>, headers: Record<string, string> = {}) {
  const METRICS = { writeDataPoint: (point?: AnalyticsEngineDataPoint) => void points.push(point!) };
  const env = { ISSUER: "https://op.example.com", ...variables, METRICS } satisfies MetricsBindings & {
    ISSUER: string;
  };
  const request = new Request(`https://op.example.com/token?code=${secret}`, { method: "POST", headers });
  return createRequestContext(request, env, { waitUntil: () => {} }, "/token");
}

describe("one line per request", () => {
  it("has the endpoint, outcome, code, client, duration, storage calls, request and trace", () => {
    const headers = { "cf-ray": "ray-1", traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
    const context = contextOf({ REQUEST_LOG_PERCENT: "100" }, headers);
    context.progress.clientId = "app";
    const response = finishResponse(context, new JsonResponse({ error: "invalid_grant" }, { status: 400 }));
    expect(lines).toEqual([
      {
        event: "request",
        endpoint: "/token",
        method: "POST",
        status: 400,
        outcome: "refused",
        code: "invalid_grant",
        clientId: "app",
        durationMs: expect.any(Number),
        calls: "object=0 kv=0 d1=0 rows=0",
        requestId: "ray-1",
        traceId: "0af7651916cd43dd8448eb211c80319c",
      },
    ]);
    expect(response.headers.get("request-id")).toBe("ray-1");
    expect(points).toEqual([
      {
        indexes: ["/token"],
        blobs: ["/token", "POST", "refused", "invalid_grant", "app"],
        doubles: [expect.any(Number), 400, 0, 0, 0],
      },
    ]);
  });

  it("its data point names a hook that failed", () => {
    const context = contextOf({}, {});
    context.progress.failedHook = "claims";
    finishResponse(context, new JsonResponse({ active: true }));
    expect(points).toMatchObject([{ blobs: ["/token", "POST", "ok", "", "", "claims"] }]);
  });

  it("contains nothing that the caller sent: no secret, no address, no unverified id", () => {
    const context = contextOf(
      { REQUEST_LOG_PERCENT: "100" },
      {
        authorization: `Basic ${btoa(`app:${secret}`)}`,
        cookie: `op-session=${secret}`,
        "user-agent": secret,
        "cf-connecting-ip": "203.0.113.77",
        traceparent: `00-${secret}`,
      },
    );
    finishResponse(context, new JsonResponse({ access_token: secret, error_description: secret }));
    const written = JSON.stringify([lines, points]);
    expect(lines.length).toBe(1);
    expect(written).not.toContain(secret);
    expect(written).not.toContain("203.0.113");
  });

  it("is sampled for success and always present for an error", () => {
    for (let count = 0; count < 50; count += 1) {
      finishResponse(contextOf({ REQUEST_LOG_PERCENT: "0" }), new JsonResponse({}));
      finishResponse(contextOf({ REQUEST_LOG_PERCENT: "0" }), new JsonResponse({ error: "x" }, { status: 503 }));
    }
    expect(lines.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 50 }, () => "unavailable"));
    expect(points.length).toBe(100);
  });

  it("is limited for simultaneous successes, unless all are requested", () => {
    vi.useFakeTimers();
    const succeed = (percent: string) =>
      finishResponse(contextOf({ REQUEST_LOG_PERCENT: percent }), new JsonResponse({}));
    try {
      for (let count = 0; count < 500; count += 1) succeed("99");
      expect(lines.length).toBeLessThanOrEqual(20);
      lines = [];
      for (let count = 0; count < 500; count += 1) succeed("100");
      expect(lines.length).toBe(500);
    } finally {
      vi.useRealTimers();
    }
  });
});
