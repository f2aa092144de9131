/** **Tests that wait for real time**, run concurrently, with a refresh grace of a second. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { Application, allScopes } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let person: RegisteredPerson;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape"), vars: { REFRESH_GRACE: "1" } });
  fixtures = new ProviderFixtures(provider);
  application = await Application.register(fixtures);
  person = await registerPerson(fixtures);
});

afterAll(() => provider.stop());

describe.concurrent("after a delay", () => {
  test("max-age-1, OIDC Core §3.1.2.1: a sign-in older than a second is repeated, with a new auth_time", async () => {
    const browser = person.browser();
    const first = await application.signIn(browser);
    await sleep(2_100);
    const { pages, claims } = await application.signIn(browser, { max_age: "1" });
    expect(pages).toEqual(["sign-in"]);
    expect(claims.sub).toBe(first.claims.sub);
    expect(claims.auth_time).toBeGreaterThan(first.claims.auth_time!);
  });

  test("max-age-1 with prompt=none is login_required", async () => {
    const browser = person.browser();
    await application.signIn(browser);
    await sleep(2_100);
    const { authorizationResponse } = await application.authorize(browser, { max_age: "1", prompt: "none" });
    expect(authorizationResponse.get("error")).toBe("login_required");
  });

  test("prompt-login: the new sign-in is the later one", async () => {
    const browser = person.browser();
    const first = await application.signIn(browser);
    await sleep(1_100);
    const { claims } = await application.signIn(browser, { prompt: "login" });
    expect(claims.auth_time).toBeGreaterThan(first.claims.auth_time!);
  });

  test("codereuse-30seconds, RFC 6749 §4.1.2: a code used again later is refused, and its tokens are revoked", async () => {
    const signIn = await application.authorize(person.browser(), { scope: allScopes, prompt: "consent" });
    const tokens = await application.readTokens(await application.redeem(signIn));
    // op-state's tests show, with simulated time, that a code is remembered for a day.
    await sleep(2_000);
    const again = await application.redeem(signIn);
    expect([again.status, again.body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await fixtures.userinfo(tokens.accessToken)).status).toBe(401);
    expect((await application.refresh(tokens.refreshToken)).body["error"]).toBe("invalid_grant");
  });

  test("R3: a refresh token used again after the grace is theft at distance 1", async () => {
    const { refreshToken } = await application.signIn(person.browser(), { scope: allScopes, prompt: "consent" });
    const next = await application.readTokens(await application.refresh(refreshToken));
    await sleep(2_100);
    expect((await application.refresh(refreshToken)).body["error"]).toBe("invalid_grant");
    expect((await fixtures.userinfo(next.accessToken)).status).toBe(401);
    expect((await application.refresh(next.refreshToken)).body["error"]).toBe("invalid_grant");
  });
});
