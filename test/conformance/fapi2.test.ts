import { generateKeyPair as generateNodeKeys } from "node:crypto";
import { promisify } from "node:util";
import { createRemoteJWKSet, exportJWK, generateKeyPair, type JWTPayload, jwtVerify, SignJWT } from "jose";
import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { type ApiResponse, postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { selfSigned, TestAuthority, type TestCertificate } from "../fixtures/client-certificates.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { redirectUri } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { api, claimsOf, grantTypes, headerOf, ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { TestIssuer } from "./fixtures/test-issuer.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "./fixtures/tls-proxy.ts";

/** A deployment with the FAPI 2.0 Security Profile, its clients, and clients that each break one of its rules. */
type Fields = Readonly<Record<string, string>>;

interface FapiClient {
  readonly clientId: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const pkce = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" } as const;
const usual = { response_type: "code", redirect_uri: redirectUri, scope: "openid offline_access", state: "s", ...pkce };

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let proxy: TlsProxy;
let proxyOrigin: string;
let certificate: TestCertificate;
let person: RegisteredPerson;
let client: FapiClient;
let key: DpopKey;

beforeAll(async () => {
  const port = await findFreePort("localhost");
  proxyOrigin = `https://localhost:${port}`;
  const authority = await TestAuthority.create();
  provider = await startLocalProvider({
    shape: inject("shape"),
    vars: { SECURITY_PROFILE: "fapi2", MTLS_ORIGIN: proxyOrigin },
  });
  proxy = await startTlsProxy({ port, origin: provider.origin, authority: authority.cert });
  fixtures = new ProviderFixtures(provider);
  [certificate, key] = await Promise.all([authority.issue(), DpopKey.generate()]);
  person = await registerPerson(fixtures, { name: "Pat Person" });
  client = await register();
});

afterAll(async () => {
  await proxy.stop();
  await provider.stop();
});

const application = {
  grant_types: ["authorization_code", "refresh_token", "client_credentials"],
  response_types: ["code"],
  redirect_uris: [redirectUri],
  scope: "openid offline_access profile read",
};

async function register(metadata: Readonly<Record<string, unknown>> = {}, alg = "PS256"): Promise<FapiClient> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg };
  const { client_id: clientId } = await fixtures.client({
    ...application,
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwk] },
    ...metadata,
  });
  return { clientId, alg, privateKey };
}

function assertion(of: FapiClient, claims: JWTPayload = {}, alg = of.alg): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const { clientId } = of;
  const all = { iss: clientId, sub: clientId, aud: provider.issuer, iat: now, exp: now + 60, jti: crypto.randomUUID() };
  return new SignJWT({ ...all, ...claims }).setProtectedHeader({ alg, kid: "k1" }).sign(of.privateKey);
}

async function send(path: string, fields: Fields, of: FapiClient, headers: Fields = {}): Promise<ApiResponse> {
  const authentication = { client_assertion_type: assertionType, client_assertion: await assertion(of) };
  return postForm(`${provider.origin}${path}`, { ...authentication, ...fields }, headers);
}

async function proof(path = "/token", by = key): Promise<Fields> {
  return { DPoP: await by.proof("POST", provider.issuer + path) };
}

async function push(more: Fields = {}, of = client): Promise<string> {
  const { status, body } = await send("/par", { ...usual, ...more }, of);
  expect(status, JSON.stringify(body)).toBe(201);
  return String(body["request_uri"]);
}

function authorizationUrl(requestUri: string, more: Fields = {}, of = client): URL {
  const url = new URL(`${provider.issuer}/authorize`);
  url.search = new URLSearchParams({ client_id: of.clientId, request_uri: requestUri, ...more }).toString();
  return url;
}

async function code(more: Fields = {}, of = client): Promise<string> {
  const { url } = await person.browser().visit(authorizationUrl(await push(more, of), {}, of));
  return url.searchParams.get("code") ?? `${url}`;
}

