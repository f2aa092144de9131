import { createExecutionContext } from "cloudflare:test";
import { loggedUri, OAuthError, refusalOfObject, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { refusalReasons } from "@edge-op/protocol/oauth/refusal-reasons";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SettingsVariables } from "../../src/config/settings.ts";
import { renderJson, reportFailure } from "../../src/http/failure.ts";
import { JsonResponse } from "../../src/http/json-response.ts";
import { readJson } from "../../src/http/read-form.ts";
import { jsonBody, receiveRequest } from "../../src/http/received-request.ts";
import { createRequestContext, withMembers } from "../../src/http/request-context.ts";
import { Router } from "../../src/http/router.ts";
import { serveEndpoint } from "../../src/http/serve-endpoint.ts";

let lines: [level: string, line: Record<string, unknown>][];

beforeEach(() => {
  lines = [];
  for (const level of ["info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => {
      lines.push([level, JSON.parse(line) as Record<string, unknown>]);
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("an error is logged once and rendered as JSON", () => {
  it("RFC 6749 §5.2: a refusal has the fixed text of its code; the detail is only logged", () => {
    const headers = { "WWW-Authenticate": "Basic" };
    const detail = "wrong secret";
    const response = renderJson(
      reportFailure(new OAuthError("invalid_client", "client-secret-wrong", { headers, detail }), { requestId: "r1" }),
    );
    expect(response).toMatchObject({
      status: 401,
      headers,
      body: { error: "invalid_client", error_description: "Client authentication failed." },
    });
    expect(lines).toEqual([
      ["info", { event: "refused", code: "invalid_client", reason: "client-secret-wrong", detail, requestId: "r1" }],
    ]);
  });

  it("the reason is the code of the refusal, regardless of the detail's text", () => {
    for (const detail of ["one text", "another text with 3 numbers", undefined]) {
      reportFailure(new OAuthError("invalid_grant", "code-expired", { detail }), { requestId: "r1" });
    }
    expect(lines.map(([, { reason, detail }]) => [reason, detail])).toEqual([
      ["code-expired", "one text"],
      ["code-expired", "another text with 3 numbers"],
      ["code-expired", refusalReasons["code-expired"]],
    ]);
  });

  it("an unknown reason from an object of another release is a detail; a known one is the reason", () => {
    reportFailure(refusalOfObject({ kind: "invalid_grant", reason: "expired code" }), { requestId: "r1" });
    reportFailure(refusalOfObject({ kind: "invalid_grant", reason: "code-expired" }), { requestId: "r1" });
    expect(lines.map(([, { reason, detail }]) => [reason, detail])).toEqual([
      ["refused-by-object", "expired code"],
      ["code-expired", refusalReasons["code-expired"]],
    ]);
  });

  it("unavailability is 503 with Retry-After and Request-Id", () => {
    const response = renderJson(
      reportFailure(new UnavailableError("D1", new Error("overloaded")), { requestId: "r2" }),
    );
    expect(response).toMatchObject({
      status: 503,
      headers: { "Retry-After": "1", "Request-Id": "r2" },
      body: { error: "temporarily_unavailable" },
    });
    expect(lines).toEqual([
      ["error", { event: "unavailable", store: "D1", cause: "Error: overloaded", requestId: "r2" }],
    ]);
  });

  it.each([[new TypeError("undefined is not a function")], ["a string"]])(
    "a bug is 500 with a constant body: %s",
    (error) => {
      const response = renderJson(reportFailure(error, { requestId: "r3" }));
      expect(response.status).toBe(500);
      expect(response.body).toEqual({
        error: "server_error",
        error_description: "An internal error occurred. The request id identifies the log entry.",
        fields: undefined,
      });
      const text = error instanceof Error ? error.stack : error;
      expect(lines).toEqual([["error", { event: "bug", error: text, requestId: "r3" }]]);
    },
  );

  it("work without a request has no request id", () => {
    expect(reportFailure(new UnavailableError("D1", "away")).headers).toEqual({ "Retry-After": "1" });
    expect(lines).toEqual([["error", { event: "unavailable", store: "D1", cause: "away" }]]);
  });
});

it("a body that is not JSON is refused, and no part of it is logged", async () => {
  const body = '{"password": "correct horse" x}';
  const headers = { "Content-Type": "application/json" };
  const request = new Request("https://op.example.com/admin/users", { method: "POST", headers, body });
  const received = await receiveRequest(request, jsonBody("application/json"));
  let caught: unknown;
  try {
    readJson(received);
  } catch (error) {
    caught = error;
  }
  expect(reportFailure(caught, { requestId: "r4" })).toMatchObject({
    status: 400,
    description: "The body is not JSON.",
  });
  expect(lines).toEqual([
    [
      "info",
      {
        event: "refused",
        code: "invalid_request",
        reason: "body-not-json",
        detail: "The body is not JSON.",
        requestId: "r4",
      },
    ],
  ]);
});

it.each([
  [{ ISSUER: "op.example.com" }, "ISSUER must be"],
  [{ ISSUER: "https://op.example.com", LEASE_MS: "soon" }, "LEASE_MS must be"],
])("an invalid setting is a bug for every request, logged once: %j", async (settings, message) => {
  const router = new Router<SettingsVariables>();
  serveEndpoint(router, "/token", { POST: async () => new JsonResponse({}) });
  const request = new Request("https://op.example.com/token", { method: "POST", headers: { "cf-ray": "r5" } });
  const response = await router.fetch(request, settings, createExecutionContext());
  expect(response.status).toBe(500);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "cache-control": "no-store",
    "content-type": "application/json",
    "request-id": "r5",
    "x-content-type-options": "nosniff",
  });
  expect(await response.json()).toEqual({
    error: "server_error",
    error_description: "An internal error occurred. The request id identifies the log entry.",
  });
  expect(lines).toEqual([
    ["error", { event: "bug", error: expect.stringContaining(message) as string, requestId: "r5" }],
  ]);
});

describe("the client of a refused request", () => {
  const settings = { ISSUER: "https://op.example.com" };
  const refusal = () => new OAuthError("invalid_request", "parameter-missing");

  it.each([
    ["that has authenticated", { clientId: "app", claimedClientId: "other" }, { clientId: "app" }],
    ["that it names", { claimedClientId: "app" }, { claimedClientId: "app" }],
    ["that it does not name", {}, {}],
    [
      "with control characters and others than ASCII",
      { claimedClientId: 'a"\n\u001b[2J\u202eé😀' },
      { claimedClientId: 'a"\\u{a}\\u{1b}[2J\\u{202e}\\u{e9}\\u{1f600}' },
    ],
    ["that is long", { claimedClientId: "x".repeat(10_000) }, { claimedClientId: `${"x".repeat(200)}…` }],
  ])("%s", (_, progress, expected) => {
    const context = createRequestContext(new Request("https://op.example.com/"), settings, createExecutionContext());
    reportFailure(refusal(), withMembers(context, { progress: { controlConfirmed: false, ...progress } }));
    const { clientId, claimedClientId } = lines[0]![1];
    expect({ clientId, claimedClientId }).toEqual({ clientId: undefined, claimedClientId: undefined, ...expected });
  });
});

it.each([
  ["https://app.example/cb", "https://app.example/cb"],
  ["https://app.example/cb?code=secret&state=s&x", "https://app.example/cb?code=…&state=…&…"],
  ["https://app.example/cb#access_token=secret", "https://app.example/cb#…"],
  ["https://app.example/cb?a=1?b#c=secret", "https://app.example/cb?a=…#…"],
  ["https://user:secret@app.example/cb", "https://…@app.example/cb"],
  ["com.example.app:/cb?secret", "com.example.app:/cb?…"],
  ["//user:secret@app.example", "//…@app.example"],
  ["javascript:alert(1)\n", "javascript:alert(1)\\u{a}"],
  ["not a uri", "not a uri"],
  ["", ""],
  [`https://app.example/${"x".repeat(1000)}`, `https://app.example/${"x".repeat(180)}…`],
])("a refused redirect URI %j is logged as %j", (uri, logged) => {
  expect(loggedUri(uri)).toBe(logged);
});
