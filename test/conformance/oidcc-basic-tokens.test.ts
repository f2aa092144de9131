/**
 * **The checks of the certification suites of Basic OP and Form Post OP at the token and UserInfo endpoints**, by their modules' names, after an
 * authorization in each response mode.
 *
 * @see https://openid.net/certification/op_testing/
 */

import { createHash, randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { Application, allScopes, redirectUri, type Tokens } from "./fixtures/application.ts";
import { api, claimsOf, headerOf, otherApi } from "./fixtures/provider-fixtures.ts";
import { everyClaim, type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** With a verified address, which only one user may have. */
let person: RegisteredPerson;

beforeAll(async () => {
  person = await registerPerson(fixtures, everyClaim);
});

async function userinfo(accessToken: string): Promise<Record<string, unknown>> {
  const { status, body, text } = await readResponse(await fixtures.userinfo(accessToken));
  if (status !== 200) throw new Error(`userinfo: ${status} ${text}`);
  return body;
}

describe.each([
  ["Basic OP", {}],
  ["Form Post OP", { response_mode: "form_post" }],
])("%s, tokens and claims", (_profile, usual) => {
  let application: Application;
  let browser: Person;
  let tokens: Tokens;

  beforeAll(async () => {
    application = await Application.register(fixtures, {}, usual);
    browser = person.browser();
    tokens = await application.signIn(browser);
  });

  test("oidcc-server, OIDC Core §3.1.3.3: the token response, which is not cached", () => {
    const { body, headers } = tokens.response;
    expect(body).toMatchObject({ token_type: "Bearer", scope: "openid", expires_in: expect.any(Number) });
    expect(body).not.toHaveProperty("refresh_token");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toMatch(/^application\/json/);
  });

  test("oidcc-server, OIDC Core §2, §3.1.3.6: the ID token's claims, and at_hash", () => {
    const { claims, accessToken } = tokens;
    const now = Date.now() / 1000;
    expect(claims).toMatchObject({ iss: provider.issuer, sub: person.sub, aud: application.client.client_id });
    expect(claims["azp"]).toBe(application.client.client_id);
    expect(claims.sub!.length).toBeLessThanOrEqual(255);
    expect(Math.abs(claims.iat! - now)).toBeLessThan(60);
    expect(claims.exp).toBeGreaterThan(now);
    expect(claims.auth_time).toBeLessThanOrEqual(claims.iat!);
    const digest = createHash("sha256").update(accessToken).digest();
    expect(claims["at_hash"]).toBe(digest.subarray(0, 16).toString("base64url"));
  });

  test("idtoken-signature, OIDC Core §2, §10.1: RS256 by default, its key named by kid among the published ones", async () => {
    const { alg, kid } = headerOf(tokens.idToken);
    expect(alg).toBe("RS256");
    const { body } = await readResponse(await fetch(`${provider.origin}/jwks`));
    expect(body["keys"]).toContainEqual(expect.objectContaining({ kid, alg, kty: "RSA", use: "sig" }));
  });

  test("OIDC Core §3.1.3.7: the algorithm that the client registered", async () => {
    for (const alg of ["ES256", "EdDSA"]) {
      const other = await Application.register(fixtures, { id_token_signed_response_alg: alg }, usual);
      expect(headerOf((await other.signIn(browser)).idToken)["alg"]).toBe(alg);
    }
  });

  test("nonce, OIDC Core §3.1.3.7: is returned unchanged; a request without one gets a token without one", async () => {
    const withNonce = await application.signIn(browser, { nonce: "ünïcode & +/= 100%" });
    expect(withNonce.claims["nonce"]).toBe("ünïcode & +/= 100%");
    expect((await application.signIn(browser, { nonce: undefined })).claims).not.toHaveProperty("nonce");
  });

  test("userinfo-get, userinfo-post-header, userinfo-post-body, OIDC Core §5.3.1: all three ways, the same response", async () => {
    const { accessToken } = tokens;
    const body = new URLSearchParams({ access_token: accessToken });
    const ways = [
      await fixtures.userinfo(accessToken),
      await fixtures.userinfo(accessToken, { method: "POST" }),
      await fetch(`${provider.origin}/userinfo`, { method: "POST", body }),
    ];
    for (const way of ways) expect((await readResponse(way)).body).toEqual({ sub: person.sub });
  });

  test("OIDC Core §5.3.2: signed UserInfo for clients that registered it", async () => {
    const other = await Application.register(fixtures, { userinfo_signed_response_alg: "RS256" }, usual);
    const { accessToken } = await other.signIn(browser, { scope: "openid email" });
    const response = await fixtures.userinfo(accessToken);
    expect(response.headers.get("content-type")).toBe("application/jwt");
    const { payload } = await other.verify(await response.text());
    expect(payload).toMatchObject({ sub: person.sub, email: everyClaim.email });
  });

  test("scope-address, -phone, -email, -profile, OIDC Core §5.4: each returns exactly its claims, in the ID token too unless the client wants none", async () => {
    const thin = await Application.register(fixtures, { id_token_claims: "requested" }, usual);
    const every = new Set([...Object.keys(everyClaim), "updated_at"]);
    const about = (idToken: object) => Object.fromEntries(Object.entries(idToken).filter(([name]) => every.has(name)));
    const { address, email, email_verified, phone_number, phone_number_verified, ...profile } = everyClaim;
    const expected = {
      address: { address },
      phone: { phone_number, phone_number_verified },
      email: { email, email_verified },
      profile: { ...profile, updated_at: expect.any(Number) },
    };
    for (const [scope, claims] of Object.entries(expected)) {
      const { accessToken, claims: idToken } = await application.signIn(browser, { scope: `openid ${scope}` });
      expect(await userinfo(accessToken), scope).toEqual({ sub: person.sub, ...claims });
      expect(about(idToken), scope).toEqual(claims);
      expect(about((await thin.signIn(browser, { scope: `openid ${scope}` })).claims), scope).toEqual({});
    }
  });

  test("scope-all: openid profile email address phone", async () => {
    const { accessToken } = await application.signIn(browser, { scope: "openid profile email address phone" });
    expect(await userinfo(accessToken)).toEqual({
      sub: person.sub,
      ...everyClaim,
      updated_at: expect.any(Number),
    });
  });

  test("claims-essential, OIDC Core §5.5: name, for UserInfo and for the ID token", async () => {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } }, id_token: { email: null } });
    const signIn = await application.signIn(browser, { claims });
    expect(await userinfo(signIn.accessToken)).toEqual({ sub: person.sub, name: everyClaim.name });
    expect(signIn.claims["email"]).toBe(everyClaim.email);
    expect(signIn.claims).not.toHaveProperty("name");
  });

  test("OIDC Core §5.5: a claims parameter that is not JSON is refused; an unknown claim is ignored", async () => {
    const refused = await application.authorize(browser, { claims: "{name}" });
    expect(refused.authorizationResponse.get("error")).toBe("invalid_request");
    const { accessToken } = await application.signIn(browser, { claims: '{"userinfo":{"shoe_size":null}}' });
    expect(await userinfo(accessToken)).toEqual({ sub: person.sub });
  });

  test("ensure-request-with-valid-pkce-succeeds, RFC 7636 §4.6: requires exactly the verifier", async () => {
    const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const challenge = {
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    };
    const signIn = await application.authorize(browser, challenge);
    for (const code_verifier of [undefined, verifier.replace("d", "e"), challenge.code_challenge]) {
      const refused = await application.redeem(signIn, { code_verifier });
      expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
    }
    const response = await application.redeem(signIn, { code_verifier: verifier });
    expect((await application.readTokens(response, signIn.nonce)).claims.sub).toBe(person.sub);
  });

  test("RFC 9700 §4.8.2: a verifier for a code requested without a challenge is refused", async () => {
    const response = await application.redeem(await application.authorize(browser), {
      code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    });
    expect(response.body["error"]).toBe("invalid_grant");
  });

  test("codereuse, OIDC Core §3.1.3.2: the second use is refused, and the tokens of the first are revoked", async () => {
    const signIn = await application.authorize(browser, { scope: allScopes, prompt: "consent" });
    const { accessToken, refreshToken } = await application.readTokens(await application.redeem(signIn));
    expect((await fixtures.userinfo(accessToken)).status).toBe(200);
    const second = await application.redeem(signIn);
    expect([second.status, second.body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await fixtures.userinfo(accessToken)).status).toBe(401);
    expect(await fixtures.isActive(application.client, accessToken)).toBe(false);
    expect((await application.refresh(refreshToken)).body["error"]).toBe("invalid_grant");
  });

  test("RFC 6749 §4.1.3: the code is bound to client and redirect_uri; a refusal does not spend it", async () => {
    const signIn = await application.authorize(browser);
    const other = await Application.register(fixtures, {}, usual);
    for (const refused of [
      await other.redeem(signIn),
      await application.redeem(signIn, { redirect_uri: `${redirectUri}/` }),
    ]) {
      expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
    }
    const without = await application.redeem(signIn, { redirect_uri: undefined });
    expect([without.status, without.body["error"]]).toEqual([400, "invalid_request"]);
    expect((await application.redeem(signIn)).status).toBe(200);
  });

  test("server-client-secret-post, OIDC Core §9: in the body, for a client that registered it", async () => {
    const metadata = { token_endpoint_auth_method: "client_secret_post" };
    const post = await Application.register(fixtures, metadata, usual);
    const { client_id, client_secret } = post.client;
    const signIn = await post.authorize(browser);
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: signIn.authorizationResponse.get("code")!,
      redirect_uri: redirectUri,
      client_id,
      client_secret,
    });
    const response = await readResponse(await fetch(`${provider.origin}/token`, { method: "POST", body }));
    expect((await post.readTokens(response, signIn.nonce)).claims.sub).toBe(person.sub);
    // The secret in the header is accepted as well: only the code, which is spent, is refused.
    expect((await post.redeem(signIn)).body).toMatchObject({ error: "invalid_grant" });
  });

  test("refresh-token, OIDC Core §12.2: a new ID token has the same claims about the same sign-in", async () => {
    const signIn = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
    const refreshed = await application.readTokens(await application.refresh(signIn.refreshToken));
    for (const claim of ["iss", "sub", "aud", "azp", "auth_time", "sid"] as const) {
      expect(refreshed.claims[claim], claim).toEqual(signIn.claims[claim]);
    }
    expect(refreshed.claims).not.toHaveProperty("nonce");
    expect(refreshed.claims.iat).toBeGreaterThanOrEqual(signIn.claims.iat!);
    expect(refreshed.accessToken).not.toBe(signIn.accessToken);
    expect((await userinfo(refreshed.accessToken))["sub"]).toBe(person.sub);
  });

  test("refresh-token, RFC 6749 §6: another client's token is refused, and stays valid for its own client", async () => {
    const { refreshToken } = await application.signIn(browser, { scope: allScopes, prompt: "consent" });
    const other = await Application.register(fixtures, {}, usual);
    const refused = await other.refresh(refreshToken);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await application.refresh(refreshToken)).status).toBe(200);
  });

  test("refresh-token, RFC 6749 §6: scope may be narrowed, never widened; the next refresh has the entire scope again", async () => {
    const scope = "openid email offline_access";
    const { refreshToken } = await application.signIn(browser, { scope, prompt: "consent" });
    const wider = await application.refresh(refreshToken, { scope: "openid email profile" });
    expect([wider.status, wider.body["error"]]).toEqual([400, "invalid_scope"]);
    const narrower = await application.readTokens(await application.refresh(refreshToken, { scope: "openid" }));
    expect(narrower.response.body["scope"]).toBe("openid");
    expect(await userinfo(narrower.accessToken)).toEqual({ sub: person.sub });
    const again = await application.readTokens(await application.refresh(narrower.refreshToken));
    expect(String(again.response.body["scope"]).split(" ").sort()).toEqual(["email", "offline_access", "openid"]);
  });
});

