/**
 * **The checks of the certification suites of Basic OP and Form Post OP at the authorization endpoint**, by their modules' names, for both response
 * modes. Requests omit PKCE, except in tests about it.
 *
 * @see https://openid.net/certification/op_testing/
 */

import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application, readAuthorizationResponse, type Tokens } from "./fixtures/application.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

describe.each([
  ["Basic OP", {}],
  ["Form Post OP", { response_mode: "form_post" }],
])("%s, authorization endpoint", (_profile, usual) => {
  let application: Application;
  let person: RegisteredPerson;
  /** Their session stays unchanged: a test that signs in again opens its own browser. */
  let signedIn: Person;
  let first: Tokens;

  beforeAll(async () => {
    application = await Application.register(fixtures, {}, usual);
    person = await registerPerson(fixtures);
    signedIn = person.browser();
    first = await application.signIn(signedIn);
  });

  test("response-type-missing, OIDC Core §3.1.2.6: refused to the client, with its state", async () => {
    const { authorizationResponse, pages } = await application.authorize(person.browser(), {
      response_type: undefined,
    });
    expect(authorizationResponse.get("error")).toBe("invalid_request");
    expect(pages).toEqual([]);
  });

  test("OIDC Core §3.1.2.6: an unsupported response_type is refused to the client", async () => {
    for (const responseType of ["token", "id_token", "code id_token", "none", "nonsense"]) {
      const { authorizationResponse } = await application.authorize(person.browser(), { response_type: responseType });
      expect(authorizationResponse.get("error"), responseType).toBe("unsupported_response_type");
    }
  });

  test("ensure-request-with-unknown-parameter-succeeds, OIDC Core §3.1.2.1: unknown parameters are ignored", async () => {
    const { claims } = await application.signIn(signedIn, { extra: "foobar", audience_hint: "1" });
    expect(claims.sub).toBe(person.sub);
  });

  test("ensure-other-scope-order-succeeds: openid may come last", async () => {
    const { claims, response } = await application.signIn(signedIn, { scope: "email openid" });
    expect(claims.sub).toBe(person.sub);
    expect(String(response.body["scope"]).split(" ").sort()).toEqual(["email", "openid"]);
  });

  test("display-page, display-popup, OIDC Core §3.1.2.1: accepted", async () => {
    for (const display of ["page", "popup", "touch", "wap"]) {
      const { claims } = await application.signIn(signedIn, { display });
      expect(claims.sub, display).toBe(person.sub);
    }
  });

  test("prompt-login, OIDC Core §3.1.2.1: a signed-in user signs in again, later", async () => {
    const browser = person.browser();
    const before = await application.signIn(browser);
    const { pages, claims } = await application.signIn(browser, { prompt: "login" });
    expect(pages).toEqual(["sign-in"]);
    expect(claims.sub).toBe(before.claims.sub);
    expect(claims.auth_time).toBeGreaterThanOrEqual(before.claims.auth_time!);
  });

  test("prompt-none-not-logged-in, OIDC Core §3.1.2.6: login_required, and no page", async () => {
    const { authorizationResponse, pages } = await application.authorize(person.browser(), { prompt: "none" });
    expect(authorizationResponse.get("error")).toBe("login_required");
    expect(authorizationResponse.has("code")).toBe(false);
    expect(pages).toEqual([]);
  });

  test("prompt-none-logged-in, OIDC Core §3.1.2.1: the same person and sign-in, and no page", async () => {
    const { claims, pages } = await application.signIn(signedIn, { prompt: "none" });
    expect(pages).toEqual([]);
    expect([claims.sub, claims.auth_time]).toEqual([first.claims.sub, first.claims.auth_time]);
  });

  test("OIDC Core §3.1.2.6: prompt=none without consent is consent_required", async () => {
    const other = await Application.register(fixtures, {}, usual);
    expect((await other.authorize(signedIn, { prompt: "none" })).authorizationResponse.get("error")).toBe(
      "consent_required",
    );
  });

  test("OIDC Core §3.1.2.1: prompt=none with another value is an error; so is an unknown value", async () => {
    for (const prompt of ["none login", "none consent", "nonsense"]) {
      const { authorizationResponse } = await application.authorize(person.browser(), { prompt });
      expect(authorizationResponse.get("error"), prompt).toBe("invalid_request");
    }
  });

  test("prompt=consent, OIDC Core §3.1.2.1: shows the consent page despite earlier consent; a refusal is access_denied", async () => {
    const refused = await application.authorize(signedIn, { prompt: "consent" }, { consent: { decision: "deny" } });
    expect(refused.pages).toEqual(["consent"]);
    expect(refused.authorizationResponse.get("error")).toBe("access_denied");
    expect((await application.signIn(signedIn, { prompt: "none" })).claims.sub).toBe(person.sub);
  });

  test("prompt=select_account, OIDC Core §3.1.2.1: shows the account selection", async () => {
    const { pages } = await application.signIn(signedIn, { prompt: "select_account" });
    expect(pages).toEqual(["select-account"]);
  });

  test("max-age-10000, OIDC Core §3.1.2.1: a recent sign-in suffices, and auth_time states its time", async () => {
    const { pages, claims } = await application.signIn(signedIn, { max_age: "10000" });
    expect(pages).toEqual([]);
    expect(claims.auth_time).toBe(first.claims.auth_time);
    expect(claims.auth_time).toBeTypeOf("number");
  });

  test("max_age, RFC 6749 §4.1.2.1: a value that is not a number is refused to the client", async () => {
    const { authorizationResponse } = await application.authorize(person.browser(), { max_age: "soon" });
    expect(authorizationResponse.get("error")).toBe("invalid_request");
  });

  test("id-token-hint, OIDC Core §3.1.2.1: with prompt=none, the signed-in user", async () => {
    const again = await application.signIn(signedIn, { prompt: "none", id_token_hint: first.idToken });
    expect(again.claims.sub).toBe(person.sub);
  });

  test("OIDC Core §3.1.2.2: prompt=none with a hint that names another user is login_required, never tokens of the signed-in user", async () => {
    const someoneElse = await registerPerson(fixtures);
    const browser = someoneElse.browser();
    await application.signIn(browser);
    const refused = await application.authorize(browser, { prompt: "none", id_token_hint: first.idToken });
    expect(refused.authorizationResponse.get("error")).toBe("login_required");
    const persistent = await application.authorize(browser, { id_token_hint: first.idToken });
    expect(persistent.pages).toEqual(["sign-in"]);
    expect(persistent.authorizationResponse.get("error")).toBe("login_required");
  });

  test("OIDC Core §3.1.2.2: an id_token_hint that was not issued to this client is refused", async () => {
    const other = await Application.register(fixtures);
    const foreign = await other.signIn(signedIn);
    for (const hint of ["nonsense", foreign.idToken, foreign.accessToken]) {
      const { authorizationResponse } = await application.authorize(person.browser(), { id_token_hint: hint });
      expect(authorizationResponse.get("error")).toBe("invalid_request");
    }
  });

  test("login-hint, OIDC Core §3.1.2.1: is filled into the form", async () => {
    const page = await person.browser().openPage(application.authorizationUrl({ login_hint: 'bob"@example.com' }));
    expect(page.html).toMatch(/<input[^>]* value="bob&quot;@example\.com"/);
    expect((await application.signIn(signedIn, { login_hint: "bob@example.com" })).claims.sub).toBe(person.sub);
  });

  test("ui-locales, OIDC Core §3.1.2.1: the first supported language; others are ignored", async () => {
    const page = await person.browser().openPage(application.authorizationUrl({ ui_locales: "xx de en" }));
    expect(page.html).toMatch(/<html lang="de"/);
    const { claims } = await application.signIn(signedIn, { ui_locales: "se" });
    expect(claims.sub).toBe(person.sub);
  });

  test("claims-locales, OIDC Core §5.2: accepted", async () => {
    const { claims } = await application.signIn(signedIn, { claims_locales: "se" });
    expect(claims.sub).toBe(person.sub);
  });

  test("ensure-request-with-acr-values-succeeds, OIDC Core §3.1.2.1: acr_values is voluntary; acr states the level reached", async () => {
    const { claims } = await application.signIn(signedIn, { acr_values: "phr urn:edge-op:acr:password" });
    expect(claims["acr"]).toBe("urn:edge-op:acr:password");
    expect((await application.signIn(signedIn, { acr_values: "1 2" })).claims.sub).toBe(person.sub);
  });

  test("OIDC Core §5.5.1.1: an essential acr that cannot be reached is an error", async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: "urn:mace:incommon:iap:silver" } } });
    const { authorizationResponse } = await application.authorize(person.browser(), { claims });
    expect(authorizationResponse.get("error")).toBe("unmet_authentication_requirements");
  });

  test("RFC 7636 §4.4.1, RFC 9700 §2.1.1: the challenge method plain, also as the default, is refused", async () => {
    const challenge = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" };
    for (const code_challenge_method of ["plain", undefined]) {
      const { authorizationResponse } = await application.authorize(person.browser(), {
        ...challenge,
        code_challenge_method,
      });
      expect(authorizationResponse.get("error")).toBe("invalid_request");
    }
  });

  test("ensure-post-request-succeeds, OIDC Core §3.1.2.1: by POST, from another site, which sends no cookies", async () => {
    const body = application.authorizationParameters({ prompt: "none" });
    const posted = await fetch(`${fixtures.origin}/authorize`, { method: "POST", body, redirect: "manual" });
    const arrival = await signedIn.visit(new URL(posted.headers.get("location")!, fixtures.issuer));
    const authorizationResponse = readAuthorizationResponse(arrival, body.get("response_mode"));
    const { claims } = await application.readTokens(
      await application.redeem({ authorizationResponse }),
      body.get("nonce")!,
    );
    expect(claims.sub).toBe(person.sub);
  });

  test("ensure-post-request-succeeds: with a session and without", async () => {
    for (const browser of [signedIn, person.browser()]) {
      const body = application.authorizationParameters();
      let reached = await browser.open("/authorize", { method: "POST", body });
      while (reached.kind === "page") reached = await browser.submit(reached);
      expect(readAuthorizationResponse(reached, body.get("response_mode")).get("code")).toBeTruthy();
    }
  });

  test("RFC 6749 §4.1.2, RFC 9700 §4.7: state is returned unchanged, whatever it contains", async () => {
    for (const state of [`"><script>alert(1)</script>`, "&amp; + % é 漢 \u{1f600}", "a=b&c=d#e?f", " spaces "]) {
      const { authorizationResponse } = await application.authorize(signedIn, { state });
      expect(authorizationResponse.get("state")).toBe(state);
      expect(authorizationResponse.get("code"), state).toBeTruthy();
    }
  });

  test("RFC 6749 §3.1: a repeated parameter is refused to the client, with its state unless that is the repeated one", async () => {
    for (const name of ["scope", "state"]) {
      const url = application.authorizationUrl({ prompt: "none" });
      url.searchParams.append(name, "openid email");
      const authorizationResponse = readAuthorizationResponse(
        await signedIn.visit(url),
        url.searchParams.get("response_mode"),
      );
      expect(authorizationResponse.get("error")).toBe("invalid_request");
      expect(authorizationResponse.get("iss")).toBe(fixtures.issuer);
      expect(authorizationResponse.get("state")).toBe(name === "state" ? null : url.searchParams.get("state"));
    }
  });

  test.each(["client_id", "redirect_uri"])("RFC 6749 §3.1, §4.1.2.1: %s given twice is an error page", async (name) => {
    const url = application.authorizationUrl();
    url.searchParams.append(name, url.searchParams.get(name)!);
    expect((await signedIn.openPage(url)).status).toBe(400);
  });

  test("RFC 6749 §4.1.2.1: a scope without any known value is invalid_scope", async () => {
    const { authorizationResponse } = await application.authorize(person.browser(), { scope: "nonsense" });
    expect(authorizationResponse.get("error")).toBe("invalid_scope");
  });
});

describe("OAuth 2.0 Multiple Response Type Encoding Practices §2.1", () => {
  test("response_mode=fragment for a code, when requested; an unknown mode is refused in the query", async () => {
    const application = await Application.register(fixtures);
    const browser = (await registerPerson(fixtures)).browser();
    const { url, body } = await browser.visit(application.authorizationUrl({ response_mode: "fragment" }));
    expect(readAuthorizationResponse({ kind: "arrival", url, body, pages: [] }, "fragment").get("code")).toBeTruthy();
    expect(url.search).toBe("");
    const { authorizationResponse } = await application.authorize(browser, { response_mode: "smoke_signal" });
    expect(authorizationResponse.get("error")).toBe("invalid_request");
  });
});
