import { createExecutionContext } from "cloudflare:test";
import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Client, ClientMetadata } from "../../src/clients/client.ts";
import { ClientKeys } from "../../src/clients/client-keys.ts";
import { isolateMemory } from "../../src/config/limits.ts";
import { createRequestContext } from "../../src/http/request-context.ts";

const uri = "https://client.example.com/jwks";
const start = Date.parse("2026-11-21T00:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

interface Pair {
  readonly alg: SigningAlgorithm;
  readonly jwk: JsonWebKey & { kid?: string };
  readonly privateKey: CryptoKey;
}

async function pair(alg: SigningAlgorithm, kid?: string): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    alg,
    jwk: { ...((await exportJWK(publicKey)) as JsonWebKey), ...(kid === undefined ? {} : { kid }) },
    privateKey,
  };
}

const claims = { iss: "client", sub: "client" };

function sign({ alg, privateKey, jwk }: Pair, header: Record<string, unknown> = {}): Promise<string> {
  return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg, ...(jwk.kid === undefined ? {} : { kid: jwk.kid }), ...header })
    .sign(privateKey);
}

function client(metadata: Partial<ClientMetadata>): Client {
  return {
    clientId: "client",
    status: "active",
    secrets: [],
    createdAtMs: 0,
    cutOffs: [],
    metadata: {
      token_endpoint_auth_method: "private_key_jwt",
      grant_types: [],
      response_types: [],
      redirect_uris: [],
      scope: "",
      audiences: [],
      ...metadata,
    },
  };
}

function context() {
  return createRequestContext(
    new Request("https://op.example.com/token"),
    { ISSUER: "https://op.example.com" },
    createExecutionContext(),
  );
}

function network(response: () => Response | Promise<Response>) {
  const spy = vi.fn(() => Promise.resolve(response()));
  vi.stubGlobal("fetch", spy);
  return spy;
}

const serve =
  (...pairs: readonly Pair[]) =>
  () =>
    Response.json({ keys: pairs.map(({ jwk }) => jwk) });
const verify = (keys: ClientKeys, whose: Client, token: string, rules = {}) =>
  keys.verify(context(), whose, token, { algorithms: undefined, ...rules });

describe("registered keys", () => {
  it.each(["ES256", "RS256", "EdDSA"] as const)(
    "what the client signed with %s verifies, by kid or without one",
    async (alg) => {
      for (const key of [await pair(alg, "a"), await pair(alg)]) {
        const whose = client({ jwks: { keys: [(await pair(alg, "other")).jwk, key.jwk] } });
        const verified = await verify(new ClientKeys(), whose, await sign(key));
        expect(verified).toEqual({ header: { alg, kid: key.jwk.kid, typ: undefined }, claims });
      }
    },
  );

  it("RFC 8725 §3.1: an algorithm other than the registered one is refused, including HS256 keyed with the public key", async () => {
    const key = await pair("ES256", "a");
    const whose = client({ jwks: { keys: [key.jwk] } });
    const token = await sign(key);
    expect(await verify(new ClientKeys(), whose, token, { algorithms: ["ES256"] })).toBeDefined();
    expect(await verify(new ClientKeys(), whose, token, { algorithms: ["RS256"] })).toBeUndefined();
    expect(await verify(new ClientKeys(), whose, token, { algorithms: [] })).toBeUndefined();
    const secret = new TextEncoder().encode(JSON.stringify(key.jwk));
    const forged = await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "HS256", kid: "a" })
      .sign(secret);
    expect(await verify(new ClientKeys(), whose, forged)).toBeUndefined();
  });

  it("RFC 8725 §3.10: a foreign key is refused, whatever the header contains", async () => {
    const key = await pair("ES256", "a");
    const foreign = await pair("ES256", "a");
    const whose = client({ jwks: { keys: [key.jwk] } });
    expect(await verify(new ClientKeys(), whose, await sign(foreign))).toBeUndefined();
    expect(await verify(new ClientKeys(), whose, await sign(foreign, { jwk: foreign.jwk }))).toBeUndefined();
    expect(await verify(new ClientKeys(), whose, await sign(key, { kid: "b" }))).toBeUndefined();
  });

  it("RFC 7517 §4: a key for another use, or no key at all, verifies nothing and breaks nothing", async () => {
    const key = await pair("ES256", "a");
    const token = await sign(key);
    const odd = [
      { use: "enc" },
      { alg: "ES384" },
      { key_ops: ["sign"] },
      { kty: "oct", k: "AAAA" },
      { x: "AAAA" },
      { crv: "P-384" },
      { d: "AAAA" },
      { kid: "b" },
    ];
    for (const change of odd) {
      const whose = client({ jwks: { keys: [{ ...key.jwk, ...change } as JsonWebKey] } });
      expect(await verify(new ClientKeys(), whose, token), JSON.stringify(change)).toBeUndefined();
    }
    expect(await verify(new ClientKeys(), client({}), token)).toBeUndefined();
  });

  it("RFC 8725 §3.11: a given type must be one of the expected ones", async () => {
    const key = await pair("ES256", "a");
    const whose = client({ jwks: { keys: [key.jwk] } });
    const rules = { typ: ["JWT", "oauth-authz-req+jwt"] };
    expect(await verify(new ClientKeys(), whose, await sign(key), rules)).toBeDefined();
    expect(await verify(new ClientKeys(), whose, await sign(key, { typ: "oauth-authz-req+jwt" }), rules)).toBeDefined();
    expect(await verify(new ClientKeys(), whose, await sign(key, { typ: "at+jwt" }), rules)).toBeUndefined();
  });
});

