/** **Forgotten passwords**: the way from an address to a new password, and who is refused on it. */

import { describe, expect, it, vi } from "vitest";
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
import { AuthenticatorApp, registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { follow, postOnce, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { seedUpstream } from "./fixtures/stand-in-upstream.ts";

const chosen = "purple monkey dishwasher 42";

const mailed = useMailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

/** The page for an address. */
async function recoverPage(visitor = browser, path = authorizationPath()): Promise<string> {
  return follow(visitor, locationOf(await visitor.get(path)), { recover: "1" });
}

/** The page for the code that was mailed to an address. */
async function codePage(address = "alice@example.com", visitor = browser): Promise<string> {
  return follow(visitor, await recoverPage(visitor), { address });
}

/** The page after the right code. */
async function afterCode(address = "alice@example.com", visitor = browser): Promise<string> {
  const page = await codePage(address, visitor);
  const { code } = mailed;
  return follow(visitor, page, { code: `${code.slice(0, 4)}–${code.slice(4)} is your code` });
}

const newPassword = { new: chosen, repeat: chosen };

async function hashOf(sub: string): Promise<string | null> {
  return authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = ?1").bind(sub).first<string>("hash");
}

describe("a forgotten password", () => {
  it("is replaced by a code that was mailed, and the flow goes on to the client: acr, sessions and events", async () => {
    const elsewhere = fixtures.browser(mailed.env);
    await elsewhere.signInWhole();
    const page = await afterCode();
    expect(stepOf(page)).toBe("set-password");
    expect(await (await browser.get(page)).text()).toContain('autocomplete="new-password"');
    expect(sentToClient(await postOnce(browser, page, newPassword)).code).toBeDefined();
    // Every session and grant of the previous password has ended, and this browser is signed in.
    expect(sentToClient(await elsewhere.authorize({ prompt: "none" })).error).toBe("login_required");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    const other = fixtures.browser(mailed.env);
    const signIn = locationOf(await other.authorize());
    expect((await other.signIn(signIn)).status).toBe(400);
    expect(sentToClient(await other.signIn(signIn, "alice", chosen)).code).toBeDefined();
    const { results } = await authEnv.DB.prepare("SELECT action, sub FROM admin_events").all();
    expect(results).toEqual([{ action: "password.recovered", sub: "alice" }]);
  });

  it("also from a page of this provider, without a client", async () => {
    const page = await follow(browser, await recoverPage(browser, "/account"), { address: " ALICE@Example.COM " });
    const next = await follow(browser, page, { code: `${mailed.code.slice(0, 4)} ${mailed.code.slice(4)}` });
    expect(locationOf(await postOnce(browser, next, newPassword))).toBe("/account");
    expect((await browser.get("/account")).status).toBe(200);
  });

  it("a new password that is not acceptable is refused with its reason, and the page is shown again", async () => {
    const page = await afterCode();
    for (const [fields, text] of [
      [{ new: "short", repeat: "short" }, "at least 15 characters"],
      [{ new: chosen, repeat: `${chosen}!` }, "not the same"],
      [{ new: chosen }, "not the same"],
    ] as const) {
      const again = await follow(browser, page, fields);
      const response = await browser.once(again);
      expect([response.status, (await response.text()).includes(text)]).toEqual([400, true]);
    }
    expect(sentToClient(await postOnce(browser, page, newPassword)).code).toBeDefined();
  });

  it("without a provider of mail the sign-in page does not offer it, and the step leads back", async () => {
    const without = fixtures.browser();
    const signIn = locationOf(await without.authorize());
    expect(await (await without.get(signIn)).text()).not.toContain('name="recover"');
    expect(locationOf(await without.once(signIn.replace("sign-in", "recover")))).toMatch(/^\/flow\/restart/);
  });
});

describe("what a thief has planted", () => {
  it("is listed after a recovery, and its owner removes it: a passkey, an identity, an address", async () => {
    await seedUpstream();
    const planted = await SoftwarePasskey.register("alice");
    await seedAddress("alice", "thief@example.org");
    const insert = "INSERT INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms) VALUES";
    await authEnv.DB.prepare(`${insert} ('idp', 'https://idp.example.net', 'thief', 'alice', 'thief there', 0)`).run();
    await follow(browser, await afterCode(), newPassword);
    const own = ["/account", "/account/security"].map(async (page) => (await browser.get(page)).text());
    const html = (await Promise.all(own)).join("");
    for (const each of [`credential_id=${planted.id}`, "thief there", "thief@example.org"])
      expect(html).toContain(each);
    const removals = [...html.matchAll(/href="(\/account\/(?:passkeys|identities)\/[^"]+)"/g)].map(([, path = ""]) =>
      path.replaceAll("&amp;", "&"),
    );
    for (const path of removals) {
      const form = new URLSearchParams(path.split("?")[1]);
      expect(locationOf(await browser.submit(path, Object.fromEntries(form)))).toMatch(/notice=/);
    }
    const form_token = formTokenOf(html);
    await browser.post("/account/address/remove", { form_token, address: "thief@example.org" });
    for (const table of ["webauthn_credentials", "user_identities"]) {
      expect(await authEnv.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first("n"), table).toBe(0);
    }
    const thief = fixtures.browser(mailed.env);
    const page = await codePage("thief@example.org", thief);
    expect(stepOf(await follow(thief, page, { code: mailed.code }))).toBe("recover");
  });
});

describe("NIST SP 800-63B-4 §4.2.2.2: recovery is never weaker than signing in", () => {
  it("the mailbox alone with an app: the app's code is asked for, and the session has two factors", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await afterCode();
    expect(stepOf(page)).toBe("prove-more");
    expect(await (await browser.get(page)).text()).toContain("Your account also has a second factor");
    const before = await hashOf("alice");
    // The page of the next step, opened by its URL, leads back.
    const skipped = page.replace("prove-more", "set-password");
    expect(stepOf(locationOf(await browser.once(skipped)))).toBe("prove-more");
    expect(await hashOf("alice")).toBe(before);
    const next = await follow(browser, page, { code: await app.code() });
    expect(stepOf(next)).toBe("set-password");
    expect(sentToClient(await postOnce(browser, next, newPassword)).code).toBeDefined();
    const essential = { claims: JSON.stringify({ id_token: { acr: { essential: true, values: ["mfa"] } } }) };
    expect(sentToClient(await browser.authorize({ ...essential, prompt: "none" })).code).toBeDefined();
  });

  it("the browser is not remembered, which the page does not offer", async () => {
    browser.env = { ...browser.env, REMEMBER_DEVICE_DAYS: "30" };
    const app = await AuthenticatorApp.register("alice");
    const page = await afterCode();
    expect(await (await browser.get(page)).text()).not.toContain('name="remember"');
    const next = await follow(browser, page, { code: await app.code(), remember: "1" });
    expect([stepOf(next), browser.cookies.has("__Host-op-device")]).toEqual(["set-password", false]);
  });

  it("a recovery code takes the place of the app", async () => {
    await AuthenticatorApp.register("alice");
    const [code = ""] = await registerRecoveryCodes("alice");
    const next = await follow(browser, await afterCode(), { code });
    // A used code is replaced, once the person is signed in.
    const codes = await follow(browser, next, newPassword);
    expect(stepOf(codes)).toBe("recovery-codes");
    expect(sentToClient(await postOnce(browser, codes, { codes: "saved" })).code).toBeDefined();
  });

  it("a person with passkeys and no password needs a recovery code", async () => {
    await SoftwarePasskey.register("alice");
    await authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
    const [code = ""] = await registerRecoveryCodes("alice");
    const page = await afterCode();
    expect(stepOf(page)).toBe("prove-more");
    const codes = await follow(browser, await follow(browser, page, { code }), newPassword);
    expect(stepOf(codes)).toBe("recovery-codes");
  });

  it("and without one, an administrator: no form but the passkey's", async () => {
    await SoftwarePasskey.register("alice");
    await authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
    const page = await afterCode();
    const html = await (await browser.get(page)).text();
    expect(html).toContain("Ask your administrator");
    expect(html).not.toContain('name="code"');
    const skipped = page.replace("prove-more", "set-password");
    expect(stepOf(locationOf(await browser.once(skipped)))).toBe("prove-more");
  });

  it("a person with a password and passkeys, and no app, sets a new password: a password alone signs them in too", async () => {
    await SoftwarePasskey.register("alice");
    expect(stepOf(await afterCode())).toBe("set-password");
  });

  it("a passkey in place of the code signs in, and changes no password", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await AuthenticatorApp.register("alice");
    const page = await afterCode();
    const before = await hashOf("alice");
    const html = await (await browser.get(page)).text();
    const response = await postOnce(browser, page, { credential: await passkey.assert(html) });
    expect(sentToClient(response).code).toBeDefined();
    expect(await hashOf("alice")).toBe(before);
  });

  it("where the deployment requires two factors, the new password is followed by what is missing", async () => {
    mailed.restart({ ...authEnv, MFA: "required" });
    browser.restart(mailed.env);
    await SoftwarePasskey.register("alice");
    const next = await follow(browser, await afterCode(), newPassword);
    expect(stepOf(next)).toBe("prove-more");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
  });
});

