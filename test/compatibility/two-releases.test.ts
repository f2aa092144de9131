/**
 * **Two releases at the same time** (ADR 34): while an update is deferred or deployed gradually, and after a rollback, endpoint Workers of both
 * releases run on objects of either. Both releases perform each step, and its effect is observed at both.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { basicAuthorization } from "../../packages/edge-op/src/provider-api.ts";
import { Application, allScopes, type Tokens } from "../conformance/fixtures/application.ts";
import {
  accessToken,
  grantTypes,
  ProviderFixtures,
  type TestClient,
} from "../conformance/fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "../conformance/fixtures/register-person.ts";
import { endpointWorkers, isKept, PreviousRelease } from "./previous-release.ts";
import { Side } from "./side.ts";

const secondIsolates = endpointWorkers.map((name) => `${name}#2`);

/** The isolates that run the previous release; all others run this release. */
const all = [
  { objects: "previous", previous: ["op-state", ...secondIsolates], releases: ["this", "previous"] },
  { objects: "this", previous: ["op", ...endpointWorkers], releases: ["previous", "this"] },
] as const;

const deployments = isKept ? all : all.slice(0, 1);
const release = await PreviousRelease.find();

describe.each(deployments)("both releases' endpoints on objects of $objects release", ({ previous, releases }) => {
  let provider: LocalProvider;
  let fixtures: ProviderFixtures;
  let application: Application;
  let person: RegisteredPerson;
  let resourceServer: TestClient;
  let sides: readonly [Side, Side];

  beforeAll(async () => {
    provider = await startLocalProvider({ direct: true, extraIsolates: 1, builtWorkers: release.workers(previous) });
    fixtures = new ProviderFixtures(provider);
    sides = [new Side(releases[0], provider, fixtures, ""), new Side(releases[1], provider, fixtures, "#2")];
    application = await Application.register(fixtures);
    resourceServer = await fixtures.resourceServer();
    person = await registerPerson(fixtures);
  });
  afterAll(() => provider?.stop());

  /** Each side's turn to act, together with the other side. */
  const turns = (): (readonly [Side, Side])[] => [sides, [sides[1], sides[0]]];

  /** A browser whose requests alternate between the two releases, starting with the named one. */
  function alternatingBrowser(first: Side, second: Side) {
    let turn = 0;
    return person.browser((...request) => (turn++ % 2 === 0 ? first : second).visit(...request));
  }

  async function signIn(first: Side, second: Side): Promise<Tokens> {
    const browser = alternatingBrowser(first, second);
    const { authorizationResponse, nonce } = await application.authorize(browser, {
      scope: allScopes,
      prompt: "consent",
    });
    const code = authorizationResponse.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, redirect_uri: "https://app.example.com/callback" };
    return application.readTokens(await second.token(application.client, form), nonce);
  }

  async function activeAt(token: string): Promise<boolean[]> {
    return Promise.all(sides.map((side) => side.isActive(resourceServer, token)));
  }

  async function statusesAt(token: string): Promise<number[]> {
    return Promise.all(sides.map((side) => side.userinfoStatus(token)));
  }

  test("a sign-in continues at the other release, which redeems the code; tokens are active at both", async () => {
    for (const [first, second] of turns()) {
      const { accessToken: token } = await signIn(first, second);
      expect(await activeAt(token), `code redeemed by ${second.release}`).toEqual([true, true]);
      expect(await statusesAt(token), `code redeemed by ${second.release}`).toEqual([200, 200]);
    }
  });

  test("a family is refreshed by both in turn; a repeated use has the same successor; theft ends it at both", async () => {
    for (const [first, second] of turns()) {
      const { refreshToken } = await signIn(first, second);
      const next = await first.refresh(application.client, refreshToken);
      const repeated = await second.refresh(application.client, refreshToken);
      expect(next.body["refresh_token"], `refreshed by ${first.release}`).toBeDefined();
      expect(repeated.body["refresh_token"], `repeated at ${second.release}`).toBe(next.body["refresh_token"]);
      const third = await second.refresh(application.client, String(next.body["refresh_token"]));
      const token = accessToken(third);
      expect(await activeAt(token)).toEqual([true, true]);
      const stolen = await first.refresh(application.client, refreshToken);
      expect(stolen.body["error"], `theft detected by ${first.release}`).toBe("invalid_grant");
      expect(await activeAt(token)).toEqual([false, false]);
      const successor = await second.refresh(application.client, String(third.body["refresh_token"]));
      expect(successor.body["error"], `successor at ${second.release}`).toBe("invalid_grant");
    }
  });

  // If both run the same code, this is enough to show that a stored release runs next to this one.
  if (!isKept) return;

  test("a token is exchanged by either release, and ends with its subject token at both", async () => {
    const exchanger = await fixtures.exchanger();
    const asserter = await fixtures.asserter();
    for (const [first, second] of turns()) {
      const assertion = await fixtures.assertion(asserter, person.sub);
      const form = { grant_type: grantTypes.jwtBearer, assertion, scope: "openid read" };
      const subject = accessToken(await first.token(asserter, form));
      const replayed = await second.token(asserter, form);
      expect(replayed.body["error"], `replay at ${second.release}`).toBe("invalid_grant");
      const exchange = {
        grant_type: grantTypes.tokenExchange,
        subject_token: subject,
        subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      };
      const exchanged = accessToken(await second.token(exchanger, exchange));
      expect(await activeAt(exchanged), `exchanged by ${second.release}`).toEqual([true, true]);
      expect((await first.revoke(asserter, subject)).status).toBe(200);
      expect(await activeAt(exchanged), `revoked at ${first.release}`).toEqual([false, false]);
      expect((await second.token(exchanger, exchange)).body["error"]).toBe("invalid_request");
    }
  });

  test("a revocation is in force at both when either release has acknowledged it, while both hold leases", async () => {
    const client = await fixtures.client();
    for (const [first] of turns()) {
      for (let round = 0; round < 3; round += 1) {
        const token = accessToken(await first.token(client, { grant_type: "client_credentials" }));
        for (let times = 0; times < 5; times += 1) expect(await activeAt(token)).toEqual([true, true]);
        expect((await first.revoke(client, token)).status).toBe(200);
        expect(await activeAt(token), `revoked at ${first.release}`).toEqual([false, false]);
      }
    }
  });

  test("an administrative change by either release is in force at both", async () => {
    for (const [first] of turns()) {
      const client = await fixtures.client();
      const own = { grant_type: "client_credentials" };
      const token = accessToken(await first.token(client, own));
      expect(await activeAt(token)).toEqual([true, true]);
      const statuses = (as: TestClient) => Promise.all(sides.map(async (side) => (await side.token(as, own)).status));
      await first.admin("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
      expect(await statuses(client), `disabled at ${first.release}`).toEqual([401, 401]);
      expect(await activeAt(token)).toEqual([false, false]);
      await first.admin("PATCH", `/clients/${client.client_id}`, { status: "active" });
      expect(await statuses(client)).toEqual([200, 200]);
      const path = `/clients/${client.client_id}/secrets`;
      const { client_secret } = await first.admin("POST", path, { overlap_seconds: 0 });
      const renewed = { client_id: client.client_id, client_secret: String(client_secret) };
      expect(await statuses(client), `secret rotated at ${first.release}`).toEqual([401, 401]);
      expect(await statuses({ ...renewed, authorization: basicAuthorization(renewed) })).toEqual([200, 200]);
    }
  });

  test("offline access granted by either release is listed by the other, whose removal ends it", async () => {
    for (const [first, second] of turns()) {
      let side = first;
      const browser = person.browser((...request) => side.visit(...request));
      const { refreshToken } = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
      side = second;
      const { html } = await browser.openPage("/account/consents");
      expect(html, `listed by ${second.release}`).toContain(application.client.client_id);
      const page = await browser.openPage("/account/passkeys");
      const formToken = /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
      const body = new URLSearchParams({ form_token: formToken, client_id: application.client.client_id });
      await browser.openPage("/account/consents", { method: "POST", body });
      const refreshed = await first.refresh(application.client, refreshToken);
      expect(refreshed.body["error"], `removed by ${second.release}`).toBe("invalid_grant");
    }
  });

  test("a user suspended by either release has no active token at both; until then, tokens of a new signing key are active", async () => {
    for (const [first, second] of turns()) {
      await first.admin("POST", "/keys", { alg: "ES256" });
      const other = await registerPerson(fixtures);
      const { accessToken: token, refreshToken } = await application.signIn(other.browser(), { scope: allScopes });
      expect(await activeAt(token)).toEqual([true, true]);
      await first.admin("PATCH", `/users/${other.sub}`, { status: "suspended" });
      expect(await activeAt(token), `suspended at ${first.release}`).toEqual([false, false]);
      expect((await second.refresh(application.client, refreshToken)).body["error"]).toBe("invalid_grant");
    }
  });
});
