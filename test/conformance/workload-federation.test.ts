import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { forgeries } from "./fixtures/forgeries.ts";
import {
  accessToken,
  api,
  claimsOf,
  grantTypes,
  otherApi,
  type TestClient,
  tokenTypes,
} from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";
import { serveKeys, TestIssuer } from "./fixtures/test-issuer.ts";

/** Workloads without a secret: a trusted issuer, a rule for each claim, and a service client. */
const tokenUrl = `${provider.issuer}/token`;

let service: TestClient;
let resourceServer: TestClient;
let issuer: TestIssuer;
const issuerId = `workloads-${randomUUID()}`;

/** A service client without a secret. */
function workloadClient(metadata: Readonly<Record<string, unknown>> = {}): Promise<TestClient> {
  return fixtures.client({
    token_endpoint_auth_method: "none",
    grant_types: [grantTypes.jwtBearer],
    scope: "read write",
    audiences: [api, otherApi],
    ...metadata,
  });
}

function rule(properties: Readonly<Record<string, unknown>> = {}) {
  return {
    rule_id: "main",
    uses: ["assertion"],
    claims: { sub: { exact: "workload" } },
    client_id: service.client_id,
    subject: { type: "client" },
    resources: [api],
    scopes: ["read"],
    ...properties,
  };
}

async function trust(
  by: TestIssuer,
  rules: readonly Readonly<Record<string, unknown>>[],
  properties: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const algorithms = [by.alg];
  const record = { issuer: by.issuer, jwks: by.jwks, algorithms, reusable_assertions: true, rules, ...properties };
  return String((await fixtures.admin.require("POST", "/issuers", record))["issuer_id"]);
}

/** Without a client_id and without client authentication, like a workload. */
function send(assertion: string, form: Readonly<Record<string, string>> = {}): Promise<ApiResponse> {
  return postForm(tokenUrl, { grant_type: grantTypes.jwtBearer, assertion, resource: api, ...form });
}

async function outcome(response: Promise<ApiResponse>): Promise<string> {
  const { status, body } = await response;
  return status === 200 ? "200" : `${status} ${body["error"]}`;
}

/** A valid token of the workload; `undefined` drops a claim. */
function workload(claims: Readonly<Record<string, unknown>> = {}, header: Readonly<Record<string, unknown>> = {}) {
  return issuer.sign({ sub: "workload", aud: provider.issuer, ...claims }, header);
}

const now = () => Math.floor(Date.now() / 1000);

beforeAll(async () => {
  [service, resourceServer, issuer] = await Promise.all([
    workloadClient(),
    fixtures.resourceServer(),
    TestIssuer.create(),
  ]);
  await trust(issuer, [rule()], { issuer_id: issuerId, reusable_assertions: false });
});