describe("a code that is not accepted", () => {
  /** Status and problem of the page after a code. */
  async function problemAfter(page: string, code: string, visitor = browser): Promise<string> {
    const html = await (await visitor.once(await follow(visitor, page, { code }))).text();
    return /id="problem">([^<]+)</.exec(html)?.[1] ?? "";
  }

  it("guessed in parallel: of twenty codes five count, and the right one is too late", async () => {
    const page = await codePage();
    const { wrongCode } = mailed;
    await Promise.all(Array.from({ length: 20 }, () => postOnce(browser, page, { code: wrongCode })));
    expect(await problemAfter(page, mailed.code)).toContain("too many wrong codes");
  });

  it("another code does not reset the count", async () => {
    const page = await codePage();
    for (let attempt = 0; attempt < 4; attempt += 1) await postOnce(browser, page, { code: mailed.wrongCode });
    const again = await follow(browser, page, { again: "1" });
    expect(mailed.mails).toHaveLength(2);
    expect(await problemAfter(again, mailed.wrongCode)).toContain("too many wrong codes");
    expect(await problemAfter(again, mailed.code)).toContain("too many wrong codes");
  });

  /** The text of an element of a page. */
  async function textAt(page: string, id: string): Promise<string> {
    const html = await (await browser.once(page)).text();
    return new RegExp(`id="${id}"[^>]*>([^<]+)<`).exec(html)?.[1]?.trim() ?? "";
  }

  it("another code is said to be sent; where none is, the one before it is said to be valid, and is", async () => {
    let page = await codePage();
    expect(await textAt(page, "sent-another")).toBe("");
    for (let sent = 0; sent < 2; sent += 1) {
      page = await follow(browser, page, { again: "1" });
      expect(await textAt(page, "sent-another")).toContain("another code has been sent to it");
    }
    page = await follow(browser, page, { again: "1" });
    expect(await textAt(page, "problem")).toContain("is still valid");
    expect(stepOf(await follow(browser, page, { code: mailed.code }))).toBe("set-password");
  });

  it("five wrong ones lead to a button to start again", async () => {
    let page = await codePage();
    for (let wrong = 0; wrong < 4; wrong += 1) page = await follow(browser, page, { code: mailed.wrongCode });
    expect(await textAt(page, "restart")).toBe("");
    page = await follow(browser, page, { code: mailed.wrongCode });
    expect(await textAt(page, "restart")).toBe("Start again");
  });

  it("four wrong codes leave room for the right one", async () => {
    const page = await codePage();
    for (let attempt = 0; attempt < 4; attempt += 1) {
      expect(await problemAfter(page, mailed.wrongCode)).toContain("not correct");
    }
    expect(stepOf(await follow(browser, page, { code: mailed.code }))).toBe("set-password");
  });

  it("used in parallel: one request gets on", async () => {
    const page = await codePage();
    const { code } = mailed;
    const responses = await Promise.all(Array.from({ length: 8 }, () => postOnce(browser, page, { code })));
    const steps = responses.map((response) => stepOf(locationOf(response)));
    expect(steps.filter((step) => step === "set-password")).toHaveLength(1);
  });

  it("older than ten minutes", async () => {
    const page = await codePage();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10 * 60_000 + 1_000 });
    expect(await problemAfter(page, mailed.code)).toContain("expired");
  });

  it("in another flow of the same browser, and in another browser", async () => {
    await codePage();
    const { code } = mailed;
    const other = await codePage();
    expect(await problemAfter(other, code)).toContain("not correct");
    const stranger = fixtures.browser(mailed.env);
    expect((await stranger.get(other)).status).toBe(400);
  });

  it("for another purpose", async () => {
    const page = await codePage();
    const form = page.replace("recover", "sign-in");
    const response = await postOnce(browser, form, { username: "alice", password: mailed.code });
    expect(stepOf(locationOf(response))).toBe("sign-in");
  });

  it.each([
    ["suspended", "UPDATE users SET status = 'suspended' WHERE sub = 'alice'"],
    ["without the address", "DELETE FROM user_addresses WHERE sub = 'alice'"],
    ["with another address", "UPDATE user_addresses SET held_until_ms = 9e15 WHERE sub = 'alice'"],
  ])("of a person who is %s since it was mailed", async (_, change) => {
    const page = await codePage();
    await authEnv.DB.prepare(change).run();
    expect(await problemAfter(page, mailed.code)).toContain("Start again");
  });

  it("an old page does not bring back the way to a new password after another change", async () => {
    const page = await afterCode();
    const other = await afterCode();
    expect(sentToClient(await postOnce(browser, other, newPassword)).code).toBeDefined();
    const hash = await hashOf("alice");
    expect(locationOf(await browser.once(page))).toMatch(/^\/flow\/restart/);
    expect(locationOf(await browser.once(other))).toMatch(/^\/flow\/restart/);
    expect(await hashOf("alice")).toBe(hash);
  });

  it("after the address was given up, also when the new password is posted", async () => {
    const page = await afterCode();
    const hash = await hashOf("alice");
    await authEnv.DB.prepare("UPDATE user_addresses SET held_until_ms = 9e15 WHERE sub = 'alice'").run();
    expect(locationOf(await browser.once(page))).toMatch(/^\/flow\/restart/);
    expect(await hashOf("alice")).toBe(hash);
  });
});

