/** **The address of an account**: who may change it, when it changes, who is told, and how the change is taken back. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import { isIdentifierTaken } from "../src/sign-in/sign-up-rule.tsx";
import { authEnv, formTokenOf, locationOf, sentToClient, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { follow, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";

const path = "/account/address";
const day = 86_400_000;

const mailed = useMailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

beforeEach(async () => {
  await signIn();
});

async function signIn(visitor = browser, username = "alice"): Promise<void> {
  expect(locationOf(await visitor.signIn(locationOf(await visitor.get(path)), username))).toBe(path);
}

/** Posts an address; returns the fields of the page for its code. */
async function requestFor(address: string, visitor = browser): Promise<Record<"form_token" | "state", string>> {
  const html = await (await visitor.submit(path, { address })).text();
  return { form_token: formTokenOf(html), state: /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "" };
}

async function changeTo(address: string, visitor = browser): Promise<string> {
  return locationOf(await visitor.post(path, { ...(await requestFor(address, visitor)), code: mailed.code }));
}

async function addressesOf(sub: string): Promise<unknown[]> {
  const select =
    "SELECT address_key, held_until_ms IS NOT NULL AS held FROM user_addresses WHERE sub = ?1 ORDER BY address_key";
  return (await authEnv.DB.prepare(select).bind(sub).all()).results;
}

async function emailOf(sub: string): Promise<unknown> {
  const claims = await authEnv.DB.prepare("SELECT claims FROM users WHERE sub = ?1").bind(sub).first<string>("claims");
  const { email, email_verified: isVerified } = JSON.parse(claims ?? "{}");
  return { email, isVerified };
}