describe("RFC 7523 §2.1, MCP workload identity federation: an assertion without client authentication", () => {
  test("RFC 7521 §4.1: gets a token of the service client, for the resource", async () => {
    const response = await send(await workload());
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.body).toMatchObject({ token_type: "Bearer", scope: "read" });
    const token = accessToken(response);
    expect(claimsOf(token)).toMatchObject({ sub: service.client_id, client_id: service.client_id, aud: api });
    expect(claimsOf(token)).not.toHaveProperty("user");
    expect((await fixtures.introspect(resourceServer, token)).body).toMatchObject({ active: true, scope: "read" });
  });

  test("aud is the issuer or the token endpoint, and nothing else", async () => {
    expect(await outcome(send(await workload({ aud: tokenUrl })))).toBe("200");
    expect(await outcome(send(await workload({ aud: [provider.issuer] })))).toBe("200");
    for (const aud of [
      undefined,
      "",
      [],
      {},
      `${provider.issuer}/`,
      `${provider.issuer}/introspect`,
      "https://other.example.com",
      [provider.issuer, "https://other.example.com"],
      [[provider.issuer]],
    ]) {
      expect(await outcome(send(await workload({ aud }))), JSON.stringify(aud)).toBe("400 invalid_grant");
    }
  });

  test("§3: a missing, malformed, late or mistyped claim is invalid_grant", async () => {
    const cases: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>?])[] = [
      ["no sub", { sub: undefined }],
      ["a sub that is a list", { sub: ["workload"] }],
      ["no iss", { iss: undefined }],
      ["an iss that is a list", { iss: [issuer.issuer] }],
      ["iss with a slash", { iss: `${issuer.issuer}/` }],
      ["iss in capitals", { iss: issuer.issuer.toUpperCase() }],
      ["no exp", { exp: undefined }],
      ["expired", { iat: now() - 300, exp: now() - 60 }],
      ["no iat", { iat: undefined }],
      ["issued in the future", { iat: now() + 300, exp: now() + 360 }],
      ["not yet valid", { nbf: now() + 300 }],
      ["a lifetime of two hours", { exp: now() + 7_200 }],
      ["no jti", { jti: undefined }],
      ["a jti that is a number", { jti: 1 }],
      ["a jti of 300 characters", { jti: "x".repeat(300) }],
      ["a delegated token", { act: { sub: "someone" } }],
      ["a security event", { events: {} }],
      ["bound to a key that is not proven", { cnf: { jkt: "x" } }],
      ["may_act in the names of the other issuer", { may_act: { sub: service.client_id } }],
      ["typ of an access token", {}, { typ: "at+jwt" }],
      ["typ of a request object", {}, { typ: "oauth-authz-req+jwt" }],
      ["typ of a logout token", {}, { typ: "logout+jwt" }],
      ["typ of a proof", {}, { typ: "dpop+jwt" }],
      ["a kid of nobody", {}, { kid: "nobody" }],
    ];
    for (const [what, claims, header] of cases) {
      expect(await outcome(send(await workload(claims, header))), what).toBe("400 invalid_grant");
    }
    expect(await outcome(send(await workload({ exp: String(now() + 60) } as never)))).toBe("400 invalid_grant");
  });

  test("an ID-JAG without client authentication is refused", async () => {
    expect(await outcome(send(await workload({}, { typ: "oauth-id-jag+jwt" })))).toBe("401 invalid_client");
  });

  test("RFC 8725 §3.1: every forgery is refused: no signature, HMAC by the public key, another key, another algorithm", async () => {
    for (const [what, forged] of await forgeries(await workload(), { keys: [issuer.jwk as JsonWebKey] })) {
      expect(await outcome(send(forged)), what).toMatch(/^400 invalid_grant$/);
    }
  });

  test("RFC 8725 §3.1: an algorithm that the issuer is not trusted with is refused, even if its key is trusted", async () => {
    const rsa = await TestIssuer.create(undefined, "PS256");
    const { alg: _, ...jwk } = rsa.jwk as { alg?: string };
    await trust(rsa, [rule()], { algorithms: ["RS256"], jwks: { keys: [jwk] } });
    expect(await outcome(send(await rsa.sign({ sub: "workload", aud: provider.issuer })))).toBe("400 invalid_grant");
  });

  test("§3 item 7: exactly one of ten parallel uses of one assertion succeeds; a refused request does not spend it", async () => {
    const assertion = await workload();
    expect(await outcome(send(assertion, { scope: "write" }))).toBe("400 invalid_scope");
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => outcome(send(assertion))));
    expect(outcomes.filter((each) => each === "200")).toHaveLength(1);
    expect(outcomes.filter((each) => each === "400 invalid_grant")).toHaveLength(9);
  });

  test("the same jti of another issuer is another assertion, and a mounted token may be sent until it expires", async () => {
    const other = await TestIssuer.create();
    await trust(other, [rule()]);
    const jti = randomUUID();
    expect(await outcome(send(await workload({ jti })))).toBe("200");
    const mounted = await other.sign({ sub: "workload", aud: provider.issuer, jti });
    expect(await outcome(send(mounted))).toBe("200");
    expect(await outcome(send(mounted))).toBe("200");
  });

  test("RFC 8707 §2: resources and scopes are limited to those of the rule and of the client", async () => {
    expect(await outcome(send(await workload(), { resource: otherApi }))).toBe("400 invalid_target");
    expect(await outcome(send(await workload(), { audience: api }))).toBe("400 invalid_target");
    expect(await outcome(send(await workload(), { scope: "read write" }))).toBe("400 invalid_scope");
    expect(await outcome(send(await workload(), { scope: "admin:clients" }))).toBe("400 invalid_scope");
    const noResource = await postForm(tokenUrl, { grant_type: grantTypes.jwtBearer, assertion: await workload() });
    expect(claimsOf(accessToken(noResource))["aud"]).toBe(api);
    const details = { authorization_details: '[{"type":"any"}]' };
    expect(await outcome(send(await workload(), details))).toBe("400 invalid_authorization_details");
    const admin = `${provider.issuer}/admin`;
    expect(await outcome(send(await workload(), { resource: admin }))).toBe("400 invalid_target");
  });

  test("RFC 6749 §2.3: an unknown client_id, or a secret with the assertion, is client authentication", async () => {
    expect(await outcome(send(await workload(), { client_id: "nobody" }))).toBe("401 invalid_client");
    expect(await outcome(send(await workload(), { client_id: service.client_id }))).toBe("200");
    const secret = { client_id: service.client_id, client_secret: "x" };
    expect(await outcome(send(await workload(), secret))).toBe("401 invalid_client");
    const other = await workloadClient();
    expect(await outcome(send(await workload(), { client_id: other.client_id }))).toBe("400 invalid_grant");
  });

  test("RFC 9449 §5: the token is bound to the key of a proof", async () => {
    const { DpopKey } = await import("../fixtures/dpop-key.ts");
    const key = await DpopKey.generate();
    const form = { grant_type: grantTypes.jwtBearer, assertion: await workload({ cnf: { jkt: key.thumbprint } }) };
    const response = await postForm(tokenUrl, form, { DPoP: await key.proof("POST", tokenUrl) });
    expect(claimsOf(accessToken(response))["cnf"]).toEqual({ jkt: key.thumbprint });
  });
});

