/**
 * **Refresh token rotation over HTTP** (docs/reference/protocols.md §3, R1–R6): lost and repeated requests converge on one successor, theft is
 * detected, and one device does not end the tokens of another.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.14
 */

import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application, allScopes, type Tokens } from "./fixtures/application.ts";
import { accessToken, claimsOf, type TestClient } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

let application: Application;
let resourceServer: TestClient;
let person: RegisteredPerson;
let browser: Person;

beforeAll(async () => {
  application = await Application.register(fixtures);
  resourceServer = await fixtures.resourceServer();
  person = await registerPerson(fixtures, { email: "pat@example.com" });
  browser = person.browser();
  await application.signIn(browser, { scope: allScopes, prompt: "consent" });
});

/** A separate device: a separate authorization. */
function newFamily(): Promise<Tokens> {
  return application.signIn(browser, { scope: allScopes });
}

async function refreshed(refreshToken: string | undefined, form: Readonly<Record<string, string>> = {}) {
  return application.readTokens(await application.refresh(refreshToken, form));
}

async function refusal(refreshToken: string | undefined, form: Readonly<Record<string, string>> = {}) {
  const { status, body } = await application.refresh(refreshToken, form);
  return [status, body["error"]];
}

/** Whether a token is refused everywhere: introspection, UserInfo. */
async function isDead(token: string): Promise<boolean> {
  const active = await fixtures.isActive(resourceServer, token);
  const { status } = await fixtures.userinfo(token);
  expect([active, status]).toEqual(active ? [true, 200] : [false, 401]);
  return !active;
}

function identity(token: string) {
  const { jti, iat, exp } = claimsOf(token);
  return { jti, iat, exp };
}

describe("R1, R2: one successor", () => {
  test("fifty parallel uses: one new version, every success has the same successor, the family stays valid", async () => {
    const family = await newFamily();
    const responses = await Promise.all(Array.from({ length: 50 }, () => application.refresh(family.refreshToken)));
    const successes = responses.filter(({ status }) => status === 200);
    const refusals = responses.filter(({ status }) => status !== 200);
    expect(new Set(successes.map(({ body }) => body["refresh_token"])).size).toBe(1);
    expect(new Set(successes.map((response) => identity(accessToken(response)).jti)).size).toBe(1);
    // The first response and five replays; the sixth replay is refused and does not revoke the family.
    expect(successes.length).toBe(6);
    for (const { status, body } of refusals) expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
    const next = await refreshed(String(successes[0]!.body["refresh_token"]));
    expect(await isDead(next.accessToken)).toBe(false);
  });

  test("a lost response: the repetition returns the same refresh token and the same access token's jti, iat and exp", async () => {
    const family = await newFamily();
    const lost = await refreshed(family.refreshToken);
    const again = await refreshed(family.refreshToken);
    expect(again.refreshToken).toBe(lost.refreshToken);
    expect(identity(again.accessToken)).toEqual(identity(lost.accessToken));
    expect((await refreshed(again.refreshToken)).refreshToken).not.toBe(again.refreshToken);
  });

  test("a repeat with other parameters is refused, and the family stays valid", async () => {
    const family = await newFamily();
    const { refreshToken, accessToken: current } = await refreshed(family.refreshToken);
    expect(await refusal(family.refreshToken, { scope: "openid" })).toEqual([400, "invalid_grant"]);
    expect(await isDead(current)).toBe(false);
    expect((await refreshed(refreshToken)).claims.sub).toBe(person.sub);
  });
});

describe("R3: theft is detected", () => {
  test.each([2, 3, 5])(
    "a token used at distance %i ends the family and every access token of it, at once",
    async (distance) => {
      const family = await newFamily();
      const issued = [family];
      for (let step = 0; step < distance; step += 1) issued.push(await refreshed(issued.at(-1)!.refreshToken));
      expect(await isDead(family.accessToken)).toBe(false);
      expect(await isDead(issued.at(-1)!.accessToken)).toBe(false);

      expect(await refusal(family.refreshToken)).toEqual([400, "invalid_grant"]);

      for (const { accessToken: token } of issued) expect(await isDead(token)).toBe(true);
      for (const { refreshToken } of issued) expect(await refusal(refreshToken)).toEqual([400, "invalid_grant"]);
    },
  );

  test("whichever comes second, thief or owner: the stolen and the legitimate chain both end", async () => {
    const family = await newFamily();
    const honest = await refreshed(family.refreshToken);
    const stolen = await refreshed(honest.refreshToken);
    const stolenNext = await refreshed(stolen.refreshToken);
    expect(await refusal(honest.refreshToken)).toEqual([400, "invalid_grant"]);
    expect(await refusal(stolenNext.refreshToken)).toEqual([400, "invalid_grant"]);
    expect(await isDead(stolenNext.accessToken)).toBe(true);
  });

  test("reuse on one device does not end another device's grant", async () => {
    const [phone, laptop] = [await newFamily(), await newFamily()];
    const second = await refreshed((await refreshed(phone.refreshToken)).refreshToken);
    expect(await refusal(phone.refreshToken)).toEqual([400, "invalid_grant"]);
    expect(await isDead(second.accessToken)).toBe(true);
    expect(await isDead(laptop.accessToken)).toBe(false);
    expect((await refreshed(laptop.refreshToken)).claims.sub).toBe(person.sub);
  });
});

