/**
 * **`GET /admin/refusals`** (ADR 57): a request that any endpoint refused is found by the `Request-Id` of its response, with the reason, what was
 * sent, what is registered and what to change, and without a secret, a token or a code.
 */

import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

interface Refusal {
  readonly request_id: string;
  readonly endpoint: string;
  readonly method: string;
  readonly client_id?: string;
  readonly is_authenticated: boolean;
  readonly error: string;
  readonly reason: string;
  readonly explanation: string;
  readonly remedy: string;
  readonly documentation: string;
  readonly parameters: readonly { readonly name: string; readonly sent: string[]; readonly registered?: string[] }[];
}

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let service: TestClient;
let web: TestClient;
const registered = "https://app.example/callback";
const wrongSecret = "wrong-secret-that-nobody-may-read";
const secretCode = "code-that-nobody-may-read";

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape") });
  fixtures = new ProviderFixtures(provider);
  service = await fixtures.client();
  web = await fixtures.client({
    grant_types: ["authorization_code"],
    response_types: ["code"],
    redirect_uris: [registered],
    scope: "openid",
  });
});
afterAll(() => provider.stop());

/** A report waits a second, and five in a busy deployment. */
const reported = { timeout: 20_000, interval: 250 };

async function list(query: Readonly<Record<string, string>>): Promise<readonly Refusal[]> {
  const body = await fixtures.admin.require("GET", `/refusals?${new URLSearchParams(query)}`);
  return body["refusals"] as readonly Refusal[];
}

function find(response: Response): Promise<Refusal> {
  const id = response.headers.get("request-id")!;
  return vi.waitUntil(async () => (await list({ request_id: id }))[0], reported);
}

