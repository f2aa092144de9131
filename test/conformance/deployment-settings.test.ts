/** **A provider behind a TLS proxy**: its issuer is a setting and never derived from a request. It is also strict about refresh tokens. */

import * as oidc from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { Application, allScopes, goodbye, redirectUri } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { claimsOf, ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { proxiedFetch } from "./fixtures/proxied-fetch.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";

const issuer = "https://op.example.com";

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let person: RegisteredPerson;
let proxied: typeof fetch;

beforeAll(async () => {
  provider = await startLocalProvider({ vars: { ISSUER: issuer, REFRESH_GRACE: "0", CLIENT_DOCUMENTS: "deny" } });
  fixtures = new ProviderFixtures(provider);
  proxied = proxiedFetch(issuer, provider.origin);
  application = await Application.register(fixtures);
  person = await registerPerson(fixtures, { name: "Pat Person" });
});

afterAll(() => provider.stop());

describe("behind a proxy that speaks TLS", () => {
  test("Discovery §3: every URL is the issuer's, regardless of the Host and forwarded headers", async () => {
    const misleading = {
      host: "evil.example.com",
      "x-forwarded-host": "evil.example.com",
      "x-forwarded-proto": "http",
    };
    const forwarded = { ...misleading, forwarded: "host=evil.example.com;proto=http" };
    const url = `${issuer}/.well-known/openid-configuration`;
    const asked = await readResponse(await proxied(url));
    const misled = await proxiedFetch(issuer, provider.origin, forwarded)(url, { redirect: "manual" });
    expect(asked.body["issuer"]).toBe(issuer);
    expect([misled.status, misled.headers.get("location")]).toEqual([302, url]);
    for (const [name, value] of Object.entries(asked.body)) {
      if (typeof value === "string" && URL.canParse(value)) expect(new URL(value).origin, name).toBe(issuer);
    }
  });

  test("openid-client, configured with https only, signs a user in, refreshes and signs the user out", async () => {
    const { client_id, client_secret } = application.client;
    const authentication = oidc.ClientSecretBasic(client_secret);
    const config = await oidc.discovery(new URL(issuer), client_id, undefined, authentication, {
      [oidc.customFetch]: proxied as oidc.CustomFetch,
    });
    config[oidc.customFetch] = proxied as oidc.CustomFetch;
    const verifier = oidc.randomPKCECodeVerifier();
    const state = oidc.randomState();
    const browser = person.browser(proxied);
    const { url, pages } = await browser.visit(
      oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: allScopes,
        prompt: "consent",
        state,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      }),
    );
    expect(pages).toEqual(["sign-in", "consent"]);
    expect(url.searchParams.get("iss")).toBe(issuer);
    const checks = { pkceCodeVerifier: verifier, expectedState: state, idTokenExpected: true };
    const tokens = await oidc.authorizationCodeGrant(config, url, checks);
    expect(tokens.claims()).toMatchObject({ iss: issuer, sub: person.sub });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(claimsOf(refreshed.access_token)).toMatchObject({ iss: issuer });
    expect(await oidc.fetchUserInfo(config, refreshed.access_token, person.sub)).toMatchObject({ name: "Pat Person" });
    const end = oidc.buildEndSessionUrl(config, {
      id_token_hint: tokens.id_token!,
      post_logout_redirect_uri: goodbye,
      state,
    });
    expect((await browser.visit(end)).url.href).toBe(`${goodbye}?state=${state}`);
  });

  test("RFC 6265bis §4.1.3: cookies are Secure, HttpOnly and __Host-; responses keep browsers on TLS", async () => {
    const browser = person.browser(proxied);
    const response = await browser.send(application.authorizationUrl());
    const cookies = response.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) {
      expect(cookie).toMatch(/^__Host-/);
      expect(cookie).toMatch(/; Path=\/;/);
      expect(cookie).toMatch(/; HttpOnly; SameSite=Lax; Secure$/);
      expect(cookie).not.toMatch(/Domain=/i);
    }
    expect(response.headers.get("strict-transport-security")).toContain("max-age=31536000");
    // Relative to the browser's location, without a host that a request could have named.
    expect(response.headers.get("location")).toMatch(/^\/flow\//);
  });

  test("RFC 7523 §3, OIDC Core §9: an assertion for this issuer is accepted; one for the socket's address is not", async () => {
    const asserter = await fixtures.asserter({ token_endpoint_auth_method: "private_key_jwt" });
    const authenticate = async (aud: string) =>
      proxied(`${issuer}/token`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "client_credentials",
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          client_assertion: await fixtures.assertion(asserter, asserter.client_id, { aud }),
        }),
      });
    expect((await authenticate(issuer)).status).toBe(200);
    expect((await authenticate(provider.origin)).status).toBe(401);
    expect((await authenticate("https://evil.example.com")).status).toBe(401);
  });

  test("RFC 9700 §4.11: with a public issuer, clients cannot have URLs on private hosts", async () => {
    for (const uri of [
      "http://127.0.0.1:9000/",
      "https://localhost/",
      "https://10.0.0.1/",
      "http://app.example.com/",
    ]) {
      const response = await fixtures.admin.call("POST", "/clients", {
        grant_types: ["authorization_code"],
        response_types: ["code"],
        redirect_uris: [redirectUri],
        scope: "openid",
        backchannel_logout_uri: uri,
      });
      expect([response.status, response.body["error"]], uri).toEqual([400, "invalid_client_metadata"]);
    }
  });
});

describe("CLIENT_DOCUMENTS=deny", () => {
  test("ADR 47: discovery advertises metadata documents while an administrator admits a host", async () => {
    const isSupported = async () => {
      const { body } = await readResponse(await proxied(`${issuer}/.well-known/oauth-authorization-server`));
      return body["client_id_metadata_document_supported"];
    };
    const path = "/client-document-hosts/agent.example.com";
    expect(await isSupported()).toBeUndefined();
    await fixtures.admin.require("PUT", path, { policy: "ask" });
    expect(await isSupported()).toBe(true);
    await fixtures.admin.require("PUT", path, { policy: "deny" });
    expect(await isSupported()).toBeUndefined();
    await fixtures.admin.require("PUT", path, { policy: "allow" });
    expect(await isSupported()).toBe(true);
    await fixtures.admin.require("DELETE", path);
    expect(await isSupported()).toBeUndefined();
  });
});

describe("REFRESH_GRACE=0", () => {
  test("any second use is theft: no successor is returned twice, and the family ends", async () => {
    const { refreshToken } = await application.signIn(person.browser(proxied), { scope: allScopes, prompt: "consent" });
    const next = await application.readTokens(await application.refresh(refreshToken));
    expect((await application.refresh(refreshToken)).body["error"]).toBe("invalid_grant");
    expect((await application.refresh(next.refreshToken)).body["error"]).toBe("invalid_grant");
    expect((await fixtures.userinfo(next.accessToken)).status).toBe(401);
  });
});
