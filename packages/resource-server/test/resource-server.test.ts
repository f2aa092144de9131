import { createExecutionContext } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { Refusal } from "../src/protected-resource.ts";
import {
  insufficientScope,
  insufficientUserAuthentication,
  OAuthResourceServer,
  type OAuthResourceServerOptions,
} from "../src/resource-server.ts";
import { meetsAuthentication } from "../src/step-up.ts";
import type { TokenClaims, TokenValidation } from "../src/token-validation.ts";
import { jwtValidator } from "../src/validate-jwt.ts";
import { FakeIssuer, issuer, resource } from "./fixtures/issuer.ts";

const metadataUrl = "https://api.example.com/.well-known/oauth-protected-resource/mcp";
const validation: TokenValidation = {
  props: { sub: "alice" },
  audience: resource,
  expiresAt: Math.floor(Date.now() / 1000) + 300,
  scope: ["read"],
  userId: "alice",
  clientId: "app",
};
const refusals: Refusal[] = [];
beforeEach(() => void refusals.splice(0));

function serverWith(options: Partial<OAuthResourceServerOptions<unknown, TokenClaims>> = {}) {
  return new OAuthResourceServer<unknown>({
    resourceMetadata: { resource, authorization_servers: [issuer], resource_name: "Notes" },
    requiredScopes: ["read"],
    validateToken: () => (_, token) => Promise.resolve(token === "good" ? validation : null),
    handler: { fetch: (_, __, { auth, props }) => Response.json({ ...auth, token: undefined, props }) },
    onRefused: (refusal) => void refusals.push(refusal),
    ...options,
  });
}

function send(server: OAuthResourceServer<unknown>, url: string, init: RequestInit = {}): Promise<Response> {
  return server.fetch(new Request(url, init), {}, createExecutionContext());
}

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

