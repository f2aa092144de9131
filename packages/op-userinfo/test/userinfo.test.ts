import { countCalls } from "@edge-op/shared/http/count-calls";
import type { UserClaims } from "@edge-op/shared/users/user";
import type { UserinfoEnv } from "@edge-op/workers/env";
import { createLocalJWKSet, jwtVerify } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { call, origin } from "../../../test/fixtures/call.ts";
import { accessTokenHash, DpopKey } from "../../../test/fixtures/dpop-key.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { UserinfoFixtures, userinfoEnv } from "./fixtures/userinfo-fixtures.ts";

const aliceClaims: Required<UserClaims> = {
  name: "Alice Example",
  given_name: "Alice",
  family_name: "Example",
  middle_name: "B.",
  nickname: "al",
  preferred_username: "alice",
  profile: "https://example.com/alice",
  picture: "https://example.com/alice.png",
  website: "https://alice.example.com",
  email: "alice@example.com",
  email_verified: true,
  gender: "female",
  birthdate: "2000-01-02",
  zoneinfo: "Europe/Berlin",
  locale: "de-DE",
  phone_number: "+49 30 1234567",
  phone_number_verified: false,
  address: { locality: "Berlin", country: "DE" },
  updated_at: 1_700_000_000,
};
const { email, email_verified, phone_number, phone_number_verified, address, ...profile } = aliceClaims;

let fixtures: UserinfoFixtures;
beforeEach(async () => {
  fixtures = new UserinfoFixtures();
  await seedClient(userinfoEnv, "app");
  await seedUser(userinfoEnv, "alice", { claims: aliceClaims });
});

