/**
 * **Redirect targets and the security of pages**: ensure-registered-redirect-uri and its variants. An unregistered redirect URI is never redirected
 * to; the user sees an error page.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.1.3
 */

import { beforeAll, describe, expect, test } from "vitest";
import { type Page, textOf } from "../../packages/edge-op/testing/person.ts";
import { Application, type Parameters, redirectUri } from "./fixtures/application.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

const withQuery = `${redirectUri}?tenant=a&lang=en`;

let application: Application;
let person: RegisteredPerson;

beforeAll(async () => {
  application = await Application.register(fixtures, { redirect_uris: [redirectUri, withQuery] });
  person = await registerPerson(fixtures);
});

async function refusalPage(parameters: Parameters): Promise<Page> {
  const page = await person.browser().openPage(application.authorizationUrl(parameters));
  expect(page.status).toBe(400);
  return page;
}

describe("ensure-registered-redirect-uri, OIDC Core §3.1.2.1", () => {
  test.each([
    ["another path", `${redirectUri}/more`],
    ["another host", "https://evil.example.com/callback"],
    ["another scheme", redirectUri.replace("https:", "http:")],
    ["a port", redirectUri.replace(".com", ".com:443")],
    ["another case", redirectUri.replace("callback", "Callback")],
    ["a slash more", `${redirectUri}/`],
    ["dots that lead back", "https://app.example.com/x/../callback"],
    ["percent-encoding", redirectUri.replace("callback", "%63allback")],
    ["user information", redirectUri.replace("app.", "app.example.com@evil.")],
    ["a query that was added", `${redirectUri}?foo=bar`],
    ["another query", `${redirectUri}?tenant=b&lang=en`],
    ["a part of the query", `${redirectUri}?tenant=a`],
    ["a fragment", `${redirectUri}#here`],
    ["a script", "javascript:alert(1)"],
  ])("%s is not the registered one", async (_what, uri) => {
    const page = await refusalPage({ redirect_uri: uri });
    expect(textOf(page.html)).toContain("The redirect_uri is not registered for this client.");
    await refusalPage({ redirect_uri: uri, prompt: "none", response_mode: "form_post" });
  });

  test("a missing redirect_uri is an error page even if only one is registered", async () => {
    const page = await refusalPage({ redirect_uri: undefined });
    expect(textOf(page.html)).toContain("The parameter redirect_uri is missing.");
  });

  test("RFC 6749 §3.1.2: the registered query is kept, and the response appended to it", async () => {
    const { authorizationResponse } = await application.authorize(person.browser(), { redirect_uri: withQuery });
    expect([authorizationResponse.get("tenant"), authorizationResponse.get("lang")]).toEqual(["a", "en"]);
    expect(authorizationResponse.get("code")).toBeTruthy();
    expect((await application.redeem({ authorizationResponse }, { redirect_uri: withQuery })).status).toBe(200);
  });

  test("RFC 8252 §7.3: any port of a loopback address", async () => {
    const native = await Application.register(fixtures, {
      application_type: "native",
      redirect_uris: ["http://127.0.0.1/callback"],
    });
    const uri = "http://127.0.0.1:51004/callback";
    const { authorizationResponse } = await native.authorize(person.browser(), { redirect_uri: uri });
    expect(authorizationResponse.get("code")).toBeTruthy();
    const url = native.authorizationUrl({ redirect_uri: "http://127.0.0.1:51004/elsewhere" });
    expect((await person.browser().openPage(url)).status).toBe(400);
  });

  test("RFC 8252 §8.6: a public client on a loopback port gets no code without user interaction", async () => {
    const redirect_uri = "http://127.0.0.1:51004/callback";
    const isPublic = { token_endpoint_auth_method: "none", require_pkce: true };
    const metadata = { application_type: "native", redirect_uris: [redirect_uri], ...isPublic };
    const challenge = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };
    const native = await Application.register(fixtures, metadata, { redirect_uri, ...challenge });
    const browser = person.browser();
    expect((await native.authorize(browser)).pages).toEqual(["sign-in", "consent"]);
    expect((await native.authorize(browser)).pages).toEqual(["consent"]);
    const { authorizationResponse } = await native.authorize(browser, { prompt: "none" });
    expect(authorizationResponse.get("error")).toBe("consent_required");
  });
});

