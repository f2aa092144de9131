import { beforeAll, describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { forgeries } from "./fixtures/forgeries.ts";
import { claimsOf, headerOf, type KeyedClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const url = `${provider.origin}/userinfo`;
const claims = {
  name: "Carol Clark",
  given_name: "Carol",
  family_name: "Clark",
  locale: "fr-FR",
  email: "carol@example.com",
  email_verified: true,
  phone_number: "+1 555 0100",
  phone_number_verified: false,
  address: { locality: "Lyon", country: "France" },
};

let asserter: KeyedClient;
let user: string;

beforeAll(async () => {
  asserter = await fixtures.asserter();
  user = await fixtures.user({ claims });
});

async function read(scope: string): Promise<Record<string, unknown>> {
  const response = await readResponse(await fixtures.userinfo(await fixtures.userToken(asserter, user, { scope })));
  expect(response.status).toBe(200);
  return response.body;
}

describe("OIDC Core §5.3: UserInfo", () => {
  test("§5.4: each scope returns exactly its claims", async () => {
    expect(await read("openid")).toEqual({ sub: user });
    expect(await read("openid email")).toEqual({ sub: user, email: claims.email, email_verified: true });
    expect(await read("openid phone")).toEqual({
      sub: user,
      phone_number: claims.phone_number,
      phone_number_verified: false,
    });
    expect(await read("openid address")).toEqual({ sub: user, address: claims.address });
    const profile = await read("openid profile");
    expect(profile).toMatchObject({ name: "Carol Clark", locale: "fr-FR", updated_at: expect.any(Number) });
    expect(profile).not.toHaveProperty("email");
  });

  test("§5.3.1: GET and POST, by header and by form", async () => {
    const token = await fixtures.userToken(asserter, user);
    const byForm = await fetch(url, { method: "POST", body: new URLSearchParams({ access_token: token }) });
    const byPost = await fixtures.userinfo(token, { method: "POST" });
    const byGet = await fixtures.userinfo(token);
    for (const response of [byForm, byPost, byGet]) {
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ sub: user });
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
  });

  test("RFC 6750 §2.1: a POST with the token in the header may have a body of any other type, which is not read", async () => {
    const token = await fixtures.userToken(asserter, user);
    const authorization = `Bearer ${token}`;
    for (const [type, body] of [
      ["application/json", "{}"],
      ["application/json", JSON.stringify({ access_token: token })],
      ["text/plain", "x"],
      ["application/x-www-form-urlencoded", "other=value"],
    ] as const) {
      const response = await fetch(url, { method: "POST", headers: { authorization, "content-type": type }, body });
      expect([response.status, await response.json()], type).toEqual([200, { sub: user }]);
    }
    const bodyAlone = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ access_token: token }),
    });
    expect(bodyAlone.status).toBe(401);
    expect(bodyAlone.headers.get("www-authenticate")).not.toContain("error=");
  });

  test("§5.3.2: a client registered for it gets a signed response, as JWT", async () => {
    const signer = await fixtures.asserter({ userinfo_signed_response_alg: "ES256" });
    const response = await fixtures.userinfo(await fixtures.userToken(signer, user));
    expect(response.headers.get("content-type")).toBe("application/jwt");
    const jwt = await response.text();
    expect(headerOf(jwt)).toMatchObject({ alg: "ES256" });
    expect(claimsOf(jwt)).toMatchObject({ iss: provider.issuer, aud: signer.client_id, sub: user });
  });

  test("a change through the admin API is in the next response", async () => {
    const changing = await fixtures.user({ claims: { name: "Before" } });
    const token = await fixtures.userToken(asserter, changing, { scope: "openid profile" });
    expect(await (await fixtures.userinfo(token)).json()).toMatchObject({ name: "Before" });
    await fixtures.admin.require("PATCH", `/users/${changing}`, { claims: { name: "After" } });
    expect(await (await fixtures.userinfo(token)).json()).toMatchObject({ name: "After" });
  });
});

describe("RFC 6750: refusals", () => {
  test("§3.1: without a token it is a bare challenge", async () => {
    const response = await fetch(url);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
    expect(response.headers.get("www-authenticate")).not.toContain("error=");
  });

  test("§2: a token in the URL, or by two methods at once, is invalid_request", async () => {
    const token = await fixtures.userToken(asserter, user);
    const inUrl = await fetch(`${url}?access_token=${token}`);
    const body = new URLSearchParams({ access_token: token });
    const twice = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${token}` }, body });
    expect([inUrl.status, twice.status]).toEqual([400, 400]);
    expect(twice.headers.get("www-authenticate")).toContain('error="invalid_request"');
  });

  test("§3.1: every forgery is 401 invalid_token, with one text", async () => {
    const token = await fixtures.userToken(asserter, user);
    const jwks = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: JsonWebKey[] };
    for (const [what, forged] of await forgeries(token, jwks)) {
      const response = await fetch(url, { method: "POST", body: new URLSearchParams({ access_token: forged }) });
      expect(response.status, what).toBe(401);
      expect(response.headers.get("www-authenticate"), what).toContain('error="invalid_token"');
    }
  });

  test("§3.1: a token without openid is 403 insufficient_scope and names the required scope", async () => {
    const response = await fixtures.userinfo(await fixtures.userToken(asserter, user, { scope: "read" }));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="openid"');
  });

  test("§3.1: a revoked token is invalid_token, even without openid", async () => {
    const token = await fixtures.userToken(asserter, user, { scope: "read" });
    expect((await fixtures.userinfo(token)).status).toBe(403);
    expect((await fixtures.revoke(asserter, token)).status).toBe(200);
    const response = await fixtures.userinfo(token);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
  });

  test("a client's own token has no user and is refused", async () => {
    const service = await fixtures.client({ scope: "openid read", audiences: [provider.issuer] });
    const response = await fixtures.userinfo(await fixtures.clientToken(service, { scope: "openid" }));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
  });

  test("a suspended and a deleted user's token is 401 at once", async () => {
    for (const end of ["suspend", "delete"] as const) {
      const gone = await fixtures.user();
      const token = await fixtures.userToken(asserter, gone);
      expect((await fixtures.userinfo(token)).status).toBe(200);
      if (end === "suspend") await fixtures.admin.require("PATCH", `/users/${gone}`, { status: "suspended" });
      else await fixtures.admin.require("DELETE", `/users/${gone}`);
      const response = await fixtures.userinfo(token);
      expect(response.status, end).toBe(401);
      expect(response.headers.get("www-authenticate"), end).toContain('error="invalid_token"');
    }
  });

  test("CORS: a browser application of any origin may send requests and read the challenge", async () => {
    const preflight = await fetch(url, {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example.com",
        "access-control-request-method": "GET",
        "access-control-request-headers": "authorization",
      },
    });
    expect(preflight.status).toBeLessThan(300);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("authorization");
    const refused = await fetch(url, { headers: { authorization: "Bearer x", origin: "https://app.example.com" } });
    expect(refused.headers.get("access-control-allow-origin")).toBe("*");
    expect(refused.headers.get("access-control-expose-headers")).toContain("WWW-Authenticate");
  });
});
