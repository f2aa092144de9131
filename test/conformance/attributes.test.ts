/**
 * **Attributes of users, mapped to claims**: what each token, response and page contains of them.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AdditionalClaims
 */

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Page, textOf } from "../../packages/edge-op/testing/person.ts";
import { isReservedClaim } from "../../packages/protocol/src/oauth/reserved-claims.ts";
import { Application } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import {
  accessToken,
  api,
  claimsOf,
  otherApi,
  ProviderFixtures,
  type TestClient,
} from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";

const scope = "openid profile employment";

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let person: RegisteredPerson;

function declare(attribute: string, title: string, claim?: object) {
  return fixtures.admin.require("POST", "/attributes", { attribute, type: "string", title, ...(claim && { claim }) });
}

/** The claims that no part of this provider defines. */
function added(claims: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !isReservedClaim(name)));
}

async function userinfo(token: string) {
  return added((await (await fixtures.userinfo(token)).json()) as Record<string, unknown>);
}

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape") });
  fixtures = new ProviderFixtures(provider);
  application = await Application.register(fixtures, { scope: `${scope} offline_access` }, { scope });
  const other = "another-client";
  const tokens = ["id_token", "access_token", "userinfo"];
  await declare("employee", "Employee number", { name: "https://example.com/employee", scope: "employment", tokens });
  await declare("desk", "Desk", { name: "desk", scope: "profile", tokens: ["userinfo"] });
  await declare("salary", "Salary", { name: "salary", scope: "openid", tokens, clients: [other] });
  await declare("region", "Region", { name: "region", scope: "read", tokens: ["access_token"], resources: [api] });
  await declare("note", "Note");
  person = await registerPerson(fixtures, { name: "Ann" });
  const attributes = { employee: "4711", desk: "3.14", salary: "100", region: "north", note: "private" };
  await fixtures.admin.require("PATCH", `/users/${person.sub}`, { attributes });
});

afterAll(() => provider.stop());

test("Discovery §3: claims_supported names the claims to which attributes are mapped for every client", async () => {
  const metadata = await (await fetch(`${provider.origin}/.well-known/openid-configuration`)).json();
  const { claims_supported: claims } = metadata as { readonly claims_supported: readonly string[] };
  expect(claims.filter((name) => !isReservedClaim(name)).toSorted()).toEqual([
    ...["desk", "https://example.com/employee", "region"],
  ]);
});

describe("a mapped attribute", () => {
  test("is in the tokens that its rule names, with its scope, for its clients, and at once at UserInfo", async () => {
    const signedIn = await application.signIn(person.browser());
    const employee = { "https://example.com/employee": "4711" };
    expect(added(signedIn.claims)).toEqual(employee);
    expect(added(claimsOf(signedIn.accessToken))).toEqual(employee);
    expect(await userinfo(signedIn.accessToken)).toEqual({ ...employee, desk: "3.14" });
    const resourceServer = await fixtures.resourceServer();
    const introspected = await fixtures.introspect(resourceServer, signedIn.accessToken);
    expect(introspected.body).toMatchObject({ active: true, ...employee });
    await fixtures.admin.require("PATCH", `/users/${person.sub}`, { attributes: { desk: "2.72" } });
    expect(await userinfo(signedIn.accessToken)).toMatchObject({ desk: "2.72" });
    const narrow = await application.signIn(person.browser(), { scope: "openid" });
    expect([added(narrow.claims), added(claimsOf(narrow.accessToken)), await userinfo(narrow.accessToken)]).toEqual([
      {},
      {},
      {},
    ]);
  });

  test("is in access tokens for its resources only", async () => {
    const asserter = await fixtures.asserter({ audiences: [api, otherApi] });
    const token = (audience: string) => fixtures.userToken(asserter, person.sub, { audience });
    expect(added(claimsOf(await token(api)))).toEqual({ region: "north" });
    expect(added(claimsOf(await token(otherApi)))).toEqual({});
    const exchanger: TestClient = await fixtures.exchanger();
    const exchanged = async (audience: string) =>
      accessToken(await fixtures.exchange(exchanger, await token(api), { audience, scope: "read" }));
    expect(added(claimsOf(await exchanged(api)))).toEqual({ region: "north" });
    expect(added(claimsOf(await exchanged(otherApi)))).toEqual({});
  });

  test("OIDC Core §5.5: can be requested individually, within the client's registration", async () => {
    const wanted = { desk: null, salary: null, note: null, unheard_of: null };
    const claims = JSON.stringify({ userinfo: wanted, id_token: wanted });
    const browser = person.browser();
    const page = (await browser.open(application.authorizationUrl({ scope: "openid", claims }))) as Page;
    const consent = (await browser.submit(page)) as Page;
    expect(textOf(consent.html)).toContain("See your “Desk”");
    expect(textOf(consent.html)).not.toMatch(/Salary|Note|unheard/i);
    const signedIn = await application.signIn(person.browser(), { scope: "openid", claims });
    expect(added(signedIn.claims)).toEqual({});
    expect(await userinfo(signedIn.accessToken)).toEqual({ desk: "2.72" });
  });

  test("is named at consent by its title, in the language of the page, beside the scope value that releases it", async () => {
    await fixtures.admin.require("PATCH", "/attributes/employee", { titles: { de: "Personalnummer" } });
    const newcomer = await registerPerson(fixtures);
    const browser = newcomer.browser();
    const shown = async (locale: string) => {
      const page = (await browser.open(application.authorizationUrl({ ui_locales: locale }))) as Page;
      return textOf(((page.name === "sign-in" ? await browser.submit(page) : page) as Page).html);
    };
    expect(await shown("en")).toContain("See your “Employee number”");
    const german = await shown("de");
    expect(german).toContain("Ihre Angabe „Personalnummer“ sehen");
    // An API may give the value another meaning.
    expect(german).toContain("„employment“ in Ihrem Namen nutzen");
  });

  test("follows a change of the mapping at once, and ends with the attribute", async () => {
    const signedIn = await application.signIn(person.browser(), {
      scope: `${scope} offline_access`,
      prompt: "consent",
    });
    await fixtures.admin.require("PATCH", "/attributes/desk", { claim: { name: "workplace" } });
    expect(await userinfo(signedIn.accessToken)).toMatchObject({ workplace: "2.72" });
    await fixtures.admin.require("DELETE", "/attributes/employee");
    expect(await userinfo(signedIn.accessToken)).toEqual({ workplace: "2.72" });
    const refreshed = await application.refresh(signedIn.refreshToken);
    expect(added(claimsOf(accessToken(refreshed)))).toEqual({});
  });
});
