/** **New recovery codes in a sign-in**: when they are offered, what is stored, and that nothing brings a used one back. */

import { describe, expect, it } from "vitest";
import { postForm } from "../../../test/fixtures/call.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  authEnv,
  type Browser,
  countRows,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp, codeOfKey, registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { follow } from "./fixtures/mailed-codes.ts";

const { fixtures, browser } = useDeployment({ skip_consent: true });

const strict = { ...authEnv, MFA: "required" } as AuthEnv;

const codesOn = (html: string) => [...html.matchAll(/<li>([0-9A-Z-]{29})<\/li>/g)].map(([, code]) => code!);

async function html(visitor: Browser, page: string): Promise<string> {
  return (await visitor.get(page)).text();
}

/** By password and a code; the next page. */
async function signIn(visitor: Browser, code: string, from = visitor.authorize()): Promise<string> {
  return follow(visitor, locationOf(await visitor.signIn(locationOf(await from))), { code });
}

/** Sets up a first app during the sign-in; the page that follows. */
async function enrol(visitor: Browser, from: Promise<Response>): Promise<string> {
  const page = locationOf(await visitor.signIn(locationOf(await from)));
  expect(stepOf(page)).toBe("enrol");
  const [, key = ""] = /id="key">([^<]+)</.exec(await html(visitor, page))!;
  return locationOf(await visitor.submit(page, { code: await codeOfKey(key) }));
}

const sets = () => countRows("user_recovery_codes");

describe("after the first app was set up", () => {
  it("codes are shown, the same again when loaded again, and stored only when the person has saved them", async () => {
    browser.restart(strict);
    const page = await enrol(browser, browser.authorize());
    expect(stepOf(page)).toBe("recovery-codes");
    const shown = codesOn(await html(browser, page));
    expect(shown).toHaveLength(8);
    expect(codesOn(await html(browser, page))).toEqual(shown);
    expect(await sets()).toBe(0);
    expect(sentToClient(await browser.submit(page, { codes: "saved" })).code).toBeDefined();
    expect(await sets()).toBe(1);
    expect(stepOf(await signIn(fixtures.browser(), shown[2]!))).toBe("recovery-codes");
  });

  it("a person may go on without, and at a page of this provider too", async () => {
    browser.restart(strict);
    const page = await enrol(browser, browser.get("/account"));
    expect(stepOf(page)).toBe("recovery-codes");
    expect(locationOf(await browser.submit(page, { codes: "later" }))).toBe("/account");
    expect((await browser.get("/account")).status).toBe(200);
    expect(await sets()).toBe(0);
  });

  it("saved ones are not shown again by going back, to nobody else, and not in another browser", async () => {
    browser.restart(strict);
    const page = await enrol(browser, browser.authorize());
    expect((await fixtures.browser().get(page)).status).toBe(400);
    const session = browser.cookies.get("__Host-op-session")!;
    const other = fixtures.browser();
    await other.signIn(locationOf(await other.authorize()), "bob");
    browser.cookies.set("__Host-op-session", other.cookies.get("__Host-op-session")!);
    expect(locationOf(await browser.get(page))).toMatch(/^\/flow\/restart/);
    browser.cookies.set("__Host-op-session", session);
    await browser.submit(page, { codes: "saved" });
    expect(locationOf(await browser.get(page))).toMatch(/^\/flow\/restart/);
  });
});

describe("NIST SP 800-63B-4 §4.2.1.1: after a recovery code was used", () => {
  it("new ones replace the old ones once they are saved; before, the old ones work", async () => {
    await AuthenticatorApp.register("alice");
    const [first = "", second = "", third = ""] = await registerRecoveryCodes("alice");
    const kept = await signIn(browser, first);
    expect(stepOf(kept)).toBe("recovery-codes");
    expect(sentToClient(await browser.submit(kept, { codes: "later" })).code).toBeDefined();
    const visitor = fixtures.browser();
    const page = await signIn(visitor, second);
    const renewed = codesOn(await html(visitor, page));
    expect(sentToClient(await visitor.submit(page, { codes: "saved" })).code).toBeDefined();
    expect(stepOf(await signIn(fixtures.browser(), third))).toBe("prove-more");
    expect(stepOf(await signIn(fixtures.browser(), renewed[0]!))).toBe("recovery-codes");
  });

  it("the form sent again does not bring a used code back, nor replace a later set", async () => {
    await AuthenticatorApp.register("alice");
    const [first = ""] = await registerRecoveryCodes("alice");
    const page = await signIn(browser, first);
    const text = await html(browser, page);
    const fields = { form_token: formTokenOf(text), codes: "saved" };
    await browser.post(page, fields);
    const [used = ""] = codesOn(text);
    expect(stepOf(await signIn(fixtures.browser(), used))).toBe("recovery-codes");
    await browser.post(page, fields);
    expect(stepOf(await signIn(fixtures.browser(), used))).toBe("prove-more");
    const [later = ""] = await registerRecoveryCodes("alice");
    await browser.post(page, fields);
    expect(stepOf(await signIn(fixtures.browser(), later))).toBe("recovery-codes");
  });
});

