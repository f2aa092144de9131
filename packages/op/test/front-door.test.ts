import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { FrontDoorEnv } from "@edge-op/workers/env";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { call } from "../../../test/fixtures/call.ts";
import { createApp } from "../src/app.ts";
import { pathOf } from "../src/forwarding.ts";

const bindings = env as unknown as FrontDoorEnv;

interface Echo {
  readonly worker: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

it.each([
  ["/token", "op-token"],
  ["/introspect", "op-management"],
  ["/revoke", "op-management"],
  ["/admin/clients/a%2Fb?x=1", "op-management"],
  ["/userinfo", "op-userinfo"],
  ["/authorize?client_id=a", "op-auth"],
  ["/par", "op-auth"],
  ["/logout", "op-auth"],
  ["/account", "op-auth"],
  ["/assets/style.css", "op-auth"],
  ["/flow/sign-in", "op-auth"],
  ["/console/clients?cursor=x", "op-console"],
])("%s belongs to %s, and reaches it unchanged", async (path, worker) => {
  const response = await call(createApp(), bindings, path, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", authorization: "Basic YTpi" },
    body: "a=1&a=2",
  });
  const echo = await response.json<Echo>();
  expect(echo).toMatchObject({ worker, method: "POST", url: `https://op.example.com${path}`, body: "a=1&a=2" });
  expect(echo.headers).toMatchObject({
    authorization: "Basic YTpi",
    "content-type": "application/x-www-form-urlencoded",
  });
});

it("a response is returned with its status, its costs and each of its cookies", async () => {
  const response = await call(createApp(), bindings, "/authorize");
  expect(response.status).toBe(203);
  expect(response.headers.get("Server-Timing")).toBe("object;dur=1");
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});

it("the Worker that owns a path decides about CORS and methods: a preflight request reaches it", async () => {
  const response = await call(createApp(), bindings, "/token", {
    method: "OPTIONS",
    headers: { origin: "https://a.example" },
  });
  expect(await response.json<Echo>()).toMatchObject({ worker: "op-token", method: "OPTIONS" });
  expect(response.headers.has("Access-Control-Allow-Origin")).toBe(false);
});

it("an unreachable Worker is 503 with Retry-After, never a refusal", async () => {
  const response = await call(createApp(), bindings, "/admin/throws");
  expect(response.status).toBe(503);
  expect(response.headers.get("Retry-After")).toBe("1");
  expect(response.headers.get("Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(response.headers.has("Access-Control-Allow-Origin")).toBe(false);
  expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
});

it("a script of another origin can read the 503, and the id in it", async () => {
  const headers = { Origin: "https://app.example" };
  const response = await call(createApp(), bindings, "/admin/throws", { headers });
  expect(response.status).toBe(503);
  expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  expect(response.headers.get("Access-Control-Expose-Headers")).toContain("Request-Id");
});

it.each([
  "/",
  "/nothing",
  "/token/",
  "/Token",
  "/tokens",
  "//token",
  "/%74oken",
  "/constructor",
  "/__proto__/x",
  "/.well-known/webfinger",
  "/.well-known/openid-configuration/",
  "/jwks/x",
  "/admins",
])("%s belongs to no Worker: 404 in JSON", async (path) => {
  const response = await call(createApp(), bindings, path);
  expect(response.status).toBe(404);
  expect(response.headers.get("Content-Type")).toBe("application/json");
  expect(await response.json()).toMatchObject({ error: "not_found" });
});

it("RFC 3986 §6.2.2: the path of any URL is the one that URL reads", () => {
  const part = fc.constantFrom(..."/ . .. token .well-known %2e %74 \\ : @ ~ é ? # a.b".split(" "));
  const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.constantFrom("https://op.example.com", "http://user@[::1]:80"), text, (origin, rest) => {
      const url = `${origin}/${rest}`;
      expect(pathOf(url)).toBe(new URL(url).pathname);
    }),
    { numRuns: 2_000 },
  );
});

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

it.each([
  "/",
  "/nothing",
  "/token/",
  "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200",
])("RFC 9110 §12.5.1: %s goes to op-auth, which has pages, if a browser visits it", async (path) => {
  const response = await call(createApp(), bindings, path, { headers: { accept: browserAccept } });
  expect(await response.json<Echo>()).toMatchObject({ worker: "op-auth", url: `https://op.example.com${path}` });
});

it.each([
  ["GET", "*/*"],
  ["GET", "application/json"],
  ["GET", "application/json, text/html;q=0.5"],
  ["GET", "text/html;q=0, */*"],
  ["GET", ""],
  ["POST", browserAccept],
])("RFC 9110 §12.5.1: %s of an unknown path with Accept %j is 404 in JSON", async (method, accept) => {
  const response = await call(createApp(), bindings, "/nothing", { method, headers: { accept } });
  expect(response.status).toBe(404);
  expect(response.headers.get("Vary")).toBe("Accept");
  expect(await response.json()).toMatchObject({ error: "not_found" });
});

it("WebAuthn Level 3 §5.11: /.well-known/webauthn lists the related origins of PASSKEY_ORIGINS", async () => {
  const related = "https://example.org https://example.net";
  for (const [PASSKEY_ORIGINS, origins] of [
    ["", []],
    [related, related.split(" ")],
  ] as const) {
    const response = await call(createApp(), { ...bindings, PASSKEY_ORIGINS }, "/.well-known/webauthn");
    expect([response.headers.get("content-type"), await response.json()]).toEqual(["application/json", { origins }]);
  }
});

it("W3C change-password-url §3: /.well-known/change-password redirects to the page that changes a password", async () => {
  const path = "/.well-known/change-password";
  const response = await call(createApp(), bindings, path, { redirect: "manual", headers: { accept: browserAccept } });
  expect(response.status).toBe(303);
  expect(response.headers.get("Location")).toBe("https://op.example.com/account/password");
  expect(response.headers.get("Strict-Transport-Security")).not.toBeNull();
});

