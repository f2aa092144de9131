/** **Signing up**: what is stored and when, what a page tells, and the ways around the proof of an address. */

import { retireSub } from "@edge-op/shared/users/retired-subs";
import { describe, expect, it } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  authEnv,
  countRows,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { follow, postOnce, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const address = "Nina@example.com";
const name = "Nina Newcomer";
const chosen = "a long and new secret of Nina";
const password = { new: chosen, repeat: chosen };

const open = { ...authEnv, SIGN_UP: "open" } as AuthEnv;
const codes = useMailedCodes(open);
const { fixtures, browser } = useDeployment({ skip_consent: true }, codes);

function useSettings(settings: Partial<AuthEnv>): void {
  codes.restart({ ...open, ...settings });
  browser.restart(codes.env);
}

/** To the page for the code. */
async function named(visitor = browser, of: Record<string, string> = { name, address }): Promise<string> {
  const signIn = locationOf(await visitor.authorize());
  return follow(visitor, await follow(visitor, signIn, { "sign-up": "1" }), of);
}

/** To the page for the passkey or password. */
async function proven(visitor = browser, of = { name, address }): Promise<string> {
  const page = await follow(visitor, await named(visitor, of), { code: codes.code });
  expect(stepOf(page)).toBe("create-account");
  return page;
}

/** The form of a page, as a browser posts it. */
function postedAt(page: string, fields: Record<string, string>): RequestInit {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams({ form_token: formTokenOf(page), ...fields }).toString();
  return { method: "POST", headers, body };
}

const html = async (page: string, visitor = browser) => (await visitor.get(page)).text();
const fOf = (page: string) => new URL(page, "https://op.example.com").searchParams.get("f")!;
const known = 3;

describe("an address that has an account", () => {
  it.each([
    ["the link to signing in", (page: string) => /href="(\/flow\/sign-in[^"]+)"/.exec(page)![1]!.replace("&amp;", "&")],
    ["a typed address", (_: string, at: string) => at.replace("/sign-up?", "/sign-in?")],
  ])("%s leads to a page without an error, with the proven address", async (_, pathOf) => {
    const taken = await follow(browser, await named(browser, { name, address: "alice@example.com" }), {
      code: codes.code,
    });
    const response = await browser.get(pathOf(await html(taken), taken));
    const signIn = await response.text();
    expect([response.status, signIn.includes("problem"), signIn.includes("aria-invalid")]).toEqual([200, false, false]);
    expect(signIn).toMatch(/id="username"[^>]* value="alice@example.com"/);
  });

  it.each(["sign-in", "sign-up", "recover"])("a problem of another page is not shown at %s", async (step) => {
    const page = await browser.pageOf();
    const again = locationOf(
      await browser.once(page, postedAt(await html(page), { username: "alice", password: "wrong" })),
    );
    const shown = await html(again.replace("/sign-in?", `/${step}?`));
    expect(shown.includes('id="problem"')).toBe(step === "sign-in");
  });
});

describe("what was typed on the sign-in page", () => {
  it.each<readonly [Record<string, string>, string, string]>([
    [{ recover: "1" }, "recover", "address"],
    [{ "sign-up": "1" }, "sign-up", "address"],
    [{ language: "de" }, "sign-in", "username"],
  ])("is kept by %o", async (button, step, field) => {
    const page = await browser.pageOf();
    const response = await browser.once(
      page,
      postedAt(await html(page), { username: " nina@example.com ", password: "x", ...button }),
    );
    expect(stepOf(locationOf(response))).toBe(step);
    const shown = await html(locationOf(response));
    expect(shown).toMatch(new RegExp(`id="${field}"[^>]* value="nina@example.com"`));
    expect(shown).toContain(button["language"] === undefined ? '<html lang="en"' : '<html lang="de"');
  });

  it("is kept on the way to an account, by its name too, and back", async () => {
    const page = await browser.pageOf();
    const signUp = await follow(browser, page, { "sign-up": "1" });
    const german = await follow(browser, signUp, { name: "Nina", address: "nina@example.com", language: "de" });
    expect(stepOf(german)).toBe("sign-up");
    expect(await html(german)).toMatch(/id="name"[^>]* value="Nina"[\s\S]*id="address"[^>]* value="nina@example.com"/);
    const back = await follow(browser, german, { name: "", address: "nina@example.com", account: "existing" });
    expect(await html(back)).toMatch(/id="username"[^>]* value="nina@example.com"/);
  });
});

