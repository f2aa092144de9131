import { createExecutionContext } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { accessTokenHash, DpopKey } from "../../../test/fixtures/dpop-key.ts";
import type { DpopOptions } from "../src/dpop-proof.ts";
import { macNonces } from "../src/proof-nonces.ts";
import { OAuthResourceServer } from "../src/resource-server.ts";
import type { Confirmation, TokenClaims } from "../src/token-validation.ts";
import { isolateUsedProofs } from "../src/used-proofs.ts";
import { issuer, resource } from "./fixtures/issuer.ts";

let key: DpopKey;
beforeEach(async () => {
  key = await DpopKey.generate();
});
afterEach(() => void vi.useRealTimers());

/** A proof of `key` for the token; `undefined` drops a claim. */
async function prove(uri: string, claims = {}, header = {}, by = key): Promise<string> {
  return by.proof("GET", uri, { ath: await accessTokenHash("token"), ...claims }, header);
}

function serverFor(cnf: Confirmation | undefined, dpop: DpopOptions = {}, requiresBoundTokens = false) {
  return new OAuthResourceServer<unknown>({
    resourceMetadata: { resource, authorization_servers: [issuer] },
    requiresBoundTokens,
    dpop,
    validateToken: () => (audience, _token, options) => {
      expect(options).toEqual({ checksConfirmation: true });
      const props: TokenClaims = { sub: "alice" };
      return Promise.resolve({ props, audience, scope: [], ...(cnf === undefined ? {} : { cnf }) });
    },
    handler: { fetch: (_, __, { auth }) => Response.json(auth.cnf ?? {}) },
  });
}

interface Sent {
  readonly scheme?: string;
  readonly proof?: string;
  readonly method?: string;
  readonly url?: string;
  readonly cf?: CfProperties;
}

async function send(server: OAuthResourceServer<unknown>, sent: Sent): Promise<[number, string | undefined, Response]> {
  const { scheme = "DPoP", proof, method = "GET", url = resource, cf } = sent;
  const headers = { Authorization: `${scheme} token`, ...(proof === undefined ? {} : { DPoP: proof }) };
  const request = new Request(url, { method, headers, ...(cf === undefined ? {} : { cf }) });
  const response = await server.fetch(request, {}, createExecutionContext());
  return [response.status, /error="(\w+)"/.exec(response.headers.get("WWW-Authenticate") ?? "")?.[1], response];
}

