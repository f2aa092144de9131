import { fetchClientUrl } from "@edge-op/shared/http/fetch-client-url";
import { afterEach, expect, it, vi } from "vitest";

const issuer = "https://op.example.com";
const url = "https://client.example.com/jwks";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Replaces the outside network, the only thing that tests replace. */
function network(response: (request: Request) => Response | Promise<Response>) {
  const spy = vi.fn((input: string, init?: RequestInit) => Promise.resolve(response(new Request(input, init))));
  vi.stubGlobal("fetch", spy);
  return spy;
}

it("returns the server's response, whatever its status", async () => {
  network(() => new Response("no such thing", { status: 404, headers: { "content-type": "text/plain" } }));
  expect(await fetchClientUrl(url, issuer)).toEqual({
    kind: "response",
    status: 404,
    headers: expect.objectContaining({}),
    body: "no such thing",
  });
});

it("a form can be posted, for back-channel logout", async () => {
  const spy = network(async (request) => new Response(`${request.method} ${await request.text()}`));
  const result = await fetchClientUrl(url, issuer, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "logout_token=x",
  });
  expect(result).toMatchObject({ kind: "response", body: "POST logout_token=x" });
  expect(spy.mock.calls[0]![1]).toMatchObject({ redirect: "manual" });
});

it("a URL that is not allowed is not fetched", async () => {
  const spy = network(() => new Response("secret"));
  expect(await fetchClientUrl("https://169.254.169.254/", issuer)).toEqual({
    kind: "refused",
    reason: "not a public host",
  });
  expect(spy).not.toHaveBeenCalled();
});

it.each([301, 302, 303, 307, 308])("a redirect (%i) is not followed", async (status) => {
  const spy = network(() => new Response(null, { status, headers: { location: "http://169.254.169.254/" } }));
  expect(await fetchClientUrl(url, issuer)).toEqual({ kind: "refused", reason: `redirects with ${status}` });
  expect(spy).toHaveBeenCalledTimes(1);
});

it("64 KiB are read; one byte more is too large", async () => {
  network(() => new Response("a".repeat(65_536)));
  expect(await fetchClientUrl(url, issuer)).toMatchObject({ kind: "response", body: "a".repeat(65_536) });
  network(() => new Response("a".repeat(65_537)));
  expect(await fetchClientUrl(url, issuer)).toEqual({ kind: "refused", reason: "more than 65536 bytes" });
});

it("an endless body is abandoned at the limit", async () => {
  let sent = 0;
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 16_384;
      controller.enqueue(new Uint8Array(16_384));
    },
    cancel() {
      isCancelled = true;
    },
  });
  network(() => new Response(endless));
  expect(await fetchClientUrl(url, issuer)).toEqual({ kind: "refused", reason: "more than 65536 bytes" });
  expect(isCancelled).toBe(true);
  expect(sent).toBeLessThan(200_000);
});

it("a stalled body is abandoned after 2.5 s", async () => {
  const stalling = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
  network(() => new Response(stalling));
  expect(await fetchClientUrl(url, issuer)).toMatchObject({ kind: "failed" });
});

it("an unreachable server is a failed fetch, not an error", async () => {
  network(() => Promise.reject(new TypeError("connection refused")));
  expect(await fetchClientUrl(url, issuer)).toEqual({ kind: "failed", reason: "TypeError: connection refused" });
});

it.each(["gzip", "deflate"] as const)("a %s bomb is left at the limit of the decoded body", async (format) => {
  const zeros = new Blob([new Uint8Array(4 * 1024 * 1024)]).stream();
  const compressed = await new Response(zeros.pipeThrough(new CompressionStream(format))).arrayBuffer();
  expect(compressed.byteLength).toBeLessThan(65_536);
  // The platform decompresses the body before a Worker sees it.
  network(() => new Response(new Blob([compressed]).stream().pipeThrough(new DecompressionStream(format))));
  expect(await fetchClientUrl(url, issuer)).toEqual({ kind: "refused", reason: "more than 65536 bytes" });
});

it("a kind of document may have its own size and time limit", async () => {
  network(() => new Response("a".repeat(5_121)));
  const rules = { timeoutMs: 100, bodyBytes: 5_120 };
  expect(await fetchClientUrl(url, issuer, { rules })).toEqual({ kind: "refused", reason: "more than 5120 bytes" });
});

it("no cookie, no credentials and no referrer are sent", async () => {
  const spy = network(() => new Response("{}"));
  await fetchClientUrl(url, issuer, { headers: { accept: "application/json" } });
  const sent = new Request(url, spy.mock.calls[0]![1]);
  expect([...sent.headers.keys()]).toEqual(["accept"]);
});
