import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BrowserFixtures, capture, openBrowserFixtures, openContext, person, see } from "./browser-fixtures.ts";
import { BrowserMailbox } from "./browser-mailbox.ts";

/** 60 characters without a blank. */
const long = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunt";
const longAddress = `${"a".repeat(48)}@example.com`;

let fixtures: BrowserFixtures;
let mailbox: BrowserMailbox;

beforeAll(async () => {
  mailbox = await BrowserMailbox.start();
  fixtures = await openBrowserFixtures({ vars: { ...mailbox.variables, SIGN_UP: "open" } });
  const settings = { client_id: "here", client_secret: "secret" };
  for (const record of [
    { upstream_id: "examp", name: "Example Corp", issuer: "https://examp.example" },
    { upstream_id: "googl", name: "Google", kind: "google" },
  ]) {
    await fixtures.admin.require("POST", "/upstreams", { ...record, ...settings });
  }
  const urls = { policy_uri: "https://app.example/privacy", tos_uri: "https://app.example/terms" };
  await fixtures.admin.require("PATCH", "/clients/demo-app", urls);
  for (const [sub, name] of Object.entries({ ada: "Ada Lovelace", ben: "Benjamin Banneker" })) {
    const claims = { name, email: `${sub}@example.com`, email_verified: true };
    await fixtures.admin.require("POST", "/users", { sub, username: sub, password: person.password, claims });
  }
});

afterAll(async () => {
  await fixtures.close();
  mailbox.close();
});

const heightOf = (page: Page) => page.evaluate<number>("document.querySelector('main').getBoundingClientRect().height");
const overflowOf = (page: Page) => page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");

