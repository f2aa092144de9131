import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type BrowserFixtures,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  person,
  see,
} from "./browser-fixtures.ts";
import { BrowserMailbox } from "./browser-mailbox.ts";

let mailbox: BrowserMailbox;
let fixtures: BrowserFixtures;

beforeAll(async () => {
  mailbox = await BrowserMailbox.start();
  fixtures = await openBrowserFixtures({ vars: { ...mailbox.variables, NEW_BROWSER: "code" } });
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

const chosen = "purple monkey dishwasher 42";

describe("a forgotten password, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", async (language) => {
    const { application, browser } = fixtures;
    const email = await createPerson(`lost-${language}`);
    const context = await openContext(browser, language);
    const page = await context.newPage();
    const show = (name: string) => see(page, name, language);
    await page.goto(`${application.origin}/login`);
    await page.click("#forgot");
    await page.waitForSelector("#address");
    await show("recover");
    await page.fill("#address", email);
    await page.click("#send-code");
    await page.waitForSelector("#code");
    await show("recover-code");
    await page.fill("#code", "0000 0000");
    await page.waitForSelector("#problem");
    await show("recover-code-wrong");
    await page.fill("#code", await mailbox.codeFor(email));
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
    await mailbox.find(email, /^Your password was changed\n[\s\S]*^Time: .*\nDevice: Chrome · Linux$/m);
    await context.close();
  });
});

describe("a new browser, and the address of an account, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", async (language) => {
    const { provider, browser } = fixtures;
    const email = await createPerson(`moved-${language}`);
    const next = `new-${email}`;
    const context = await openContext(browser, language);
    const page = await context.newPage();
    await page.goto(`${provider.origin}/account/address`);
    await page.fill("#username", `moved-${language}`);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#code");
    await see(page, "confirm-browser", language);
    await page.fill("#code", await mailbox.codeFor(email));
    await page.waitForSelector("#address");
    await see(page, "address", language);
    await page.fill("#address", next);
    await page.click("#send-code");
    await page.waitForSelector("#code");
    await see(page, "address-code", language);
    await page.fill("#code", await mailbox.codeFor(next));
    await page.waitForSelector("#change-address");
    await see(page, "account-address", language);
    const link = new URL(await mailbox.find(email, /https?:\/\/\S+undo=\S+/));
    await page.goto(`${provider.origin}${link.pathname}${link.search}`);
    await page.waitForSelector("#confirm");
    await see(page, "address-undo", language);
    await page.click("#confirm");
    await page.waitForSelector("#new");
    await see(page, "address-undone", language);
    await page.goto(`${provider.origin}/account/security`);
    expect(await page.isVisible("#password")).toBe(true);
    await context.close();
  });
});

describe("an administrator lets a person back in, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", async (language) => {
    const { provider, browser, admin } = fixtures;
    const username = `helped-${language}`;
    const email = await createPerson(username);
    const context = await openContext(browser, language);
    const page = await context.newPage();
    await admin.require("POST", `/users/${username}/reset-link`);
    const { text } = await mailbox.next(email);
    const link = new URL(/https?:\/\/\S+token=\S+/.exec(text)![0]);
    await page.goto(`${provider.origin}${link.pathname}${link.search}`);
    await page.waitForSelector("#confirm");
    await see(page, "reset-link", language);
    await page.click("#confirm");
    await page.waitForSelector("#new");
    await page.fill("#new", chosen);
    await page.fill("#repeat", chosen);
    await page.click("#change-password");
    await page.waitForSelector("#change-address");

    const { temporary_password: temporary } = await admin.require("POST", `/users/${username}/temporary-password`);
    await page.goto(`${provider.origin}/account`);
    await page.fill("#username", username);
    await page.fill("#password", String(temporary));
    await page.click("#sign-in");
    await page.waitForSelector("#new");
    await see(page, "temporary-password", language);
    await page.fill("#new", `${chosen} again`);
    await page.fill("#repeat", `${chosen} again`);
    await page.click("#change-password");
    await page.waitForSelector("#add-address");

    await page.click("#add-address");
    const further = `further-${email}`;
    await page.fill("#address", further);
    await see(page, "address-further", language);
    await page.click("#send-code");
    await page.waitForSelector("#code");
    await page.fill("#code", await mailbox.codeFor(further));
    await page.waitForSelector("#add-address");
    await see(page, "account-addresses", language);
    await page.click("a[href*='address/primary']");
    await page.waitForSelector("#confirm");
    await see(page, "address-primary", language);
    await page.click("#confirm");
    await page.waitForSelector("#add-address");
    await context.close();
  });
});
