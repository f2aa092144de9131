/** **`POST /admin/revocations/everything`** ends every kind of token, code, grant and session, and nothing that begins later. */

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { Page, Person } from "../../packages/edge-op/testing/person.ts";
import { Application, allScopes } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { accessToken, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let resourceServer: TestClient;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape") });
  fixtures = new ProviderFixtures(provider);
  application = await Application.register(fixtures);
  resourceServer = await fixtures.resourceServer();
});

afterAll(() => provider.stop());

/** With a token of its own: the call ends it. */
function revokeAll(confirm: string) {
  return new ProviderFixtures(provider).admin.call("POST", "/revocations/everything", { confirm });
}

async function allowDevice(browser: Person) {
  const metadata = { client_name: "Television", token_endpoint_auth_method: "none", grant_types: [deviceGrant] };
  const { client_id } = await fixtures.client({ ...metadata, scope: "openid" });
  const begun = await postForm(`${provider.origin}/device_authorization`, { client_id, scope: "openid" });
  const page = await browser.openPage(String(begun.body["verification_uri_complete"]));
  const confirmation = page.name === "sign-in" ? ((await browser.submit(page)) as Page) : page;
  await browser.submit(confirmation, { device: { decision: "allow" } });
  const form = { grant_type: deviceGrant, device_code: String(begun.body["device_code"]), client_id };
  return () => postForm(`${provider.origin}/token`, form);
}

test("a confirmation that is not the issuer, and a token without the scope, change nothing", async () => {
  const service = await fixtures.client();
  const token = await fixtures.clientToken(service);
  expect((await revokeAll(`${provider.issuer}/`)).status).toBe(400);
  expect((await fixtures.admin.call("POST", "/revocations/everything", {})).status).toBe(400);
  const lesser = await fixtures.client({ scope: "admin:tokens", audiences: [`${provider.issuer}/admin`] });
  const response = await fetch(`${provider.origin}/admin/revocations/everything`, {
    method: "POST",
    headers: { authorization: `Bearer ${await fixtures.clientToken(lesser)}`, "content-type": "application/json" },
    body: JSON.stringify({ confirm: provider.issuer }),
  });
  expect(response.status).toBe(403);
  expect(await fixtures.isActive(resourceServer, token)).toBe(true);
});

describe("after a revocation of everything", () => {
  interface Ended {
    readonly accessTokens: Readonly<Record<string, string>>;
    readonly refused: Readonly<Record<string, () => Promise<unknown>>>;
    readonly browser: Person;
  }

  let ended: Ended;
  let adminToken: string;

  beforeAll(async () => {
    const person = await registerPerson(fixtures);
    const browser = person.browser();
    const ofSession = await application.signIn(browser, { scope: "openid" });
    const offline = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
    const code = await application.authorize(browser);
    const device = await allowDevice(browser);
    const service = await fixtures.client();
    const asserter = await fixtures.asserter();
    const exchanger = await fixtures.exchanger();
    const exchanged = await fixtures.exchange(exchanger, offline.accessToken);
    const refreshed = await application.readTokens(await application.refresh(offline.refreshToken));
    const admins = await fixtures.client({ scope: "admin:users", audiences: [`${provider.issuer}/admin`] });
    adminToken = await fixtures.clientToken(admins);
    const accessTokens = {
      "of a session": ofSession.accessToken,
      "with offline access": offline.accessToken,
      "of a refresh": refreshed.accessToken,
      "of a client": await fixtures.clientToken(service),
      "of an assertion": await fixtures.userToken(asserter, person.sub),
      "of an exchange": accessToken(exchanged),
    };
    for (const token of Object.values(accessTokens)) {
      expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    }
    const revoked = await revokeAll(provider.issuer);
    expect([revoked.status, revoked.body["kind"], revoked.body["id"]]).toEqual([200, "everything", provider.issuer]);
    const refused = {
      "the refresh token of a session": () => application.refresh(ofSession.refreshToken),
      "a refresh token with offline access": () => application.refresh(refreshed.refreshToken),
      "a code": () => application.redeem(code),
      "a device code that was allowed": device,
      "an exchange of a token": () => fixtures.exchange(exchanger, offline.accessToken),
    };
    ended = { accessTokens, refused, browser };
  });

  test("every access token is inactive, and refused at UserInfo", async () => {
    for (const [kind, token] of Object.entries(ended.accessTokens)) {
      expect(await fixtures.isActive(resourceServer, token), kind).toBe(false);
      expect((await fixtures.userinfo(token)).status, kind).toBe(401);
    }
  });

  test("every refresh token, code and exchange is refused", async () => {
    for (const [kind, send] of Object.entries(ended.refused)) {
      expect(await send(), kind).toMatchObject({ status: 400 });
    }
  });

  test("no session is left: the person signs in again", async () => {
    const { authorizationResponse } = await application.authorize(ended.browser, { prompt: "none" });
    expect(authorizationResponse.get("error")).toBe("login_required");
    expect((await ended.browser.openPage("/account")).name).toBe("sign-in");
  });

  test("administrators' tokens have ended too, and credentials give new ones", async () => {
    const response = await fetch(`${provider.origin}/admin/users`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    expect(response.status).toBe(401);
    const again = new ProviderFixtures(provider);
    expect((await again.admin.call("GET", "/users?limit=1")).status).toBe(200);
  });

  test("what begins later lives", async () => {
    const again = new ProviderFixtures(provider);
    const service = await again.client();
    expect(await again.isActive(resourceServer, await again.clientToken(service))).toBe(true);
    const browser = (await registerPerson(again)).browser();
    const tokens = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
    expect(await again.isActive(resourceServer, tokens.accessToken)).toBe(true);
    expect((await application.refresh(tokens.refreshToken)).status).toBe(200);
    expect((await application.authorize(browser, { prompt: "none" })).authorizationResponse.has("code")).toBe(true);
  });
});
