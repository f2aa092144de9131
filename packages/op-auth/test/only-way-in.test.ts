/** **A person whose passkey is their only way in** is offered another one, once in a flow, and then told so at the account page. */

import { beforeEach, describe, expect, it } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { authEnv, countRows, locationOf, sentToClient, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { follow, postOnce, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { seedUpstream } from "./fixtures/stand-in-upstream.ts";

const open = { ...authEnv, SIGN_UP: "open" } as AuthEnv;
const codes = useMailedCodes(open);
const { fixtures, browser } = useDeployment({ skip_consent: true }, codes);

const run = (sql: string) => authEnv.DB.prepare(sql).run();
const html = async (page: string, visitor = browser) => (await visitor.get(page)).text();
const codesOn = (text: string) => [...text.matchAll(/<li>([0-9A-Z-]+)<\/li>/g)].map(([, code]) => code!);

async function signIn(passkey: SoftwarePasskey, visitor = fixtures.browser(codes.env)): Promise<string> {
  const page = locationOf(await visitor.authorize());
  return follow(visitor, page, { credential: await passkey.assert(await html(page, visitor)) });
}

/** The page after an account was created by a passkey. */
async function signUp(): Promise<{ readonly passkey: SoftwarePasskey; readonly page: string }> {
  let page = locationOf(await browser.authorize());
  page = await follow(browser, page, { "sign-up": "1" });
  page = await follow(browser, page, { name: "Nina", address: "nina@example.com" });
  page = await follow(browser, page, { code: codes.code });
  const { passkey, credential } = await SoftwarePasskey.create(await html(page));
  return { passkey, page: await follow(browser, page, { credential }) };
}

describe("after a sign-up by passkey", () => {
  it("codes are offered, and lead back in beside the mailbox", async () => {
    const { page } = await signUp();
    const text = await html(page);
    expect(text).toContain("Your passkey is the only way into your account");
    const [code = ""] = codesOn(text);
    expect(sentToClient(await postOnce(browser, page, { codes: "saved" })).code).toBeDefined();
    const visitor = fixtures.browser(codes.env);
    let next = await follow(visitor, locationOf(await visitor.authorize()), { recover: "1" });
    next = await follow(visitor, next, { address: "nina@example.com" });
    next = await follow(visitor, next, { code: codes.code });
    expect(stepOf(next)).toBe("prove-more");
    expect(stepOf(await follow(visitor, next, { code }))).toBe("set-password");
  });

  it("skipped, they are not offered again but at the account page", async () => {
    const { passkey, page } = await signUp();
    expect(sentToClient(await postOnce(browser, page, { codes: "later" })).code).toBeDefined();
    expect(await countRows("user_recovery_codes")).toBe(0);
    expect(stepOf(await signIn(passkey))).toBeUndefined();
    const account = await html("/account/security");
    expect(account).toMatch(
      /id="only-way-in">You have one passkey, and no other way in\.[^<]*<a href="\/account\/recovery-codes">/,
    );
  });

  it("another passkey does instead: stored, told to its person, and accepted; the first one again is not", async () => {
    const { passkey, page } = await signUp();
    const first = await follow(browser, page, { credential: await passkey.assert(await html(page)) });
    expect([stepOf(first), (await browser.get(first)).status]).toEqual(["recovery-codes", 400]);
    const second = await SoftwarePasskey.create(await html(page));
    expect(sentToClient(await postOnce(browser, page, { credential: second.credential })).code).toBeDefined();
    expect(await countRows("webauthn_credentials")).toBe(2);
    expect(codes.notices.map(({ kind }) => kind)).toContain("passkey-added");
    expect(stepOf(await signIn(second.passkey))).toBeUndefined();
    expect(await html("/account/security")).not.toContain('id="only-way-in"');
  });
});

it("a person with one provider is told so at the account page", async () => {
  await browser.signInWhole();
  await seedUpstream();
  await run("DELETE FROM user_passwords WHERE sub = 'alice'");
  const row = "('idp', 'https://idp.example.net', 'there', 'alice', 'there', 0)";
  await run(`INSERT INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms) VALUES ${row}`);
  expect(await html("/account/security")).toMatch(
    /id="only-way-in">You sign in with one provider[^<]*<a href="#add-passkey">/,
  );
});

describe("the first sign-in by a passkey that was stored otherwise", () => {
  let passkey: SoftwarePasskey;
  beforeEach(async () => {
    passkey = await SoftwarePasskey.register("alice");
    await run("DELETE FROM user_passwords WHERE sub = 'alice'");
  });

  it("offers a way back; the second does not", async () => {
    expect(stepOf(await signIn(passkey))).toBe("recovery-codes");
    expect(stepOf(await signIn(passkey))).toBeUndefined();
  });

  it("without mail, codes would lead nowhere: only another passkey is offered", async () => {
    const visitor = fixtures.browser();
    const text = await html(await signIn(passkey, visitor), visitor);
    expect([codesOn(text), text.includes('id="second-passkey"'), text.includes('id="later"')]).toEqual([
      [],
      true,
      true,
    ]);
  });

  it.each([
    ["a password", "INSERT INTO user_passwords (sub, hash, updated_at_ms) VALUES ('alice', 'x', 0)"],
    ["another passkey", ""],
    ["recovery codes", ""],
    ["a provider", ""],
  ])("with %s nothing is offered", async (other, insert) => {
    if (insert !== "") await run(insert);
    if (other === "another passkey") await SoftwarePasskey.register("alice");
    if (other === "recovery codes") await registerRecoveryCodes("alice");
    if (other === "a provider") {
      await seedUpstream();
      const row = "('idp', 'https://idp.example.net', 'there', 'alice', 'there', 0)";
      await run(`INSERT INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms) VALUES ${row}`);
    }
    expect(stepOf(await signIn(passkey))).toBeUndefined();
  });
});
