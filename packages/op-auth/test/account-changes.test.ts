import { scrypt } from "node:crypto";
import { encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { hashPassword, isOutdatedHash, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { savePassword } from "@edge-op/shared/users/credentials";
import { describe, expect, it, vi } from "vitest";
import type { FormFields } from "../../../test/fixtures/call.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  authEnv,
  type Browser,
  contextOf,
  countRows,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { MailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { fixtures, browser } = useDeployment();

async function signInToAccount(visitor = browser, username = "alice", secret = password): Promise<void> {
  await visitor.signIn(locationOf(await visitor.get("/account")), username, secret);
}

/** The only form of a page: its action and its fields. */
async function formOf(path: string, visitor = browser): Promise<{ action: string; fields: Record<string, string> }> {
  const html = await (await visitor.get(path)).text();
  const action = /<form method="post" action="([^"]+)"/.exec(html)![1]!;
  const inputs = [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return { action, fields: Object.fromEntries(inputs.map(([, name, value]) => [name!, value!])) };
}

describe("a removal is confirmed first, without a script", () => {
  async function expectConfirmed(path: string, title: string, table: string): Promise<void> {
    const before = (await countRows(table))!;
    const area = table === "webauthn_credentials" ? "/account/security" : "/account/applications";
    const account = await (await browser.get(area)).text();
    expect(account).toContain(path.replaceAll("&", "&amp;"));
    const page = await browser.get(path);
    expect(page.status).toBe(200);
    const html = await page.text();
    expect(html).toContain(`<h1>${title}</h1>`);
    expect(html).toContain(`href="${area}" id="cancel"`);
    expect(await countRows(table)).toBe(before);
    const { action, fields } = await formOf(path);
    expect((await browser.post(action, { ...fields, form_token: "x" })).status).toBe(403);
    expect(await countRows(table)).toBe(before);
    expect(locationOf(await browser.post(action, fields))).toMatch(/^\/account/);
    expect(await countRows(table)).toBe(before - 1);
  }

  it("an application's access", async () => {
    await browser.signInWhole();
    await expectConfirmed("/account/consents/remove?client_id=app", "Remove access?", "consents");
  });

  it("a passkey", async () => {
    const { id } = await SoftwarePasskey.register("alice");
    await signInToAccount();
    const path = `/account/passkeys/remove?credential_id=${id}`;
    await expectConfirmed(path, "Remove this passkey?", "webauthn_credentials");
  });

  it("a passkey, on a stale session: after a new sign-in, which returns to the confirmation", async () => {
    const { id } = await SoftwarePasskey.register("alice");
    await signInToAccount();
    vi.useFakeTimers({ now: Date.now() + 11 * 60_000, toFake: ["Date"] });
    const path = `/account/passkeys/remove?credential_id=${id}`;
    const page = locationOf(await browser.get(path));
    expect(page).toMatch(/\/sign-in\?f=/);
    expect(await (await browser.get(page)).text()).toContain("<h1>Confirm it is you</h1>");
    expect(locationOf(await browser.signIn(page))).toBe(path);
    expect(await (await browser.get(path)).text()).toContain("Remove this passkey?");
    expect(await countRows("webauthn_credentials")).toBe(1);
  });

  it("a session elsewhere", async () => {
    await signInToAccount(fixtures.browser());
    const other = await authEnv.DB.prepare("SELECT sid FROM user_sessions").first<string>("sid");
    await signInToAccount();
    await expectConfirmed(`/account/sessions/end?sid=${other}`, "Sign out this device?", "user_sessions");
  });

  it("signing out everywhere else ends every session except this one", async () => {
    const others = [fixtures.browser(), fixtures.browser()];
    for (const other of others) await other.signInWhole();
    const bob = fixtures.browser();
    await signInToAccount(bob, "bob");
    await browser.signInWhole();
    const { action, fields } = await formOf("/account/sessions/end-others");
    expect(await countRows("user_sessions")).toBe(4);
    expect(locationOf(await browser.post(action, fields))).toBe("/account/applications?notice=others-ended");
    for (const other of others) {
      expect(sentToClient(await other.authorize({ prompt: "none" })).error).toBe("login_required");
    }
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect((await bob.get("/account")).status).toBe(200);
    expect(await (await browser.get("/account/applications")).text()).not.toContain('id="end-others"');
  });

  it.each([
    "/account/consents/remove?client_id=nothing",
    "/account/consents/remove",
    "/account/passkeys/remove?credential_id=nothing",
    "/account/sessions/end?sid=nothing",
  ])("%s: redirects to the account page if there is nothing to remove", async (path) => {
    await signInToAccount();
    expect(locationOf(await browser.get(path))).toMatch(/^\/account\/(applications|security)$/);
  });

  it("another user's session or passkey is not shown", async () => {
    const { id } = await SoftwarePasskey.register("bob");
    await signInToAccount(fixtures.browser(), "bob");
    const sid = await authEnv.DB.prepare("SELECT sid FROM user_sessions").first<string>("sid");
    await signInToAccount();
    expect(locationOf(await browser.get(`/account/sessions/end?sid=${sid}`))).toBe("/account/applications");
    expect(locationOf(await browser.get(`/account/passkeys/remove?credential_id=${id}`))).toBe("/account/security");
  });

  it("returns to the page after a sign-in", async () => {
    await browser.signInWhole();
    const path = "/account/consents/remove?client_id=app";
    browser.cookies.delete("__Host-op-session");
    const page = locationOf(await browser.get(path));
    expect(page).toMatch(/\/sign-in\?f=/);
    expect(locationOf(await browser.signIn(page))).toBe(path);
  });
});

describe("names of passkeys", () => {
  async function rename(name: string, id: string): Promise<string> {
    const form_token = formTokenOf(await (await browser.get("/account/security")).text());
    return locationOf(await browser.post("/account/passkeys/rename", { form_token, credential_id: id, name }));
  }

  const storedName = () => authEnv.DB.prepare("SELECT name FROM webauthn_credentials").first<string>("name");

  it("a passkey can be renamed, and the new name is shown as text", async () => {
    const { id } = await SoftwarePasskey.register("alice");
    await signInToAccount();
    expect(await rename("  Blue <key>  ", id)).toBe("/account/security?notice=passkey-renamed");
    expect(await storedName()).toBe("Blue <key>");
    expect(await (await browser.get("/account/security?notice=passkey-renamed")).text()).toContain("Blue &lt;key&gt;");
  });

  it.each([
    ["no name", ""],
    ["white space", "   "],
    ["65 characters", "x".repeat(65)],
    ["a control character", "a\u0007b"],
    ["two lines", "a\nb"],
  ])("%s is refused and changes nothing", async (_, name) => {
    const { id } = await SoftwarePasskey.register("alice");
    const before = await storedName();
    await signInToAccount();
    expect(await rename(name, id)).toBe("/account/security?notice=passkey-not-renamed");
    expect(await storedName()).toBe(before);
  });

  it("another user's passkey is not renamed", async () => {
    const { id } = await SoftwarePasskey.register("bob");
    const before = await storedName();
    await signInToAccount();
    expect(await rename("Mine", id)).toBe("/account/security?notice=passkey-not-renamed");
    expect(await storedName()).toBe(before);
  });
});

describe("the name of a person", () => {
  const nameOf = () =>
    authEnv.DB.prepare("SELECT claims ->> 'name' AS name FROM users WHERE sub = 'alice'").first("name");

  async function changeTo(name: string, visitor: Browser): Promise<string> {
    await visitor.signIn(locationOf(await visitor.get("/account")));
    const form_token = formTokenOf(await (await visitor.get("/account/security")).text());
    return locationOf(await visitor.post("/account/name", { form_token, name }));
  }

  it("is changed where people choose it; applications get the new one, and sessions stay", async () => {
    const visitor = fixtures.browser(new MailedCodes({ ...authEnv, SIGN_UP: "open" }).env);
    expect(await (await visitor.get(locationOf(await visitor.get("/account")))).text()).not.toContain('id="save-name"');
    expect(await changeTo("  Ali <b>Example</b> ", visitor)).toBe("/account?notice=name-changed");
    const html = await (await visitor.get("/account?notice=name-changed")).text();
    expect(html).toContain("Your name was changed.");
    expect(html).toContain("Ali &lt;b&gt;Example&lt;/b&gt;");
    expect(await nameOf()).toBe("Ali <b>Example</b>");
  });

  it.each([
    ["no name", "  ", "open"],
    ["two lines", "a\nb", "open"],
    ["too long", "x".repeat(101), "open"],
    ["of people whom administrators name", "Ali", "off"],
  ])("is not changed: %s", async (_, name, SIGN_UP) => {
    const visitor = fixtures.browser(new MailedCodes({ ...authEnv, SIGN_UP } as AuthEnv).env);
    expect(await changeTo(name, visitor)).toBe("/account?notice=name-not-changed");
    expect(await nameOf()).toBe("Alice Example");
  });
});

describe("the language of a person", () => {
  const localeOf = () =>
    authEnv.DB.prepare("SELECT claims ->> 'locale' AS locale FROM users WHERE sub = 'alice'").first("locale");

  async function changeTo(language: string, visitor: Browser): Promise<string> {
    await visitor.signIn(locationOf(await visitor.get("/account")));
    const form_token = formTokenOf(await (await visitor.get("/account")).text());
    return locationOf(await visitor.post("/account/language", { form_token, language }));
  }

  it("is that of mails, and of the account pages in each browser in which no other one was chosen", async () => {
    const visitor = fixtures.browser();
    expect(await changeTo("de", visitor)).toBe("/account?notice=language-changed");
    expect(await localeOf()).toBe("de");
    expect(await (await visitor.get("/account")).text()).toContain("Ihre Sprache wurde geändert.");
    const elsewhere = fixtures.browser();
    const signIn = locationOf(await elsewhere.get("/account"));
    expect(await (await elsewhere.get(signIn)).text()).toContain('lang="en"');
    await elsewhere.signIn(signIn);
    const languageAt = async (path: string) =>
      /<html lang="([^"]+)"/.exec(await (await elsewhere.get(path)).text())?.[1];
    for (const path of ["/account", "/account/security", "/account/applications", "/account/activity"]) {
      expect([path, await languageAt(path)]).toEqual([path, "de"]);
    }
    expect(await languageAt("/account?ui_locales=fr")).toBe("fr");
    elsewhere.cookies.set("__Host-op-language", "es");
    expect(await languageAt("/account?ui_locales=fr")).toBe("es");
  });

  it.each(["", "xx", "de-invented"])("is not changed to “%s”", async (language) => {
    expect(await changeTo(language, fixtures.browser())).toMatch("not-changed");
    expect(await localeOf()).toBe(null);
  });
});

