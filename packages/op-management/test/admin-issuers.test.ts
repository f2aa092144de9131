import { beforeEach, describe, expect, it } from "vitest";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { AdminCaller, bindings, dumpDatabase, everyScope, issuer } from "./fixtures/admin-fixtures.ts";

const name = "https://ci.example.com";
const key = await generateClientKey();
const rule = {
  rule_id: "main",
  uses: ["assertion"],
  claims: { sub: { exact: "job" } },
  client_id: "deploy",
  subject: { type: "client" },
  resources: ["https://api.example.com"],
  scopes: ["read"],
};
const record = { issuer_id: "ci", issuer: name, jwks: { keys: [key.publicJwk] }, algorithms: ["ES256"], rules: [rule] };

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

describe("/admin/issuers", () => {
  it("creates, shows, lists, changes and deletes an issuer, each with an event", async () => {
    const created = await admin.call("POST", "/issuers", { body: record });
    expect([created.status, created.headers.get("location")]).toEqual([201, `${issuer}/admin/issuers/ci`]);
    expect(created.body).toMatchObject({
      ...{ issuer_id: "ci", issuer: name, status: "active", max_token_lifetime: 3600, reusable_assertions: false },
      rules: [{ ...rule, status: "active", audiences: [] }],
    });
    expect((await admin.call("GET", "/issuers/ci")).body).toEqual(created.body);
    expect((await admin.call("GET", "/issuers")).body.issuers).toEqual([created.body]);
    const changed = await admin.call("PATCH", "/issuers/ci", { body: { name: "CI", rules: [] } });
    expect(changed.body).toMatchObject({ name: "CI", rules: [], jwks: record.jwks });
    const etag = created.headers.get("etag")!;
    const late = await admin.call("PATCH", "/issuers/ci", { body: { name: "x" }, headers: { "if-match": etag } });
    expect(late.status).toBe(412);
    expect((await admin.call("DELETE", "/issuers/ci")).status).toBe(204);
    expect((await admin.call("GET", "/issuers/ci")).status).toBe(404);
    const { results } = await bindings.DB.prepare("SELECT action, detail FROM admin_events ORDER BY seq").all();
    expect(results).toMatchObject([
      { action: "issuer.create" },
      { action: "issuer.update", detail: '{"fields":["name","rules"],"ended":"issuer:ci:main"}' },
      { action: "issuer.update", detail: '{"fields":["status"],"ended":"issuer:ci"}' },
      { action: "issuer.delete" },
    ]);
  });

  it("has discovery below an https issuer unless keys are given", async () => {
    const { jwks: _, ...discovered } = record;
    const { body } = await admin.call("POST", "/issuers", { body: { ...discovered, issuer: `${name}/tenant/` } });
    expect(body.discovery_uri).toBe(`${name}/tenant/.well-known/openid-configuration`);
    const uri = "https://ci.example.com/keys";
    const moved = await admin.call("PATCH", "/issuers/ci", { body: { discovery_uri: null, jwks_uri: uri } });
    expect([moved.body.jwks_uri, moved.body.discovery_uri]).toEqual([uri, undefined]);
  });

  it("one record for an issuer: a second one is a conflict", async () => {
    await admin.call("POST", "/issuers", { body: record });
    const again = await admin.call("POST", "/issuers", { body: { ...record, issuer_id: "other" } });
    expect([again.status, again.body.error]).toEqual([409, "conflict"]);
    const sameId = await admin.call("POST", "/issuers", { body: { ...record, issuer: "https://other.example.com" } });
    expect([sameId.status, sameId.body.fields]).toEqual([409, [{ path: "issuer_id", message: "is taken" }]]);
  });

  it("OpenID Connect Discovery §4.3: an issuer may end with a slash, but one with and one without are the same issuer", async () => {
    const body = { ...record, issuer: `${name}/` };
    expect((await admin.call("POST", "/issuers", { body })).status).toBe(201);
    const again = await admin.call("POST", "/issuers", { body: { ...record, issuer_id: "other" } });
    expect([again.status, again.body.fields]).toEqual([
      409,
      [{ path: "issuer", message: `is recorded as ${name}/, with the issuer_id ci` }],
    ]);
  });

  it.each([
    ["upper case", "https://CI.example.com", "https://ci.example.com"],
    ["an upper-case scheme", "HTTPS://ci.example.com/a", "https://ci.example.com/a"],
    ["the default port", "https://ci.example.com:443", "https://ci.example.com"],
    ["an empty port", "https://ci.example.com:/", "https://ci.example.com/"],
    ["a final dot", "https://ci.example.com./a", "https://ci.example.com/a"],
    ["dot segments", "https://ci.example.com/a/../b", "https://ci.example.com/b"],
    ["an encoded host", "https://ci.ex%61mple.com", "https://ci.example.com"],
  ])("an issuer with %s is refused, and the error states the correct spelling", async (_, issuerName, canonical) => {
    const { status, body } = await admin.call("POST", "/issuers", { body: { ...record, issuer: issuerName } });
    expect([status, body.fields]).toEqual([400, [{ path: "issuer", message: `must be written as ${canonical}` }]]);
  });

  it.each(["", "/", ":443", ".", ".:443/"])(
    "this provider is no other issuer, written with %j at its end",
    async (end) => {
      for (const own of [issuer, issuer.replace("op.example", "OP.Example")]) {
        const { status, body } = await admin.call("POST", "/issuers", { body: { ...record, issuer: own + end } });
        expect([status, body.fields?.[0].message]).toEqual([
          400,
          "must not be this provider: its own tokens need no record",
        ]);
      }
    },
  );

  it("an issuer with its own port needs its keys in the record, or a URL from which they can be fetched", async () => {
    const ported = { ...record, issuer: `${name}:8443` };
    const { jwks: _, ...discovered } = ported;
    const refused = await admin.call("POST", "/issuers", { body: discovered });
    expect(refused.body.fields).toEqual([
      { path: "discovery_uri", message: "must be https on a public host: it is not on port 443" },
    ]);
    expect((await admin.call("POST", "/issuers", { body: ported })).status).toBe(201);
  });

  it.each<[string, object, string]>([
    ["an issuer by http", { issuer: "http://ci.example.com" }, "issuer"],
    ["an issuer with a query", { issuer: "https://ci.example.com?x" }, "issuer"],
    ["an issuer with an empty query", { issuer: "https://ci.example.com?" }, "issuer"],
    ["an issuer with a password", { issuer: "https://:x@ci.example.com" }, "issuer"],
    ["this provider", { issuer }, "issuer"],
    ["a path in a trust domain", { issuer: "spiffe://a.example/x" }, "issuer"],
    ["two sources of keys", { jwks_uri: "https://ci.example.com/keys" }, "jwks"],
    ["keys at a private address", { jwks: undefined, jwks_uri: "https://10.0.0.1/keys" }, "jwks_uri"],
    ["metadata at a private address", { jwks: undefined, discovery_uri: "https://[::1]/x" }, "discovery_uri"],
    ["an HMAC algorithm", { algorithms: ["HS256"] }, "algorithms[0]"],
    ["alg none", { algorithms: ["none"] }, "algorithms[0]"],
    ["two rules of one id", { rules: [rule, rule] }, "rules"],
    ["a rule without claims", { rules: [{ ...rule, claims: {} }] }, "rules[0].claims"],
    [
      "a prefix that ends inside a name",
      { rules: [{ ...rule, claims: { sub: { prefix: "repo:acme" } } }] },
      "rules[0].claims.sub.prefix",
    ],
    ["an empty prefix", { rules: [{ ...rule, claims: { sub: { prefix: "" } } }] }, "rules[0].claims.sub.prefix"],
    [
      "two conditions in one",
      { rules: [{ ...rule, claims: { sub: { exact: "a", glob: "b" } } }] },
      "rules[0].claims.sub",
    ],
    ["no condition", { rules: [{ ...rule, claims: { sub: {} } }] }, "rules[0].claims.sub"],
    ["an unknown condition", { rules: [{ ...rule, claims: { sub: { regex: ".*" } } }] }, "rules[0].claims.sub.regex"],
    ["a malformed pointer", { rules: [{ ...rule, claims: { "/a~2": { exact: "x" } } }] }, "rules[0].claims./a~2"],
    [
      "nobody to present it",
      { rules: [{ ...rule, client_id: undefined, subject: { type: "user", sub: "a" } }] },
      "rules[0].clients",
    ],
    ["an exchange by nobody", { rules: [{ ...rule, uses: ["subject_token"] }] }, "rules[0].clients"],
    ["a client without id", { rules: [{ ...rule, client_id: undefined, clients: ["a"] }] }, "rules[0].client_id"],
    ["a user without a name", { rules: [{ ...rule, subject: { type: "user" } }] }, "rules[0].subject"],
    [
      "a user of two names",
      { rules: [{ ...rule, subject: { type: "user", sub: "a", claim: "sub", by: "sub" } }] },
      "rules[0].subject",
    ],
    ["an ID-JAG for a client", { rules: [{ ...rule, uses: ["id_jag"], clients: ["a"] }] }, "rules[0].uses"],
    ["no target", { rules: [{ ...rule, resources: [] }] }, "rules[0].resources"],
    ["a private key", { jwks: { keys: [{ ...key.publicJwk, d: "AAAA" }] } }, "jwks.keys[0].d"],
  ])("refuses %s", async (_, change, path) => {
    await admin.issueToken();
    const before = await dumpDatabase();
    const { status, body } = await admin.call("POST", "/issuers", { body: { ...record, ...change } });
    expect([status, body.fields?.[0]?.path]).toEqual([400, path]);
    expect(await dumpDatabase()).toBe(before);
  });

  it("a condition for __proto__ is refused, and not silently dropped", async () => {
    for (const spelling of ['"__proto__"', '"__pro\\u0074o__"']) {
      const text = JSON.stringify(record).replace('"claims":{', `"claims":{${spelling}:{"exact":"x"},`);
      const { status, body } = await admin.call("POST", "/issuers", { text });
      expect([status, body.error_description]).toEqual([400, "The body contains a member __proto__."]);
    }
  });

  it("RFC 9700 §2.3: admin:issuers alone grants no other admin scope, by a new rule or by changing a record with one", async () => {
    const limited = await admin.issueToken({ scope: ["admin:issuers"] });
    const mighty = { ...record, rules: [{ ...rule, scopes: ["admin:clients"] }] };
    const refused = await admin.call("POST", "/issuers", { token: limited, body: mighty });
    expect([refused.status, refused.body.error]).toEqual([403, "insufficient_scope"]);
    expect((await admin.call("POST", "/issuers", { body: mighty })).status).toBe(201);
    const change = await admin.call("PATCH", "/issuers/ci", { token: limited, body: { name: "x" } });
    expect(change.status).toBe(403);
    const others = await admin.issueToken({ scope: everyScope.filter((scope) => scope !== "admin:issuers") });
    for (const [method, path] of [
      ["GET", "/issuers"],
      ["GET", "/issuers/ci"],
      ["DELETE", "/issuers/ci"],
    ] as const) {
      expect((await admin.call(method, path, { token: others })).status, path).toBe(403);
    }
    const test = await admin.call("POST", "/issuers/ci/test", { token: others, body: { claims: {} } });
    expect(test.status).toBe(403);
  });
});

