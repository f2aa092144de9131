/** **Second factors, attacked**: what is asked of whom, and every way around it that is known. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  AuthFixtures,
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
import { postOnce } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { fixtures, browser } = useDeployment({ skip_consent: true });
// The clock stands still, so that the previous code stays the previous one.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
});

const essential = (acr: string) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, values: [acr] } } }),
});

const withSettings = (settings: Partial<AuthEnv>) => ({ ...authEnv, ...settings }) as AuthEnv;

/** Signs in by password; returns the page that follows. */
async function byPassword(parameters: Record<string, string> = {}, visitor = browser): Promise<string> {
  return locationOf(await visitor.signIn(locationOf(await visitor.authorize(parameters))));
}

async function signInWith(code: string, visitor = browser, parameters: Record<string, string> = {}): Promise<string> {
  return locationOf(await postOnce(visitor, await byPassword(parameters, visitor), { code }));
}

function isCode(location: string): boolean {
  return new URL(location, "https://op.example.com").searchParams.has("code");
}

async function idTokenContext(response: Response): Promise<Record<string, unknown>> {
  const { acr, amr } = await fixtures.payloadOf(sentToClient(response).code!);
  return { acr, amr };
}

async function signOut(visitor: Browser): Promise<void> {
  const html = await (await visitor.get("/logout")).text();
  await visitor.post("/logout/confirm", { form_token: formTokenOf(html), decision: "leave" });
}

const hasSession = (visitor = browser) => visitor.cookies.has("__Host-op-session");

/** A deployment in which a code is spent only when so many requests have come to spend one: each has read the factor before any has changed it. */
function spendingTogether(count: number): { readonly env: AuthEnv; spends(): number } {
  let waiting = 0;
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const spend = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, name) {
        if (name === "bind") return (...values: unknown[]) => spend(target.bind(...values));
        if (name !== "run") return Reflect.get(target, name);
        return async () => {
          waiting += 1;
          if (waiting === count) resolve();
          await all;
          return target.run();
        };
      },
    });
  const DB = new Proxy(authEnv.DB, {
    get(target, name) {
      if (name === "batch") return (statements: D1PreparedStatement[]) => target.batch(statements);
      if (name !== "prepare") return Reflect.get(target, name);
      return (sql: string) => (sql.startsWith("UPDATE user_totp") ? spend(target.prepare(sql)) : target.prepare(sql));
    },
  });
  return { env: { ...authEnv, DB }, spends: () => waiting };
}

describe("a person who has set up an app", () => {
  it("is asked for its code after the password; only both open a session, with a new id and `mfa`", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await byPassword();
    expect(stepOf(page)).toBe("prove-more");
    expect(hasSession()).toBe(false);
    const html = await (await browser.get(page)).text();
    expect(html).toContain('autocomplete="one-time-code"');
    expect(html).toContain("Alice Example");
    const response = await browser.submit(page, { code: await app.code() });
    expect(await idTokenContext(response)).toEqual({ acr: "mfa", amr: ["pwd", "otp", "mfa"] });
    expect(hasSession()).toBe(true);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it("is not asked after a sign-in by passkey", async () => {
    await AuthenticatorApp.register("alice");
    const passkey = await SoftwarePasskey.register("alice");
    const page = locationOf(await browser.authorize());
    const html = await (await browser.get(page)).text();
    const response = await browser.post(page, {
      form_token: formTokenOf(html),
      credential: await passkey.assert(html),
    });
    expect(await idTokenContext(response)).toMatchObject({ acr: "phr" });
  });

  it("is asked at the account page too", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.signIn(locationOf(await browser.get("/account"))));
    expect(stepOf(page)).toBe("prove-more");
    expect(locationOf(await browser.submit(page, { code: await app.code() }))).toBe("/account");
  });

  it("can use a passkey in place of the code, but not another person's", async () => {
    await AuthenticatorApp.register("alice");
    const own = await SoftwarePasskey.register("alice");
    const foreign = await SoftwarePasskey.register("bob");
    const page = await byPassword();
    const html = await (await browser.get(page)).text();
    const post = async (passkey: SoftwarePasskey) =>
      postOnce(browser, page, { credential: await passkey.assert(html) });
    expect(stepOf(locationOf(await post(foreign)))).toBe("prove-more");
    expect(hasSession()).toBe(false);
    expect(isCode(locationOf(await post(own)))).toBe(true);
  });

  it("RFC 6265 §8.4: another account begins anew, without what was proven", async () => {
    await AuthenticatorApp.register("alice");
    const again = locationOf(await browser.submit(await byPassword(), { account: "other" }));
    expect(stepOf(again)).toBe("sign-in");
    expect(isCode(locationOf(await browser.signIn(again, "bob")))).toBe(true);
  });
});

