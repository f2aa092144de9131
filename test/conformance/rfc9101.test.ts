/**
 * **Request objects (RFC 9101) and references to requests**: a signed one replaces the request entirely, an unsigned one is refused, as stated in the
 * metadata, and a `request_uri` that the provider did not issue is not fetched.
 */

import {
  CompactEncrypt,
  type CompactJWEHeaderParameters,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { textOf } from "../../packages/edge-op/testing/person.ts";
import { Application, type Parameters, redirectUri } from "./fixtures/application.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

let application: Application;
let person: RegisteredPerson;
let privateKey: CryptoKey;

beforeAll(async () => {
  const pair = await generateKeyPair("ES256", { extractable: true });
  privateKey = pair.privateKey;
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: "k1", alg: "ES256" };
  application = await Application.register(fixtures, { jwks: { keys: [jwk] } });
  person = await registerPerson(fixtures, { name: "Pat Person" });
});

function requestClaims(claims: JWTPayload = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  const { client_id } = application.client;
  const parameters = Object.fromEntries(application.authorizationParameters());
  return { iss: client_id, aud: provider.issuer, iat: now, exp: now + 60, ...parameters, ...claims };
}

function sign(claims: JWTPayload, header: Record<string, unknown> = {}, key: CryptoKey = privateKey): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", kid: "k1", typ: "oauth-authz-req+jwt", ...header })
    .sign(key);
}

async function authorize(request: string, outer: Parameters = {}): Promise<URLSearchParams> {
  const url = application.authorizationUrl({ request, ...outer });
  return (await person.browser().visit(url)).url.searchParams;
}

