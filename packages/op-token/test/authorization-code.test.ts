import { createRequestContext } from "@edge-op/shared/http/request-context";
import { parseRefreshToken } from "@edge-op/shared/storage/shard-address";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import { decodeProtectedHeader } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople, tokensOf, verifier } from "./fixtures/login-fixtures.ts";
import { claimsOf, errorOf, tokenEnv } from "./fixtures/token-fixtures.ts";

let fixtures: LoginFixtures;
let app: SeededClient;
beforeEach(async () => {
  fixtures = new LoginFixtures();
  await seedPeople();
  app = await seedApp();
});
afterEach(() => {
  vi.useRealTimers();
});

async function halfSha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...digest.subarray(0, 16)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

it("OIDC Core §3.1.3.3: a code returns an access token, a refresh token and an ID token for the login", async () => {
  const code = await fixtures.authorize();
  const tokens = await tokensOf(await fixtures.redeem(code, app));
  expect(tokens).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "openid email offline_access" });
  expect(parseRefreshToken(tokens.refresh_token)).toMatchObject({ version: 0 });
  const { iat } = claimsOf(tokens.id_token) as { iat: number };
  expect(decodeProtectedHeader(tokens.id_token)).toMatchObject({ alg: "RS256", typ: "JWT" });
  expect(claimsOf(tokens.id_token)).toMatchObject({
    iss: "https://op.example.com",
    sub: "alice",
    aud: "app",
    azp: "app",
    exp: iat + 3600,
    nonce: "n-0S6_WzA2Mj",
    auth_time: 1_700_000_000,
    acr: "urn:acr:1",
    amr: ["pwd"],
    sid: "session-1",
    at_hash: await halfSha256(tokens.access_token),
    c_hash: await halfSha256(code),
  });
  expect(claimsOf(tokens.access_token)).toMatchObject({
    sub: "alice",
    client_id: "app",
    aud: ["https://api.example.com", "https://op.example.com"],
    scope: "openid email offline_access",
  });
});

it("FAPI 2.0 Security Profile §5.3.2.1 item 11: a code older than 60 seconds is refused", async () => {
  const codeOfAge = async (ms: number) => {
    vi.setSystemTime(Date.now() - ms);
    const code = await fixtures.authorize();
    vi.useRealTimers();
    return code;
  };
  expect(await errorOf(await fixtures.redeem(await codeOfAge(60_000), app))).toBe("400 invalid_grant");
  expect((await fixtures.redeem(await codeOfAge(40_000), app)).status).toBe(200);
});

it("RFC 6749 §4.1.2: an isolate without a lease detects that its client is disabled before it spends the code", async () => {
  const setStatus = async (status: string) => {
    const { DB, TOKEN_REVOCATION_STORE } = tokenEnv;
    const [, row] = await DB.batch<{ version: number }>([
      DB.prepare("UPDATE clients SET status = ?1 WHERE client_id = 'app'").bind(status),
      DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', 'app', 0) RETURNING version"),
    ]);
    const cv = row!.results[0]!.version;
    const names = Array.from({ length: 8 }, (_, shard) => `revocation:g1:wnam:${shard}`);
    await Promise.all(names.map((name) => TOKEN_REVOCATION_STORE.getByName(name).raise({ cv }, true)));
  };
  const code = await fixtures.authorize();
  // The first use of a shard is an exact check: this isolate knows a control version and its client, but has no lease.
  await fixtures.redeem("unknown", app);
  await setStatus("disabled");
  expect(await errorOf(await fixtures.redeem(code, app))).toBe("401 invalid_client");
  await setStatus("active");
  expect((await fixtures.redeem(code, app)).status).toBe(200);
});

it("OpenID conformance suite: the ID token of the scope openid contains registered claims only, and still identifies the creation of its grant", async () => {
  const { id_token: idToken } = await fixtures.signIn(app, { scope: ["openid"] });
  const registered = ["iss", "sub", "aud", "azp", "iat", "exp", "jti", "auth_time", "nonce", "acr", "amr", "sid"];
  expect(Object.keys(claimsOf(idToken)).sort()).toEqual([...registered, "at_hash", "c_hash"].sort());
  const context = createRequestContext(new Request("https://op.example.com/"), tokenEnv, {
    waitUntil: () => undefined,
  });
  const grant = await grantNow(context, fixtures.isolate);
  const tokens = await fixtures.signIn(app, { grant });
  const { grantId, address } = grant;
  expect(await readIdToken(context, fixtures.isolate, tokens.id_token)).toMatchObject({ id: { grantId, address } });
});

