/**
 * **An application without a secret, built on oauth4webapi**: one key signs its assertions and requests, responses to it are signed, and the library
 * checks each response as the specifications require.
 */

import { exportJWK, generateKeyPair } from "jose";
import * as oauth from "oauth4webapi";
import { beforeAll, describe, expect, test } from "vitest";
import type { Arrival } from "../../packages/edge-op/testing/person.ts";
import { allScopes, applicationMetadata, goodbye, redirectUri } from "./fixtures/application.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const insecure = { [oauth.allowInsecureRequests]: true } as const;

let server: oauth.AuthorizationServer;
let client: oauth.Client;
let key: oauth.PrivateKey;
let authentication: oauth.ClientAuth;
let person: RegisteredPerson;

beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" };
  key = { key: privateKey, kid: "k1" };
  authentication = oauth.PrivateKeyJwt(key);
  const registered = await fixtures.client(
    applicationMetadata({
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [jwk] },
      require_pkce: true,
      require_signed_request_object: true,
      id_token_signed_response_alg: "ES256",
      userinfo_signed_response_alg: "ES256",
    }),
  );
  client = {
    client_id: registered.client_id,
    id_token_signed_response_alg: "ES256",
    userinfo_signed_response_alg: "ES256",
  };
  const issuer = new URL(provider.issuer);
  server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  person = await registerPerson(fixtures, { name: "Pat Person" });
});

interface Expected {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

async function newRequest(more: Readonly<Record<string, string>> = {}) {
  const state = oauth.generateRandomState();
  const nonce = oauth.generateRandomNonce();
  const verifier = oauth.generateRandomCodeVerifier();
  const parameters = new URLSearchParams({
    response_type: "code",
    redirect_uri: redirectUri,
    scope: "openid profile",
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...more,
  });
  const request = await oauth.issueRequestObject(server, client, parameters, key);
  return { request, expected: { state, nonce, verifier } };
}

async function push(more: Readonly<Record<string, string>> = {}) {
  const { request, expected } = await newRequest(more);
  const response = await oauth.pushedAuthorizationRequest(
    server,
    client,
    authentication,
    new URLSearchParams({ request }),
    insecure,
  );
  const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, response);
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({ client_id: client.client_id, request_uri }).toString();
  return { url, expected };
}

async function redeem({ url, body }: Arrival, { state, nonce, verifier }: Expected) {
  const authorizationResponse = oauth.validateAuthResponse(server, client, body ?? url, state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    authorizationResponse,
    redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, response, insecure);
  return tokens;
}

describe("oauth4webapi with private_key_jwt", () => {
  test("RFC 9101: a signed request in the URL, by form post, with signed UserInfo", async () => {
    const { request, expected } = await newRequest({ response_mode: "form_post", max_age: "60" });
    const url = new URL(server.authorization_endpoint!);
    url.search = new URLSearchParams({ client_id: client.client_id, request }).toString();
    const arrival = await person.browser().visit(url);
    expect(arrival.body).toBeDefined();
    const tokens = await redeem(arrival, expected);
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: person.sub });
    const response = await oauth.userInfoRequest(server, client, tokens.access_token, insecure);
    expect(await oauth.processUserInfoResponse(server, client, person.sub, response)).toMatchObject({
      name: "Pat Person",
      aud: client.client_id,
    });
    await oauth.validateApplicationLevelSignature(server, response, insecure);
  });

  test("RFC 9126, RFC 9101 pushed; refresh, introspection, revocation; prompt=none both ways; logout", async () => {
    const browser = person.browser();
    const refused = await push({ prompt: "none" });
    const nobody = await browser.visit(refused.url);
    expect(() => oauth.validateAuthResponse(server, client, nobody.url, refused.expected.state)).toThrow(
      expect.objectContaining({ error: "login_required" }),
    );

    const { url, expected } = await push({ scope: allScopes, prompt: "consent" });
    const tokens = await redeem(await browser.visit(url), expected);
    const silent = await push({ prompt: "none" });
    const again = await redeem(await browser.visit(silent.url), silent.expected);
    expect(oauth.getValidatedIdTokenClaims(again)?.sub).toBe(person.sub);

    const response = await oauth.refreshTokenGrantRequest(
      server,
      client,
      authentication,
      tokens.refresh_token!,
      insecure,
    );
    const refreshed = await oauth.processRefreshTokenResponse(server, client, response);
    expect(await introspect(refreshed.access_token)).toMatchObject({ active: true, client_id: client.client_id });
    const revocation = await oauth.revocationRequest(
      server,
      client,
      authentication,
      refreshed.refresh_token!,
      insecure,
    );
    await oauth.processRevocationResponse(revocation);
    expect(await introspect(refreshed.access_token)).toEqual({ active: false });

    const end = new URL(server.end_session_endpoint!);
    end.search = new URLSearchParams({ id_token_hint: again.id_token!, post_logout_redirect_uri: goodbye }).toString();
    expect((await browser.visit(end)).url.href).toBe(goodbye);
  });
});

async function introspect(token: string) {
  const response = await oauth.introspectionRequest(server, client, authentication, token, insecure);
  return oauth.processIntrospectionResponse(server, client, response);
}