describe("RFC 9101, OIDC Core §6: request objects", () => {
  test("§5: its parameters are the request; those outside it do not count", async () => {
    const claims = requestClaims({ state: "inside", nonce: "inside", scope: "openid profile" });
    const authorizationResponse = await authorize(await sign(claims), {
      state: "outside",
      nonce: "outside",
      scope: "openid email",
    });
    expect(authorizationResponse.get("state")).toBe("inside");
    const tokens = await application.readTokens(await application.redeem({ authorizationResponse }), "inside");
    expect(tokens.response.body["scope"]).toBe("openid profile");
  });

  test("OIDC Core §6.1: max_age as a number and claims as an object, in their JSON types", async () => {
    const claims = requestClaims({ max_age: 300, claims: { id_token: { name: { essential: true } } } });
    const authorizationResponse = await authorize(await sign(claims));
    expect((await application.readTokens(await application.redeem({ authorizationResponse }))).claims["name"]).toBe(
      "Pat Person",
    );
  });

  test("ensure-request-object-with-redirect-uri: the redirect_uri inside is used, and must be registered too", async () => {
    const authorizationResponse = await authorize(await sign(requestClaims()), { redirect_uri: undefined });
    expect(authorizationResponse.get("code")).toBeTruthy();
    const request = await sign(requestClaims({ redirect_uri: "https://evil.example.com/" }));
    const page = await person.browser().openPage(application.authorizationUrl({ request }));
    expect(page.status).toBe(400);
  });

  test("unsigned-request-object-supported-correctly-or-rejected-as-unsupported: rejected, and not in the metadata", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/openid-configuration`));
    expect(body["request_object_signing_alg_values_supported"]).not.toContain("none");
    const authorizationResponse = await authorize(new UnsecuredJWT(requestClaims()).encode(), { state: "outside" });
    expect([authorizationResponse.get("error"), authorizationResponse.get("state")]).toEqual([
      "invalid_request_object",
      "outside",
    ]);
  });

  test("§6.2, §10: must be signed by the client, for this provider, within its validity, as a request", async () => {
    const { privateKey: strange } = await generateKeyPair("ES256");
    const { client_id } = application.client;
    const refused: readonly (readonly [string, string])[] = [
      ["another key", await sign(requestClaims(), {}, strange)],
      ["not a JWT", "nonsense"],
      ["for another provider", await sign(requestClaims({ aud: "https://other.example.com" }))],
      ["by another client", await sign(requestClaims({ iss: "someone-else" }))],
      ["of another client", await sign(requestClaims({ client_id: "someone-else" }))],
      ["expired", await sign(requestClaims({ exp: Math.floor(Date.now() / 1000) - 600 }))],
      ["not yet", await sign(requestClaims({ nbf: Math.floor(Date.now() / 1000) + 600 }))],
      ["a client assertion", await sign(requestClaims({ sub: client_id }))],
      ["another type", await sign(requestClaims(), { typ: "at+jwt" })],
      ["a request within", await sign(requestClaims({ request: "x" }))],
    ];
    for (const [what, request] of refused) {
      expect((await authorize(request)).get("error"), what).toBe("invalid_request_object");
    }
  });

  test("require_signed_request_object: a request without one is refused", async () => {
    const { publicKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" };
    const strict = await Application.register(fixtures, {
      jwks: { keys: [jwk] },
      require_signed_request_object: true,
    });
    expect((await strict.authorize(person.browser())).authorizationResponse.get("error")).toBe("invalid_request");
  });
});

describe("RFC 9101 §6.1, OIDC Core §6.1: encrypted request objects", () => {
  const algorithms = ["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"] as const;
  const contentAlgorithms = ["A128CBC-HS256", "A256CBC-HS512", "A128GCM", "A256GCM"] as const;
  let published: readonly JWK[];

  beforeAll(async () => {
    const { keys } = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: readonly JWK[] };
    published = keys;
  });

  async function encrypt(text: string, header: Partial<CompactJWEHeaderParameters> = {}): Promise<string> {
    const { alg = "ECDH-ES", enc = "A256GCM" } = header;
    const key = published.find((each) => each.use === "enc" && each.alg === alg)!;
    return new CompactEncrypt(new TextEncoder().encode(text))
      .setProtectedHeader({ alg, enc, kid: key.kid!, cty: "JWT", ...header })
      .encrypt(await importJWK(key, alg));
  }

  function push(request: string, of: Application = application) {
    const { client_id } = of.client;
    return postForm(`${provider.origin}/par`, { client_id, request }, { authorization: of.client.authorization });
  }

  test("metadata: every algorithm has one key to use", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/openid-configuration`));
    expect(body["request_object_encryption_alg_values_supported"]).toEqual(algorithms);
    expect(body["request_object_encryption_enc_values_supported"]).toEqual(contentAlgorithms);
    const encryptionKeys = published.filter(({ use }) => use === "enc");
    expect(encryptionKeys.map(({ alg }) => alg).toSorted()).toEqual(algorithms.toSorted());
  });

  test.each(algorithms)("%s: at /authorize and at /par", async (alg) => {
    for (const enc of contentAlgorithms) {
      const request = await encrypt(await sign(requestClaims({ state: `inside ${enc}` })), { alg, enc });
      expect((await authorize(request)).get("state")).toBe(`inside ${enc}`);
    }
    const { status, body } = await push(await encrypt(await sign(requestClaims({ state: "pushed" })), { alg }));
    expect(status).toBe(201);
    const url = new URL(`${provider.issuer}/authorize`);
    const reference = { client_id: application.client.client_id, request_uri: String(body["request_uri"]) };
    url.search = new URLSearchParams(reference).toString();
    const { searchParams } = (await person.browser().visit(url)).url;
    expect([searchParams.get("state"), typeof searchParams.get("code")]).toEqual(["pushed", "string"]);
  });

  test("§10: the content must be signed by the client, for this provider; every failure but the time has one text", async () => {
    const { privateKey: strange } = await generateKeyPair("ES256");
    const valid = await encrypt(await sign(requestClaims()));
    const [header, ...rest] = valid.split(".");
    const refused: readonly (readonly [string, string])[] = [
      ["JSON that is not signed", await encrypt(JSON.stringify(requestClaims()))],
      ["a JWT without signature", await encrypt(new UnsecuredJWT(requestClaims()).encode())],
      ["another key's signature", await encrypt(await sign(requestClaims(), {}, strange))],
      ["another client's", await encrypt(await sign(requestClaims({ client_id: "someone-else" })))],
      ["another provider's", await encrypt(await sign(requestClaims({ aud: "https://other.example.com" })))],
      ["expired", await encrypt(await sign(requestClaims({ exp: Math.floor(Date.now() / 1000) - 600 })))],
      ["encrypted twice", await encrypt(valid)],
      ["an unknown kid", await encrypt(await sign(requestClaims()), { kid: "nobody" })],
      ["the kid of another key", await encrypt(await sign(requestClaims()), { kid: published[0]!.kid! })],
      ["a changed ciphertext", [header, ...rest.slice(0, 2), `A${rest[2]}`, rest[3]].join(".")],
      ["a changed tag", [header, ...rest.slice(0, 3), "AAAAAAAAAAAAAAAAAAAAAA"].join(".")],
      ["compression", await encrypt(await sign(requestClaims()), { zip: "DEF" })],
      ["a compression bomb", await encrypt("0".repeat(1_000_000), { zip: "DEF" })],
      ["dir", [encodeHeader({ alg: "dir", enc: "A256GCM" }), ...rest].join(".")],
      ["RSA1_5", [encodeHeader({ alg: "RSA1_5", enc: "A256GCM" }), ...rest].join(".")],
      ["a password", [encodeHeader({ alg: "PBES2-HS256+A128KW", enc: "A256GCM", p2c: 2e9 }), ...rest].join(".")],
      ["oversize", await encrypt("x".repeat(16_500))],
    ];
    const texts = new Set<unknown>();
    for (const [what, request] of refused) {
      const { status, body } = await push(request);
      expect([status, body["error"]], what).toEqual([400, "invalid_request_object"]);
      if (what === "expired") expect(body["error_description"]).toMatch(/exp is 6\d\d s behind/);
      else texts.add(body["error_description"]);
      if (what !== "oversize") expect((await authorize(request)).get("error"), what).toBe("invalid_request_object");
    }
    expect(texts.size).toBe(1);
  });

  test("replay: one client's encrypted request object is useless to another", async () => {
    const request = await encrypt(await sign(requestClaims()));
    const other = await Application.register(fixtures, { jwks: { keys: [await otherKey()] } });
    expect((await push(request, other)).body["error"]).toBe("invalid_request_object");
    const withoutKeys = await Application.register(fixtures);
    expect((await push(request, withoutKeys)).body["error"]).toBe("invalid_request_object");
    expect((await push(request)).status).toBe(201);
  });

  test("OIDC Registration §2: with request_object_encryption_alg, other supported algorithms and unencrypted objects are accepted too", async () => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    const declared = await Application.register(fixtures, {
      jwks: { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "k1" }] },
      request_object_encryption_alg: "RSA-OAEP-256",
      request_object_encryption_enc: "A256GCM",
    });
    const claims = { ...requestClaims(), iss: declared.client.client_id, client_id: declared.client.client_id };
    const signed = await sign(claims, {}, pair.privateKey);
    const statusOf = async (request: string) => (await push(request, declared)).status;
    expect(await statusOf(await encrypt(signed, { alg: "RSA-OAEP-256", enc: "A256GCM" }))).toBe(201);
    expect(await statusOf(await encrypt(signed, { alg: "RSA-OAEP-256", enc: "A128GCM" }))).toBe(201);
    expect(await statusOf(await encrypt(signed, { alg: "ECDH-ES", enc: "A256GCM" }))).toBe(201);
    expect(await statusOf(signed)).toBe(201);
    const status = async (metadata: Readonly<Record<string, unknown>>) =>
      (await fixtures.admin.call("POST", "/clients", { redirect_uris: [redirectUri], ...metadata })).status;
    expect(await status({ request_object_encryption_alg: "RSA-OAEP-256" })).toBe(400);
    expect(await status({ request_object_encryption_enc: "A256GCM", jwks: { keys: [await otherKey()] } })).toBe(400);
    expect(await status({ request_object_encryption_alg: "RSA1_5", jwks: { keys: [await otherKey()] } })).toBe(400);
  });

  async function otherKey(): Promise<JWK> {
    return exportJWK((await generateKeyPair("ES256", { extractable: true })).publicKey);
  }

  function encodeHeader(header: Readonly<Record<string, unknown>>): string {
    return Buffer.from(JSON.stringify(header)).toString("base64url");
  }
});

