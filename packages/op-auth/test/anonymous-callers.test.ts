import { countCalls } from "@edge-op/shared/http/count-calls";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  authEnv,
  authorizationPath,
  authorizationQuery,
  codeClient,
  locationOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

useAnnouncedSetUp();

/** The storage and look-ups that unauthenticated callers can cause. */
const counts = { object: 0, kv: 0, d1: 0 };
let bindings: AuthEnv;

const { fixtures } = useDeployment({ token_endpoint_auth_method: "client_secret_post" });

beforeEach(async () => {
  const publicClient = { ...codeClient, token_endpoint_auth_method: "none", audiences: [] } as const;
  await seedClient(authEnv, "public", publicClient);
  bindings = countCalls(authEnv, counts);
  // Warm: the client is cached and the control version is known.
  for (let warmUp = 0; warmUp < 3; warmUp += 1)
    await fixtures.browser(bindings).get(authorizationPath({ prompt: "none" }));
  Object.assign(counts, { object: 0, kv: 0, d1: 0 });
});

const posted = (parameters: Record<string, string | undefined>) => Object.fromEntries(authorizationQuery(parameters));

describe("POST /logout without a session", () => {
  it("stores nothing for a caller without an ID token: the parameters stay in the query", async () => {
    const response = await fixtures.browser(bindings).post("/logout", { state: "s", ui_locales: "de" });
    expect(locationOf(response)).toBe("/logout?state=s&ui_locales=de");
    expect(locationOf(await fixtures.browser(bindings).post("/logout", {}))).toBe("/logout");
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("stores neither a forged ID token, which it forgets, nor an overlong state, which it refuses", async () => {
    const forged = await fixtures.browser(bindings).post("/logout", { id_token_hint: "x".repeat(60_000) });
    expect([forged.status, locationOf(forged).includes("xxx")]).toEqual([303, false]);
    expect((await fixtures.browser(bindings).post("/logout", { state: "x".repeat(60_000) })).status).toBe(413);
    expect(counts.object).toBe(0);
  });
});

describe("POST /authorize without a session", () => {
  it("stores nothing for a refused request", async () => {
    const refused = [
      posted({ client_id: "nobody" }),
      posted({ redirect_uri: "https://evil.example.com/" }),
      posted({ scope: "x".repeat(60_000) }),
      posted({ request: "x".repeat(60_000) }),
      posted({ code_challenge_method: "plain" }),
    ];
    for (const fields of refused) {
      const response = await fixtures.browser(bindings).post("/authorize", fields);
      expect(response.headers.get("location") ?? "").not.toContain("request_uri");
    }
    expect(counts.object).toBe(0);
  });

  it("RFC 9126 §4: a pushed request is identified by its request_uri, and nothing is stored for it", async () => {
    const requestUri = "urn:ietf:params:oauth:request_uri:ch.g1.wnam.0.AAAA";
    const response = await fixtures.browser(bindings).post("/authorize", { client_id: "app", request_uri: requestUri });
    const next = new URL(locationOf(response), "https://op.example.com");
    expect([next.pathname, next.searchParams.get("request_uri")]).toEqual(["/authorize", requestUri]);
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });
});

describe("RFC 6585 §4: pages that need no authentication are limited by address", () => {
  const limiter: RateLimit = { limit: async () => ({ success: false }) };

  const flow = "f=ch.g1.wnam.0.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  const stored = "request_uri=urn:ietf:params:oauth:request_uri:ch.g1.wnam.0.AAAA";

  /** Every route of op-auth that calls a store for any caller, with invented ids. Assets and unknown paths are not included. */
  const routes: readonly (readonly ["GET" | "POST", string])[] = [
    ["GET", "/authorize?client_id=nobody1"],
    ["GET", `/authorize?client_id=app&${stored}`],
    ["POST", "/authorize"],
    ["GET", "/logout?client_id=nobody2"],
    ["GET", "/logout?request=ch.g1.wnam.0.AAAA"],
    ["POST", "/logout"],
    ["POST", "/logout/confirm"],
    ...["sign-in", "select-account", "consent"].flatMap(
      (step) =>
        [
          ["GET", `/flow/${step}?${flow}`],
          ["POST", `/flow/${step}?${flow}`],
        ] as const,
    ),
    ["GET", `/flow/restart?${flow}`],
    ["GET", "/device"],
    ["GET", "/device?user_code=BCDF-GHJK"],
    ["POST", "/device"],
    ["GET", "/"],
    ...["/account", "/account/passkeys", "/account/password", "/account/consents", "/account/sessions"].map(
      (path) => ["GET", path] as const,
    ),
    ...["remove", "rename"].map((action) => ["GET", `/account/passkeys/${action}?credential_id=x`] as const),
    ["GET", "/account/consents/remove?client_id=app"],
    ["GET", "/account/sessions/end?sid=x"],
    ["GET", "/account/sessions/end-others"],
    ...[
      ...["passkeys", "passkeys/remove", "passkeys/rename", "consents"],
      ...["password", "sessions/end-others", "sessions"],
    ].map((action) => ["POST", `/account/${action}`] as const),
    ["POST", "/par"],
    ["POST", "/device_authorization"],
  ];

  it.each(routes)("%s %s is refused without a call when its address is over the limit", async (method, path) => {
    const limited = { ...bindings, ADDRESS_RATE_LIMIT: limiter, TRUST_FORWARDED_HEADERS: "true" };
    const browser = fixtures.browser(limited);
    browser.cookies.set("__Host-op-session", "ss.g1.wnam.0.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA1");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const request = () => ({
      headers: { "cf-connecting-ip": "192.0.2.1", ...(method === "POST" ? form : {}) },
      ...(method === "POST" ? { method, body: authorizationQuery({ client_id: "public" }).toString() } : {}),
    });
    expect((await browser.send(path, request())).status).not.toBe(429);
    Object.assign(counts, { object: 0, kv: 0, d1: 0 });
    const refused = await browser.send(path, request());
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it.each(["/par", "/device_authorization"])(
    "%s of a client that authenticates is not counted by address",
    async (path) => {
      const limited = { ...bindings, ADDRESS_RATE_LIMIT: limiter, TRUST_FORWARDED_HEADERS: "true" };
      const { clientId, clientSecret } = fixtures.client;
      for (let count = 0; count < 3; count += 1) {
        const fields = { ...posted({}), client_id: clientId, client_secret: clientSecret };
        expect((await fixtures.browser(limited).post(path, fields)).status).not.toBe(429);
      }
    },
  );
});
