import { readConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { parseTokenId } from "@edge-op/shared/storage/shard-address";
import type { AccessTokenContent } from "@edge-op/shared/tokens/access-token";
import { createLocalJWKSet, decodeJwt, jwtVerify, SignJWT } from "jose";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { basicHeader, call } from "../../../test/fixtures/call.ts";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

useAnnouncedSetUp();

let fixtures: ManagementFixtures;
let app: SeededClient;
let api: SeededClient;
beforeEach(async () => {
  fixtures = new ManagementFixtures();
  app = await seedClient(managementEnv, "app");
  api = await seedClient(managementEnv, "api");
});

describe("RFC 7662 §2.2 introspection response", () => {
  it("shows every member of a live token to its resource server", async () => {
    const token = await fixtures.token({
      scope: ["read", "profile", "roles", "groups", "permissions"],
      username: "alice@example.com",
      resources: ["https://resource.example.com/"],
      audiences: ["api", "https://resource.example.com/"],
      act: { sub: "service", client_id: "service" },
      cnf: { method: "jkt", thumbprint: "thumbprint" },
      rbac: { roles: ["editor"], groups: ["staff"], permissions: ["documents.write"] },
    });
    const { exp, iat, jti, ...rest } = await fixtures.introspect(token, api);
    expect(rest).toEqual({
      active: true,
      scope: "read profile roles groups permissions",
      client_id: "app",
      username: "alice@example.com",
      token_type: "DPoP",
      sub: "alice",
      aud: ["api", "https://resource.example.com/"],
      iss: "https://op.example.com",
      act: { sub: "service", client_id: "service" },
      cnf: { jkt: "thumbprint" },
      resource: ["https://resource.example.com/"],
      roles: ["editor"],
      groups: ["staff"],
      permissions: ["documents.write"],
    });
    const claims = decodeJwt(token);
    expect({ exp, iat, jti }).toEqual({ exp: claims.exp, iat: claims.iat, jti: claims.jti });
    // RFC 7519 §4.1.5: a fresh token has no `nbf`, at which a library whose clock is behind would refuse it.
    expect(claims).not.toHaveProperty("nbf");
  });

  it.each([
    ["RFC 9449 §6.1 jkt", { jkt: "thumbprint" }, "DPoP"],
    ["RFC 8705 §3.1 x5t#S256", { "x5t#S256": "thumbprint" }, "Bearer"],
    ["a cnf of members that are not known", { kid: "1", jku: "https://keys.example.com/" }, "N_A"],
    ["an empty cnf", {}, "N_A"],
  ])("§2.2, RFC 7800 §3.1: %s is returned unchanged", async (_, cnf, tokenType) => {
    const token = await fixtures.token({ cnf: readConfirmation(cnf) });
    expect(decodeJwt(token)["cnf"]).toEqual(cnf);
    expect(await fixtures.introspect(token, api)).toMatchObject({ active: true, cnf, token_type: tokenType });
  });

  it("username requires profile and is never shown with a pairwise subject; roles and groups require their scopes", async () => {
    const person = {
      username: "alice@example.com",
      rbac: { roles: ["editor"], groups: ["staff"], permissions: ["documents.write"] },
    };
    const shown = async (content: Partial<AccessTokenContent>) => {
      const names = ["username", "roles", "groups", "permissions"];
      const response = await fixtures.introspect(await fixtures.token({ ...person, ...content }), api);
      return names.filter((name) => name in response);
    };
    expect(await shown({ scope: ["openid"] })).toEqual([]);
    expect(await shown({ scope: ["profile"] })).toEqual(["username"]);
    expect(await shown({ scope: ["roles"] })).toEqual(["roles"]);
    expect(await shown({ scope: ["profile", "groups"], pairwiseSub: "p" })).toEqual(["groups"]);
  });

  it("§4: a caller that is neither its client nor in aud sees it as inactive, unless its policy names client or audience", async () => {
    const token = await fixtures.token();
    const stranger = await seedClient(managementEnv, "stranger", { audiences: ["api"] });
    expect(await fixtures.introspect(token, stranger)).toEqual({ active: false });
    expect(await fixtures.introspect(token, app)).toMatchObject({ active: true });
    for (const [id, introspection, active] of [
      ["by-client", { clients: ["app"] }, true],
      ["by-audience", { audiences: ["api"] }, true],
      ["by-any", { clients: ["*"] }, true],
      ["by-other", { clients: ["other"], audiences: ["other"] }, false],
    ] as const) {
      const caller = await seedClient(managementEnv, id, { introspection });
      expect(await fixtures.introspect(token, caller), id).toMatchObject({ active });
    }
  });

  it("a live token that the caller may not see is logged as such; other inactive tokens are not", async () => {
    const stranger = await seedClient(managementEnv, "stranger");
    const lines: string[] = [];
    vi.spyOn(console, "info").mockImplementation((line: string) => void lines.push(line));
    expect(await fixtures.introspect(await fixtures.token(), stranger)).toEqual({ active: false });
    expect(await fixtures.introspect(await fixtures.token({ expiresAtSeconds: 1 }), stranger)).toEqual({
      active: false,
    });
    expect(await fixtures.introspect(await fixtures.token(), app)).toMatchObject({ active: true });
    vi.restoreAllMocks();
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        event: "introspection-not-allowed",
        clientId: "stranger",
        detail: "a live token of another client and audience; the caller's introspection policy names neither",
        tokenClientId: "app",
        tokenAudiences: ["api"],
        requestId: expect.any(String),
      },
    ]);
  });

  it("unknown, malformed, expired, foreign and wrongly signed tokens have the same response", async () => {
    const live = await fixtures.token();
    const [header, payload, signature] = live.split(".") as [string, string, string];
    const now = Math.floor(Date.now() / 1000);
    const forged = await new SignJWT({ ...decodeJwt(live) })
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: JSON.parse(atob(header)).kid })
      .sign(new TextEncoder().encode("a key that is as long as it has to be"));
    const none = `${btoa(JSON.stringify({ alg: "none", typ: "at+jwt" })).replaceAll("=", "")}.${payload}.`;
    for (const token of [
      "garbage",
      "a.b.c",
      forged,
      none,
      `${live}A`,
      live.slice(0, -1),
      `${live}=`,
      ` ${live}`,
      `${header}.${payload}.${signature.replace(/.$/, (last) => (last === "A" ? "B" : "A"))}`,
      await fixtures.token({ expiresAtSeconds: now }),
      await fixtures.token({ issuedAtSeconds: now + 60 }),
      "x".repeat(16_000),
    ]) {
      expect(await fixtures.introspect(token, api), token.slice(0, 40)).toEqual({ active: false });
    }
    expect(await fixtures.introspect(live, api)).toMatchObject({ active: true });
  });

  it("ADR 11: a live token whose generation or shard is not in the table is 503, and creates no object", async () => {
    const live = decodeJwt(await fixtures.token()).jti!;
    const { grantId } = parseTokenId(live)!;
    for (const address of [
      { generation: 9, region: "wnam", shard: 0 },
      { generation: 1, region: "mars", shard: 0 },
      { generation: 1, region: "wnam", shard: 4096 },
    ]) {
      const token = await fixtures.token({ id: { address, grantId, random: "AAAA" } });
      const counts = { object: 0, kv: 0, d1: 0 };
      const named: string[] = [];
      const namespace = managementEnv.TOKEN_REVOCATION_STORE;
      const spied = {
        ...managementEnv,
        TOKEN_REVOCATION_STORE: new Proxy(namespace, {
          get: (target, property) => {
            const value = Reflect.get(target, property, target);
            if (typeof value !== "function") return value;
            return (...args: unknown[]) => {
              if (property === "getByName") named.push(String(args[0]));
              return Reflect.apply(value, target, args);
            };
          },
        }),
      };
      const response = await fixtures.post("/introspect", { token }, api, countCalls(spied, counts));
      expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "1"]);
      expect(named.filter((name) => !/^revocation:g1:wnam:[0-7]$/.test(name))).toEqual([]);
    }
  });
});

