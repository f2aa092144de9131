import { randomUUID } from "node:crypto";
import { discoverAndRequestJwtAuthGrant, exchangeJwtAuthGrant } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ApiResponse,
  basicAuthorization,
  type Credentials,
  postForm,
  readResponse,
} from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { DpopKey } from "../fixtures/dpop-key.ts";
import { Application, redirectUri } from "./fixtures/application.ts";
import { forgeries } from "./fixtures/forgeries.ts";
import { Guide, runBlock } from "./fixtures/guide.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import {
  accessToken,
  api,
  claimsOf,
  grantTypes,
  headerOf,
  otherApi,
  ProviderFixtures,
  type TestClient,
  tokenTypes,
} from "./fixtures/provider-fixtures.ts";
import { fixtures as home, provider as homeProvider } from "./fixtures/shared-provider.ts";
import { TestIssuer } from "./fixtures/test-issuer.ts";

/**
 * ID-JAG draft -04, enterprise-managed authorization of MCP. Two providers: `home` is the identity provider where the user signs in, `other` is
 * the authorization server of the resource.
 */
const idJagType = "urn:ietf:params:oauth:token-type:id-jag";
const password = "a long enough password";

let provider: LocalProvider;
let other: ProviderFixtures;
/** The application, at the identity provider and at the resource's server. */
let application: Application;
let clientThere: TestClient;
let sub: string;
let idToken: string;
let username: string;
/** An identity provider whose key the test has. */
let rogue: TestIssuer;

function idJagRule(more: Readonly<Record<string, unknown>> = {}) {
  return {
    rule_id: "employees",
    uses: ["id_jag"],
    claims: {},
    clients: [clientThere.client_id],
    subject: { type: "user", claim: "sub", by: "sub" },
    resources: [api, otherApi],
    scopes: ["read", "write"],
    ...more,
  };
}

beforeAll(async () => {
  provider = await startLocalProvider({ vars: { LEASE_MS: "300" } });
  other = new ProviderFixtures(provider);
  username = `person-${randomUUID()}`;
  const claims = { email: "employee@example.com", name: "Employee" };
  [sub, clientThere, rogue] = await Promise.all([
    home.user({ username, password, claims }),
    other.client({ grant_types: [grantTypes.jwtBearer], scope: "read write", audiences: [api, otherApi] }),
    TestIssuer.create(),
  ]);
  application = await Application.register(home, {
    grant_types: ["authorization_code", "refresh_token", grantTypes.tokenExchange],
    skip_consent: true,
    id_jag_targets: [
      {
        audience: provider.issuer,
        client_id: clientThere.client_id,
        resources: [api],
        scopes: ["read", "admin"],
        claims: ["email"],
      },
      { audience: "https://third.example.com", client_id: "there", resources: [otherApi], scopes: ["*"] },
    ],
  });
  await other.admin.require("POST", "/users", { sub, username });
  await other.admin.require("POST", "/issuers", { issuer_id: "home", issuer: home.issuer, rules: [idJagRule()] });
  await other.admin.require("POST", "/issuers", {
    ...{ issuer: rogue.issuer, jwks: rogue.jwks, algorithms: ["ES256"], rules: [idJagRule()] },
    // Despite these settings, an ID-JAG is accepted once, and its audience is the issuer.
    ...{ reusable_assertions: true, audiences: [provider.issuer, `${provider.issuer}/token`, "https://x.example"] },
  });
  ({ idToken } = await application.signIn(new Person(home.issuer, { username, password })));
}, 120_000);
afterAll(() => provider?.stop());

type Form = Readonly<Record<string, string>>;

/** Sent to the identity provider. */
function exchange(form: Form = {}, client = application.client): Promise<ApiResponse> {
  return home.token(client, {
    grant_type: grantTypes.tokenExchange,
    requested_token_type: idJagType,
    subject_token: idToken,
    subject_token_type: tokenTypes.idToken,
    audience: provider.issuer,
    resource: api,
    ...form,
  });
}

async function idJag(form: Form = {}): Promise<string> {
  return accessToken(await exchange(form));
}

/** Sent to the resource's authorization server. */
function redeem(assertion: string, form: Form = {}, client = clientThere): Promise<ApiResponse> {
  return other.token(client, { grant_type: grantTypes.jwtBearer, assertion, ...form });
}

async function outcome(response: Promise<ApiResponse>): Promise<string> {
  const { status, body } = await response;
  return status === 200 ? "200" : `${status} ${body["error"]}`;
}