test("FAPI 2.0 §5.3.2.1: a client with the profile authenticates by its own key: no rule lets an assertion replace that", async () => {
  const own = await TestIssuer.create();
  const strict = await fixtures.asserter({
    ...{ token_endpoint_auth_method: "private_key_jwt", security_profile: "fapi2", scope: "read" },
    ...{ dpop_bound_access_tokens: true },
  });
  await trust(own, [rule({ client_id: strict.client_id })]);
  const assertion = await own.sign({ sub: "workload", aud: provider.issuer });
  expect(await outcome(send(assertion))).toBe("401 invalid_client");
});

describe("rules per claim: default deny", () => {
  async function matches(claims: Readonly<Record<string, unknown>>, token: Readonly<Record<string, unknown>>) {
    const own = await TestIssuer.create();
    await trust(own, [rule({ claims })]);
    return outcome(send(await own.sign({ sub: "workload", aud: provider.issuer, ...token })));
  }

  test("an issuer without rules, an unknown issuer and a rule for another use grant nothing", async () => {
    const [bare, unknown, other] = await Promise.all([TestIssuer.create(), TestIssuer.create(), TestIssuer.create()]);
    await trust(bare, []);
    await trust(other, [rule({ uses: ["subject_token"], clients: [service.client_id] })]);
    for (const each of [bare, unknown, other]) {
      const assertion = await each.sign({ sub: "workload", aud: provider.issuer });
      expect(await outcome(send(assertion))).toBe("400 invalid_grant");
    }
  });

  test.each([
    ["exact", { sub: { exact: "repo:acme/app:ref:refs/heads/main" } }, { sub: "repo:acme/app:ref:refs/heads/main" }],
    ["one of", { environment: { one_of: ["production", "staging"] } }, { environment: "staging" }],
    ["prefix", { sub: { prefix: "repo:acme/" } }, { sub: "repo:acme/app:ref:refs/heads/main" }],
    ["glob", { sub: { glob: "repo:acme/*:ref:**" } }, { sub: "repo:acme/app:ref:refs/heads/main" }],
    ["contains", { groups: { contains: "deployers" } }, { groups: ["staff", "deployers"] }],
    ["number", { run: { exact: 7 } }, { run: 7 }],
    ["boolean", { protected: { exact: true } }, { protected: true }],
    [
      "Kubernetes, by JSON pointer (RFC 6901 §4)",
      { "/kubernetes.io/namespace": { exact: "prod" }, "/kubernetes.io/serviceaccount/name": { exact: "deployer" } },
      { "kubernetes.io": { namespace: "prod", serviceaccount: { name: "deployer" } } },
    ],
    [
      "a cloud's namespaced claim, by JSON pointer (RFC 6901 §3)",
      { "/https:~1~1sts.cloud.example~1/org_id": { exact: "o-1" } },
      { "https://sts.cloud.example/": { org_id: "o-1" } },
    ],
  ])("%s matches", async (_, claims, token) => {
    expect(await matches(claims, token)).toBe("200");
  });

  test.each([
    ["a longer name than the prefix ends", { sub: { prefix: "repo:acme/" } }, { sub: "repo:acme-evil/app" }],
    [
      "a branch that contains the pattern",
      { sub: { glob: "repo:acme/*:ref:refs/heads/main" } },
      { sub: "repo:acme/app:environment:x:ref:refs/heads/main" },
    ],
    ["a path within one star", { sub: { glob: "spiffe://acme.example/*" } }, { sub: "spiffe://acme.example/ns/prod" }],
    ["nothing for a star", { sub: { glob: "repo:acme/*:main" } }, { sub: "repo:acme/:main" }],
    ["a second @", { email: { glob: "*@acme.example" } }, { email: "eve@evil.example@acme.example" }],
    ["a pattern's characters taken literally", { sub: { glob: "a.c" } }, { sub: "abc" }],
    ["another case", { sub: { exact: "workload" } }, { sub: "Workload" }],
    ["white space", { sub: { exact: "workload" } }, { sub: "workload " }],
    ["a number for its text", { id: { exact: "7" } }, { id: 7 }],
    ["a text for a number", { id: { exact: 7 } }, { id: "7" }],
    ["a text for true", { ok: { exact: true } }, { ok: "true" }],
    ["a list for its only value", { role: { exact: "admin" } }, { role: ["admin"] }],
    ["a list for a prefix", { role: { prefix: "ad:" } }, { role: ["ad:min"] }],
    ["a text for a list", { groups: { contains: "ops" } }, { groups: "ops" }],
    ["an object with toString", { role: { exact: "admin" } }, { role: { toString: "admin" } }],
    ["a claim that every object inherits", { constructor: { prefix: "f:" } }, {}],
    ["a member of a list", { "/groups/0": { exact: "ops" } }, { groups: ["ops"] }],
    ["null", { role: { exact: "null" } }, { role: null }],
    ["one claim of two", { sub: { exact: "workload" }, environment: { exact: "production" } }, { sub: "workload" }],
  ])("%s does not match", async (_, claims, token) => {
    expect(await matches(claims, token)).toBe("400 invalid_grant");
  });

  test("the first rule that allows the request decides; a target that only another rule allows is refused", async () => {
    const own = await TestIssuer.create();
    const writer = rule({
      rule_id: "writer",
      claims: { sub: { exact: "writer" } },
      resources: [otherApi],
      scopes: ["write"],
    });
    const both = rule({ rule_id: "both", claims: { sub: { one_of: ["writer", "reader"] } } });
    await trust(own, [writer, both]);
    const as = async (sub: string, resource: string) =>
      send(await own.sign({ sub, aud: provider.issuer }), { resource });
    expect((await as("writer", otherApi)).body["scope"]).toBe("write");
    expect((await as("writer", api)).body["scope"]).toBe("read");
    expect(await outcome(as("reader", otherApi))).toBe("400 invalid_target");
  });
});