async function redeem(value: string, of = client, headers?: Fields): Promise<ApiResponse> {
  const fields = { grant_type: "authorization_code", code: value, redirect_uri: redirectUri, code_verifier: verifier };
  return send("/token", fields, of, headers ?? (await proof()));
}

describe("FAPI 2.0 Security Profile §5.3.2.1: authorization servers in general", () => {
  test("item 1: metadata describes the profile", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/oauth-authorization-server`));
    const algorithms = ["ES256", "EdDSA", "PS256"];
    expect(body).toMatchObject({
      require_pushed_authorization_requests: true,
      authorization_response_iss_parameter_supported: true,
      code_challenge_methods_supported: ["S256"],
      response_types_supported: ["code"],
      tls_client_certificate_bound_access_tokens: true,
      token_endpoint_auth_methods_supported: ["private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"],
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      request_object_signing_alg_values_supported: algorithms,
      id_token_signing_alg_values_supported: algorithms,
      dpop_signing_alg_values_supported: ["ES256", "EdDSA", "PS256"],
    });
  });

  test("item 2: the resource owner password credentials grant is refused", async () => {
    const fields = { grant_type: "password", username: person.sub, password: "x" };
    expect((await send("/token", fields, client, await proof())).body["error"]).toBe("unsupported_grant_type");
  });

  test("item 7: no open redirector: an unregistered URI is never redirected to", async () => {
    const elsewhere = "https://attacker.example/callback";
    expect((await send("/par", { ...usual, redirect_uri: elsewhere }, client)).body["error"]).toBe("invalid_request");
    const url = authorizationUrl(await push(), { redirect_uri: elsewhere });
    expect(new URL((await person.browser().visit(url)).url).origin).toBe(new URL(redirectUri).origin);
    const logout = await person
      .browser()
      .openPage(
        new URL(`${provider.issuer}/logout?client_id=${client.clientId}&post_logout_redirect_uri=${elsewhere}`),
      );
    // A page of this provider, which says what is wrong.
    expect(logout.status).toBe(200);
  });

  test("items 3 and 6: public clients and clients with a secret are refused, unless they are exempt", async () => {
    for (const method of ["client_secret_basic", "client_secret_post", "none"]) {
      const metadata = method === "none" ? { ...application, grant_types: ["authorization_code"] } : application;
      const { client_id, client_secret } = await fixtures.client({ ...metadata, token_endpoint_auth_method: method });
      const secret = method === "none" ? {} : { client_secret };
      const fields = { grant_type: "client_credentials", client_id, ...secret };
      const basic = `Basic ${btoa(`${client_id}:${client_secret}`)}`;
      const refused =
        method === "client_secret_basic"
          ? await postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, { authorization: basic })
          : await postForm(`${provider.origin}/token`, fields);
      expect([method, refused.status, refused.body["error"]]).toEqual([method, 401, "invalid_client"]);
    }
    const exempt = await fixtures.client({ security_profile: "none" });
    expect((await fixtures.token(exempt, { grant_type: "client_credentials" })).status).toBe(200);
  });

  test("item 6: an assertion of a trusted issuer does not replace client authentication", async () => {
    const metadata = { grant_types: [grantTypes.jwtBearer], response_types: [], redirect_uris: [] };
    const [named, exempt] = [
      await register({ ...metadata, scope: "read", audiences: [api] }),
      await register({ ...metadata, scope: "read", audiences: [api], security_profile: "none" }),
    ];
    const issuer = await TestIssuer.create();
    const rule = (clientId: string) => ({
      ...{ rule_id: clientId, uses: ["assertion"], claims: { sub: { exact: clientId } }, client_id: clientId },
      ...{ subject: { type: "client" }, resources: [api], scopes: ["read"] },
    });
    const record = { issuer: issuer.issuer, jwks: issuer.jwks, algorithms: [issuer.alg], reusable_assertions: true };
    const rules = [rule(named.clientId), rule(exempt.clientId)];
    await fixtures.admin.require("POST", "/issuers", { ...record, rules });
    const request = async ({ clientId }: FapiClient) => {
      const signed = await issuer.sign({ sub: clientId, aud: provider.issuer });
      const fields = { grant_type: grantTypes.jwtBearer, assertion: signed, resource: api };
      return postForm(`${provider.origin}/token`, fields, await proof());
    };
    expect((await request(exempt)).status).toBe(200);
    const refused = await request(named);
    expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
  });

  test("items 4 and 5: no token without a proof; DPoP and mutual TLS bind it", async () => {
    const fields = { grant_type: "client_credentials", scope: "read" };
    const refused = await send("/token", fields, client);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_request"]);
    const byDpop = await send("/token", fields, client, await proof());
    expect(claimsOf(String(byDpop.body["access_token"]))["cnf"]).toEqual({ jkt: key.thumbprint });
    const authentication = { client_assertion_type: assertionType, client_assertion: await assertion(client) };
    const body = new URLSearchParams({ ...fields, ...authentication });
    const viaTls = fetchWithCertificate(proxy, certificate);
    const byCertificate = await readResponse(await viaTls(`${proxyOrigin}/token`, { method: "POST", body }));
    const cnf = { "x5t#S256": certificate.thumbprint };
    expect(claimsOf(String(byCertificate.body["access_token"]))["cnf"]).toEqual(cnf);
  });

  test("item 8: an assertion is only for the issuer, as a string", async () => {
    const { issuer } = provider;
    const refused = [`${issuer}/token`, [issuer], [issuer, `${issuer}/token`], `${proxyOrigin}/token`, `${issuer}/`];
    const request = async (aud: string | string[]) => {
      const fields = { grant_type: "client_credentials", client_assertion: await assertion(client, { aud }) };
      return (await send("/token", fields, client, await proof())).body["error"];
    };
    for (const aud of refused) expect(await request(aud), JSON.stringify(aud)).toBe("invalid_client");
    expect(await request(issuer)).toBeUndefined();
  });

  test("item 9: a refresh token is not rotated, and returns a new access token each time", async () => {
    const { body } = await redeem(await code());
    const refresh = async (by = key) => {
      const fields = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) };
      return send("/token", fields, client, await proof("/token", by));
    };
    const tokens = [body["access_token"]];
    for (let each = 0; each < 3; each += 1) {
      const refreshed = await refresh();
      expect([refreshed.status, refreshed.body["refresh_token"]]).toEqual([200, body["refresh_token"]]);
      tokens.push(refreshed.body["access_token"]);
    }
    expect(new Set(tokens).size).toBe(4);
    const together = await Promise.all(Array.from({ length: 4 }, () => refresh()));
    expect(together.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const revoked = await send("/revoke", { token: String(body["refresh_token"]) }, client);
    expect([revoked.status, (await refresh()).body["error"]]).toEqual([200, "invalid_grant"]);
  });

  test("item 9, downgrade by refresh: the token is useless to another client or without a proof", async () => {
    const { body } = await redeem(await code());
    const fields = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) };
    expect((await send("/token", fields, client)).body["error"]).toBe("invalid_request");
    const other = await register();
    expect((await send("/token", fields, other, await proof())).body["error"]).toBe("invalid_grant");
    const viaTls = fetchWithCertificate(proxy, certificate);
    const authentication = { client_assertion_type: assertionType, client_assertion: await assertion(client) };
    const form = new URLSearchParams({ ...fields, ...authentication });
    const changed = await readResponse(await viaTls(`${proxyOrigin}/token`, { method: "POST", body: form }));
    expect(changed.body["error"]).toBe("invalid_grant");
    expect((await send("/token", fields, client, await proof())).status).toBe(200);
  });

  test("item 12: dpop_jkt and a proof at /par bind the code", async () => {
    const other = await DpopKey.generate();
    const value = await code({ dpop_jkt: key.thumbprint });
    expect((await redeem(value, client, await proof("/token", other))).body["error"]).toBe("invalid_grant");
    expect((await redeem(value)).status).toBe(200);
  });

  test("item 13: iat and nbf may be 10 seconds ahead, and not 61", async () => {
    const now = Math.floor(Date.now() / 1000);
    const request = async (claims: JWTPayload) => {
      const fields = { grant_type: "client_credentials", client_assertion: await assertion(client, claims) };
      return (await send("/token", fields, client, await proof())).status;
    };
    expect(await request({ iat: now + 10, nbf: now + 10 })).toBe(200);
    expect(await request({ iat: now + 65 })).toBe(401);
    expect(await request({ nbf: now + 65 })).toBe(401);
  });

  test("item 14: a token has exactly the privileges that its request names", async () => {
    const identifier = `https://reports-${crypto.randomUUID()}.example.com/`;
    const scopes = ["reports:read", "reports:write"].map((value) => ({ value, description: value }));
    await fixtures.admin.require("POST", "/resources", { identifier, name: "Reports", clients: "registered", scopes });
    const of = await register({ scope: "openid read reports:read reports:write" });
    const request = async (fields: Fields) => {
      const { body } = await send("/token", { grant_type: "client_credentials", ...fields }, of, await proof());
      expect(body["error_description"]).toBeUndefined();
      const { aud, scope } = claimsOf(String(body["access_token"]));
      return [body["scope"], scope, aud];
    };
    expect(await request({ scope: "read" })).toEqual(["read", "read", expect.anything()]);
    const named = { resource: identifier, scope: "reports:read" };
    expect(await request(named)).toEqual(["reports:read", "reports:read", identifier]);
    const { body } = await redeem(await code({ scope: "openid offline_access profile" }));
    const refresh = async (more: Fields) => {
      const fields = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]), ...more };
      return (await send("/token", fields, client, await proof())).body;
    };
    const narrowed = String((await refresh({ scope: "openid" }))["access_token"]);
    expect(claimsOf(narrowed)["scope"]).toBe("openid");
    const url = `${provider.issuer}/userinfo`;
    const shown = await key.proof("GET", url, { ath: await accessTokenHash(narrowed) });
    const userinfo = await readResponse(
      await fetch(url, { headers: { authorization: `DPoP ${narrowed}`, DPoP: shown } }),
    );
    expect(userinfo.body).toEqual({ sub: person.sub });
    expect((await refresh({ scope: "openid read" }))["error"]).toBe("invalid_scope");
  });
});