/** An ID-JAG of the identity provider that the test controls; `undefined` drops a claim. */
function forged(claims: Readonly<Record<string, unknown>> = {}, header: Readonly<Record<string, unknown>> = {}) {
  const usual = { sub, aud: provider.issuer, client_id: clientThere.client_id, resource: api, scope: "read" };
  return rogue.sign({ ...usual, ...claims }, { typ: "oauth-id-jag+jwt", ...header });
}

describe("ID-JAG §4: from one provider to the other", () => {
  test("a user who signed in at one gets a token at the other, for the resource, with the scope of both", async () => {
    const issued = await exchange();
    expect(issued.headers.get("cache-control")).toBe("no-store");
    expect(issued.body).toEqual({
      ...{ access_token: expect.any(String), issued_token_type: idJagType, token_type: "N_A" },
      ...{ expires_in: 300, scope: "read admin" },
    });
    const assertion = accessToken(issued);
    expect(headerOf(assertion)).toMatchObject({ typ: "oauth-id-jag+jwt", alg: "RS256" });
    expect(claimsOf(assertion)).toEqual({
      ...{ iss: home.issuer, sub, aud: provider.issuer, client_id: clientThere.client_id, resource: api },
      ...{ scope: "read admin", jti: expect.any(String), iat: expect.any(Number), exp: expect.any(Number) },
      ...{ email: "employee@example.com", auth_time: expect.any(Number), acr: expect.any(String), amr: ["pwd"] },
    });
    const response = await redeem(assertion);
    expect(response.body).toMatchObject({ token_type: "Bearer", scope: "read" });
    expect(response.body).not.toHaveProperty("refresh_token");
    const token = accessToken(response);
    expect(claimsOf(token)).toMatchObject({ sub, client_id: clientThere.client_id, aud: api, resource: [api] });
    expect(await other.isActive(await other.resourceServer(), token)).toBe(true);
  });

  test("ID-JAG §7: metadata advertises the profile and the token type", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/oauth-authorization-server`));
    expect(body).toMatchObject({
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
      identity_chaining_requested_token_types_supported: [idJagType],
    });
  });

  test("a disabled issuer, rule, client or user ends the token at the other provider", async () => {
    const rs = await other.resourceServer();
    const rules = [idJagRule(), idJagRule({ rule_id: "more", claims: { email: { exact: "x" } } })];
    await other.admin.require("PATCH", "/issuers/home", { rules });
    const first = accessToken(await redeem(await idJag()));
    await other.admin.require("PATCH", "/issuers/home", { rules: [{ ...rules[0], status: "disabled" }, rules[1]] });
    expect(await other.isActive(rs, first)).toBe(false);
    expect(await outcome(redeem(await idJag()))).toBe("400 invalid_grant");
    await other.admin.require("PATCH", "/issuers/home", { rules });
    const second = accessToken(await redeem(await idJag()));
    await other.admin.require("PATCH", "/issuers/home", { status: "disabled" });
    expect(await other.isActive(rs, second)).toBe(false);
    await other.admin.require("PATCH", "/issuers/home", { status: "active" });
    expect(await outcome(redeem(await idJag()))).toBe("200");
  });
});

describe("ID-JAG §4.3: issuing, denied by default", () => {
  test.each([
    ["an audience that is not a target", { audience: "https://stranger.example.com" }, "400 invalid_target"],
    ["the audience with a path", { audience: "https://third.example.com/x" }, "400 invalid_target"],
    ["the audience with two slashes", { audience: "https://third.example.com//" }, "400 invalid_target"],
    ["the resource of another audience", { resource: otherApi }, "400 invalid_target"],
    ["a resource with a fragment", { resource: `${api}#x` }, "400 invalid_target"],
    ["no audience", { audience: "" }, "400 invalid_request"],
    ["a scope beyond the target's", { scope: "write" }, "400 invalid_scope"],
    ["an access token as subject", { subject_token_type: tokenTypes.accessToken }, "400 invalid_request"],
    ["no token", { subject_token: "x" }, "400 invalid_request"],
    ["an actor", { actor_token: "x", actor_token_type: tokenTypes.accessToken }, "400 invalid_request"],
  ])("%s is refused", async (_, form, expected) => {
    expect(await outcome(exchange(form))).toBe(expected);
  });

  test("two audiences, and resources of both: refused; scopes are intersected, and by default those of the pair", async () => {
    const form = new URLSearchParams({
      ...{ grant_type: grantTypes.tokenExchange, requested_token_type: idJagType, audience: provider.issuer },
      ...{ subject_token: idToken, subject_token_type: tokenTypes.idToken },
    });
    form.append("audience", "https://third.example.com");
    expect(await outcome(home.token(application.client, form))).toBe("400 invalid_request");
    expect((await exchange({ scope: "read write" })).body["scope"]).toBe("read");
    const third = await idJag({ audience: "https://third.example.com", resource: "", scope: "anything" });
    expect(claimsOf(third)).toMatchObject({ resource: otherApi, scope: "anything", client_id: "there" });
  });

  test("a client without targets, and the ID token of another client, are refused", async () => {
    const service = await home.client({ grant_types: ["client_credentials", grantTypes.tokenExchange] });
    expect(await outcome(exchange({}, service))).toBe("400 unauthorized_client");
    const id_jag_targets = [{ audience: provider.issuer, client_id: "x", resources: ["*"], scopes: ["*"] }];
    const thief = await home.client({ grant_types: [grantTypes.tokenExchange], id_jag_targets });
    expect(await outcome(exchange({}, thief))).toBe("400 invalid_request");
  });

  test("a revoked grant and a suspended user get none", async () => {
    const name = `person-${randomUUID()}`;
    const user = await home.user({ username: name, password });
    const tokens = await application.signIn(new Person(home.issuer, { username: name, password }), {
      scope: "openid offline_access",
    });
    expect(await outcome(exchange({ subject_token: tokens.idToken }))).toBe("200");
    await home.revoke(application.client, tokens.refreshToken ?? "");
    expect(await outcome(exchange({ subject_token: tokens.idToken }))).toBe("400 invalid_request");
    const again = await application.signIn(new Person(home.issuer, { username: name, password }));
    await home.admin.require("PATCH", `/users/${user}`, { status: "suspended" });
    expect(await outcome(exchange({ subject_token: again.idToken }))).toBe("400 invalid_request");
  });

  test("RFC 8725 §3.11: an ID-JAG is not a token of the provider that issued it", async () => {
    const assertion = await idJag();
    for (const type of [tokenTypes.idToken, tokenTypes.jwt, tokenTypes.accessToken]) {
      const form = { subject_token: assertion, subject_token_type: type, requested_token_type: tokenTypes.accessToken };
      const exchanger = await home.exchanger();
      expect(await outcome(home.exchange(exchanger, assertion, form)), type).toBe("400 invalid_request");
    }
    expect((await home.userinfo(assertion)).status).toBe(401);
    expect(await home.isActive(await home.resourceServer(), assertion)).toBe(false);
  });
});