it.each([
  ["/.well-known/openid-configuration", "GET, HEAD, OPTIONS"],
  ["/.well-known/oauth-authorization-server", "GET, HEAD, OPTIONS"],
  ["/jwks", "GET, HEAD, OPTIONS"],
  ["/health", "GET, HEAD"],
])("RFC 9110 §15.5.6: %s refuses POST with Allow: %s", async (path, allow) => {
  const response = await call(createApp(), bindings, path, { method: "POST", body: "" });
  expect(response.status).toBe(405);
  expect(response.headers.get("Allow")).toBe(allow);
});

it.each(["/.well-known/openid-configuration", "/jwks", "/health"])(
  "RFC 9110 §9.3.2: HEAD of %s is GET without a body",
  async (path) => {
    const app = createApp();
    const head = await call(app, bindings, path, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    const get = await call(app, bindings, path);
    expect(head.headers.get("Content-Type")).toBe(get.headers.get("Content-Type"));
    expect(head.headers.get("Cache-Control")).toBe(get.headers.get("Cache-Control"));
  },
);

it("/health responds without calling another Worker", async () => {
  const response = await call(createApp(), { ISSUER: bindings.ISSUER } as FrontDoorEnv, "/health");
  expect(response.status).toBe(200);
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  expect(await response.json()).toEqual({ status: "ok" });
});

it.each(["/health", "/jwks", "/nothing", "/admin/throws"])(
  "%s stays on TLS, and its type is not guessed",
  async (path) => {
    const { headers } = await call(createApp(), bindings, path);
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(headers.get("Strict-Transport-Security")).toBe("max-age=31536000; includeSubDomains");
    const local = await call(createApp(), { ...bindings, ISSUER: "http://localhost:8787" }, "/health");
    expect(local.headers.has("Strict-Transport-Security")).toBe(false);
  },
);

/** A request to any host; `page` as a browser that navigates. */
async function reach(url: string, { method = "GET", page = true, env = {}, headers = {} } = {}) {
  const accept = page ? { accept: "text/html" } : {};
  const request = new Request(url, { method, headers: { ...accept, ...headers }, redirect: "manual" });
  const execution = createExecutionContext();
  const response = await createApp().fetch(request, { ...bindings, ...env } as FrontDoorEnv, execution);
  return [response.status, response.headers.get("location")];
}

describe("RFC 9110 §15.5.20: a host that is not the issuer's", () => {
  const own = "https://op.example.com";
  const mtls = { env: { MTLS_ORIGIN: "https://mtls.example.com" } };
  const local = { env: { ISSUER: "http://localhost:8787" } };
  const api = { page: false };

  it.each<[string, string, Parameters<typeof reach>[1], (string | number | null)[]]>([
    ["a page is of the own origin", "https://a.workers.dev/account?x=1", {}, [302, `${own}/account?x=1`]],
    ["as the start page is", "https://a.workers.dev/", {}, [302, `${own}/`]],
    ["and an unknown one", "https://a.workers.dev/nothing", {}, [302, `${own}/nothing`]],
    ["in no other spelling", "https://op.example.com./account", {}, [302, `${own}/account`]],
    ["at no other port", "https://op.example.com:8443/account", {}, [302, `${own}/account`]],
    ["behind no other name", "https://op.example.com.evil.example/account", {}, [302, `${own}/account`]],
    ["with no other authority", "https://a.workers.dev//evil.example/", {}, [302, `${own}//evil.example/`]],
    ["HEAD is as GET", "https://a.workers.dev/jwks", { method: "HEAD", ...api }, [302, `${own}/jwks`]],
    [
      "metadata too",
      "https://a.workers.dev/.well-known/openid-configuration",
      api,
      [302, `${own}/.well-known/openid-configuration`],
    ],
    ["a form is not redirected", "https://a.workers.dev/flow/sign-in", { method: "POST" }, [421, null]],
    ["nor a token request", "https://a.workers.dev/token", { method: "POST", ...api }, [421, null]],
    ["nor one to an own path", "https://a.workers.dev/jwks", { method: "POST", ...api }, [421, null]],
    ["a probe is answered", "https://a.workers.dev/health", api, [200, null]],
    [
      "the own host without TLS is the own host",
      "http://op.example.com/token",
      { method: "POST", ...api },
      [203, null],
    ],
    [
      "the host for certificates serves clients",
      "https://mtls.example.com/token",
      { method: "POST", ...api, ...mtls },
      [203, null],
    ],
    ["and no pages", "https://mtls.example.com/account", mtls, [302, `${own}/account`]],
    [
      "a proxy that is trusted has any name",
      "https://inner/account",
      { env: { TRUST_FORWARDED_HEADERS: "true" } },
      [203, null],
    ],
    [
      "as one that sends certificates",
      "https://inner/token",
      { method: "POST", headers: { "client-cert-proxy-key": "x" } },
      [203, null],
    ],
    ["tools on this machine reach any issuer", "http://127.0.0.1:8787/account", {}, [203, null]],
    [
      "development: pages have one name",
      "http://127.0.0.1:8787/account",
      local,
      [302, "http://localhost:8787/account"],
    ],
    ["development: clients have any", "http://edge-op:8787/token", { method: "POST", ...api, ...local }, [203, null]],
    [
      "development: rebound names show no page",
      "http://evil.example:8787/account",
      local,
      [302, "http://localhost:8787/account"],
    ],
  ])("%s: %s", async (_, url, options, expected) => {
    expect(await reach(url, options)).toEqual(expected);
  });
});
