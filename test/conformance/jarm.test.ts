import {
  compactDecrypt,
  createRemoteJWKSet,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";
import * as oidc from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { DpopKey } from "../fixtures/dpop-key.ts";
import { Application, readAuthorizationResponse, redirectUri } from "./fixtures/application.ts";
import { claimsOf, grantTypes, headerOf, type TestClient } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** Authorization responses in JWT form, encryption for clients, and FAPI 2.0 Message Signing. */
const keys = createRemoteJWKSet(new URL(`${provider.origin}/jwks`));

type Fields = Readonly<Record<string, string>>;

let person: RegisteredPerson;

beforeAll(async () => {
  person = await registerPerson(fixtures, { name: "Pat Person", email: "pat@example.com" });
});

interface Answered {
  /** The `response` parameter, which is the only one. */
  readonly response: string;
  readonly claims: JWTPayload;
}

/** The response to a request in one of the modes of JARM, from the place determined by the mode. */
async function authorize(application: Application, mode: string, more: Fields = {}): Promise<Answered> {
  const url = application.authorizationUrl({ response_mode: mode, state: "the state", prompt: "consent", ...more });
  const arrival = await person.browser().visit(url);
  const plain = mode === "jwt" ? "query" : mode.replace(".jwt", "");
  const parameters = readAuthorizationResponse(arrival, plain);
  expect([...parameters.keys()]).toEqual(["response"]);
  const response = parameters.get("response")!;
  return { response, claims: response.split(".").length === 3 ? claimsOf(response) : {} };
}

function verify(response: string, audience: string) {
  return jwtVerify(response, keys, { issuer: provider.issuer, audience });
}

describe("JARM §2: authorization responses in JWT form", () => {
  test.each(["jwt", "query.jwt", "fragment.jwt", "form_post.jwt"])("§2.3: response_mode %s", async (mode) => {
    const application = await Application.register(fixtures);
    const { response } = await authorize(application, mode);
    const { payload, protectedHeader } = await verify(response, application.client.client_id);
    expect(protectedHeader.alg).toBe("RS256");
    expect(payload).toMatchObject({ iss: provider.issuer, aud: application.client.client_id, state: "the state" });
    expect(payload.exp! - Date.now() / 1000).toBeLessThanOrEqual(600);
    expect(payload.exp! - Date.now() / 1000).toBeGreaterThan(30);
    const code = new URLSearchParams({ code: String(payload["code"]) });
    expect((await application.redeem({ authorizationResponse: code })).status).toBe(200);
  });

  test("§2.1: errors are sent in the same form", async () => {
    const application = await Application.register(fixtures);
    const { response } = await authorize(application, "form_post.jwt", { scope: "beyond" });
    const { payload } = await verify(response, application.client.client_id);
    expect(payload).toMatchObject({ error: "invalid_scope", state: "the state" });
    expect(payload).not.toHaveProperty("code");
  });

  test.each(["ES256", "RS256", "EdDSA", "PS256"])("§3: authorization_signed_response_alg %s", async (alg) => {
    const application = await Application.register(fixtures, { authorization_signed_response_alg: alg });
    const { response } = await authorize(application, "jwt");
    expect(headerOf(response)["alg"]).toBe(alg);
    await verify(response, application.client.client_id);
  });

  test("§4.2: the response for one client is not for another", async () => {
    const [first, second] = await Promise.all([Application.register(fixtures), Application.register(fixtures)]);
    const { response, claims } = await authorize(first, "jwt");
    expect(claims.aud).toBe(first.client.client_id);
    await expect(verify(response, second.client.client_id)).rejects.toThrow();
    const stolen = new URLSearchParams({ code: String(claims["code"]) });
    expect((await second.redeem({ authorizationResponse: stolen })).body["error"]).toBe("invalid_grant");
  });

  test("key confusion: a signed response is not accepted as any token of this provider", async () => {
    const application = await Application.register(fixtures);
    const { response } = await authorize(application, "jwt");
    expect(headerOf(response)["typ"]).toBeUndefined();
    expect((await fixtures.userinfo(response)).status).toBe(401);
    expect((await fixtures.introspect(application.client, response)).body).toEqual({ active: false });
    const exchanger = await fixtures.exchanger();
    for (const type of ["access_token", "id_token", "jwt"]) {
      const fields = { subject_token_type: `urn:ietf:params:oauth:token-type:${type}` };
      expect((await fixtures.exchange(exchanger, response, fields)).status).toBe(400);
    }
    const assertion = { grant_type: grantTypes.jwtBearer, assertion: response };
    expect((await fixtures.token(await fixtures.asserter(), assertion)).body["error"]).toBe("invalid_grant");
  });

  test("§4: metadata", async () => {
    const metadata = (await (await fetch(`${provider.origin}/.well-known/openid-configuration`)).json()) as object;
    expect(metadata).toMatchObject({
      response_modes_supported: ["query", "fragment", "form_post", "jwt", "query.jwt", "fragment.jwt", "form_post.jwt"],
      authorization_signing_alg_values_supported: ["ES256", "RS256", "EdDSA", "PS256"],
      authorization_encryption_alg_values_supported: ["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"],
      authorization_encryption_enc_values_supported: ["A128CBC-HS256", "A256CBC-HS512", "A128GCM", "A256GCM"],
      id_token_encryption_alg_values_supported: ["RSA-OAEP-256", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW"],
      userinfo_encryption_enc_values_supported: ["A128CBC-HS256", "A256CBC-HS512", "A128GCM", "A256GCM"],
    });
  });
});

const algorithms = [
  ["RSA-OAEP-256", undefined, {}],
  ["RSA-OAEP-256", "A256GCM", {}],
  ["ECDH-ES", "A128GCM", { crv: "P-256" }],
  ["ECDH-ES+A128KW", "A256CBC-HS512", { crv: "P-384" }],
  ["ECDH-ES+A256KW", "A256GCM", { crv: "X25519" }],
] as const;

describe("JARM §2.2, OIDC Core §10.2: encryption", () => {
  test.each(algorithms)("%s with %s: ID token, UserInfo and authorization response", async (alg, enc, options) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, ...options });
    const { publicKey: signing } = await generateKeyPair("ES256", { extractable: true });
    const jwks = {
      keys: [
        { ...(await exportJWK(signing)), kid: "sig", use: "sig" },
        { ...(await exportJWK(publicKey)), kid: "enc", use: "enc", alg },
      ],
    };
    const members = ["id_token", "userinfo", "authorization"].flatMap((purpose) => [
      [`${purpose}_encrypted_response_alg`, alg],
      ...(enc === undefined ? [] : [[`${purpose}_encrypted_response_enc`, enc]]),
    ]);
    const metadata = { ...(Object.fromEntries(members) as Fields), jwks, userinfo_signed_response_alg: "ES256" };
    const application = await Application.register(fixtures, metadata);
    const { client_id } = application.client;
    const open = async (jwe: string) => {
      const { plaintext, protectedHeader } = await compactDecrypt(jwe, privateKey);
      expect(protectedHeader).toMatchObject({ alg, enc: enc ?? "A128CBC-HS256", cty: "JWT", kid: "enc" });
      return (await verify(new TextDecoder().decode(plaintext), client_id)).payload;
    };
    const { response } = await authorize(application, "jwt", { scope: "openid email" });
    const answered = await open(response);
    const code = new URLSearchParams({ code: String(answered["code"]) });
    const { body } = await application.redeem({ authorizationResponse: code });
    expect(await open(String(body["id_token"]))).toMatchObject({ sub: person.sub });
    const userinfo = await fixtures.userinfo(String(body["access_token"]));
    expect(userinfo.headers.get("content-type")).toBe("application/jwt");
    expect(await open(await userinfo.text())).toMatchObject({ sub: person.sub, email: "pat@example.com" });
  });

  test("OIDC Core §5.3.2: encrypted UserInfo that is not signed contains the claims", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ECDH-ES", { extractable: true });
    const jwks = { keys: [await exportJWK(publicKey)] };
    const application = await Application.register(fixtures, { jwks, userinfo_encrypted_response_alg: "ECDH-ES" });
    const { accessToken } = await application.signIn(person.browser(), { scope: "openid email", prompt: "consent" });
    const userinfo = await fixtures.userinfo(accessToken);
    expect(userinfo.headers.get("content-type")).toBe("application/jwt");
    const { plaintext, protectedHeader } = await compactDecrypt(await userinfo.text(), privateKey);
    expect(protectedHeader.cty).toBeUndefined();
    expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual({ sub: person.sub, email: "pat@example.com" });
  });

  test("OIDC Registration §2: registration requires a key for the algorithm, and alg with enc", async () => {
    const [rsa, ec] = await Promise.all([generateKeyPair("RSA-OAEP-256"), generateKeyPair("ES256")]);
    const [rsaKey, ecKey] = await Promise.all([exportJWK(rsa.publicKey), exportJWK(ec.publicKey)]);
    const status = async (metadata: Readonly<Record<string, unknown>>) =>
      (await fixtures.admin.call("POST", "/clients", { redirect_uris: [redirectUri], ...metadata })).status;
    const alg = { id_token_encrypted_response_alg: "RSA-OAEP-256" };
    expect(await status({ ...alg, jwks: { keys: [rsaKey] } })).toBe(201);
    expect(await status(alg)).toBe(400);
    expect(await status({ ...alg, jwks: { keys: [ecKey] } })).toBe(400);
    expect(await status({ ...alg, jwks: { keys: [{ ...rsaKey, use: "sig" }] } })).toBe(400);
    expect(await status({ id_token_encrypted_response_enc: "A128GCM", jwks: { keys: [rsaKey] } })).toBe(400);
    expect(await status({ userinfo_encrypted_response_alg: "RSA1_5", jwks: { keys: [rsaKey] } })).toBe(400);
    expect(await status({ userinfo_encrypted_response_alg: "dir", jwks: { keys: [rsaKey] } })).toBe(400);
  });
});