describe("/admin/issuers/{issuer_id}/test", () => {
  const second = {
    ...rule,
    rule_id: "second",
    claims: { sub: { glob: "job-*" } },
    resources: ["https://b.example.com"],
  };
  beforeEach(async () => {
    await seedClient(bindings, "deploy", { token_endpoint_auth_method: "none" });
    await seedUser(bindings, "alice");
    const byName = { ...rule, rule_id: "user", claims: {}, uses: ["subject_token"], clients: ["deploy"] };
    const toUser = { ...byName, subject: { type: "user", claim: "email", by: "username" } };
    await admin.call("POST", "/issuers", { body: { ...record, rules: [rule, second, toUser] } });
  });
  const test = (body: object) => admin.call("POST", "/issuers/ci/test", { body });

  it("shows by claims which rule matches, for whom the token would be issued, and why each other rule refuses", async () => {
    const { status, body } = await test({ claims: { sub: "job-7" } });
    expect(status).toBe(200);
    expect(body).toEqual({
      accepted: true,
      faults: [],
      signature: "not checked",
      rule_id: "second",
      rules: [
        { rule_id: "main", matches: false, reasons: ['claim sub does not match {"exact":"job"}'] },
        { rule_id: "second", matches: true, reasons: [] },
        { rule_id: "user", matches: false, reasons: ["the rule does not accept the use assertion"] },
      ],
      outcome: { client_id: "deploy", sub: "deploy", user: false, scopes: ["read"], faults: [] },
    });
    const target = await test({ claims: { sub: "job-7" }, resource: ["https://api.example.com"] });
    expect(target.body).toMatchObject({
      accepted: false,
      rules: [{}, { reasons: [/not among the rule's resources/] }, {}],
    });
  });

  it("shows the faults of a token itself", async () => {
    const claims = { sub: "job", aud: "https://other.example.com", exp: 1, iat: 1, typ: "x" };
    const { body } = await test({ claims, typ: "at+jwt", alg: "RS256" });
    expect(body.accepted).toBe(false);
    expect(body.faults).toEqual([
      "alg RS256 is not among the issuer's algorithms",
      "typ at+jwt is not one of JWT, JOSE, authorization-grant+jwt",
      `aud is not only ${issuer} or ${issuer}/token`,
      expect.stringMatching(/^exp is \d+ s behind the provider's clock$/),
    ]);
    expect(body.rule_id).toBe("main");
  });

  it("verifies the signature of a token, and spends nothing", async () => {
    const token = await signAssertion(key, name, { sub: "job" });
    for (let time = 0; time < 2; time += 1) {
      expect((await test({ token })).body).toMatchObject({ accepted: true, signature: "valid", rule_id: "main" });
    }
    const forged = await signAssertion(await generateClientKey(), name, { sub: "job" });
    expect((await test({ token: forged })).body).toMatchObject({ accepted: false, signature: "invalid" });
    expect((await test({ token: "x.y.z" })).body).toMatchObject({ accepted: false, signature: "invalid", rules: [] });
  });

  it("names the user of a mapping, or the reason why there is none", async () => {
    const as = (email: unknown) => test({ use: "subject_token", client_id: "deploy", claims: { sub: "x", email } });
    expect((await as("ALICE")).body).toMatchObject({ accepted: true, outcome: { sub: "alice", user: true } });
    expect((await as("nobody")).body).toMatchObject({
      accepted: false,
      rule_id: "user",
      outcome: { faults: ["the rule maps to no user"] },
    });
  });

  it("refuses both a token and claims, neither, and an unknown issuer", async () => {
    expect((await test({})).status).toBe(400);
    expect((await test({ token: "x", claims: {} })).status).toBe(400);
    expect((await admin.call("POST", "/issuers/nobody/test", { body: { claims: {} } })).status).toBe(404);
  });
});
