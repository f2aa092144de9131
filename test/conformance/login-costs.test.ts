/**
 * **The storage calls of warm requests of the login side**, from `Server-Timing`. Uses a separate provider, because administrative changes of another
 * file would cause further reads. Leases are renewed in the background of some requests, so the median counts.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application, allScopes, redirectUri } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

interface Cost {
  readonly object: number;
  readonly kv: number;
  readonly d1: number;
}

const samples = 9;

let provider: LocalProvider;
let application: Application;
let browser: Person;

beforeAll(async () => {
  // Long leases, so that a busy machine does not make this provider look cold.
  provider = await startLocalProvider({ vars: { SERVER_TIMING: "true", LEASE_MS: "10000" } });
  const fixtures = new ProviderFixtures(provider);
  application = await Application.register(fixtures, { skip_consent: true });
  browser = (await registerPerson(fixtures)).browser();
  await application.signIn(browser, { scope: allScopes });
});

afterAll(() => provider.stop());

function costOf(response: { readonly headers: Headers }): Cost {
  const metrics = response.headers.get("server-timing")!.matchAll(/(\w+);dur=(\d+)/g);
  return Object.fromEntries([...metrics].map(([, name, count]) => [name!, Number(count)])) as unknown as Cost;
}

/** Each metric's median, after the same number of requests to warm up. */
async function typicalCost(request: () => Promise<{ readonly headers: Headers }>): Promise<Cost> {
  const costs: Cost[] = [];
  for (let count = 0; count < 2 * samples; count += 1) {
    const cost = costOf(await request());
    if (count >= samples) costs.push(cost);
  }
  const median = (name: keyof Cost) => costs.map((cost) => cost[name]).sort((a, b) => a - b)[(samples - 1) / 2]!;
  return { object: median("object"), kv: median("kv"), d1: median("d1") };
}

function authorizeSilently(scope: string): Promise<Response> {
  return browser.send(application.authorizationUrl({ prompt: "none", scope }));
}

async function redeem(scope: string) {
  const location = (await authorizeSilently(scope)).headers.get("location")!;
  return application.redeem({ authorizationResponse: new URL(location).searchParams });
}

test("silent authorize: 1 object call, 0 KV, 0 D1", async () => {
  const cost = await typicalCost(async () => {
    const response = await authorizeSilently("openid");
    expect(response.headers.get("location")).toMatch(`${redirectUri}?code=`);
    return response;
  });
  expect(cost).toEqual({ object: 1, kv: 0, d1: 0 });
});

test("code exchange: at most 3 object calls, 0 KV, 0 D1, with and without a refresh token", async () => {
  for (const scope of ["openid profile", allScopes]) {
    const { object, ...others } = await typicalCost(() => redeem(scope));
    expect(object).toBeLessThanOrEqual(3);
    expect(others).toEqual({ kv: 0, d1: 0 });
  }
});

test("refresh: 1 object call, 0 KV, 0 D1", async () => {
  let { refreshToken } = await application.signIn(browser, { scope: allScopes });
  const cost = await typicalCost(async () => {
    const response = await application.refresh(refreshToken);
    expect(response.status).toBe(200);
    refreshToken = String(response.body["refresh_token"]);
    return response;
  });
  expect(cost).toEqual({ object: 1, kv: 0, d1: 0 });
});

test("UserInfo and introspection: no call", async () => {
  const { accessToken } = await application.signIn(browser, { scope: "openid profile" });
  const fixtures = new ProviderFixtures(provider);
  const nothing = { object: 0, kv: 0, d1: 0 };
  expect(await typicalCost(() => fixtures.userinfo(accessToken))).toEqual(nothing);
  expect(await typicalCost(() => fixtures.introspect(application.client, accessToken))).toEqual(nothing);
});