describe("an access token contains no more about a person than its scope covers", () => {
  const about = ["username", "roles", "groups", "permissions", "sid"];
  const personal = (token: string) => Object.keys(claimsOf(token)).filter((name) => about.includes(name));
  const wide = "openid profile roles groups permissions offline_access";

  it("RFC 9068 §2.2.3.1, RFC 7662 §2.2: username by profile, roles, groups and permissions each by its own scope value", async () => {
    const client = await seedApp({ scope: wide }, "wide");
    for (const [scope, expected] of [
      ["openid", []],
      ["openid profile", ["username"]],
      ["openid roles", ["roles"]],
      ["openid groups", ["groups"]],
      ["openid permissions", ["permissions"]],
      [wide, ["groups", "permissions", "roles", "username"]],
    ] as const) {
      const tokens = await fixtures.signIn(client, { clientId: "wide", scope: scope.split(" ") });
      expect(personal(tokens.access_token).sort(), scope).toEqual(expected);
      const refreshed = await tokensOf(await fixtures.refresh(tokens.refresh_token, client));
      expect(personal(refreshed.access_token).sort(), `${scope}, refreshed`).toEqual(expected);
    }
  });

  it("OIDC Core §8: with a pairwise subject there is no username and no sub of the user, even after a refresh", async () => {
    const client = await seedApp({ scope: wide, subject_type: "pairwise" }, "pairwise");
    const change = { clientId: "pairwise", scope: wide.split(" "), pairwiseSub: "pairwise-of-alice" };
    const tokens = await fixtures.signIn(client, change);
    const refreshed = await tokensOf(await fixtures.refresh(tokens.refresh_token, client));
    for (const { access_token, id_token } of [tokens, refreshed]) {
      expect(claimsOf(access_token)).toMatchObject({ sub: "pairwise-of-alice", roles: ["editor"] });
      for (const token of [access_token, id_token]) expect(JSON.stringify(claimsOf(token))).not.toContain('"alice"');
    }
  });

  it("OIDC Core §8.1: the sid of an ID token is the sector's own, the same after a refresh, and the session's for public subjects", async () => {
    const sids = await Promise.all(
      ["one", "two", "one"].map(async (pairwiseSub) => {
        const tokens = await fixtures.signIn(app, { pairwiseSub });
        const refreshed = await tokensOf(await fixtures.refresh(tokens.refresh_token, app));
        expect(claimsOf(refreshed.id_token)["sid"]).toBe(claimsOf(tokens.id_token)["sid"]);
        return claimsOf(tokens.id_token)["sid"];
      }),
    );
    expect(sids[0]).toMatch(/^[\w-]{50,100}$/);
    expect(sids[2]).toBe(sids[0]);
    expect(new Set(sids).size).toBe(2);
    expect(claimsOf((await fixtures.signIn(app)).id_token)["sid"]).toBe("session-1");
  });
});

it("a claim of a scope that the client no longer registers is omitted from ID tokens and at UserInfo", async () => {
  const claims = { id_token: { email: null, name: null }, userinfo: { email: null, name: null, sub: null } };
  const tokens = await fixtures.signIn(app, { claims });
  expect(claimsOf(tokens.id_token)).toMatchObject({ email: "alice@example.com" });
  expect(claimsOf(tokens.id_token)).not.toHaveProperty("name");
  expect(claimsOf(tokens.access_token)["claims_userinfo"]).toEqual(["email"]);
});

it("OIDC Core §8.1: a pairwise client gets its own sub, at the code exchange and at refresh", async () => {
  const first = await fixtures.signIn(app, { pairwiseSub: "pairwise-of-alice" });
  const second = await tokensOf(await fixtures.refresh(first.refresh_token, app));
  expect([claimsOf(first.id_token)["sub"], claimsOf(second.id_token)["sub"]]).toEqual([
    "pairwise-of-alice",
    "pairwise-of-alice",
  ]);
});