describe("jwks_uri", () => {
  it("is fetched once in five minutes", async () => {
    const key = await pair("ES256", "a");
    const spy = network(serve(key));
    const keys = new ClientKeys();
    const token = await sign(key);
    for (let index = 0; index < 3; index += 1)
      expect(await verify(keys, client({ jwks_uri: uri }), token)).toBeDefined();
    expect(spy).toHaveBeenCalledTimes(1);
    vi.setSystemTime(start + 300_000);
    expect(await verify(keys, client({ jwks_uri: uri }), token)).toBeDefined();
    expect(spy).toHaveBeenCalledTimes(2);
  });

  it("60 concurrent requests on a cold isolate share one fetch, including forged ones", async () => {
    const [key, foreign] = [await pair("ES256", "a"), await pair("ES256", "a")];
    const spy = network(serve(key));
    const keys = new ClientKeys();
    const whose = client({ jwks_uri: uri });
    const tokens = await Promise.all(Array.from({ length: 60 }, (_, index) => sign(index % 2 === 0 ? key : foreign)));
    const verified = await Promise.all(tokens.map((token) => verify(keys, whose, token)));
    expect(verified.map((result) => result !== undefined)).toEqual(tokens.map((_, index) => index % 2 === 0));
    expect(spy).toHaveBeenCalledTimes(1);
  });

  it("concurrent requests signed by a new key share the fetch that finds it", async () => {
    const [old, next] = [await pair("ES256", "old"), await pair("ES256", "new")];
    const keys = new ClientKeys();
    const whose = client({ jwks_uri: uri });
    network(serve(old));
    expect(await verify(keys, whose, await sign(old))).toBeDefined();
    const rotated = network(serve(old, next));
    const token = await sign(next);
    const verified = await Promise.all(Array.from({ length: 20 }, () => verify(keys, whose, token)));
    expect(verified.filter((result) => result === undefined)).toEqual([]);
    expect(rotated).toHaveBeenCalledTimes(1);
  });

  it("a failing server is called once for all waiting requests", async () => {
    const key = await pair("ES256", "a");
    const spy = network(() => new Response("", { status: 500 }));
    const keys = new ClientKeys();
    const token = await sign(key);
    const whose = client({ jwks_uri: uri });
    const verified = await Promise.all(Array.from({ length: 20 }, () => verify(keys, whose, token)));
    expect(verified).toEqual(verified.map(() => undefined));
    expect(spy).toHaveBeenCalledTimes(1);
  });

  it("an unknown kid fetches again, at most once a minute, and finds the client's new key", async () => {
    const [old, next] = [await pair("ES256", "old"), await pair("ES256", "new")];
    const keys = new ClientKeys();
    const whose = client({ jwks_uri: uri });
    network(serve(old));
    expect(await verify(keys, whose, await sign(old))).toBeDefined();
    const rotated = network(serve(old, next));
    expect(await verify(keys, whose, await sign(next))).toBeDefined();
    for (let index = 0; index < 100; index += 1)
      expect(await verify(keys, whose, await sign(old, { kid: `k${index}` }))).toBeUndefined();
    expect(rotated).toHaveBeenCalledTimes(1);
    vi.setSystemTime(start + 60_000);
    expect(await verify(keys, whose, await sign(old, { kid: "k" }))).toBeUndefined();
    expect(rotated).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["is away", () => Promise.reject(new TypeError("refused"))],
    ["answers 404", () => new Response("", { status: 404 })],
    ["redirects", () => new Response(null, { status: 302, headers: { location: "https://other.example" } })],
    ["answers no JSON", () => new Response("<html>", { headers: { "content-type": "application/json" } })],
    ["answers a page", () => new Response('{"keys":[]}', { headers: { "content-type": "text/html" } })],
    ["answers no key set", () => Response.json({ keys: "none" })],
  ])(
    "a server that %s: nothing verifies, nothing breaks, and it is called once in ten seconds",
    async (_, response) => {
      const key = await pair("ES256", "a");
      const spy = network(response);
      const keys = new ClientKeys();
      const token = await sign(key);
      for (const seconds of [0, 5, 9]) {
        vi.setSystemTime(start + seconds * 1_000);
        expect(await verify(keys, client({ jwks_uri: uri }), token)).toBeUndefined();
      }
      network(serve(key));
      vi.setSystemTime(start + 10_000);
      expect(await verify(keys, client({ jwks_uri: uri }), token)).toBeDefined();
      expect(spy).toHaveBeenCalledTimes(1);
    },
  );

  it("a set with invalid members verifies with its valid keys", async () => {
    const key = await pair("ES256", "a");
    network(() => Response.json({ keys: [null, 1, "a", [], {}, key.jwk] }));
    expect(await verify(new ClientKeys(), client({ jwks_uri: uri }), await sign(key))).toBeDefined();
  });

  it("a server that fails while its keys are cached: they stay in use", async () => {
    const key = await pair("ES256", "a");
    const keys = new ClientKeys();
    const whose = client({ jwks_uri: uri });
    network(serve(key));
    const token = await sign(key);
    expect(await verify(keys, whose, token)).toBeDefined();
    network(() => new Response("", { status: 500 }));
    expect(await verify(keys, whose, await sign(key, { kid: "b" }))).toBeUndefined();
    expect(await verify(keys, whose, token)).toBeDefined();
  });

  it("a malformed token, or one with a foreign algorithm, fetches nothing", async () => {
    const key = await pair("ES256", "a");
    const spy = network(serve(key));
    const token = await sign(key);
    const whose = client({ jwks_uri: uri });
    expect(await verify(new ClientKeys(), whose, `${token}=`)).toBeUndefined();
    expect(await verify(new ClientKeys(), whose, token, { algorithms: ["RS256"] })).toBeUndefined();
    expect(spy).not.toHaveBeenCalled();
  });
});