describe("RFC 7662 §2.1 introspection request", () => {
  it("requires an authenticated, confidential client and a token", async () => {
    await seedClient(managementEnv, "public", { token_endpoint_auth_method: "none" });
    const token = await fixtures.token();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const body of [`token=${token}`, `token=${token}&client_id=public`]) {
      expect((await call(fixtures.app, managementEnv, "/introspect", { method: "POST", headers, body })).status).toBe(
        401,
      );
    }
    expect((await fixtures.post("/introspect", {}, api)).status).toBe(400);
    expect((await fixtures.post("/introspect", { token: "x".repeat(16 * 1024 + 1) }, api)).status).toBe(413);
    const get = await call(fixtures.app, managementEnv, `/introspect?token=${token}`);
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("RFC 9110 §12.4.2: a signed response with quality 0 is not sent", async () => {
    const response = await call(fixtures.app, managementEnv, "/introspect", {
      method: "POST",
      headers: {
        accept: "application/token-introspection+jwt;q=0, application/json",
        authorization: basicHeader(api.clientId, api.clientSecret),
        "content-type": "application/x-www-form-urlencoded",
      },
      body: `token=${await fixtures.token()}`,
    });
    expect(response.headers.get("content-type")).toBe("application/json");
  });

  it("RFC 9701 §5: responds with a signed JWT if that is accepted", async () => {
    const token = await fixtures.token();
    const response = await call(fixtures.app, managementEnv, "/introspect", {
      method: "POST",
      headers: {
        accept: "application/token-introspection+jwt",
        authorization: basicHeader(api.clientId, api.clientSecret),
        "content-type": "application/x-www-form-urlencoded",
      },
      body: `token=${token}`,
    });
    expect(response.headers.get("content-type")).toBe("application/token-introspection+jwt");
    const schedule = await fixtures.within((context) => fixtures.isolate.keyRing.schedule(context));
    const keys = createLocalJWKSet({
      keys: schedule.keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg })) as never,
    });
    const { payload, protectedHeader } = await jwtVerify(await response.text(), keys, {
      issuer: "https://op.example.com",
      audience: "api",
      typ: "token-introspection+jwt",
    });
    expect(protectedHeader.alg).toBe("RS256");
    expect(payload["token_introspection"]).toMatchObject({ active: true, sub: "alice", client_id: "app" });
  });
});