describe("RFC 9728 metadata", () => {
  it("§3.1: is at the well-known path followed by the resource's path, and nowhere else", async () => {
    const response = await send(serverWith(), metadataUrl);
    expect(await response.json()).toEqual({
      resource,
      authorization_servers: [issuer],
      resource_name: "Notes",
      scopes_supported: ["read"],
      bearer_methods_supported: ["header"],
      dpop_signing_alg_values_supported: ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"],
    });
    for (const path of ["", "/mcp/", "/other"]) {
      const other = `https://api.example.com/.well-known/oauth-protected-resource${path}`;
      expect((await send(serverWith(), other)).status, path).toBe(404);
    }
  });

  it("§3.1: a resource without a path has it at the well-known path itself", async () => {
    const server = serverWith({
      resourceMetadata: { resource: "https://api.example.com", authorization_servers: [issuer] },
    });
    const response = await send(server, "https://api.example.com/.well-known/oauth-protected-resource");
    expect(await response.json()).toMatchObject({ resource: "https://api.example.com" });
  });

  it("is readable by browsers of any origin, and only by GET, HEAD and OPTIONS", async () => {
    const from = { headers: { Origin: "https://inspector.example" } };
    const read = await send(serverWith(), metadataUrl, from);
    expect(read.headers.get("Access-Control-Allow-Origin")).toBe("*");
    const head = await send(serverWith(), metadataUrl, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await send(serverWith(), metadataUrl, { ...from, method: "OPTIONS" })).status).toBe(204);
    const post = await send(serverWith(), metadataUrl, { method: "POST" });
    expect([post.status, post.headers.get("Allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });

  it("§2: requires bound tokens if the resource does, and does not advertise offline_access", async () => {
    const server = serverWith({ requiresBoundTokens: true, requiredScopes: ["offline_access", "read"] });
    expect(await (await send(server, metadataUrl)).json()).toMatchObject({
      dpop_bound_access_tokens_required: true,
      scopes_supported: ["read"],
    });
  });

  it.each([
    ["http://api.example.com/", "http elsewhere than on a loopback host"],
    ["https://api.example.com/#a", "a fragment"],
    ["https://API.example.com/", "capital letters"],
    ["https://api.example.com/a/../b", "dots"],
    ["https://user@api.example.com/", "user information"],
    ["api", "not a URL"],
    ["https://api.example.com/.well-known/oauth-protected-resource/mcp", "the metadata's own path"],
  ])("a resource that clients would refuse throws at startup: %s (%s)", (wrong) => {
    expect(() => serverWith({ resourceMetadata: { resource: wrong, authorization_servers: [issuer] } })).toThrow(
      TypeError,
    );
  });

  it("no authorization server, or an invalid scope, throws at startup", () => {
    expect(() => serverWith({ resourceMetadata: { resource, authorization_servers: [] } })).toThrow(TypeError);
    expect(() => serverWith({ requiredScopes: ["a b"] })).toThrow(TypeError);
  });
});

describe("challenges", () => {
  it("RFC 6750 §3.1, RFC 9728 §5.1: without a token both schemes with metadata and scope, and no error", async () => {
    for (const headers of [{}, { Authorization: "Basic YTpi" }, { Authorization: "Bear good" }]) {
      const response = await send(serverWith(), resource, { headers });
      expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
        401,
        `Bearer scope="read", resource_metadata="${metadataUrl}", DPoP scope="read", resource_metadata="${metadataUrl}", algs="ES256 EdDSA Ed25519 PS256 RS256"`,
      ]);
      expect(response.headers.get("Cache-Control")).toBe("no-store");
    }
    expect((await send(serverWith(), `${resource}?access_token=good`)).status).toBe(401);
    expect(new Set(refusals.map(({ reason }) => reason))).toEqual(new Set(["no_token"]));
  });

  it.each(["Bearer", "Bearer ", "Bearer a b", "Bearer a, Bearer b", `Bearer ${"x".repeat(16_385)}`, "DPoP a,b"])(
    "RFC 6750 §3.1: %.20s is malformed: 400 invalid_request",
    async (Authorization) => {
      const response = await send(serverWith(), resource, { headers: { Authorization } });
      expect([response.status, await response.json()]).toMatchObject([400, { error: "invalid_request" }]);
    },
  );

  it("RFC 6750 §3.1: an invalid token is 401 invalid_token; the scheme's name is case-insensitive", async () => {
    const response = await send(serverWith(), resource, bearer("bad"));
    expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
      401,
      `Bearer error="invalid_token", error_description="The access token is expired, revoked, or not valid for this resource.", scope="read", resource_metadata="${metadataUrl}"`,
    ]);
    expect((await send(serverWith(), resource, { headers: { Authorization: "bEARER good" } })).status).toBe(200);
  });

  it("RFC 6750 §3.1: a token without a required scope is 403 with all required scopes", async () => {
    const server = serverWith({ requiredScopes: ["read", "write"] });
    const response = await send(server, resource, bearer("good"));
    expect(response.status).toBe(403);
    expect(response.headers.get("WWW-Authenticate")).toContain('error="insufficient_scope"');
    expect(response.headers.get("WWW-Authenticate")).toContain('scope="read write"');
  });

  it("an application defines which scopes imply others", async () => {
    const hasScopes = (granted: readonly string[]) => granted.includes("read");
    expect((await send(serverWith({ requiredScopes: ["list"], hasScopes }), resource, bearer("good"))).status).toBe(
      200,
    );
  });

  it("a validator that throws is 503 with Retry-After, never a statement about the token", async () => {
    const failing = () => () => Promise.reject(new Error("temporarily_unavailable"));
    const response = await send(serverWith({ validateToken: failing }), resource, bearer("good"));
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(response.headers.get("WWW-Authenticate")).toBeNull();
    expect(refusals).toEqual([
      { reason: "temporarily_unavailable", detail: "Error: temporarily_unavailable", error: expect.any(Error) },
    ]);
  });

  it.each([
    ["another audience", { audience: "https://api.example.com/other" }],
    ["the resource's parent", { audience: "https://api.example.com/" }],
    ["a slash more", { audience: `${resource}/` }],
    ["a time that is past", { expiresAt: 1 }],
    ["no number of seconds", { expiresAt: Number.NaN }],
    ["a scope with a space", { scope: ["read write"] }],
  ])("a validator's result with %s is refused", async (_, wrong) => {
    const server = serverWith({ validateToken: () => () => Promise.resolve({ ...validation, ...wrong }) });
    expect((await send(server, resource, bearer("good"))).status).toBe(401);
  });
});