describe("FAPI 2.0 Message Signing", () => {
  const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const pkce = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };
  let client: TestClient;
  let privateKey: CryptoKey;

  beforeAll(async () => {
    const pair = await generateKeyPair("PS256", { extractable: true });
    privateKey = pair.privateKey;
    client = await fixtures.client({
      security_profile: "fapi2_message_signing",
      token_endpoint_auth_method: "private_key_jwt",
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      response_types: ["code"],
      redirect_uris: [redirectUri],
      scope: "openid offline_access read",
      jwks: { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "k1" }] },
    });
  });

  function sign(claims: JWTPayload, typ?: string): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: "PS256", kid: "k1", ...(typ && { typ }) }).sign(privateKey);
  }

  async function authentication(): Promise<Fields> {
    const now = Math.floor(Date.now() / 1000);
    const { client_id: id } = client;
    const claims = { iss: id, sub: id, aud: provider.issuer, iat: now, exp: now + 60, jti: crypto.randomUUID() };
    return { client_assertion_type: assertionType, client_assertion: await sign(claims) };
  }

  const now = () => Math.floor(Date.now() / 1000);
  const usual = () => ({
    ...{ iss: client.client_id, client_id: client.client_id, aud: provider.issuer, nbf: now(), exp: now() + 300 },
    ...{ response_type: "code", redirect_uri: redirectUri, scope: "openid", state: "s", ...pkce },
  });

  async function push(claims: Readonly<Record<string, unknown>> = {}) {
    const request = await sign({ ...usual(), ...claims }, "oauth-authz-req+jwt");
    return postForm(`${provider.origin}/par`, { ...(await authentication()), request });
  }

  async function respond(claims: Readonly<Record<string, unknown>> = {}): Promise<URL> {
    const { body } = await push(claims);
    const url = new URL(`${provider.issuer}/authorize`);
    const parameters = { client_id: client.client_id, request_uri: String(body["request_uri"]) };
    url.search = new URLSearchParams(parameters).toString();
    return (await person.browser().visit(url)).url;
  }

  test("§5.3: an unsigned request is refused", async () => {
    const { iss: _, aud: __, nbf: ___, exp: ____, ...parameters } = usual();
    const { status, body } = await postForm(`${provider.origin}/par`, { ...(await authentication()), ...parameters });
    expect([status, body["error"]]).toEqual([400, "invalid_request"]);
  });

  const faults: readonly (readonly [string, () => Readonly<Record<string, unknown>>])[] = [
    ["no aud", () => ({ aud: undefined })],
    ["another aud", () => ({ aud: "https://other.example" })],
    ["no nbf", () => ({ nbf: undefined })],
    ["nbf more than an hour ago", () => ({ nbf: now() - 3700, exp: now() + 60 })],
    ["no exp", () => ({ exp: undefined })],
    ["exp more than an hour after nbf", () => ({ exp: now() + 3700 })],
    ["exp past", () => ({ nbf: now() - 120, exp: now() - 60 })],
    ["another client_id", () => ({ client_id: "other" })],
  ];

  test.each(faults)("§5.3: refuses a request object with %s", async (_, claims) => {
    const { status, body } = await push(claims());
    expect([status, body["error"]]).toEqual([400, "invalid_request_object"]);
  });

  test("§5.3: aud may be a list with the issuer", async () => {
    expect((await push({ aud: [provider.issuer, "https://other.example"] })).status).toBe(201);
  });

  test("§5.4: the response is signed by ES256 without a response_mode, and a mode without jwt is refused", async () => {
    const url = await respond();
    expect([...url.searchParams.keys()]).toEqual(["response"]);
    const { payload, protectedHeader } = await verify(url.searchParams.get("response")!, client.client_id);
    expect([protectedHeader.alg, payload["state"]]).toEqual(["ES256", "s"]);
    const key = await DpopKey.generate();
    const fields = {
      ...{ grant_type: "authorization_code", code: String(payload["code"]), code_verifier: verifier },
      redirect_uri: redirectUri,
    };
    const headers = { DPoP: await key.proof("POST", `${provider.issuer}/token`) };
    const tokens = await postForm(`${provider.origin}/token`, { ...(await authentication()), ...fields }, headers);
    expect([tokens.status, tokens.body["token_type"]]).toEqual([200, "DPoP"]);
    expect((await push({ response_mode: "query" })).body["error"]).toBe("invalid_request");
    expect((await push({ response_mode: "form_post.jwt" })).status).toBe(201);
  });

  test("§5.5: introspection responses are signed by ES256 for callers that accept it", async () => {
    const key = await DpopKey.generate();
    const headers = { DPoP: await key.proof("POST", `${provider.issuer}/token`) };
    const fields = { ...(await authentication()), grant_type: "client_credentials", scope: "read" };
    const { body } = await postForm(`${provider.origin}/token`, fields, headers);
    const response = await fetch(`${provider.origin}/introspect`, {
      method: "POST",
      headers: { accept: "application/token-introspection+jwt" },
      body: new URLSearchParams({ ...(await authentication()), token: String(body["access_token"]) }),
    });
    const { payload, protectedHeader } = await verify(await response.text(), client.client_id);
    expect(protectedHeader).toMatchObject({ alg: "ES256", typ: "token-introspection+jwt" });
    expect(payload["token_introspection"]).toMatchObject({ active: true, cnf: { jkt: key.thumbprint } });
  });
});

