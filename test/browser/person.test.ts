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

async function signIn(page: Page, username = person.username): Promise<void> {
  await page.waitForSelector("#username, #error-code, #greeting");
  if ((await page.locator("#username").count()) === 0) throw new Error(`no sign-in: ${await page.textContent("main")}`);
  if (await page.isEditable("#username")) await page.fill("#username", username);
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

    await page.fill("#username", person.username);
    await page.fill("#password", "wrong");
    await page.click("#sign-in");
    await page.waitForSelector("#problem");
    expect(await page.inputValue("#username")).toBe(person.username);
    complaints.length = 0;

    // NIST SP 800-63B-4 §3.1.1.2: what is typed can be shown.
    await page.fill("#password", person.password);
    await page.click("[data-show]");
    expect(await page.getAttribute("#password", "type")).toBe("text");
    await capture(page, "sign-in-shown");
    await page.dblclick("#sign-in");
    await page.waitForSelector("#allow");
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
    expect(await page.isVisible("[data-show]")).toBe(false);
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

  it("in a browser without cookies is told so", async () => {
    const context = await openContext(fixtures.browser, "de");
    const page = await context.newPage();
    await page.goto(`${fixtures.provider.origin}/flow/sign-in?f=sealed`);
    await see(page, "no-cookies", "de");
    expect(await page.textContent("main")).toContain("Erlauben Sie Cookies");
    await context.close();
  });

  it("is informed by the provider's logout page, and the application is notified", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    await signIn(page);
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);

    // The return address belongs to nobody.
    await page.goto(`${fixtures.provider.origin}/logout?post_logout_redirect_uri=https://other.example/`);
    await see(page, "logout-fault");
    await page.click("#sign-out");
    await page.waitForSelector("[role=status]");
    await see(page, "logged-out-fault");
    expect(await page.textContent("#fault")).toContain("you will not be taken back");
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
  it("adds one, signs in with it, by button and by autofill, and removes it, without functions of newer browsers", async () => {
    const context = await openContext(fixtures.browser);
    // Safari before 18.4, and extensions that replace the browser's authenticators.
    await context.addInitScript(`
      delete PublicKeyCredential.parseCreationOptionsFromJSON;
      delete PublicKeyCredential.parseRequestOptionsFromJSON;
      delete PublicKeyCredential.prototype.toJSON;`);
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    const { authenticator, authenticatorId } = await addAuthenticator(context, page);

    await page.goto(`${fixtures.provider.origin}/account/security`);
    await signIn(page);
    await page.waitForSelector("#add-passkey");
    await page.click("#add-passkey");
    await page.waitForSelector(".note.good");
    await see(page, "account-with-passkey");
    const { credentials } = await authenticator.send("WebAuthn.getCredentials", { authenticatorId });
    expect(credentials).toHaveLength(1);
    expect(credentials[0]?.isResidentCredential).toBe(true);

    // No user touches the authenticator, so the page can be inspected and the button used.
    await authenticator.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: false });
    await context.clearCookies();
    await page.goto(`${fixtures.application.origin}/login`);
    await page.waitForSelector("#passkey:visible");
    await see(page, "sign-in-passkey");
    await authenticator.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: true });
    await page.click("#passkey");
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);
    const claims = JSON.parse((await page.textContent("#claims")) ?? "") as { acr: string; amr: string[] };
    expect(claims).toMatchObject({ acr: "phr", amr: ["hwk", "user", "mfa"] });

    // The field's autofill starts without a click; the virtual authenticator picks its only passkey.
    await context.clearCookies();
    await page.goto(`${fixtures.application.origin}/login`);
    expect(await greeting(page)).toBe(`Hello, ${person.name}`);

    await page.goto(`${fixtures.provider.origin}/account/security`);
    // A second one on the same device is refused.
    await page.click("#add-passkey");
    await page.waitForSelector("[data-passkey-exists]:visible");
    expect(await page.locator(".note:visible").count()).toBe(1);

    await page.click(".rename summary");
    await page.fill(".rename input[name=name]", "My laptop");
    await page.click(".rename button");
    await page.waitForSelector("text=The passkey was renamed.");
    await page.click("[data-remove=credential_id]");
    expect(await page.textContent("main")).toContain("My laptop");
    await see(page, "confirm-remove-passkey");
    await page.click("#confirm");
    await page.waitForSelector("#add-passkey");
    expect(await page.locator("[data-remove=credential_id]").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});

describe("a browser without passkeys", () => {
  it("says why the account page offers none, and signs in by password", async () => {
    const context = await openContext(fixtures.browser);
    await context.addInitScript("delete window.PublicKeyCredential;");
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    await page.goto(`${fixtures.provider.origin}/account/security`);
    expect(await page.isVisible("#passkey")).toBe(false);
    await signIn(page);
    await page.waitForSelector("[data-no-passkeys]:visible");
    expect(await page.isVisible("#add-passkey")).toBe(false);
    await see(page, "account-no-passkeys");
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
    // The application may also say that the removal has signed the person out there.
    expect(await greeting(page)).toContain(`Hello, ${person.name}`);
    await context.close();
  });
});