describe("the sign-in page", () => {
  it("is one card of at most 640 px with all that it can offer, and ends above the fold", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${fixtures.application.origin}/login`);
    await page.waitForSelector("#passkey");
    await capture(page, "sign-in-1280x800");
    expect(await heightOf(page)).toBeLessThanOrEqual(640);
    expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThanOrEqual(800);
    expect(await page.locator(".or:visible").count()).toBe(1);
    expect(await page.locator("#upstream-googl svg.provider, #upstream-examp .letter").count()).toBe(2);
    await see(page, "sign-in-whole");
    await context.close();
  });

  it("has at most 30 KB in an empty cache, and one request afterwards", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    /** Of each response that was not in the cache: its type, and its bytes after decompression. */
    const types = new Map<string, string>();
    const kept = new Set<string>();
    let bytes = 0;
    session.on("Network.responseReceived", ({ requestId, response, type }) => {
      const isOwn = response.url.startsWith(fixtures.provider.origin);
      if (isOwn && response.fromDiskCache !== true && !kept.has(requestId)) types.set(requestId, type);
    });
    session.on("Network.requestServedFromCache", ({ requestId }) => kept.add(requestId));
    session.on("Network.dataReceived", ({ requestId, dataLength }) => {
      if (types.has(requestId)) bytes += dataLength;
    });
    await page.goto(`${fixtures.application.origin}/login`, { waitUntil: "networkidle" });
    expect(types.size).toBeGreaterThan(3);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(30 * 1024);
    types.clear();
    await page.goto(`${fixtures.application.origin}/login`, { waitUntil: "networkidle" });
    expect([...types.values()]).toEqual(["Document"]);
    await context.close();
  });

  it.each([true, false])("keeps what was typed at each button, with scripts: %s", async (javaScriptEnabled) => {
    const context = await openContext(fixtures.browser, "en", { javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    await page.fill("#username", "nina@example.com");
    await page.click("#language");
    await page.click("#language-de");
    expect(await page.inputValue("#username")).toBe("nina@example.com");
    expect(await page.getAttribute("html", "lang")).toBe("de");
    await page.click("#sign-up");
    expect(await page.inputValue("#address")).toBe("nina@example.com");
    await page.click("#has-account");
    expect(await page.inputValue("#username")).toBe("nina@example.com");
    await page.click("#forgot");
    expect(await page.inputValue("#address")).toBe("nina@example.com");
    await context.close();
  });

  it("Enter signs in, and the button shows that it was pressed", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    await page.fill("#username", person.username);
    await page.fill("#password", person.password);
    // The page stays: the listener of every page has run before this one.
    await page.evaluate("addEventListener('submit', (event) => event.preventDefault())");
    await page.press("#password", "Enter");
    expect(await page.getAttribute("#sign-in", "aria-busy")).toBe("true");
    expect(await page.locator("[aria-busy]").count()).toBe(1);
    await context.close();
  });
});

describe("several accounts in one browser", () => {
  it.each([true, false])("are added, chosen, switched and signed out, with scripts: %s", async (javaScriptEnabled) => {
    const { application, provider, browser } = fixtures;
    const context = await openContext(browser, "en", { javaScriptEnabled });
    const page = await context.newPage();
    const look = (name: string) => (javaScriptEnabled ? see(page, name) : capture(page, `${name}-without-script`));
    const signIn = async (username: string) => {
      await page.fill("#username", username);
      await page.fill("#password", person.password);
      await page.click("#sign-in");
    };
    await page.goto(`${provider.origin}/account`);
    await signIn("ada");
    await page.click("#switch-account");
    await look("choose-account-alone");
    await page.click("#other-account");
    await signIn("ben");
    await page.waitForSelector("#switch-account");
    expect(await page.textContent(".person")).toContain("Benjamin Banneker");
    await look("account-of-several");
    await page.goto(`${application.origin}/login`);
    await page.waitForSelector("#current-account");
    await look("select-account-of-several");
    await page.click("[name=choose][value=ada]");
    await page.waitForSelector("#allow");
    expect(await page.textContent("main")).toContain("Ada Lovelace");
    await page.goto(`${provider.origin}/logout`);
    await look("logout-of-several");
    await page.click("#sign-out");
    await page.waitForSelector("text=still signed in to another account");
    await look("signed-out-of-one");
    await page.goto(`${provider.origin}/account`);
    await page.click("[name=choose][value=ben]");
    await page.click("#switch-account");
    await page.click("[name=sign-out][value=ben]");
    await page.waitForSelector("#username");
    await context.close();
  });
});

it.each([320, 390])("names of 60 characters without a blank stay inside their buttons: %i px", async (width) => {
  const { admin, application, provider, browser } = fixtures;
  await admin.require("PATCH", "/clients/demo-app", { client_name: long });
  await admin.require("PATCH", "/upstreams/examp", { name: long });
  const username = `long-${width}`;
  const claims = { email: `${width}${longAddress}`, email_verified: true };
  await admin.require("POST", "/users", { sub: username, username, password: person.password, claims });
  const context = await openContext(browser);
  const page = await context.newPage();
  await page.setViewportSize({ width, height: 844 });
  const show = async (name: string) => {
    await capture(page, `long-${name}-${width}`);
    expect(await overflowOf(page), name).toBe(0);
  };
  await page.goto(`${application.origin}/login`);
  await show("sign-in");
  await page.fill("#username", username);
  await page.fill("#password", person.password);
  await page.click("#sign-in");
  await page.waitForSelector("#allow");
  await show("consent");
  await page.goBack();
  await page.waitForSelector("a.button");
  await show("continue");
  for (const path of ["/account", "/account/address", "/account/name", "/account/apps"]) {
    await page.goto(`${provider.origin}${path}`);
    await show(path.replaceAll("/", "-"));
  }
  const url = new URL(`${provider.origin}/authorize`);
  const begun = await page.request.get(`${application.origin}/login`, { maxRedirects: 0 });
  const { searchParams } = new URL(begun.headers()["location"] ?? "");
  for (const [name, value] of searchParams) url.searchParams.set(name, value);
  url.searchParams.set("prompt", "select_account");
  await page.goto(url.href);
  await page.waitForSelector("#current-account");
  await show("select-account");
  await context.close();
});
