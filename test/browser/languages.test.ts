/**
 * **The main pages in every language**: what axe finds at both sizes, and whether something is wider than a phone of 320 px. That texts are complete
 * and keep the rules is held by test/reference/texts.test.ts.
 */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { translatedLanguages } from "../../packages/shared/src/config/text-languages.ts";
import {
  type BrowserFixtures,
  capture,
  looks,
  openBrowserFixtures,
  openContext,
  person,
  violationsOf,
} from "./browser-fixtures.ts";
import { BrowserMailbox } from "./browser-mailbox.ts";

let fixtures: BrowserFixtures;
let mailbox: BrowserMailbox;

beforeAll(async () => {
  mailbox = await BrowserMailbox.start();
  const links = { TERMS_URL: "https://example.com/terms", PRIVACY_URL: "https://example.com/privacy" };
  fixtures = await openBrowserFixtures({ vars: { ...mailbox.variables, ...links, SIGN_UP: "open" } });
  for (const name of ["Example Corp", "Other Corp"]) {
    const upstream_id = name.slice(0, 5).toLowerCase();
    const settings = { issuer: `https://${upstream_id}.example`, client_id: "here", client_secret: "secret" };
    await fixtures.admin.require("POST", "/upstreams", { upstream_id, name, ...settings });
  }
});

afterAll(async () => {
  await fixtures.close();
  mailbox.close();
});

/** Runs in the page: what is wider than its place. A code or a name of others may scroll or wrap within its own. */
const findWide = `(() => {
  const wide = [...document.querySelectorAll("h1, h2, label, button, a, p, dt, dd, li, summary")]
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
    .filter((element) => getComputedStyle(element).display !== "inline")
    .map((element) => element.tagName + ": " + element.textContent.trim().slice(0, 80));
  const page = document.documentElement.scrollWidth - innerWidth;
  return page > 0 ? ["the page scrolls sideways by " + page + " px", ...wide] : wide;
})()`;

/** Colours do not depend on the language: their contrast is measured in one of each direction. */
const contrastIn = new Set(["en", "ar"]);
const withoutContrast = "{ resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } }";

async function examine(page: Page, name: string, language: string): Promise<void> {
  const rules = contrastIn.has(language) ? undefined : withoutContrast;
  await page.waitForLoadState("load");
  expect(await page.getAttribute("html", "lang"), name).toBe(language);
  expect(await page.getAttribute("html", "dir"), name).toBe(translatedLanguages[language]!.direction);
  for (const { viewport } of [looks.light, looks.phone]) {
    await page.setViewportSize(viewport);
    await capture(page, `main-${name.replaceAll(/\W+/g, "-")}-${viewport.width}-${language}`);
    expect(await violationsOf(page, rules), `${name}, ${viewport.width} px`).toEqual([]);
  }
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await page.evaluate<string[]>(findWide), `${name}, 320 px`).toEqual([]);
}

async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.fill("#username", username);
  await page.fill("#password", password);
  await page.click("#sign-in");
}

describe("WCAG 2.2 §1.4.10: the main pages have no defect at 1280 and 390 px, and fit into 320 px", () => {
  it.each(Object.keys(translatedLanguages))("%s", { timeout: 120_000 }, async (language) => {
    const { admin, application, provider, browser } = fixtures;
    const { password } = person;
    const username = `person-${language.toLowerCase()}`;
    const claims = { name: person.name, email: `${username}@example.com`, email_verified: true };
    await admin.require("POST", "/users", { sub: username, username, password, claims });
    const context = await openContext(browser, language);
    const page = await context.newPage();
    const look = (name: string) => examine(page, name, language);
    const open = async (path: string) => {
      await page.goto(`${provider.origin}${path}`);
      await look(path);
    };

    await page.goto(`${application.origin}/login`);
    await page.setViewportSize({ width: 1280, height: 800 });
    const { height } = (await page.locator("main").boundingBox())!;
    expect(height, "the card with two providers").toBeLessThanOrEqual(640);
    await look("sign-in");
    await page.click("#forgot");
    await look("recover");
    await page.goto(`${application.origin}/login`);
    await page.click("#sign-up");
    await look("sign-up");
    await page.fill("#name", person.name);
    await page.fill("#address", `new-${language}@example.com`);
    await page.click("#sign-up");
    await page.waitForSelector("#code");
    await look("code");
    await page.fill("#code", await mailbox.codeFor(`new-${language}@example.com`));
    await page.waitForSelector("#create-passkey");
    await look("create-account");

    await page.goto(`${application.origin}/login`);
    await signIn(page, username, "wrong");
    await page.waitForSelector("#problem");
    await look("sign-in-wrong");
    await signIn(page, username, password);
    await page.waitForSelector("#allow");
    await look("consent");
    await page.click("#allow");
    await page.waitForSelector("#greeting");
    for (const path of ["", "/security", "/applications", "/activity", "/password", "/address", "/apps"]) {
      await open(`/account${path}`);
    }
    for (const path of ["/account/sessions/end-others", "/account/data", "/account/delete", "/device"]) {
      await open(path);
    }
    for (const path of ["/authorize?client_id=nobody", "/nothing", "/logout"]) await open(path);
    await page.click("#sign-out");
    await page.waitForSelector("[role=status]");
    await look("signed-out");
    await context.close();
  });
});