describe("changing the password", () => {
  const chosen = "a new and longer password";

  const chosenAs = (text: string) => ({ new: text, repeat: text });

  async function change(fields: FormFields, visitor = browser): Promise<Response> {
    const form_token = formTokenOf(await (await visitor.get("/account/password")).text());
    return visitor.post("/account/password", { form_token, current: password, new: chosen, repeat: chosen, ...fields });
  }

  async function canSignIn(secret: string): Promise<boolean> {
    const visitor = fixtures.browser();
    const response = await visitor.signIn(locationOf(await visitor.get("/account")), "alice", secret);
    return !(await response.text()).includes("do not match");
  }

  it("W3C change-password-url: returns to the form after a sign-in", async () => {
    const page = locationOf(await browser.get("/account/password"));
    expect(locationOf(await browser.signIn(page))).toBe("/account/password");
    const html = await (await browser.get("/account/password")).text();
    expect(html).toContain('autocomplete="current-password"');
    expect(html.match(/autocomplete="new-password"/g)).toHaveLength(2);
    expect(html).toContain('value="alice" autocomplete="username" readonly');
  });

  it("ends every other session and every grant, keeps this session, and the old password stops working", async () => {
    const elsewhere = fixtures.browser();
    await elsewhere.signInWhole({ scope: "openid offline_access", prompt: "consent" });
    await browser.signInWhole();
    const before = browser.cookies.get("__Host-op-session");
    expect(await countRows("user_grants")).toBe(1);
    expect(locationOf(await change({}))).toBe("/account/security?notice=password-changed");
    expect(browser.cookies.get("__Host-op-session")).not.toBe(before);
    const page = await browser.get("/account/security?notice=password-changed");
    expect(await page.text()).toContain("Your password was changed.");
    // An ended grant is not listed as an access any more.
    expect([await countRows("user_sessions"), await countRows("user_grants")]).toEqual([1, 0]);
    expect(locationOf(await elsewhere.get("/account"))).toMatch(/\/sign-in\?f=/);
    const namespace = authEnv.TOKEN_REVOCATION_STORE;
    for (let shard = 0; shard < 8; shard += 1) {
      const stub = namespace.get(namespace.idFromName(`revocation:g1:wnam:${shard}`));
      expect((await stub.check([], ["nb:sub:alice"], -1)).cutOffs).toHaveLength(1);
    }
    expect(await canSignIn(password)).toBe(false);
    expect(await canSignIn(chosen)).toBe(true);
  });

  it.each([
    ["a wrong current password", { current: "wrong" }, "The current password is not correct."],
    ["no current password", { current: "" }, "The current password is not correct."],
    ["a new one of 14 characters", chosenAs("fourteen chars"), "must have at least 15 characters"],
    ["a new one of 257 characters", chosenAs("x".repeat(257)), "must have at most 256 characters"],
    ["a common new one", chosenAs("passwordpassword"), "is too common"],
    ["a new one of spaces", chosenAs(" ".repeat(15)), "repeated or consecutive characters"],
    ["a new one of the own username", chosenAs("alice alice alice"), "mostly of your name"],
    ["a new one of the name of the service", chosenAs("op.example.com 1"), "the name of this service"],
    ["a new one that is not repeated", { repeat: [] }, "The two new passwords are not the same."],
    ["two different new ones", { repeat: `${chosen}x` }, "The two new passwords are not the same."],
  ])("%s is refused and changes nothing", async (_, fields, text) => {
    await signInToAccount();
    const response = await change(fields);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(text);
    expect(await canSignIn(password)).toBe(true);
  });

  it("guesses of the current password are throttled", async () => {
    await signInToAccount();
    const form_token = formTokenOf(await (await browser.get("/account/password")).text());
    const fields = { form_token, current: "wrong", new: chosen, repeat: chosen };
    const guesses = Array.from({ length: 12 }, () => browser.post("/account/password", fields));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 400)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  });

  it("RFC 9700 §4.7: a form on another site cannot change it", async () => {
    await signInToAccount();
    expect((await change({ form_token: "AAAAAAAAAAAAAAAAAAAAAA" })).status).toBe(403);
    expect(await canSignIn(password)).toBe(true);
  });

  it("if a Worker fails after the commit, ControlPlane can recover the cut-off", async () => {
    const intents: unknown[] = [];
    const plane = authEnv.CONTROL_PLANE.getByName(controlPlaneName);
    const dying = {
      begin: (...intent: Parameters<ControlPlaneRpc["begin"]>) => {
        intents.push(intent[1]);
        return plane.begin(...intent);
      },
      publish: () => Promise.reject(new Error("the Worker died")),
    };
    const CONTROL_PLANE = Object.create(authEnv.CONTROL_PLANE, {
      getByName: { value: () => dying },
    }) as AuthEnv["CONTROL_PLANE"];
    const visitor = fixtures.browser({ ...authEnv, CONTROL_PLANE });
    await signInToAccount(visitor);
    expect((await change({}, visitor)).status).toBe(503);
    expect(await canSignIn(password)).toBe(false);
    expect(await canSignIn(chosen)).toBe(true);
    // The two values that `findCommitted` of op-state compares: the durable intent and D1's change log.
    const row = await authEnv.DB.prepare(
      "SELECT kind, id, at_ms FROM control_changes ORDER BY version DESC LIMIT 1",
    ).first<{ kind: string; id: string; at_ms: number }>();
    expect(row).toMatchObject({ kind: "user", id: "alice" });
    expect(intents).toEqual([{ kind: "sub", id: "alice", actor: "alice", changedAtMs: row?.at_ms }]);
  });

  it("the current password is not required right after a sign-in by passkey, but ten minutes later it is", async () => {
    await signInByPasskey(await SoftwarePasskey.register("alice"));
    expect(await (await browser.get("/account/password")).text()).not.toContain('autocomplete="current-password"');
    vi.useFakeTimers({ now: Date.now() + 11 * 60_000, toFake: ["Date"] });
    expect(await (await browser.get("/account/password")).text()).toContain('autocomplete="current-password"');
    expect((await change({ current: "" })).status).toBe(400);
    vi.useRealTimers();
    expect(locationOf(await change({ current: "" }))).toBe("/account/security?notice=password-changed");
    expect(await canSignIn(chosen)).toBe(true);
  });

  it("a password that is shorter than the minimum for new ones works until it is changed", async () => {
    const short = "password";
    await savePassword(authEnv.DB, "alice", await hashPassword(short), 1).run();
    await signInToAccount(browser, "alice", short);
    expect((await change({ current: short, ...chosenAs(short) })).status).toBe(400);
    expect(await canSignIn(short)).toBe(true);
    expect(locationOf(await change({ current: short }))).toBe("/account/security?notice=password-changed");
  });

  it("PASSWORD_MIN is the minimum of the page and the form", async () => {
    const visitor = fixtures.browser({ ...authEnv, PASSWORD_MIN: "20" });
    await signInToAccount(visitor);
    const html = await (await visitor.get("/account/password")).text();
    expect(html).toContain("At least 20 characters");
    expect(html.match(/minlength="20"/g)).toHaveLength(2);
    expect(await (await change(chosenAs("nineteen characters"), visitor)).text()).toContain("at least 20 characters");
    expect((await change(chosenAs("exactly twenty chars"), visitor)).status).toBe(303);
  });

  it("a person without a password sets one after a recent sign-in by passkey, and the hash of a guess is not compared", async () => {
    await signInByPasskey(await SoftwarePasskey.register("alice"));
    await authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
    const html = await (await browser.get("/account/password")).text();
    expect(html).toContain("<h1>Set a password</h1>");
    expect(html).not.toContain('autocomplete="current-password"');
    expect(locationOf(await change({ current: "" }))).toBe("/account/security?notice=password-changed");
    expect(await canSignIn(chosen)).toBe(true);
  });

  it("NIST SP 800-63B-4 §4.1.2.1: a fresh session by any other method than a passkey requires the current password, and cannot set a first one", async () => {
    const context = contextOf();
    const lifetime = { idleMs: 60_000, absoluteMs: 60_000 };
    const mailedCode = { method: "mailedCode" as ProofMethod, sub: "alice", atMs: Date.now(), controlVersion: 0 };
    const signIn = { sub: "alice", proofs: [mailedCode], version: 0 };
    const prepared = await fixtures.isolate.sessions.prepare(context, signIn, lifetime);
    await fixtures.isolate.sessions.open(context, prepared, lifetime);
    browser.cookies.set("__Host-op-session", prepared.id);
    expect(await (await browser.get("/account/password")).text()).toContain('autocomplete="current-password"');
    expect(await (await change({ current: "" })).text()).toContain("The current password is not correct.");
    expect(await canSignIn(password)).toBe(true);
    await authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
    expect(locationOf(await browser.get("/account/password"))).toMatch(/sign-in\?f=/);
  });
});