describe("an address", () => {
  it("an address of nobody is throttled as others are", async () => {
    const limits = async (address: string) => {
      const statuses: number[] = [];
      for (let mail = 0; mail < 4; mail += 1) {
        const response = await postOnce(browser, await recoverPage(), { address });
        statuses.push((await browser.once(locationOf(response))).status);
      }
      return statuses;
    };
    expect(await limits("alice@example.com")).toEqual([200, 200, 200, 429]);
    expect(await limits("nobod@example.com")).toEqual([200, 200, 200, 429]);
  });

  it("strangers who use up the mails for an address do not keep its owner's browser from it", async () => {
    expect(stepOf(await afterCode())).toBe("set-password");
    const stranger = fixtures.browser(mailed.env);
    for (let mail = 0; mail < 3; mail += 1)
      await postOnce(stranger, await recoverPage(stranger), { address: "alice@example.com" });
    const refused = await follow(stranger, await recoverPage(stranger), { address: "alice@example.com" });
    expect((await stranger.once(refused)).status).toBe(429);
    expect((await browser.once(await codePage())).status).toBe(200);
  });

  it.each([
    "alıce@example.com",
    '"alice"@example.com',
    "alice@[192.0.2.1]",
    "alice",
    "alice@example",
    `${"a".repeat(65)}@example.com`,
  ])("%s is no address, and gets no mail", async (address) => {
    const page = await follow(browser, await recoverPage(), { address });
    const response = await browser.once(page);
    expect([response.status, mailed.mails]).toEqual([400, []]);
    expect(await response.text()).toContain("not an email address");
  });
});

it("the code is in no log line, no event and no URL", async () => {
  const lines = vi.spyOn(console, "log");
  const page = await codePage();
  const { code } = mailed;
  const next = await follow(browser, page, { code });
  expect(stepOf(next)).toBe("set-password");
  const { results } = await authEnv.DB.prepare("SELECT * FROM admin_events").all();
  expect(`${page}${next}${JSON.stringify([lines.mock.calls, results])}`).not.toContain(code);
  lines.mockRestore();
});

it("a signed-in thief of the browser who recovers gets no proof of the previous session", async () => {
  await browser.signInWhole();
  const passkey = await SoftwarePasskey.register("alice");
  expect(passkey).toBeDefined();
  const path = authorizationPath({ prompt: "login" });
  const page = await follow(browser, await recoverPage(browser, path), { address: "alice@example.com" });
  const next = await follow(browser, page, { code: mailed.code });
  const before = browser.cookies.get("__Host-op-session");
  expect(sentToClient(await postOnce(browser, next, newPassword)).code).toBeDefined();
  expect(browser.cookies.get("__Host-op-session")).not.toBe(before);
  expect(password).not.toBe(chosen);
});
