/**
 * **Organisations** (ADR 72, docs/operating/organizations.md): a grant has one or none, what it gives is the membership's, and it ends with the
 * membership, in force when the call has returned. Each invariant and hostile case of organisations, and what shows it:
 *
 * | | Shown by |
 * | --- | --- |
 * | O1: one, fixed before the consent | here; broken variants in op-token `organizations`; op-auth `choose-organization` |
 * | O2: tokens only for an active member | here; broken variants in op-token `organizations`; op-management `admin-organizations` |
 * | O4: what it gives is the membership's | here; broken variants in op-token `organizations` |
 * | O6: memberships begin by an administrator | op-management `record-authority`, `admin-import`; reference `person-writes` |
 * | O7: nothing is active after a removal | here; histories with broken variants in shared `leases/organization-cut-offs` |
 * | O9: nobody gives what they lack | no admin scope: op-management `admin-organizations`. There are no `org:` permissions |
 * | O3, O5, O8 | of connections, domains and delegation, which organisations do not have |
 * | 1: a token of A at B | resource-server `organization` |
 * | 9: another one between request and page | here, pushed; op-auth `choose-organization`, in the sealed flow |
 * | 10: a hint or a typed name | op-auth `choose-organization` |
 * | 15: an admin scope by an organisation | here; op-auth `choose-organization` |
 * | 19: a removal under way | here, during a refresh and during the choice |
 * | 20, 21, 25: derived tokens, enumeration, consent | here |
 * | 22: 10,000 memberships | op-management `admin-organizations`, `rows-read` |
 * | 24: disabled while tokens are used | here; shared `leases/organization-cut-offs` |
 * | 2 to 8, 11 to 14, 16 to 18, 23 | of delegation, connections, invitations, domains and branding, which they do not have |
 */

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type Arrival, type Page, type Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { Application, type Parameters } from "./fixtures/application.ts";
import { claimsOf, type TestClient, tokenTypes } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

const { admin, origin } = fixtures;
const suffix = randomUUID().slice(0, 8);
const [acme, beta] = [`acme-${suffix}`, `beta-${suffix}`];
const scope = "openid offline_access roles permissions groups";

let application: Application;
let resourceServer: TestClient;
let sub: string;
let browser: Person;

beforeAll(async () => {
  await admin.require("PUT", `/organization-roles/billing-${suffix}`, { permissions: ["invoices:read"] });
  await admin.require("PUT", `/roles/boss-${suffix}`, { permissions: ["everything"] });
  for (const org_id of [acme, beta]) await admin.require("POST", "/organizations", { org_id, name: `The ${org_id}` });
  application = await Application.register(fixtures, { scope, organization: "allowed" }, { scope });
  resourceServer = await fixtures.resourceServer();
});

beforeEach(async () => {
  const person = await registerPerson(fixtures, {}, { roles: [`boss-${suffix}`] });
  sub = person.sub;
  browser = person.browser();
  await join(acme, { roles: [`billing-${suffix}`] });
});

function join(organization: string, body: object = {}) {
  return admin.require("PUT", `/organizations/${organization}/members/${sub}`, { ...body });
}

const leave = (organization: string) => admin.require("DELETE", `/organizations/${organization}/members/${sub}`);
const signIn = (organization?: string) => application.signIn(browser, { organization });
const silently = async (parameters: Parameters) =>
  (await application.authorize(browser, { prompt: "none", ...parameters })).authorizationResponse;

async function isActive(token: string): Promise<boolean> {
  return fixtures.isActive(resourceServer, token);
}

/** The last of several, because an isolate may have remembered the first. */
async function expectEnded(accessToken: string, refreshToken: string | undefined): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) expect(await isActive(accessToken)).toBe(false);
  expect((await fixtures.userinfo(accessToken)).status).toBe(401);
  expect(await isActive(refreshToken!)).toBe(false);
  expect((await application.refresh(refreshToken)).body["error"]).toBe("invalid_grant");
}