async function signInByPasskey(passkey: SoftwarePasskey): Promise<void> {
  const page = locationOf(await browser.get("/account"));
  const html = await (await browser.get(page)).text();
  await browser.post(page, { form_token: formTokenOf(html), credential: await passkey.assert(html) });
}

describe("NIST SP 800-63B-4 §4.1.2.1: adding a passkey", () => {
  const isOffered = async () =>
    (await (await browser.get("/account/security")).text()).includes('data-passkey="create"');

  async function add(): Promise<string> {
    const html = await (await browser.get("/account/security")).text();
    const ceremony = /name="ceremony" value="([^"]*)"/.exec(html)![1]!;
    const fields = { form_token: formTokenOf(html), ceremony, credential: '{"id":"AAAA","response":{}}' };
    return locationOf(await browser.post("/account/passkeys", fields));
  }

  it("a person without passkeys adds the first after a recent sign-in by password", async () => {
    await signInToAccount();
    expect(await isOffered()).toBe(true);
    // The response of the authenticator is parsed but not valid.
    expect(await add()).toBe("/account/security?notice=passkey-failed");
  });

  it("a person with a passkey must sign in with it first, however recent the sign-in by password", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await signInToAccount();
    expect(await isOffered()).toBe(false);
    const page = await add();
    expect(page).toMatch(/sign-in\?f=/);
    const html = await (await browser.get(page)).text();
    expect(html).not.toContain('name="password"');
    const credential = await passkey.assert(html);
    expect(locationOf(await browser.post(page, { form_token: formTokenOf(html), credential }))).toBe(
      "/account/security",
    );
    expect(await isOffered()).toBe(true);
    expect(await add()).toBe("/account/security?notice=passkey-failed");
  });
});