describe("FAPI 2.0 Security Profile §5.3.2.2: the code flow", () => {
  test("items 2, 7 and 12: a pushed request leads to a code with iss; request_uri expires in less than 600 seconds", async () => {
    const { body } = await send("/par", usual, client);
    expect(body["expires_in"]).toBeLessThan(600);
    const { url } = await person.browser().visit(authorizationUrl(String(body["request_uri"])));
    expect(url.searchParams.get("iss")).toBe(provider.issuer);
    expect(url.searchParams.get("state")).toBe("s");
    const { status, body: tokens } = await redeem(url.searchParams.get("code")!);
    expect([status, tokens["token_type"]]).toEqual([200, "DPoP"]);
    expect(headerOf(String(tokens["id_token"]))["alg"]).toBe("ES256");
  });

  test("item 1: response_type must be code", async () => {
    for (const type of ["code id_token", "token", "id_token", "none"]) {
      const { status, body } = await send("/par", { ...usual, response_type: type }, client);
      expect([type, status, body["error"]]).toEqual([type, 400, "unsupported_response_type"]);
    }
  });

  test("item 14: a nonce may have 64 characters", async () => {
    const nonce = "n".repeat(64);
    const { body } = await redeem(await code({ nonce }));
    expect(claimsOf(String(body["id_token"]))["nonce"]).toBe(nonce);
  });

  test("item 3: a request that is not pushed is refused", async () => {
    const url = authorizationUrl("x");
    url.search = new URLSearchParams({ client_id: client.clientId, ...usual }).toString();
    const { url: refused } = await person.browser().visit(url);
    expect(refused.searchParams.get("error")).toBe("invalid_request");
    expect(refused.searchParams.get("iss")).toBe(provider.issuer);
  });

  test("§5.3.3.2: parameters other than client_id and request_uri are never used: refused if they differ from the pushed ones", async () => {
    const others: readonly Fields[] = [
      { scope: "openid profile" },
      { state: "other" },
      { redirect_uri: `${redirectUri}/other` },
      { prompt: "none" },
      { nonce: "n" },
      { unknown: "x" },
    ];
    for (const more of others) {
      const { url } = await person.browser().visit(authorizationUrl(await push(), more));
      expect([JSON.stringify(more), url.searchParams.get("error")]).toEqual([JSON.stringify(more), "invalid_request"]);
      expect([url.searchParams.get("code"), url.searchParams.get("state")]).toEqual([null, "s"]);
      expect(`${url.origin}${url.pathname}`).toBe(redirectUri);
    }
  });

  test("OIDC Core §6.2: parameters repeated unchanged next to the reference are accepted", async () => {
    const { response_type, redirect_uri, scope, state } = usual;
    const repeated = { response_type, redirect_uri, scope, state };
    const { url } = await person.browser().visit(authorizationUrl(await push(), repeated));
    expect(url.searchParams.get("code")).toBeTruthy();
  });

  test("item 4: a request pushed without authentication, or by another client, is refused", async () => {
    const unauthenticated = await postForm(`${provider.origin}/par`, { ...usual, client_id: client.clientId });
    expect([unauthenticated.status, unauthenticated.body["error"]]).toEqual([401, "invalid_client"]);
    const other = await register();
    const page = await person.browser().openPage(authorizationUrl(await push(), {}, other));
    expect(page.status).toBe(400);
  });

  test("item 5: PKCE with S256 is required", async () => {
    const { code_challenge: _, ...withoutChallenge } = usual;
    expect((await send("/par", withoutChallenge, client)).body["error"]).toBe("invalid_request");
    const plain = { ...usual, code_challenge: verifier, code_challenge_method: "plain" };
    expect((await send("/par", plain, client)).body["error"]).toBe("invalid_request");
  });

  test("item 6: redirect_uri is required", async () => {
    const { redirect_uri: _, ...without } = usual;
    expect((await send("/par", without, client)).body["error"]).toBe("invalid_request");
  });

  test("item 9: a code is accepted once, and its tokens end at the second use", async () => {
    const value = await code();
    const { body } = await redeem(value);
    expect((await redeem(value)).body["error"]).toBe("invalid_grant");
    const introspected = await send("/introspect", { token: String(body["access_token"]) }, client);
    expect(introspected.body).toEqual({ active: false });
  });

  test("items 10 and 11: the user agent is redirected by 303", async () => {
    const response = await fetch(authorizationUrl(await push()), { redirect: "manual" });
    expect(response.status).toBe(303);
  });
});