describe("a person who deletes their account", () => {
  it("downloads everything first, is signed out, and keeps the account by a sign-in", async () => {
    const context = await openContext(fixtures.browser);
    const page = await context.newPage();
    const { origin } = fixtures.provider;
    await page.goto(`${origin}/account/activity`);
    await signIn(page);
    await page.click("#data");
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("#confirm")]);
    expect(file.suggestedFilename()).toBe("account.json");
    await page.click("#cancel");
    await page.click("#delete");
    await page.click("#confirm");
    await page.waitForSelector("text=Your account will be deleted");
    await page.goto(`${origin}/account/activity`);
    await signIn(page);
    await page.waitForSelector("#keep");
    await see(page, "restore");
    await page.click("#keep");
    await page.waitForSelector("#delete");
    await context.close();
  });
});

describe("a browser that creates passkeys by itself", () => {
  it("adds one after a sign-in by password, and is told which ones there are", async () => {
    const context = await openContext(fixtures.browser);
    // This Chromium has no password manager that would allow it.
    await context.addInitScript(`
      PublicKeyCredential.getClientCapabilities = async () => ({ conditionalCreate: true });
      PublicKeyCredential.signalAllAcceptedCredentials = async (signal) => { window.accepted = signal; };
      const create = navigator.credentials.create.bind(navigator.credentials);
      navigator.credentials.create = ({ publicKey, mediation }) => {
        window.mediation = mediation;
        return create({ publicKey });
      };`);
    const { admin, provider } = fixtures;
    // Nobody gets one who has removed a factor before.
    await admin.require("POST", "/users", { username: "pia", password: person.password });
    const page = await context.newPage();
    await addAuthenticator(context, page);
    await page.goto(`${provider.origin}/account/security`);
    await signIn(page, "pia");
    await page.waitForSelector("text=Your passkey was added.");
    expect(await page.evaluate("window.accepted.allAcceptedCredentialIds.length")).toBe(1);
    await page.click("[data-remove=credential_id]");
    await page.click("#confirm");
    await page.waitForSelector("text=The factor was removed");
    expect(await page.evaluate("window.accepted.allAcceptedCredentialIds.length")).toBe(0);
    await context.close();
  });
});

describe("the layout of the pages, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", async (language) => {
    const context = await openContext(fixtures.browser, language);
    const page = await context.newPage();
    const { origin } = fixtures.application;
    const provider = fixtures.provider.origin;
    const show = (name: string) => see(page, name, language);
    await page.goto(origin);
    await show("demo");
    await page.goto(`${provider}/`);
    await show("home");
    await page.goto(`${origin}/login-offline`);
    await show("sign-in");
    await signIn(page);
    await page.waitForSelector("#allow");
    await show("consent");
    await page.click("#allow");
    await page.waitForSelector("#claims");
    await show("demo-signed-in");
    await page.goto(`${origin}/reauthenticate`);
    await show("confirm-sign-in");
    await page.fill("#password", "wrong");
    await page.click("#sign-in");
    await page.waitForSelector("#problem");
    await show("sign-in-wrong");
    await page.goto(`${origin}/select-account`);
    await show("select-account");
    await page.goto(`${provider}/`);
    await show("home-signed-in");
    await page.click("#account");
    await page.waitForSelector(".sections");
    await show("account");
    for (const area of ["security", "applications", "activity"]) {
      await page.click(`.sections [href="/account/${area}"]`);
      await page.waitForSelector(`[aria-current][href="/account/${area}"]`);
      await show(`account-${area}`);
    }
    await page.goto(`${provider}/.well-known/change-password`);
    await show("password");
    expect(new URL(page.url()).pathname).toBe("/account/password");
    await page.goto(`${provider}/account/sessions/end-others`);
    await show("confirm-others");
    await page.goto(`${provider}/account/data`);
    await show("download");
    await page.goto(`${provider}/account/delete`);
    await show("delete-account");
    await page.goto(`${provider}/account/deleted`);
    await show("account-leaving");
    await page.goto(`${provider}/account/applications`);
    await page.click("[data-remove=client_id]");
    await show("confirm-consent");
    await page.goto(`${provider}/authorize?client_id=nobody`);
    await show("error");
    await page.goto(`${provider}/nothing`);
    await show("not-found");
    await page.goto(`${provider}/logout`);
    await show("logout");
    await page.click("#stay");
    await show("stayed");
    await page.goto(`${provider}/logout`);
    await page.click("#sign-out");
    await page.waitForSelector("[role=status]");
    await show("signed-out");
    await context.close();
  });
});