describe("a code", () => {
  it("without a first proof reaches nobody", async () => {
    const app = await AuthenticatorApp.register("alice");
    const f = new URL(locationOf(await browser.authorize()), "https://op.example.com").searchParams.get("f")!;
    expect(locationOf(await browser.get(`/flow/prove-more?f=${f}`))).toMatch(/^\/flow\/restart/);
    const page = await byPassword();
    const form_token = formTokenOf(await (await browser.get(page)).text());
    const posted = await browser.post("/flow/prove-more", { f, form_token, code: await app.code() });
    expect(posted.status).toBe(403);
    expect(hasSession()).toBe(false);
  });

  it("RFC 6238 §5.2: used in two isolates at the same time signs in once", async () => {
    const app = await AuthenticatorApp.register("alice");
    const code = await app.code();
    const { env, spends } = spendingTogether(2);
    const others = [fixtures, new AuthFixtures(fixtures.client)].map((each) => each.browser(env));
    const ends = await Promise.all(others.map(async (visitor) => signInWith(code, visitor)));
    expect([ends.map(isCode).toSorted(), spends()]).toEqual([[false, true], 2]);
  });

  it("of an earlier step than the last is refused, and so is the same again", async () => {
    const app = await AuthenticatorApp.register("alice");
    expect(isCode(await signInWith(await app.code()))).toBe(true);
    for (const offset of [0, -1]) {
      expect(stepOf(await signInWith(await app.code(offset), fixtures.browser()))).toBe("prove-more");
    }
    expect(isCode(await signInWith(await app.code(1), fixtures.browser()))).toBe(true);
  });

  it("of another person's app is refused, also if its row is swapped", async () => {
    const theirs = await AuthenticatorApp.register("bob");
    await AuthenticatorApp.register("alice");
    expect(stepOf(await signInWith(await theirs.code()))).toBe("prove-more");
    await authEnv.DB.prepare(
      "UPDATE user_totp SET secret = (SELECT secret FROM user_totp WHERE sub = 'bob') WHERE sub = 'alice'",
    ).run();
    expect(stepOf(await signInWith(await theirs.code()))).toBe("prove-more");
    expect(hasSession()).toBe(false);
  });

  it("five wrong ones are counted, in parallel too, and an old page does not reset them", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await byPassword();
    const form_token = formTokenOf(await (await browser.get(page)).text());
    const guess = (code: string) => browser.post(page, { form_token, code });
    const results = await Promise.all(Array.from({ length: 20 }, (_, index) => guess(String(100_000 + index))));
    expect(results.filter(({ status }) => status === 400)).toHaveLength(5);
    expect(results.filter(({ status }) => status === 429)).toHaveLength(15);
    expect((await guess(await app.code())).status).toBe(429);
    const again = await byPassword({}, fixtures.browser());
    expect(stepOf(again)).toBe("prove-more");
  });

  it("a stranger who has the password does not keep the owner out of their own browser", async () => {
    const app = await AuthenticatorApp.register("alice");
    expect(isCode(await signInWith(await app.code(-1)))).toBe(true);
    const thief = fixtures.browser();
    const page = await byPassword({}, thief);
    for (let guess = 0; guess < 6; guess += 1) await thief.submit(page, { code: "000000" }).catch(() => undefined);
    vi.setSystemTime(Date.now() + 1_000);
    expect(isCode(await signInWith(await app.code(), browser, { prompt: "login" }))).toBe(true);
  });

  it("nor out of the browser in which the owner has set up the app", async () => {
    browser.restart(withSettings({ MFA: "required" }));
    const setup = await byPassword();
    const [, key = ""] = /id="key">([^<]+)</.exec(await (await browser.get(setup)).text())!;
    const codes = locationOf(await browser.submit(setup, { code: await codeOfKey(key, -1) }));
    await browser.submit(codes, { codes: "later" });
    const thief = fixtures.browser();
    const page = await byPassword({}, thief);
    for (let guess = 0; guess < 6; guess += 1) await thief.submit(page, { code: "000000" }).catch(() => undefined);
    vi.setSystemTime(Date.now() + 1_000);
    expect(isCode(await signInWith(await codeOfKey(key), browser, { prompt: "login" }))).toBe(true);
  });

  it.each<[string, (app: string, recovery: string) => string, string]>([
    ["the app's, pasted with its sentence", (app) => `Your code is ${app.slice(0, 3)} ${app.slice(3)}.`, "client"],
    [
      "the app's, in other digits, in the field for recovery codes",
      (app) => [...app].map((digit) => String.fromCodePoint(0x0660 + Number(digit))).join("\u200b"),
      "client",
    ],
    ["a recovery code, pasted into the field for the app's", (_, recovery) => `2. ${recovery}`, "recovery-codes"],
    ["two codes", (app) => `${app} ${app === "000000" ? "000001" : "000000"}`, "prove-more"],
  ])("as it is pasted: %s", async (_, paste, end) => {
    const app = await AuthenticatorApp.register("alice");
    const [code = ""] = await registerRecoveryCodes("alice");
    const location = await signInWith(paste(await app.code(), code));
    expect(isCode(location) ? "client" : stepOf(location)).toBe(end);
  });

  it("of a recovery set works once, in parallel too", async () => {
    await AuthenticatorApp.register("alice");
    const [code = "", second = ""] = await registerRecoveryCodes("alice");
    const visitors = [fixtures.browser(), fixtures.browser()];
    const ends = await Promise.all(visitors.map((visitor) => signInWith(code, visitor)));
    expect(ends.map(stepOf).toSorted()).toEqual(["prove-more", "recovery-codes"]);
    expect(stepOf(await signInWith(second, browser))).toBe("recovery-codes");
    const event = authEnv.DB.prepare("SELECT count(*) AS n FROM admin_events WHERE action = 'recovery_codes.used'");
    expect(await event.first("n")).toBe(2);
  });

  const paper = "0000-0000-0000-0000-0000-0000";
  const notValid = "That code is not valid.";

  /** The state of the page after a refused code. */
  async function after(fields: Readonly<Record<string, string>>) {
    const page = locationOf(await postOnce(browser, await byPassword(), fields));
    const html = await (await browser.get(page)).text();
    const field = (id: string) => new RegExp(`<input id="${id}"[^>]*>`).exec(html)?.[0] ?? "";
    return {
      problem: /id="problem">([^<.]+\.)/.exec(html)?.[1],
      invalid: ["code", "recovery-code"].filter((id) => field(id).includes('aria-invalid="true"')),
      focused: ["code", "recovery-code"].filter((id) => field(id).includes("autofocus")),
      isOpen: /<details[^>]* open/.test(html),
      kept: /value="([^"]*)"/.exec(field("recovery-code"))?.[1] ?? "",
    };
  }

  const ofApp = { invalid: ["code"], focused: ["code"], isOpen: false, kept: "" };
  const ofPaper = { invalid: ["recovery-code"], focused: ["recovery-code"], isOpen: true };

  it.each([
    ["six digits", { code: "000000" }, { ...ofApp, problem: notValid }],
    ["no code", { code: "nonsense" }, { ...ofApp, problem: notValid }],
    [
      "a recovery code in its field",
      { code: paper, field: "recovery" },
      { ...ofPaper, problem: "That recovery code is not valid.", kept: paper },
    ],
    [
      "a recovery code in the field of the app",
      { code: paper },
      { ...ofPaper, problem: "That recovery code is not valid.", kept: paper },
    ],
    [
      "a recovery code without its end",
      { code: "0000-0000", field: "recovery" },
      { ...ofPaper, problem: "That recovery code is not valid.", kept: "0000-0000" },
    ],
  ])("that is wrong marks its own field, and keeps a long one: %s", async (_, fields, expected) => {
    await AuthenticatorApp.register("alice");
    await registerRecoveryCodes("alice");
    expect(await after(fields)).toEqual(expected);
  });

  it("that is throttled keeps a recovery code", async () => {
    await AuthenticatorApp.register("alice");
    await registerRecoveryCodes("alice");
    for (let wrong = 0; wrong < 5; wrong += 1) await after({ code: "nonsense" });
    expect(await after({ code: paper })).toMatchObject({ invalid: [], isOpen: true, kept: paper });
  });

  it.each([
    ["used already", 0, "That code was used already."],
    ["five minutes old", -10, "That code is from some minutes ago."],
    ["an hour old", -120, notValid],
    // It would be right later: nobody learns that they have guessed one.
    ["of the future", 10, notValid],
  ])("of an app that is %s says what helps", async (_, offset, problem) => {
    const app = await AuthenticatorApp.register("alice");
    if (offset === 0) await signInWith(await app.code(), fixtures.browser());
    expect(await after({ code: await app.code(offset) })).toMatchObject({ ...ofApp, problem });
  });

  it("of a recovery set that is pasted into the field of the app signs in", async () => {
    await AuthenticatorApp.register("alice");
    const [code = ""] = await registerRecoveryCodes("alice");
    const next = await postOnce(browser, await byPassword(), { code: `Backup: ${code}.` });
    expect(stepOf(locationOf(next))).toBe("recovery-codes");
  });
});