describe("FAPI 2.0 Security Profile §5.4: algorithms", () => {
  test.each(["PS256", "ES256", "EdDSA"])("%s is accepted for assertions and request objects", async (alg) => {
    const of = await register({}, alg);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      ...usual,
      iss: of.clientId,
      client_id: of.clientId,
      aud: provider.issuer,
      nbf: now,
      exp: now + 60,
    };
    const request = await new SignJWT(claims).setProtectedHeader({ alg, kid: "k1" }).sign(of.privateKey);
    expect((await send("/par", { request }, of)).status).toBe(201);
  });

  test.each(["PS256", "EdDSA"])(
    "this provider signs ID tokens, UserInfo and access tokens with %s, as registered",
    async (alg) => {
      const of = await register({
        id_token_signed_response_alg: alg,
        userinfo_signed_response_alg: alg,
        access_token_signed_response_alg: alg,
      });
      const { body } = await redeem(await code({}, of), of);
      const { access_token: token, id_token: idToken } = body as Fields;
      const url = `${provider.issuer}/userinfo`;
      const proofOf = await key.proof("GET", url, { ath: await accessTokenHash(token!) });
      const userinfo = await (await fetch(url, { headers: { authorization: `DPoP ${token}`, DPoP: proofOf } })).text();
      const published = createRemoteJWKSet(new URL(`${provider.origin}/jwks`));
      for (const jwt of [idToken!, token!, userinfo]) {
        const { protectedHeader } = await jwtVerify(jwt, published, { issuer: provider.issuer, algorithms: [alg] });
        expect(protectedHeader.alg).toBe(alg);
      }
    },
  );

  test("RS256 of a resource: its tokens are refused to a FAPI client, before and after consent, but not to others", async () => {
    const makeResource = async (alg: string) => {
      const identifier = `https://${alg}-${crypto.randomUUID()}.example.com/`.toLowerCase();
      const scopes = [{ value: "reports", description: "Reports" }];
      const resource = { identifier, name: alg, clients: "registered", scopes, access_token_signed_response_alg: alg };
      await fixtures.admin.require("POST", "/resources", resource);
      return identifier;
    };
    const identifier = await makeResource("RS256");
    const request = { resource: identifier, scope: "openid reports" };
    const pushed = await send("/par", { ...usual, ...request }, client);
    expect([pushed.status, pushed.body["error"]]).toEqual([400, "invalid_target"]);
    const fields = { grant_type: "client_credentials", resource: identifier };
    const refused = await send("/token", fields, client, await proof());
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_target"]);
    expect(refused.body["error_description"]).toContain("RS256");
    const exempt = await fixtures.client({ security_profile: "none" });
    const { body } = await fixtures.token(exempt, fields);
    expect(body["error"] ?? headerOf(String(body["access_token"]))["alg"]).toBe("RS256");
    const other = { ...fields, resource: await makeResource("PS256") };
    const accepted = await send("/token", other, client, await proof());
    expect(headerOf(String(accepted.body["access_token"]))["alg"]).toBe("PS256");
  });

  test("RS256 is refused for assertions, request objects and proofs", async () => {
    const of = await register({}, "RS256");
    expect((await send("/token", { grant_type: "client_credentials" }, of, await proof())).status).toBe(401);
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const { n, e } = await exportJWK(publicKey);
    const { publicKey: own, privateKey: ownKey } = await generateKeyPair("ES256", { extractable: true });
    const jwks = {
      keys: [
        { kty: "RSA", n, e, kid: "rsa" },
        { ...(await exportJWK(own)), kid: "k1" },
      ],
    };
    const both = { ...(await register({ jwks }, "ES256")), privateKey: ownKey };
    const claims = { ...usual, client_id: both.clientId, aud: provider.issuer };
    const request = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "rsa" }).sign(privateKey);
    expect((await send("/par", { request }, both)).body["error"]).toBe("invalid_request_object");
    const rsa = await DpopKey.generate("RS256");
    const refused = await send("/token", { grant_type: "client_credentials" }, both, await proof("/token", rsa));
    expect(refused.body["error"]).toBe("invalid_dpop_proof");
  });

  test("§5.4.1 item 2: an RSA key of less than 2048 bits is not accepted", async () => {
    const { publicKey } = await promisify(generateNodeKeys)("rsa", { modulusLength: 1024 });
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "PS256" };
    const short = { ...application, token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [jwk] } };
    await expect(fixtures.client(short)).rejects.toThrow("jwks");
  });

  test("key confusion: an assertion with the public key as a secret, or without a signature, is refused", async () => {
    const now = Math.floor(Date.now() / 1000);
    const { clientId } = client;
    const claims = { iss: clientId, sub: clientId, aud: provider.issuer, iat: now, exp: now + 60, jti: "j" };
    const publicKey = await exportJWK(client.privateKey);
    const secret = new TextEncoder().encode(String(publicKey.n));
    const symmetric = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret);
    const [, body] = symmetric.split(".");
    const none = `${Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")}.${body}.`;
    for (const client_assertion of [symmetric, none]) {
      const fields = { grant_type: "client_credentials", client_assertion };
      expect((await send("/token", fields, client, await proof())).body["error"]).toBe("invalid_client");
    }
  });
});

