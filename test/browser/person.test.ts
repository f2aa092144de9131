import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  accessibilityProblems,
  addAuthenticator,
  type BrowserFixtures,
  capture,
  type Look,
  looks,
  openBrowserFixtures,
  openContext,
  person,
} from "./browser-fixtures.ts";

let fixtures: BrowserFixtures;

beforeAll(async () => {
  fixtures = await openBrowserFixtures();
});

afterAll(() => fixtures.close());

/** Errors that the browser reported, such as refused scripts and styles. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return complaints;
}

async function signIn(page: Page): Promise<void> {
  await page.waitForSelector("#username, #error-code, #greeting");
  if ((await page.locator("#username").count()) === 0) throw new Error(`no sign-in: ${await page.textContent("main")}`);
  if (await page.isEditable("#username")) await page.fill("#username", person.username);
  await page.fill("#password", person.password);
  await page.click("#sign-in");
}

/** Returns to the application, through the consent page if it is shown; includes any error. */
async function greeting(page: Page): Promise<string> {
  await page.waitForSelector("#greeting, #allow");
  if ((await page.locator("#allow").count()) > 0) await page.click("#allow");
  await page.waitForSelector("#greeting");
  const notice = await page.locator("#notice").allInnerTexts();
  return [await page.textContent("#greeting"), ...notice].join(" ");
}

describe("a person with a password", () => {
  it("signs in, consents, refreshes, signs in silently, confirms, and signs out everywhere", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    const { origin } = fixtures.application;

    await page.goto(`${origin}/login-offline`);
    await capture(page, "sign-in");
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.fill("#username", person.username);
    await page.fill("#password", "wrong");
    await page.click("#sign-in");
    await page.waitForSelector("#problem");
    await capture(page, "sign-in-wrong");
    expect(await page.inputValue("#username")).toBe(person.username);
    complaints.length = 0;

    await page.fill("#password", person.password);
    await page.dblclick("#sign-in");
    await page.waitForSelector("#allow");
    await capture(page, "consent");
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.textContent("ul.scopes")).toContain("Keep this access while you are away");

    await page.click("#allow");
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);
    expect(await page.textContent("#scope")).toBe("openid profile email offline_access");

    await page.click("#refresh");
    expect(await page.textContent("#refreshes")).toBe("1");

    await page.click("#silent");
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);

    await page.click("#reauthenticate");
    await page.waitForSelector("#password");
    expect(await page.textContent("h1")).toBe("Confirm it is you");
    expect(await page.textContent(".person")).toContain(person.name);
    expect(await page.isEditable("#username")).toBe(false);
    await capture(page, "confirm-sign-in");
    expect(await accessibilityProblems(page)).toEqual([]);
    await signIn(page);
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);

    await page.click("#logout");
    expect(await page.textContent("#greeting")).toBe("You are not signed in");
    await page.click("#silent");
    expect(await page.textContent("#notice")).toContain("login_required");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("signs in without any script", async () => {
    const context = await fixtures.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    expect(await page.isVisible("#passkey")).toBe(false);
    await signIn(page);
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);
    await context.close();
  });

  it("returns by a form that submits itself, if the application requested that", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    const { origin } = fixtures.application;
    await page.goto(`${origin}/login`);
    await signIn(page);
    await greeting(page);
    const parameters = new URLSearchParams({
      client_id: "demo-app",
      redirect_uri: `${origin}/callback`,
      response_type: "code",
      response_mode: "form_post",
      scope: "openid profile",
      state: "posted",
      prompt: "none",
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
    });
    const posted = page.waitForRequest(
      (request) => request.url() === `${origin}/callback` && request.method() === "POST",
    );
    await page.goto(`${fixtures.provider.origin}/authorize?${parameters}`, { waitUntil: "commit" });
    const fields = new URLSearchParams((await posted).postData() ?? "");
    expect(fields.get("state")).toBe("posted");
    expect(fields.get("code")).toMatch(/^ac\./);
    expect(fields.get("iss")).toBe(fixtures.provider.issuer);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("is informed by the provider's logout page, and the application is notified", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    await signIn(page);
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);

    await page.goto(`${fixtures.provider.origin}/logout`);
    await capture(page, "logout");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.click("#sign-out");
    await page.waitForSelector("[role=status]");
    await capture(page, "signed-out");
    await expect
      .poll(
        async () => {
          await page.goto(fixtures.application.origin);
          return page.textContent("#greeting");
        },
        { timeout: 10_000 },
      )
      .toBe("You are not signed in");
    await context.close();
  });
});