it("an app added at the account page leads to recovery codes, unless there are some", async () => {
  const added = async () => {
    const page = locationOf(await browser.get("/account/apps"));
    const [, key = ""] = /id="key">([^<]+)</.exec(await html(browser, page))!;
    return locationOf(await browser.submit(page, { code: await codeOfKey(key), setup: page.split("setup=")[1]! }));
  };
  await browser.signIn(locationOf(await browser.get("/account")));
  const before = browser.cookies.get("__Host-op-session");
  const next = await added();
  expect(next).toBe("/account/recovery-codes?notice=app-added");
  // The code of the app is a second factor: the person is not asked for another one.
  expect(codesOn(await (await browser.submit(next, {})).text())).toHaveLength(8);
  expect(browser.cookies.get("__Host-op-session")).not.toBe(before);
});

describe("RFC 8628: the device flow", () => {
  const authorize = async (metadata: object): Promise<string> => {
    const grant_types = ["urn:ietf:params:oauth:grant-type:device_code"] as const;
    const device = await seedClient(authEnv, "device", { grant_types, scope: "openid", ...metadata });
    const response = await postForm(fixtures.app, authEnv, "/device_authorization", { scope: "openid" }, device);
    const { user_code } = (await response.json()) as { user_code: string };
    return `/device?${new URLSearchParams({ user_code })}`;
  };
  const isAtDevice = (location: string) => location.startsWith("/device?user_code=");

  it.each([
    ["require_mfa of the client", { require_mfa: true }, authEnv],
    ["MFA=required", {}, strict],
    ["a role in MFA_ROLES", {}, { ...authEnv, MFA_ROLES: "auditor" } as AuthEnv],
  ])("%s: nobody allows a device with a password alone", async (_, metadata, env) => {
    await authEnv.DB.prepare("INSERT INTO user_roles (sub, role) VALUES ('alice', 'auditor')").run();
    const app = await AuthenticatorApp.register("alice");
    const page = await authorize(metadata);
    const visitor = fixtures.browser(env);
    // A session by password alone, from before the rule.
    const earlier = fixtures.browser();
    await authEnv.DB.prepare("UPDATE user_totp SET sub = 'bob'").run();
    await earlier.signInWhole();
    await authEnv.DB.prepare("UPDATE user_totp SET sub = 'alice'").run();
    for (const [name, value] of earlier.cookies) visitor.cookies.set(name, value);
    const again = locationOf(await visitor.get(page));
    expect(stepOf(again)).toBe("sign-in");
    const next = locationOf(await visitor.signIn(again));
    expect(stepOf(next)).toBe("prove-more");
    expect(isAtDevice(locationOf(await visitor.submit(next, { code: await app.code() })))).toBe(true);
    const form = formTokenOf(await html(visitor, page));
    const user_code = new URLSearchParams(page.split("?")[1]).get("user_code")!;
    const allowed = await visitor.post("/device", { form_token: form, user_code, decision: "allow" });
    expect(locationOf(allowed)).toBe("/device?result=allowed");
  });

  it("the decision is refused too, if the rule came after the page", async () => {
    const page = await authorize({});
    await browser.signIn(locationOf(await browser.get(page)));
    const form_token = formTokenOf(await html(browser, page));
    const visitor = fixtures.copyOf(browser, strict);
    const user_code = new URLSearchParams(page.split("?")[1]).get("user_code")!;
    const decided = await visitor.post("/device", { form_token, user_code, decision: "allow" });
    expect(stepOf(locationOf(decided))).toBe("sign-in");
  });
});
