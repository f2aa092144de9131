import { finishResponse } from "@edge-op/shared/http/finish-response";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { createRequestContext, type MetricsBindings } from "@edge-op/shared/http/request-context";
import { durationBoundsMs, type ObservedRequest, RequestMetrics } from "@edge-op/shared/http/request-metrics";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import alerts from "../../../../docs/operating/alerts.json";
import dashboard from "../../../../docs/operating/dashboard.json";
import { sharedEnv } from "../fixtures/request-fixtures.ts";

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
        doubles: [expect.any(Number), 400, 0, 0, 0, 0, 0, ...durationBoundsMs.map(() => expect.any(Number))],
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

describe("the points of an isolate", () => {
  beforeEach(() => vi.useFakeTimers({ now: 1_800_000_000_000 }));
  afterEach(() => vi.useRealTimers());

  const quick: ObservedRequest = {
    ...{ endpoint: "/token", method: "POST", status: 200, outcome: "ok", code: undefined, clientId: "app" },
    ...{ failedHook: undefined, durationMs: 7, calls: undefined },
  };

  interface WrittenPoint {
    readonly atMs: number;
    readonly blobs: readonly string[];
    readonly doubles: readonly number[];
  }

  /** An isolate, what it has written, and the invocations that hold what it has not. */
  function isolate() {
    const written: WrittenPoint[] = [];
    const writeDataPoint = ({ blobs, doubles }: AnalyticsEngineDataPoint = {}) =>
      void written.push({ atMs: Date.now(), blobs: (blobs ?? []) as string[], doubles: [...(doubles ?? [])] });
    const metrics = new RequestMetrics({ writeDataPoint });
    let held = 0;
    const hold = (promise: Promise<unknown>) => {
      held += 1;
      void promise.finally(() => {
        held -= 1;
      });
    };
    const count = (request: ObservedRequest) => metrics.count(request, Date.now(), hold);
    return { written, count, holding: () => held, metrics };
  }

  const requestsOf = (points: readonly WrittenPoint[]) => points.reduce((sum, { doubles }) => sum + doubles[5]! + 1, 0);

  it("a quiet isolate writes each request at once, and holds nothing", async () => {
    const { written, count, holding } = isolate();
    for (let minute = 0; minute < 5; minute += 1) {
      for (let request = 0; request < 10; request += 1) count(quick);
      expect([written.length, holding()]).toEqual([10 * (minute + 1), 0]);
      await vi.advanceTimersByTimeAsync(60_000);
    }
  });

  it("a busy isolate writes one point a minute for equal requests, and holds them by one invocation in 20 s", async () => {
    const { written, count, holding } = isolate();
    let most = 0;
    for (let second = 0; second < 300; second += 1) {
      for (let request = 0; request < 5; request += 1) count(quick);
      most = Math.max(most, holding());
      await vi.advanceTimersByTimeAsync(1_000);
    }
    // The first ten requests, and one for each minute that has ended.
    expect(written.length).toBe(14);
    expect(most).toBe(2);
    await vi.advanceTimersByTimeAsync(25_000);
    expect([written.length, requestsOf(written), holding()]).toEqual([15, 1_500, 0]);
    expect(written[14]!.doubles.slice(0, 9)).toEqual([300 * 7, 200, -1, -1, -1, 299, -1, 300, 0]);
  });

  it("what a busy isolate has gathered when requests end is written within 25 s", async () => {
    const { written, count, holding } = isolate();
    for (let request = 0; request < 30; request += 1) count(quick);
    await vi.advanceTimersByTimeAsync(19_000);
    count(quick);
    await vi.advanceTimersByTimeAsync(5_999);
    expect(requestsOf(written)).toBe(10);
    await vi.advanceTimersByTimeAsync(1);
    expect([requestsOf(written), holding()]).toEqual([31, 0]);
  });

  it("kinds beyond the bound are written at once: an invocation writes less than 250 points, and the memory has a bound", async () => {
    const { written, count, metrics } = isolate();
    let mostAtOnce = 0;
    for (let request = 0; request < 2_000; request += 1) {
      const before = written.length;
      count({ ...quick, clientId: `client-${request}` });
      mostAtOnce = Math.max(mostAtOnce, written.length - before);
      expect(metrics.heldBytes).toBeLessThan(128 * 1024);
    }
    await vi.advanceTimersByTimeAsync(25_000);
    expect(mostAtOnce).toBe(120);
    expect([requestsOf(written), new Set(written.map(({ blobs }) => blobs[4])).size]).toEqual([2_000, 2_000]);
  });

  const outcomes = [
    { ...quick },
    { ...quick, clientId: "other" },
    { ...quick, endpoint: "/introspect" },
    { ...quick, status: 401, outcome: "refused", code: "invalid_client", clientId: undefined },
    { ...quick, status: 400, outcome: "refused", code: "invalid_grant" },
    { ...quick, status: 503, outcome: "unavailable", code: "temporarily_unavailable", failedHook: "claims" },
    { ...quick, endpoint: "/ready", method: "GET", status: 503, outcome: "unavailable", clientId: undefined },
    { ...quick, status: 500, outcome: "failed", code: "server_error" },
  ] as const;

  /** Requests of three isolates in five minutes, as they are written now, and as one point each, which the release before writes. */
  async function write() {
    const isolates = [isolate(), isolate(), isolate()];
    const single: WrittenPoint[] = [];
    let state = 7;
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >> 8) % below;
    };
    for (let request = 0; request < 1_500; request += 1) {
      const calls = random(10) === 0 ? { object: random(3), kv: random(4), d1: random(2) } : undefined;
      const observed = { ...outcomes[random(outcomes.length)]!, durationMs: 2 ** random(15), calls } as ObservedRequest;
      isolates[random(3)]!.count(observed);
      const { endpoint, method, outcome, code, clientId, failedHook, durationMs, status } = observed;
      single.push({
        atMs: Date.now(),
        blobs: [endpoint, method, outcome, code ?? "", clientId ?? "", failedHook ?? ""],
        doubles: [durationMs, status, calls?.object ?? -1, calls?.kv ?? -1, calls?.d1 ?? -1],
      });
      if (request % 10 === 9) await vi.advanceTimersByTimeAsync(2_000);
    }
    await vi.advanceTimersByTimeAsync(25_000);
    return { gathered: isolates.flatMap(({ written }) => written), single };
  }

  const queries = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ rawSql }) => rawSql)),
    ...alerts.groups[0]!.rules.flatMap(({ data }) =>
      data.flatMap(({ model }) => ("rawSql" in model ? [model.rawSql!] : [])),
    ),
  ];

  /** The answer of SQLite, with all points in one minute. */
  async function ask(points: readonly WrittenPoint[]): Promise<string[][]> {
    const doubles = Array.from({ length: 19 }, (_, column) => `double${column + 1}`);
    const blobs = Array.from({ length: 6 }, (_, column) => `blob${column + 1}`);
    const columns = [...blobs, ...doubles];
    const select = columns.map(
      (_, column) => `coalesce(value ->> '$[${column}]', ${column < 6 ? "''" : "0.0"}) AS ${columns[column]}`,
    );
    const rows = points.map((point) => [...blobs.map((_, at) => point.blobs[at] ?? ""), ...point.doubles]);
    const table = `WITH op_requests AS (SELECT 1.0 AS _sample_interval, ${select.join(", ")} FROM json_each(?1))`;
    const answers = queries.map(async (query) => {
      const sql = query
        .replace("$__timeFilter(timestamp)", "true")
        .replace("toStartOfInterval(timestamp, INTERVAL '1' MINUTE)", "0")
        .replaceAll(/\bIF\(/g, "iif(");
      const { results } = await sharedEnv.DB.prepare(`${table} ${sql}`).bind(JSON.stringify(rows)).all();
      return results.map((row) => JSON.stringify(row)).toSorted((a, b) => (a < b ? -1 : 1));
    });
    return Promise.all(answers);
  }

  it("every query of dashboard and alerts gives the same as with a point for each request, of this release or the one before", async () => {
    const { gathered, single } = await write();
    expect([requestsOf(gathered), single.length]).toEqual([1_500, 1_500]);
    expect(gathered.length).toBeLessThan(300);
    vi.useRealTimers();
    const complete = single.map(({ doubles, ...point }) => {
      const [durationMs, , object] = doubles;
      const slower = durationBoundsMs.map((bound) => Number(durationMs! > bound));
      return { ...point, doubles: [...doubles, 0, object! < 0 ? -1 : 0, ...slower] };
    });
    const answers = await ask(gathered);
    expect(answers.every((rows) => rows.length > 0)).toBe(true);
    expect(answers).toEqual(await ask(complete));
    // Those of the release before have no histogram.
    const isOfCounts = (_: unknown, at: number) => !queries[at]!.includes("p99");
    expect(answers.filter(isOfCounts)).toEqual((await ask(single)).filter(isOfCounts));
  });

  it.each([
    [1, 5],
    [800, 1_000],
    [1_000, 1_000],
    [1_001, 2_000],
    [30_000, 60_000],
  ])("the query of the alert gives, for a hundredth of requests that took %i ms, %i", async (slowMs, p99) => {
    const { written, count } = isolate();
    for (let request = 0; request < 1_000; request += 1) count({ ...quick, durationMs: request < 11 ? slowMs : 1 });
    await vi.advanceTimersByTimeAsync(25_000);
    vi.useRealTimers();
    const alert = queries.findIndex((query) => query.includes("p99") && query.includes("blob1 IN"));
    expect((await ask(written))[alert]).toEqual([JSON.stringify({ p99 })]);
  });
});