describe("OIDC Core §5.3.2 successful response", () => {
  it.each([
    ["openid alone", ["openid"], { sub: "alice" }],
    ["profile", ["openid", "profile"], { sub: "alice", ...profile }],
    ["email", ["openid", "email"], { sub: "alice", email, email_verified }],
    ["address", ["openid", "address"], { sub: "alice", address }],
    ["phone", ["openid", "phone"], { sub: "alice", phone_number, phone_number_verified }],
    ["all", ["openid", "profile", "email", "address", "phone"], { sub: "alice", ...aliceClaims }],
    ["foreign values", ["openid", "read", "constructor"], { sub: "alice" }],
  ])("§5.4: scope with %s returns exactly its claims", async (_, scope, claims) => {
    const response = await fixtures.get(await fixtures.token({ scope }));
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await response.json()).toEqual(claims);
  });

  it("§5.5: individually requested claims are returned with those of the scope, unknown and private ones never", async () => {
    const userinfoClaims = ["email", "nickname", "password", "sub", "__proto__", "status"];
    const response = await fixtures.get(await fixtures.token({ scope: ["openid", "phone"], userinfoClaims }));
    expect(await response.json()).toEqual({ sub: "alice", phone_number, phone_number_verified, email, nickname: "al" });
  });

  it("roles and groups are returned for a token with a scope for them, permissions and others never", async () => {
    await seedUser(userinfoEnv, "carol", { roles: ["editor"], groups: ["staff"] });
    const shown = async (scope: string[], userinfoClaims: string[] = []) =>
      (await fixtures.get(await fixtures.token({ sub: "carol", scope, userinfoClaims }))).json();
    expect(await shown(["openid", "profile", "permissions"])).toEqual({ sub: "carol" });
    expect(await shown(["openid", "roles"])).toEqual({ sub: "carol", roles: ["editor"] });
    expect(await shown(["openid", "groups"], ["roles"])).toEqual({
      sub: "carol",
      roles: ["editor"],
      groups: ["staff"],
    });
    expect(await (await fixtures.get(await fixtures.token({ scope: ["openid", "roles", "groups"] }))).json()).toEqual({
      sub: "alice",
    });
  });

  it("§5.3.2: a claim without a value is omitted", async () => {
    await seedUser(userinfoEnv, "bob", { claims: { name: "Bob" } });
    const response = await fixtures.get(
      await fixtures.token({ sub: "bob", scope: ["openid", "profile", "email", "address"] }),
    );
    expect(await response.json()).toEqual({ sub: "bob", name: "Bob" });
  });

  it("§8.1: a client with pairwise subjects sees its own", async () => {
    const response = await fixtures.get(await fixtures.token({ pairwiseSub: "pairwise-of-alice" }));
    expect(await response.json()).toEqual({ sub: "pairwise-of-alice" });
  });

  it.each(["RS256", "ES256", "EdDSA"] as const)(
    "§5.3.2: a client that asked for %s gets a JWT with iss and aud",
    async (alg) => {
      await seedClient(userinfoEnv, "signed", { userinfo_signed_response_alg: alg });
      const response = await fixtures.get(await fixtures.token({ clientId: "signed", scope: ["openid", "email"] }));
      expect(response.status).toBe(200);
      expect(response.headers.get("Content-Type")).toBe("application/jwt");
      const { keys } = await fixtures.within((context) => fixtures.isolate.keyRing.schedule(context));
      const jwks = createLocalJWKSet({ keys: keys.map(({ publicJwk }) => publicJwk as { kty: string }) });
      const jwt = await response.text();
      const { payload, protectedHeader } = await jwtVerify(jwt, jwks);
      expect(payload).toEqual({ iss: "https://op.example.com", aud: "signed", sub: "alice", email, email_verified });
      expect(protectedHeader.alg).toBe(alg);

      // RFC 8725 §2.8: it is not a token of another kind.
      const types = { typ: ["JWT", "at+jwt", ""] };
      expect(await fixtures.within((context) => fixtures.isolate.keyRing.verify(context, jwt, types))).toBeUndefined();
      expect((await fixtures.get(jwt)).status).toBe(401);
    },
  );

  it("RFC 9110 §9.3.2: HEAD is GET without a body", async () => {
    const authorization = `Bearer ${await fixtures.token()}`;
    const response = await call(fixtures.app, userinfoEnv, "/userinfo", { method: "HEAD", headers: { authorization } });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});

describe("browsers and costs", () => {
  it("Fetch §3.2: any origin may send requests, without credentials; refusals can be read too", async () => {
    const preflight = await call(fixtures.app, userinfoEnv, "/userinfo", { method: "OPTIONS" });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("Access-Control-Allow-Headers")).toContain("Authorization");
    const foreign = { origin: "https://app.example" };
    const ask = (token: string) =>
      call(fixtures.app, userinfoEnv, "/userinfo", { headers: { authorization: `Bearer ${token}`, ...foreign } });
    for (const response of [preflight, await ask(await fixtures.token()), await ask("garbage")]) {
      expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
      expect(response.headers.has("Access-Control-Allow-Credentials")).toBe(false);
    }
  });

  it.each([
    ["strict", 0],
    ["direct", 1],
  ])("a warm request in %s mode: %i object calls, 0 KV, 0 D1, also for a new token", async (mode, object) => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const bindings = { ...userinfoEnv, REVOCATION_MODE: mode };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await fixtures.get(await fixtures.token(), bindings);
    const token = await fixtures.token();
    expect((await fixtures.get(token, countCalls(bindings, counts))).status).toBe(200);
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });

  it.each([
    ["everywhere", 1],
    ["isolate", 0],
  ])("RFC 9449 §11.1: a DPoP proof with single use %s: %i object calls", async (singleUse, object) => {
    const key = await DpopKey.generate();
    const token = await fixtures.token({ cnf: { method: "jkt", thumbprint: key.thumbprint } });
    const counts = { object: 0, kv: 0, d1: 0 };
    const bindings = { ...userinfoEnv, DPOP_SINGLE_USE: singleUse };
    const ask = async (env: UserinfoEnv) => {
      const proof = await key.proof("GET", `${origin}/userinfo`, { ath: await accessTokenHash(token) });
      const response = await call(fixtures.app, env, "/userinfo", {
        headers: { authorization: `DPoP ${token}`, DPoP: proof },
      });
      expect(response.status, await response.clone().text()).toBe(200);
    };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await ask(bindings);
    await ask(countCalls(bindings, counts));
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });

  it("the counts are returned as Server-Timing if the deployment enables it", async () => {
    const token = await fixtures.token();
    const direct = { ...userinfoEnv, REVOCATION_MODE: "direct" };
    expect((await fixtures.get(token, direct)).headers.has("Server-Timing")).toBe(false);
    const shown = await fixtures.get(token, { ...direct, SERVER_TIMING: "true" });
    expect(shown.headers.get("Server-Timing")).toBe(
      'object;dur=1;desc="calls", kv;dur=0;desc="calls", d1;dur=0;desc="calls", rows;dur=0;desc="rows read in D1"',
    );
  });
});