describe("a newcomer", () => {
  it("has an account after an address, its code and a passkey; nothing is stored before; and signs in by it again", async () => {
    const page = locationOf(await browser.authorize());
    expect(await html(page)).toContain('id="sign-up"');
    const create = await proven();
    expect([await countRows("users"), await countRows("user_addresses")]).toEqual([known, 1]);
    const { passkey, credential } = await SoftwarePasskey.create(await html(create));
    const offered = await follow(browser, create, { credential });
    expect(stepOf(offered)).toBe("recovery-codes");
    expect(sentToClient(await postOnce(browser, offered, { codes: "later" })).code).toBeDefined();
    const person = await authEnv.DB.prepare("SELECT * FROM users WHERE username = ?1").bind(address).first();
    expect(JSON.parse(String(person!["claims"]))).toMatchObject({ name, email: address, email_verified: true });
    const row = await authEnv.DB.prepare("SELECT * FROM user_addresses WHERE sub = ?1").bind(person!["sub"]).first();
    expect(row).toMatchObject({ address_key: "nina@example.com", address });
    const event = await authEnv.DB.prepare("SELECT * FROM admin_events WHERE action = 'user.sign_up'").first();
    expect(event).toMatchObject({ target: person!["sub"], detail: '{"method":"passkey"}' });
    const again = fixtures.browser(codes.env);
    const signIn = locationOf(await again.authorize());
    const text = await html(signIn, again);
    const fields = { form_token: formTokenOf(text), credential: await passkey.assert(text) };
    expect(sentToClient(await again.post(signIn, fields)).code).toBeDefined();
  });

  it("may choose a password, and then signs in with the address", async () => {
    expect(sentToClient(await postOnce(browser, await proven(), password)).code).toBeDefined();
    const again = fixtures.browser(codes.env);
    const signedIn = await again.signIn(locationOf(await again.authorize()), address.toLowerCase(), chosen);
    expect(sentToClient(signedIn).code).toBeDefined();
  });

  it("at a page of this provider, without an application", async () => {
    const signIn = locationOf(await browser.get("/account"));
    const start = await follow(browser, signIn, { "sign-up": "1" });
    const create = await follow(browser, await follow(browser, start, { name, address }), { code: codes.code });
    expect(locationOf(await postOnce(browser, create, password))).toBe("/account");
    expect(await html("/account")).toContain(name);
  });

  it("with MFA=required sets up an app after a password", async () => {
    useSettings({ MFA: "required" });
    expect(stepOf(await follow(browser, await proven(), password))).toBe("enrol");
  });

  it.each([
    ["no name", { name: " ", address }],
    ["a name that turns the text around", { name: "Ni\u202ena", address }],
    ["a name of two lines", { name: "Ni\u2028na", address }],
    ["a name that nobody sees", { name: "\u200b\u3164", address }],
    ["a name of 101 characters", { name: "n".repeat(101), address }],
    ["no address", { name, address: "nina" }],
    ["a quoted local part", { name, address: '"nina"@example.com' }],
    ["a look-alike letter", { name, address: "nın@example.com" }],
  ])("%s: is told so, keeps what was typed, and no mail is sent", async (_, typed) => {
    const page = await named(browser, typed);
    const response = await browser.get(page);
    const text = await response.text();
    expect([response.status, codes.mails]).toEqual([400, []]);
    expect(text).toContain('role="alert"');
    expect(text).toContain(`value="${typed.address.replaceAll('"', "&quot;")}"`);
  });

  it.each([
    ["too short", { new: "short", repeat: "short" }],
    ["that differ", { new: chosen, repeat: "another long secret" }],
    ["of their own words", { new: "nina@example.com!", repeat: "nina@example.com!" }],
  ])("passwords %s are refused, the field has the focus, and nobody is inserted", async (_, fields) => {
    const page = await follow(browser, await proven(), fields);
    const response = await browser.get(page);
    expect([response.status, /<input id="new"[^>]* autofocus/.test(await response.text())]).toEqual([400, true]);
    expect(await countRows("users")).toBe(known);
  });
});

