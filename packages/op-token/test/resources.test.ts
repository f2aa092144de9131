import { countCalls } from "@edge-op/shared/http/count-calls";
import type { ResourceMetadata } from "@edge-op/shared/resources/resource";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { origin, postForm } from "../../../test/fixtures/call.ts";
import { DpopKey } from "../../../test/fixtures/dpop-key.ts";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople, tokensOf } from "./fixtures/login-fixtures.ts";
import { claimsOf, createTokenFixtures, errorOf, type TokenFixtures, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

/** Rules of resources at the token endpoint (ADR 45). */
const files = "https://mcp.example.com/files/mcp";
const mail = "https://mcp.example.com/mail/mcp";

async function seedResource(identifier: string, metadata: Partial<ResourceMetadata> = {}): Promise<void> {
  const whole: ResourceMetadata = { name: "Files", clients: "registered", scopes: [], ...metadata };
  await tokenEnv.DB.prepare(
    `INSERT INTO resources (identifier, resource_id, metadata, created_at_ms, updated_at_ms) VALUES (?1, ?1, ?2, 0, 0)
       ON CONFLICT (identifier) DO UPDATE SET metadata = ?2`,
  )
    .bind(identifier, JSON.stringify(whole))
    .run();
  // Written without a control change: no earlier copy may be used.
  await tokenEnv.CACHE.delete(`resource:${identifier}`);
}

const read = { value: "files:read", description: "Read your files" };
const write = { value: "files:write", description: "Change your files", default: true };

describe("RFC 8707 §2: client credentials for a resource", () => {
  let fixtures: TokenFixtures;
  beforeEach(async () => {
    fixtures = await createTokenFixtures();
  });
  const request = (fields: Record<string, string> = {}) => ({
    grant_type: "client_credentials",
    resource: files,
    ...fields,
  });

  it("aud is the resource with its path; a client that the rule does not admit gets invalid_target", async () => {
    await seedResource(files, { clients: ["service"] });
    const client = await seedClient(tokenEnv, "service");
    const { access_token: token } = await fixtures.issue(request(), client);
    expect(claimsOf(token!)).toMatchObject({ aud: files, resource: [files] });
    for (const resource of [`${files}/`, "https://mcp.example.com/files", "https://mcp.example.com"]) {
      expect(await errorOf(await fixtures.post(request({ resource }), client))).toBe("400 invalid_target");
    }
    const other = await seedClient(tokenEnv, "other");
    expect(await errorOf(await fixtures.post(request(), other))).toBe("400 invalid_target");
  });

  it("RFC 3986 §6.2: aud is the registered spelling of a resource, however the request spells it", async () => {
    const bare = "https://bare.example.com";
    const slashed = "https://slashed.example.com/";
    await seedResource(bare);
    await seedResource(slashed);
    const client = await seedClient(tokenEnv, "spelling", { audiences: ["https://own.example.com/"] });
    for (const [resource, aud] of [
      ["https://bare.example.com/", bare],
      ["HTTPS://BARE.example.com:443", bare],
      ["https://slashed.example.com", slashed],
      ["https://own.example.com", "https://own.example.com/"],
      ["https://MCP.example.com/files/mcp", files],
    ] as const) {
      await seedResource(files);
      const { access_token: token } = await fixtures.issue(request({ resource }), client);
      expect(claimsOf(token!), resource).toMatchObject({ aud, resource: [aud] });
    }
    const any = await seedClient(tokenEnv, "any", { audiences: ["*"] });
    await seedResource("https://closed.example.com", { clients: [] });
    expect(await errorOf(await fixtures.post(request({ resource: "https://CLOSED.example.com/" }), any))).toBe(
      "400 invalid_target",
    );
  });

  it("a client whose registration names the resource may still request it; a wildcard does not override the rule", async () => {
    await seedResource(files, { clients: ["someone"] });
    const named = await seedClient(tokenEnv, "named", { audiences: [files] });
    const wildcard = await seedClient(tokenEnv, "wildcard", { audiences: ["*"] });
    expect(claimsOf((await fixtures.issue(request(), named))["access_token"]!)).toMatchObject({ aud: files });
    expect(await errorOf(await fixtures.post(request(), wildcard))).toBe("400 invalid_target");
    const elsewhere = request({ resource: mail });
    expect(claimsOf((await fixtures.issue(elsewhere, wildcard))["access_token"]!)).toMatchObject({ aud: mail });
  });

  it("only a rule that names the client grants scopes without a person", async () => {
    await seedResource(files, { clients: ["service"], scopes: [read, write] });
    await seedResource(mail, { clients: "registered", scopes: [read] });
    const client = await seedClient(tokenEnv, "service", { scope: "read" });
    expect(await fixtures.issue(request({ scope: "files:read" }), client)).toMatchObject({ scope: "files:read" });
    expect(await fixtures.issue(request(), client)).toMatchObject({ scope: "read files:write" });
    const open = request({ resource: mail, scope: "files:read" });
    expect(await errorOf(await fixtures.post(open, client))).toBe("400 invalid_scope");
  });

  it("lifetime and algorithm are the resource's; for several resources the shortest, and one algorithm", async () => {
    await seedResource(files, { access_token_lifetime: 7200, access_token_signed_response_alg: "EdDSA" });
    await seedResource(mail, { access_token_lifetime: 60, access_token_signed_response_alg: "RS256" });
    const client = await seedClient(tokenEnv, "service");
    const issued = await fixtures.issue(request(), client);
    expect(issued["expires_in"]).toBe(7200);
    expect(JSON.parse(atob(issued["access_token"]!.split(".")[0]!))).toMatchObject({ alg: "EdDSA" });
    const both = { ...request(), resource: [files, mail] };
    expect(await errorOf(await fixtures.post(both, client))).toBe("400 invalid_target");
    await seedResource("https://third.example.com", { access_token_lifetime: 600 });
    const short = { ...request(), resource: [files, "https://third.example.com"] };
    expect(await fixtures.issue(short, client)).toMatchObject({ expires_in: 600 });
  });

  it("RFC 9449 §5: no bearer token is issued for a resource that requires bound tokens, even as the default audience", async () => {
    await seedResource(files, { bound_tokens_required: true });
    const client = await seedClient(tokenEnv, "service", { audiences: [files] });
    for (const fields of [request(), { grant_type: "client_credentials" }]) {
      expect(await errorOf(await fixtures.post(fields, client))).toBe("400 invalid_dpop_proof");
    }
    const headers = { DPoP: await (await DpopKey.generate()).proof("POST", `${origin}/token`) };
    const response = await postForm(fixtures.app, tokenEnv, "/token", request(), client, headers);
    expect(await response.json()).toMatchObject({ token_type: "DPoP" });
  });

  it("RFC 8693 §2.1: an exchange for a resource follows the client's policy and the resource's rules", async () => {
    await seedResource(files, { clients: ["nobody"], access_token_lifetime: 30 });
    const policy = { subject_clients: ["*"], audiences: ["*"], scopes: ["*"], modes: ["impersonation" as const] };
    const grant_types = ["client_credentials" as const, "urn:ietf:params:oauth:grant-type:token-exchange" as const];
    const wildcard = { grant_types, token_exchange: { ...policy, resources: ["*"] } };
    const naming = { grant_types, token_exchange: { ...policy, resources: [files] } };
    const broad = await seedClient(tokenEnv, "broad", wildcard);
    const exact = await seedClient(tokenEnv, "exact", naming);
    const subject = await fixtures.clientToken(broad);
    expect(await errorOf(await fixtures.exchange(broad, subject, { resource: files }))).toBe("400 invalid_target");
    const exchanged: Record<string, unknown> = await (
      await fixtures.exchange(exact, subject, { resource: files })
    ).json();
    expect(claimsOf(String(exchanged["access_token"]))).toMatchObject({ aud: files });
    expect(exchanged["expires_in"]).toBe(30);
  });
});

describe("RFC 8707 §2.2: codes and refresh tokens for a resource", () => {
  let fixtures: LoginFixtures;
  let app: SeededClient;
  beforeEach(async () => {
    await seedPeople();
    app = await seedApp({ scope: "openid offline_access", audiences: [] });
    await seedResource(files, { scopes: [read, write], access_token_lifetime: 120 });
    fixtures = new LoginFixtures();
  });
  const granted = { scope: ["offline_access", "files:read"], resources: [files] };

  it("the rule determines audience, scope and lifetime, at redemption and at each refresh, with and without `resource`", async () => {
    const first = await fixtures.signIn(app, granted);
    expect(first).toMatchObject({ scope: "offline_access files:read", expires_in: 120 });
    expect(claimsOf(first.access_token)).toMatchObject({ aud: files, scope: "offline_access files:read" });
    const second = await tokensOf(await fixtures.refresh(first.refresh_token, app, { resource: files }));
    const third = await tokensOf(await fixtures.refresh(second.refresh_token, app, { scope: "files:read" }));
    expect(claimsOf(third.access_token)).toMatchObject({ aud: files, scope: "files:read" });
    const narrower = await fixtures.refresh(third.refresh_token, app, { scope: "files:write" });
    expect(await errorOf(narrower)).toBe("400 invalid_scope");
  });

  it("a resource that no longer admits the client is invalid_target, and neither code nor refresh token is spent", async () => {
    const code = await fixtures.authorize(granted);
    const { refresh_token: refreshToken } = await fixtures.signIn(app, granted);
    await seedResource(files, { clients: ["other"], scopes: [read] });
    const later = new LoginFixtures();
    expect(await errorOf(await later.redeem(code, app))).toBe("400 invalid_target");
    expect(await errorOf(await later.refresh(refreshToken, app))).toBe("400 invalid_target");
    await seedResource(files, { clients: ["app"], scopes: [read] });
    const again = new LoginFixtures();
    expect((await again.redeem(code, app)).status).toBe(200);
    expect((await again.refresh(refreshToken, app)).status).toBe(200);
  });

  it("a scope that the resource no longer has is omitted", async () => {
    const { refresh_token: refreshToken } = await fixtures.signIn(app, granted);
    await seedResource(files, { scopes: [write] });
    const refreshed = await tokensOf(await new LoginFixtures().refresh(refreshToken, app));
    expect(refreshed.scope).toBe("offline_access");
  });

  it("RFC 9449 §5: without a proof, a code and a refresh token for bound tokens are refused and stay usable", async () => {
    await seedResource(files, { scopes: [read], bound_tokens_required: true });
    const unbound = await fixtures.signIn(app, { scope: ["offline_access"], resources: [mail] }).catch(String);
    expect(unbound).toContain("invalid_target");
    const code = await fixtures.authorize(granted);
    for (const fields of [{}, { resource: files }]) {
      expect(await errorOf(await fixtures.redeem(code, app, fields))).toBe("400 invalid_dpop_proof");
    }
    const headers = { DPoP: await (await DpopKey.generate()).proof("POST", `${origin}/token`) };
    const fields = {
      grant_type: "authorization_code",
      code,
      redirect_uri: "https://app.example/cb",
      code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    };
    const bound = await postForm(fixtures.app, tokenEnv, "/token", fields, app, headers);
    expect(await tokensOf(bound)).toMatchObject({ token_type: "DPoP" });
  });

  it("warm, a refresh for a resource costs 1 object call, with and without `resource`", async () => {
    let { refresh_token: refreshToken } = await fixtures.signIn(app, granted);
    for (const named of [{}, { resource: files }]) {
      for (let warmUp = 0; warmUp < 2; warmUp += 1) {
        ({ refresh_token: refreshToken } = await tokensOf(await fixtures.refresh(refreshToken, app, named)));
      }
      const counts = { object: 0, kv: 0, d1: 0 };
      fixtures.bindings = countCalls(tokenEnv, counts);
      ({ refresh_token: refreshToken } = await tokensOf(await fixtures.refresh(refreshToken, app, named)));
      fixtures.bindings = tokenEnv;
      expect(counts).toEqual({ object: 1, kv: 0, d1: 0 });
    }
  });
});
