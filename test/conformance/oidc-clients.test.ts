/** **Real clients against the running Workers**: openid-client and oauth4webapi act and check responses like an application. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify } from "jose";
import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Person } from "../../packages/edge-op/testing/person.ts";
import type { TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const redirectUri = "https://app.example.com/callback";
const goodbye = "https://app.example.com/goodbye";
const password = "a long enough password";
const everything = "openid profile email offline_access";

let client: TestClient;
let sub: string;
let username: string;

beforeAll(async () => {
  username = `person-${crypto.randomUUID()}`;
  sub = await fixtures.user({ username, password, claims: { name: "Pat Person", email: "pat@example.com" } });
  client = await fixtures.client(applicationMetadata());
});

function applicationMetadata(more: Readonly<Record<string, unknown>> = {}) {
  return {
    client_name: "Conformance application",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [redirectUri],
    post_logout_redirect_uris: [goodbye],
    scope: everything,
    ...more,
  };
}

function newPerson(): Person {
  return new Person(provider.origin, { username, password });
}

function discover(as: TestClient = client): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(provider.issuer), as.client_id, undefined, oidc.ClientSecretBasic(as.client_secret), {
    execute: [oidc.allowInsecureRequests],
  });
}

interface Attempt {
  readonly config: oidc.Configuration;
  readonly parameters: Record<string, string>;
  readonly checks: oidc.AuthorizationCodeGrantChecks;
}

async function prepare(more: Readonly<Record<string, string>> = {}, as: TestClient = client): Promise<Attempt> {
  const verifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const nonce = oidc.randomNonce();
  const parameters = {
    redirect_uri: redirectUri,
    scope: "openid profile email",
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...more,
  };
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
  return { config: await discover(as), parameters, checks };
}

/** From the application to the person and back, by the redirect that `buildAuthorizationUrl` makes. */
async function signIn(person: Person, more: Readonly<Record<string, string>> = {}, as: TestClient = client) {
  const attempt = await prepare(more, as);
  const arrival = await person.visit(oidc.buildAuthorizationUrl(attempt.config, attempt.parameters));
  return { ...attempt, arrival };
}

async function signInWhole(person: Person, more: Readonly<Record<string, string>> = {}, as: TestClient = client) {
  const { config, checks, arrival } = await signIn(person, more, as);
  const tokens = await oidc.authorizationCodeGrant(config, arrival.url, checks);
  return { config, tokens, arrival, claims: tokens.claims()! };
}