describe("a change of address", () => {
  it("stands with the code and not before; the previous one is held, told with a link, and the account page shows both", async () => {
    const fields = await requestFor("Alice.New@example.org");
    expect(await emailOf("alice")).toEqual({ email: "alice@example.com", isVerified: true });
    const response = await browser.post(path, { ...fields, code: mailed.code });
    expect(locationOf(response)).toBe("/account?notice=address-changed");
    expect(await emailOf("alice")).toEqual({ email: "Alice.New@example.org", isVerified: true });
    expect(await addressesOf("alice")).toEqual([
      { address_key: "alice.new@example.org", held: 0 },
      { address_key: "alice@example.com", held: 1 },
    ]);
    expect(mailed.notices.map(({ kind, undo }) => [kind, undo?.address])).toEqual([
      ["address-changed", "alice@example.com"],
    ]);
    const html = await (await browser.get("/account")).text();
    expect(html).toContain("Alice.New@example.org");
    expect(html).toContain("can undo this until");
    // Sessions and grants stay.
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it("a mistyped address, and one that no code was entered for, change nothing", async () => {
    const wrong = await browser.submit(path, { address: "alice" });
    expect([wrong.status, (await wrong.text()).includes("not an email address")]).toEqual([400, true]);
    const fields = await requestFor("typo@example.org");
    const refused = await browser.post(path, { ...fields, code: mailed.wrongCode });
    expect([refused.status, (await refused.text()).includes("not correct")]).toEqual([400, true]);
    expect(await addressesOf("alice")).toEqual([{ address_key: "alice@example.com", held: 0 }]);
  });

  it("an address of another person: the page says the same, that mailbox is told, and a code does not take it", async () => {
    await seedAddress("bob", "bob@example.com");
    const taken = await browser.submit(path, { address: "bob@example.com" });
    const free = await browser.submit(path, { address: "new@example.com" });
    const [one, other] = await Promise.all([taken.text(), free.text()]);
    const plain = (html: string) => html.replaceAll(/value="[^"]+"|\w+@example\.com/g, "");
    expect([taken.status, plain(one)]).toEqual([free.status, plain(other)]);
    expect(await changeTo("bob@example.com")).toBe("/account?notice=address-not-changed");
    expect(await addressesOf("alice")).toEqual([{ address_key: "alice@example.com", held: 0 }]);
    expect(await addressesOf("bob")).toEqual([{ address_key: "bob@example.com", held: 0 }]);
  });

  it("an address that somebody else holds, or is named by, is not taken; a hold that has ended is none", async () => {
    await seedAddress("bob", "held@example.com", Date.now() + day);
    expect(await changeTo("held@example.com")).toBe("/account?notice=address-not-changed");
    await authEnv.DB.prepare("UPDATE users SET username_key = 'named@example.com' WHERE sub = 'bob'").run();
    expect(await changeTo("named@example.com")).toBe("/account?notice=address-not-changed");
    await authEnv.DB.prepare("UPDATE user_addresses SET held_until_ms = 1 WHERE sub = 'bob'").run();
    expect(await changeTo("held@example.com")).toBe("/account?notice=address-changed");
  });

  it("of two people who prove the same address at once, one has it", async () => {
    const other = fixtures.browser(mailed.env);
    await signIn(other, "bob");
    const own = await requestFor("both@example.com");
    const ownCode = mailed.code;
    const others = await requestFor("both@example.com", other);
    const results = await Promise.all([
      browser.post(path, { ...own, code: ownCode }),
      other.post(path, { ...others, code: mailed.code }),
    ]);
    expect(results.map(locationOf).toSorted()).toEqual([
      "/account?notice=address-changed",
      "/account?notice=address-not-changed",
    ]);
  });

  it("the state of a page works for its person alone", async () => {
    const fields = await requestFor("new@example.com");
    const other = fixtures.browser(mailed.env);
    await signIn(other, "bob");
    const own = formTokenOf(await (await other.get(path)).text());
    const response = await other.post(path, { state: fields.state, form_token: own, code: mailed.code });
    expect((await response.text()).includes('name="address"')).toBe(true);
    expect(await addressesOf("bob")).toEqual([]);
  });

  it("a present address that is not verified is confirmed by the same page", async () => {
    const unverified = JSON.stringify({ email: "bob@example.com" });
    await authEnv.DB.prepare("UPDATE users SET claims = ?1 WHERE sub = 'bob'").bind(unverified).run();
    const visitor = fixtures.browser(mailed.env);
    await signIn(visitor, "bob");
    expect(await (await visitor.get(path)).text()).toContain('value="bob@example.com"');
    expect(await changeTo("bob@example.com", visitor)).toBe("/account?notice=address-changed");
    expect(await emailOf("bob")).toEqual({ email: "bob@example.com", isVerified: true });
  });

  it("NIST §4.1.2.1: needs the level of the account, also when the code is entered; an old session is not enough", async () => {
    const fields = await requestFor("new@example.com");
    const app = await AuthenticatorApp.register("alice");
    const elsewhere = locationOf(await browser.post(path, { ...fields, code: mailed.code }));
    expect(stepOf(elsewhere)).toBe("sign-in");
    const next = await follow(browser, elsewhere, { username: "alice", password: "correct horse battery staple" });
    expect(stepOf(next)).toBe("prove-more");
    expect(await follow(browser, next, { code: await app.code() })).toBe(path);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10 * 60_000 + 1_000 });
    expect(stepOf(locationOf(await browser.get(path)))).toBe("sign-in");
    expect(await emailOf("alice")).toEqual({ email: "alice@example.com", isVerified: true });
  });

  it("without a provider of mail the account page does not offer it", async () => {
    const without = fixtures.browser();
    await without.signIn(locationOf(await without.get("/account")));
    expect(await (await without.get("/account")).text()).not.toContain(path);
    expect(locationOf(await without.get(path))).toBe("/account");
  });
});

