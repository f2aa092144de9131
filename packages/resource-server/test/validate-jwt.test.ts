import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ProtectedResource } from "../src/protected-resource.ts";
import { jwtValidator } from "../src/validate-jwt.ts";
import { FakeIssuer, issuer, resource } from "./fixtures/issuer.ts";

let op: FakeIssuer;
beforeEach(async () => {
  op = new FakeIssuer();
  await op.rotate("1");
});
afterEach(() => void vi.useRealTimers());

const validator = (options: { readonly typ?: "JWT" } = {}) => jwtValidator({ issuer, fetch: op.fetch, ...options });

describe("RFC 9068 §4 validation of a JWT access token", () => {
  it("returns the claims of a valid token; keys are read once", async () => {
    const validate = validator();
    for (let use = 0; use < 3; use += 1) {
      const token = await op.issue({ aud: ["https://other.example", resource] });
      expect(await validate(resource, token)).toMatchObject({
        audience: resource,
        scope: ["read"],
        userId: "alice",
        clientId: "app",
        expiresAt: expect.any(Number),
        props: { iss: issuer, sub: "alice" },
      });
    }
    expect(op.requested).toEqual(["/.well-known/oauth-authorization-server", "/jwks"]);
  });

  it("RFC 3986 §6.2.3: an audience that is an origin is the same with and without its slash; a path is not", async () => {
    const token = await op.issue({ aud: "https://api.example.com/" });
    expect(await validator()("https://api.example.com", token)).not.toBeNull();
    expect(await validator()("https://api.example.com/mcp", token)).toBeNull();
    expect(await validator()(`${resource}/`, await op.issue())).toBeNull();
  });

  it.each([
    ["of another issuer", { iss: "https://other.example.com" }],
    ["for another audience", { aud: "https://other.example.com" }],
    ["without audience", { aud: undefined }],
    ["that has expired", { exp: Math.floor(Date.now() / 1000) - 60 }],
    ["without expiry", { exp: undefined }],
    ["that is not valid yet", { nbf: Math.floor(Date.now() / 1000) + 60 }],
    ["without client", { client_id: undefined }],
    ["without subject", { sub: undefined }],
  ])("a token %s is not valid", async (_, claims) => {
    expect(await validator()(resource, await op.issue(claims as Record<string, unknown>))).toBeNull();
  });

  it("RFC 7519 §4.1: the tolerance holds for exp as for nbf and iat, at the host too", async () => {
    const now = Math.floor(Date.now() / 1000);
    const validateToken = () => jwtValidator({ issuer, fetch: op.fetch, clockToleranceSeconds: 30 });
    const host = new ProtectedResource({
      resourceMetadata: { resource, authorization_servers: [issuer] },
      validateToken,
    });
    const accepts = async (claims: Record<string, unknown>) => {
      const headers = { authorization: `Bearer ${await op.issue(claims)}` };
      return (await host.authenticate(new Request(resource, { headers }))).ok;
    };
    expect(await accepts({ exp: now - 20 })).toBe(true);
    expect(await accepts({ nbf: now + 20, iat: now + 20 })).toBe(true);
    expect(await accepts({ exp: now - 40 })).toBe(false);
    expect(await accepts({ nbf: now + 40 })).toBe(false);
  });

  it("an ID token, and a JWT of no type, are not access tokens; application/at+jwt is", async () => {
    expect(await validator()(resource, await op.issue({}, { typ: "JWT" }))).toBeNull();
    expect(await validator()(resource, await op.issue({}, { typ: "application/at+jwt" }))).not.toBeNull();
  });

  it("RFC 8725 §3.12: with typ JWT, an ID token is not an access token; neither is one of the other type", async () => {
    const validate = validator({ typ: "JWT" });
    const typ = { typ: "JWT" };
    expect(await validate(resource, await op.issue({}, typ))).not.toBeNull();
    expect(await validate(resource, await op.issue({ client_id: undefined, azp: resource }, typ))).toBeNull();
    expect(await validate(resource, await op.issue())).toBeNull();
  });

  it("RFC 8725 §3.1: none, a symmetric algorithm and garbage are not valid", async () => {
    const live = await op.issue();
    const [, payload] = live.split(".");
    const none = `${btoa(JSON.stringify({ alg: "none", typ: "at+jwt" })).replaceAll("=", "")}.${payload}.`;
    const symmetric = await new SignJWT(JSON.parse(atob(payload!.replaceAll("-", "+").replaceAll("_", "/"))))
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: "1" })
      .sign(new TextEncoder().encode("a key that is as long as it has to be"));
    for (const token of [none, symmetric, `${live}A`, "garbage", "a.b.c", ""]) {
      expect(await validator()(resource, token), token.slice(0, 30)).toBeNull();
    }
    const strict = jwtValidator({ issuer, fetch: op.fetch, algorithms: ["RS256"] });
    expect(await strict(resource, live)).toBeNull();
  });

  it("a bound token is valid only for a caller that checks the key, and an unknown cnf for nobody", async () => {
    const bound = await op.issue({ cnf: { jkt: "thumbprint" } });
    expect(await validator()(resource, bound)).toBeNull();
    expect(await validator()(resource, bound, { checksConfirmation: true })).toMatchObject({
      cnf: { jkt: "thumbprint" },
    });
    for (const cnf of [{ kid: "1" }, {}, { jkt: 1 }, { jkt: "a", "x5t#S256": "b" }, "jkt"]) {
      const token = await op.issue({ cnf });
      expect(await validator()(resource, token, { checksConfirmation: true }), JSON.stringify(cnf)).toBeNull();
    }
  });
});

describe("keys", () => {
  it("a new key is read when a token names it; an unknown one costs at most one request every 30 s", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const validate = validator();
    await validate(resource, await op.issue());
    await op.rotate("2");
    const next = await op.issue();
    expect(await validate(resource, next), "within 30 s of the last read").toBeNull();
    vi.setSystemTime(Date.now() + 31_000);
    expect(await validate(resource, next)).not.toBeNull();
    const before = op.requested.length;
    const foreign = new FakeIssuer();
    await foreign.rotate("unknown");
    for (let use = 0; use < 5; use += 1) expect(await validate(resource, await foreign.issue())).toBeNull();
    expect(op.requested.length).toBe(before);
  });

  it("unreadable keys are an error, and are read again at the next request", async () => {
    const validate = validator();
    const token = await op.issue();
    op.isReachable = false;
    await expect(validate(resource, token)).rejects.toThrow("network");
    op.isReachable = true;
    expect(await validate(resource, token)).not.toBeNull();
  });

  it("RFC 8414 §3.3: metadata of another issuer is an error; for an issuer with a path it is after the well-known path", async () => {
    const other = jwtValidator({ issuer: "https://other.example.com", fetch: op.fetch });
    await expect(other(resource, await op.issue())).rejects.toThrow("another issuer");
    const withPath = jwtValidator({ issuer: `${issuer}/tenant`, fetch: op.fetch });
    await expect(withPath(resource, await op.issue())).rejects.toThrow("another issuer");
    expect(op.requested.at(-1)).toBe("/.well-known/oauth-authorization-server/tenant");
  });
});