describe("FAPI 2.0 enabled per client", () => {
  test("registration refuses violations of the profile", async () => {
    const { publicKey } = await generateKeyPair("ES256");
    const jwks = { keys: [await exportJWK(publicKey)] };
    const valid = { ...application, token_endpoint_auth_method: "private_key_jwt", jwks, security_profile: "fapi2" };
    const statusOf = async (more: Readonly<Record<string, unknown>>) =>
      (await fixtures.admin.call("POST", "/clients", { ...valid, ...more })).status;
    expect(await statusOf({})).toBe(201);
    expect(await statusOf({ token_endpoint_auth_method: "client_secret_basic" })).toBe(400);
    expect(await statusOf({ token_endpoint_auth_method: "none", grant_types: ["authorization_code"] })).toBe(400);
    expect(await statusOf({ id_token_signed_response_alg: "RS256" })).toBe(400);
    expect(await statusOf({ token_endpoint_auth_signing_alg: "RS256" })).toBe(400);
    expect(await statusOf({ require_pkce: false })).toBe(400);
    expect(await statusOf({ redirect_uris: ["http://localhost:1234/cb"] })).toBe(400);
    expect(await statusOf({ redirect_uris: ["http://127.0.0.1/cb"], application_type: "native" })).toBe(201);
    expect(await statusOf({ security_profile: "fapi3" })).toBe(400);
  });
});

