import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BenchLine, type BenchReport, cpuRatioOf, ratioOf } from "../bench/bench-report.ts";
import { formatRequest, readResponse, type Target } from "../bench/connection.ts";
import { spreadOf } from "../bench/distance-report.ts";
import { runLoop, runOpenLoop, scheduleOf, summarize } from "../bench/loops.ts";
import { renderBench } from "../bench/render-bench.ts";
import { lineText, tableHead } from "../bench/terminal-table.ts";
import { medians } from "../bench/turns.ts";

const server = createServer((request, response) => {
  const { url: path, method } = request;
  if (path === "/closes") return void request.socket.end();
  setTimeout(() => response.end(JSON.stringify({ path, method })), path === "/slow" ? 50 : 0);
});
let origin = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const loops = {
  closed: (target: Target) => runLoop(target, 4, 0.2),
  open: (target: Target) => runOpenLoop(target, 100, 0.2, 4),
};

describe.each(Object.entries(loops))("the %s loop", (_, run) => {
  test("checks every response and reports the same number", async () => {
    const bodies: string[] = [];
    const request = formatRequest(origin, "/userinfo", { Authorization: "Bearer t" });
    const result = await run({
      origin,
      next: () => request,
      check: (_connection, status, body) => bodies.push(`${status} ${body}`),
    });
    expect(result.requests).toBe(bodies.length);
    expect(new Set(bodies)).toEqual(new Set(['200 {"path":"/userinfo","method":"GET"}']));
    expect(result.p50Ms).toBeGreaterThan(0);
    expect(result.p50Ms).toBeLessThanOrEqual(result.maxMs);
  });

  test("ends at a wrong response", async () => {
    const request = formatRequest(origin, "/token", {}, "grant_type=x");
    const check = () => {
      throw new Error("wrong answer");
    };
    await expect(run({ origin, next: () => request, check })).rejects.toThrow("wrong answer");
  });

  test("ends when the server closes a connection", async () => {
    const request = formatRequest(origin, "/closes", {});
    await expect(run({ origin, next: () => request, check: () => {} })).rejects.toThrow("closed a connection");
  });
});

test("a closed loop has one request in flight per connection; an open loop sends the planned number", async () => {
  const request = formatRequest(origin, "/slow", {});
  const target = { origin, next: () => request, check: () => {} };
  // Each response takes 50 ms, and a timer may be a millisecond early: at most five per connection.
  expect((await runLoop(target, 4, 0.2)).requests).toBeLessThanOrEqual(20);
  const open = await runOpenLoop(target, 200, 0.2, 2);
  expect(open.requests).toBe(40);
  // Two connections serve at most 40 per second: the last one waited for 38 before it.
  expect(open.maxMs).toBeGreaterThan(19 * 50 - 200);
});