describe("the claims that tokens disclose, by client", () => {
  const personal = ["username", "roles", "groups", "permissions", "sid"];

  test("OIDC Core §8: a pairwise client learns neither username nor sub, from token, introspection, UserInfo or a refresh", async () => {
    const scope = `${allScopes} roles`;
    const application = await Application.register(fixtures, { subject_type: "pairwise", scope });
    const username = `person-${randomUUID()}`;
    const password = "a long enough password";
    const sub = await fixtures.user({ username, password, roles: ["editor"] });
    const signIn = await application.signIn(new Person(provider.issuer, { username, password }), {
      scope,
      prompt: "consent",
    });
    const refreshed = await application.readTokens(await application.refresh(signIn.refreshToken));
    for (const { accessToken, idToken } of [signIn, refreshed]) {
      const { body } = await fixtures.introspect(application.client, accessToken);
      expect(body).toMatchObject({ active: true, roles: ["editor"] });
      const said = [body, claimsOf(accessToken), claimsOf(idToken), await userinfo(accessToken)];
      for (const text of said.map((each) => JSON.stringify(each))) {
        expect(text).not.toContain(username);
        expect(text).not.toContain(sub);
      }
    }
  });

  test("OIDC Core §5.4: for openid alone, a token contains only sub about a person; roles and groups go to UserInfo and the ID token by their scopes", async () => {
    const application = await Application.register(fixtures, { scope: "openid roles groups" });
    const username = `person-${randomUUID()}`;
    const password = "a long enough password";
    await fixtures.user({ username, password, roles: ["editor"], groups: ["staff"] });
    const browser = new Person(provider.issuer, { username, password });
    const bare = await application.signIn(browser);
    const { body } = await fixtures.introspect(application.client, bare.accessToken);
    for (const name of personal) {
      expect(claimsOf(bare.accessToken), name).not.toHaveProperty(name);
      expect(body, name).not.toHaveProperty(name);
    }
    const wide = await application.signIn(browser, { scope: "openid roles groups" });
    expect(await userinfo(wide.accessToken)).toMatchObject({ roles: ["editor"], groups: ["staff"] });
    expect(wide.claims).toMatchObject({ roles: ["editor"], groups: ["staff"] });
  });

  test("OIDC Core §5.5: the claims parameter reaches no claim beyond the registered scope, with or without consent", async () => {
    const asked = { email: { essential: true }, phone_number: null, name: null };
    const claims = JSON.stringify({ userinfo: asked, id_token: asked });
    for (const skip_consent of [false, true]) {
      const application = await Application.register(fixtures, { scope: "openid phone", skip_consent });
      const signIn = await application.signIn(person.browser(), { claims });
      const { phone_number } = everyClaim;
      expect(await userinfo(signIn.accessToken)).toEqual({ sub: person.sub, phone_number });
      expect(signIn.claims["phone_number"]).toBe(phone_number);
      for (const name of ["email", "name"]) expect(signIn.claims).not.toHaveProperty(name);
    }
  });

  test("RFC 8707 §2: a token for a requested resource is only for that resource, and UserInfo refuses it", async () => {
    const person = await registerPerson(fixtures);
    const browser = person.browser();
    const application = await Application.register(fixtures, { audiences: [api], scope: allScopes });
    const narrow = await application.signIn(browser, { resource: api });
    expect(claimsOf(narrow.accessToken)["aud"]).toBe(api);
    expect((await fixtures.userinfo(narrow.accessToken)).status).toBe(401);
    const own = await application.signIn(browser, { resource: provider.issuer });
    expect(await userinfo(own.accessToken)).toEqual({ sub: person.sub });
    const plain = await application.signIn(browser);
    expect(await userinfo(plain.accessToken)).toEqual({ sub: person.sub });
  });

  test("RFC 8707 §2.2: an audience removed from the client is no longer issued from its codes and refresh tokens", async () => {
    const person = await registerPerson(fixtures);
    const browser = person.browser();
    const application = await Application.register(fixtures, { audiences: [api, otherApi], scope: allScopes });
    const asking = { prompt: "consent", scope: "openid offline_access", resource: api };
    const { refreshToken } = await application.signIn(browser, asking);
    const signIn = await application.authorize(browser, asking);
    const setAudiences = (audiences: string[]) =>
      fixtures.admin.require("PATCH", `/clients/${application.client.client_id}`, { audiences });
    await setAudiences([otherApi]);
    for (const response of [await application.redeem(signIn), await application.refresh(refreshToken)]) {
      expect([response.status, response.body["error"]]).toEqual([400, "invalid_target"]);
    }
    await setAudiences([otherApi, api]);
    for (const response of [await application.redeem(signIn), await application.refresh(refreshToken)]) {
      expect(claimsOf(String(response.body["access_token"]))["aud"]).toBe(api);
    }
  });

  test("OIDC Core §2: an ID token contains registered claims only", async () => {
    const application = await Application.register(fixtures);
    const { claims } = await application.signIn((await registerPerson(fixtures)).browser());
    const registered = ["iss", "sub", "aud", "azp", "iat", "exp", "jti", "auth_time", "nonce", "acr", "amr", "sid"];
    expect(Object.keys(claims).filter((name) => ![...registered, "at_hash", "c_hash"].includes(name))).toEqual([]);
  });
});

describe("OIDC Core §8: subject identifiers", () => {
  test("pairwise: one per sector, the same at every endpoint and forever", async () => {
    const metadata = { subject_type: "pairwise" };
    const [here, besides, elsewhere] = [
      await Application.register(fixtures, metadata),
      await Application.register(fixtures, metadata),
      await Application.register(fixtures, { ...metadata, redirect_uris: ["https://other.example.com/callback"] }),
    ];
    const person = await registerPerson(fixtures);
    const browser = person.browser();
    const first = await here.signIn(browser);
    expect(first.claims.sub).not.toBe(person.sub);
    expect(await userinfo(first.accessToken)).toEqual({ sub: first.claims.sub });
    expect((await here.signIn(person.browser())).claims.sub).toBe(first.claims.sub);
    expect((await besides.signIn(browser)).claims.sub).toBe(first.claims.sub);
    const redirect_uri = "https://other.example.com/callback";
    const signIn = await elsewhere.authorize(browser, { redirect_uri });
    const { claims } = await elsewhere.readTokens(await elsewhere.redeem(signIn, { redirect_uri }));
    expect(claims.sub).not.toBe(first.claims.sub);
  });
});
