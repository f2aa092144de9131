import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demoApplications } from "../../examples/application/src/demo.ts";
import { introspectionValidator } from "../../packages/resource-server/src/validate-by-introspection.ts";
import { jwtValidator } from "../../packages/resource-server/src/validate-jwt.ts";
import { Application } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { grantTypes, headerOf, ProviderFixtures, type TestClient, tokenTypes } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";

/** A resource whose access tokens have the signature and the `typ` of ID tokens: nothing accepts one for the other. */
const other = "https://at-jwt.example.com/";
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let app: Application;
let server: TestClient;
let person: RegisteredPerson;
let api: string;
let access: string;
let id: string;
/** Tokens of a second person. */
let others: { readonly access: string; readonly id: string };

beforeAll(async () => {
  provider = await startLocalProvider({ applications: { api: demoApplications.api } });
  fixtures = new ProviderFixtures(provider);
  api = provider.resources["api"]!;
  const described = { name: "Notes", clients: "registered", scopes: [{ value: "notes:read", description: "Read" }] };
  const resource = { ...described, access_token_typ: "JWT", access_token_signed_response_alg: "RS256" };
  await fixtures.admin.require("POST", "/resources", { ...resource, identifier: api });
  await fixtures.admin.require("POST", "/resources", { ...described, identifier: other });
  server = await fixtures.client({ introspection: { audiences: [api] } });
  app = await Application.register(fixtures, {
    grant_types: ["authorization_code", "refresh_token", grantTypes.tokenExchange],
    audiences: [api, other, server.client_id],
    scope: "openid email notes:read offline_access",
    token_exchange: {
      ...{ subject_clients: ["*"], audiences: ["*"], resources: ["*"], scopes: ["*"] },
      modes: ["delegation", "impersonation"],
    },
  });
  person = await registerPerson(fixtures, { email: "pat@example.com" });
  const tokens = await app.signIn(person.browser(), { scope: "openid email notes:read" });
  [access, id] = [tokens.accessToken, tokens.idToken];
  const second = await app.signIn((await registerPerson(fixtures)).browser(), { scope: "openid notes:read" });
  others = { access: second.accessToken, id: second.idToken };
});
afterAll(() => provider.stop());

test("RFC 9068 §2.1: the rules of a resource choose the signature and the type of its access tokens", () => {
  const form = { alg: "RS256", typ: "JWT", kid: expect.any(String) };
  expect([headerOf(access), headerOf(id)]).toEqual([form, form]);
});

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

async function exchange(form: Record<string, string>): Promise<number> {
  const grant = { grant_type: grantTypes.tokenExchange, scope: "openid", audience: other };
  return (await fixtures.token(app.client, { ...grant, ...form })).status;
}

const subject = (token: string, type: string) => exchange({ subject_token: token, subject_token_type: type });
const actor = (token: string, type: string) =>
  exchange({
    ...{ subject_token: access, subject_token_type: tokenTypes.accessToken },
    ...{ actor_token: token === access ? others.access : others.id, actor_token_type: type },
  });
const validate = (validator: ReturnType<typeof jwtValidator>) => async (token: string) =>
  (await validator(api, token)) === null ? "null" : "valid";
const viaOrigin: typeof fetch = (url, init) => fetch(String(url).replace(provider.issuer, provider.origin), init);