describe("the handler", () => {
  it("gets the claims and the verified facts, only for the resource and the paths below it", async () => {
    for (const path of ["", "/notes", "?a=b"]) {
      const response = await send(serverWith(), `${resource}${path}`, bearer("good"));
      expect(await response.json(), path).toMatchObject({
        audience: resource,
        scope: ["read"],
        userId: "alice",
        clientId: "app",
        scheme: "Bearer",
        resourceMetadataUrl: metadataUrl,
        props: { sub: "alice" },
      });
    }
    for (const path of ["/", "/mcpx", "/other"]) {
      expect((await send(serverWith(), `https://api.example.com${path}`, bearer("good"))).status, path).toBe(404);
    }
  });

  it("is not called for a preflight request, and its response is readable by browsers", async () => {
    const headers = { Origin: "https://inspector.example", "Access-Control-Request-Method": "POST" };
    const preflight = await send(serverWith(), resource, { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("Access-Control-Allow-Headers")]).toEqual([
      204,
      "Authorization, *",
    ]);
    const refused = await send(serverWith(), resource, { headers: { Origin: "https://inspector.example" } });
    expect(refused.headers.get("Access-Control-Expose-Headers")).toContain("WWW-Authenticate");
    expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
    const own = serverWith({
      handler: { fetch: () => new Response("", { headers: { "Access-Control-Allow-Origin": "https://a.example" } }) },
    });
    const served = await send(own, resource, { headers: { ...bearer("good").headers, Origin: "https://a.example" } });
    expect(served.headers.get("Access-Control-Allow-Origin")).toBe("https://a.example");
  });

  it("is called outside Workers too, where there is no environment and no context", async () => {
    const work: string[] = [];
    const server = serverWith({
      handler: {
        fetch: (_request, _env, ctx) => {
          ctx.waitUntil(Promise.resolve().then(() => void work.push("done")));
          return Response.json(ctx.auth.userId);
        },
      },
    });
    // As Deno and Bun find and call it.
    const { fetch: serve } = { ...server };
    const response = await serve(new Request(resource, bearer("good")));
    expect([await response.json(), work]).toEqual(["alice", ["done"]]);
  });

  it("may be a class with context and environment, like a WorkerEntrypoint", async () => {
    class Handler {
      readonly #auth: { readonly userId?: string | undefined };
      constructor(ctx: { readonly auth: { readonly userId?: string | undefined } }) {
        this.#auth = ctx.auth;
      }
      fetch(): Response {
        return Response.json(this.#auth.userId);
      }
    }
    expect(await (await send(serverWith({ handler: Handler }), resource, bearer("good"))).json()).toBe("alice");
  });

  it("RFC 6750 §3.1: insufficientScope names every scope of the operation, also for an auth of Cloudflare's library", async () => {
    const response = insufficientScope({ audience: resource }, ["read", "write", "write"], 'To "write" é notes');
    expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
      403,
      `Bearer error="insufficient_scope", error_description="To write   notes", scope="read write", resource_metadata="${metadataUrl}"`,
    ]);
    expect(() => insufficientScope({ audience: resource }, [])).toThrow(TypeError);
    expect(() => insufficientScope({ audience: resource }, ['a"'])).toThrow(TypeError);
  });

  it("RFC 9470 §3: insufficientUserAuthentication is 401 with acr_values and max_age", () => {
    const auth = { audience: resource, scheme: "DPoP" } as const;
    const response = insufficientUserAuthentication(auth, { acrValues: ["phr", "pwd"], maxAgeSeconds: 60 });
    expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
      401,
      `DPoP error="insufficient_user_authentication", error_description="The user must authenticate again.", resource_metadata="${metadataUrl}", acr_values="phr pwd", max_age="60"`,
    ]);
  });

  it.each([
    [{ acr: "phr", auth_time: 1_000 }, {}, true],
    [{ acr: "phr", auth_time: 1_000 }, { acrValues: ["phr"], maxAgeSeconds: 100 }, true],
    [{ acr: "pwd", auth_time: 1_000 }, { acrValues: ["phr"] }, false],
    [{ auth_time: 1_000 }, { acrValues: ["phr"] }, false],
    [{ auth_time: 999 }, { maxAgeSeconds: 100 }, false],
    [{}, { maxAgeSeconds: 100 }, false],
  ])("RFC 9470 §4: %o meets %o: %s", (claims, requirement, expected) => {
    expect(meetsAuthentication(claims, requirement, 1_100)).toBe(expected);
  });
});

it("a resource server with local validation, in three lines", async () => {
  const op = new FakeIssuer();
  await op.rotate("1");
  const validate = jwtValidator({ issuer, fetch: op.fetch });
  const server = serverWith({ validateToken: () => validate });
  expect((await send(server, resource, bearer(await op.issue()))).status).toBe(200);
  expect((await send(server, resource, bearer(await op.issue({ aud: "https://other.example" })))).status).toBe(401);
});