const post = (path: string, fields: Readonly<Record<string, string>>, authorization?: string) =>
  fetch(`${provider.origin}${path}`, {
    method: "POST",
    body: new URLSearchParams(fields),
    ...(authorization === undefined ? {} : { headers: { authorization } }),
    redirect: "manual",
  });
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${provider.origin}${path}`, { headers, redirect: "manual" });
const authorize = (more: Readonly<Record<string, string>>) =>
  get(
    `/authorize?${new URLSearchParams({
      ...{ client_id: web.client_id, redirect_uri: registered, response_type: "code", scope: "openid" },
      ...{ code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" },
      ...more,
    })}`,
  );
const basic = (client: TestClient, secret: string) => `Basic ${btoa(`${client.client_id}:${secret}`)}`;
const parameterOf = (refusal: Refusal, name: string) => refusal.parameters.find((parameter) => parameter.name === name);

describe("each endpoint's refusals are found by the id in the response", () => {
  const refusals: readonly (readonly [string, () => Promise<Response>, Partial<Refusal>])[] = [
    [
      "/token, a wrong secret",
      () => post("/token", { grant_type: "client_credentials" }, basic(service, wrongSecret)),
      { endpoint: "/token", method: "POST", reason: "client-secret-wrong", is_authenticated: false },
    ],
    [
      "/token, an unknown client",
      () => post("/token", { grant_type: "client_credentials", client_id: "nobody", client_secret: wrongSecret }),
      { reason: "client-unknown", client_id: "nobody" },
    ],
    [
      "/token, another authentication method than the registered one",
      () => post("/token", { grant_type: "client_credentials", client_id: service.client_id }),
      { reason: "client-method-differs" },
    ],
    [
      "/token, an unknown grant type",
      () => post("/token", { grant_type: "password", password: wrongSecret }, service.authorization),
      { reason: "grant-type-unknown", is_authenticated: true },
    ],
    [
      "/token, a scope that is not registered",
      () => post("/token", { grant_type: "client_credentials", scope: "read admin:keys" }, service.authorization),
      { reason: "scope-not-registered", is_authenticated: true },
    ],
    [
      "/token, an invalid code",
      () =>
        post(
          "/token",
          { grant_type: "authorization_code", code: secretCode, redirect_uri: registered },
          web.authorization,
        ),
      { reason: "code-invalid" },
    ],
    [
      "/authorize, a redirect URI that is not registered",
      () => authorize({ redirect_uri: "https://app.example/cb?token=nobody-may-read" }),
      { endpoint: "/authorize", method: "GET", reason: "redirect-uri-not-registered" },
    ],
    [
      "/authorize, an unknown client",
      () => authorize({ client_id: "nobody" }),
      { reason: "client-unknown", client_id: "nobody" },
    ],
    [
      "/authorize, sent to the client: another response type",
      () => authorize({ response_type: "token" }),
      { reason: "response-type-unsupported" },
    ],
    [
      "/authorize, sent to the client: nobody is signed in",
      () => authorize({ prompt: "none" }),
      { error: "login_required" },
    ],
    [
      "/par, a redirect URI that is not registered",
      () =>
        post(
          "/par",
          { response_type: "code", redirect_uri: "https://evil.example/", scope: "openid" },
          web.authorization,
        ),
      { endpoint: "/par", reason: "redirect-uri-not-registered", is_authenticated: true },
    ],
    [
      "/introspect, without credentials",
      () => post("/introspect", { token: secretCode }),
      { endpoint: "/introspect", reason: "client-authentication-missing" },
    ],
    [
      "/revoke, a wrong secret",
      () => post("/revoke", { token: secretCode }, basic(service, wrongSecret)),
      { endpoint: "/revoke", reason: "client-secret-wrong" },
    ],
    [
      "/device_authorization, a client without the grant",
      () => post("/device_authorization", { scope: "read" }, service.authorization),
      { endpoint: "/device_authorization", reason: "grant-type-not-registered" },
    ],
    [
      "/userinfo, an invalid token",
      () => get("/userinfo", { authorization: `Bearer ${secretCode}` }),
      { endpoint: "/userinfo", method: "GET", reason: "access-token-invalid" },
    ],
    [
      "/register, without metadata",
      () =>
        fetch(`${provider.origin}/register`, {
          method: "POST",
          body: "{}",
          headers: { "content-type": "application/json" },
        }),
      { endpoint: "/register", reason: "fields-invalid" },
    ],
    [
      "the admin API, without a token",
      () => get("/admin/clients/nobody"),
      { endpoint: "/admin/clients/{client_id}", reason: "access-token-missing" },
    ],
    ["the admin API, an unknown path", () => get("/admin/nothing"), { endpoint: "/admin/*", reason: "path-unknown" }],
  ];

  test.each(refusals)("%s", async (_, send, expected) => {
    const response = await send();
    const refusal = await find(response);
    expect(refusal).toMatchObject({ ...expected, request_id: response.headers.get("request-id") });
    for (const text of [refusal.explanation, refusal.remedy]) expect(text).toMatch(/\.$/);
    expect(refusal.documentation).toMatch(/^docs\/[a-z/-]+\.md$/);
  });
});

describe("what was sent is beside what is registered now", () => {
  test("the redirect URI, the scope, and the method of authentication", async () => {
    const uri = await find(await authorize({ redirect_uri: "https://app.example/cb?x=nobody-may-read" }));
    expect(parameterOf(uri, "redirect_uri")).toEqual({
      name: "redirect_uri",
      sent: ["https://app.example/cb?x=…"],
      registered: [registered],
    });
    const scope = await find(
      await post("/token", { grant_type: "client_credentials", scope: "read other" }, service.authorization),
    );
    expect(parameterOf(scope, "scope")).toEqual({
      name: "scope",
      sent: ["read", "other"],
      registered: ["read", "write"],
    });
    const method = await find(await post("/token", { grant_type: "client_credentials", client_id: service.client_id }));
    expect(parameterOf(method, "token_endpoint_auth_method")).toEqual({
      name: "token_endpoint_auth_method",
      sent: ["none"],
      registered: ["client_secret_basic"],
    });
  });

  test("RFC 9126: of a pushed request, what was pushed", async () => {
    const pushed = await post(
      "/par",
      {
        ...{ response_type: "code", redirect_uri: registered, scope: "openid", prompt: "none" },
        ...{ code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" },
      },
      web.authorization,
    );
    const { request_uri: requestUri } = (await pushed.json()) as { request_uri: string };
    const query = new URLSearchParams({ client_id: web.client_id, request_uri: requestUri });
    const refusal = await find(await get(`/authorize?${query}`));
    expect(refusal).toMatchObject({ client_id: web.client_id, error: "login_required" });
    expect(parameterOf(refusal, "redirect_uri")).toMatchObject({ sent: [registered], registered: [registered] });
    expect(JSON.stringify(refusal)).not.toContain(requestUri);
  });
});

describe("the list", () => {
  test("of a client is newest first and paged; no row has a secret, a token or a code", async () => {
    const all = await list({ client_id: service.client_id, limit: "200" });
    expect(all.length).toBeGreaterThan(4);
    expect(all.every(({ client_id: id }) => id === service.client_id)).toBe(true);
    const paged: Refusal[] = [];
    let cursor: string | undefined;
    do {
      const query = new URLSearchParams({ client_id: service.client_id, limit: "2", ...(cursor && { cursor }) });
      const body = await fixtures.admin.require("GET", `/refusals?${query}`);
      paged.push(...(body["refusals"] as Refusal[]));
      cursor = body["next_cursor"] as string | undefined;
    } while (cursor !== undefined);
    expect(paged).toEqual(all);

    const text = JSON.stringify(await list({ limit: "200" }));
    for (const secret of [wrongSecret, secretCode, "nobody-may-read", service.client_secret, web.client_secret])
      expect(text).not.toContain(secret);
  });

  test("requires admin:audit, and refuses a cursor that is not its own", async () => {
    const { access_token: token } = (await (
      await post("/token", { grant_type: "client_credentials" }, service.authorization)
    ).json()) as { access_token: string };
    const headers = { authorization: `Bearer ${token}` };
    expect((await get("/admin/refusals", headers)).status).toBeGreaterThanOrEqual(401);
    for (const cursor of ["x", "LTE", "%25"]) {
      const { status } = await fixtures.admin.call("GET", `/refusals?cursor=${cursor}`);
      expect(status).toBe(400);
    }
    expect(await list({ request_id: "no-such-request" })).toEqual([]);
  });
});
