import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { describe, expect, it } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import { authEnv, codeClient, locationOf, sentToClient, useDeployment } from "./fixtures/auth-fixtures.ts";
import { follow, MailedCodes } from "./fixtures/mailed-codes.ts";

const { browser } = useDeployment();

const text = async (response: Response | Promise<Response>) => (await response).text();

describe("/ and unknown paths are pages", () => {
  it("the start page links to the account, with or without a session", async () => {
    const html = await text(browser.get("/"));
    expect(html).toContain("<h1>Edge OP</h1>");
    expect(html).toContain('href="/account"');
    expect(html).not.toContain('href="/logout"');
    await browser.signInWhole();
    const signedIn = await text(browser.get("/"));
    expect(signedIn).toContain("Signed in as Alice Example");
    expect(signedIn).toContain('href="/logout"');
  });

  it("an unknown path is 404 with a way to the start page", async () => {
    const response = await browser.get("/nothing");
    expect(response.status).toBe(404);
    const html = await response.text();
    expect(html).toContain("<h1>Page not found</h1>");
    expect(html).toContain('href="/"');
    expect(html).not.toContain("<script>");
  });

  it.each(["/logout?ui_locales=en", "/account"])("%s links to the account page or is it", async (path) => {
    await browser.signInWhole();
    expect(await text(browser.get(path))).toMatch(/href="\/account"|<h1>Your account<\/h1>/);
  });
});

const required = { claims: JSON.stringify({ id_token: { acr: { essential: true, values: ["phr"] } } }) };
const aside = async (fields: Record<string, string>) => follow(browser, await browser.pageOf(), fields);
const code = async () => follow(browser, await aside({ recover: "1" }), { address: "alice@example.com" });

/** Page, element, what it has. The rest of a page's fields is looked at in a browser. */
it.each<[string, () => Promise<string>, RegExp, string[]]>([
  [
    "a name: the keyboard of a phone has an @, changes nothing, and goes on",
    () => browser.pageOf(),
    /<input id="username"[^>]*>/,
    ['inputmode="email"', 'autocapitalize="none"', 'autocorrect="off"', 'enterkeyhint="next"', 'dir="auto"'],
  ],
  ["a password", () => browser.pageOf(), /<input id="password"[^>]*>/, ['enterkeyhint="go"', "current-password"]],
  [
    "an address, also in pages from right to left",
    () => aside({ "sign-up": "1" }),
    /<input id="address"[^>]*>/,
    ['type="email"', 'autocomplete="email"', 'autocorrect="off"', 'dir="ltr"'],
  ],
  [
    "the address of a recovery",
    () => aside({ recover: "1" }),
    /<input id="address"[^>]*>/,
    ['type="email"', 'dir="ltr"'],
  ],
  [
    "a code",
    code,
    /<input id="code"[^>]*>/,
    ['inputmode="numeric"', 'autocomplete="one-time-code"', 'enterkeyhint="go"', 'data-digits="8"'],
  ],
  [
    "a passkey that is not used",
    () => browser.pageOf(),
    /<p [^>]*data-passkey-failure[^>]*>/,
    ['data-passkey-failure="No passkey was used. Try again, or continue another way."', "hidden"],
  ],
  [
    "a passkey that is not created",
    () => browser.signInWhole().then(() => "/account/security"),
    /<p [^>]*data-passkey-failure[^>]*>/,
    ['data-passkey-failure="No passkey was created. Try again, or continue another way."', "hidden"],
  ],
  [
    "a required passkey, for who has none: where one is created",
    () => browser.pageOf(required),
    /<a [^>]*id="create-at-account"[^>]*>/,
    ['href="/account"'],
  ],
  ["and the way back", () => browser.pageOf(required), /<a [^>]*id="has-passkey"[^>]*>/, ['href="/flow/sign-in?f=']],
])("%s", async (_, open, element, has) => {
  browser.restart(new MailedCodes({ ...authEnv, SIGN_UP: "open" }).env);
  const found = element.exec(await text(browser.get(await open())))?.[0];
  for (const each of has) expect(found).toContain(each);
});