describe("kinds of workloads", () => {
  test("SPIFFE JWT-SVID §3: no iss; the trust domain of sub names the issuer", async () => {
    const domain = `spiffe://${randomUUID()}.example`;
    const svid = await TestIssuer.create(domain, "ES384");
    await trust(svid, [rule({ claims: { sub: { prefix: `${domain}/ns/prod/` } } })]);
    const as = (sub: string, claims = {}) =>
      svid.sign({ iss: undefined as never, jti: undefined as never, aud: provider.issuer, sub, ...claims });
    expect(await outcome(send(await as(`${domain}/ns/prod/deployer`)))).toBe("200");
    expect(await outcome(send(await as(`${domain}/ns/prod/deployer`, { iss: domain })))).toBe("200");
    for (const sub of [
      `${domain}/ns/test/deployer`,
      `${domain}/ns/prod/../test/deployer`,
      `${domain}/ns/prod//deployer`,
      `${domain}/ns/prod/`,
      `${domain}.evil.example/ns/prod/deployer`,
      "spiffe://other.example/ns/prod/deployer",
    ]) {
      expect(await outcome(send(await as(sub))), sub).toBe("400 invalid_grant");
    }
    const foreign = await as("spiffe://other.example/ns/prod/deployer", { iss: domain });
    expect(await outcome(send(foreign))).toBe("400 invalid_grant");
  });

  test("OIDC Discovery §4.3: keys from the issuer's metadata, if it is the issuer's own; an unknown kid fetches once a minute", async () => {
    const keys = await serveKeys();
    try {
      const [own, stranger] = [
        await TestIssuer.create(keys.origin, "RS256"),
        await TestIssuer.create(keys.origin, "RS256"),
      ];
      keys.keys = [own.jwk];
      const byDiscovery = { jwks: undefined, discovery_uri: keys.discoveryUri };
      await trust(own, [rule()], byDiscovery);
      const claims = { sub: "workload", aud: provider.issuer };
      expect(await outcome(send(await own.sign(claims)))).toBe("200");
      expect(keys.requests).toEqual(["/.well-known/openid-configuration", "/keys"]);
      const forged = await Promise.all(
        Array.from({ length: 20 }, (_, kid) => stranger.sign(claims, { kid: `k${kid}` })),
      );
      for (const each of forged) expect(await outcome(send(each))).toBe("400 invalid_grant");
      expect(keys.requests).toHaveLength(3);
      expect(await outcome(send(await own.sign(claims)))).toBe("200");

      const mixedUp = await TestIssuer.create();
      await trust(mixedUp, [rule()], { ...byDiscovery, algorithms: ["RS256"] });
      const asAnother = await own.sign({ ...claims, iss: mixedUp.issuer });
      expect(await outcome(send(asAnother)), "metadata of another issuer").toBe("400 invalid_grant");
    } finally {
      await keys.stop();
    }
  });

  test("RFC 8725 §3.8: a key of one trusted issuer signs nothing for another", async () => {
    const [one, two] = [await TestIssuer.create(), await TestIssuer.create()];
    await trust(one, [rule()]);
    await trust(two, [rule()]);
    const mixed = await two.sign({ iss: one.issuer, sub: "workload", aud: provider.issuer });
    expect(await outcome(send(mixed))).toBe("400 invalid_grant");
  });

  test("a workload may act for a user: by a claim that names them", async () => {
    const sub = await fixtures.user();
    const username = `person-${randomUUID()}`;
    const named = await fixtures.user({ username });
    const own = await TestIssuer.create();
    const bySub = rule({ rule_id: "sub", claims: {}, subject: { type: "user", claim: "user_id", by: "sub" } });
    const byName = rule({
      rule_id: "name",
      claims: {},
      subject: { type: "user", claim: "upn", by: "username" },
      resources: [otherApi],
    });
    await trust(own, [bySub, byName]);
    const as = async (claims: Record<string, unknown>, resource = api) =>
      send(await own.sign({ sub: "job", aud: provider.issuer, ...claims }), { resource });
    expect(claimsOf(accessToken(await as({ user_id: sub })))).toMatchObject({ sub, user: true });
    expect(claimsOf(accessToken(await as({ upn: username.toUpperCase() }, otherApi)))["sub"]).toBe(named);
    for (const claims of [{}, { user_id: "nobody" }, { user_id: [sub] }, { user_id: service.client_id }]) {
      expect(await outcome(as(claims)), JSON.stringify(claims)).toBe("400 invalid_grant");
    }
    await fixtures.admin.require("PATCH", `/users/${sub}`, { status: "suspended" });
    expect(await outcome(as({ user_id: sub }))).toBe("400 invalid_grant");
  });
});