describe("cost of a warm introspection", () => {
  it.each([
    ["strict", "false", { object: 0, kv: 0, d1: 0 }],
    ["direct", "false", { object: 1, kv: 0, d1: 0 }],
    ["strict", "true", { object: 0, kv: 1, d1: 0 }],
  ])("%s mode, response cache %s: %o", async (REVOCATION_MODE, INTROSPECTION_CACHE, expected) => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const bindings = { ...managementEnv, REVOCATION_MODE, INTROSPECTION_CACHE };
    const token = await fixtures.token();
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await fixtures.introspect(token, api, bindings);
    expect(await fixtures.introspect(token, api, countCalls(bindings, counts))).toMatchObject({ active: true });
    expect(counts).toEqual(expected);
  });
});

describe("an object that fails", () => {
  it("is 503 with Retry-After, never a statement about the token", async () => {
    const token = await fixtures.token();
    await fixtures.introspect(token, api);
    const failing = new Proxy(managementEnv.TOKEN_REVOCATION_STORE, {
      get: (target, property) => {
        if (property === "get" || property === "getByName") {
          return () =>
            new Proxy(
              {},
              { get: (_, method) => (method === "then" ? undefined : () => Promise.reject(new Error("overloaded"))) },
            );
        }
        const value = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const fresh = new ManagementFixtures();
    for (const path of ["/introspect", "/revoke"]) {
      const bindings = { ...managementEnv, TOKEN_REVOCATION_STORE: failing };
      const response = await fresh.post(path, { token }, app, bindings);
      expect([response.status, response.headers.get("retry-after")], path).toEqual([503, "1"]);
      expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
    }
    expect(await fixtures.introspect(token, api)).toMatchObject({ active: true });
  });
});
