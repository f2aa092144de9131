import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatRequest, readResponse, runLoop } from "../bench/closed-loop.ts";
import { type BenchReport, type BenchRow, type Floor, floorOf, renderBench } from "../bench/render-bench.ts";

const server = createServer((request, response) => {
  request.resume().on("end", () => response.end(JSON.stringify({ path: request.url, method: request.method })));
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

test("the closed loop counts checked answers and gives ordered percentiles", async () => {
  const bodies: string[] = [];
  const request = formatRequest(origin, "/userinfo", { Authorization: "Bearer t" });
  const result = await runLoop(
    { origin, next: () => request, check: (_, status, body) => bodies.push(`${status} ${body}`) },
    4,
    0.2,
  );
  expect(result.requests).toBe(bodies.length);
  // Each connection has one answer at least, however slow the machine is.
  expect(result.requests).toBeGreaterThanOrEqual(4);
  expect(new Set(bodies)).toEqual(new Set(['200 {"path":"/userinfo","method":"GET"}']));
  expect(result.p50Ms).toBeLessThanOrEqual(result.p95Ms);
  expect(result.p95Ms).toBeLessThanOrEqual(result.p99Ms);
});

test("a wrong answer ends the loop", async () => {
  const request = formatRequest(origin, "/token", {}, "grant_type=x");
  const check = () => {
    throw new Error("wrong answer");
  };
  await expect(runLoop({ origin, next: () => request, check }, 2, 5)).rejects.toThrow("wrong answer");
});

test("responses are read with a length and in chunks, and not before they are whole", () => {
  expect(readResponse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")).toBeUndefined();
  expect(readResponse("HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nhello")).toMatchObject({
    status: 400,
    body: "hello",
  });
  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
  expect(readResponse(chunked.slice(0, -5))).toBeUndefined();
  expect(readResponse(chunked)).toMatchObject({ status: 200, body: "hello" });
});

const measured = { requests: 100, seconds: 1, perSecond: 100, p50Ms: 1, p95Ms: 2, p99Ms: 3, cpuMicros: 300 };
const floor = (topology: string, work: string): Floor => ({
  ...measured,
  topology,
  work,
  perSecond: 200,
  cpuMicros: 150,
});
const row: BenchRow = {
  ...measured,
  endpoint: "exchange",
  needs: "signature",
  topology: "own socket",
  mode: "strict",
  algorithm: "RS256",
  storage: { object: 0.004, kv: 0, d1: 0 },
};
const report: BenchReport = {
  startedAt: "2026-11-20T10:00:00.000Z",
  commit: "abc1234",
  machine: { cpu: "test", cores: 2, memoryGb: 8, system: "linux", node: "v24", k6: "", sharedWithProvider: true },
  connections: 32,
  seconds: 1,
  pinned: true,
  storage: "tmpfs",
  floors: [
    floor("front door", "sign RS256"),
    floor("own socket", "none"),
    floor("own socket", "sign RS256"),
    floor("own socket", "write + sign RS256"),
  ],
  rows: [row, { ...row, algorithm: "ES256", perSecond: 300 }],
  peers: [{ ...measured, endpoint: "exchange", perSecond: 50 }],
};

test("the floor of what signs is in the same topology and has the same signature", () => {
  expect(floorOf(report, row)).toMatchObject({ topology: "own socket", work: "sign RS256" });
  expect(floorOf(report, { ...row, needs: "nothing" })).toMatchObject({ topology: "own socket", work: "none" });
  expect(floorOf(report, { ...row, needs: "write and signature" })).toMatchObject({ work: "write + sign RS256" });
  expect(floorOf(report, { ...row, topology: "elsewhere" })).toBeUndefined();
});

test("each row stands beside its ratio to the floor, and settings beside one another", () => {
  const text = renderBench(report);
  expect(text).toContain(
    "| exchange | own socket | strict | RS256 | 100 | 0.50 | 1.00 | 2.00 | 3.00 | 300 | 3,333 | 2.00 | 0.004 / 0.000 / 0.000 |",
  );
  expect(text).toContain("| exchange | own socket | 300 | 100 | 3.00 |");
  expect(text).toContain("| exchange | 50 | 300 | 300 | 6.00 | – | – |");
});