describe("real clients", () => {
  test("openid-client: JARM, encrypted, with an encrypted ID token", async () => {
    const { publicKey, privateKey } = await generateKeyPair("RSA-OAEP-256", { extractable: true });
    const { client } = await Application.register(fixtures, {
      authorization_signed_response_alg: "ES256",
      authorization_encrypted_response_alg: "RSA-OAEP-256",
      id_token_signed_response_alg: "ES256",
      id_token_encrypted_response_alg: "RSA-OAEP-256",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "enc" }] },
    });
    const metadata = { id_token_signed_response_alg: "ES256", authorization_signed_response_alg: "ES256" };
    const authentication = oidc.ClientSecretBasic(client.client_secret);
    const config = await oidc.discovery(new URL(provider.issuer), client.client_id, metadata, authentication, {
      execute: [oidc.allowInsecureRequests, oidc.useJwtResponseMode],
    });
    oidc.enableDecryptingResponses(config, undefined, { key: privateKey, kid: "enc" });
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const expectedState = oidc.randomState();
    const url = oidc.buildAuthorizationUrl(config, {
      ...{ redirect_uri: redirectUri, scope: "openid", prompt: "consent", state: expectedState },
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    });
    expect(url.searchParams.get("response_mode")).toBe("jwt");
    const { url: callback } = await person.browser().visit(url);
    const tokens = await oidc.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
    expect(tokens.claims()).toMatchObject({ sub: person.sub });
  });
});
