/**
 * **The checks of the certification suite of RP-Initiated Logout**, by its modules' names. A silent request shows whether a user is still signed in.
 *
 * @see https://openid.net/specs/openid-connect-rpinitiated-1_0.html
 */

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Page, type Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { Application, goodbye, type Parameters, type Tokens } from "./fixtures/application.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

const goodbyeWithQuery = `${goodbye}?tenant=a`;

let application: Application;
let person: RegisteredPerson;
let browser: Person;
let tokens: Tokens;

beforeAll(async () => {
  application = await Application.register(fixtures, { post_logout_redirect_uris: [goodbye, goodbyeWithQuery] });
  person = await registerPerson(fixtures);
});

beforeEach(async () => {
  browser = person.browser();
  tokens = await application.signIn(browser);
});

async function isSignedIn(): Promise<boolean> {
  const { authorizationResponse } = await application.authorize(browser, { prompt: "none" });
  if (authorizationResponse.has("code")) return true;
  expect(authorizationResponse.get("error")).toBe("login_required");
  return false;
}

function hinted(more: Parameters = {}): Parameters {
  return { id_token_hint: tokens.idToken, post_logout_redirect_uri: goodbye, state: "the end & more", ...more };
}

/** The page to which a request leads; fails if it leads to the application. */
function openPage(parameters: Parameters): Promise<Page> {
  return browser.openPage(application.logoutUrl(parameters));
}

async function returnedTo(parameters: Parameters): Promise<string> {
  const reached = await browser.open(application.logoutUrl(parameters));
  if (reached.kind === "page") throw new Error(textOf(reached.html));
  return reached.url.href;
}

describe("RP-Initiated Logout §2, §3: with a hint for the signed-in user", () => {
  test("rp-initiated-logout: signed out at once, returned with state", async () => {
    expect(await isSignedIn()).toBe(true);
    expect(await returnedTo(hinted())).toBe(`${goodbye}?state=the+end+%26+more`);
    expect(await isSignedIn()).toBe(false);
  });

  test("the same by POST, §2", async () => {
    const body = application.logoutUrl(hinted()).searchParams;
    const reached = await browser.open("/logout", { method: "POST", body });
    expect(reached).toMatchObject({ kind: "arrival", url: new URL(`${goodbye}?state=the+end+%26+more`) });
    expect(await isSignedIn()).toBe(false);
  });

  test("rp-initiated-logout-no-state: returned without state", async () => {
    expect(await returnedTo(hinted({ state: undefined }))).toBe(goodbye);
    expect(await isSignedIn()).toBe(false);
  });

  test("rp-initiated-logout-no-post-logout-redirect-uri: the user is signed out and a page confirms it", async () => {
    const page = await openPage(hinted({ post_logout_redirect_uri: undefined, ui_locales: "en" }));
    expect(page.status).toBe(200);
    expect(textOf(page.html)).toContain("signed out");
    expect(await isSignedIn()).toBe(false);
  });

  test("a registered URI with a query keeps it", async () => {
    expect(await returnedTo(hinted({ post_logout_redirect_uri: goodbyeWithQuery, state: "x" }))).toBe(
      `${goodbyeWithQuery}&state=x`,
    );
  });

  test("§2: client_id next to the hint must be its audience", async () => {
    const other = await Application.register(fixtures);
    expect(await openPage(hinted({ client_id: other.client.client_id }))).toMatchObject({
      name: "logout",
      status: 200,
    });
    expect(await isSignedIn()).toBe(true);
    expect(await returnedTo(hinted({ client_id: application.client.client_id, state: undefined }))).toBe(goodbye);
  });

  test("without a session, a valid hint still redirects to the client", async () => {
    await returnedTo(hinted());
    expect(await returnedTo(hinted({ state: "again" }))).toBe(`${goodbye}?state=again`);
  });
});