/** A hash at a quarter of the current cost. */
function cheapHash(secret: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(16));
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, 32, { N: 2 ** 12, r: 8, p: 5, maxmem: 2 ** 24 }, (error, key) => {
      if (error === null)
        resolve(`$scrypt$ln=12,r=8,p=5$${encodeBase64Url(salt)}$${encodeBase64Url(new Uint8Array(key))}`);
      else reject(error);
    });
  });
}

describe("stored password hashes", () => {
  it("OWASP Password Storage: a hash with another cost signs its user in, and is replaced by one with the current cost", async () => {
    const old = await cheapHash(password);
    await savePassword(authEnv.DB, "alice", old, 1).run();
    const hash = () => authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = 'alice'").first<string>("hash");
    await signInToAccount(browser, "alice", "not the password");
    expect(await hash()).toBe(old);
    await signInToAccount();
    await vi.waitFor(async () => expect(isOutdatedHash((await hash())!)).toBe(false), { timeout: 5000 });
    await signInToAccount(fixtures.browser());
  });

  it.each([
    ["bcrypt", "$2b$04$NucjkdKw2ruJKARj8QQuI.3uaHJtr3cChf9y2xU8Kn187bqI7klk2"],
    ["argon2id", "$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$MjZP1+1U9JUbDWvDvtLyEsZiNXOKEUxfi6O2oe46uxA"],
    ["PBKDF2", "$pbkdf2-sha256$i=1$MDEyMzQ1Njc4OWFiY2RlZg$Yy2wRoe+n2N8tqLlzlMT/6LDwe+Z8g08lxr+xEewy+c"],
  ])("an imported hash of %s signs its user in, and is replaced", async (_, imported) => {
    await savePassword(authEnv.DB, "alice", imported, 1).run();
    const hash = () => authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = 'alice'").first<string>("hash");
    await signInToAccount(browser, "alice", "correct horsf");
    expect(await hash()).toBe(imported);
    await signInToAccount(browser, "alice", "correct horse");
    await vi.waitFor(async () => expect(isOutdatedHash((await hash())!)).toBe(false), { timeout: 5000 });
    expect(await verifyPassword("correct horse", (await hash())!)).toBe(true);
  });

  it("a hash with an older cost is replaced, but never over a password that was changed concurrently", async () => {
    const { replacePasswordHash } = await import("@edge-op/shared/users/credentials");
    const [known, changed] = await Promise.all([hashPassword(password), hashPassword("another one")]);
    await savePassword(authEnv.DB, "alice", changed, 1).run();
    await replacePasswordHash(authEnv.DB, "alice", { known, renewed: "never" });
    const hash = () => authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = 'alice'").first<string>("hash");
    expect(await hash()).toBe(changed);
    await replacePasswordHash(authEnv.DB, "alice", { known: changed, renewed: known });
    expect(await hash()).toBe(known);
  });
});