describe("a grant of an organisation", () => {
  test("O1, O4: its tokens name the organisation, and give what the membership gives and nothing else", async () => {
    const { accessToken, claims, refreshToken } = await signIn(acme);
    const ofMember = { org_id: acme, roles: [`billing-${suffix}`], permissions: ["invoices:read"] };
    expect(claimsOf(accessToken)).toMatchObject(ofMember);
    expect(claims["org_id"]).toBe(acme);
    expect((await fixtures.introspect(resourceServer, accessToken)).body).toMatchObject(ofMember);
    const info = await (await fixtures.userinfo(accessToken)).json();
    expect(info).toMatchObject({ org_id: acme, roles: [`billing-${suffix}`] });
    const refreshed = await application.readTokens(await application.refresh(refreshToken));
    expect(claimsOf(refreshed.accessToken)).toMatchObject(ofMember);
    expect(refreshed.claims["org_id"]).toBe(acme);
    const again = await application.readTokens(await application.refresh(refreshed.refreshToken));
    expect(claimsOf(again.accessToken)).toMatchObject(ofMember);
    expect((await fixtures.introspect(resourceServer, again.refreshToken!)).body).toMatchObject({
      active: true,
      org_id: acme,
    });
  });

  test("O4: another grant has nothing of a membership", async () => {
    const { accessToken, claims } = await signIn();
    expect(claimsOf(accessToken)).toMatchObject({ roles: [`boss-${suffix}`], permissions: ["everything"] });
    expect([claimsOf(accessToken)["org_id"], claims["org_id"]]).toEqual([undefined, undefined]);
    expect(await (await fixtures.userinfo(accessToken)).json()).not.toHaveProperty("org_id");
  });

  test("another one is a new request in the same session, which needs no page after the consent", async () => {
    await join(beta);
    await signIn(acme);
    await signIn(beta);
    const code = await silently({ organization: beta });
    const tokens = await application.readTokens(await application.redeem({ authorizationResponse: code }));
    expect(claimsOf(tokens.accessToken)["org_id"]).toBe(beta);
  });
});

describe("the scope organizations", () => {
  const listing = `${scope} organizations`;
  const organizationsOf = async (accessToken: string) =>
    ((await (await fixtures.userinfo(accessToken)).json()) as { organizations?: unknown }).organizations;

  test("lists at UserInfo those in force, for a grant of none, and follows a change at once; the page says so", async () => {
    const switcher = await Application.register(
      fixtures,
      { scope: listing, organization: "allowed" },
      { scope: listing },
    );
    const consent = await browser.submit(await browser.openPage(switcher.authorizationUrl()));
    expect(consent.kind === "page" && textOf(consent.html)).toContain("See the organizations that you belong to");
    const { accessToken, claims } = await switcher.signIn(browser);
    expect(await organizationsOf(accessToken)).toEqual([{ id: acme, name: `The ${acme}` }]);
    await join(beta);
    expect(await organizationsOf(accessToken)).toHaveLength(2);
    await join(beta, { status: "suspended" });
    expect(await organizationsOf(accessToken)).toHaveLength(1);
    expect([claims["organizations"], claimsOf(accessToken)["organizations"]]).toEqual([undefined, undefined]);
    const ofAcme = await switcher.signIn(browser, { organization: acme });
    expect(await organizationsOf(ofAcme.accessToken)).toBeUndefined();
    expect(await organizationsOf((await signIn()).accessToken)).toBeUndefined();
  });
});