describe("RFC 6749 §4.1.2.1: an unknown client", () => {
  test("is an error page that escapes its parameters", async () => {
    const evil = `<script>alert(1)</script>"'>`;
    const page = await refusalPage({ client_id: evil, redirect_uri: evil, state: evil });
    expect(page.html).not.toContain("<script>alert");
    expect(textOf(page.html)).toContain("The application is unknown.");
  });

  test("a disabled client is an error page too, also if it is disabled during the sign-in", async () => {
    const other = await Application.register(fixtures);
    const browser = person.browser();
    const signIn = await browser.openPage(other.authorizationUrl());
    await fixtures.admin.require("PATCH", `/clients/${other.client.client_id}`, { status: "disabled" });
    const page = await browser.submit(signIn);
    expect(page).toMatchObject({ kind: "page", status: 400 });
    expect((await browser.openPage(other.authorizationUrl())).status).toBe(400);
  });
});

describe("RFC 9700 §4.16, §4.7: pages", () => {
  test("are not framed, not cached, run no external scripts and send no Referer", async () => {
    const browser = person.browser();
    const start = await browser.send(application.authorizationUrl());
    const url = new URL(start.headers.get("location")!, fixtures.origin);
    const { headers } = await browser.send(url);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toContain("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("a form of another browser, or without its token, does not sign in", async () => {
    const [mine, theirs] = [person.browser(), person.browser()];
    const page = await mine.openPage(application.authorizationUrl());
    await theirs.openPage(application.authorizationUrl());
    expect(await theirs.submit(page)).toMatchObject({ kind: "page", status: 400 });
    const forged = { ...page, html: page.html.replace(/(name="form_token" value=")[^"]+/g, "$1AAAA") };
    expect(await mine.submit(forged)).toMatchObject({ kind: "page", status: 403 });
  });

  test("a wrong password is reported, and the same page continues with the right one", async () => {
    const browser = person.browser();
    const page = await browser.openPage(application.authorizationUrl());
    const again = await browser.submit(page, { "sign-in": { username: person.username, password: "wrong wrong" } });
    if (again.kind !== "page") throw new Error("signed in with a wrong password");
    expect([again.name, again.status]).toEqual(["sign-in", 400]);
    expect(await browser.submit(again)).not.toMatchObject({ name: "sign-in" });
  });

  test("two tabs: both started sign-ins return, each to its own request", async () => {
    const browser = person.browser();
    const [left, right] = [
      await browser.openPage(application.authorizationUrl({ state: "left" })),
      await browser.openPage(application.authorizationUrl({ state: "right" })),
    ];
    for (const [page, state] of [
      [right, "right"],
      [left, "left"],
    ] as const) {
      const reached = await browser.submit(page);
      if (reached.kind === "page") throw new Error(textOf(reached.html));
      expect(reached.url.searchParams.get("state")).toBe(state);
      expect((await application.redeem({ authorizationResponse: reached.url.searchParams })).status).toBe(200);
    }
  });

  test("a form submitted twice says so and issues no code", async () => {
    const browser = person.browser();
    const page = await browser.openPage(application.authorizationUrl());
    await browser.submit(page);
    const again = await browser.submit(page);
    if (again.kind === "arrival") throw new Error(`a second code: ${again.url}`);
    expect(textOf(again.html)).toContain("already used");
  });

  test("OIDC Core §3.1.2.6: cancelling returns access_denied and keeps the existing session", async () => {
    const browser = person.browser();
    await application.signIn(browser);
    const cancelled = await application.authorize(browser, { prompt: "login" }, { "sign-in": { cancel: "1" } });
    expect(cancelled.authorizationResponse.get("error")).toBe("access_denied");
    expect((await application.authorize(browser, { prompt: "none" })).authorizationResponse.has("code")).toBe(true);
  });

  test("OIDC Core §3.1.2.3: another user may sign in over a session, and the client gets that user's sub", async () => {
    const browser = person.browser();
    await application.signIn(browser);
    const other = await registerPerson(fixtures);
    const credentials = { username: other.username, password: "a long enough password" };
    const signIn = await application.authorize(browser, { prompt: "login" }, { "sign-in": credentials });
    expect(signIn.pages).toEqual(["sign-in", "consent"]);
    const { claims, idToken } = await application.readTokens(await application.redeem(signIn));
    expect(claims.sub).toBe(other.sub);
    const silent = await application.authorize(browser, { prompt: "none" });
    expect(silent.authorizationResponse.get("error")).toBe("account_selection_required");
    const named = { prompt: "none", id_token_hint: idToken };
    expect((await application.signIn(browser, named)).claims.sub).toBe(other.sub);
  });
});
