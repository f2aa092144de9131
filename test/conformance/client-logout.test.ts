import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application, allScopes, goodbye, type Tokens } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";

/** Sign-out by the back end of an application or proxy, which has no cookie of the person's browser. */
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let server: TestClient;
let app: Application;
let neighbour: Application;
let pairwise: Application;
let person: RegisteredPerson;
let browser: Person;
const lines: string[] = [];

beforeAll(async () => {
  provider = await startLocalProvider({
    onLog: ({ message }) => lines.push(message),
  });
  fixtures = new ProviderFixtures(provider);
  server = await fixtures.resourceServer();
  app = await Application.register(fixtures, { skip_consent: true });
  neighbour = await Application.register(fixtures, { skip_consent: true });
  pairwise = await Application.register(fixtures, { skip_consent: true, subject_type: "pairwise" });
  person = await registerPerson(fixtures);
});
afterAll(() => provider.stop());
beforeEach(() => {
  browser = person.browser();
});

function logout(client: TestClient | undefined, form: Record<string, string>) {
  return postForm(`${provider.origin}/logout`, form, client && { authorization: client.authorization });
}

async function areLive({ accessToken, refreshToken }: Tokens, of: Application): Promise<readonly boolean[]> {
  const access = await fixtures.isActive(server, accessToken);
  return refreshToken === undefined ? [access] : [access, (await of.refresh(refreshToken)).status === 200];
}

async function isSignedIn(at: Application = app): Promise<boolean> {
  const { authorizationResponse } = await at.authorize(browser, { prompt: "none" });
  return authorizationResponse.has("code");
}

describe("POST /logout by a client that authenticates", () => {
  test.each([
    ["a client with public subjects", () => app],
    ["a client with pairwise subjects", () => pairwise],
  ])("%s: its tokens of the session end; the session, other clients and other sessions stay", async (_, chosen) => {
    const its = chosen();
    const first = await its.signIn(browser, { scope: "openid email" });
    const second = await its.signIn(browser, { scope: "openid profile" });
    const others = await neighbour.signIn(browser, { scope: "openid" });
    const elsewhere = await its.signIn(person.browser(), { scope: "openid" });
    const { status, text } = await logout(its.client, { id_token_hint: second.idToken });
    expect([status, text]).toEqual([200, ""]);
    expect([await areLive(first, its), await areLive(second, its)]).toEqual([[false], [false]]);
    expect([await areLive(others, neighbour), await areLive(elsewhere, its)]).toEqual([[true], [true]]);
    expect([await isSignedIn(its), await isSignedIn(neighbour)]).toEqual([true, true]);
    expect((await logout(its.client, { id_token_hint: second.idToken })).status).toBe(200);
  });

  test("a grant with offline_access ends with its own hint, and survives that of another login", async () => {
    const offline = await app.signIn(browser, { scope: allScopes, prompt: "consent" });
    const online = await app.signIn(browser, { scope: "openid" });
    await logout(app.client, { id_token_hint: online.idToken });
    expect(await fixtures.isActive(server, offline.accessToken)).toBe(true);
    await logout(app.client, { id_token_hint: offline.idToken });
    expect(await areLive(offline, app)).toEqual([false, false]);
  });

  test("by a secret in the form, too; the audit log has the end of the client's part and of the grant", async () => {
    const { client } = await Application.register(fixtures, { token_endpoint_auth_method: "client_secret_post" });
    const posting = { client_id: client.client_id, client_secret: client.client_secret };
    const wrong = await logout(undefined, { ...posting, client_secret: "wrong", id_token_hint: "x" });
    expect([wrong.status, wrong.body["error"]]).toEqual([401, "invalid_client"]);
    expect((await logout(undefined, posting)).body).toMatchObject({ error: "invalid_request" });
    const { idToken } = await app.signIn(browser, { scope: "openid" });
    await logout(app.client, { id_token_hint: idToken });
    const isOurs = (event: Record<string, unknown>) => event["client_id"] === app.client.client_id;
    const wanted = ["session.client-dismissed logout by the client", "grant.revoked session_ended"];
    await expect
      .poll(
        async () => {
          const { events } = (await fixtures.admin.require("GET", "/audit?limit=200")) as {
            events: { type: string; payload?: { reason?: string } }[];
          };
          const found = events.filter((event) => isOurs(event as Record<string, unknown>));
          return JSON.stringify(found);
        },
        { timeout: 30_000, interval: 500 },
      )
      .toMatch(new RegExp(wanted.map((each) => `(?=.*${each.split(" ").join(".*")})`).join("")));
  });

  test.each([
    ["a hint of another client", async () => ({ id_token_hint: (await neighbour.signIn(browser)).idToken })],
    ["no hint", async () => ({})],
    ["a hint that this provider did not issue", async () => ({ id_token_hint: "e30.e30.AAAA" })],
  ])("%s is invalid_request as JSON, and nothing ends", async (_, form) => {
    const tokens = await app.signIn(browser, { scope: "openid" });
    const { status, body, headers } = await logout(app.client, await form());
    expect([status, body["error"]]).toEqual([400, "invalid_request"]);
    expect(headers.get("content-type")).toContain("application/json");
    expect(await areLive(tokens, app)).toEqual([true]);
  });
});

describe("RFC 9700 §4.7: the browser's POST is as before", () => {
  test("without credentials, without a cookie: continues as a GET, which ends nothing", async () => {
    const tokens = await app.signIn(browser, { scope: "openid" });
    const body = new URLSearchParams({ id_token_hint: tokens.idToken });
    const init = { method: "POST", body, redirect: "manual" } as const;
    expect((await fetch(`${provider.origin}/logout`, init)).status).toBe(303);
    expect([await areLive(tokens, app), await isSignedIn()]).toEqual([[true], true]);
  });

  test("credentials of a client beside the person's cookie end that client's part at most", async () => {
    const tokens = await app.signIn(browser, { scope: "openid" });
    const others = await neighbour.signIn(browser, { scope: "openid" });
    const response = await browser.send(`${provider.origin}/logout`, {
      method: "POST",
      headers: { authorization: app.client.authorization },
      body: new URLSearchParams({ id_token_hint: tokens.idToken }),
    });
    expect([response.status, response.headers.get("set-cookie")]).toEqual([200, null]);
    expect([await isSignedIn(), await areLive(others, neighbour)]).toEqual([true, [true]]);
  });
});

test("RP-Initiated §6: a GET without a cookie ends nothing, and says so in a header and the log", async () => {
  const tokens = await app.signIn(browser, { scope: "openid" });
  const hinted = app.logoutUrl({ id_token_hint: tokens.idToken, post_logout_redirect_uri: goodbye });
  const response = await fetch(hinted, { redirect: "manual" });
  expect([response.status, response.headers.get("location"), response.headers.get("logout-ended")]).toEqual([
    ...[303, goodbye, "nothing"],
  ]);
  expect([await areLive(tokens, app), await isSignedIn()]).toEqual([[true], true]);
  const logged = `"event":"logout-without-session","clientId":"${app.client.client_id}"`;
  await expect.poll(() => lines.some((line) => line.includes(logged))).toBe(true);
  const arrival = await browser.visit(hinted);
  expect(arrival.url.href).toBe(goodbye);
  expect(await isSignedIn()).toBe(false);
});
