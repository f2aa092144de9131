import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import { api, type KeyedClient, otherApi, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** Clients written by others, against the running provider: they perform the checks that a specification requires of a client. */
const http = { [oauth.allowInsecureRequests]: true } as const;

let service: TestClient;
let keyed: KeyedClient;
let asserter: KeyedClient;
let exchanger: TestClient;
let user: string;

beforeAll(async () => {
  service = await fixtures.client();
  keyed = await fixtures.asserter({ token_endpoint_auth_method: "private_key_jwt" });
  asserter = await fixtures.asserter();
  exchanger = await fixtures.exchanger();
  user = await fixtures.user({ claims: { email: "real@example.com" } });
});

function discover(client: TestClient, authentication?: oidc.ClientAuth): Promise<oidc.Configuration> {
  const method = authentication ?? oidc.ClientSecretBasic(client.client_secret);
  return oidc.discovery(new URL(provider.issuer), client.client_id, undefined, method, {
    execute: [oidc.allowInsecureRequests],
  });
}

describe("openid-client", () => {
  test("discovers the provider, by both well-known documents", async () => {
    const config = await discover(service);
    expect(config.serverMetadata()).toMatchObject({
      issuer: provider.issuer,
      token_endpoint: `${provider.issuer}/token`,
    });
    const byOauth = await oidc.discovery(new URL(provider.issuer), service.client_id, undefined, oidc.None(), {
      algorithm: "oauth2",
      execute: [oidc.allowInsecureRequests],
    });
    expect(byOauth.serverMetadata().issuer).toBe(provider.issuer);
  });

  test("client credentials by client_secret_basic, introspection, revocation, introspection", async () => {
    const config = await discover(service);
    const { access_token } = await oidc.clientCredentialsGrant(config, { scope: "read", resource: api });
    const before = await oidc.tokenIntrospection(config, access_token);
    expect(before).toMatchObject({ active: true, client_id: service.client_id, scope: "read", aud: api });
    await oidc.tokenRevocation(config, access_token);
    expect(await oidc.tokenIntrospection(config, access_token)).toEqual({ active: false });
  });

  test("client credentials by client_secret_post", async () => {
    const post = await fixtures.client({ token_endpoint_auth_method: "client_secret_post" });
    const config = await discover(post, oidc.ClientSecretPost(post.client_secret));
    const { token_type, expires_in } = await oidc.clientCredentialsGrant(config);
    expect([token_type, expires_in]).toEqual(["bearer", 3600]);
  });

  test("client credentials by private_key_jwt", async () => {
    const config = await discover(keyed, oidc.PrivateKeyJwt({ key: keyed.privateKey, kid: "k1" }));
    expect(await oidc.clientCredentialsGrant(config, { scope: "read" })).toMatchObject({ scope: "read" });
  });

  test("JWT bearer, UserInfo and token exchange", async () => {
    const config = await discover(asserter);
    const { access_token } = await oidc.genericGrantRequest(config, "urn:ietf:params:oauth:grant-type:jwt-bearer", {
      assertion: await fixtures.assertion(asserter, user),
      scope: "openid email read",
    });
    expect(await oidc.fetchUserInfo(config, access_token, user)).toEqual({ sub: user, email: "real@example.com" });
    const exchanged = await oidc.genericGrantRequest(
      await discover(exchanger),
      "urn:ietf:params:oauth:grant-type:token-exchange",
      new URLSearchParams([
        ["subject_token", access_token],
        ["subject_token_type", "urn:ietf:params:oauth:token-type:access_token"],
        ["audience", otherApi],
        ["scope", "read"],
      ]),
    );
    expect(exchanged).toMatchObject({
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      scope: "read",
    });
  });

  test("a refusal is read as the right error", async () => {
    const config = await discover(service, oidc.ClientSecretBasic("wrong"));
    await expect(oidc.clientCredentialsGrant(config)).rejects.toMatchObject({
      cause: [{ scheme: "basic", parameters: { realm: "oauth" } }],
    });
    const good = await discover(service);
    await expect(oidc.clientCredentialsGrant(good, { scope: "beyond" })).rejects.toMatchObject({
      error: "invalid_scope",
    });
  });
});

describe("oauth4webapi", () => {
  async function server(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(provider.issuer);
    return oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...http }),
    );
  }

  test("client credentials; RFC 9068 validation of the access token as a resource server does it", async () => {
    const as = await server();
    const client: oauth.Client = { client_id: service.client_id };
    const authentication = oauth.ClientSecretBasic(service.client_secret);
    const response = await oauth.clientCredentialsGrantRequest(as, client, authentication, { scope: "read" }, http);
    const { access_token } = await oauth.processClientCredentialsResponse(as, client, response);
    const request = new Request(api, { headers: { authorization: `Bearer ${access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, api, http);
    expect(claims).toMatchObject({ client_id: service.client_id, scope: "read", sub: service.client_id });
    await expect(oauth.validateJwtAccessToken(as, request, otherApi, http)).rejects.toThrow();
  });

  test("RFC 9701: a signed introspection response, its signature checked against /jwks", async () => {
    const as = await server();
    const client: oauth.Client = { client_id: service.client_id, require_signed_request_object: false };
    const authentication = oauth.ClientSecretBasic(service.client_secret);
    const token = await fixtures.clientToken(service);
    const response = await oauth.introspectionRequest(as, client, authentication, token, {
      requestJwtResponse: true,
      ...http,
    });
    const result = await oauth.processIntrospectionResponse(as, client, response);
    expect(result).toMatchObject({ active: true, client_id: service.client_id });
    await oauth.validateApplicationLevelSignature(as, response, http);
  });

  test("OIDC Core §5.3.2: a signed UserInfo response, its signature checked against /jwks", async () => {
    const as = await server();
    const signer = await fixtures.asserter({ userinfo_signed_response_alg: "RS256" });
    const client: oauth.Client = { client_id: signer.client_id, userinfo_signed_response_alg: "RS256" };
    const token = await fixtures.userToken(signer, user);
    const response = await oauth.userInfoRequest(as, client, token, http);
    const claims = await oauth.processUserInfoResponse(as, client, user, response);
    expect(claims.sub).toBe(user);
    await oauth.validateApplicationLevelSignature(as, response, http);
  });

  test("UserInfo with a revoked token: the challenge is understood", async () => {
    const as = await server();
    const client: oauth.Client = { client_id: asserter.client_id };
    const token = await fixtures.userToken(asserter, user);
    const revocation = await oauth.revocationRequest(
      as,
      client,
      oauth.ClientSecretBasic(asserter.client_secret),
      token,
      http,
    );
    await oauth.processRevocationResponse(revocation);
    const response = await oauth.userInfoRequest(as, client, token, http);
    await expect(oauth.processUserInfoResponse(as, client, user, response)).rejects.toMatchObject({
      cause: [{ scheme: "bearer", parameters: { error: "invalid_token" } }],
    });
  });
});
