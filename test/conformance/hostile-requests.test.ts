import { connect } from "node:net";
import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { runCount } from "../simulation/run-count.ts";
import { grantTypes, tokenTypes } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/**
 * No request of a client may cause a 5xx: random requests, mostly half-valid ones, at every endpoint. fast-check prints the seed and the smallest
 * request of a failure.
 */
const msAProperty = runCount(1_500, 6_000);
const registeredRedirect = "https://app.example.com/callback";

/** Live values, so that a request passes the first check. */
const live: Record<"clientId" | "authorization" | "accessToken" | "assertion", string> = {
  clientId: "",
  authorization: "",
  accessToken: "",
  assertion: "",
};

beforeAll(async () => {
  const user = await fixtures.user();
  const client = await fixtures.asserter({
    grant_types: [
      "authorization_code",
      "refresh_token",
      "client_credentials",
      grantTypes.jwtBearer,
      grantTypes.tokenExchange,
    ],
    response_types: ["code"],
    redirect_uris: [registeredRedirect],
    require_pkce: false,
    token_exchange: {
      subject_clients: ["*"],
      audiences: ["*"],
      resources: ["*"],
      scopes: ["*"],
      modes: ["delegation"],
    },
  });
  live.clientId = client.client_id;
  live.authorization = client.authorization;
  live.accessToken = await fixtures.userToken(client, user);
  live.assertion = await fixtures.assertion(client, user);
});

const parameterNames = [
  ...["grant_type", "scope", "audience", "resource", "code", "code_verifier", "redirect_uri", "refresh_token"],
  ...["subject_token", "subject_token_type", "actor_token", "actor_token_type", "requested_token_type", "assertion"],
  ...["client_id", "client_secret", "client_assertion", "client_assertion_type", "token", "token_type_hint"],
  ...["access_token", "response_type", "response_mode", "state", "nonce", "prompt", "max_age", "claims", "request"],
  ...["request_uri", "id_token_hint", "login_hint", "ui_locales", "acr_values", "code_challenge", "registration"],
  ...["code_challenge_method", "post_logout_redirect_uri", "__proto__", "constructor", "toString", ""],
];