describe("ID-JAG §4.4: accepting", () => {
  test("ID-JAG §9.2: exactly one of ten parallel uses succeeds; a refused request does not spend it", async () => {
    const assertion = await forged();
    expect(await outcome(redeem(assertion, { scope: "write" }))).toBe("400 invalid_scope");
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => outcome(redeem(assertion))));
    expect(outcomes.filter((each) => each === "200")).toHaveLength(1);
    expect(outcomes.filter((each) => each === "400 invalid_grant")).toHaveLength(9);
    // All objects and isolates are new, so spent values must be durable.
    await provider.restart();
    expect(await outcome(redeem(assertion))).toBe("400 invalid_grant");
  });

  test("another typ, audience, client, time, issuer or subject is invalid_grant", async () => {
    const now = Math.floor(Date.now() / 1000);
    const cases: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>?])[] = [
      ["no typ", {}, { typ: undefined }],
      ["typ JWT", {}, { typ: "JWT" }],
      ["typ of a grant", {}, { typ: "authorization-grant+jwt" }],
      ["typ at+jwt", {}, { typ: "at+jwt" }],
      ["the token endpoint as audience", { aud: `${provider.issuer}/token` }],
      ["an audience that the record allows assertions", { aud: "https://x.example" }],
      ["the issuer with a slash", { aud: `${provider.issuer}/` }],
      ["an audience beside the issuer", { aud: [provider.issuer, "https://x.example"] }],
      ["no audience", { aud: undefined }],
      ["another client", { client_id: "someone" }],
      ["a list of clients", { client_id: [clientThere.client_id] }],
      ["no client", { client_id: undefined }],
      ["the client in azp", { client_id: undefined, azp: clientThere.client_id }],
      ["no sub", { sub: undefined }],
      ["a user that is not here", { sub: "nobody" }],
      ["no jti", { jti: undefined }],
      ["no iat", { iat: undefined }],
      ["no exp", { exp: undefined }],
      ["expired", { iat: now - 300, exp: now - 60 }],
      ["a lifetime of a day", { exp: now + 86_400 }],
      ["iss of the other issuer", { iss: home.issuer }],
      ["no iss", { iss: undefined }],
      ["a resource that is no text", { resource: 1 }],
      ["a scope that is no text", { scope: ["read"] }],
      ["bound to a key that is not proven", { cnf: { jkt: "x" } }],
      ["a delegated one", { act: { sub: "agent" } }],
      ["HMAC by header", {}, { alg: "ES256", kid: "nobody" }],
    ];
    for (const [what, claims, header] of cases) {
      expect(await outcome(redeem(await forged(claims, header))), what).toBe("400 invalid_grant");
    }
  });

  test("RFC 8725 §2.1: every forgery of an ID-JAG is refused", async () => {
    for (const [what, each] of await forgeries(await forged(), { keys: [rogue.jwk as JsonWebKey] })) {
      expect(await outcome(redeem(each)), what).toMatch(/^400 (invalid_grant|unauthorized_client)$/);
    }
  });

  test("ID-JAG §9.1: client authentication is required, even for a public client", async () => {
    const form = { grant_type: grantTypes.jwtBearer, assertion: await forged() };
    expect(await outcome(postForm(`${provider.origin}/token`, form))).toBe("401 invalid_client");
    const open = await other.client({ token_endpoint_auth_method: "none", grant_types: [grantTypes.jwtBearer] });
    const own = { ...form, assertion: await forged({ client_id: open.client_id }), client_id: open.client_id };
    expect(await outcome(postForm(`${provider.origin}/token`, own))).toBe("401 invalid_client");
  });

  test("RFC 8707 §2: the token is only for the resources of the ID-JAG and of the rule", async () => {
    const target = async (claims: Record<string, unknown>, form: Form = {}) =>
      outcome(redeem(await forged(claims), form));
    expect(await target({}, { resource: otherApi })).toBe("400 invalid_target");
    expect(await target({ resource: "https://elsewhere.example.com" })).toBe("400 invalid_target");
    expect(await target({ resource: [api, otherApi] }, { resource: otherApi })).toBe("200");
    expect(await target({}, { audience: otherApi })).toBe("400 invalid_target");
    expect(claimsOf(accessToken(await redeem(await forged({ resource: [api, otherApi] }))))["aud"]).toEqual([
      api,
      otherApi,
    ]);
    expect(claimsOf(accessToken(await redeem(await forged({ resource: undefined }))))["aud"]).toBe(api);
  });

  test("scopes are those that the ID-JAG, the rule, the client and the request have in common", async () => {
    const scope = async (claims: Record<string, unknown>, form: Form = {}) => {
      const { status, body } = await redeem(await forged(claims), form);
      return status === 200 ? body["scope"] : body["error"];
    };
    expect(await scope({ scope: "read write admin:users" })).toBe("read write");
    expect(await scope({ scope: "read write" }, { scope: "write other" })).toBe("write");
    expect(await scope({ scope: "read" }, { scope: "write" })).toBe("invalid_scope");
    expect(await scope({ scope: "other" })).toBe("invalid_scope");
    expect(await scope({ scope: undefined })).toBe("read write");
    expect(await scope({ scope: "" })).toBe("invalid_scope");
  });

  test("the use decides: a rule for assertions accepts no ID-JAG, and a rule for ID-JAGs no assertion", async () => {
    const issuer = await TestIssuer.create();
    const rules = [idJagRule({ uses: ["assertion"] })];
    const record = { issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"], rules };
    await other.admin.require("POST", "/issuers", record);
    const claims = { sub, aud: provider.issuer, client_id: clientThere.client_id, resource: api };
    const jag = await issuer.sign(claims, { typ: "oauth-id-jag+jwt" });
    expect(await outcome(redeem(jag, { resource: api }))).toBe("400 invalid_grant");
    expect(await outcome(redeem(await issuer.sign(claims), { resource: api }))).toBe("200");
    expect(await outcome(redeem(await forged({}, { typ: "JWT" }), { resource: api }))).toBe("400 invalid_grant");
  });

  test("RFC 9449 §5: the token is bound to the key that the request proves, and no other binding is copied", async () => {
    const key = await DpopKey.generate();
    const tokenUrl = `${provider.issuer}/token`;
    const send = async (cnf: unknown) =>
      postForm(
        tokenUrl,
        { grant_type: grantTypes.jwtBearer, assertion: await forged({ cnf }) },
        { authorization: clientThere.authorization, DPoP: await key.proof("POST", tokenUrl) },
      );
    const cnf = { jkt: key.thumbprint };
    expect(claimsOf(accessToken(await send(undefined)))["cnf"]).toEqual(cnf);
    expect(claimsOf(accessToken(await send(cnf)))["cnf"]).toEqual(cnf);
    expect(await outcome(send({ jkt: "another" }))).toBe("400 invalid_grant");
  });
});

