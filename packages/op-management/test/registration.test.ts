import { createExecutionContext } from "cloudflare:test";
import { countCalls } from "@edge-op/shared/http/count-calls";
import type { IssuerRule } from "@edge-op/shared/issuers/trusted-issuer";
import type { ManagementEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { seedIssuer } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

/** The setting, an initial access token, or a software statement of a trusted issuer decides whether a client may register (RFC 7591 §3). */
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
  readonly address?: string;
}

function register(body: unknown, registration: Registration = {}) {
  return send("POST", "/register", body, registration);
}

async function send(
  method: string,
  path: string,
  body: unknown,
  { policy = "open", authorization, overrides, address = "192.0.2.7" }: Registration = {},
) {
  const execution = createExecutionContext();
  const headers = {
    ...{ "content-type": "application/json", "cf-connecting-ip": address },
    ...(authorization === undefined ? {} : { authorization }),
  };
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const request = new Request(`${issuer}${path}`, { method, headers, ...text });
  const env = { ...bindings, REVOCATION_MODE: "direct", CLIENT_REGISTRATION: policy, ...overrides };
  const response = await app.fetch(request, env, execution);
  await waitBriefly(execution);
  return {
    status: response.status,
    headers: response.headers,
    body: (response.status === 204 ? {} : await response.json()) as Record<string, unknown>,
  };
}

async function registeredClients(): Promise<number> {
  const row = await bindings.DB.prepare("SELECT count(*) AS n FROM clients WHERE origin = 'registration'").first<{
    n: number;
  }>();
  return row?.n ?? -1;
}