describe("R4: a token that was never issued changes nothing", () => {
  test("forged, truncated, with an unknown version or shard, or by another client", async () => {
    const { refreshToken, accessToken: token } = await newFamily();
    const parts = refreshToken!.split(".");
    const mac = parts.at(-1)!;
    const forgeries = [
      refreshToken!.slice(0, -1),
      `${refreshToken}A`,
      [...parts.slice(0, -1), `${mac.startsWith("A") ? "B" : "A"}${mac.slice(1)}`].join("."),
      refreshToken!.replace(/^rt\.g\d+/, "rt.g99"),
      "nonsense",
    ];
    for (const forgery of forgeries) expect(await refusal(forgery), forgery).toEqual([400, "invalid_grant"]);
    const other = await Application.register(fixtures);
    expect((await other.refresh(refreshToken)).body["error"]).toBe("invalid_grant");
    expect(await isDead(token)).toBe(false);
    expect((await refreshed(refreshToken)).claims.sub).toBe(person.sub);
  });
});

describe("RFC 7009 §2.1, RFC 7662: a refresh token", () => {
  test("is active for its client, and revoking it ends the access tokens of its grant", async () => {
    const { refreshToken, accessToken: token } = await newFamily();
    const { body } = await fixtures.introspect(application.client, refreshToken!);
    expect(body).toMatchObject({ active: true, client_id: application.client.client_id, sub: person.sub });
    expect((await fixtures.revoke(application.client, refreshToken!)).status).toBe(200);
    expect(await isDead(token)).toBe(true);
    expect(await fixtures.isActive(application.client, refreshToken!)).toBe(false);
    expect(await refusal(refreshToken)).toEqual([400, "invalid_grant"]);
  });

  test("cannot be revoked by another client", async () => {
    const { refreshToken, accessToken: token } = await newFamily();
    const other = await Application.register(fixtures);
    await fixtures.revoke(other.client, refreshToken!);
    expect(await isDead(token)).toBe(false);
    expect((await application.refresh(refreshToken)).status).toBe(200);
  });
});

describe("a user who lost access", () => {
  test("a suspended user's refresh is refused, and UserInfo too", async () => {
    const suspended = await registerPerson(fixtures);
    const tokens = await application.signIn(suspended.browser(), { scope: allScopes, prompt: "consent" });
    await fixtures.admin.require("PATCH", `/users/${suspended.sub}`, { status: "suspended" });
    expect(await refusal(tokens.refreshToken)).toEqual([400, "invalid_grant"]);
    expect((await fixtures.userinfo(tokens.accessToken)).status).toBe(401);
  });
});

describe("OIDC Core §11: offline_access", () => {
  test("without it there is no refresh token; with it there is one after the person's consent", async () => {
    expect((await application.signIn(browser, { scope: "openid email" })).refreshToken).toBeUndefined();
    expect((await application.signIn(browser, { scope: "openid offline_access" })).refreshToken).toBeDefined();
  });

  test("it is requested by name on the consent page, and not granted if refused there", async () => {
    const other = await Application.register(fixtures);
    const { authorizationResponse, pages } = await other.authorize(
      person.browser(),
      { scope: "openid offline_access", prompt: "consent" },
      { consent: { decision: "deny" } },
    );
    expect([pages, authorizationResponse.get("error")]).toEqual([["sign-in", "consent"], "access_denied"]);
  });

  test("a silent request does not obtain it", async () => {
    const { response, refreshToken } = await application.signIn(browser, { scope: allScopes, prompt: "none" });
    expect(refreshToken).toBeUndefined();
    expect(String(response.body["scope"])).not.toContain("offline_access");
  });

  test("a client without the refresh_token grant gets no refresh token, and its request succeeds without", async () => {
    const online = await Application.register(fixtures, { grant_types: ["authorization_code"] });
    const { response, refreshToken } = await online.signIn(browser, {
      scope: "openid offline_access",
      prompt: "consent",
    });
    expect([refreshToken, response.body["scope"]]).toEqual([undefined, "openid"]);
  });

  test("RFC 6749 §6: plain OAuth, without openid, refreshes as registered, and gets no ID token", async () => {
    const signIn = await application.authorize(browser, { scope: "email" });
    const { body } = await application.redeem(signIn);
    expect(body).not.toHaveProperty("id_token");
    const again = await application.refresh(String(body["refresh_token"]));
    expect([again.status, again.body["scope"]]).toEqual([200, "email"]);
    expect(claimsOf(accessToken(again))).toMatchObject({ iss: provider.issuer, scope: "email" });
  });
});
