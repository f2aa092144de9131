import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { HostBudget } from "../../src/http/host-budget.ts";
import { createRequestContext } from "../../src/http/request-context.ts";
import { type DocumentKind, FetchedDocuments } from "../../src/storage/fetched-documents.ts";

const start = Date.parse("2026-11-22T12:00:00Z");
const url = "https://client.example.com/document.json";

beforeEach(() => {
  vi.useFakeTimers({ now: start, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const kind: DocumentKind<{ readonly text: string }> = {
  name: "document",
  rules: { timeoutMs: 1_000, bodyBytes: 100 },
  content: "json",
  freshness: { leastSeconds: 60, usualSeconds: 300, mostSeconds: 3600 },
  staleSeconds: 600,
  failureSeconds: 10,
  maxBytes: 10_000,
  urlBytes: 10_000,
  read: (body) => (body.startsWith("{") ? { text: body } : { refused: "no object" }),
};

function network(response: () => Response | Promise<Response>) {
  const spy = vi.fn(async () => response());
  vi.stubGlobal("fetch", spy);
  return spy;
}

const json = (body: string, headers: Record<string, string> = {}) =>
  new Response(body, { headers: { "content-type": "application/json", ...headers } });

function at(seconds: number) {
  vi.setSystemTime(start + seconds * 1_000);
  const execution = { waitUntil: (promise: Promise<unknown>) => void promise.catch(() => undefined) };
  return createRequestContext(new Request("https://op.example.com/"), { ISSUER: "https://op.example.com" }, execution);
}

it("is fetched once while it is fresh, and again afterwards", async () => {
  const documents = new FetchedDocuments(kind);
  const spy = network(() => json("{1}", { "cache-control": "max-age=120" }));
  for (const seconds of [0, 60, 119]) {
    expect(await documents.find(at(seconds), url)).toMatchObject({ kind: "document", value: { text: "{1}" } });
  }
  expect(spy).toHaveBeenCalledTimes(1);
  await documents.find(at(120), url);
  expect(spy).toHaveBeenCalledTimes(2);
});

it("concurrent requests share one fetch", async () => {
  const documents = new FetchedDocuments(kind);
  const spy = network(() => json("{1}"));
  await Promise.all(Array.from({ length: 20 }, () => documents.find(at(0), url)));
  expect(spy).toHaveBeenCalledTimes(1);
});

it.each([
  ["no response", () => Promise.reject(new TypeError("away"))],
  ["500", () => new Response("", { status: 500 })],
  ["429", () => new Response("", { status: 429 })],
])(
  "%s: the last copy is used until the stated bound, and the server is called once in ten seconds",
  async (_, fail) => {
    const documents = new FetchedDocuments(kind);
    network(() => json("{1}"));
    await documents.find(at(0), url);
    const spy = network(fail);
    for (const seconds of [300, 309])
      expect(await documents.find(at(seconds), url)).toMatchObject({ kind: "document" });
    expect(spy).toHaveBeenCalledTimes(1);
    expect(await documents.find(at(899), url)).toMatchObject({ kind: "document" });
    expect(await documents.find(at(900), url)).toMatchObject({ kind: "unreachable" });
  },
);

it.each([
  ["404", () => new Response("", { status: 404 })],
  ["410", () => new Response("", { status: 410 })],
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://other.example/" } })],
  ["another media type", () => new Response("{2}", { headers: { "content-type": "text/html" } })],
  ["no media type", () => new Response(new TextEncoder().encode("{2}"))],
  ["another document", () => json("[]")],
  ["a larger one", () => json(`{${"2".repeat(100)}`)],
])(
  "%s withdraws the document: the copy is deleted at once, and the refusal is kept for ten seconds",
  async (_, taken) => {
    const documents = new FetchedDocuments(kind);
    network(() => json("{1}"));
    await documents.find(at(0), url);
    const spy = network(taken);
    for (const seconds of [300, 309]) expect(await documents.find(at(seconds), url)).toMatchObject({ kind: "refused" });
    expect(spy).toHaveBeenCalledTimes(1);
    network(() => json("{3}"));
    expect(await documents.find(at(310), url)).toMatchObject({ kind: "document", value: { text: "{3}" } });
  },
);

it("draft-ietf-oauth-client-id-metadata-document-02 §5.2: a failure is never the result of a later request; it spares a fetch where a copy can be used", async () => {
  const documents = new FetchedDocuments({ ...kind, forgetsFailures: true });
  for (const failure of [new Response("", { status: 500 }), json("[]"), new Response("", { status: 404 })]) {
    network(() => failure);
    expect(await documents.find(at(0), url)).not.toMatchObject({ kind: "document" });
  }
  network(() => json("{1}"));
  expect(await documents.find(at(0), url)).toMatchObject({ kind: "document" });
  const spy = network(() => new Response("", { status: 500 }));
  for (const seconds of [300, 309]) expect(await documents.find(at(seconds), url)).toMatchObject({ kind: "document" });
  const failures = [309, 310].map((seconds) => documents.failure(at(seconds), url));
  expect([spy.mock.calls.length, failures]).toEqual([1, ["status 500", undefined]]);
});

it("a URL that is not allowed is refused without a fetch", async () => {
  const spy = network(() => json("{1}"));
  const documents = new FetchedDocuments(kind);
  expect(await documents.find(at(0), "https://169.254.169.254/")).toEqual({
    kind: "refused",
    reason: "not a public host",
  });
  expect(spy).not.toHaveBeenCalled();
});

it("the copies are bounded in bytes", async () => {
  const documents = new FetchedDocuments(kind);
  network(() => json(`{${"1".repeat(90)}`));
  for (let index = 0; index < 200; index += 1) await documents.find(at(0), `${url}?${index}`);
  expect(documents.heldBytes).toBeLessThanOrEqual(40_000);
});

it("40 URLs of one host are fetched ten times a minute: 429 beyond that, without affecting another host", async () => {
  const documents = new FetchedDocuments({ ...kind, hostBudget: new HostBudget({ perMinute: 10, maxBytes: 10_000 }) });
  const spy = network(() => json("{1}", { "cache-control": "max-age=60" }));
  const urls = Array.from({ length: 40 }, (_, index) => `https://client.example.com/${index}`);
  const find = (url: string, seconds: number) =>
    documents.find(at(seconds), url).then(
      ({ kind: outcome }) => outcome,
      ({ code, headers }: { code: string; headers: Record<string, string> }) => `${code} ${headers["Retry-After"]}`,
    );
  const outcomes = await Promise.all(urls.map((each) => find(each, 0)));
  expect(outcomes.filter((outcome) => outcome === "document")).toHaveLength(10);
  expect(outcomes.filter((outcome) => outcome === "rate_limited 6")).toHaveLength(30);
  expect(spy).toHaveBeenCalledTimes(10);
  expect(await find("https://other.example.com/", 0)).toBe("document");
  expect(await find(urls[39]!, 6)).toBe("document");
  expect(await find(urls[38]!, 6)).toBe("rate_limited 6");
  // Documents from a minute ago are stale: the budget has room for ten again, and the other copies are used unchanged.
  expect(new Set(await Promise.all(urls.slice(0, 10).map((each) => find(each, 70))))).toEqual(new Set(["document"]));
  expect(await Promise.all([find(urls[39]!, 70), find(urls[38]!, 70)])).toEqual(["document", "rate_limited 6"]);
});
