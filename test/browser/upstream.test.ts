import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type NodeOidcProvider, startNodeOidcProvider } from "../fixtures/node-oidc-provider.ts";
import {
  type BrowserFixtures,
  capture,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  person,
  see,
} from "./browser-fixtures.ts";

let fixtures: BrowserFixtures;
let peer: NodeOidcProvider;

beforeAll(async () => {
  fixtures = await openBrowserFixtures({ vars: { SIGN_IN_PAGE: "identifier" } });
  peer = await startNodeOidcProvider(`${fixtures.provider.issuer}/upstream/peer/callback`);
  await fixtures.admin.require("POST", "/upstreams", {
    ...{ upstream_id: "peer", name: "Example Corp", issuer: peer.issuer, ...peer.client },
    ...{ trusted_domains: ["example.com"], sign_up: "anyone", domains: ["corp.example"], discovery: "offer" },
  });
});

afterAll(async () => {
  await fixtures.close();
  await peer.stop();
});

async function openPage(context: BrowserContext): Promise<Page> {
  // The pages of the other provider have a font from there.
  await context.route("https://fonts.googleapis.com/**", (route) => route.abort());
  return context.newPage();
}

/** At the pages of the other provider, to its redirect back. */
async function signInThere(page: Page, address: string): Promise<void> {
  await page.fill("[name=login]", address);
  await page.fill("[name=password]", "any");
  await page.click("[type=submit]");
  await page.waitForSelector("[name=prompt][value=consent]", { state: "attached" });
  await page.click("[type=submit]");
}

describe("an upstream provider, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", async (language) => {
    const { admin, application, provider, browser } = fixtures;
    const username = `upstream-${language}`;
    const address = `${username}@example.com`;
    const claims = { name: "Uma Example", email: address, email_verified: true };
    await admin.require("POST", "/users", { sub: username, username, password: person.password, claims });
    const context = await openContext(browser, language);
    const page = await openPage(context);
    const blocked: string[] = [];
    page.on("console", (message) => /content security policy/i.test(message.text()) && blocked.push(message.text()));
    const show = (name: string) => see(page, name, language);

    await page.goto(`${application.origin}/login`);
    await page.waitForSelector("#upstream-peer");
    await show("sign-in-with-upstream");
    await page.click("#upstream-peer");
    await page.click('a[href$="/abort"]');
    await page.waitForSelector("#problem");
    await show("sign-in-upstream-cancelled");
    await page.click("#upstream-peer");
    await signInThere(page, address);
    await page.waitForSelector("#link");
    await show("sign-in-to-connect");
    expect(await page.inputValue("#username")).toBe(address);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#connect");
    expect(await page.textContent("main")).toContain(address);
    await show("connect-accounts");
    await page.click("#connect");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe("Hello, Uma Example");

    await page.goto(`${provider.origin}/account/security`);
    await page.waitForSelector("[data-remove=identity]");
    await show("account-with-upstream");
    await page.click("[data-remove=identity]");
    await page.waitForSelector("#confirm");
    await show("confirm-disconnect");
    await page.click("#confirm");
    await page.waitForSelector("#connect-peer");
    await show("account-without-upstream");
    // Who is signed in there comes back at once: the policy of this page applies to all redirects.
    await page.click("#connect-peer");
    await page.waitForSelector("#connect");
    await show("account-connect");
    await page.click("#connect");
    await page.waitForSelector("[data-remove=identity]");
    expect(await page.locator(".note.good").count()).toBe(1);

    await context.clearCookies();
    await page.goto(`${application.origin}/login`);
    await page.click("#upstream-peer");
    await signInThere(page, address);
    await page.waitForSelector("#greeting");
    expect(JSON.parse((await page.textContent("#claims")) ?? "")).toMatchObject({ email: address, amr: ["fed"] });
    expect(blocked).toEqual([]);
    await context.close();
  });

  it.each([true, false])("the name first, then the password or its provider, with scripts: %s", async (hasScripts) => {
    const { application, browser } = fixtures;
    const context = await openContext(browser, "en", { javaScriptEnabled: hasScripts });
    const page = await openPage(context);
    await page.goto(`${application.origin}/login`);
    await page.fill("#username", person.username);
    await page.press("#username", "Enter");
    await page.waitForSelector("#password");
    await page.fill("#password", "wrong");
    await page.press("#password", "Enter");
    await page.waitForSelector("#problem");
    if (hasScripts) await see(page, "sign-in-password-second");
    await page.click("#rename");
    await page.fill("#username", "uma@corp.example");
    await page.click("#sign-in");
    expect(await page.inputValue("[name=login]")).toBe("uma@corp.example");
    await page.click('a[href$="/abort"]');
    await page.waitForSelector("#upstream-peer");
    if (hasScripts) await see(page, "sign-in-password-or-provider");
    await page.click("#rename");
    await page.fill("#username", person.username);
    await page.click("#sign-in");
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#allow, #greeting");
    await context.close();
  });

  it("without any script: a newcomer gets an account", async () => {
    const context = await openContext(fixtures.browser, "de", { javaScriptEnabled: false });
    const page = await openPage(context);
    await page.goto(`${fixtures.application.origin}/login`);
    await page.click("#upstream-peer");
    await signInThere(page, "newcomer@example.com");
    await page.click("#allow");
    expect(await page.textContent("#greeting")).toBe("Hello, Pat Person");
    await page.goto(`${fixtures.provider.origin}/account`);
    await capture(page, "account-of-upstream-newcomer");
    expect(await page.textContent("main")).toContain("newcomer@example.com");
    await context.close();
  });
});