const shapedValues = [
  ...Object.values(grantTypes),
  ...Object.values(tokenTypes),
  ...["authorization_code", "refresh_token", "client_credentials", "code", "none", "login", "query", "form_post"],
  ...["openid", "read", "openid offline_access", "S256", "plain", "-1", "1e999", "9".repeat(30), "__proto__"],
  ...["toString", "\u0000", "\ufeff", "\r\nX-Injected: 1", "%00", "%", "\\", "../../admin", "x".repeat(600)],
  ...["ac.g1.wnam.0.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "ac.g999999.zzzzzzzz.999999.A", "ac.g1.wnam.0."],
  ...["rt.g1.wnam.0.AAAA.0.AAAA", "rt.g999999.xx.999999.AAAA.999999.AAAAAAAAAAAAAAAAAAAAAA", "rt.", "rt.g1.__proto__"],
  ...["urn:ietf:params:oauth:request_uri:ch.g1.wnam.0.AAAA", "urn:ietf:params:oauth:request_uri:", "https://[::1"],
  ...["eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA", "e30.e30.e30", "....", "a.b.c", "AAAA.".repeat(9)],
  ...[
    "{}",
    "[]",
    "null",
    '{"id_token":null}',
    '{"userinfo":{"__proto__":null}}',
    '{"id_token":{"acr":{"values":[{}]}}}',
  ],
  ...["http://127.0.0.1:99999/", "javascript:alert(1)", "https://app.example.com/callback#x", registeredRedirect],
  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
];

const value = fc.oneof(
  fc.constantFrom(...shapedValues),
  fc.constantFrom("clientId", "accessToken", "assertion").map((name) => `live:${name}`),
  fc.string({ unit: "binary", maxLength: 40 }),
);

/** `live:` values are only known once the tests run. */
function resolve(text: string): string {
  const name = /^live:(\w+)$/.exec(text)?.[1];
  return name === undefined ? text : (live[name as keyof typeof live] ?? text);
}

const authorization = fc.oneof(
  fc.constantFrom(undefined, "live:authorization", "Basic", "Basic ====", "Basic Og==", "Basic JTpv", "Bearer"),
  fc.constantFrom("live:accessToken", "", "x").map((token) => `Bearer ${token}`),
  fc.base64String({ maxLength: 40 }).map((text) => `Basic ${text}`),
);

const hostile = fc.record({
  path: fc.constantFrom(
    ...["/token", "/introspect", "/revoke", "/userinfo", "/par", "/authorize", "/logout", "/jwks", "/health"],
    ...["/.well-known/openid-configuration", "/flow/sign-in?f=AAAA", "/account", "/admin/clients"],
  ),
  method: fc.constantFrom("POST", "POST", "POST", "GET", "HEAD", "OPTIONS", "PUT"),
  fields: fc.array(fc.tuple(fc.constantFrom(...parameterNames), value), { maxLength: 10 }),
  authorization,
  contentType: fc.constantFrom(
    ...["application/x-www-form-urlencoded", "application/x-www-form-urlencoded", "application/json", "text/plain"],
    ...["application/x-www-form-urlencoded; charset=utf-16", "multipart/form-data; boundary=x", ""],
  ),
  accept: fc.constantFrom("*/*", "application/token-introspection+jwt", "application/json;q=0", ";;,,"),
  cookie: fc.constantFrom(
    "",
    "op-session=ss.g1.wnam.0.AAAA; op-browser=x",
    "op-session=__proto__",
    "=;;=",
    "op-known=.",
    "op-people=.",
  ),
});

type Hostile = typeof hostile extends fc.Arbitrary<infer T> ? T : never;

async function send({ path, method, fields, contentType, accept, cookie, ...rest }: Hostile): Promise<Response> {
  const parameters = new URLSearchParams(fields.map(([name, text]) => [name, resolve(text)])).toString();
  const headers = new Headers({ accept, cookie });
  if (contentType !== "") headers.set("content-type", contentType);
  const credentials = rest.authorization?.replace("live:accessToken", live.accessToken);
  if (credentials !== undefined) headers.set("authorization", resolve(credentials));
  const init: RequestInit = { method, headers, redirect: "manual" };
  return method === "POST" || method === "PUT"
    ? fetch(`${provider.origin}${path}`, { ...init, body: parameters })
    : fetch(`${provider.origin}${path}?${parameters}`, init);
}

/** Requirements on every response, for any request. */
async function requireSound(request: Hostile, response: Response): Promise<void> {
  const text = await response.text();
  const isPublic = /^\/(jwks|\.well-known)/.test(request.path);
  expect(response.status, text).toBeLessThan(500);
  if (response.status !== 204 && !(isPublic && response.ok)) {
    expect(response.headers.get("cache-control"), `${response.status}`).toBe("no-store");
  }
  expect(response.headers.get("x-injected")).toBeNull();
  expect(text).not.toMatch(/\n\s+at |TypeError|SyntaxError|SQLITE/);
  if (response.ok || !response.headers.get("content-type")?.includes("json") || text === "") return;
  const body = JSON.parse(text) as Record<string, unknown>;
  expect(body["error"]).toMatch(/^[a-z_]+$/);
  // RFC 6749 §5.2: no other characters, and nothing of the request is repeated in them.
  expect(body["error_description"]).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
}

describe("no client request causes a 5xx", () => {
  test("random requests get well-formed responses, and none is a 5xx", async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (request) => requireSound(request, await send(request))),
      { numRuns: 100_000, interruptAfterTimeLimit: msAProperty, markInterruptAsFailure: false },
    );
  });

  test("authenticated requests with one or two invalid parameters", async () => {
    const sound: Record<string, readonly (readonly [string, string])[]> = {
      "/token": [
        ["grant_type", grantTypes.tokenExchange],
        ["subject_token", "live:accessToken"],
        ["subject_token_type", tokenTypes.accessToken],
        ["actor_token", "live:accessToken"],
        ["actor_token_type", tokenTypes.accessToken],
      ],
      "/introspect": [["token", "live:accessToken"]],
      "/revoke": [["token", "rt.g1.wnam.0.AAAA.0.AAAA"]],
      "/par": [
        ["response_type", "code"],
        ["client_id", "live:clientId"],
        ["redirect_uri", registeredRedirect],
        ["scope", "openid"],
      ],
      "/authorize": [
        ["response_type", "code"],
        ["client_id", "live:clientId"],
        ["redirect_uri", registeredRedirect],
        ["scope", "openid"],
      ],
      "/logout": [["client_id", "live:clientId"]],
    };
    const broken = fc.tuple(fc.constantFrom(...Object.keys(sound)), hostile).map(([path, request]): Hostile => {
      const overrides = request.fields.slice(0, 2);
      const kept = sound[path]!.filter(([name]) => overrides.every(([other]) => other !== name));
      const isPage = path === "/authorize" || path === "/logout";
      return {
        ...request,
        path,
        method: isPage && request.method === "GET" ? "GET" : "POST",
        contentType: "application/x-www-form-urlencoded",
        authorization: isPage ? undefined : "live:authorization",
        fields: [...kept.map(([name, text]): [string, string] => [name, text]), ...overrides],
      };
    });
    await fc.assert(
      fc.asyncProperty(broken, async (request) => requireSound(request, await send(request))),
      { numRuns: 100_000, interruptAfterTimeLimit: msAProperty, markInterruptAsFailure: false },
    );
  });

  test.each(["/token", "/introspect", "/revoke", "/userinfo", "/par"])(
    "RFC 9112 §8: a body of %s that breaks off, or is framed wrongly, is 400",
    async (path) => {
      const length = await sendRaw(path, "Content-Length: 100\r\n\r\ngrant_type=x");
      const chunk = await sendRaw(path, "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n");
      const cut = await sendRaw(path, "Transfer-Encoding: chunked\r\n\r\n5\r\nab");
      // The platform may also close the connection without a response.
      for (const received of [length, chunk, cut]) expect(received).toMatch(/^(HTTP\/1\.1 400 |$)/);
    },
  );
});

/** Sends bytes that no client library would send, and reads the response to its end. */
function sendRaw(path: string, rest: string): Promise<string> {
  const { hostname, port, host } = new URL(provider.origin);
  const { promise, resolve: done } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes.toString();
  });
  socket.on("error", () => done(received));
  socket.on("close", () => done(received));
  socket.setTimeout(5_000, () => socket.destroy());
  socket.end(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n${rest}`,
  );
  return promise;
}