describe("RP-Initiated Logout §3: requests that must not redirect", () => {
  test("rp-initiated-logout-bad-post-logout-redirect-uri", async () => {
    for (const uri of ["https://evil.example.com/", `${goodbye}/`, goodbye.replace("https", "http")]) {
      expect((await openPage(hinted({ post_logout_redirect_uri: uri }))).status, uri).toBe(200);
      // The hint is valid: the person is signed out all the same.
      expect(await isSignedIn(), uri).toBe(false);
    }
  });

  test("rp-initiated-logout-query-added-to-post-logout-redirect-uri", async () => {
    const page = await openPage(hinted({ post_logout_redirect_uri: `${goodbye}?foo=bar` }));
    expect(page.status).toBe(200);
    expect(textOf(page.html)).toContain("post_logout_redirect_uri is not registered");
  });

  test("rp-initiated-logout-bad-id-token-hint: the hint is not an ID token of this issuer", async () => {
    for (const hint of ["foobar", tokens.accessToken]) {
      expect(await openPage(hinted({ id_token_hint: hint }))).toMatchObject({ name: "logout", status: 200 });
    }
    expect(await isSignedIn()).toBe(true);
  });

  test("rp-initiated-logout-modified-id-token-hint: an invalid signature", async () => {
    const [header, payload, signature] = tokens.idToken.split(".") as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
    const changed = Buffer.from(JSON.stringify({ ...claims, sub: "someone else" })).toString("base64url");
    for (const hint of [`${header}.${changed}.${signature}`, `${header}.${payload}.`, `${header}.${payload}`]) {
      expect(await openPage(hinted({ id_token_hint: hint }))).toMatchObject({ name: "logout", status: 200 });
    }
    expect(await isSignedIn()).toBe(true);
  });

  test("rp-initiated-logout-no-id-token-hint: no parameter identifies the client of the URI", async () => {
    expect(await openPage(hinted({ id_token_hint: undefined }))).toMatchObject({ name: "logout", status: 200 });
    expect(await isSignedIn()).toBe(true);
  });
});

describe("RP-Initiated Logout §2: without a hint the user must confirm", () => {
  test("rp-initiated-logout-no-params: the user stays or leaves", async () => {
    expect(await openPage({})).toMatchObject({ name: "logout", status: 200 });
    expect(await browser.submit(await openPage({}), { logout: { decision: "stay" } })).toMatchObject({ status: 200 });
    expect(await isSignedIn()).toBe(true);
    expect(await browser.submit(await openPage({}))).toMatchObject({ kind: "page", status: 200 });
    expect(await isSignedIn()).toBe(false);
  });

  test("rp-initiated-logout-only-state: the user confirms and sees a page of the provider", async () => {
    const asked = await openPage({ state: "the end" });
    expect(asked.name).toBe("logout");
    expect(await browser.submit(asked)).toMatchObject({ kind: "page", status: 200 });
    expect(await isSignedIn()).toBe(false);
  });

  test("§2: client_id identifies the client of the URI; the redirect follows the user's confirmation", async () => {
    const asked = await openPage({
      client_id: application.client.client_id,
      post_logout_redirect_uri: goodbye,
      state: "x",
    });
    expect(await isSignedIn()).toBe(true);
    expect(await browser.submit(asked)).toMatchObject({ kind: "arrival", url: new URL(`${goodbye}?state=x`) });
    expect(await isSignedIn()).toBe(false);
  });

  test("a hint that names another user requires confirmation", async () => {
    const someoneElse = await registerPerson(fixtures);
    const { idToken } = await application.signIn(someoneElse.browser());
    expect(await openPage(hinted({ id_token_hint: idToken }))).toMatchObject({ name: "logout", status: 200 });
    expect(await isSignedIn()).toBe(true);
  });

  test("RFC 9700 §4.7: a form without its token, or with another browser's, is refused", async () => {
    const other = person.browser();
    await application.signIn(other);
    const theirs = await other.openPage(application.logoutUrl());
    expect(await browser.submit(theirs)).toMatchObject({ kind: "page", status: 403 });
    expect(await isSignedIn()).toBe(true);
  });
});

describe("sessions and tokens", () => {
  test("OIDC Core §11: access that requires a session ends at logout, offline access stays", async () => {
    const scope = "openid offline_access";
    const offline = await application.signIn(browser, { scope, prompt: "consent" });
    await returnedTo(hinted());
    await expect.poll(async () => (await fixtures.userinfo(tokens.accessToken)).status, { timeout: 10_000 }).toBe(401);
    expect((await fixtures.userinfo(offline.accessToken)).status).toBe(200);
    expect((await application.refresh(offline.refreshToken)).status).toBe(200);
  });

  test("RFC 6265 §8.4: an ended session does not come back with its cookie", async () => {
    const copy = browser.copy();
    await returnedTo(hinted());
    expect((await application.authorize(copy, { prompt: "none" })).authorizationResponse.get("error")).toBe(
      "login_required",
    );
  });

  test("another browser of the same person stays signed in", async () => {
    const elsewhere = person.browser();
    await application.signIn(elsewhere);
    await returnedTo(hinted());
    expect((await application.authorize(elsewhere, { prompt: "none" })).authorizationResponse.has("code")).toBe(true);
  });
});
