/** **Browsers in which a person has not signed in before** (`NEW_BROWSER`): who is told, who is asked for a code, and the ways around it. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import { confirmBrowserState } from "../src/addresses/confirm-browser-step.tsx";
import type { Marks } from "../src/step/flow.ts";
import {
  authEnv,
  authorizationPath,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp, codeOfKey } from "./fixtures/authenticator-app.ts";
import { follow, MailedCodes, postOnce } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { DB } = authEnv;
const mailed = new MailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

function begin(rule: "off" | "notify" | "code"): void {
  mailed.restart({ ...authEnv, NEW_BROWSER: rule } as typeof authEnv);
  browser.restart(mailed.env);
}

const again = { prompt: "login" };
const signInPage = async (visitor = browser) => locationOf(await visitor.authorize(again));
const typed = { username: "alice", password };
/** The page or client to which the right password leads. */
const afterPassword = async (visitor = browser) => follow(visitor, await signInPage(visitor), typed);

async function events(): Promise<number> {
  const count = DB.prepare(
    "SELECT count(*) AS n FROM admin_events WHERE action = 'account.new_browser' AND sub = 'alice'",
  );
  return (await count.first<number>("n")) ?? 0;
}

async function expectTold(times: number): Promise<void> {
  await vi.waitFor(async () => expect(await events()).toBe(times));
  expect(mailed.notices.map(({ kind, sub }) => [kind, sub])).toEqual(Array(times).fill(["new-browser", "alice"]));
}

describe("NEW_BROWSER=notify: a person is told of a sign-in in a new browser", () => {
  beforeEach(() => begin("notify"));

  it("once for each browser", async () => {
    await afterPassword();
    await expectTold(1);
    await afterPassword();
    await afterPassword(fixtures.browser(mailed.env));
    await expectTold(2);
  });

  it("with words of a fixed vocabulary for browser and place, and nothing that the browser sends of itself", async () => {
    const [title, hostile] = ["evil.example <b>call 555</b>", "Mozilla/5.0 (Windows) https://evil.example/ Firefox/1"];
    const cf = { country: "DE", city: title, timezone: "Europe/Berlin" };
    const page = await signInPage();
    const form_token = formTokenOf(await (await browser.get(page)).text());
    const body = new URLSearchParams({ ...typed, form_token }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded", "user-agent": hostile };
    const next = locationOf(await browser.once(page, { method: "POST", headers, body, cf } as RequestInit));
    expect(next).toContain("code=");
    await expectTold(1);
    expect(mailed.notices[0]!.asker).toEqual({ device: "Firefox · Windows", country: "DE", timeZone: "Europe/Berlin" });
    expect(JSON.stringify(mailed.notices)).not.toMatch(/evil|555/);
  });

  it("also by passkey, and not of the browser in which the account came into being", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    const page = await signInPage();
    const fields = { credential: await passkey.assert(await (await browser.get(page)).text()) };
    await follow(browser, page, fields);
    await expectTold(1);
    const other = fixtures.browser(mailed.env);
    const second = await signInPage(other);
    await DB.prepare("UPDATE users SET created_at_ms = 9e15 WHERE sub = 'alice'").run();
    await follow(other, second, typed);
    await vi.waitFor(() => expect(mailed.notices).toHaveLength(2));
    expect(await events()).toBe(1);
  });

  it("a password whose second factor is missing makes no browser known", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await afterPassword();
    expect([stepOf(page), mailed.notices.length]).toEqual(["prove-more", 0]);
    await follow(browser, page, { code: await app.code() });
    await expectTold(1);
  });

  it("the cookie of one browser makes no other one known", async () => {
    await afterPassword();
    const other = fixtures.browser(mailed.env);
    await other.authorize();
    other.cookies.set("__Host-op-people", browser.cookies.get("__Host-op-people")!);
    await afterPassword(other);
    await expectTold(2);
  });
});

