import { beforeEach, describe, expect, it, vi } from "vitest";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { basicHeader, call } from "../../../test/fixtures/call.ts";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { createTokenFixtures, errorOf, type TokenFixtures, tokenEnv } from "./fixtures/token-fixtures.ts";

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const grant = { grant_type: "client_credentials" };

let fixtures: TokenFixtures;
let basic: SeededClient;
beforeEach(async () => {
  fixtures = await createTokenFixtures();
  basic = await seedClient(tokenEnv, "basic");
});

describe("RFC 6749 §2.3 client authentication", () => {
  it("§5.2: a wrong secret sent by Basic is challenged with Basic", async () => {
    const response = await fixtures.post(grant, { clientId: "basic", clientSecret: "wrong" });
    expect(response.headers.get("www-authenticate")).toBe('Basic realm="oauth"');
    expect(await errorOf(response)).toBe("401 invalid_client");
  });

  it("an unknown client and a wrong secret get the same response", async () => {
    const unknown = await fixtures.post(grant, { clientId: "nobody", clientSecret: "wrong" });
    const wrong = await fixtures.post(grant, { clientId: "basic", clientSecret: "wrong" });
    expect(await unknown.text()).toBe(await wrong.text());
    expect([unknown.status, wrong.status]).toEqual([401, 401]);
  });

  it("§2.3: two methods at once are refused", async () => {
    const twice = await fixtures.post({ ...grant, client_id: "basic", client_secret: basic.clientSecret }, basic);
    expect(await errorOf(twice)).toBe("400 invalid_request");
  });

  it("a client_id in the body that differs from the one in the header is refused", async () => {
    expect(await errorOf(await fixtures.post({ ...grant, client_id: "other" }, basic))).toBe("401 invalid_client");
    expect((await fixtures.post({ ...grant, client_id: "basic" }, basic)).status).toBe(200);
  });

  it("§2.3.1: id and secret are form-decoded", async () => {
    const odd = await seedClient(tokenEnv, "a:b c%");
    expect((await fixtures.post(grant, odd)).status).toBe(200);
  });

  it("only the registered method counts; a secret may be sent in the header or in the body", async () => {
    const post = await seedClient(tokenEnv, "post", { token_endpoint_auth_method: "client_secret_post" });
    const keyed = await seedClient(tokenEnv, "keyed", {
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [fixtures.key.publicJwk] },
    });
    expect((await fixtures.post({ ...grant, client_id: "post", client_secret: post.clientSecret })).status).toBe(200);
    expect((await fixtures.post(grant, post)).status).toBe(200);
    expect(await errorOf(await fixtures.post(grant, keyed))).toBe("401 invalid_client");
    expect(await errorOf(await fixtures.post({ ...grant, client_id: "basic" }))).toBe("401 invalid_client");
    const assertion = await signAssertion(fixtures.key, "basic");
    const body = { ...grant, client_assertion: assertion, client_assertion_type: assertionType };
    expect(await errorOf(await fixtures.post(body))).toBe("401 invalid_client");
  });

  it("a disabled client fails like an unknown one", async () => {
    await tokenEnv.DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'basic'").run();
    expect(await errorOf(await fixtures.post(grant, basic))).toBe("401 invalid_client");
  });

  it("an old secret works until the end of its overlap", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await tokenEnv.DB.prepare("UPDATE client_secrets SET expires_at_ms = ?1 WHERE client_id = 'basic'")
      .bind(Date.now() + 60_000)
      .run();
    expect((await fixtures.post(grant, basic)).status).toBe(200);
    vi.advanceTimersByTime(60_001);
    expect(await errorOf(await fixtures.post(grant, basic))).toBe("401 invalid_client");
    vi.useRealTimers();
  });

  it.each(["Bearer abc", "Basic", "Basic !!!", "Basic YmE6Y=", "Basic YmE6Y", "Basic OmE=", basicHeader("", "x")])(
    "a malformed or foreign Authorization header is invalid_client: %s",
    async (authorization) => {
      const response = await call(fixtures.app, tokenEnv, "/token", {
        method: "POST",
        headers: { authorization, "content-type": "application/x-www-form-urlencoded" },
        body: "grant_type=client_credentials",
      });
      expect(await errorOf(response)).toBe("401 invalid_client");
    },
  );
});

