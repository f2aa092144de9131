/**
 * **An operator's view of a request**: its log line, its data point and its trace in the separate Workers, as recorded by the runtime. They must
 * agree with each other and contain no secret.
 */

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { DataPoint, Span } from "../../packages/edge-op/src/observer.ts";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

let provider: LocalProvider;
let admin: string;
const lines: Record<string, unknown>[] = [];
const callersTrace = "0af7651916cd43dd8448eb211c80319c";
const wrongSecret = "wrong-secret-that-nobody-may-read";

beforeAll(async () => {
  provider = await startLocalProvider({
    observe: true,
    vars: { REQUEST_LOG_PERCENT: "100" },
    onLog: ({ message }) => lines.push(JSON.parse(message) as Record<string, unknown>),
  });
  admin = basicAuthorization(provider.admin);
});

afterAll(() => provider.stop());

/** The runtime stores each span when it has ended, in any order. */
const stored = { timeout: 20_000, interval: 100 };

interface Observed {
  readonly line: Record<string, unknown>;
  /** The spans of its trace that are stored so far. */
  spans(): Promise<readonly Span[]>;
}

/** Sends a request, and waits for its log line. */
async function observe(path: string, send: () => Promise<{ readonly status: number }>): Promise<Observed> {
  const before = lines.length;
  const { status } = await send();
  const line = await vi.waitUntil(
    () => lines.slice(before).find(({ event, endpoint }) => event === "request" && endpoint === path),
    stored,
  );
  expect(line["status"]).toBe(status);
  const spans = async () => {
    const all = await provider.readSpans();
    const url = `${provider.origin}${path}`;
    const root = all.findLast(({ service, attributes }) => service === "op" && attributes["url.full"] === url);
    return all.filter(({ traceId }) => traceId === root?.traceId);
  };
  return { line, spans };
}

/** Calls of stores in the spans of the Worker that owns the endpoint, in the terms of the log line. */
function callsOf(spans: readonly Span[], worker: string): string {
  const own = spans.filter(({ service }) => service === worker);
  const count = (names: RegExp) => own.filter(({ name }) => names.test(name)).length;
  // Sent after the response, when the line has been written.
  const reports = own.filter(({ attributes }) => attributes["jsrpc.method"] === "report").length;
  return `object=${count(/^durable_object_subrequest$/) - reports} kv=${count(/^kv_/)} d1=${count(/^d1_/)}`;
}

/** The Workers from the front door to the first object that was called, by the parents of its span. */
function pathToObject(spans: readonly Span[]): readonly string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const path: string[] = [];
  let span = spans.find(({ service }) => service === "op-state");
  for (; span !== undefined; span = byId.get(span.parentId ?? "")) {
    if (path[0] !== span.service) path.unshift(span.service);
  }
  return path;
}

/** The last data point of an endpoint's requests with an outcome. */
function pointOf(endpoint: string, outcome: string): Promise<DataPoint> {
  return vi.waitUntil(async () => {
    const points = await provider.readDataPoints();
    return points.findLast(({ blobs }) => blobs[0] === endpoint && blobs[2] === outcome);
  }, stored);
}

const form = { grant_type: "client_credentials" };

describe("the log, the metrics and the traces of one request agree", () => {
  test("a cold request: its storage calls in the log line equal the spans of its trace and those of its data point", async () => {
    const headers = { authorization: admin, traceparent: `00-${callersTrace}-b7ad6b7169203331-01` };
    const { line, spans } = await observe("/token", () => postForm(`${provider.origin}/token`, form, headers));
    expect(line).toMatchObject({ outcome: "ok", clientId: "admin", method: "POST", traceId: callersTrace });
    // No span has the rows.
    const [, calls] = / ?(.*) rows=\d+$/.exec(String(line["calls"]))!;
    await expect.poll(async () => callsOf(await spans(), "op-token"), stored).toBe(calls);
    const { blobs, doubles } = await pointOf("/token", "ok");
    expect(blobs).toEqual(["/token", "POST", "ok", "", "admin"]);
    const [, status, object, kv, d1] = doubles;
    expect([status, `object=${object} kv=${kv} d1=${d1}`]).toEqual([200, calls]);
  });

  test("one trace leads from the front door through the endpoint to the objects", async () => {
    const { body } = await postForm(`${provider.origin}/token`, form, { authorization: admin });
    const token = String(body["access_token"]);
    const { spans } = await observe("/introspect", () =>
      postForm(`${provider.origin}/introspect`, { token }, { authorization: admin }),
    );
    await expect.poll(async () => pathToObject(await spans()), stored).toEqual(["op", "op-management", "op-state"]);
  });

  test("a refused request: the id in its response finds the line, its reason and its data point", async () => {
    const authorization = basicAuthorization({ ...provider.admin, client_secret: wrongSecret });
    let id: string | null = null;
    const { line, spans } = await observe("/token", async () => {
      const response = await fetch(`${provider.origin}/token`, {
        method: "POST",
        headers: { authorization, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(form).toString(),
      });
      id = response.headers.get("request-id");
      return response;
    });
    expect(line).toMatchObject({ requestId: id, status: 401, outcome: "refused", code: "invalid_client" });
    expect(lines.find(({ event, requestId }) => event === "refused" && requestId === id)).toBeDefined();
    expect((await pointOf("/token", "refused")).blobs).toEqual(["/token", "POST", "refused", "invalid_client", ""]);
    await expect
      .poll(async () => (await spans()).map(({ attributes }) => attributes["http.response.status_code"]), stored)
      .toContain(401);
  });

  test("the operator's view contains no secret and no token", async () => {
    const { body } = await postForm(`${provider.origin}/token`, form, { authorization: admin });
    const all = JSON.stringify([lines, await provider.readDataPoints(), await provider.readSpans()]);
    for (const secret of [wrongSecret, provider.admin.client_secret, String(body["access_token"]).split(".")[2]!]) {
      expect(all.includes(secret)).toBe(false);
    }
  });
});