describe("a thief of the password", () => {
  it("cannot set up a factor of their own in place of proving the owner's", async () => {
    await AuthenticatorApp.register("alice");
    const page = await byPassword(essential("mfa"));
    const f = new URL(page, "https://op.example.com").searchParams.get("f")!;
    expect(stepOf(locationOf(await browser.get(`/flow/enrol?f=${f}`)))).toBe("prove-more");
    const form_token = formTokenOf(await (await browser.get(page)).text());
    expect((await browser.post("/flow/enrol", { f, form_token, code: "123456" })).status).toBe(403);
  });

  it("gets nothing from an old page of a flow that has ended", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await byPassword();
    const form_token = formTokenOf(await (await browser.get(page)).text());
    expect(isCode(locationOf(await browser.post(page, { form_token, code: await app.code() })))).toBe(true);
    const html = await (await browser.get("/logout")).text();
    await browser.post("/logout/confirm", { form_token: formTokenOf(html), decision: "leave" });
    await browser.post(page, { form_token, code: await app.code(1) });
    expect(hasSession()).toBe(false);
  });
});

describe("what requires a second factor", () => {
  it("RFC 9470 §4: a step-up asks only for what is missing, and keeps the sid", async () => {
    const before = await idTokenContext(await browser.signIn(locationOf(await browser.authorize())));
    expect(before.acr).toBe("urn:edge-op:acr:password");
    const app = await AuthenticatorApp.register("alice");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect(sentToClient(await browser.authorize({ ...essential("mfa"), prompt: "none" })).error).toBe("login_required");
    const cookie = browser.cookies.get("__Host-op-session");
    for (const [asked, offset] of [[{ acr_values: "mfa" }, 0]] as const) {
      const page = locationOf(await browser.authorize(asked));
      expect(stepOf(page)).toBe("prove-more");
      const context = await idTokenContext(await browser.submit(page, { code: await app.code(offset) }));
      expect(context).toEqual({ acr: "mfa", amr: ["pwd", "otp", "mfa"] });
    }
    expect(browser.cookies.get("__Host-op-session")).not.toBe(cookie);
    expect(await idTokenContext(await browser.authorize({ ...essential("mfa"), prompt: "none" }))).toMatchObject({
      acr: "mfa",
    });
  });

  it("max_age: a code that is too old is asked for again, after the password that is too old", async () => {
    const app = await AuthenticatorApp.register("alice");
    expect(isCode(await signInWith(await app.code(-1)))).toBe(true);
    vi.setSystemTime(Date.now() + 600_000);
    const page = locationOf(await browser.authorize({ max_age: "60" }));
    expect(stepOf(page)).toBe("sign-in");
    const next = locationOf(await browser.signIn(page));
    expect(stepOf(next)).toBe("prove-more");
    expect(await idTokenContext(await browser.submit(next, { code: await app.code() }))).toMatchObject({ acr: "mfa" });
  });

  it("a client's require_mfa, and a person without a factor sets one up; abandoned, nothing is stored", async () => {
    await authEnv.DB.batch(["users", "clients"].map((table) => authEnv.DB.prepare(`DELETE FROM ${table}`)));
    await forgetCopies();
    await fixtures.seed({ skip_consent: true, require_mfa: true });
    const page = await byPassword();
    expect(stepOf(page)).toBe("enrol");
    const keyOf = async () => /id="key">([^<]+)</.exec(await (await browser.get(page)).text())![1]!;
    const key = await keyOf();
    expect(await keyOf()).toBe(key);
    expect(await countRows("user_totp")).toBe(0);
    const wrong = await browser.submit(page, { code: "000000" });
    expect([wrong.status, (await wrong.text()).includes(key)]).toEqual([400, true]);
    expect(hasSession()).toBe(false);
    const code = await codeOfKey(key);
    const codes = locationOf(await browser.submit(page, { code }));
    expect(await idTokenContext(await browser.submit(codes, { codes: "later" }))).toMatchObject({ acr: "mfa" });
    expect(await countRows("user_totp")).toBe(1);
    // The code that confirmed it is spent.
    expect(stepOf(await signInWith(code, fixtures.browser()))).toBe("prove-more");
  });

  it("RFC 9470 §4: a requested admin scope does, as the admin API will, also in a session with one factor", async () => {
    await authEnv.DB.batch(["users", "clients"].map((table) => authEnv.DB.prepare(`DELETE FROM ${table}`)));
    await forgetCopies();
    await fixtures.seed({ skip_consent: true, scope: "openid admin:users", require_mfa: false });
    expect(isCode(await byPassword({ scope: "openid" }))).toBe(true);
    const scope = "openid admin:users";
    expect(sentToClient(await browser.authorize({ scope, prompt: "none" })).error).toBe("login_required");
    expect(stepOf(locationOf(await browser.authorize({ scope })))).toBe("enrol");
    const app = await AuthenticatorApp.register("alice");
    const page = await byPassword({ scope }, fixtures.browser());
    expect(stepOf(page)).toBe("prove-more");
    const proven = locationOf(await browser.authorize({ scope }));
    expect(stepOf(proven)).toBe("prove-more");
    expect(await idTokenContext(await browser.submit(proven, { code: await app.code() }))).toMatchObject({
      acr: "mfa",
    });
  });

  it("a role added meanwhile: the next decision is made by it, also in a session", async () => {
    browser.restart(withSettings({ MFA_ROLES: "admin auditor" }));
    const page = locationOf(await browser.authorize());
    await authEnv.DB.prepare("INSERT INTO user_roles (sub, role) VALUES ('alice', 'admin')").run();
    expect(stepOf(locationOf(await browser.signIn(page)))).toBe("enrol");
    const bob = fixtures.browser(withSettings({ MFA_ROLES: "admin" }));
    expect(isCode(locationOf(await bob.signIn(locationOf(await bob.authorize()), "bob")))).toBe(true);
    await authEnv.DB.prepare("INSERT INTO user_roles (sub, role) VALUES ('bob', 'admin')").run();
    await forgetCopies();
    const elsewhere = new AuthFixtures(fixtures.client).copyOf(bob, withSettings({ MFA_ROLES: "admin" }));
    expect(sentToClient(await elsewhere.authorize({ prompt: "none" })).error).toBe("login_required");
    expect(stepOf(locationOf(await elsewhere.authorize()))).toBe("enrol");
  });

  it("an organisation does for its own requests, of active members alone; a remembered browser does not settle it", async () => {
    const insert =
      "INSERT INTO organizations VALUES (?1, 'active', json_object('name', 'Acme', 'require_mfa', json(?2)), 0, 0)";
    const join = "INSERT INTO memberships SELECT sub, ?1, ?2, 'administrator', 0, 0 FROM users WHERE sub = ?3";
    await authEnv.DB.batch([
      authEnv.DB.prepare("UPDATE clients SET metadata = json_set(metadata, '$.organization', 'allowed')"),
      authEnv.DB.prepare(insert).bind("acme", "true"),
      authEnv.DB.prepare(insert).bind("easy", "false"),
      ...["acme", "easy"].map((organization) => authEnv.DB.prepare(join).bind(organization, "active", "alice")),
      authEnv.DB.prepare(join).bind("acme", "suspended", "bob"),
    ]);
    browser.restart(withSettings({ REMEMBER_DEVICE_DAYS: "30" }));
    expect(isCode(await byPassword({ organization: "easy" }))).toBe(true);
    const silently = async (organization: string, visitor = browser) =>
      sentToClient(await visitor.authorize({ prompt: "none", organization }));
    expect((await silently("acme")).error).toBe("login_required");
    expect((await silently("easy")).code).toBeDefined();
    expect(stepOf(locationOf(await browser.authorize({ organization: "acme" })))).toBe("enrol");
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.authorize({ organization: "acme" }));
    expect(stepOf(page)).toBe("prove-more");
    const proven = await browser.submit(page, { code: await app.code(), remember: "1" });
    expect(await idTokenContext(proven)).toMatchObject({ acr: "mfa" });
    expect((await silently("acme")).code).toBeDefined();
    await signOut(browser);
    expect(stepOf(await byPassword({ organization: "acme" }))).toBe("prove-more");
    // Who is no active member learns nothing of it.
    const bob = fixtures.browser();
    await bob.signIn(locationOf(await bob.authorize()), "bob");
    for (const organization of ["acme", "unknown"])
      expect((await silently(organization, bob)).error).toBe("access_denied");
  });

  it("MFA=required asks everyone; a session with one factor is asked at its next request", async () => {
    expect(isCode(await byPassword())).toBe(true);
    const strict = fixtures.copyOf(browser, withSettings({ MFA: "required" }));
    expect(sentToClient(await strict.authorize({ prompt: "none" })).error).toBe("login_required");
    expect(stepOf(locationOf(await strict.authorize()))).toBe("enrol");
    await AuthenticatorApp.register("alice");
    expect(stepOf(locationOf(await strict.authorize()))).toBe("prove-more");
    const account = fixtures.browser(withSettings({ MFA: "required" }));
    expect(stepOf(locationOf(await account.signIn(locationOf(await account.get("/account")), "bob")))).toBe("enrol");
  });

  it("beginning again does not lose it", async () => {
    await AuthenticatorApp.register("alice");
    const page = await byPassword();
    const f = new URL(page, "https://op.example.com").searchParams.get("f")!;
    const again = locationOf(await browser.get(`/flow/restart?f=${f}`));
    expect(stepOf(again)).toBe("sign-in");
    expect(stepOf(locationOf(await browser.signIn(again)))).toBe("prove-more");
  });
});