describe("OIDC Core §3.1.2.6: request_uri", () => {
  test("a foreign request_uri is request_uri_not_supported, sent to the client, and is not fetched", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/openid-configuration`));
    expect(body["request_uri_parameter_supported"]).toBe(false);
    for (const more of [{}, { request: await sign(requestClaims()) }]) {
      const parameters = { request_uri: "https://app.example.com/request.jwt", ...more };
      const { authorizationResponse } = await application.authorize(person.browser(), parameters);
      expect(authorizationResponse.get("error")).toBe("request_uri_not_supported");
    }
  });

  test("without its own redirect URI it is an error page", async () => {
    const parameters = { request_uri: "https://app.example.com/request.jwt", redirect_uri: undefined };
    const page = await person.browser().openPage(application.authorizationUrl(parameters));
    expect(page.status).toBe(400);
    expect(textOf(page.html)).toContain("request_uri_not_supported");
  });

  test("§3.1.2.6: the registration parameter is registration_not_supported", async () => {
    const { authorizationResponse } = await application.authorize(person.browser(), { registration: "{}" });
    expect(authorizationResponse.get("error")).toBe("registration_not_supported");
  });
});

describe("RFC 9126: pushed authorization requests", () => {
  async function push(form: URLSearchParams, authorization = application.client.authorization) {
    const headers = { authorization };
    return readResponse(await fetch(`${provider.origin}/par`, { method: "POST", body: form, headers }));
  }

  function reference(requestUri: unknown, clientId = application.client.client_id): URL {
    const url = new URL(`${provider.issuer}/authorize`);
    url.search = new URLSearchParams({ client_id: clientId, request_uri: String(requestUri) }).toString();
    return url;
  }

  test("§2.2, §4: 201 with a reference that is valid once, only for this client", async () => {
    const pushed = await push(application.authorizationParameters({ state: "pushed" }));
    expect(pushed.status).toBe(201);
    expect(pushed.headers.get("cache-control")).toContain("no-store");
    expect(pushed.body).toEqual({ request_uri: expect.any(String), expires_in: expect.any(Number) });
    const url = reference(pushed.body["request_uri"]);
    // Parameters next to the reference passed through the browser and do not count.
    url.searchParams.set("state", "added");
    url.searchParams.set("redirect_uri", "https://evil.example.com/");
    const { url: back } = await person.browser().visit(url);
    expect(back.href.startsWith(`${redirectUri}?`)).toBe(true);
    expect(back.searchParams.get("state")).toBe("pushed");
    expect((await person.browser().openPage(url)).status).toBe(400);
    const other = await Application.register(fixtures);
    const foreign = await push(application.authorizationParameters());
    const stolen = reference(foreign.body["request_uri"], other.client.client_id);
    expect((await person.browser().openPage(stolen)).status).toBe(400);
  });

  test("§2.1: the client must authenticate; an invalid request is refused immediately, as JSON", async () => {
    const wrong = await push(application.authorizationParameters(), "Basic d3Jvbmc6d3Jvbmc=");
    expect([wrong.status, wrong.body["error"]]).toEqual([401, "invalid_client"]);
    const other = await Application.register(fixtures);
    const foreign = await push(other.authorizationParameters());
    expect([400, 401]).toContain(foreign.status);
    for (const bad of [
      { redirect_uri: "https://evil.example.com/" },
      { response_type: "token" },
      { request_uri: "urn:x" },
      { request: "nonsense" },
    ]) {
      const response = await push(application.authorizationParameters(bad));
      expect([response.status, typeof response.body["error"]]).toEqual([400, "string"]);
    }
  });

  test("§3: a signed request object may be pushed", async () => {
    const { client_id } = application.client;
    const request = await sign(requestClaims({ state: "signed" }));
    const pushed = await push(new URLSearchParams({ client_id, request }));
    const { url } = await person.browser().visit(reference(pushed.body["request_uri"]));
    expect([url.searchParams.get("state"), url.searchParams.has("code")]).toEqual(["signed", true]);
  });

  test("§6: a client that must push is otherwise refused", async () => {
    const strict = await Application.register(fixtures, { require_pushed_authorization_requests: true });
    expect((await strict.authorize(person.browser())).authorizationResponse.get("error")).toBe("invalid_request");
    const pushed = await push(strict.authorizationParameters(), strict.client.authorization);
    const { url } = await person.browser().visit(reference(pushed.body["request_uri"], strict.client.client_id));
    expect(url.searchParams.get("code")).toBeTruthy();
  });
});