describe("resources", () => {
  test("§5.3.4: a token is useless as Bearer, with another key's proof, or when stolen", async () => {
    const { body } = await redeem(await code({ scope: "openid profile" }));
    const token = String(body["access_token"]);
    const url = `${provider.issuer}/userinfo`;
    const show = async (scheme: string, by?: DpopKey) => {
      const shown = by && (await by.proof("GET", url, { ath: await accessTokenHash(token) }));
      const headers = { authorization: `${scheme} ${token}`, ...(shown === undefined ? {} : { DPoP: shown }) };
      return (await fetch(url, { headers })).status;
    };
    expect(await show("DPoP", key)).toBe(200);
    expect(await show("Bearer")).toBe(401);
    expect(await show("Bearer", key)).toBe(401);
    expect(await show("DPoP", await DpopKey.generate())).toBe(401);
    expect(await show("DPoP")).toBe(401);
  });
});

describe("real clients", () => {
  test("openid-client: private_key_jwt, PAR and DPoP", async () => {
    const of = await register({ dpop_bound_access_tokens: true }, "ES256");
    const authentication = oidc.PrivateKeyJwt({ key: of.privateKey, kid: "k1" });
    const config = await oidc.discovery(
      new URL(provider.issuer),
      of.clientId,
      { id_token_signed_response_alg: "ES256" },
      authentication,
      {
        execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
      },
    );
    const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const parameters = {
      ...{ redirect_uri: redirectUri, scope: "openid profile offline_access", code_challenge_method: "S256" },
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    };
    const url = await oidc.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
    expect([...url.searchParams.keys()].toSorted()).toEqual(["client_id", "request_uri"]);
    const { url: callback } = await person.browser().visit(url);
    const tokens = await oidc.authorizationCodeGrant(config, callback, { pkceCodeVerifier }, undefined, { DPoP });
    const userinfo = await oidc.fetchUserInfo(config, tokens.access_token, person.sub, { DPoP });
    expect(userinfo).toMatchObject({ name: "Pat Person" });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP });
    expect(refreshed.token_type).toBe("dpop");
  });

  test("openid-client: self-signed mutual TLS, PAR and certificate-bound tokens", async () => {
    const own = await selfSigned();
    const { kty, crv, x, y } = own.publicJwk;
    const { client_id } = await fixtures.client({
      ...application,
      token_endpoint_auth_method: "self_signed_tls_client_auth",
      tls_client_certificate_bound_access_tokens: true,
      jwks: { keys: [{ kty, crv, x, y, x5c: [own.x5c] }] },
    });
    const metadata = { use_mtls_endpoint_aliases: true, id_token_signed_response_alg: "ES256" };
    const config = await oidc.discovery(new URL(provider.issuer), client_id, metadata, oidc.TlsClientAuth(), {
      execute: [oidc.allowInsecureRequests],
    });
    config[oidc.customFetch] = fetchWithCertificate(proxy, own) as oidc.CustomFetch;
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const url = await oidc.buildAuthorizationUrlWithPAR(config, {
      ...{ redirect_uri: redirectUri, scope: "openid profile offline_access", code_challenge_method: "S256" },
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    });
    const { url: callback } = await person.browser().visit(url);
    const tokens = await oidc.authorizationCodeGrant(config, callback, { pkceCodeVerifier });
    expect(claimsOf(tokens.access_token)["cnf"]).toEqual({ "x5t#S256": own.thumbprint });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
  });

  test.each(["PS256", "ES256"])("oauth4webapi: private_key_jwt, PAR and DPoP, with %s", async (alg) => {
    const of = await register({ id_token_signed_response_alg: alg }, alg);
    const issuer = new URL(provider.issuer);
    const insecure = { [oauth.allowInsecureRequests]: true } as const;
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const self: oauth.Client = { client_id: of.clientId, id_token_signed_response_alg: alg };
    const authentication = oauth.PrivateKeyJwt({ key: of.privateKey, kid: "k1" });
    const options = { DPoP: oauth.DPoP(self, await oauth.generateKeyPair(alg)), ...insecure };
    const [codeVerifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
    const parameters = {
      ...{ response_type: "code", redirect_uri: redirectUri, scope: "openid profile offline_access", state },
      ...{ code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier), code_challenge_method: "S256" },
    };
    const pushed = await oauth.pushedAuthorizationRequest(as, self, authentication, parameters, options);
    const { request_uri } = await oauth.processPushedAuthorizationResponse(as, self, pushed);
    const { url: callback } = await person.browser().visit(authorizationUrl(request_uri, {}, of));
    const validated = oauth.validateAuthResponse(as, self, callback, state);
    const response = await oauth.authorizationCodeGrantRequest(
      ...([as, self, authentication, validated, redirectUri, codeVerifier, options] as const),
    );
    const tokens = await oauth.processAuthorizationCodeResponse(as, self, response, { requireIdToken: true });
    await oauth.validateApplicationLevelSignature(as, response, insecure);
    expect([tokens.token_type, headerOf(tokens.id_token!)["alg"]]).toEqual(["dpop", alg]);
    const userinfo = await oauth.userInfoRequest(as, self, tokens.access_token, options);
    expect(await oauth.processUserInfoResponse(as, self, person.sub, userinfo)).toMatchObject({ name: "Pat Person" });
    const refresh = await oauth.refreshTokenGrantRequest(as, self, authentication, tokens.refresh_token!, options);
    const refreshed = await oauth.processRefreshTokenResponse(as, self, refresh);
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
  });

  test("oauth4webapi: private_key_jwt and DPoP", async () => {
    const issuer = new URL(provider.issuer);
    const insecure = { [oauth.allowInsecureRequests]: true } as const;
    const discovery = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
    const as = await oauth.processDiscoveryResponse(issuer, discovery);
    const of: oauth.Client = { client_id: client.clientId };
    const DPoP = oauth.DPoP(of, await oauth.generateKeyPair("ES256"));
    const authentication = oauth.PrivateKeyJwt({ key: client.privateKey, kid: "k1" });
    const options = { DPoP, ...insecure };
    const response = await oauth.clientCredentialsGrantRequest(as, of, authentication, { scope: "read" }, options);
    const { token_type } = await oauth.processClientCredentialsResponse(as, of, response);
    expect(token_type).toBe("dpop");
  });
});