describe("RFC 9449 §7.1 DPoP-bound tokens", () => {
  it("a proof of the token's key is accepted, regardless of the query and the spelling of the path", async () => {
    const server = serverFor({ jkt: key.thumbprint });
    const [status, , response] = await send(server, { proof: await prove(resource) });
    expect([status, await response.json()]).toEqual([200, { jkt: key.thumbprint }]);
    const queried = await send(server, {
      url: `${resource}/a~b?c=d`,
      proof: await prove(`${resource}/a%7Eb`),
    });
    expect(queried[0]).toBe(200);
    const proxied = await send(server, { url: "http://internal/mcp", proof: await prove(resource) });
    expect(proxied[0]).toBe(200);
  });

  const now = () => Math.floor(Date.now() / 1000);
  it.each([
    ["of another method", () => ({ htm: "POST" })],
    ["of another path", () => ({ htu: `${resource}/other` })],
    ["of another host", () => ({ htu: "https://evil.example/mcp" })],
    ["of a URI with backslashes", () => ({ htu: resource.replaceAll("/", "\\") })],
    ["of another token", () => ({ ath: "another" })],
    ["without the token's hash", () => ({ ath: undefined })],
    ["that is older than five minutes", () => ({ iat: now() - 302 })],
    ["from more than five minutes ahead", () => ({ iat: now() + 302 })],
    ["without time", () => ({ iat: undefined })],
    ["without id", () => ({ jti: "" })],
    ["with an id of 600 characters", () => ({ jti: "x".repeat(600) })],
  ])("RFC 9449 §4.3: a proof %s is refused with 401 and a DPoP challenge", async (_, claims) => {
    const proof = await prove(resource, claims());
    const [status, error, response] = await send(serverFor({ jkt: key.thumbprint }), { proof });
    expect([status, error]).toEqual([401, "invalid_dpop_proof"]);
    expect(response.headers.get("WWW-Authenticate")).toMatch(/^DPoP .*algs="ES256 EdDSA Ed25519 PS256 RS256"$/);
  });

  it("§11.1, MCP's DPoP profile: five minutes before and after the server's time are accepted", async () => {
    for (const iat of [now() - 298, now() + 298]) {
      const proof = await prove(resource, { iat });
      expect((await send(serverFor({ jkt: key.thumbprint }), { proof }))[0]).toBe(200);
    }
  });

  it("§4.3: another key, another type, a private key in the header, two proofs, none and garbage are refused", async () => {
    const other = await DpopKey.generate();
    const good = await prove(resource);
    const proofs = [
      await prove(resource, {}, {}, other),
      await prove(resource, {}, { typ: "JWT" }),
      await prove(resource, {}, { jwk: await key.exportPrivate() }),
      await prove(resource, {}, { jwk: undefined }),
      await prove(resource, {}, { jwk: { kty: "EC", crv: "P-256", x: "a", y: "b" } }),
      `${good}, ${good}`,
      "garbage",
      "x".repeat(9_000),
      undefined,
    ];
    for (const proof of proofs) {
      const sent = proof === undefined ? {} : { proof };
      const result = await send(serverFor({ jkt: key.thumbprint }), sent);
      expect(result.slice(0, 2), proof?.slice(0, 40)).toEqual([401, "invalid_dpop_proof"]);
    }
  });

  it("§7.2: a bound token as a bearer token, and an unbound one with the DPoP scheme, are refused", async () => {
    const proof = await prove(resource);
    expect((await send(serverFor({ jkt: key.thumbprint }), { scheme: "Bearer", proof })).slice(0, 2)).toEqual([
      401,
      "invalid_token",
    ]);
    expect((await send(serverFor(undefined), { proof })).slice(0, 2)).toEqual([401, "invalid_token"]);
  });

  it("a resource that requires bound tokens refuses others, and challenges with DPoP alone", async () => {
    const server = serverFor(undefined, {}, true);
    expect((await send(server, { scheme: "Bearer" })).slice(0, 2)).toEqual([401, "invalid_token"]);
    const none = await server.fetch(new Request(resource), {}, createExecutionContext());
    expect(none.headers.get("WWW-Authenticate")).toMatch(/^DPoP resource_metadata=/);
    expect(none.headers.get("WWW-Authenticate")).not.toContain("Bearer");
  });

  it("§11.1: with a store of used proofs a proof is accepted once; the oldest one leaves a full memory", async () => {
    const server = serverFor({ jkt: key.thumbprint }, { usedProofs: isolateUsedProofs(2) });
    const proofs = await Promise.all([1, 2, 3].map((jti) => prove(resource, { jti: String(jti) })));
    const statuses = [];
    for (const proof of [proofs[0], proofs[0], proofs[1], proofs[2], proofs[2], proofs[0]]) {
      statuses.push((await send(server, { proof: proof! }))[0]);
    }
    expect(statuses).toEqual([200, 401, 200, 200, 401, 200]);
  });

  it("§11.1: a proof that a refused request contained may be used again", async () => {
    const server = serverFor({ jkt: key.thumbprint }, { usedProofs: isolateUsedProofs() });
    const proof = await prove(resource);
    expect((await send(server, { proof, method: "POST" }))[0]).toBe(401);
    expect((await send(server, { proof }))[0]).toBe(200);
  });

  it("§9: a server with nonces refuses a proof without one, issues one, and accepts it for two periods", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const server = serverFor({ jkt: key.thumbprint }, { nonces: macNonces("a secret of at least 32 characters", 60) });
    const [status, error, response] = await send(server, { proof: await prove(resource) });
    const nonce = response.headers.get("DPoP-Nonce");
    expect([status, error, typeof nonce]).toEqual([401, "use_dpop_nonce", "string"]);
    expect((await send(server, { proof: await prove(resource, { nonce }) }))[0]).toBe(200);
    expect((await send(server, { proof: await prove(resource, { nonce: "another" }) }))[1]).toBe("use_dpop_nonce");
    vi.setSystemTime(Date.now() + 60_000);
    expect((await send(server, { proof: await prove(resource, { nonce }) }))[0]).toBe(200);
    vi.setSystemTime(Date.now() + 60_000);
    expect((await send(server, { proof: await prove(resource, { nonce }) }))[1]).toBe("use_dpop_nonce");
    expect(() => macNonces("short")).toThrow(TypeError);
  });

  it("a failing store is 503", async () => {
    const usedProofs = { spend: () => Promise.reject(new Error("unreachable")) };
    const proof = await prove(resource);
    expect((await send(serverFor({ jkt: key.thumbprint }, { usedProofs }), { proof }))[0]).toBe(503);
  });
});

describe("RFC 7800 §3.1: a confirmation that cannot be proven", () => {
  it.each(["{}", '{"jwk":{}}', '{"jkt":""}', '{"jkt":"a","x5t#S256":"b"}', '{"x5t#S256":null}'])(
    "%s from an application's own validator is refused by both schemes",
    async (text) => {
      const cnf = JSON.parse(text) as Confirmation;
      const proof = await prove(resource);
      expect((await send(serverFor(cnf), { scheme: "Bearer" })).slice(0, 2)).toEqual([401, "invalid_token"]);
      expect((await send(serverFor(cnf), { proof })).slice(0, 2)).toEqual([401, "invalid_token"]);
    },
  );
});

describe("RFC 8705 §3 certificate-bound tokens", () => {
  const fingerprint = "ab".repeat(32);
  const thumbprint = "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s";
  const cf = { tlsClientAuth: { certPresented: "1", certFingerprintSHA256: fingerprint } };

  it("the certificate of the connection is accepted, with the Bearer scheme", async () => {
    expect((await send(serverFor({ "x5t#S256": thumbprint }), { scheme: "Bearer", cf }))[0]).toBe(200);
    expect((await send(serverFor({ "x5t#S256": thumbprint }), { scheme: "DPoP", cf }))[0]).toBe(401);
  });

  it.each([
    ["another certificate", { tlsClientAuth: { ...cf.tlsClientAuth, certFingerprintSHA256: "cd".repeat(32) } }],
    ["no certificate", { tlsClientAuth: { certPresented: "0", certFingerprintSHA256: "" } }],
    ["a fingerprint of no certificate", { tlsClientAuth: { certPresented: "0", certFingerprintSHA256: fingerprint } }],
    ["a revoked certificate", { tlsClientAuth: { ...cf.tlsClientAuth, certRevoked: "1" } }],
    ["no TLS client authentication", {}],
  ])("%s is refused", async (_, given) => {
    const [status, error] = await send(serverFor({ "x5t#S256": thumbprint }), { scheme: "Bearer", cf: given });
    expect([status, error]).toEqual([401, "invalid_token"]);
  });
});
