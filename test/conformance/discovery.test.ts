import { describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const { origin, issuer } = provider;

async function get(path: string, init?: RequestInit) {
  return readResponse(await fetch(`${origin}${path}`, init));
}

describe("OpenID Connect Discovery 1.0, RFC 8414", () => {
  test("Discovery §4.3, RFC 8414 §3.3: the issuer of the document equals the requested issuer, byte for byte", async () => {
    const oidc = await get("/.well-known/openid-configuration");
    const oauth = await get("/.well-known/oauth-authorization-server");
    expect(oidc.status).toBe(200);
    expect(oidc.headers.get("content-type")).toMatch(/^application\/json/);
    expect(oidc.body["issuer"]).toBe(issuer);
    expect(oauth.body).toEqual(oidc.body);
  });

  test("Discovery §3: every required member is present, and RS256 is among the ID token algorithms", async () => {
    const { body } = await get("/.well-known/openid-configuration");
    for (const name of [
      "issuer",
      "authorization_endpoint",
      "token_endpoint",
      "jwks_uri",
      "response_types_supported",
      "subject_types_supported",
      "id_token_signing_alg_values_supported",
    ]) {
      expect(body, name).toHaveProperty(name);
    }
    expect(body["id_token_signing_alg_values_supported"]).toContain("RS256");
  });

  test("RFC 8414 §2: each endpoint that is listed exists, at this issuer", async () => {
    const { body } = await get("/.well-known/openid-configuration");
    const endpoints = Object.entries(body).filter(([name]) => name.endsWith("_endpoint") || name === "jwks_uri");
    expect(endpoints.length).toBeGreaterThanOrEqual(6);
    for (const [name, url] of endpoints) {
      expect(String(url), name).toMatch(new RegExp(`^${issuer}/`));
      const response = await fetch(String(url).replace(issuer, origin), { redirect: "manual" });
      expect(response.status, name).not.toBe(404);
      expect(response.status, name).toBeLessThan(500);
    }
  });

  test("RFC 7517 §5: the key set contains only public keys, each with kid, alg and use", async () => {
    const { body } = await get("/jwks");
    const keys = body["keys"] as Record<string, unknown>[];
    const algorithms = (use: string) => new Set(keys.filter((key) => key["use"] === use).map(({ alg }) => alg));
    expect(algorithms("sig")).toEqual(new Set(["ES256", "RS256", "EdDSA", "PS256"]));
    expect(algorithms("enc")).toEqual(new Set(["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"]));
    for (const key of keys) {
      expect(key).toMatchObject({ kid: expect.any(String), use: expect.stringMatching(/^(sig|enc)$/) });
      for (const member of ["d", "p", "q", "dp", "dq", "qi", "k"]) expect(key).not.toHaveProperty(member);
    }
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
  });

  test("CORS: browsers of any origin may read discovery and keys, without credentials", async () => {
    for (const path of ["/.well-known/openid-configuration", "/jwks"]) {
      const { headers } = await get(path, { headers: { origin: "https://app.example.com" } });
      expect(headers.get("access-control-allow-origin"), path).toBe("*");
      expect(headers.get("access-control-allow-credentials"), path).toBeNull();
    }
  });

  test("CORS: applications in a browser may push, exchange, revoke and read the API's description", async () => {
    const browser = { origin: "https://app.example.com" };
    for (const path of ["/par", "/token", "/revoke", "/admin/openapi.json"]) {
      const method = path.endsWith(".json") ? "GET" : "POST";
      const preflight = await fetch(`${origin}${path}`, {
        method: "OPTIONS",
        headers: {
          ...browser,
          "access-control-request-method": method,
          "access-control-request-headers": "authorization",
        },
      });
      expect([preflight.status, preflight.headers.get("access-control-allow-methods")], path).toEqual([
        204,
        `${method === "GET" ? "GET, HEAD" : method}, OPTIONS`,
      ]);
      expect(preflight.headers.get("x-content-type-options"), path).toBe("nosniff");
      const allowed = preflight.headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
      // MCP clients in browsers send MCP-Protocol-Version; Fetch §4.9: the wildcard does not cover Authorization.
      expect(allowed, path).toEqual(expect.arrayContaining(["authorization", "dpop", "*"]));
      // A refusal must be readable as well.
      const { headers } = await fetch(`${origin}${path}`, { method, headers: browser });
      for (const each of [preflight.headers, headers]) {
        expect(each.get("access-control-allow-origin"), path).toBe("*");
        expect(each.get("access-control-allow-credentials"), path).toBeNull();
      }
    }
  });

  test("CORS: introspection and the admin API are not for browsers of other origins", async () => {
    for (const path of ["/introspect", "/admin/clients"]) {
      const response = await fetch(`${origin}${path}`, {
        method: "OPTIONS",
        headers: { origin: "https://app.example.com" },
      });
      expect(response.headers.get("access-control-allow-origin"), path).toBeNull();
    }
  });

  test("RFC 9110 §15.5.6: a wrong method is 405 with Allow", async () => {
    const token = await fetch(`${origin}/token`);
    expect([token.status, token.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    const introspect = await fetch(`${origin}/introspect?token=x`);
    expect([introspect.status, introspect.headers.get("allow")]).toEqual([405, "POST"]);
    const jwks = await fetch(`${origin}/jwks`, { method: "POST" });
    expect([jwks.status, jwks.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });

  test("RFC 9110 §10.2.1: every path that serves HEAD lists it in Allow", async () => {
    for (const path of ["/jwks", "/health", "/userinfo", "/authorize", "/account", "/admin/clients", "/assets/x"]) {
      const head = await fetch(`${origin}${path}`, { method: "HEAD", redirect: "manual" });
      const wrong = await fetch(`${origin}${path}`, { method: "PROPFIND" });
      expect([head.status === 405, wrong.status], path).toEqual([false, 405]);
      expect(wrong.headers.get("allow")?.split(", "), path).toContain("HEAD");
    }
    for (const path of ["/token", "/introspect", "/revoke", "/par", "/device_authorization"]) {
      const head = await fetch(`${origin}${path}`, { method: "HEAD" });
      expect([head.status, head.headers.get("allow")?.includes("HEAD")], path).toEqual([405, false]);
    }
  });

  test("an unknown path is 404 and JSON", async () => {
    const response = await get("/no/such/path");
    expect([response.status, response.body["error"]]).toEqual([404, "not_found"]);
  });

  test("the OpenAPI document describes the actual admin API", async () => {
    const { body } = await get("/admin/openapi.json");
    expect(body["openapi"]).toMatch(/^3\.1\./);
    const paths = Object.keys(body["paths"] as object);
    for (const path of ["clients", "users", "keys", "revocations", "shards/generations"]) {
      expect(
        paths.some((listed) => listed.endsWith(`/${path}`)),
        path,
      ).toBe(true);
    }
    expect((await fixtures.admin.call("GET", "/clients?limit=1")).status).toBe(200);
  });
});