describe("openid-client", () => {
  test("OIDC Core §3.1: code with PKCE, ID token, UserInfo", async () => {
    const { config, tokens, claims, arrival } = await signInWhole(newPerson());
    expect(arrival.pages).toEqual(["sign-in", "consent"]);
    expect(claims).toMatchObject({ iss: provider.issuer, sub, aud: client.client_id, acr: "urn:edge-op:acr:password" });
    expect(claims.auth_time).toBeTypeOf("number");
    expect(tokens.refresh_token).toBeUndefined();
    expect(await oidc.fetchUserInfo(config, tokens.access_token, sub)).toMatchObject({ sub, name: "Pat Person" });
  });

  test("OIDC Registration §3, OAuth 2.1 §7.5.2: a client that registers itself needs no PKCE, and checks its nonce", async () => {
    const options = { execute: [oidc.allowInsecureRequests] };
    const metadata = { redirect_uris: [redirectUri], client_name: "Self-registered" };
    const config = await oidc.dynamicClientRegistration(
      new URL(provider.issuer),
      metadata,
      oidc.ClientSecretBasic(),
      options,
    );
    const [expectedState, expectedNonce] = [oidc.randomState(), oidc.randomNonce()];
    const parameters = { redirect_uri: redirectUri, scope: "openid email", state: expectedState, nonce: expectedNonce };
    const person = newPerson();
    const { url } = await person.visit(oidc.buildAuthorizationUrl(config, parameters));
    const tokens = await oidc.authorizationCodeGrant(config, url, { expectedState, expectedNonce });
    expect(tokens.claims()).toMatchObject({ sub, nonce: expectedNonce });
    // A verifier for a code without a challenge is refused, because somebody has removed the challenge from the request.
    const again = await person.visit(oidc.buildAuthorizationUrl(config, parameters));
    const checks = { expectedState, expectedNonce, pkceCodeVerifier: oidc.randomPKCECodeVerifier() };
    await expect(oidc.authorizationCodeGrant(config, again.url, checks)).rejects.toMatchObject({
      error: "invalid_grant",
    });
    const { nonce: _, ...without } = parameters;
    const refused = await person.visit(oidc.buildAuthorizationUrl(config, without));
    expect(refused.url.searchParams.get("error")).toBe("invalid_request");
  });

  test("OAuth form post §2", async () => {
    const { config, checks, arrival } = await signIn(newPerson(), { response_mode: "form_post" });
    expect(arrival.body?.get("code")).toBeTruthy();
    const request = new Request(arrival.url, { method: "POST", body: arrival.body! });
    expect((await oidc.authorizationCodeGrant(config, request, checks)).claims()?.sub).toBe(sub);
  });

  test("RFC 9126: pushed", async () => {
    const { config, parameters, checks } = await prepare();
    const url = await oidc.buildAuthorizationUrlWithPAR(config, parameters);
    expect([...url.searchParams.keys()].sort()).toEqual(["client_id", "request_uri"]);
    const { url: back } = await newPerson().visit(url);
    expect((await oidc.authorizationCodeGrant(config, back, checks)).claims()?.sub).toBe(sub);
  });

  test("RFC 9101: in a signed request object", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "signing", alg: "ES256" };
    const signer = await fixtures.client(applicationMetadata({ jwks: { keys: [jwk] } }));
    const { config, parameters, checks } = await prepare({}, signer);
    const url = await oidc.buildAuthorizationUrlWithJAR(config, parameters, { key: privateKey, kid: "signing" });
    expect(url.searchParams.get("request")).toBeTruthy();
    const { url: back } = await newPerson().visit(url);
    expect((await oidc.authorizationCodeGrant(config, back, checks)).claims()?.sub).toBe(sub);
  });

  test("OIDC Core §11, §12: offline_access, and a refresh that keeps subject and sign-in time", async () => {
    const { config, tokens, claims } = await signInWhole(newPerson(), { scope: everything, prompt: "consent" });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
    expect(refreshed.claims()).toMatchObject({ sub, auth_time: claims.auth_time });
    expect(await oidc.fetchUserInfo(config, refreshed.access_token, sub)).toMatchObject({ email: "pat@example.com" });
  });

  test("OIDC Core §3.1.2.1: prompt=none, both ways", async () => {
    const person = newPerson();
    const refused = await signIn(person, { prompt: "none" });
    await expect(
      oidc.authorizationCodeGrant(refused.config, refused.arrival.url, refused.checks),
    ).rejects.toMatchObject({
      error: "login_required",
    });
    await signInWhole(person);
    const { arrival, claims } = await signInWhole(person, { prompt: "none" });
    expect(arrival.pages).toEqual([]);
    expect(claims.sub).toBe(sub);
  });

  test("OIDC Core §3.1.2.1: max_age=0 requires a new sign-in and returns auth_time", async () => {
    const person = newPerson();
    await signInWhole(person);
    const { config, checks, arrival } = await signIn(person, { max_age: "0" });
    expect(arrival.pages).toEqual(["sign-in"]);
    const tokens = await oidc.authorizationCodeGrant(config, arrival.url, { ...checks, maxAge: 0 });
    expect(tokens.claims()?.auth_time).toBeTypeOf("number");
  });

  test("OIDC Core §5.5: individually requested claims are in the ID token and at UserInfo", async () => {
    const asked = { id_token: { email: { essential: true } }, userinfo: { name: null } };
    const { config, tokens, claims } = await signInWhole(newPerson(), {
      scope: "openid",
      claims: JSON.stringify(asked),
    });
    expect(claims.email).toBe("pat@example.com");
    const userinfo = await oidc.fetchUserInfo(config, tokens.access_token, sub);
    expect(userinfo).toMatchObject({ sub, name: "Pat Person" });
    expect(userinfo.email).toBeUndefined();
  });

  test("RP-Initiated Logout §2: signed out, returned, and no longer signed in silently", async () => {
    const person = newPerson();
    const { config, tokens } = await signInWhole(person);
    const url = oidc.buildEndSessionUrl(config, {
      id_token_hint: tokens.id_token!,
      post_logout_redirect_uri: goodbye,
      state: "the-end",
    });
    expect((await person.visit(url)).url.href).toBe(`${goodbye}?state=the-end`);
    expect((await signIn(person, { prompt: "none" })).arrival.url.searchParams.get("error")).toBe("login_required");
  });
});