describe("draft-carleton-workload-authz-grant-02: a platform of agents, none of which is registered", () => {
  const tenant = (value: string, more: Readonly<Record<string, unknown>> = {}) =>
    rule({
      ...{ rule_id: value, claims: { tenant: { exact: value } }, subject: { type: "workload" } },
      ...{ scopes: ["read", "write"], access_token_lifetime: 300 },
      ...more,
    });

  async function platform(rules: readonly Readonly<Record<string, unknown>>[] = [tenant("acme")]) {
    const own = await TestIssuer.create();
    const id = await trust(own, rules, { reusable_assertions: false });
    const present = async (sub: string, claims: Readonly<Record<string, unknown>> = {}, form = {}) =>
      send(await own.sign({ sub, aud: provider.issuer, tenant: "acme", ...claims }), form);
    return { id, own, present };
  }

  test("§3, §4: an agent that was never seen gets a token of its own, for the resource, without a refresh token", async () => {
    const { id, present } = await platform();
    const [one, two] = [await present("agent/7f3d9as3"), await present("agent/7f3d9as4")];
    expect(one.body).toEqual({
      ...{ access_token: expect.any(String), token_type: "Bearer", expires_in: 300, scope: "read write" },
    });
    const claims = claimsOf(accessToken(one));
    expect(claims).toMatchObject({ sub: `${id}/agent/7f3d9as3`, client_id: service.client_id, aud: api });
    expect(claims).not.toHaveProperty("user");
    expect(claimsOf(accessToken(two))["sub"]).toBe(`${id}/agent/7f3d9as4`);
    const { body } = await fixtures.introspect(resourceServer, accessToken(one));
    expect(body).toMatchObject({ active: true, sub: `${id}/agent/7f3d9as3` });
  });

  test("§4: the same identifier at another platform is another agent", async () => {
    const [one, two] = [await platform(), await platform()];
    const subs = [await one.present("agent/1"), await two.present("agent/1")].map(
      (each) => claimsOf(accessToken(each))["sub"],
    );
    expect(subs).toEqual([`${one.id}/agent/1`, `${two.id}/agent/1`]);
  });

  test.each([
    ["limits the token", { scope: "read" }, {}, "read"],
    ["with a value that the policy lacks", { scope: "read admin" }, {}, "read"],
    ["with the requested scope", { scope: "read" }, { scope: "read write" }, "read"],
    ["with nothing that the policy allows", { scope: "deploy" }, {}, "400 invalid_scope"],
    ["beside a request for more", { scope: "read" }, { scope: "write" }, "400 invalid_scope"],
    ["that is no text", { scope: ["read"] }, {}, "400 invalid_grant"],
    ["absent, with the requested scope", {}, { scope: "write" }, "write"],
  ])("§5.1: the scope of the assertion %s", async (_, claims, form, expected) => {
    const { present } = await platform();
    const response = await present("agent/1", claims, form);
    expect(response.status === 200 ? response.body["scope"] : await outcome(Promise.resolve(response))).toBe(expected);
  });

  test("§6.1, §6.3: one issuer for several tenants: the claim selects the rule; without it, none", async () => {
    const { present } = await platform([tenant("acme", { scopes: ["read"] }), tenant("globex", { scopes: ["write"] })]);
    expect((await present("agent/1")).body["scope"]).toBe("read");
    expect((await present("agent/1", { tenant: "globex" })).body["scope"]).toBe("write");
    for (const claims of [{ tenant: undefined }, { tenant: "initech" }]) {
      expect(await outcome(present("agent/1", claims)), JSON.stringify(claims)).toBe("400 invalid_grant");
    }
  });

  test("§7: the response says who must act, and not whether the platform is trusted", async () => {
    const { present } = await platform();
    const unknown = await TestIssuer.create();
    const refused = [
      await present("agent/1", { tenant: "initech" }),
      await present("an agent", {}),
      await present("a".repeat(256), {}),
      await send(await unknown.sign({ sub: "agent/1", aud: provider.issuer })),
    ];
    for (const { body } of refused) {
      expect(body["error"]).toBe("invalid_grant");
      expect(body["error_description"]).toContain("An administrator of this provider finds the reason in the log");
    }
  });

  test("an assertion is accepted once; the end of the rule ends the tokens of its agents", async () => {
    const { id, own, present } = await platform();
    const assertion = await own.sign({ sub: "agent/1", aud: provider.issuer, tenant: "acme" });
    expect([await outcome(send(assertion)), await outcome(send(assertion))]).toEqual(["200", "400 invalid_grant"]);
    const token = accessToken(await present("agent/2"));
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    await fixtures.admin.require("PATCH", `/issuers/${id}`, { rules: [tenant("acme", { status: "disabled" })] });
    expect(await fixtures.isActive(resourceServer, token)).toBe(false);
  });

  test("RFC 8693 §4.1: an agent acts for a user under its own name", async () => {
    const acts = tenant("acme", { uses: ["actor_token"], rule_id: "acts" });
    const exchanger = await fixtures.exchanger();
    const { id, own } = await platform([{ ...acts, clients: [exchanger.client_id] }]);
    const sub = await fixtures.user();
    const subject = await fixtures.userToken(await fixtures.asserter(), sub, { scope: "read" });
    const exchanged = await fixtures.exchange(exchanger, subject, {
      actor_token: await own.sign({ sub: "agent/1", aud: provider.issuer, tenant: "acme" }),
      ...{ actor_token_type: tokenTypes.jwt, audience: api },
    });
    expect(claimsOf(accessToken(exchanged))).toMatchObject({
      sub,
      act: { sub: `${id}/agent/1`, client_id: service.client_id },
    });
  });
});