describe("prompt=create", () => {
  it("begins with signing up, and a person who has an account goes on as usual", async () => {
    const page = locationOf(await browser.authorize({ prompt: "create" }));
    expect(stepOf(page)).toBe("sign-up");
    const signIn = await follow(browser, page, { account: "existing" });
    expect(stepOf(signIn)).toBe("sign-in");
    expect(sentToClient(await browser.signIn(signIn)).code).toBeDefined();
    const inSession = locationOf(await browser.authorize({ prompt: "create" }));
    expect(stepOf(inSession)).toBe("sign-up");
    expect(sentToClient(await postOnce(browser, inSession, { account: "existing" })).code).toBeDefined();
  });

  it("ends with the code for the client, and the request is not asked to sign up again", async () => {
    const page = locationOf(await browser.authorize({ prompt: "create" }));
    const create = await follow(browser, await follow(browser, page, { name, address }), { code: codes.code });
    expect(sentToClient(await postOnce(browser, create, password)).code).toBeDefined();
  });

  it.each(["off", "invitation"] as const)("is refused with SIGN_UP=%s, and no page offers it", async (SIGN_UP) => {
    useSettings({ SIGN_UP });
    expect(sentToClient(await browser.authorize({ prompt: "create" }))).toMatchObject({ error: "invalid_request" });
    const signIn = locationOf(await browser.authorize());
    expect(await html(signIn)).not.toContain('id="sign-up"');
    const page = await follow(browser, await follow(browser, signIn, { "sign-up": "1" }), { name, address });
    expect((await browser.get(page)).status).toBe(400);
    expect(codes.mails).toEqual([]);
  });
});

describe("an address", () => {
  const accounts = [
    ["of an account", "alice@example.com"],
    ["of a suspended account", "mallory@example.com"],
    ["that is kept for its last owner", "held@example.com"],
  ] as const;

  it.each(accounts)("%s: only the code of its mail tells, and nobody is inserted", async (_, of) => {
    await seedAddress("mallory", "mallory@example.com");
    await seedAddress("bob", "held@example.com", Date.now() + 86_400_000);
    const page = await named(browser, { name, address: of });
    const wrong = await browser.get(await follow(browser, page, { code: codes.wrongCode }));
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.not.stringContaining("already have an account")]);
    const taken = await follow(browser, page, { code: codes.code });
    expect(stepOf(taken)).toBe("sign-up");
    const exists = await html(taken);
    expect(exists).toContain("You already have an account");
    // No sign of success.
    expect(exists).not.toContain("M8 12.3");
    expect(stepOf(locationOf(await browser.get(`/flow/create-account?f=${fOf(taken)}`)))).toBe("sign-up");
    expect(await countRows("users")).toBe(known);
  });

  it("that is somebody's username is theirs", async () => {
    await authEnv.DB.prepare("UPDATE users SET username = ?1, username_key = ?1 WHERE sub = 'bob'")
      .bind("nina@example.com")
      .run();
    const taken = await follow(browser, await named(), { code: codes.code });
    expect(await html(taken)).toContain("You already have an account");
  });

  it.each([
    ["the domain", "nina@corp.example", true],
    ["in capitals", "nina@CORP.example", true],
    ["a subdomain", "nina@sub.corp.example", false],
    ["a longer domain", "nina@corp.example.evil.test", false],
    ["another domain", "corp.example@evil.test", false],
  ])("SIGN_UP_DOMAINS: %s", async (_, of, isAllowed) => {
    useSettings({ SIGN_UP_DOMAINS: "corp.example example.org" });
    const page = await named(browser, { name, address: of });
    expect((await browser.get(page)).status).toBe(isAllowed ? 200 : 400);
    expect(codes.mails).toHaveLength(isAllowed ? 1 : 0);
  });
});