test("MCP enterprise-managed authorization: the official SDK gets an ID-JAG and redeems it", async () => {
  const assistant = await Application.register(home, {
    ...{ token_endpoint_auth_method: "client_secret_post", skip_consent: true },
    grant_types: ["authorization_code", grantTypes.tokenExchange],
    id_jag_targets: [
      { audience: provider.issuer, client_id: clientThere.client_id, resources: [api], scopes: ["read"] },
    ],
  });
  const { client_id: clientId, client_secret: clientSecret } = assistant.client;
  const signIn = await assistant.authorize(new Person(home.issuer, { username, password }));
  const redeemed = await postForm(`${home.origin}/token`, {
    ...{
      grant_type: "authorization_code",
      redirect_uri: redirectUri,
      client_id: clientId,
      client_secret: clientSecret,
    },
    code: signIn.authorizationResponse.get("code") ?? "",
  });
  const { jwtAuthGrant, expiresIn } = await discoverAndRequestJwtAuthGrant({
    ...{ idpUrl: home.issuer, idToken: String(redeemed.body["id_token"]), clientId, clientSecret, scope: "read" },
    // In a URL object's form, with a slash.
    ...{ audience: new URL(provider.issuer), resource: api },
  });
  expect(expiresIn).toBe(300);
  expect(claimsOf(jwtAuthGrant)["aud"]).toBe(provider.issuer);
  await other.admin.require("PATCH", "/issuers/home", { rules: [idJagRule()] });
  const tokens = await exchangeJwtAuthGrant({
    ...{ tokenEndpoint: `${provider.issuer}/token`, jwtAuthGrant },
    ...{ clientId: clientThere.client_id, clientSecret: clientThere.client_secret },
  });
  expect(tokens).toMatchObject({ token_type: "Bearer", scope: "read" });
  expect(claimsOf(tokens.access_token)).toMatchObject({ sub, aud: api });
});

