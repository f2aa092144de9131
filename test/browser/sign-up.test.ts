import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  addAuthenticator,
  type BrowserFixtures,
  capture,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  person,
  see,
} from "./browser-fixtures.ts";
import { BrowserMailbox } from "./browser-mailbox.ts";

const name = "Nina Newcomer";

let fixtures: BrowserFixtures;
let mailbox: BrowserMailbox;

beforeAll(async () => {
  mailbox = await BrowserMailbox.start();
  const terms = { TERMS_URL: "https://example.com/terms", PRIVACY_URL: "https://example.com/privacy" };
  const vars = { ...mailbox.variables, ...terms, TERMS_VERSION: "2026-11", SIGN_UP: "open" };
  fixtures = await openBrowserFixtures({ vars });
});

afterAll(async () => {
  await fixtures.close();
  mailbox.close();
});

async function begin(page: Page, address: string): Promise<void> {
  await page.goto(`${fixtures.application.origin}/login`);
  await page.click("#sign-up");
  await page.fill("#name", name);
  await page.fill("#address", address);
}

describe("a newcomer, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s: three taps to an account with a passkey, and back by it", async (language) => {
    const context = await openContext(fixtures.browser, language);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    const show = (name: string) => see(page, name, language);
    const address = `nina-${language}@example.com`;
    await page.goto(`${fixtures.application.origin}/login`);
    await show("sign-in-with-sign-up");
    await page.click("#sign-up");
    await show("sign-up");
    let taps = 0;
    page.on("request", (request) => {
      if (request.method() === "POST" && request.isNavigationRequest()) taps += 1;
    });
    await page.fill("#name", name);
    await page.fill("#address", address);
    await page.click("#sign-up");
    await page.waitForSelector("#code");
    await show("sign-up-code");
    const code = await mailbox.codeFor(address);
    await page.fill("#code", code === "0000 0000" ? "00000001" : "00000000");
    await page.waitForSelector("#problem");
    await show("sign-up-code-wrong");
    problems.length = 0;
    // The wrong code.
    taps -= 1;
    await page.fill("#code", code);
    await page.waitForSelector("#create-passkey");
    await show("create-account");
    await addAuthenticator(context, page);
    await page.click("#create-passkey");
    await page.waitForSelector("#second-passkey:visible");
    expect(taps).toBe(3);
    await show("keep-a-way-back");
    await page.click("#later");
    await page.waitForSelector("#allow");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe(`Hello, ${name}`);
    expect(JSON.parse((await page.textContent("#claims")) ?? "")).toMatchObject({ acr: "phr", email: address });
    await page.goto(`${fixtures.provider.origin}/account`);
    await page.click(".rename summary");
    await show("account-name");
    await page.fill("#name", "Nina Renamed");
    await page.click("#save-name");
    await page.waitForSelector("[data-notice]");
    expect(await page.textContent(".person")).toContain("Nina Renamed");
    await context.clearCookies();
    // The autofill of the sign-in page uses the passkey.
    await page.goto(`${fixtures.application.origin}/login`);
    await page.waitForSelector("#greeting");
    expect(await page.textContent("#greeting")).toBe("Hello, Nina Renamed");
    expect(problems).toEqual([]);
    await context.close();
  });

  it.each<Language>(languages)("%s: somebody who has agreed to no terms", async (language) => {
    const context = await openContext(fixtures.browser, language);
    const page = await context.newPage();
    const username = `terms-${language}`;
    const claims = { name: "Tessa Example" };
    await fixtures.admin.require("POST", "/users", { sub: username, username, password: person.password, claims });
    await page.goto(`${fixtures.application.origin}/login`);
    await page.fill("#username", username);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#agree");
    await see(page, "terms", language);
    await page.click("#agree");
    await page.waitForSelector("#allow");
    await page.goto(`${fixtures.provider.origin}/account`);
    await see(page, "account-terms", language);
    expect(await page.textContent("#agreed-terms")).toContain("2026-11");
    await context.close();
  });

  it("without any script: with a password", async () => {
    const context = await openContext(fixtures.browser, "en", { javaScriptEnabled: false });
    const page = await context.newPage();
    const address = "no-script@example.com";
    await begin(page, address);
    await page.click("#sign-up");
    await page.fill("#code", await mailbox.codeFor(address));
    await page.click("#confirm-code");
    await page.fill("#new", "a long and new secret of Nina");
    await page.fill("#repeat", "a different one");
    await capture(page, "create-account-no-script");
    await page.click("#create-account");
    await page.waitForSelector("#problem");
    await capture(page, "create-account-differ");
    await page.fill("#new", "a long and new secret of Nina");
    await page.fill("#repeat", "a long and new secret of Nina");
    await page.click("#create-account");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe(`Hello, ${name}`);
    await context.close();
  });

  it("an address that has an account: the mail says so, and its code leads to the sign-in", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    await begin(page, "alice@example.com");
    await page.click("#sign-up");
    await page.waitForSelector("#code");
    await page.fill("#code", await mailbox.codeFor("alice@example.com"));
    await page.waitForSelector("text=You already have an account");
    await see(page, "account-exists");
    await page.click("a.button");
    await page.fill("#username", person.username);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.click("#agree");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe(`Hello, ${person.name}`);
    await context.close();
  });

  it("an invitation: its link is opened, and the account is made", async () => {
    const { admin, browser } = fixtures;
    const email = "maria@example.com";
    await admin.require("POST", "/invitations", { email, name: "Maria Muster", locale: "de" });
    const { text } = await mailbox.next(email);
    expect(text).toContain("eingeladen");
    const link = /https?:\S+\/invitation\?token=\S+/.exec(text)![0];
    const context = await openContext(browser, "de");
    const page = await context.newPage();
    await page.goto(link);
    await see(page, "invitation", "de");
    expect(await page.inputValue("#name")).toBe("Maria Muster");
    await page.click("#accept");
    await page.waitForSelector("#create-passkey");
    await addAuthenticator(context, page);
    await page.click("#create-passkey");
    await page.click("#later");
    await page.waitForSelector(".rename");
    expect(await page.textContent("main")).toContain("Maria Muster");
    await page.goto(link);
    await page.waitForSelector("text=Diese Einladung gilt nicht mehr");
    await see(page, "invitation-ended", "de");
    await context.close();
  });
});