describe("RFC 7591 §3: who may register", () => {
  it("off: 403 for every caller, even with a token; nothing is stored", async () => {
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

  it("token: 401 with a challenge without a token; 201 with an initial access token; another token is refused", async () => {
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

  it("a trusted issuer's statement is accepted instead of a token; an invalid one is not ignored", async () => {
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const good = await signAssertion(key, publisher, { aud: undefined, exp: undefined, software_id: "agent" });
    expect((await register({ ...agent, software_statement: good }, { policy: "token" })).status).toBe(201);
    const forged = await signAssertion(await generateClientKey(), publisher, { software_id: "agent" });
    const refused = await register({ ...agent, software_statement: forged }, { policy: "token" });
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_software_statement"]);
    expect(await registeredClients()).toBe(1);
  });

  it("RFC 6585 §4: registrations from one address are limited for all callers", async () => {
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

async function countControlChanges(): Promise<number> {
  const row = await bindings.DB.prepare("SELECT count(*) AS n FROM control_changes WHERE at_ms > 0").first<{
    n: number;
  }>();
  return row?.n ?? -1;
}

async function registered(body: object = agent) {
  const { status, body: created } = await register(body);
  expect(status).toBe(201);
  const clientId = String(created["client_id"]);
  const authorization = `Bearer ${String(created["registration_access_token"])}`;
  return { clientId, path: `/register/${clientId}`, authorization };
}

describe("RFC 7591 §3.2.1: the response states what is registered", () => {
  const [custom, https, loopback] = [
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "https://www.cursor.com/agents/mcp/oauth/callback",
    "http://localhost:8787/callback",
  ];

  it.each<[string, string, object, object]>([
    ["", "an unusable redirect URI is left out", {}, { redirect_uris: [https, loopback], application_type: "web" }],
    ["", "and so is a repeated one", { redirect_uris: [https, https] }, { redirect_uris: [https] }],
    [
      "cursor grokbot",
      "RFC 8252 §7.1: a scheme that the operator allows is kept, and makes the client native",
      { application_type: "web" },
      { redirect_uris: [custom, https, loopback], application_type: "native" },
    ],
    [
      "",
      "a domain name in reverse is kept, and makes the client native",
      { redirect_uris: ["com.example.app:/callback", "data:text/html,x"] },
      { redirect_uris: ["com.example.app:/callback"], application_type: "native" },
    ],
    [
      "",
      "an unusable redirect URI after logout is left out too",
      { post_logout_redirect_uris: ["file:///etc", https] },
      { post_logout_redirect_uris: [https] },
    ],
  ])("with PRIVATE_USE_SCHEMES=%j %s", async (PRIVATE_USE_SCHEMES, _, members, expected) => {
    const body = { ...agent, redirect_uris: [custom, https, loopback], ...members };
    const created = await register(body, { overrides: { PRIVATE_USE_SCHEMES } });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject(expected);
  });

  it.each([custom, "javascript:alert(1)", "file:///etc/passwd", "http://agent.example.com/"])(
    "§3.2.2: if no redirect URI can be used, they are refused: %s",
    async (uri) => {
      const refused = await register({ ...agent, redirect_uris: [uri, uri.toUpperCase()] });
      expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_redirect_uri"]);
      expect(refused.body["fields"]).toHaveLength(2);
    },
  );

  it("the log says what was left out, and why", async () => {
    const info = vi.spyOn(console, "info").mockImplementation(() => undefined);
    const { clientId } = await registered({
      ...agent,
      redirect_uris: [`${custom}?code=x`, https],
      scope: "openid roles",
    });
    const lines = info.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
    info.mockRestore();
    const fault = "must be https, or http on a loopback address; private-use schemes require application_type native";
    expect(lines.find(({ event }) => event === "client-metadata-dropped")).toMatchObject({
      clientId,
      dropped: ["scope roles: only a resource gives it", `redirect_uris ${custom}?code=…: ${fault}`],
    });
  });

  it("RFC 6749 §3.3: no response contains an empty scope, and a client that sends its registration back keeps it", async () => {
    const { path, authorization, clientId } = await registered({ ...agent, scope: "files:read" });
    const { body: read } = await send("GET", path, undefined, { authorization });
    const replaced = await send("PUT", path, read, { authorization });
    const admin = new AdminCaller();
    const { body: shown } = await admin.call("GET", `/clients/${clientId}`);
    const { body: list } = await admin.call("GET", "/clients");
    const listed = (list as { clients: Record<string, unknown>[] }).clients.find(
      (each) => each["client_id"] === clientId,
    );
    for (const body of [read, replaced.body, shown, listed]) {
      expect(body).toMatchObject({ client_id: clientId });
      expect(body).not.toHaveProperty("scope");
    }
  });
});

describe("RFC 7591 §3.1: an empty member is as if it were absent", () => {
  const empty = {
    ...{ client_uri: "", logo_uri: "", tos_uri: "", policy_uri: "", jwks_uri: "", initiate_login_uri: "" },
    ...{ contacts: [], post_logout_redirect_uris: [], default_acr_values: [], grant_types: [], response_types: [] },
    ...{ backchannel_logout_uri: "", sector_identifier_uri: "", application_type: "", subject_type: "" },
    ...{ id_token_signed_response_alg: "", token_endpoint_auth_method: "", client_name: "", jwks: null },
    ...{ scope: "", software_statement: "", client_secret: "" },
  };
  const { redirect_uris } = agent;
  const metadataOf = (body: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => !/^(client_id|client_secret|registration_)/.test(name)));

  it("at registration and at a replacement, scope included", async () => {
    const absent = metadataOf((await register({ redirect_uris })).body);
    const { status, body } = await register({ ...empty, redirect_uris });
    expect(status).toBe(201);
    expect(metadataOf(body)).toEqual(absent);
    expect(body["scope"]).toContain("openid");
    const { client_id } = body;
    const authorization = `Bearer ${String(body["registration_access_token"])}`;
    const replacement = { ...empty, redirect_uris, client_id };
    const replaced = await send("PUT", `/register/${String(client_id)}`, replacement, { authorization });
    expect(replaced.status).toBe(200);
    expect(metadataOf(replaced.body)).toEqual(absent);
  });
});

describe("RFC 7592 §2: the effects of a client that registered itself", () => {
  it.each<
    [string, number, (at: { path: string; authorization: string; clientId: string }) => Promise<{ status: number }>]
  >([
    ["a registration", 0, () => register(agent)],
    ["a read", 0, ({ path, authorization }) => send("GET", path, undefined, { authorization })],
    [
      "a replacement by the same, with members in another order and defaults spelled out",
      0,
      ({ path, authorization, clientId }) =>
        send("PUT", path, { response_types: ["code"], client_id: clientId, ...agent }, { authorization }),
    ],
    [
      "a replacement",
      1,
      ({ path, authorization, clientId }) =>
        send("PUT", path, { ...agent, client_id: clientId, client_name: "Renamed" }, { authorization }),
    ],
    [
      "a refused replacement",
      0,
      ({ path, authorization, clientId }) =>
        send("PUT", path, { ...agent, client_id: clientId, redirect_uris: ["x"] }, { authorization }),
    ],
    ["a deletion", 1, ({ path, authorization }) => send("DELETE", path, undefined, { authorization })],
    [
      "a second deletion",
      1,
      async ({ path, authorization }) => {
        await send("DELETE", path, undefined, { authorization });
        return send("DELETE", path, undefined, { authorization });
      },
    ],
  ])("%s commits %i control changes", async (_, expected, act) => {
    const at = await registered();
    const before = await countControlChanges();
    expect((await act(at)).status).toBeLessThan(500);
    expect((await countControlChanges()) - before).toBe(expected);
  });

  const rename = (
    { path, authorization, clientId }: Awaited<ReturnType<typeof registered>>,
    name: string,
    overrides: Partial<ManagementEnv> = {},
    address = "192.0.2.7",
  ) => send("PUT", path, { ...agent, client_id: clientId, client_name: name }, { authorization, overrides, address });

  /** Twelve replacements by each. */
  async function renameOften(clients: Parameters<typeof rename>[0][], overrides?: Partial<ManagementEnv>) {
    const statuses = new Map<number, number>();
    for (const [index, client] of clients.entries()) {
      for (let count = 0; count < 12; count += 1) {
        const { status, headers } = await rename(client, `Agent ${index} ${count}`, overrides);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      }
    }
    return { changed: statuses.get(200) ?? 0, refused: statuses.get(429) ?? 0 };
  }

  it("the changes of one client, and of all of them, have a budget: beyond it 429, and nothing is changed", async () => {
    const clients = [await registered(), await registered(), await registered(), await registered()];
    const before = await countControlChanges();
    const { changed, refused } = await renameOften(clients);
    // Ten by each of the first three, and the first ones beside them; a slow run admits a few more.
    expect(changed).toBeGreaterThanOrEqual(30);
    expect(changed).toBeLessThan(44);
    expect(changed + refused).toBe(48);
    expect((await countControlChanges()) - before).toBe(changed);
  });

  it("while others have used up the budget of all, a client makes its first change and is deleted", async () => {
    const victim = await registered();
    const others = [await registered(), await registered(), await registered(), await registered()];
    expect((await renameOften(others)).refused).toBeGreaterThan(0);
    expect((await rename(victim, "Renamed")).status).toBe(200);
    const { path, authorization } = others.at(-1)!;
    expect((await send("DELETE", path, undefined, { authorization })).status).toBe(204);
  });

  it("one address has a share of the budget of all: clients of other addresses change again and again", async () => {
    const trusting = { TRUST_FORWARDED_HEADERS: "true" };
    const victim = await registered();
    const others = [await registered(), await registered(), await registered(), await registered()];
    const { changed } = await renameOften(others, { ...trusting });
    expect(changed).toBeLessThan(20);
    for (const name of ["Once", "Twice", "Thrice"]) {
      const renamed = await rename(victim, name, trusting, "192.0.2.8");
      expect(renamed.status).toBe(200);
    }
  });

  it.each(["GET", "PUT", "DELETE"])("%s with a forged token costs no call, whatever the policy is", async (method) => {
    const { path, authorization } = await registered();
    const other = await registered();
    const counts = { object: 0, kv: 0, d1: 0 };
    const overrides = countCalls(bindings, counts);
    for (const forged of ["Bearer forged", other.authorization, `${authorization}A`, authorization.slice(0, -1)]) {
      for (const policy of ["open", "off"] as const) {
        const body = method === "PUT" ? agent : undefined;
        const refused = await send(method, path, body, { policy, authorization: forged, overrides });
        expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_token"]);
      }
    }
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("RFC 7592 §2.1: a read costs 1 D1, even if registration is off now", async () => {
    const { path, authorization, clientId } = await registered();
    const counts = { object: 0, kv: 0, d1: 0 };
    const read = await send("GET", path, undefined, {
      policy: "off",
      authorization,
      overrides: countCalls(bindings, counts),
    });
    expect([read.status, read.body["client_id"]]).toEqual([200, clientId]);
    expect(counts).toEqual({ object: 0, kv: 0, d1: 1 });
  });

  it.each(["GET", "PUT", "DELETE"])("RFC 6585 §4: %s is limited by address before anything is read", async (method) => {
    const { path, authorization } = await registered();
    const counts = { object: 0, kv: 0, d1: 0 };
    const limit = async () => ({ success: false });
    const limits = { FAILED_AUTHENTICATION_RATE_LIMIT: { limit }, TRUST_FORWARDED_HEADERS: "true" };
    const overrides = { ...countCalls(bindings, counts), ...limits };
    const body = method === "PUT" ? agent : undefined;
    await send(method, path, body, { authorization: "Bearer forged", overrides });
    const limited = await send(method, path, body, { authorization, overrides });
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });
});

describe("RFC 7591 §5: limits of registrations", () => {
  const uris = (count: number, length: number) =>
    Array.from({ length: count }, (_, index) => `https://agent.example.com/${index}/`.padEnd(length, "x"));

  it("a body has at most 10 KB, and so has a record", async () => {
    const large = await register({ ...agent, redirect_uris: uris(100, 2_000) });
    expect([large.status, large.body["error"]]).toEqual([413, "request_too_large"]);
    expect((await register({ ...agent, redirect_uris: uris(45, 200) })).status).toBe(201);
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const claims = { aud: undefined, exp: undefined, jti: undefined, sub: undefined, software_id: "agent" };
    const statement = await signAssertion(key, publisher, { ...claims, redirect_uris: uris(34, 200) });
    const stated = { ...agent, post_logout_redirect_uris: uris(4, 100), software_statement: statement };
    expect((await register(stated)).status).toBe(201);
    const { path, authorization, clientId } = await registered();
    const replaced = { ...agent, client_id: clientId, redirect_uris: uris(48, 200) };
    expect((await send("PUT", path, replaced, { authorization })).status).toBe(200);
    const defaults = { ...agent, redirect_uris: uris(49, 200), client_name: "x".repeat(95) };
    const full = await register(defaults);
    expect([full.status, full.body["error"]]).toEqual([400, "invalid_client_metadata"]);
    expect(full.body["error_description"]).toContain("10240");
  });

  it("at most 10,000 clients may be unused: 429 until some expire or are used", async () => {
    const fill = (count: number, usedAtMs: number | null, ageMs: number) =>
      bindings.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms, origin, used_at_ms)
           SELECT 'c' || ?3 || i, '{}', ?3, ?3, 'registration', ?2 FROM n`,
      )
        .bind(count, usedAtMs, Date.now() - ageMs)
        .run();
    const day = 86_400_000;
    await fill(9_999, null, day / 2);
    // Neither clients in use nor ended ones count.
    await fill(20, Date.now(), 1_000);
    await fill(20, null, day + 1_000);
    const { clientId } = await registered();
    const refused = await register(agent);
    expect([refused.status, refused.body["error"]]).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(43_000);
    expect(refused.body["error_description"]).toContain("nobody uses yet");
    const secrets = await bindings.DB.prepare("SELECT count(*) AS n FROM client_secrets").first<{ n: number }>();
    expect(secrets?.n).toBe(0);
    await bindings.DB.prepare("UPDATE clients SET used_at_ms = 1 WHERE client_id = ?1").bind(clientId).run();
    expect((await register(agent)).status).toBe(201);
  });
});

describe("RFC 7591 §2.3: software statements of trusted issuers (ADR 51)", () => {
  const claims = { aud: undefined, exp: undefined, jti: undefined, sub: undefined, software_id: "agent" };

  it("its claims replace the members of the request; claims of the JWT itself are not metadata", async () => {
    await seedIssuer(bindings, publisher, key, { rules: [rule] });
    const stated = { ...claims, aud: issuer, client_name: "Stated", redirect_uris: ["https://stated.example.com/cb"] };
    const statement = await signAssertion(key, publisher, stated);
    const { status, body } = await register({ ...agent, software_statement: statement });
    expect([status, body["client_name"], body["redirect_uris"]]).toEqual([201, "Stated", stated.redirect_uris]);
    for (const name of ["iss", "aud", "software_id"]) expect(body).not.toHaveProperty(name);
  });

  it("its claims follow the rules of the admin API", async () => {
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

  it("an issuer that is trusted for other uses does not approve software; neither does a disabled rule or issuer", async () => {
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

  it("without a record, the setting defines an issuer and its keys; a record takes precedence", async () => {
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

  it("a rule has only conditions, and the dry run shows its effect", async () => {
    const admin = new AdminCaller();
    const created = await admin.call("POST", "/issuers", { body: { ...record, rules: [asSent] } });
    expect([created.status, created.body.rules]).toEqual([201, [rule]]);
    const tried = async (body: object) =>
      (await admin.call("POST", "/issuers/publisher/test", { body: { use: "software_statement", ...body } })).body;
    expect(await tried({ claims: { software_id: "agent" } })).toMatchObject({ accepted: true, rule_id: "apps" });
    expect(await tried({ claims: { software_id: "evil" } })).toMatchObject({ accepted: false });
    expect(await tried({ claims: { software_id: "agent", exp: 1 } })).toMatchObject({
      accepted: false,
      faults: [expect.stringMatching(/^exp is \d+ s behind the provider's clock$/)],
    });
    const token = await signAssertion(key, publisher, { software_id: "agent", aud: issuer });
    expect(await tried({ token })).toMatchObject({ accepted: true, signature: "valid" });
    // It is not an assertion, whatever its claims are.
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