describe("O7: what ends", () => {
  test("a removed member's tokens, refresh tokens and codes end; the session and other grants stay", async () => {
    await join(beta);
    const ofDeployment = await signIn();
    const ofBeta = await signIn(beta);
    const { accessToken, refreshToken } = await signIn(acme);
    const code = await application.authorize(browser, { organization: acme });
    expect(await isActive(accessToken)).toBe(true);
    await leave(acme);
    await expectEnded(accessToken, refreshToken);
    expect((await application.redeem(code)).body["error"]).toBe("invalid_grant");
    expect((await silently({ organization: acme })).get("error")).toBe("access_denied");
    expect((await silently({})).has("code")).toBe(true);
    expect(await isActive(ofBeta.accessToken)).toBe(true);
    expect(await isActive(ofDeployment.accessToken)).toBe(true);
    expect((await application.refresh(ofBeta.refreshToken)).status).toBe(200);
  });

  test("who is added again begins anew, in the session of before: earlier tokens stay dead, and new ones live", async () => {
    const before = await signIn(acme);
    await leave(acme);
    await join(acme);
    await expectEnded(before.accessToken, before.refreshToken);
    const code = await silently({ organization: acme });
    const tokens = await application.readTokens(await application.redeem({ authorizationResponse: code }));
    expect(await isActive(tokens.accessToken)).toBe(true);
    const offline = await signIn(acme);
    expect((await application.refresh(offline.refreshToken)).status).toBe(200);
  });

  test("a suspended member's tokens end", async () => {
    const { accessToken, refreshToken } = await signIn(acme);
    await join(acme, { status: "suspended" });
    await expectEnded(accessToken, refreshToken);
    expect((await silently({ organization: acme })).get("error")).toBe("access_denied");
  });

  test("hostile case 24: a disabled organisation's tokens end on every isolate, and stay dead when it is enabled", async () => {
    const org_id = `gamma-${randomUUID().slice(0, 8)}`;
    await admin.require("POST", "/organizations", { org_id, name: "Gamma" });
    await join(org_id);
    const { accessToken, refreshToken } = await signIn(org_id);
    await admin.require("PATCH", `/organizations/${org_id}`, { status: "disabled" });
    await expectEnded(accessToken, refreshToken);
    expect((await silently({ organization: org_id })).get("error")).toBe("access_denied");
    await admin.require("PATCH", `/organizations/${org_id}`, { status: "active" });
    await expectEnded(accessToken, refreshToken);
    expect((await silently({ organization: org_id })).has("code")).toBe(true);
  });

  test("hostile case 19: a refresh during removals is either before one, or refused", async () => {
    const { refreshToken } = await signIn(acme);
    const [refreshed] = await Promise.all([application.refresh(refreshToken), leave(acme)]);
    if (refreshed.status === 200) {
      const { accessToken, refreshToken: next } = await application.readTokens(refreshed);
      await expectEnded(accessToken, next);
    } else expect(refreshed.body["error"]).toBe("invalid_grant");
  });
});