describe("key sets are bounded by bytes", () => {
  it("64 KiB of nested arrays and unknown members do not take megabytes, and the key next to them verifies", async () => {
    const key = await pair("ES256", "a");
    const nested = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
    const members = Array.from({ length: 1_000 }, (_, index) => `"member${index}":${index}`).join(",");
    const body = `{"keys":[{"kty":"EC","x5c":${nested},${members}},${nested},${JSON.stringify(key.jwk)}]}`;
    expect(body.length).toBeLessThan(64 * 1024);
    network(() => new Response(body, { headers: { "content-type": "application/jwk-set+json" } }));
    const keys = new ClientKeys();
    expect(await verify(keys, client({ jwks_uri: uri }), await sign(key))).toBeDefined();
    expect(keys.heldBytes).toBeLessThan(10_000);
  });

  it("the set with the most keys that fit into a response is cached", async () => {
    const key = await pair("ES256", "a");
    const many = Array.from({ length: 900 }, () => ({ kty: "EC", x: "x".repeat(43) }));
    const calls = network(() => Response.json({ keys: [...many, key.jwk] }));
    const keys = new ClientKeys();
    for (let use = 0; use < 3; use += 1) {
      expect(await verify(keys, client({ jwks_uri: uri }), await sign(key))).toBeDefined();
    }
    expect(calls).toHaveBeenCalledTimes(1);
    expect(keys.heldBytes).toBeLessThanOrEqual(isolateMemory.clientKeySets);
  });
});