describe("OIDC Registration §2: policy_uri and tos_uri", () => {
  const pages = { policy_uri: "https://app.example.com/privacy", tos_uri: "https://app.example.com/terms" };
  const links = (html: string) => [...html.matchAll(/<a href="(https:[^"]+)">([^<]+)</g)].map(([, ...link]) => link);

  it.each<[string, Partial<ClientMetadata>, string[][]]>([
    [
      "both",
      pages,
      [
        [pages.policy_uri, "Privacy policy"],
        [pages.tos_uri, "Terms of service"],
      ],
    ],
    ["one", { tos_uri: pages.tos_uri }, [[pages.tos_uri, "Terms of service"]]],
    ["none", {}, []],
    ["one on http", { tos_uri: "http://localhost/terms" }, []],
  ])("%s: linked from sign-in and from consent", async (_, metadata, expected) => {
    await seedClient(authEnv, "described", { ...codeClient, ...metadata });
    const signIn = locationOf(await browser.authorize({ client_id: "described" }));
    expect(links(await text(browser.get(signIn)))).toEqual(expected);
    const consent = locationOf(await browser.signIn(signIn));
    expect(consent).toMatch(/consent\?f=/);
    expect(links(await text(browser.get(consent)))).toEqual(expected);
  });
});

describe("a sign-in that is confirmed", () => {
  const field = /<input id="username"[^>]*>/;

  it.each([
    ["prompt=login", { prompt: "login" }],
    ["max_age=0", { max_age: "0" }],
  ])("%s shows the account and keeps the username", async (_, parameters) => {
    await browser.signInWhole();
    const html = await text(browser.get(locationOf(await browser.authorize(parameters))));
    expect(html).toContain("<h1>Confirm it is you</h1>");
    expect(html).toContain("Alice Example");
    const username = field.exec(html)![0];
    expect(username).toContain('value="alice"');
    expect(username).toContain("readonly");
    expect(html).toContain('id="other-account"');
  });

  it("a first sign-in is not shown as a confirmation", async () => {
    const html = await text(browser.get(locationOf(await browser.authorize({ max_age: "60", prompt: "login" }))));
    expect(html).toContain("<h1>Sign in</h1>");
    expect(html).not.toContain("readonly");
    expect(html).not.toContain('id="other-account"');
  });

  it("a wrong password keeps the account on the page", async () => {
    await browser.signInWhole();
    const page = locationOf(await browser.authorize({ prompt: "login" }));
    const html = await text(browser.submit(page, { username: "alice", password: "wrong" }));
    expect(field.exec(html)![0]).toContain("readonly");
    expect(html).toContain("Confirm it is you");
  });

  it("the page has a form to use another account", async () => {
    await browser.signInWhole();
    const page = locationOf(await browser.authorize({ prompt: "login" }));
    const other = locationOf(await browser.submit(page, { account: "other" }));
    expect(other).toMatch(/\/sign-in\?f=/);
    const html = await text(browser.get(other));
    expect(html).not.toContain("readonly");
    expect(html).not.toContain("Alice Example");
    const wrong = await text(browser.submit(other, { username: "bob", password: "wrong" }));
    expect(wrong).not.toContain("readonly");
    expect(locationOf(await browser.signIn(other, "bob"))).toMatch(/\/consent\?f=/);
    expect(await text(browser.signIn(page, "bob"))).toContain("You are already signed in");
  });

  it("OIDC Core §3.1.2.1: if another user than the signed-in one is expected, no account is kept", async () => {
    await browser.signInWhole();
    const claims = JSON.stringify({ id_token: { sub: { value: "bob" } } });
    const html = await text(browser.get(locationOf(await browser.authorize({ claims }))));
    expect(html).toContain("<h1>Sign in</h1>");
    expect(html).not.toContain("Alice Example");
  });

  it("after select_account and another account, the page is not locked to the first", async () => {
    await browser.signInWhole();
    const select = locationOf(await browser.authorize({ prompt: "select_account" }));
    const page = locationOf(await browser.submit(select, { account: "other" }));
    expect(await text(browser.get(page))).not.toContain("readonly");
  });

  it("only passkeys of the account are offered, and no passkey button if it has none", async () => {
    await browser.signInWhole();
    const html = await text(browser.get(locationOf(await browser.authorize({ prompt: "login" }))));
    expect(html).not.toContain("data-passkey=");
  });
});