test("docs/operating/acting-for-users.md: the application's user gets a token at the other server", async () => {
  const email = `${randomUUID()}@company.example`;
  const name = `person-${randomUUID()}`;
  await home.user({ username: name, password, claims: { email } });
  const there = await other.user({ username: email });
  const assistant = await Application.register(home, { skip_consent: true });
  const tokens = await assistant.signIn(new Person(home.issuer, { username: name, password }));
  // The identity provider's record in this file is for the same issuer.
  await other.admin.require("PATCH", "/issuers/home", { status: "disabled" });
  await other.admin.call("DELETE", "/issuers/home");
  const guide = new Guide("acting-for-users.md");
  const variables: Record<string, string> = {
    ...{ IDP: home.issuer, AS: provider.issuer, ID_TOKEN: tokens.idToken },
    IDP_ADMIN: await adminToken(home.origin, homeProvider.dev.admin),
    AS_ADMIN: await adminToken(provider.origin, provider.admin),
    ASSISTANT_ID: assistant.client.client_id,
    ASSISTANT_SECRET: assistant.client.client_secret,
  };
  const [client] = await runBlock(guide.commands[0]!, variables);
  await runBlock(guide.commands[1]!, variables);
  const [token] = await runBlock(guide.commands[2]!, { ...variables, WIKI_SECRET: String(client!["client_secret"]) });
  expect(token).toMatchObject({ token_type: "Bearer", scope: "pages:read" });
  expect(claimsOf(String(token!["access_token"]))).toMatchObject({ sub: there, aud: "https://wiki.example.com/mcp" });
});

async function adminToken(origin: string, credentials: Credentials): Promise<string> {
  const headers = { authorization: basicAuthorization(credentials) };
  return accessToken(await postForm(`${origin}/token`, { grant_type: "client_credentials" }, headers));
}