describe("a person who is named by their address", () => {
  const old = "named@example.com";
  const visitor = fixtures.browser(mailed.env);

  async function named(): Promise<[username: unknown, key: unknown]> {
    const row = await authEnv.DB.prepare("SELECT username, username_key FROM users WHERE sub = 'bob'").first();
    return [row?.["username"], row?.["username_key"]];
  }

  async function signsIn(username: string): Promise<boolean> {
    const other = fixtures.browser(mailed.env);
    return (await other.signIn(locationOf(await other.get(path)), username)).status === 303;
  }

  beforeEach(async () => {
    visitor.restart(mailed.env);
    const claims = JSON.stringify({ email: old, email_verified: true });
    const rename = "UPDATE users SET username = ?1, username_key = ?1, claims = ?2 WHERE sub = 'bob'";
    await authEnv.DB.prepare(rename).bind(old, claims).run();
    await seedAddress("bob", old);
    await signIn(visitor, old);
  });

  it("is named by the new one: it signs in, password managers store it, and the old one signs in nobody", async () => {
    expect(await changeTo("Bob.New@example.org", visitor)).toBe("/account?notice=address-changed");
    expect(await named()).toEqual(["Bob.New@example.org", "bob.new@example.org"]);
    expect([await signsIn("bob.new@example.org"), await signsIn(old)]).toEqual([true, false]);
    const html = await (await visitor.get("/account/password")).text();
    expect(html).toContain('value="Bob.New@example.org" autocomplete="username"');
    const found = "SELECT searched IS search_source AS isFound FROM users WHERE sub = 'bob'";
    expect(await authEnv.DB.prepare(found).first("isFound")).toBe(1);
  });

  it("whoever has the old mailbox can sign up once nobody can take the change back, and not before", async () => {
    await changeTo("bob.new@example.org", visitor);
    expect(await isIdentifierTaken(authEnv.DB, old, Date.now() + 6 * day)).toBe(true);
    expect(await isIdentifierTaken(authEnv.DB, old, Date.now() + 8 * day)).toBe(false);
  });

  it("is named by the old one again after the change was taken back", async () => {
    await changeTo("bob.new@example.org", visitor);
    const undo = new URLSearchParams(mailed.notices.at(-1)!.undo!.path.split("?")[1]).get("undo")!;
    await fixtures.browser(mailed.env).post("/account/address/undo", { undo });
    expect([await named(), await emailOf("bob")]).toEqual([[old, old], { email: old, isVerified: true }]);
  });

  it("is named by another address of theirs that becomes the main one", async () => {
    await seedAddress("bob", "b@example.org");
    const form_token = formTokenOf(await (await visitor.get(path)).text());
    await visitor.post("/account/address/primary", { form_token, address: "b@example.org" });
    expect(await named()).toEqual(["b@example.org", "b@example.org"]);
  });

  it("a name of their own choice stays", async () => {
    expect(await changeTo("alice.new@example.org")).toBe("/account?notice=address-changed");
    const name = await authEnv.DB.prepare("SELECT username FROM users WHERE sub = 'alice'").first("username");
    expect(name).toBe("alice");
  });
});

describe("taking a change back", () => {
  /** The link in the mail to the previous address, after a thief has changed it. */
  async function linkAfterChange(): Promise<string> {
    expect(await changeTo("thief@example.org")).toBe("/account?notice=address-changed");
    return mailed.notices.at(-1)!.undo!.path;
  }

  it("a program that opens the link changes nothing; the form ends every session, and the new address finds nobody", async () => {
    const link = await linkAfterChange();
    const mailbox = fixtures.browser(mailed.env);
    for (let opened = 0; opened < 10; opened += 1) expect((await mailbox.get(link)).status).toBe(200);
    expect(await emailOf("alice")).toEqual({ email: "thief@example.org", isVerified: true });
    const undo = new URLSearchParams(link.split("?")[1]).get("undo")!;
    expect(stepOf(locationOf(await mailbox.post("/account/address/undo", { undo })))).toBe("set-password");
    expect(await emailOf("alice")).toEqual({ email: "alice@example.com", isVerified: true });
    expect(await addressesOf("alice")).toEqual([{ address_key: "alice@example.com", held: 0 }]);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
    // Once.
    expect((await mailbox.post("/account/address/undo", { undo })).status).toBe(400);
  });

  it("not after a week, and not by a link that was changed", async () => {
    const link = await linkAfterChange();
    expect((await browser.get(link.slice(0, -2))).status).toBe(400);
    expect((await browser.post("/account/address/undo", { undo: "x" })).status).toBe(400);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 7 * day + 1_000 });
    expect((await browser.get(link)).status).toBe(400);
  });

  it("for a week nobody else can take the previous address, and it finds nobody", async () => {
    await linkAfterChange();
    const other = fixtures.browser(mailed.env);
    await signIn(other, "bob");
    expect(await changeTo("alice@example.com", other)).toBe("/account?notice=address-not-changed");
    // The person can change it back, also by a code.
    expect(await changeTo("alice@example.com")).toBe("/account?notice=address-changed");
    expect(await addressesOf("alice")).toEqual([
      { address_key: "alice@example.com", held: 0 },
      { address_key: "thief@example.org", held: 1 },
    ]);
  });
});