describe("an attacker", () => {
  it("does not skip the code by a URL, nor post the form of another step", async () => {
    const page = await named();
    const f = fOf(page);
    expect(stepOf(locationOf(await browser.get(`/flow/create-account?f=${f}`)))).toBe("sign-up");
    const form_token = formTokenOf(await html(page));
    expect((await browser.post("/flow/create-account", { f, form_token, ...password })).status).toBe(403);
    expect(await countRows("users")).toBe(known);
  });

  it("does not use another person's page, nor their proof, in another browser", async () => {
    const create = await proven();
    const thief = fixtures.browser(codes.env);
    expect((await thief.get(create)).status).toBe(400);
    expect((await thief.post(create, { form_token: "x", ...password })).status).toBe(400);
  });

  it("does not get an address by the code of another one, nor by a code for a new password", async () => {
    const page = await named();
    const { code } = codes;
    const other = await follow(browser, page, { other: "1" });
    const victims = await follow(browser, other, { name, address: "victim@example.com" });
    expect((await browser.get(await follow(browser, victims, { code }))).status).toBe(400);
    const signIn = locationOf(await browser.authorize());
    const recover = await follow(browser, signIn, { recover: "1" });
    await follow(browser, recover, { address: "alice@example.com" });
    expect((await browser.get(await follow(browser, victims, { code: codes.code }))).status).toBe(400);
    expect(await countRows("users")).toBe(known);
  });

  it("who signs up with an address that another person proves meanwhile has nothing", async () => {
    const create = await proven();
    await seedAddress("bob", address);
    const taken = await follow(browser, create, password);
    expect(await html(taken)).toContain("You already have an account");
    expect([await countRows("users"), await countRows("user_passwords")]).toEqual([known, 3]);
  });

  it("gets one account from one proof: in parallel, by an old page, and after it was deleted", async () => {
    const create = await proven();
    const form_token = formTokenOf(await html(create));
    const post = () => browser.once(create, formOf({ form_token, ...password }));
    const posted = await Promise.all([post(), post(), post()]);
    expect(posted.filter((each) => locationOf(each).startsWith("https://app.example.com"))).toHaveLength(1);
    await post();
    expect(await countRows("users")).toBe(known + 1);
    const sub = await authEnv.DB.prepare("SELECT sub FROM users WHERE username = ?1")
      .bind(address)
      .first<string>("sub");
    await authEnv.DB.batch([
      authEnv.DB.prepare("DELETE FROM users WHERE sub = ?1").bind(sub),
      await retireSub(authEnv, sub!),
    ]);
    await post();
    expect(await countRows("users")).toBe(known);
  });

  it("does not use a passkey made for another flow", async () => {
    const { credential } = await SoftwarePasskey.create(await html(await proven()));
    const other = fixtures.browser(codes.env);
    const create = await proven(other, { name, address: "other@example.com" });
    expect((await other.get(await follow(other, create, { credential }))).status).toBe(400);
    expect(await countRows("users")).toBe(known);
  });

  it("does not make the isolate hash without end", async () => {
    const create = await proven();
    const form_token = formTokenOf(await html(create));
    await authEnv.DB.prepare(
      "CREATE TRIGGER no_users BEFORE INSERT ON users BEGIN SELECT raise(ABORT, 'constraint'); END",
    ).run();
    const results = [];
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const page = locationOf(await browser.once(create, formOf({ form_token, ...password })));
      results.push((await browser.get(page)).status);
    }
    await authEnv.DB.prepare("DROP TRIGGER no_users").run();
    expect(results.at(-1)).toBe(429);
  });

  it("RFC 6265 §8.4: who planted a session loses it to the newcomer's own, with a new id", async () => {
    await browser.signIn(locationOf(await browser.authorize()));
    const planted = browser.cookies.get("__Host-op-session");
    const page = locationOf(await browser.authorize({ prompt: "create" }));
    const create = await follow(browser, await follow(browser, page, { name, address }), { code: codes.code });
    expect(sentToClient(await postOnce(browser, create, password)).code).toBeDefined();
    expect(browser.cookies.get("__Host-op-session")).not.toBe(planted);
    expect(await html("/account")).toContain(name);
  });
});

describe("the way to sign in", () => {
  it.each([
    ["SIGN_UP_METHODS=passkey", { SIGN_UP_METHODS: "passkey" }, {}],
    ["an application that requires a passkey", {}, phr()],
  ])("%s: a password is neither offered nor accepted", async (_, settings, asked) => {
    useSettings(settings);
    const start = await follow(browser, locationOf(await browser.authorize(asked)), { "sign-up": "1" });
    const create = await follow(browser, await follow(browser, start, { name, address }), { code: codes.code });
    const text = await html(create);
    expect(text).toContain('data-passkey="create"');
    expect(text).not.toContain('name="new"');
    expect((await browser.get(await follow(browser, create, password))).status).toBe(400);
    const { credential } = await SoftwarePasskey.create(text);
    const offered = await follow(browser, create, { credential });
    expect(sentToClient(await postOnce(browser, offered, { codes: "later" })).code).toBeDefined();
  });

  it("a setting that changes meanwhile counts", async () => {
    const create = await proven();
    const strict = fixtures.browser({ ...codes.env, SIGN_UP: "off" } as AuthEnv);
    for (const [cookie, value] of browser.cookies) strict.cookies.set(cookie, value);
    expect((await strict.get(await follow(strict, create, password))).status).toBe(400);
    expect(await countRows("users")).toBe(known);
  });
});

function phr(): Record<string, string> {
  return { claims: JSON.stringify({ id_token: { acr: { essential: true, values: ["phr"] } } }) };
}

function formOf(fields: Record<string, string>): RequestInit {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return { method: "POST", headers, body: new URLSearchParams(fields).toString() };
}