describe("a person with a passkey", () => {
  it("adds one, signs in with it, by button and by autofill, and removes it", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    const { authenticator, authenticatorId } = await addAuthenticator(context, page);

    await page.goto(`${fixtures.provider.origin}/account`);
    await signIn(page);
    await page.waitForSelector("#add-passkey");
    await capture(page, "account");
    await page.click("#add-passkey");
    await page.waitForSelector(".note.good");
    await capture(page, "account-with-passkey");
    expect(await accessibilityProblems(page)).toEqual([]);
    const { credentials } = await authenticator.send("WebAuthn.getCredentials", { authenticatorId });
    expect(credentials).toHaveLength(1);
    expect(credentials[0]?.isResidentCredential).toBe(true);

    // No user touches the authenticator, so the page can be inspected and the button used.
    await authenticator.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: false });
    await context.clearCookies();
    await page.goto(`${fixtures.application.origin}/login`);
    await page.waitForSelector("#passkey:visible");
    await capture(page, "sign-in-passkey");
    await authenticator.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: true });
    await page.click("#passkey");
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);
    const claims = JSON.parse((await page.textContent("#claims")) ?? "") as { acr: string; amr: string[] };
    expect(claims).toMatchObject({ acr: "phr", amr: ["hwk", "user", "mfa"] });

    // The field's autofill starts without a click; the virtual authenticator picks its only passkey.
    await context.clearCookies();
    await page.goto(`${fixtures.application.origin}/login`);
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);

    await page.goto(`${fixtures.provider.origin}/account`);
    // A second one on the same device is refused, and the page no longer shows that one was added.
    await page.goto(`${fixtures.provider.origin}/account?notice=passkey-added`);
    await page.click("#add-passkey");
    await page.waitForSelector("[data-passkey-exists]:visible");
    expect(await page.locator(".note:visible").count()).toBe(1);

    await page.click(".rename summary");
    await page.fill(".rename input[name=name]", "My laptop");
    await page.click(".rename button");
    await page.waitForSelector("text=The passkey was renamed.");
    await page.click("[data-remove=credential_id]");
    expect(await page.textContent("main")).toContain("My laptop");
    await capture(page, "confirm-remove-passkey");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.click("#confirm");
    await page.waitForSelector("#add-passkey");
    expect(await page.locator("[data-remove=credential_id]").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("a person's own page", () => {
  it("lists the applications with access, and removes it", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    await signIn(page);
    await greeting(page);
    await page.goto(`${fixtures.provider.origin}/account/consents`);
    expect(await page.textContent("main")).toContain("Demo application");
    await page.click("[data-remove=client_id]");
    await page.click("#confirm");
    await page.waitForSelector("text=No application has access");

    await page.goto(`${fixtures.application.origin}/silent`);
    expect(await page.textContent("#notice")).toContain("consent_required");
    await page.goto(`${fixtures.application.origin}/login`);
    await page.waitForSelector("#allow");
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);
    await context.close();
  });
});

describe("the layout of the pages, 390×844 and 1280×900", () => {
  it.each<Look>(looks)("%s", async (look) => {
    const context = await openContext(fixtures.browser, look);
    const page = await context.newPage();
    const { origin } = fixtures.application;
    const provider = fixtures.provider.origin;
    const see = async (name: string, url?: string) => {
      if (url !== undefined) await page.goto(url);
      await page.waitForSelector("h1");
      await capture(page, `${name}-${look}`);
      expect(await accessibilityProblems(page), name).toEqual([]);
    };
    await see("demo", origin);
    await see("home", `${provider}/`);
    await see("sign-in", `${origin}/login-offline`);
    await signIn(page);
    await page.waitForSelector("#allow");
    await see("consent");
    await page.click("#allow");
    await page.waitForSelector("#claims");
    await see("demo-signed-in");
    await see("confirm-sign-in", `${origin}/reauthenticate`);
    await page.fill("#password", "wrong");
    await page.click("#sign-in");
    await page.waitForSelector("#problem");
    await see("sign-in-wrong");
    const preferred = new URLSearchParams({
      response_type: "code",
      client_id: "demo-app",
      redirect_uri: `${origin}/callback`,
      scope: "openid",
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
      acr_values: "phr",
    });
    await see("confirm-sign-in-preferred", `${provider}/authorize?${preferred}`);
    expect(await page.textContent("#purpose")).toMatch(/passkey/i);
    await see("select-account", `${origin}/select-account`);
    await see("home-signed-in", `${provider}/`);
    await page.click("#account");
    await page.waitForSelector("#password");
    await see("account");
    await see("password", `${provider}/.well-known/change-password`);
    expect(new URL(page.url()).pathname).toBe("/account/password");
    await see("confirm-others", `${provider}/account/sessions/end-others`);
    await page.goto(`${provider}/account`);
    await page.click("[data-remove=client_id]");
    await see("confirm-consent");
    await see("error", `${provider}/authorize?client_id=nobody`);
    await see("not-found", `${provider}/nothing`);
    await see("logout", `${provider}/logout`);
    await page.click("#stay");
    await see("stayed");
    await page.goto(`${provider}/logout`);
    await page.click("#sign-out");
    await page.waitForSelector("[role=status]");
    await see("signed-out");
    await context.close();
  });
});