describe("the consent page", () => {
  const shown = (html: string) => [...html.matchAll(/<li>.*?<span>(.*?)<\/span>/g)].map(([, item]) => item);

  it('"not you" leads to a sign-in as another user, without consent', async () => {
    const consent = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    expect(await text(browser.get(consent))).toContain("Not you? Use another account");
    const page = locationOf(await browser.submit(consent, { decision: "other" }));
    expect(page).toMatch(/\/sign-in\?f=/);
    expect(await text(browser.get(page))).not.toContain("readonly");
    expect(await authEnv.DB.prepare("SELECT * FROM consents").first()).toBeNull();
    const again = locationOf(await browser.signIn(page, "bob"));
    expect(await text(browser.get(again))).toContain("Signed in as bob");
    expect(sentToClient(await browser.allow(again)).code).toBeDefined();
    const { sub } = (await authEnv.DB.prepare("SELECT sub FROM consents").first<{ sub: string }>())!;
    expect(sub).toBe("bob");
  });

  it("lists requested scopes in the order of the account page", async () => {
    const scope = "read offline_access email openid profile";
    const consent = locationOf(await browser.signIn(locationOf(await browser.authorize({ scope, prompt: "consent" }))));
    const asked = shown(await text(browser.get(consent)));
    expect(asked).toEqual([
      "Know who you are",
      "See your name, picture and profile",
      "See your email address",
      "Keep this access while you are away",
      "Use “read” on your behalf",
    ]);
    await browser.allow(consent);
    expect(await text(browser.get("/account/applications"))).toContain(asked.join(" · "));
  });

  it("links to the account page, where the access is withdrawn", async () => {
    const consent = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    expect(await text(browser.get(consent))).toContain('<a href="/account/applications">Applications and devices</a>');
  });
});

describe("the account page", () => {
  const signIn = async (cf?: Record<string, string>) => {
    const page = locationOf(await browser.get("/account"));
    const form_token = /name="form_token" value="([^"]+)"/.exec(await text(browser.get(page)))![1]!;
    await browser.send(page, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ form_token, username: "alice", password: "correct horse battery staple" }).toString(),
      ...(cf === undefined ? {} : { cf }),
    });
  };

  it("a session shows its place: city and country, never the address", async () => {
    await signIn({ city: "Zürich", country: "CH", colo: "ZRH" });
    const row = await authEnv.DB.prepare("SELECT * FROM user_sessions").first<Record<string, unknown>>();
    expect(Object.keys(row!).toSorted()).toEqual(
      ["city", "country", "device", "ends_at_ms", "sid", "signed_in_at_ms", "sub"].toSorted(),
    );
    expect(row).toMatchObject({ city: "Zürich", country: "CH" });
    const html = await text(browser.get("/account/applications"));
    expect(html).toContain("Zürich, Switzerland");
    expect(html).toContain("The address itself is not stored.");
  });

  it.each([
    ["a platform that does not know", undefined],
    ["an unknown country", { country: "XX", city: "Nowhere" }],
    ["Tor", { country: "T1" }],
  ])("a session without a place, from %s, is listed too", async (_, cf) => {
    await signIn(cf);
    const row = await authEnv.DB.prepare("SELECT city, country FROM user_sessions").first();
    expect(row).toEqual({ city: null, country: null });
    expect(await text(browser.get("/account/applications"))).toContain("This device</strong> · Signed in");
  });

  it.each([
    ["passkey-added", "Your passkey was added."],
    ["passkey-failed", "The passkey was not added."],
  ])("never shows both that a passkey was added and that it was not: %s", async (notice, shown) => {
    await signIn();
    const html = await text(withNotice(notice));
    const visible = [...html.matchAll(/<p class="note[^>]*>[^<]*/g)]
      .map(String)
      .filter((each) => !each.includes("hidden"));
    expect(visible).toHaveLength(1);
    expect(visible[0]).toContain(shown);
    expect(visible[0]).toContain("data-notice");
  });

  function withNotice(notice: string): Promise<Response> {
    browser.cookies.set("__Host-op-notice", notice);
    return browser.get("/account/security");
  }

  it("says what was done once: a reload, a bookmark or a link of somebody else does not", async () => {
    await signIn();
    expect(await text(withNotice("passkey-added"))).toContain("data-notice");
    expect(await text(browser.get("/account/security"))).not.toContain("data-notice");
    expect(await text(browser.get("/account/security?notice=passkey-added"))).not.toContain("data-notice");
  });

  it.each(["__proto__", "constructor", "<b>"])("notice=%s says nothing", async (notice) => {
    await signIn();
    const html = await text(withNotice(notice));
    expect(html).not.toContain("data-notice");
  });
});
