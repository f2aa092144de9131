import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { totpCode, totpStep } from "../../packages/op-auth/src/factors/totp.ts";
import {
  type BrowserFixtures,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  person,
  see,
} from "./browser-fixtures.ts";

let fixtures: BrowserFixtures;

beforeAll(async () => {
  fixtures = await openBrowserFixtures();
});

afterAll(() => fixtures.close());

async function signIn(page: Page, username: string): Promise<void> {
  if (await page.isEditable("#username")) await page.fill("#username", username);
  await page.fill("#password", person.password);
  await page.click("#sign-in");
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The key of the app that the page shows. */
async function keyOf(page: Page): Promise<Uint8Array<ArrayBuffer>> {
  const text = ((await page.textContent("#key")) ?? "").replaceAll(" ", "");
  const bits = [...text].map((each) => alphabet.indexOf(each).toString(2).padStart(5, "0")).join("");
  return new Uint8Array(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
}

/** The code that the app shows `offset` × 30 seconds from now. Each code is accepted once. */
function codeOf(key: Uint8Array<ArrayBuffer>, offset = 0): Promise<string> {
  return totpCode(key, totpStep(Date.now()) + offset);
}

describe("second factors, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", async (language) => {
    const { admin, application, provider, browser } = fixtures;
    const username = `mfa-${language}`;
    const { password } = person;
    await admin.require("POST", "/users", { sub: username, username, password, claims: { name: "Mo Example" } });
    const context = await openContext(browser, language);
    const page = await context.newPage();
    const show = (name: string) => see(page, name, language);

    await page.goto(`${provider.origin}/account/apps`);
    await signIn(page, username);
    await page.waitForSelector("#key");
    await show("account-add-app");
    const key = await keyOf(page);
    await page.fill("#code", "000000");
    await page.waitForSelector("#problem");
    await show("account-add-app-wrong");
    await page.fill("#code", await codeOf(key));
    await page.waitForSelector("#make-codes");
    await show("account-make-codes");
    expect(await page.locator(".note.good").count()).toBe(1);
    await page.click("#make-codes");
    await page.waitForSelector("#codes");
    await show("account-codes");
    const codes = await page.locator("#codes li").allInnerTexts();
    expect(codes).toHaveLength(8);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.click("#copy");
    await page.waitForSelector("#copied:not(:empty)");
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toContain(codes.join("\n"));
    expect(await page.isVisible("#print")).toBe(true);
    await page.click("#done");
    await page.waitForSelector("#add-app");
    await show("account-with-app");
    await page.click("[data-remove=factor_id] >> nth=0");
    await page.waitForSelector("#confirm");
    await show("confirm-remove-app");

    await context.clearCookies();
    await page.goto(`${application.origin}/login`);
    await signIn(page, username);
    await page.waitForSelector("#code");
    await show("prove-more");
    await page.fill("#code", "000000");
    await page.waitForSelector("#problem");
    await show("prove-more-wrong");
    await page.click("details summary");
    await show("prove-more-recovery");
    await page.fill("#recovery-code", codes[0]!.slice(0, -1));
    await page.click("#confirm-recovery");
    await page.waitForSelector("#recovery-code[aria-invalid]:focus");
    expect(await page.inputValue("#recovery-code")).toBe(codes[0]!.slice(0, -1));
    await show("prove-more-recovery-wrong");
    await page.fill("#recovery-code", codes[0]!.toLowerCase());
    await page.click("#confirm-recovery");
    await page.waitForSelector("#codes");
    await show("new-codes");
    await page.click("#saved");
    await page.waitForSelector("#allow");

    await context.clearCookies();
    await page.goto(`${application.origin}/login`);
    await signIn(page, username);
    await page.fill("#code", await codeOf(key, 1));
    await page.waitForSelector("#allow");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe("Hello, Mo Example");
    await context.close();
  });
});

describe("a client that requires two factors", () => {
  it("a person without one sets it up", async () => {
    const page = await beginEnrolment("enrol");
    await see(page, "enrol");
    await page.fill("#code", await codeOf(await keyOf(page)));
    await page.waitForSelector("#codes");
    await see(page, "first-codes");
    await page.context().close();
  });

  it("without any script", async () => {
    const page = await beginEnrolment("enrol-no-script", { javaScriptEnabled: false });
    await page.fill("#code", await codeOf(await keyOf(page)));
    await page.click("#add-app");
    await page.waitForSelector("#codes");
    await page.click("#later");
    await page.waitForSelector("#allow");
    await page.context().close();
  });
});

async function beginEnrolment(username: string, options: { readonly javaScriptEnabled?: boolean } = {}): Promise<Page> {
  const { admin, application, browser } = fixtures;
  await admin.require("PATCH", "/clients/demo-app", { require_mfa: true });
  await admin.require("POST", "/users", { sub: username, username, password: person.password });
  const context = await openContext(browser, "en", options);
  const page = await context.newPage();
  await page.goto(`${application.origin}/login`);
  await signIn(page, username);
  await page.waitForSelector("#key");
  return page;
}
