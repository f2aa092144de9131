import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../packages/local-provider/src/local-provider.ts";
import type { Span } from "../../packages/local-provider/src/observer.ts";
import { basicAuthorization, postForm } from "../../packages/local-provider/src/provider-api.ts";

/**
 * **What an operator reads of a request**: its log line, its data point and its trace, in the separate Workers, as the runtime records
 * them. They must agree with each other, and contain no secret.
 */
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

interface Observed {
  readonly line: Record<string, unknown>;
  readonly spans: readonly Span[];
}

/** The line that the request has written, and the spans of its trace, when the runtime has stored them. */
async function observe(path: string, send: () => Promise<{ readonly status: number }>): Promise<Observed> {
  const before = lines.length;
  const { status } = await send();
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const line = lines.slice(before).find(({ event, endpoint }) => event === "request" && endpoint === path);
    const spans = await provider.readSpans();
    const root = spans.findLast(
      ({ service, attributes }) => service === "op" && attributes["url.full"] === `${provider.origin}${path}`,
    );
    const own = spans.filter(({ traceId }) => traceId === root?.traceId);
    // The Worker behind the front door closes its span last.
    const isComplete = own.some((span) => span.service !== "op" && span.attributes["cloudflare.outcome"] === "ok");
    if (line !== undefined && isComplete) {
      expect(line["status"]).toBe(status);
      return { line, spans: own };
    }
    if (performance.now() > deadlineMs) throw new Error(`no ${line === undefined ? "line" : "trace"} of ${path}`);
    await sleep(50);
  }
}

/** Calls of stores in the spans of the Worker that owns the endpoint, in the words of the log line. */
function callsOf(spans: readonly Span[], worker: string): string {
  const own = spans.filter(({ service }) => service === worker);
  const count = (names: RegExp) => own.filter(({ name }) => names.test(name)).length;
  // Sent after the response, when the line has been written.
  const reports = own.filter(({ attributes }) => attributes["jsrpc.method"] === "recordIssued").length;
  return `object=${count(/^durable_object_subrequest$/) - reports} kv=${count(/^kv_/)} d1=${count(/^d1_/)}`;
}

async function lastPoint() {
  return (await provider.readDataPoints()).at(-1)!;
}

const form = { grant_type: "client_credentials" };

describe("issue 14: the log, the metrics and the traces of one request agree", () => {
  test("a cold request: its storage calls in the line are the spans of its trace, and of its data point", async () => {
    const headers = { authorization: admin, traceparent: `00-${callersTrace}-b7ad6b7169203331-01` };
    const { line, spans } = await observe("/token", () => postForm(`${provider.origin}/token`, form, headers));
    expect(line).toMatchObject({ outcome: "ok", clientId: "admin", method: "POST", traceId: callersTrace });
    expect(line["calls"]).toBe(callsOf(spans, "op-token"));
    const { blobs, doubles } = await lastPoint();
    expect(blobs).toEqual(["/token", "POST", "ok", "", "admin"]);
    const [, status, object, kv, d1] = doubles;
    expect([status, `object=${object} kv=${kv} d1=${d1}`]).toEqual([200, line["calls"]]);
  });

  test("one trace leads from the front door through the endpoint to the objects", async () => {
    const { body } = await postForm(`${provider.origin}/token`, form, { authorization: admin });
    const token = String(body["access_token"]);
    const { spans } = await observe("/introspect", () =>
      postForm(`${provider.origin}/introspect`, { token }, { authorization: admin }),
    );
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const object = spans.find(({ service }) => service === "op-state")!;
    const path: string[] = [];
    for (let span: Span | undefined = object; span !== undefined; span = byId.get(span.parentId ?? "")) {
      if (path[0] !== span.service) path.unshift(span.service);
    }
    expect(path).toEqual(["op", "op-management", "op-state"]);
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
    expect((await lastPoint()).blobs).toEqual(["/token", "POST", "refused", "invalid_client", ""]);
    expect(spans.some(({ attributes }) => attributes["http.response.status_code"] === 401)).toBe(true);
  });

  test("nothing that an operator reads contains a secret or a token", async () => {
    const { body } = await postForm(`${provider.origin}/token`, form, { authorization: admin });
    const all = JSON.stringify([lines, await provider.readDataPoints(), await provider.readSpans()]);
    for (const secret of [wrongSecret, provider.admin.client_secret, String(body["access_token"]).split(".")[2]!]) {
      expect(all.includes(secret)).toBe(false);
    }
  });
});
