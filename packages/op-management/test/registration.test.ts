import { createExecutionContext } from "cloudflare:test";
import type { IssuerRule } from "@edge-op/shared/directory/trusted-issuer";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { seedIssuer } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import type { ManagementEnv } from "../src/management-env.ts";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

/** Who may register (RFC 7591 §3): by the setting, by an initial access token, by a software statement of a trusted issuer. */
const publisher = "https://publisher.example.com";
const key = await generateClientKey();
const agent = {
  client_name: "Agent",
  redirect_uris: ["https://agent.example.com/callback"],
  token_endpoint_auth_method: "none",
};
const rule: IssuerRule = {
  ...{ rule_id: "apps", status: "active", uses: ["software_statement"], subject: { type: "client" } },
  claims: { software_id: { one_of: ["agent", "other"] } },
  ...{ audiences: [], resources: [], scopes: [] },
};

let app: ReturnType<typeof createApp>;
beforeEach(() => {
  app = createApp(createIsolate());
});

interface Registration {
  readonly policy?: "off" | "token" | "open";
  readonly authorization?: string;
  readonly overrides?: Partial<ManagementEnv>;
}

async function register(body: unknown, { policy = "open", authorization, overrides }: Registration = {}) {
  const execution = createExecutionContext();
  const headers = {
    ...{ "content-type": "application/json", "cf-connecting-ip": "192.0.2.7" },
    ...(authorization === undefined ? {} : { authorization }),
  };
  const request = new Request(`${issuer}/register`, { method: "POST", headers, body: JSON.stringify(body) });
  const env = { ...bindings, REVOCATION_MODE: "direct", CLIENT_REGISTRATION: policy, ...overrides };
  const response = await app.fetch(request, env, execution);
  await waitBriefly(execution);
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

async function registeredClients(): Promise<number> {
  const row = await bindings.DB.prepare("SELECT count(*) AS n FROM clients WHERE origin = 'registration'").first<{
    n: number;
  }>();
  return row?.n ?? -1;
}

describe("RFC 7591 §3: who may register", () => {
  it("off: 403 for everybody, also with a token; nothing is stored", async () => {
    const token = await new AdminCaller().issueToken({ scope: ["client:register"], audiences: [`${issuer}/register`] });
    for (const authorization of [undefined, `Bearer ${token}`]) {
      const refused = await register(agent, {
        policy: "off",
        ...(authorization === undefined ? {} : { authorization }),
      });
      expect([refused.status, refused.body["error"]]).toEqual([403, "access_denied"]);
    }
    expect(await registeredClients()).toBe(0);
  });

  it("token: 401 with a challenge without one; 201 with an initial access token; another token is refused", async () => {
    const admin = new AdminCaller();
    const missing = await register(agent, { policy: "token" });
    expect(missing.status).toBe(401);
    expect(missing.headers.get("www-authenticate")).toContain("Bearer");
    const audiences = [`${issuer}/register`];
    const initial = await admin.issueToken({ scope: ["client:register"], audiences });
    const elsewhere = await admin.issueToken({ scope: ["client:register"] });
    const weak = await admin.issueToken({ scope: ["read"], audiences });
    const statusOf = async (token: string) =>
      (await register(agent, { policy: "token", authorization: `Bearer ${token}` })).status;
    expect([await statusOf(initial), await statusOf(elsewhere), await statusOf(weak)]).toEqual([201, 401, 403]);
    expect(await registeredClients()).toBe(1);
  });

  it("a statement of a trusted issuer is as good as a token; what is wrong with it does not fall back to none", async () => {
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const good = await signAssertion(key, publisher, { aud: undefined, exp: undefined, software_id: "agent" });
    expect((await register({ ...agent, software_statement: good }, { policy: "token" })).status).toBe(201);
    const forged = await signAssertion(await generateClientKey(), publisher, { software_id: "agent" });
    const refused = await register({ ...agent, software_statement: forged }, { policy: "token" });
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_software_statement"]);
    expect(await registeredClients()).toBe(1);
  });

  it("RFC 6585 §4: registrations of one address are limited, whoever sends them", async () => {
    const limit = vi.fn(async () => ({ success: false }));
    const overrides = { FAILED_AUTHENTICATION_RATE_LIMIT: { limit }, TRUST_FORWARDED_HEADERS: "true" };
    expect((await register(agent, { overrides })).status).toBe(201);
    expect(limit).toHaveBeenCalledWith(
      expect.objectContaining({ key: expect.stringMatching(/^registers 192\.0\.2\./) }),
    );
    const limited = await register(agent, { overrides });
    expect([limited.status, limited.body["error"], limited.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "1",
    ]);
    expect(await registeredClients()).toBe(1);
  });
});

describe("RFC 7591 §2.3: software statements of trusted issuers (ADR 60)", () => {
  const claims = { aud: undefined, exp: undefined, jti: undefined, sub: undefined, software_id: "agent" };

  it("its claims replace the members beside it; claims of the JWT itself are no metadata", async () => {
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const stated = { ...claims, aud: issuer, client_name: "Stated", redirect_uris: ["https://stated.example.com/cb"] };
    const statement = await signAssertion(key, publisher, stated);
    const { status, body } = await register({ ...agent, software_statement: statement });
    expect([status, body["client_name"], body["redirect_uris"]]).toEqual([201, "Stated", stated.redirect_uris]);
    for (const name of ["iss", "aud", "software_id"]) expect(body).not.toHaveProperty(name);
  });

  it("its claims have the rules of the admin API", async () => {
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const statement = await signAssertion(key, publisher, { ...claims, redirect_uris: ["javascript:alert(1)"] });
    const { status, body } = await register({ ...agent, software_statement: statement });
    expect([status, body["error"]]).toEqual([400, "invalid_redirect_uri"]);
    const greedy = await signAssertion(key, publisher, { ...claims, audiences: ["*"], skip_consent: true });
    const { body: created } = await register({ ...agent, software_statement: greedy });
    const stored = await bindings.DB.prepare("SELECT metadata FROM clients WHERE client_id = ?1")
      .bind(created["client_id"])
      .first<{ metadata: string }>();
    expect(JSON.parse(stored!.metadata)).toMatchObject({ audiences: [] });
    expect(JSON.parse(stored!.metadata)).not.toHaveProperty("skip_consent");
  });

  const now = Math.floor(Date.now() / 1000);
  it.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ["expired", { exp: now - 3600 }, {}, "invalid_software_statement"],
    ["exp that is no number", { exp: "never" }, {}, "invalid_software_statement"],
    ["not valid yet", { nbf: now + 3600 }, {}, "invalid_software_statement"],
    ["for another audience", { aud: "https://other.example.com" }, {}, "invalid_software_statement"],
    ["for another audience, too", { aud: [issuer, "https://other.example.com"] }, {}, "invalid_software_statement"],
    ["the type of an access token", {}, { typ: "at+jwt" }, "invalid_software_statement"],
    ["the type of an ID-JAG", {}, { typ: "oauth-id-jag+jwt" }, "invalid_software_statement"],
    ["a key id that nobody has", {}, { kid: "other" }, "invalid_software_statement"],
    ["a condition that is not met", { software_id: "evil" }, {}, "unapproved_software_statement"],
    ["no value for a condition", { software_id: undefined }, {}, "unapproved_software_statement"],
    ["another issuer", { iss: "https://publisher.example.com/" }, {}, "unapproved_software_statement"],
    ["no issuer", { iss: undefined }, {}, "unapproved_software_statement"],
  ])("%s: refused, and nothing is stored", async (_, changed, header, code) => {
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const statement = await signAssertion(key, publisher, { ...claims, ...changed }, header);
    const { status, body } = await register({ ...agent, software_statement: statement });
    expect([status, body["error"]]).toEqual([400, code]);
    expect(await registeredClients()).toBe(0);
  });

  it("an issuer that is trusted for something else has not approved software; nor has a disabled rule or issuer", async () => {
    await seedIssuer(bindings, publisher, key, { rules: [{ ...rule, uses: ["assertion"], client_id: "app" }] });
    const statement = await signAssertion(key, publisher, claims);
    const errorOf = async () => (await register({ ...agent, software_statement: statement })).body["error"];
    expect(await errorOf()).toBe("unapproved_software_statement");
    const admin = new AdminCaller();
    const change = async (body: object) => {
      const { status } = await admin.call("PATCH", "/issuers/seeded", { body });
      expect(status).toBe(200);
      app = createApp(createIsolate());
    };
    await change({ rules: [{ ...rule, status: "disabled" }] });
    expect(await errorOf()).toBe("unapproved_software_statement");
    await change({ rules: [rule] });
    expect(await errorOf()).toBeUndefined();
    await change({ status: "disabled" });
    expect(await errorOf()).toBe("unapproved_software_statement");
  });

  it("without a record, the setting names an issuer and its keys; a record takes precedence", async () => {
    vi.stubGlobal("fetch", async () => Response.json({ keys: [key.publicJwk] }));
    const overrides = { SOFTWARE_STATEMENT_ISSUERS: `${publisher}=${publisher}/jwks` };
    const statement = await signAssertion(key, publisher, claims);
    expect((await register({ ...agent, software_statement: statement }, { policy: "token", overrides })).status).toBe(
      201,
    );
    const expired = await signAssertion(key, publisher, { ...claims, exp: now - 3600 });
    const late = await register({ ...agent, software_statement: expired }, { policy: "token", overrides });
    expect(late.body["error"]).toBe("invalid_software_statement");
    await seedIssuer(bindings, publisher, key, { rules: [] });
    app = createApp(createIsolate());
    const refused = await register({ ...agent, software_statement: statement }, { policy: "token", overrides });
    expect(refused.body["error"]).toBe("unapproved_software_statement");
    vi.unstubAllGlobals();
  });
});