describe("Back-Channel Logout", () => {
  let receiver: Server;
  const received: string[] = [];

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        received.push(body);
        response.writeHead(200).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  });

  afterAll(() => new Promise((resolve) => receiver.close(resolve)));

  test("§2.4–2.7: each client of the session is notified, tokens of the session end, offline ones are kept", async () => {
    const { port } = receiver.address() as AddressInfo;
    const backchannel = {
      backchannel_logout_uri: `http://127.0.0.1:${port}/`,
      backchannel_logout_session_required: true,
    };
    const told = await fixtures.client(applicationMetadata(backchannel));
    const person = newPerson();
    const online = await signInWhole(person, {}, told);
    const offline = await signInWhole(person, { scope: everything, prompt: "consent" }, told);
    const other = await signInWhole(person);
    const url = oidc.buildEndSessionUrl(other.config, {
      id_token_hint: other.tokens.id_token!,
      post_logout_redirect_uri: goodbye,
    });
    await person.visit(url);

    await expect.poll(() => received.length, { timeout: 10_000 }).toBe(1);
    const token = new URLSearchParams(received[0]).get("logout_token")!;
    const jwks = createRemoteJWKSet(new URL(`${provider.origin}/jwks`));
    const { payload } = await jwtVerify(token, jwks, {
      issuer: provider.issuer,
      audience: told.client_id,
      typ: "logout+jwt",
    });
    expect(payload).toMatchObject({ sub, sid: online.claims.sid });
    expect(payload.events).toEqual({ "http://schemas.openid.net/event/backchannel-logout": {} });
    expect(payload.nonce).toBeUndefined();

    await expect
      .poll(async () => (await fixtures.userinfo(online.tokens.access_token)).status, { timeout: 10_000 })
      .toBe(401);
    const refreshed = await oidc.refreshTokenGrant(offline.config, offline.tokens.refresh_token!);
    expect((await fixtures.userinfo(refreshed.access_token)).status).toBe(200);
  });
});

describe("oauth4webapi", () => {
  test("RFC 6749 §4.1, RFC 9207: code with PKCE and iss, UserInfo, refresh", async () => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(provider.issuer);
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const self: oauth.Client = { client_id: client.client_id };
    const authentication = oauth.ClientSecretBasic(client.client_secret);
    const verifier = oauth.generateRandomCodeVerifier();
    const nonce = oauth.generateRandomNonce();
    const state = oauth.generateRandomState();
    const url = new URL(server.authorization_endpoint!);
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: "code",
      scope: everything,
      prompt: "consent",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      nonce,
      state,
    }).toString();
    const { url: back } = await newPerson().visit(url);
    const parameters = oauth.validateAuthResponse(server, self, back, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      self,
      authentication,
      parameters,
      redirectUri,
      verifier,
      insecure,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, self, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(server, response, insecure);
    expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(sub);
    const userinfo = await oauth.userInfoRequest(server, self, tokens.access_token, insecure);
    expect(await oauth.processUserInfoResponse(server, self, sub, userinfo)).toMatchObject({ name: "Pat Person" });
    const refresh = await oauth.refreshTokenGrantRequest(server, self, authentication, tokens.refresh_token!, insecure);
    expect((await oauth.processRefreshTokenResponse(server, self, refresh)).access_token).toBeTruthy();
  });
});