describe("who may", () => {
  test("hostile case 21: of an unknown, a disabled and another organisation, a person learns the same, after signing in", async () => {
    const disabled = `off-${randomUUID().slice(0, 8)}`;
    await admin.require("POST", "/organizations", { org_id: disabled, name: "Off", status: "disabled" });
    await join(disabled);
    for (const organization of ["unknown", disabled, beta]) {
      const person = await registerPerson(fixtures);
      const refused = await application.authorize(person.browser(), { organization });
      const { authorizationResponse: response } = refused;
      expect([refused.pages, response.get("error"), response.get("error_description")]).toEqual([
        ["sign-in"],
        "access_denied",
        response.get("error_description"),
      ]);
    }
  });

  test.each([
    ["a client whose registration allows none", {}, acme],
    ["a malformed one", { organization: "allowed" }, "a b"],
  ])("%s: invalid_request", async (_, metadata, organization) => {
    const client = await Application.register(fixtures, { scope, ...metadata }, { scope });
    const { authorizationResponse: response } = await client.authorize(browser, { organization });
    expect(response.get("error")).toBe("invalid_request");
  });

  test("hostile case 15: an admin scope belongs to no organisation", async () => {
    const client = await Application.register(fixtures, { scope: `${scope} admin:users`, organization: "allowed" });
    const { authorizationResponse: response } = await client.authorize(browser, {
      scope: "openid admin:users",
      organization: acme,
    });
    expect(response.get("error")).toBe("invalid_scope");
  });

  test("hostile case 25: a consent for one organisation covers neither another one nor the deployment", async () => {
    await join(beta);
    expect((await application.authorize(browser, { organization: acme })).pages).toEqual(["sign-in", "consent"]);
    expect((await application.authorize(browser, { organization: acme })).pages).toEqual([]);
    for (const organization of [beta, undefined]) {
      expect((await silently({ organization })).get("error")).toBe("consent_required");
      expect((await application.authorize(browser, { organization })).pages).toEqual(["consent"]);
    }
  });

  test("the consent page names the organisation, and the access in the same words as without one", async () => {
    await signIn();
    const page = await browser.openPage(application.authorizationUrl({ organization: acme }).href);
    expect(page.name).toBe("consent");
    expect(textOf(page.html)).toContain(`The ${acme}`);
    expect(textOf(page.html)).not.toContain("organization:");
  });

  test("hostile case 9: of a pushed request, the organisation counts that was pushed", async () => {
    await join(beta);
    const form = Object.fromEntries(application.authorizationParameters({ organization: acme }));
    const { authorization } = application.client;
    const { body } = await postForm(`${origin}/par`, form, { authorization });
    const { authorizationResponse } = await application.authorize(browser, {
      ...{ request_uri: String(body["request_uri"]), organization: beta, state: form["state"] },
      ...{ response_type: undefined, redirect_uri: undefined, scope: undefined, nonce: undefined },
    });
    const tokens = await application.readTokens(await application.redeem({ authorizationResponse }));
    expect(claimsOf(tokens.accessToken)["org_id"]).toBe(acme);
  });
});

describe("a client that requires an organisation", () => {
  const deviceCode = "urn:ietf:params:oauth:grant-type:device_code";
  let corp: Application;

  beforeAll(async () => {
    corp = await Application.register(fixtures, { scope, organization: "required" }, { scope });
  });

  const chooser = async (parameters: Parameters = {}) => {
    await join(beta);
    const signInPage = await browser.openPage(corp.authorizationUrl(parameters));
    return (await browser.submit(signInPage)) as Page;
  };

  test("O1: the person chooses before the consent, and every token has what was chosen", async () => {
    await join(beta);
    const inputs = { organization: { organization: beta } };
    const { authorizationResponse, pages } = await corp.authorize(browser, {}, inputs);
    expect(pages).toEqual(["sign-in", "organization", "consent"]);
    const tokens = await corp.readTokens(await corp.redeem({ authorizationResponse }));
    const refreshed = await corp.readTokens(await corp.refresh(tokens.refreshToken));
    for (const { accessToken, claims } of [tokens, refreshed]) {
      expect([claimsOf(accessToken)["org_id"], claims["org_id"]]).toEqual([beta, beta]);
    }
  });

  test("hostile case 9: of a pushed request too, and its page in an old tab changes nothing", async () => {
    const form = Object.fromEntries(corp.authorizationParameters());
    const pushed = await postForm(`${origin}/par`, form, { authorization: corp.client.authorization });
    const page = await chooser({
      ...{ request_uri: String(pushed.body["request_uri"]), state: form["state"] },
      ...{ response_type: undefined, redirect_uri: undefined, scope: undefined, nonce: undefined },
    });
    expect(page.name).toBe("organization");
    const consent = await browser.submit(page, { organization: { organization: acme } });
    expect(consent.kind === "page" && consent.name).toBe("consent");
    const end = await browser.submit(consent as Page);
    const authorizationResponse = (end as Arrival).url.searchParams;
    const tokens = await corp.readTokens(await corp.redeem({ authorizationResponse }));
    expect(claimsOf(tokens.accessToken)["org_id"]).toBe(acme);
    const late = await browser.submit(page, { organization: { organization: beta } });
    expect(late.kind === "arrival" && late.url.searchParams.has("code")).toBe(false);
  });

  test("hostile case 19: of who is removed while they choose, nothing is active when the removal has returned", async () => {
    await corp.signIn(browser, { organization: acme });
    await join(beta);
    const page = await browser.openPage(corp.authorizationUrl());
    expect(page.name).toBe("organization");
    const [reached] = await Promise.all([browser.submit(page, { organization: { organization: acme } }), leave(acme)]);
    if (reached.kind !== "arrival" || !reached.url.searchParams.has("code")) return;
    expect((await corp.redeem({ authorizationResponse: reached.url.searchParams })).body["error"]).toBe(
      "invalid_grant",
    );
  });

  test("O2: no token of a person is without one: of a device, or of a grant from before", async () => {
    const metadata = { client_name: "TV", token_endpoint_auth_method: "none", scope: "openid" };
    const { client_id } = await fixtures.client({ ...metadata, grant_types: [deviceCode], organization: "required" });
    const refused = await postForm(`${origin}/device_authorization`, { client_id, scope: "openid" });
    expect(refused.body["error"]).toBe("unauthorized_client");
    const changing = await Application.register(fixtures, { scope, organization: "allowed" }, { scope });
    const before = await changing.signIn(browser);
    await admin.require("PATCH", `/clients/${changing.client.client_id}`, { organization: "required" });
    expect((await changing.refresh(before.refreshToken)).body["error"]).toBe("invalid_grant");
    expect((await changing.authorize(browser, { prompt: "none" })).authorizationResponse.get("error")).toBe(
      "consent_required",
    );
  });
});

