import { createRequestContext } from "@edge-op/shared/http/request-context";
import { parseRefreshToken } from "@edge-op/shared/sharding/shard-address";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import { decodeProtectedHeader } from "jose";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { SeededClient } from "../../../test/support/seed.ts";
import { LoginWorld, seedApp, seedPeople, tokensOf, verifier } from "./login-world.ts";
import { claimsOf, errorOf, tokenEnv } from "./token-world.ts";

let world: LoginWorld;
let app: SeededClient;
beforeEach(async () => {
  world = new LoginWorld();
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

it("OIDC Core §3.1.3.3: a code gives an access token, a refresh token and an ID token about the login", async () => {
  const code = await world.authorize();
  const tokens = await tokensOf(await world.redeem(code, app));
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
    roles: ["editor"],
    sid: "session-1",
  });
});

it("OIDC Core §5.4: an ID token carries what was asked for by name, not what scope opens at UserInfo", async () => {
  const asked = await world.signIn(app, { claims: { id_token: { email: null, phone_number: { essential: true } } } });
  expect(claimsOf(asked.id_token)).toMatchObject({ email: "alice@example.com" });
  expect(claimsOf(asked.id_token)).not.toHaveProperty("name");
  expect(claimsOf((await world.signIn(app)).id_token)).not.toHaveProperty("email");
});

it("OIDC Core §8.1: a pairwise client is shown its own sub, at the code exchange and at refresh", async () => {
  const first = await world.signIn(app, { pairwiseSub: "pairwise-of-alice" });
  const second = await tokensOf(await world.refresh(first.refresh_token, app));
  expect([claimsOf(first.id_token)["sub"], claimsOf(second.id_token)["sub"]]).toEqual([
    "pairwise-of-alice",
    "pairwise-of-alice",
  ]);
});

it("OIDC Core §3.1.2.1: without openid there is no ID token, without offline access no refresh token", async () => {
  const tokens = await world.signIn(app, { scope: ["email"], refreshable: false });
  expect(Object.keys(tokens).sort()).toEqual(["access_token", "expires_in", "scope", "token_type"]);
});

it("RFC 6749 §4.1.2: a replayed code is refused and ends what it issued, refresh token included", async () => {
  const code = await world.authorize();
  const tokens = await tokensOf(await world.redeem(code, app));
  expect(await errorOf(await world.redeem(code, app))).toBe("400 invalid_grant");
  expect(await errorOf(await world.refresh(tokens.refresh_token, app))).toBe("400 invalid_grant");
});

it("RFC 6749 §4.1.3: a code of another client, redirect_uri or verifier is refused and not burnt", async () => {
  const other = await seedApp({}, "other");
  const code = await world.authorize();
  expect(await errorOf(await world.redeem(code, other))).toBe("400 invalid_grant");
  expect(await errorOf(await world.redeem(code, app, { redirect_uri: "https://app.example/cb?" }))).toBe(
    "400 invalid_grant",
  );
  expect(await errorOf(await world.redeem(code, app, { code_verifier: `${verifier}x` }))).toBe("400 invalid_grant");
  expect(await errorOf(await world.redeem(code, app, { code_verifier: "short" }))).toBe("400 invalid_grant");
  expect(await errorOf(await world.redeem(code, app, { code_verifier: "" }))).toBe("400 invalid_grant");
  expect(await errorOf(await world.redeem(`${code}x`, app))).toBe("400 invalid_grant");
  expect((await world.redeem(code, app)).status).toBe(200);
});

it("RFC 9700 §2.1.1: a public client redeems with PKCE and with nothing less", async () => {
  await seedApp({ token_endpoint_auth_method: "none" }, "public");
  const code = await world.authorize({ clientId: "public" });
  const unproven = await world.redeem(code, undefined, { client_id: "public", code_verifier: "" });
  expect(await errorOf(unproven)).toBe("400 invalid_grant");
  const tokens = await tokensOf(await world.redeem(code, undefined, { client_id: "public" }));
  const again = await tokensOf(await world.refresh(tokens.refresh_token, undefined, { client_id: "public" }));
  expect(parseRefreshToken(again.refresh_token)).toMatchObject({ version: 1 });
});

it("RFC 8707 §2.2: a resource narrows the access token; one that was not authorized is invalid_target", async () => {
  const resources = ["https://a.example/", "https://b.example/"];
  const code = await world.authorize({ resources });
  expect(await errorOf(await world.redeem(code, app, { resource: "https://c.example/" }))).toBe("400 invalid_target");
  const tokens = await tokensOf(await world.redeem(code, app, { resource: "https://b.example/" }));
  expect(claimsOf(tokens.access_token)["aud"]).toEqual(["https://b.example/", "https://op.example.com"]);
  const refreshed = await tokensOf(await world.refresh(tokens.refresh_token, app));
  expect(claimsOf(refreshed.access_token)["aud"]).toEqual([...resources, "https://op.example.com"]);
});

it("a suspended user's code earns nothing", async () => {
  const code = await world.authorize({ sub: "mallory" });
  expect(await errorOf(await world.redeem(code, app))).toBe("400 invalid_grant");
});

it("RFC 8725 §3.11: an ID token is read as one, an access token is not, and an expired one only as a hint", async () => {
  const tokens = await world.signIn(app);
  const read = (token: string, options = {}) =>
    readIdToken(
      createRequestContext(new Request("https://op.example.com/"), tokenEnv, { waitUntil: () => undefined }),
      world.isolate,
      token,
      options,
    );
  expect(await read(tokens.id_token)).toMatchObject({ sub: "alice", clientId: "app", sid: "session-1", forUser: true });
  expect(await read(tokens.access_token)).toBeUndefined();
  expect(await read(`${tokens.id_token.slice(0, -2)}AA`)).toBeUndefined();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
  expect(await read(tokens.id_token)).toBeUndefined();
  expect(await read(tokens.id_token, { acceptExpired: true })).toMatchObject({ sub: "alice" });
});
