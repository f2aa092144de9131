import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import {
  type BrowserFixtures,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  person,
  see,
} from "./browser-fixtures.ts";

/** RFC 8628 in a real browser: typing the code, and the appearance of the pages. */
let fixtures: BrowserFixtures;
const clientId = "television";

beforeAll(async () => {
  fixtures = await openBrowserFixtures();
  await fixtures.admin.require("POST", "/clients", {
    client_id: clientId,
    client_name: "Living-room television",
    token_endpoint_auth_method: "none",
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
    scope: "openid profile email",
  });
});
afterAll(() => fixtures?.close());

async function start(): Promise<string> {
  const form = { client_id: clientId, scope: "openid profile email" };
  const { body } = await postForm(`${fixtures.provider.origin}/device_authorization`, form);
  return String(body["user_code"]);
}

async function signedIn(language: Language) {
  const context = await openContext(fixtures.browser, language);
  const page = await context.newPage();
  await page.goto(`${fixtures.provider.issuer}/device`);
  await page.fill("#username", person.username);
  await page.fill("#password", person.password);
  await page.click("#sign-in");
  await page.waitForSelector("#user-code");
  return { context, page };
}

describe("RFC 8628 §3.3: the page for the code", () => {
  test("formats the code as it is typed, and keeps the cursor at its letter", async () => {
    const { context, page } = await signedIn("en");
    const field = page.locator("#user-code");
    await field.pressSequentially("bcdf");
    expect(await field.inputValue()).toBe("BCDF");
    await field.pressSequentially("gh 1jk");
    expect(await field.inputValue()).toBe("BCDF-GHJK");
    await field.press("ArrowLeft");
    await field.press("ArrowLeft");
    await field.press("Backspace");
    await field.pressSequentially("h");
    expect(await field.inputValue()).toBe("BCDF-GHJK");
    await context.close();
  });

  test.each<Language>(languages)("%s: from the code to the result", async (language) => {
    const { context, page } = await signedIn(language);
    await see(page, "device-enter", language);
    await page.fill("#user-code", "BBBBBBBB");
    await page.click("#continue");
    await page.waitForSelector("#problem");
    await see(page, "device-unknown", language);
    const code = await start();
    await page.fill("#user-code", `Your code is ${code.toLowerCase()}.`);
    await page.click("#continue");
    await page.waitForSelector("#shown-code");
    expect((await page.textContent("#shown-code"))?.trim()).toBe(code);
    await see(page, "device-confirm", language);
    await page.click(language === "de" ? "#deny" : "#allow");
    await page.waitForURL(/result=/);
    await see(page, "device-result", language);
    await context.close();
  });
});