it("OIDC Core §3.1.2.1: without openid there is no ID token, without offline access no refresh token", async () => {
  const tokens = await fixtures.signIn(app, { scope: ["email"], refreshable: false });
  expect(Object.keys(tokens).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
});

it("RFC 6749 §4.1.2: a replayed code is refused and ends what it issued, refresh token included", async () => {
  const code = await fixtures.authorize();
  const tokens = await tokensOf(await fixtures.redeem(code, app));
  expect(await errorOf(await fixtures.redeem(code, app))).toBe("400 invalid_grant");
  expect(await errorOf(await fixtures.refresh(tokens.refresh_token, app))).toBe("400 invalid_grant");
});

it("RFC 6749 §4.1.3: a wrong client, redirect_uri or verifier is refused and does not spend the code", async () => {
  const other = await seedApp({}, "other");
  const code = await fixtures.authorize();
  expect(await errorOf(await fixtures.redeem(code, other))).toBe("400 invalid_grant");
  expect(await errorOf(await fixtures.redeem(code, app, { redirect_uri: "https://app.example/cb?" }))).toBe(
    "400 invalid_grant",
  );
  expect(await errorOf(await fixtures.redeem(code, app, { code_verifier: `${verifier}x` }))).toBe("400 invalid_grant");
  expect(await errorOf(await fixtures.redeem(code, app, { code_verifier: "short" }))).toBe("400 invalid_grant");
  expect(await errorOf(await fixtures.redeem(code, app, { code_verifier: "" }))).toBe("400 invalid_grant");
  expect(await errorOf(await fixtures.redeem(`${code}x`, app))).toBe("400 invalid_grant");
  expect((await fixtures.redeem(code, app)).status).toBe(200);
});

it("OAuth 2.1 §10.2: with PKCE, redirect_uri may be omitted where one is registered; otherwise the error names it", async () => {
  const one = await seedApp({ redirect_uris: ["https://app.example/cb"] }, "one");
  const several = await seedApp({ redirect_uris: ["https://app.example/cb", "https://app.example/b"] }, "several");
  const omitted = { redirect_uri: "" };
  expect((await fixtures.redeem(await fixtures.authorize({ clientId: "one" }), one, omitted)).status).toBe(200);
  const code = await fixtures.authorize({ clientId: "several" });
  const refused = await fixtures.redeem(code, several, omitted);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: "invalid_request",
    error_description: expect.stringContaining("redirect_uri"),
  });
  expect((await fixtures.redeem(code, several)).status).toBe(200);
  expect(await errorOf(await fixtures.redeem(code, several, omitted))).toBe("400 invalid_grant");
});

it("RFC 9700 §2.1.1: a public client must use PKCE to redeem a code", async () => {
  await seedApp({ token_endpoint_auth_method: "none" }, "public");
  const code = await fixtures.authorize({ clientId: "public" });
  const unproven = await fixtures.redeem(code, undefined, { client_id: "public", code_verifier: "" });
  expect(await errorOf(unproven)).toBe("400 invalid_grant");
  const tokens = await tokensOf(await fixtures.redeem(code, undefined, { client_id: "public" }));
  const again = await tokensOf(await fixtures.refresh(tokens.refresh_token, undefined, { client_id: "public" }));
  expect(parseRefreshToken(again.refresh_token)).toMatchObject({ version: 1 });
});

it("RFC 8707 §2.2: a resource narrows the access token; one that was not authorized is invalid_target", async () => {
  const resources = ["https://a.example/", "https://b.example/"];
  const client = await seedApp({ audiences: ["*"] }, "any");
  const code = await fixtures.authorize({ clientId: "any", resources });
  expect(await errorOf(await fixtures.redeem(code, client, { resource: "https://c.example/" }))).toBe(
    "400 invalid_target",
  );
  // RFC 3986 §6.2: an equal URL of the granted one.
  const tokens = await tokensOf(await fixtures.redeem(code, client, { resource: "HTTPS://B.example:443" }));
  expect(claimsOf(tokens.access_token)["aud"]).toBe("https://b.example/");
  const refreshed = await tokensOf(await fixtures.refresh(tokens.refresh_token, client));
  expect(claimsOf(refreshed.access_token)["aud"]).toEqual(resources);
});

it("RFC 8707 §2: a token for requested resources is not for UserInfo, unless the issuer is one of them", async () => {
  const api = "https://api.example.com";
  const issuer = "https://op.example.com";
  const audience = async (resources: string[], resource?: string) => {
    const code = await fixtures.authorize({ resources });
    const tokens = await tokensOf(await fixtures.redeem(code, app, resource === undefined ? {} : { resource }));
    return claimsOf(tokens.access_token)["aud"];
  };
  expect(await audience([api])).toBe(api);
  expect(await audience([api, issuer], api)).toBe(api);
  expect(await audience([api, issuer], issuer)).toBe(issuer);
  expect(await audience([])).toEqual([api, issuer]);
});

