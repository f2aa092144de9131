/**
 * **Every error contains the id of its log entry**, as the header `Request-Id`: at each endpoint of docs/reference/endpoints.md, in each form of an
 * error, and readable by scripts of other origins if the endpoint is.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { Application } from "./fixtures/application.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const page = readFileSync(join(repositoryRoot, "docs/reference/endpoints.md"), "utf8");

/** The headings of the page are the endpoints: `GET /userinfo`, `/flow/consent`. */
const headings = page.split("\n").filter((line) => line.startsWith("### "));
const paths = [...new Set(headings.flatMap((line) => line.match(/\/[a-z_.:/-]*/g) ?? []))].map((path) =>
  path.replace(/:[a-z_]+/g, "unknown"),
);
const postPaths = headings.flatMap((line) => [...line.matchAll(/POST (\/[a-z_]+)/g)].map(([, path]) => path!));

const seen = new Set<string>();

/** One request, whose response must be an error with a unique id. */
async function refused(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(`${provider.origin}${path}`, { redirect: "manual", ...init });
  expect(response.status, `${init.method ?? "GET"} ${path}`).toBeGreaterThanOrEqual(400);
  expectId(response);
  return response;
}

function expectId(response: Response): void {
  const id = response.headers.get("request-id");
  expect(id, response.url).toMatch(/^[0-9a-f-]{36}$/);
  expect(seen.has(id!), "no two requests have the same id").toBe(false);
  seen.add(id!);
}

const form = "application/x-www-form-urlencoded";

test("the page names every endpoint", () => {
  expect(paths.length).toBeGreaterThan(15);
  expect(postPaths).toEqual(
    expect.arrayContaining([
      "/token",
      "/introspect",
      "/revoke",
      "/userinfo",
      "/par",
      "/device_authorization",
      "/register",
    ]),
  );
});

describe("at every endpoint", () => {
  // `/` is a page for browsers, and an unknown path for other clients.
  test.each(paths.filter((path) => path !== "/"))(
    "%s: a method that it does not have is 405 with Allow",
    async (path) => {
      const response = await refused(path, { method: "PROPFIND" });
      expect([response.status, response.headers.get("allow")]).toEqual([405, expect.stringMatching(/GET|POST/)]);
    },
  );

  test.each(postPaths)(
    "%s: a body that it does not read, that is too large, or that has too many parameters",
    async (path) => {
      const post = (contentType: string, body: string) =>
        refused(path, { method: "POST", headers: { "content-type": contentType }, body });
      await post("text/plain", "x");
      await post("application/xml", "<x/>");
      // 404: /mail/events without the secret of a provider.
      expect([400, 401, 403, 404, 413]).toContain((await post(form, `x=${"y".repeat(70_000)}`)).status);
      await post(form, Array.from({ length: 70 }, (_, index) => `p${index}=1`).join("&"));
      await post(form, "client_id=a&client_id=b");
    },
  );

  // `/device` redirects callers without a session to the sign-in page, `/logout` to its question.
  test.each(postPaths.filter((path) => !["/device", "/logout"].includes(path)))(
    "%s: a script of another origin can read the id of an error where it can read the error",
    async (path) => {
      const headers = { origin: "https://app.example", "content-type": form };
      const response = await refused(path, { method: "POST", headers, body: "client_id=no-such-client" });
      if (response.headers.get("access-control-allow-origin") === null) return;
      expect(response.headers.get("access-control-expose-headers")).toContain("Request-Id");
    },
  );

  test("CORS is enabled where browser applications call", async () => {
    const allowed = await Promise.all(
      postPaths.map(async (path) => {
        const headers = { origin: "https://app.example", "access-control-request-method": "POST" };
        const response = await fetch(`${provider.origin}${path}`, { method: "OPTIONS", headers });
        if (response.status >= 400) expectId(response);
        await response.arrayBuffer();
        return response.status === 204 ? [path] : [];
      }),
    );
    expect(allowed.flat().toSorted()).toEqual([
      "/device_authorization",
      "/par",
      "/register",
      "/revoke",
      "/token",
      "/userinfo",
    ]);
  });
});

describe("in every form", () => {
  test("a challenge only, and a challenge with an error", async () => {
    const none = await refused("/userinfo");
    expect(none.headers.get("www-authenticate")).toMatch(/^Bearer realm="[^"]+", DPoP /);
    await refused("/userinfo", { headers: { authorization: "Bearer x" } });
    await refused("/userinfo", { headers: { authorization: "DPoP x" } });
    await refused("/userinfo?access_token=x");
    await refused("/token", { method: "POST", headers: { authorization: "Basic eDp5" }, body: new URLSearchParams() });
  });

  test("the admin API: no token, a wrong path, a wrong method", async () => {
    await refused("/admin/clients");
    await refused("/admin/clients/x", { method: "PUT" });
    await refused("/admin/nothing");
    await refused("/admin/clients", { method: "POST", headers: { authorization: "Bearer x" }, body: "{}" });
    const list = await fetch(`${provider.origin}/admin/openapi.json`);
    expect([list.status, list.headers.get("request-id")]).toEqual([200, null]);
  });

  test("an unknown path: JSON, a page, and the response to HEAD", async () => {
    expect((await refused("/nothing")).headers.get("content-type")).toBe("application/json");
    const html = await refused("/nothing", { headers: { accept: "text/html" } });
    expect(await html.text()).toContain(html.headers.get("request-id"));
    await refused("/nothing", { method: "HEAD" });
    await refused("/assets/nothing.js");
  });

  test("an error page shows the id in its header", async () => {
    for (const path of ["/authorize?client_id=no-such-client", "/flow/sign-in?f=x", "/flow/consent?f=x"]) {
      const response = await refused(path);
      expect(await response.text(), path).toContain(response.headers.get("request-id"));
    }
  });
});

describe("RFC 6749 §4.1.2.1: an error sent to the client", () => {
  let application: Application;

  beforeAll(async () => {
    application = await Application.register(fixtures);
  });

  test.each(["query", "fragment", "jwt", "fragment.jwt"])(
    "response_mode=%s: the redirect has the id, its parameters do not",
    async (mode) => {
      const url = application.authorizationUrl({ scope: "nothing", response_mode: mode });
      const response = await fetch(onOrigin(url), { redirect: "manual" });
      expect(response.status).toBe(303);
      expectId(response);
      const location = new URL(response.headers.get("location")!);
      const names = [...new URLSearchParams(location.search || location.hash.slice(1)).keys()];
      expect(names).toEqual(mode.endsWith("jwt") ? ["response"] : ["error", "error_description", "state", "iss"]);
    },
  );

  test.each(["form_post", "form_post.jwt"])("response_mode=%s: the page that posts it has the id", async (mode) => {
    const url = application.authorizationUrl({ scope: "nothing", response_mode: mode });
    const response = await fetch(onOrigin(url), { redirect: "manual" });
    expect(response.status).toBe(200);
    expectId(response);
  });

  test("prompt=none without a session", async () => {
    const response = await fetch(onOrigin(application.authorizationUrl({ prompt: "none" })), { redirect: "manual" });
    expect(new URL(response.headers.get("location")!).searchParams.get("error")).toBe("login_required");
    expectId(response);
  });
});

function onOrigin(url: URL): string {
  return `${provider.origin}${url.href.slice(provider.issuer.length)}`;
}