describe("RFC 7523 §3 private_key_jwt", () => {
  const post = (assertion: string, fields: Record<string, string> = {}) =>
    fixtures.post({ ...grant, client_assertion: assertion, client_assertion_type: assertionType, ...fields });

  beforeEach(async () => {
    await seedClient(tokenEnv, "keyed", {
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [fixtures.key.publicJwk] },
    });
  });

  it("an assertion for the issuer or the token endpoint authenticates", async () => {
    expect((await post(await signAssertion(fixtures.key, "keyed"))).status).toBe(200);
    const forEndpoint = await signAssertion(fixtures.key, "keyed", { aud: "https://op.example.com/token" });
    expect((await post(forEndpoint, { client_id: "keyed" })).status).toBe(200);
  });

  it("§3 item 3: an assertion for another endpoint of this provider is refused", async () => {
    for (const endpoint of ["/par", "/introspect", "/revoke"]) {
      const assertion = await signAssertion(fixtures.key, "keyed", { aud: `https://op.example.com${endpoint}` });
      expect(await errorOf(await post(assertion)), endpoint).toBe("401 invalid_client");
    }
  });

  it("§3 item 4: an assertion may be valid for an hour, and its jti is spent for as long", async () => {
    const now = Math.floor(Date.now() / 1000);
    const assertion = await signAssertion(fixtures.key, "keyed", { iat: now, exp: now + 3600 });
    expect((await post(assertion)).status).toBe(200);
    expect(await errorOf(await post(assertion))).toBe("401 invalid_client");
  });

  it("§3 item 4: the log states by how much an assertion exceeds the limit", async () => {
    const now = Math.floor(Date.now() / 1000);
    const info = vi.spyOn(console, "info").mockImplementation(() => undefined);
    const tooLong = await signAssertion(fixtures.key, "keyed", { iat: now - 3600, exp: now + 3600 });
    expect(await errorOf(await post(tooLong))).toBe("401 invalid_client");
    expect(info.mock.calls.join()).toContain("lifetime of 7200 s; 3600 s are allowed");
    info.mockRestore();
  });

  it("RFC 8725 §3.11: a JWT of another type that the client signed is not an assertion", async () => {
    for (const typ of ["oauth-authz-req+jwt", "at+jwt", "logout+jwt", ""]) {
      const assertion = await signAssertion(fixtures.key, "keyed", {}, { typ });
      expect(await errorOf(await post(assertion)), typ).toBe("401 invalid_client");
    }
    const typed = await signAssertion(fixtures.key, "keyed", {}, { typ: "client-authentication+jwt" });
    expect((await post(typed)).status).toBe(200);
  });

  it("a jti is spent for its client only", async () => {
    await seedClient(tokenEnv, "keyed2", {
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [fixtures.key.publicJwk] },
    });
    const statuses: number[] = [];
    for (const clientId of ["keyed", "keyed2", "keyed", "keyed2"]) {
      statuses.push((await post(await signAssertion(fixtures.key, clientId, { jti: "one" }))).status);
    }
    expect(statuses).toEqual([200, 200, 401, 401]);
  });

  it("item 7: of twenty parallel replays, one succeeds", async () => {
    const assertion = await signAssertion(fixtures.key, "keyed");
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await post(assertion)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(19);
  });

  it.each([
    ["wrong audience", { aud: "https://other.example.com" }],
    ["a second audience", { aud: ["https://op.example.com", "https://other.example.com"] }],
    ["no audience", { aud: undefined }],
    ["no expiry", { exp: undefined }],
    ["expired", { exp: 1_000_000_000 }],
    ["a lifetime of more than an hour", { exp: Math.floor(Date.now() / 1000) + 3700 }],
    ["issued in the future", { iat: Math.floor(Date.now() / 1000) + 300 }],
    ["no jti", { jti: undefined }],
    ["iss that is not sub", { iss: "basic" }],
    ["another client as sub", { sub: "basic" }],
  ])("refuses %s", async (_, claims) => {
    expect(await errorOf(await post(await signAssertion(fixtures.key, "keyed", claims)))).toBe("401 invalid_client");
  });

  it("refuses a key that is not the client's", async () => {
    const stranger = await generateClientKey();
    expect(await errorOf(await post(await signAssertion(stranger, "keyed")))).toBe("401 invalid_client");
  });
});

describe("RFC 6749 §3.2 parameters", () => {
  const send = (init: RequestInit) =>
    call(fixtures.app, tokenEnv, "/token", {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      ...init,
    });

  it("a repeated parameter is refused", async () => {
    const body = "grant_type=client_credentials&grant_type=client_credentials&client_id=basic&client_secret=x";
    expect(await errorOf(await send({ method: "POST", body }))).toBe("400 invalid_request");
  });

  it("JSON and every method except POST are refused, with Allow", async () => {
    const json = await send({ method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect(await errorOf(json)).toBe("400 invalid_request");
    const get = await send({ method: "GET" });
    expect(get.headers.get("allow")).toBe("POST, OPTIONS");
    expect(await errorOf(get)).toBe("405 method_not_allowed");
  });

  it("a body over 64 KiB is 413 before it is parsed; 65 parameters are refused", async () => {
    expect((await send({ method: "POST", body: `a=${"x".repeat(65_536)}` })).status).toBe(413);
    const many = Array.from({ length: 65 }, (_, index) => `p${index}=1`).join("&");
    expect(await errorOf(await send({ method: "POST", body: many }))).toBe("400 invalid_request");
  });

  it("§3.3: malformed scope values and thousands of them are invalid_scope", async () => {
    for (const scope of [
      're"ad',
      "re\\ad",
      "läs",
      "read  write",
      Array.from({ length: 2000 }, (_, i) => `s${i}`).join(" "),
    ]) {
      expect(await errorOf(await fixtures.post({ ...grant, scope }, basic))).toBe("400 invalid_scope");
    }
  });
});