describe("RFC 7009 §2: revocation of tokens", () => {
  async function issued() {
    const own = await TestIssuer.create();
    const id = await trust(own, [rule(), rule({ rule_id: "other", claims: { sub: { exact: "other" } } })]);
    const get = async (sub: string) => accessToken(await send(await own.sign({ sub, aud: provider.issuer })));
    const tokens = { main: await get("workload"), other: await get("other") };
    const areActive = async () => [
      await fixtures.isActive(resourceServer, tokens.main),
      await fixtures.isActive(resourceServer, tokens.other),
    ];
    const attempt = async (sub: string) => outcome(send(await own.sign({ sub, aud: provider.issuer })));
    return {
      id,
      areActive,
      attempt,
      patch: (body: unknown) => fixtures.admin.require("PATCH", `/issuers/${id}`, body),
    };
  }

  test("a disabled issuer's tokens end when the call returns; enabled again, it issues new ones", async () => {
    const { patch, areActive, attempt } = await issued();
    expect(await areActive()).toEqual([true, true]);
    await patch({ status: "disabled" });
    expect(await areActive()).toEqual([false, false]);
    expect(await attempt("workload")).toBe("400 invalid_grant");
    await patch({ status: "active" });
    expect(await attempt("workload")).toBe("200");
    expect(await areActive()).toEqual([false, false]);
  });

  test("a disabled, changed or removed rule ends only its own tokens", async () => {
    for (const change of [{ status: "disabled" }, { scopes: ["write"] }, undefined]) {
      const { patch, areActive } = await issued();
      const other = rule({ rule_id: "other", claims: { sub: { exact: "other" } } });
      await patch({ rules: change === undefined ? [other] : [rule(change), other] });
      expect(await areActive(), JSON.stringify(change)).toEqual([false, true]);
    }
  });

  test("a description, a new rule and a new key end nothing; a removed key ends everything", async () => {
    const own = await TestIssuer.create();
    const { patch, areActive } = await issued();
    const other = rule({ rule_id: "other", claims: { sub: { exact: "other" } } });
    await patch({ rules: [rule({ description: "x" }), other, rule({ rule_id: "third" })], name: "Workloads" });
    expect(await areActive()).toEqual([true, true]);
    await patch({ jwks: own.jwks });
    expect(await areActive()).toEqual([false, false]);
  });

  test("a deleted issuer's tokens end, and so do those of a disabled service client", async () => {
    const { id, areActive } = await issued();
    expect((await fixtures.admin.call("DELETE", `/issuers/${id}`)).status).toBe(204);
    expect(await areActive()).toEqual([false, false]);
    const client = await workloadClient();
    const own = await TestIssuer.create();
    await trust(own, [rule({ client_id: client.client_id })]);
    const token = accessToken(await send(await own.sign({ sub: "workload", aud: provider.issuer })));
    await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
    expect(await fixtures.isActive(resourceServer, token)).toBe(false);
    expect(await outcome(send(await own.sign({ sub: "workload", aud: provider.issuer })))).toBe("400 invalid_grant");
  });
});