describe("NEW_BROWSER=code: a password alone is not enough in a new browser", () => {
  beforeEach(() => begin("code"));

  const sessions = () => DB.prepare("SELECT count(*) AS n FROM user_sessions WHERE sub = 'alice'").first<number>("n");

  it("the code is mailed with the password, opens the session, and is asked for once", async () => {
    const page = await follow(browser, locationOf(await browser.authorize()), typed);
    expect(stepOf(page)).toBe("confirm-browser");
    expect(mailed.mails.map(({ purpose, to }) => [purpose, to.key])).toEqual([["sign-in", "alice@example.com"]]);
    expect(mailed.mails[0]!.asker).toEqual({ device: "Browser" });
    const html = await (await browser.get(page)).text();
    // A person who has typed only a password learns no address.
    expect([html.includes("a…@example.com"), html.includes("alice@example.com"), await sessions()]).toEqual([
      true,
      false,
      0,
    ]);
    const wrong = await follow(browser, page, { code: mailed.wrongCode });
    expect((await browser.once(wrong)).status).toBe(400);
    expect(sentToClient(await postOnce(browser, page, { code: mailed.code })).code).toBeDefined();
    await expectTold(1);
    // Who goes back to the page and sends its code again is led to where they were going.
    const used = await (await browser.get(await follow(browser, page, { code: mailed.code }))).text();
    const [, restart = ""] = /href="(\/flow\/restart[^"]+)" id="restart"/.exec(used)!;
    expect(sentToClient(await browser.once(restart)).code).toBeDefined();
    expect(stepOf(await afterPassword())).toBeUndefined();
    expect(stepOf(await afterPassword(fixtures.browser(mailed.env)))).toBe("confirm-browser");
  });

  it("NIST SP 800-63B-4 §3.1.3.1: the mailed code is no factor: the acr stays that of the password", async () => {
    await follow(browser, await afterPassword(), { code: mailed.code });
    const asking = (acr: string) => ({
      claims: JSON.stringify({ id_token: { acr: { essential: true, values: [acr] } } }),
      prompt: "none",
    });
    expect(sentToClient(await browser.authorize(asking("urn:edge-op:acr:password"))).code).toBeDefined();
    expect(sentToClient(await browser.authorize(asking("mfa"))).error).toBe("login_required");
  });

  it("the step cannot be skipped by a URL, by beginning again, or by another flow's proof of the mailbox", async () => {
    const page = await afterPassword();
    for (const step of ["set-password", "prove-more", "consent", "recovery-codes", "restart"]) {
      const response = await browser.once(page.replace("confirm-browser", step));
      expect([step, response.headers.get("location")?.startsWith("https://app.example.com")]).not.toContain(true);
    }
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
    const { code } = mailed;
    // The flow begins anew, and so do the proofs.
    expect(stepOf(await afterPassword())).toBe("confirm-browser");
    const second = await afterPassword();
    const refused = await follow(browser, second, { code });
    expect([stepOf(refused), await sessions()]).toEqual(["confirm-browser", 0]);
  });

  it("an app that is set up in this flow does not take the place of the code, whether a rule asks for one or not", async () => {
    for (const MFA of ["optional", "required"]) {
      mailed.restart({ ...authEnv, NEW_BROWSER: "code", MFA } as typeof authEnv);
      browser.restart(mailed.env);
      const page = await afterPassword();
      const enrol = page.replace("confirm-browser", "enrol");
      expect(stepOf(page)).toBe("confirm-browser");
      expect(stepOf(locationOf(await browser.once(enrol)))).toBe("confirm-browser");
    }
    const enrol = await follow(browser, await afterPassword(), { code: mailed.code });
    expect(stepOf(enrol)).toBe("enrol");
    const [, key = ""] = /id="key">([^<]+)</.exec(await (await browser.get(enrol)).text())!;
    expect(stepOf(await follow(browser, enrol, { code: await codeOfKey(key) }))).toBe("recovery-codes");
  });

  it("two factors, of which one was set up in this flow, are asked for the code", () => {
    const proof = (method: "password" | "totp") => ({ method, sub: "alice", atMs: 1, controlVersion: 1 });
    const proofs = [proof("password"), proof("totp")];
    const person = { sub: "alice", subject: "alice", proofs, roles: [], isLeaving: false };
    const facts = {
      person,
      factors: undefined,
      isRemembered: false,
      isNewBrowser: true,
      isMailable: true,
      allowed: [],
    };
    const purpose = { kind: "account", path: "/account" } as const;
    const kindOf = (marks: Marks) => confirmBrowserState({ flow: { purpose, proofs, marks }, facts }).kind;
    expect([kindOf({}), kindOf({ enrolled: "alice" }), kindOf({ enrolled: "bob" })]).toEqual([
      "done",
      "needed",
      "done",
    ]);
  });

  it("a code without the proof of a password reaches nobody", async () => {
    const page = (await signInPage()).replace("sign-in", "confirm-browser");
    expect(stepOf(await follow(browser, page, { again: "1" }))).toBe("sign-in");
    expect(mailed.mails).toEqual([]);
  });

  it("another code resets no count of attempts, and the mails of an address have their limit", async () => {
    let page = await afterPassword();
    for (let wrong = 0; wrong < 3; wrong += 1) page = await follow(browser, page, { code: mailed.wrongCode });
    page = await follow(browser, page, { again: "1" });
    for (let wrong = 0; wrong < 3; wrong += 1) page = await follow(browser, page, { code: mailed.wrongCode });
    expect(stepOf(await follow(browser, page, { code: mailed.code }))).toBe("confirm-browser");
    const pages = [await afterPassword(), await afterPassword()];
    expect((await browser.once(pages[1]!)).status).toBe(429);
    expect([mailed.mails.length, await sessions()]).toEqual([3, 0]);
  });

  it("a code after the address was given up is refused", async () => {
    const page = await afterPassword();
    await DB.prepare("UPDATE user_addresses SET held_until_ms = 9e15 WHERE sub = 'alice'").run();
    expect(stepOf(await follow(browser, page, { code: mailed.code }))).toBe("confirm-browser");
    expect(await sessions()).toBe(0);
  });

  it("nothing is asked of a passkey, of two factors, of a proven mailbox, and of a person without an address", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    const page = await signInPage();
    const credential = await passkey.assert(await (await browser.get(page)).text());
    expect(stepOf(await follow(browser, page, { credential }))).toBeUndefined();

    const recovering = fixtures.browser(mailed.env);
    const forgotten = await follow(recovering, await signInPage(recovering), { recover: "1" });
    const code = await follow(recovering, forgotten, { address: "alice@example.com" });
    const chosen = "purple monkey dishwasher 42";
    const next = await follow(recovering, code, { code: mailed.code });
    expect(stepOf(await follow(recovering, next, { new: chosen, repeat: chosen }))).toBeUndefined();

    const app = await AuthenticatorApp.register("alice");
    const other = fixtures.browser(mailed.env);
    const more = await follow(other, await signInPage(other), { username: "alice", password: chosen });
    expect(stepOf(more)).toBe("prove-more");
    expect(stepOf(await follow(other, more, { code: await app.code() }))).toBeUndefined();

    const bobs = fixtures.browser(mailed.env);
    expect(stepOf(await follow(bobs, await signInPage(bobs), { username: "bob", password }))).toBeUndefined();
  });

  it("nothing is asked of a newcomer, who has just proven their mailbox", async () => {
    mailed.restart({ ...authEnv, NEW_BROWSER: "code", SIGN_UP: "open" } as typeof authEnv);
    browser.restart(mailed.env);
    const page = await follow(browser, await signInPage(), { "sign-up": "1" });
    const code = await follow(browser, page, { name: "Nina", address: "nina@example.com" });
    const create = await follow(browser, code, { code: mailed.code });
    const chosen = "purple monkey dishwasher 42";
    expect(stepOf(await follow(browser, create, { new: chosen, repeat: chosen }))).toBeUndefined();
    expect(mailed.mails.map(({ purpose }) => purpose)).toEqual(["sign-up"]);
  });

  it("also before a page of this provider", async () => {
    const page = locationOf(await browser.get("/account"));
    const next = await follow(browser, page, typed);
    expect(stepOf(next)).toBe("confirm-browser");
    expect(await follow(browser, next, { code: mailed.code })).toBe("/account");
  });
});

it("NEW_BROWSER=code: its code comes before the second factor that a hook demands is set up", async () => {
  const HOOKS = { beforeSignIn: async () => ({ require: "mfa" }) };
  mailed.restart({
    ...authEnv,
    NEW_BROWSER: "code",
    ENABLED_HOOKS: "beforeSignIn",
    HOOKS,
  } as unknown as typeof authEnv);
  browser.restart(mailed.env);
  const page = await afterPassword();
  expect(stepOf(page)).toBe("confirm-browser");
  expect(stepOf(await follow(browser, page, { code: mailed.code }))).toBe("enrol");
});

it("NEW_BROWSER=off: nobody is told, and the browser keeps nothing of it", async () => {
  begin("off");
  expect(await browser.authorize(again)).toBeDefined();
  expect(
    sentToClient(await postOnce(browser, locationOf(await browser.get(authorizationPath(again))), typed)).code,
  ).toBeDefined();
  expect([[...browser.cookies.keys()].filter((name) => name.includes("people")), mailed.notices]).toEqual([[], []]);
});