describe("/admin/issuers: rules for software statements", () => {
  const record = { issuer_id: "publisher", issuer: publisher, jwks: { keys: [key.publicJwk] }, algorithms: ["ES256"] };
  const { subject: _, audiences: __, resources: ___, scopes: ____, ...asSent } = rule;

  it("a rule has conditions and nothing else, and the dry run shows what it does", async () => {
    const admin = new AdminCaller();
    const created = await admin.call("POST", "/issuers", { body: { ...record, rules: [asSent] } });
    expect([created.status, created.body.rules]).toEqual([201, [rule]]);
    const tried = async (body: object) =>
      (await admin.call("POST", "/issuers/publisher/test", { body: { use: "software_statement", ...body } })).body;
    expect(await tried({ claims: { software_id: "agent" } })).toMatchObject({ accepted: true, rule_id: "apps" });
    expect(await tried({ claims: { software_id: "evil" } })).toMatchObject({ accepted: false });
    expect(await tried({ claims: { software_id: "agent", exp: 1 } })).toMatchObject({
      accepted: false,
      faults: ["exp is past or malformed"],
    });
    const token = await signAssertion(key, publisher, { software_id: "agent", aud: issuer });
    expect(await tried({ token })).toMatchObject({ accepted: true, signature: "valid" });
    // It is no assertion, whatever its claims are.
    const used = await admin.call("POST", "/issuers/publisher/test", {
      body: { claims: { sub: "x", software_id: "agent" } },
    });
    expect(used.body).toMatchObject({ accepted: false });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["another use beside it", { uses: ["software_statement", "assertion"] }, "rules[0].uses"],
    ["no condition", { claims: {} }, "rules[0].claims"],
    ["a client", { client_id: "app" }, "rules[0]"],
    ["scopes", { scopes: ["read"] }, "rules[0]"],
    ["a user", { subject: { type: "user", sub: "alice" } }, "rules[0]"],
    ["a rule of another use without subject", { uses: ["assertion"], client_id: "app" }, "rules[0].subject"],
  ])("%s is refused", async (_name, changed, path) => {
    const body = { ...record, rules: [{ ...asSent, ...changed }] };
    const response = await new AdminCaller().call("POST", "/issuers", { body });
    expect([response.status, response.body.fields[0].path]).toEqual([400, path]);
  });
});
