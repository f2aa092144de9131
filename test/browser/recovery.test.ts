import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  accessibilityProblems,
  type BrowserFixtures,
  capture,
  type Look,
  looks,
  openBrowserFixtures,
  openContext,
  person,
} from "./browser-fixtures.ts";
import { BrowserMailbox } from "./browser-mailbox.ts";

let mailbox: BrowserMailbox;
let fixtures: BrowserFixtures;

beforeAll(async () => {
  mailbox = await BrowserMailbox.start();
  fixtures = await openBrowserFixtures({ vars: mailbox.variables });
});

afterAll(async () => {
  await fixtures.close();
  mailbox.close();
});

async function createPerson(username: string): Promise<string> {
  const email = `${username}@example.com`;
  const claims = { name: "Ro Example", email, email_verified: true };
  await fixtures.admin.require("POST", "/users", { sub: username, username, password: person.password, claims });
  return email;
}

async function see(page: Page, name: string): Promise<void> {
  await page.waitForSelector("h1");
  await capture(page, name);
  expect(await accessibilityProblems(page), name).toEqual([]);
}

const chosen = "purple monkey dishwasher 42";

describe("a forgotten password, 390×844 and 1280×900", () => {
  it.each<Look>(looks)("%s", async (look) => {
    const { application, browser } = fixtures;
    const email = await createPerson(`lost-${look}`);
    // No script is needed.
    const context = await openContext(browser, look, { javaScriptEnabled: look === "light" || look === "german" });
    const page = await context.newPage();
    const show = (name: string) =>
      look === "phone" || look === "dark" || look === "phone-dark"
        ? capture(page, `${name}-${look}`)
        : see(page, `${name}-${look}`);
    await page.goto(`${application.origin}/login`);
    await page.click("#forgot");
    await page.waitForSelector("#address");
    await show("recover");
    await page.fill("#address", email);
    await page.click("#send-code");
    await page.waitForSelector("#code");
    await show("recover-code");
    await page.fill("#code", "0000 0000");
    await page.click("#confirm-code");
    await page.waitForSelector("#problem");
    await show("recover-code-wrong");
    await page.fill("#code", await mailbox.codeFor(email));
    await page.click("#confirm-code");
    await page.waitForSelector("#new");
    await show("recover-password");
    await page.fill("#new", chosen);
    await page.fill("#repeat", `${chosen}!`);
    await page.click("#change-password");
    await page.waitForSelector("#problem");
    await show("recover-password-wrong");
    await page.fill("#new", chosen);
    await page.fill("#repeat", chosen);
    await page.click("#change-password");
    await page.waitForSelector("#allow");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe("Hello, Ro Example");
    const told = await mailbox.next(email, 1);
    expect(told.subject).toBe("Your password was changed");
    await context.close();
  });
});

describe("the address of an account, 390×844 and 1280×900", () => {
  it.each<Look>(["light", "phone-dark", "german"])("%s", async (look) => {
    const { provider, browser } = fixtures;
    const email = await createPerson(`moved-${look}`);
    const next = `new-${email}`;
    const context = await openContext(browser, look);
    const page = await context.newPage();
    await page.goto(`${provider.origin}/account/address`);
    await page.fill("#username", `moved-${look}`);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#address");
    await see(page, `address-${look}`);
    await page.fill("#address", next);
    await page.click("#send-code");
    await page.waitForSelector("#code");
    await see(page, `address-code-${look}`);
    await page.fill("#code", await mailbox.codeFor(next));
    await page.click("#confirm-code");
    await page.waitForSelector("#change-address");
    await see(page, `account-address-${look}`);
    const { text } = await mailbox.next(email);
    const link = new URL(/https?:\/\/\S+undo=\S+/.exec(text)![0]);
    await page.goto(`${provider.origin}${link.pathname}${link.search}`);
    await page.waitForSelector("#confirm");
    await see(page, `address-undo-${look}`);
    await page.click("#confirm");
    await page.waitForSelector("h1");
    await see(page, `address-undone-${look}`);
    await page.goto(`${provider.origin}/account`);
    expect(await page.isVisible("#password")).toBe(true);
    await context.close();
  });
});