test("responses are read with a length and in chunks, and only when complete", () => {
  expect(readResponse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")).toBeUndefined();
  expect(readResponse("HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nhello")).toMatchObject({
    status: 400,
    body: "hello",
  });
  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
  expect(readResponse(chunked.slice(0, -5))).toBeUndefined();
  expect(readResponse(chunked)).toMatchObject({ status: 200, body: "hello" });
});

const measured = { requests: 100, perSecond: 100, p50Ms: 1, p95Ms: 2, p99Ms: 3, p999Ms: 3.5, maxMs: 4, cpuMicros: 300 };
const line: BenchLine = {
  endpoint: "exchange",
  needs: "signature",
  sides: {
    "own socket": measured,
    "front door": { ...measured, perSecond: 60 },
    compact: { ...measured, perSecond: 90 },
    "floor, own socket": { ...measured, perSecond: 200, cpuMicros: 150 },
    peer: { ...measured, perSecond: 50 },
    "peer, like ours": { ...measured, perSecond: 40 },
    "own socket, direct": { ...measured, perSecond: 25 },
  },
  storage: { object: 0.004, kv: 0, d1: 0 },
};
const report: BenchReport = {
  startedAt: "2026-11-20T10:00:00.000Z",
  commit: "abc1234",
  machine: { cpu: "test", cores: 2, memoryGb: 8, system: "linux", node: "v24", k6: "", sharedWithProvider: true },
  connections: 32,
  seconds: 1,
  rounds: 3,
  pinned: true,
  storage: "tmpfs",
  lines: [line],
};

test("the turns of a side are one measurement: medians, the sum of requests, the longest latency", () => {
  const turn = (perSecond: number, maxMs: number, cpuMicros?: number) => ({ ...measured, perSecond, maxMs, cpuMicros });
  expect(medians([turn(10, 5, 300), turn(30, 90, 100), turn(20, 6, 200)])).toMatchObject({
    ...{ requests: 300, perSecond: 20, maxMs: 90, cpuMicros: 200 },
  });
  expect(medians([turn(10, 5, 300), turn(20, 6)]).cpuMicros).toBeUndefined();
});

test("each side is shown with its ratio to its floor and to the peer", () => {
  expect(ratioOf(line, "own socket", "floor, own socket")).toBe(0.5);
  expect(ratioOf(line, "front door", "floor, front door")).toBeUndefined();
  expect(cpuRatioOf(line, "own socket", "floor, own socket")).toBe(2);
  const text = renderBench(report);
  expect(text).toContain("| exchange | sign ES256 | 0.50 | – | 0.45 | 2.00 / – / 2.00 |");
  const [likeOurs, inMemory] = text.split("## Ratios to node-oidc-provider, ").slice(1);
  expect(likeOurs).toContain("| exchange | 2.50 | 1.50 | 2.25 | 1.00 / 1.00 / 1.00 |");
  expect(inMemory).toContain("| exchange | 2.00 | 1.20 | 1.80 | 1.00 / 1.00 / 1.00 |");
  expect(text).toContain("| exchange | floor | 0.50 < 0.75 | – | 0.45 < 0.75 |");
  expect(text).toContain("| exchange | own socket, direct | 25 | 100 | 4.00 |");
  expect(text).toContain("| exchange | 0.004 | 0.000 | 0.000 |");
});

test("latencies at a distance: each temperature of both shapes, beside the peer and its queries", () => {
  const spread = spreadOf([80, 90, 300]);
  expect(spread).toEqual({ p50Ms: 90, p95Ms: 300, samples: 3 });
  const fast = { p50Ms: 1, p95Ms: 2, samples: 9 };
  const distances = {
    distances: { object: 80, kv: 30, d1: 80 },
    lines: [
      {
        endpoint: "refresh",
        separate: { cold: spread, afterPause: spread, busy: fast },
        compact: { cold: spread, afterPause: fast, busy: fast },
        peer: { ...spread, queries: 5 },
      },
    ],
  };
  expect(renderBench({ ...report, distances })).toContain(
    "| refresh | 90 / 300 | 90 / 300 | 1 / 2 | 90 / 300 | 1 / 2 | 1 / 2 | 90 / 300 | 5 |",
  );
  expect(renderBench({ ...report, distances })).toContain("## Marks");
  expect(renderBench({ ...report, lines: [], distances })).not.toContain("## Marks");
});

test("a line on the terminal fits its columns", () => {
  const [, head, rule] = tableHead.split("\n");
  expect(head!.length).toBeLessThanOrEqual(rule!.length);
  const [own, compact] = lineText(line).split("\n");
  expect([own!.length, compact!.length]).toEqual([head!.length, head!.length]);
  expect(compact!.trim().split(/ +/)).toEqual(["compact", "90", "-", "-", "0.45", "-", "2.25", "-", "3.0", "-", "-"]);
  expect(own!.split(/ +/)).toEqual(["exchange", "100", "60", "40", "0.50", "-", "2.50", "1.50", "3.0", "3.0", "3.0"]);
});

test("the open loop sends at fixed times; latency counts from the planned time", () => {
  expect(scheduleOf(200, 0.02)).toEqual([0, 5, 10, 15]);
  const latencies = Array.from({ length: 1_000 }, (_, index) => index + 1);
  expect(summarize(latencies, 10)).toEqual({
    ...{ requests: 1_000, perSecond: 100, p50Ms: 501, p95Ms: 951, p99Ms: 991, p999Ms: 1_000, maxMs: 1_000 },
  });
});
