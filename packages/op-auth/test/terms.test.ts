/** **Agreeing to the terms of service**: who is asked and when, what is stored, and the ways around it. */

import { describe, expect, it } from "vitest";
import { postForm } from "../../../test/fixtures/call.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { readDeployment } from "../src/runtime/deployment.ts";
import {
  authEnv,
  type Browser,
  countRows,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { follow, postOnce, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const links = { TERMS_URL: "https://example.com/terms", PRIVACY_URL: "https://example.com/privacy" };
const first = { ...links, TERMS_VERSION: "2026-11" };
const second = { ...first, TERMS_VERSION: "2027-01" };

const codes = useMailedCodes({ ...authEnv, SIGN_UP: "open" } as AuthEnv);
const { fixtures, browser } = useDeployment({ skip_consent: true }, codes);
const { DB } = authEnv;

/** The deployment changes its settings under the browser, which keeps its cookies. */
function deploy(settings: Partial<AuthEnv>, visitor: Browser = browser): void {
  codes.env = { ...codes.env, TERMS_VERSION: "", ...settings } as AuthEnv;
  visitor.env = codes.env;
}

const html = async (page: string, visitor = browser) => (await visitor.once(page)).text();
const signIn = async (visitor = browser) =>
  locationOf(await visitor.signIn(locationOf(await visitor.authorize({ prompt: "login" }))));
const agree = (version = first.TERMS_VERSION) => ({ decision: "agree", terms: version });

async function agreed(): Promise<void> {
  deploy(first);
  expect(sentToClient(await postOnce(browser, await signIn(), agree())).code).toBeDefined();
}

async function stored(sub = "alice"): Promise<unknown> {
  const select = "SELECT terms_version AS version, terms_accepted_at_ms AS at FROM users WHERE sub = ?1";
  return DB.prepare(select).bind(sub).first();
}

async function events(): Promise<readonly unknown[]> {
  const select = "SELECT target, sub, detail FROM admin_events WHERE action = 'terms.accepted' ORDER BY rowid";
  return (await DB.prepare(select).all()).results;
}

const nothing = { version: null, at: null };

describe("settings", () => {
  it.each([
    ["TERMS_URL", { TERMS_URL: "http://example.com/terms" }],
    ["TERMS_URL", { TERMS_URL: "/terms" }],
    ["PRIVACY_URL", { PRIVACY_URL: "javascript:alert(1)" }],
    ["PRIVACY_URL", { PRIVACY_URL: "https://user@example.com/" }],
    ["TERMS_VERSION", { ...links, TERMS_VERSION: "a version" }],
    ["TERMS_VERSION", { ...links, TERMS_VERSION: "v".repeat(33) }],
    ["TERMS_VERSION needs TERMS_URL", { TERMS_VERSION: "1" }],
  ])("%s is checked: %j", (message, variables) => {
    expect(() => readDeployment(variables)).toThrow(message);
  });
});

describe("links", () => {
  const pages = async () => {
    const page = await browser.pageOf();
    const signUp = await follow(browser, page, { "sign-up": "1" });
    const named = await follow(browser, signUp, { name: "Nina", address: "nina@example.com" });
    return {
      "sign-in": page,
      "sign-up": signUp,
      code: named,
      invitation: "/invitation?token=x",
      home: "/",
      none: "/x",
    };
  };

  it("are below every page with settings, and below none without", async () => {
    deploy({});
    for (const page of Object.values(await pages())) expect(await html(page)).not.toMatch(/terms|privacy/i);
    deploy(links);
    for (const page of Object.values(await pages())) {
      const text = await html(page);
      for (const url of Object.values(links)) expect([page, text.includes(`href="${url}"`)]).toEqual([page, true]);
    }
  });

  it("of the client are at sign-up as at sign-in", async () => {
    const pages = JSON.stringify({ policy_uri: "https://app.example.com/privacy" });
    await DB.prepare("UPDATE clients SET metadata = json_patch(metadata, ?1)").bind(pages).run();
    deploy({});
    const page = await browser.pageOf();
    const signUp = await follow(browser, page, { "sign-up": "1" });
    const named = await follow(browser, signUp, { name: "Nina", address: "nina@example.com" });
    const create = await follow(browser, named, { code: codes.code });
    for (const shown of [page, signUp, create]) expect(await html(shown)).toContain("https://app.example.com/privacy");
  });
});

describe("a person who has not agreed", () => {
  it("is asked once, with a date, and then goes on at once, also in another browser and silently", async () => {
    await agreed();
    const row = await stored();
    expect(row).toEqual({ version: "2026-11", at: expect.any(Number) });
    expect(await events()).toEqual([{ target: "alice", sub: "alice", detail: '{"version":"2026-11"}' }]);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    const other = fixtures.browser(codes.env);
    const page = locationOf(await other.authorize());
    expect(sentToClient(await other.signIn(page)).code).toBeDefined();
    expect(sentToClient(await other.authorize({ prompt: "none" })).code).toBeDefined();
    expect(await stored()).toEqual(row);
  });

  it("is asked in a session too; OIDC Core §3.1.2.6: prompt=none gets interaction_required", async () => {
    deploy({});
    await browser.signIn(await browser.pageOf());
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    deploy(first);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("interaction_required");
    const page = locationOf(await browser.authorize());
    expect(stepOf(page)).toBe("terms");
    expect(await html(page)).toContain(`href="${links.TERMS_URL}"`);
    expect(sentToClient(await postOnce(browser, page, agree())).code).toBeDefined();
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it("is asked again when the version has changed, also with a passkey", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await agreed();
    deploy(second);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("interaction_required");
    const page = locationOf(await browser.authorize({ prompt: "login" }));
    const text = await html(page);
    const fields = { form_token: formTokenOf(text), credential: await passkey.assert(text) };
    const next = locationOf(await browser.post(page, fields));
    expect(stepOf(next)).toBe("terms");
    expect(sentToClient(await postOnce(browser, next, agree("2027-01"))).code).toBeDefined();
    expect(await stored()).toMatchObject({ version: "2027-01" });
    expect(await events()).toHaveLength(2);
  });

  it("who does not agree gives the client nothing, and can still use the account", async () => {
    deploy(first);
    const response = await postOnce(browser, await signIn(), { decision: "decline" });
    expect(sentToClient(response).error).toBe("access_denied");
    expect([await stored(), await events()]).toEqual([nothing, []]);
    expect((await browser.get("/account")).status).toBe(200);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("interaction_required");
  });

  it("is not asked for the account pages, but before a device gets access, also in a session", async () => {
    deploy(first);
    expect(locationOf(await browser.signIn(locationOf(await browser.get("/account"))))).toBe("/account");
    const other = fixtures.browser(codes.env);
    const page = locationOf(await other.get("/device?user_code=BCDF-GHJK"));
    const next = locationOf(await other.signIn(page));
    expect(stepOf(next)).toBe("terms");
    expect(locationOf(await postOnce(other, next, agree()))).toBe("/device?user_code=BCDF-GHJK");
  });
});

describe("RFC 8628: a device", () => {
  it("gets access from a session only after its person has agreed, and its page says so before", async () => {
    const grant_types = ["urn:ietf:params:oauth:grant-type:device_code"] as const;
    const device = await seedClient(authEnv, "device", { grant_types, scope: "openid" });
    const asked = await postForm(fixtures.app, authEnv, "/device_authorization", { scope: "openid" }, device);
    const { user_code } = (await asked.json()) as { user_code: string };
    const page = `/device?${new URLSearchParams({ user_code })}`;
    deploy({});
    await browser.signIn(locationOf(await browser.get("/account")));
    const form_token = formTokenOf(await html(page));
    deploy(first);
    expect(stepOf(locationOf(await browser.get(page)))).toBe("sign-in");
    const allowed = await browser.post("/device", { form_token, user_code, decision: "allow" });
    const signingIn = locationOf(allowed);
    expect(stepOf(signingIn)).toBe("sign-in");
    const next = locationOf(await browser.signIn(signingIn));
    expect(stepOf(next)).toBe("terms");
    const back = locationOf(await postOnce(browser, next, agree()));
    expect(back).toBe(page);
    const again = formTokenOf(await html(back));
    const decided = await browser.post("/device", { form_token: again, user_code, decision: "allow" });
    expect(locationOf(decided)).toBe("/device?result=allowed");
  });
});

describe("a newcomer", () => {
  const chosen = { new: "a long and new secret", repeat: "a long and new secret" };

  async function creating(): Promise<string> {
    const signUp = await follow(browser, await browser.pageOf(), { "sign-up": "1" });
    const named = await follow(browser, signUp, { name: "Nina", address: "nina@example.com" });
    return follow(browser, named, { code: codes.code });
  }

  it("agrees by creating the account, beside a sentence that says so, and is not asked again", async () => {
    deploy(first);
    const page = await creating();
    const text = await html(page);
    expect(text).toContain('id="terms"');
    expect(text).toContain("By creating the account, you agree to the terms of service.");
    const response = await postOnce(browser, page, { ...chosen, terms: first.TERMS_VERSION });
    expect(sentToClient(response).code).toBeDefined();
    const { sub } = (await DB.prepare("SELECT sub FROM users WHERE username = 'nina@example.com'").first())!;
    expect(await stored(String(sub))).toEqual({ version: "2026-11", at: expect.any(Number) });
    expect(await events()).toEqual([{ target: sub, sub, detail: '{"version":"2026-11"}' }]);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it.each([{}, { terms: "2026-11" }])("does not agree to a version that the page has not shown: %j", async (fields) => {
    deploy(first);
    const page = await creating();
    deploy(second);
    const people = await countRows("users");
    const again = await follow(browser, page, { ...chosen, ...fields });
    expect(stepOf(again)).toBe("create-account");
    expect(await html(again)).toContain("The terms have changed");
    expect(await countRows("users")).toBe(people);
    expect(sentToClient(await postOnce(browser, again, { ...chosen, terms: "2027-01" })).code).toBeDefined();
  });

  it("without versions is told and asked nothing, and nothing is stored", async () => {
    deploy(links);
    const page = await creating();
    expect(await html(page)).not.toContain('id="terms"');
    expect(sentToClient(await postOnce(browser, page, chosen)).code).toBeDefined();
    const { sub } = (await DB.prepare("SELECT sub FROM users WHERE username = 'nina@example.com'").first())!;
    expect([await stored(String(sub)), await events()]).toEqual([nothing, []]);
  });
});

describe("around the page", () => {
  it("an old page does not agree to a version that has come into force since", async () => {
    deploy(first);
    const page = await signIn();
    deploy(second);
    const again = await follow(browser, page, agree());
    expect([stepOf(again), await stored()]).toEqual(["terms", nothing]);
    expect(await html(again)).toContain("have changed since this page was opened");
    expect(sentToClient(await postOnce(browser, again, agree("2027-01"))).code).toBeDefined();
  });

  it("two forms at once store one agreement and one event", async () => {
    deploy(first);
    const page = await signIn();
    const form_token = formTokenOf(await html(page));
    const send = () => browser.post(page, { form_token, ...agree() });
    await Promise.all([send(), send()]);
    await send();
    expect(await stored()).toMatchObject({ version: "2026-11" });
    expect(await events()).toHaveLength(1);
  });

  it("a session that was ended between the page and its form agrees to nothing", async () => {
    deploy(first);
    const page = await signIn();
    const form_token = formTokenOf(await html(page));
    await DB.prepare("DELETE FROM user_sessions").run();
    const next = locationOf(await browser.post(page, { form_token, ...agree() }));
    expect([stepOf(next), await stored(), await events()]).toEqual(["sign-in", nothing, []]);
  });

  it("the cookie of another person or browser says nothing", async () => {
    await agreed();
    const cookie = browser.cookies.get("__Host-op-terms")!;
    expect(cookie).toBeDefined();
    const other = fixtures.browser(codes.env);
    other.cookies.set("__Host-op-terms", cookie);
    const page = locationOf(await other.authorize());
    expect(stepOf(locationOf(await other.signIn(page, "bob", password)))).toBe("terms");
    await DB.prepare("UPDATE users SET terms_version = NULL, terms_accepted_at_ms = NULL").run();
    other.cookies.set("__Host-op-terms", cookie);
    expect(sentToClient(await other.authorize({ prompt: "none" })).error).toBe("interaction_required");
  });

  it("the account page and the download say to what and when the person has agreed", async () => {
    await agreed();
    const text = await (await browser.get("/account")).text();
    expect(text).toContain('id="agreed-terms"');
    expect(text).toContain("version 2026-11");
    deploy({});
    expect(await (await browser.get("/account")).text()).not.toContain('id="agreed-terms"');
  });
});