/** Each place that accepts a token: the result for the access token, and for the ID token. */
const places: readonly [string, (token: string) => Promise<unknown>, unknown, unknown][] = [
  ["/userinfo", (token) => statusOf(fixtures.userinfo(token)), 200, 401],
  ["/introspect", (token) => fixtures.isActive(server, token), true, false],
  ["the admin API", (token) => statusOf(fetch(`${provider.origin}/admin/clients`, bearer(token))), 401, 401],
  ["the entrypoint of a binding", (token) => statusOf(fetch(`${api}notes`, bearer(token))), 200, 401],
  [
    "jwtValidator with typ JWT",
    (token) => validate(jwtValidator({ issuer: provider.issuer, typ: "JWT", fetch: viaOrigin }))(token),
    ...(["valid", "null"] as const),
  ],
  [
    "jwtValidator",
    (token) => validate(jwtValidator({ issuer: provider.issuer, fetch: viaOrigin }))(token),
    ...(["null", "null"] as const),
  ],
  [
    "introspectionValidator",
    (token) =>
      validate(
        introspectionValidator({
          endpoint: `${provider.origin}/introspect`,
          clientId: server.client_id,
          clientSecret: server.client_secret,
        }),
      )(token),
    ...(["valid", "null"] as const),
  ],
  ["subject_token as access_token", (token) => subject(token, tokenTypes.accessToken), 200, 400],
  ["subject_token as id_token", (token) => subject(token, tokenTypes.idToken), 400, 200],
  ["actor_token as access_token", (token) => actor(token, tokenTypes.accessToken), 200, 400],
  ["actor_token as id_token", (token) => actor(token, tokenTypes.idToken), 400, 200],
  [
    "id_token_hint at /authorize",
    async (token) => {
      const { authorizationResponse } = await app.authorize(person.browser(), { id_token_hint: token });
      return authorizationResponse.get("error") ?? "code";
    },
    ...(["invalid_request", "code"] as const),
  ],
  [
    "id_token_hint at /logout",
    async (token) => {
      const page = await fetch(app.logoutUrl({ id_token_hint: token }), { redirect: "manual" });
      return (await page.text()).includes("id_token_hint is not valid") ? "not valid" : page.status;
    },
    ...(["not valid", 200] as const),
  ],
];

describe("RFC 8725 §3.11, §3.12: an ID token is not an access token, and the reverse, also with equal typ and keys", () => {
  test.each(places)("%s", async (_, send, ofAccessToken, ofIdToken) => {
    expect([await send(access), await send(id)]).toEqual([ofAccessToken, ofIdToken]);
  });

  test("/revoke ends an access token and knows no ID token", async () => {
    const tokens = await app.signIn(person.browser(), { scope: "openid notes:read" });
    const active = () => fixtures.isActive(server, tokens.accessToken);
    expect((await fixtures.revoke(app.client, tokens.idToken)).status).toBe(200);
    expect(await active()).toBe(true);
    expect((await fixtures.revoke(app.client, tokens.accessToken)).status).toBe(200);
    expect(await active()).toBe(false);
  });
});

describe("RFC 9068 §5: a token of the type of ID tokens is for such resources alone", () => {
  const exchangeFor = async (form: Record<string, string>, audiences: readonly string[]) => {
    const fields = { scope: "notes:read", subject_token: access, subject_token_type: tokenTypes.accessToken };
    const repeated = audiences.map((audience): [string, string] => ["audience", audience]);
    return fixtures.exchange(app.client, access, { ...fields, ...form }, repeated);
  };

  test.each([
    ["a client's id", () => server.client_id],
    ["its own client_id", () => app.client.client_id],
    ["an audience without a record", () => "https://unknown.example.com"],
    ["a resource with at+jwt", () => other],
  ])("%s beside it is invalid_target", async (_, audience) => {
    const { status, body } = await exchangeFor({}, [api, audience()]);
    expect([status, body["error"], body["error_description"]]).toEqual([
      ...[400, "invalid_target"],
      expect.stringContaining("different types of their access tokens (JWT, at+jwt)"),
    ]);
  });

  test("RFC 8707 §2.2: a code for several such resources is not spent by a request for all of them", async () => {
    const signIn = await app.authorize(person.browser(), { scope: "offline_access notes:read", resource: api });
    const both = app.authorizationUrl({ scope: "offline_access notes:read", resource: api });
    both.searchParams.append("resource", other);
    const arrival = await person.browser().visit(both);
    const code = { authorizationResponse: arrival.url.searchParams };
    expect((await app.redeem(code)).body).toMatchObject({ error: "invalid_target" });
    expect((await app.redeem(code)).body).toMatchObject({ error: "invalid_target" });
    const narrowed = await app.redeem(code, { resource: api });
    expect(headerOf(String(narrowed.body["access_token"]))).toMatchObject({ typ: "JWT", alg: "RS256" });
    const refreshed = await app.refresh(String(narrowed.body["refresh_token"]), { resource: other });
    expect(headerOf(String(refreshed.body["access_token"]))).toMatchObject({ typ: "at+jwt" });
    expect((await app.redeem(signIn)).status).toBe(200);
  });
});