describe("NIST SP 800-63B-4 §5.1: a remembered browser", () => {
  const settings = withSettings({ REMEMBER_DEVICE_DAYS: "30" });

  async function remember(visitor: Browser, app: AuthenticatorApp, offset = -1): Promise<void> {
    const page = await byPassword({}, visitor);
    expect(await (await visitor.get(page)).text()).toContain("for 30 days");
    const response = await visitor.submit(page, { code: await app.code(offset), remember: "1" });
    expect(isCode(locationOf(response))).toBe(true);
  }

  it("is not offered by default, and a posted wish is ignored", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await byPassword();
    expect(await (await browser.get(page)).text()).not.toContain('name="remember"');
    await browser.submit(page, { code: await app.code(), remember: "1" });
    expect(browser.cookies.has("__Host-op-device")).toBe(false);
  });

  it("is not remembered where the page does not offer it: for a client that always asks", async () => {
    await authEnv.DB.batch(["clients", "users"].map((table) => authEnv.DB.prepare(`DELETE FROM ${table}`)));
    await fixtures.seed({ skip_consent: true, require_mfa: true });
    const app = await AuthenticatorApp.register("alice");
    browser.restart(settings);
    const page = await byPassword();
    expect(await (await browser.get(page)).text()).not.toContain('name="remember"');
    await browser.submit(page, { code: await app.code(), remember: "1" });
    expect([hasSession(), browser.cookies.has("__Host-op-device")]).toEqual([true, false]);
  });

  it("skips the code, says so in the acr, and does not satisfy what a client requires", async () => {
    const app = await AuthenticatorApp.register("alice");
    browser.restart(settings);
    await remember(browser, app);
    await signOut(browser);
    const response = await browser.signIn(locationOf(await browser.authorize()));
    expect(await idTokenContext(response)).toEqual({ acr: "urn:edge-op:acr:password", amr: ["pwd"] });
    for (const asked of [{ acr_values: "mfa" }, essential("mfa")]) {
      expect(stepOf(locationOf(await browser.authorize(asked)))).toBe("prove-more");
    }
  });

  it("of another person, another browser, another epoch, or too long ago is asked", async () => {
    const app = await AuthenticatorApp.register("alice");
    await AuthenticatorApp.register("bob");
    browser.restart(settings);
    await remember(browser, app);
    await signOut(browser);
    const stolen = fixtures.browser(settings);
    await stolen.authorize();
    stolen.cookies.set("__Host-op-device", browser.cookies.get("__Host-op-device")!);
    expect(stepOf(await byPassword({}, stolen))).toBe("prove-more");
    expect(stepOf(locationOf(await browser.signIn(locationOf(await browser.authorize()), "bob")))).toBe("prove-more");
    await authEnv.DB.prepare("UPDATE users SET factor_epoch = 1 WHERE sub = 'alice'").run();
    expect(stepOf(await byPassword())).toBe("prove-more");
    await authEnv.DB.prepare("UPDATE users SET factor_epoch = 0 WHERE sub = 'alice'").run();
    expect(isCode(await byPassword())).toBe(true);
    await signOut(browser);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31 * 86_400_000 });
    expect(stepOf(await byPassword())).toBe("prove-more");
  });
});

async function forgetCopies(): Promise<void> {
  const { keys } = await authEnv.CACHE.list();
  await Promise.all(keys.map(({ name }) => authEnv.CACHE.delete(name)));
}