describe("hostile case 20: no derived token moves to another organisation", () => {
  test("a refresh and an exchange that name another one are invalid_request; without one they keep theirs", async () => {
    await join(beta);
    const exchanger = await fixtures.exchanger();
    const { accessToken, idToken, refreshToken } = await signIn(acme);
    const subjects = [
      [accessToken, tokenTypes.accessToken],
      [idToken, tokenTypes.idToken],
    ] as const;
    for (const [token, subject_token_type] of subjects) {
      const moved = await fixtures.exchange(exchanger, token, { subject_token_type, organization: beta });
      expect(moved.body["error"]).toBe("invalid_request");
      const kept = await fixtures.exchange(exchanger, token, { subject_token_type });
      expect(kept.status, kept.text).toBe(200);
      const exchanged = String(kept.body["access_token"]);
      expect(claimsOf(exchanged)["org_id"]).toBe(acme);
      expect(claimsOf(exchanged)["permissions"]).not.toEqual(["everything"]);
    }
    expect((await application.refresh(refreshToken, { organization: beta })).body["error"]).toBe("invalid_request");
    const of = await signIn();
    const joined = await fixtures.exchange(exchanger, of.accessToken, { organization: beta });
    expect(joined.body["error"]).toBe("invalid_request");
  });

  test("an exchanged token ends with the membership", async () => {
    const exchanger = await fixtures.exchanger();
    const { accessToken } = await signIn(acme);
    const { body } = await fixtures.exchange(exchanger, accessToken);
    const exchanged = String(body["access_token"]);
    expect(await isActive(exchanged)).toBe(true);
    await leave(acme);
    expect(await isActive(exchanged)).toBe(false);
    expect((await fixtures.exchange(exchanger, accessToken)).body["error"]).toBe("invalid_request");
  });

  test("a device authorization has none", async () => {
    const metadata = { client_name: "TV", token_endpoint_auth_method: "none", scope: "openid" };
    const device = { ...metadata, grant_types: [deviceCode], organization: "allowed" };
    const { client_id } = await fixtures.client(device);
    const refused = await postForm(`${origin}/device_authorization`, {
      client_id,
      scope: "openid",
      organization: acme,
    });
    expect(refused.body["error"]).toBe("invalid_request");
  });
});

const deviceCode = "urn:ietf:params:oauth:grant-type:device_code";
