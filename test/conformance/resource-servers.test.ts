import { beforeAll, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { introspectionValidator } from "../../packages/resource-server/src/validate-by-introspection.ts";
import { jwtValidator } from "../../packages/resource-server/src/validate-jwt.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { accessToken, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** Resource servers beside the running provider: the examples, and one on Cloudflare's library. */
const { api, mcp, cloudflare } = provider.resources as Record<"api" | "mcp" | "cloudflare", string>;
const notes = `${api}notes`;
const scopes = "notes:read notes:write";

let client: TestClient;
beforeAll(async () => {
  client = await fixtures.client({ scope: scopes, audiences: [api, mcp, cloudflare] });
});

function tokenFor(resource: string, scope = scopes): Promise<string> {
  return fixtures.clientToken(client, { resource, scope });
}

async function send(url: string, token: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
}

async function revoke(token: string): Promise<void> {
  const { status } = await postForm(`${provider.origin}/revoke`, { token }, { authorization: client.authorization });
  expect(status).toBe(200);
}

describe("examples/api: a Hono API over the Service Binding", () => {
  test("RFC 9728 §3: its metadata names the provider", async () => {
    const response = await fetch(new URL("/.well-known/oauth-protected-resource", api));
    expect(await response.json()).toMatchObject({
      resource: api,
      authorization_servers: [provider.issuer],
      scopes_supported: ["notes:read", "notes:write"],
    });
  });

  test("accepts a token for it and refuses others: none, for another resource, malformed", async () => {
    const accepted = await send(notes, await tokenFor(api));
    expect([accepted.status, await accepted.json()]).toEqual([200, { notes: [], user: client.client_id }]);
    const unauthenticated = await fetch(notes);
    expect(unauthenticated.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource");
    const others = [await tokenFor(mcp), "garbage"];
    for (const token of others) expect((await send(notes, token)).status).toBe(401);
  });

  test("RFC 6750 §3.1: a token with insufficient scope is 403 with all required scopes", async () => {
    const response = await send(notes, await tokenFor(api, "notes:read"), { method: "POST" });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="notes:read notes:write"');
    expect((await send(notes, await tokenFor(api), { method: "POST" })).status).toBe(201);
  });

  test("RFC 9470 §3: an operation that needs a recent sign-in is 401 with max_age", async () => {
    const response = await send(notes, await tokenFor(api), { method: "DELETE" });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([
      401,
      expect.stringMatching(/^Bearer error="insufficient_user_authentication".*, max_age="300"$/),
    ]);
  });

  test("RFC 7009 §2: an accepted token is refused once it is revoked", async () => {
    const token = await tokenFor(api);
    expect((await send(notes, token)).status).toBe(200);
    await revoke(token);
    expect((await send(notes, token)).status).toBe(401);
  });

  test("RFC 9449 §7.1: a bound token is accepted only with a proof of its key", async () => {
    const key = await DpopKey.generate();
    const proof = await key.proof("POST", `${provider.issuer}/token`);
    const token = accessToken(
      await postForm(
        `${provider.origin}/token`,
        { grant_type: "client_credentials", resource: api, scope: "notes:read" },
        { authorization: client.authorization, DPoP: proof },
      ),
    );
    const resourceProof = await key.proof("GET", notes, { ath: await accessTokenHash(token) });
    const proven = { authorization: `DPoP ${token}`, DPoP: resourceProof };
    expect((await fetch(notes, { headers: proven })).status).toBe(200);
    expect((await fetch(notes, { headers: { authorization: `DPoP ${token}` } })).status).toBe(401);
    expect((await send(notes, token)).status).toBe(401);
    expect((await send(cloudflare, token)).status).toBe(401);
  });
});

describe("ADR 49: Cloudflare's OAuthResourceServer over the Service Binding", () => {
  test("accepts a token for its resource with scope, user and client, and refuses it once it is revoked", async () => {
    const token = await tokenFor(cloudflare);
    const response = await send(cloudflare, token);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      {
        audience: cloudflare,
        scope: ["notes:read", "notes:write"],
        clientId: client.client_id,
        props: { iss: provider.issuer, client_id: client.client_id },
      },
    ]);
    expect((await send(cloudflare, await tokenFor(mcp))).status).toBe(401);
    await revoke(token);
    expect((await send(cloudflare, token)).status).toBe(401);
  });

  test("refuses a bound token, because it does not check the key", async () => {
    const key = await DpopKey.generate();
    const proof = await key.proof("POST", `${provider.issuer}/token`);
    const token = accessToken(
      await postForm(
        `${provider.origin}/token`,
        { grant_type: "client_credentials", resource: cloudflare },
        { authorization: client.authorization, DPoP: proof },
      ),
    );
    expect((await send(cloudflare, token)).status).toBe(401);
  });
});

describe("the library outside of Workers", () => {
  test("validates JWTs with the provider's published keys, until they expire", async () => {
    const validate = jwtValidator({ issuer: provider.issuer });
    const token = await tokenFor(api);
    expect(await validate(api, token)).toMatchObject({ audience: api, clientId: client.client_id });
    expect(await validate(mcp, token)).toBeNull();
    await revoke(token);
    expect(await validate(api, token)).not.toBeNull();
  });

  test("validates at /introspect, where a revocation is in force at once", async () => {
    const caller = await fixtures.client({ introspection: { audiences: [api] } });
    const validate = introspectionValidator({
      endpoint: `${provider.origin}/introspect`,
      clientId: caller.client_id,
      clientSecret: caller.client_secret,
      issuer: provider.issuer,
    });
    const token = await tokenFor(api);
    expect(await validate(api, token)).toMatchObject({ audience: api, scope: ["notes:read", "notes:write"] });
    await revoke(token);
    expect(await validate(api, token)).toBeNull();
    const wrong = introspectionValidator({
      endpoint: `${provider.origin}/introspect`,
      clientId: "a",
      clientSecret: "b",
    });
    await expect(wrong(api, token)).rejects.toThrow("status 401");
  });
});