describe("an audience removed from the client is no longer issued", () => {
  const a = "https://a.example/";
  const b = "https://b.example/";
  let client: SeededClient;
  beforeEach(async () => {
    client = await seedApp({ audiences: [a, b] }, "shrinking");
  });

  async function setAudiences(audiences: string[]): Promise<LoginFixtures> {
    await tokenEnv.DB.prepare(
      "UPDATE clients SET metadata = json_set(metadata, '$.audiences', json(?1)) WHERE client_id = 'shrinking'",
    )
      .bind(JSON.stringify(audiences))
      .run();
    await tokenEnv.CACHE.delete("client:shrinking");
    return new LoginFixtures();
  }

  it("RFC 8707 §2.2: a code and a refresh token are limited to the remaining resources", async () => {
    const code = await fixtures.authorize({ clientId: "shrinking", resources: [a, b] });
    const { refresh_token: token } = await fixtures.signIn(client, { clientId: "shrinking", resources: [a, b] });
    const later = await setAudiences([b]);
    const redeemed = await tokensOf(await later.redeem(code, client));
    expect(claimsOf(redeemed.access_token)).toMatchObject({ aud: b, resource: [b] });
    const refreshed = await tokensOf(await later.refresh(token, client));
    expect(claimsOf(refreshed.access_token)).toMatchObject({ aud: b, resource: [b] });
    const again = await tokensOf(await later.refresh(token, client));
    expect(again.refresh_token).toBe(refreshed.refresh_token);
  });

  it("RFC 8707 §2: with none left, or if a removed one is named, it is invalid_target, and nothing is spent", async () => {
    const code = await fixtures.authorize({ clientId: "shrinking", resources: [a] });
    const { refresh_token: token } = await fixtures.signIn(client, { clientId: "shrinking", resources: [a, b] });
    const without = await setAudiences([b]);
    expect(await errorOf(await without.redeem(code, client))).toBe("400 invalid_target");
    expect(await errorOf(await without.refresh(token, client, { resource: a }))).toBe("400 invalid_target");
    const none = await setAudiences(["https://c.example/"]);
    expect(await errorOf(await none.refresh(token, client))).toBe("400 invalid_target");
    const restored = await setAudiences([a, b]);
    expect(claimsOf((await tokensOf(await restored.redeem(code, client))).access_token)["aud"]).toBe(a);
    const refreshed = await tokensOf(await restored.refresh(token, client));
    expect(claimsOf(refreshed.access_token)["aud"]).toEqual([a, b]);
    expect(parseRefreshToken(refreshed.refresh_token)).toMatchObject({ version: 1 });
  });

  it("a retry after the audience was removed returns no token for it either", async () => {
    const { refresh_token: token } = await fixtures.signIn(client, { clientId: "shrinking", resources: [a] });
    await tokensOf(await fixtures.refresh(token, client));
    const later = await setAudiences([b]);
    expect(await errorOf(await later.refresh(token, client))).toBe("400 invalid_target");
  });
});

it("require_auth_time is fulfilled by every ID token of a login, refreshed ones too", async () => {
  const client = await seedApp({ require_auth_time: true }, "timed");
  const first = await fixtures.signIn(client, { clientId: "timed" });
  const next = await tokensOf(await fixtures.refresh(first.refresh_token, client));
  for (const { id_token } of [first, next]) expect(claimsOf(id_token)["auth_time"]).toBe(1_700_000_000);
});

it("a suspended user's code is refused", async () => {
  const code = await fixtures.authorize({ sub: "mallory" });
  expect(await errorOf(await fixtures.redeem(code, app))).toBe("400 invalid_grant");
});

it("RFC 8725 §3.11: an ID token is read as one, an access token is not, and an expired one only as a hint", async () => {
  const tokens = await fixtures.signIn(app);
  const read = (token: string, options = {}) =>
    readIdToken(
      createRequestContext(new Request("https://op.example.com/"), tokenEnv, { waitUntil: () => undefined }),
      fixtures.isolate,
      token,
      options,
    );
  expect(await read(tokens.id_token)).toMatchObject({ sub: "alice", clientId: "app", sid: "session-1", forUser: true });
  expect(await read(tokens.access_token)).toBeUndefined();
  expect(await read(`${tokens.id_token.slice(0, -12)}${"A".repeat(12)}`)).toBeUndefined();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
  expect(await read(tokens.id_token)).toBeUndefined();
  expect(await read(tokens.id_token, { acceptExpired: true })).toMatchObject({ sub: "alice" });
});
