/** **Recovery by mail alone** (`RECOVERY=address`): the way to a new password, who stops it, and for whom there is none. */

import type { MailSenderRpc } from "@edge-op/shared/mail/mail-sender-rpc";
import { stopLinkTo } from "@edge-op/shared/mail/sealed-links";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { blockedMs, usableMs, waitMs } from "../src/session/address-recovery.ts";
import {
  authEnv,
  contextOf,
  countRows,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp, registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { follow, postOnce, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { DB } = authEnv;
const mailed = useMailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

const chosen = "purple monkey dishwasher 42";
const newPassword = { new: chosen, repeat: chosen };
const offered = { ...authEnv, RECOVERY: "address" };

beforeEach(() => {
  mailed.restart(offered);
  browser.restart(mailed.env);
});

const later = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
const textOf = async (page: string, visitor = browser) => (await visitor.once(page)).text();
const withoutPassword = () => DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
const eventsOf = async (like: string) =>
  (await DB.prepare("SELECT action FROM admin_events WHERE action LIKE ?1 ORDER BY seq").bind(like).all()).results.map(
    ({ action }) => action,
  );

/** The page after the mailed code of a forgotten password. */
async function afterCode(visitor = browser, address = "alice@example.com", parameters = {}): Promise<string> {
  const recover = await follow(visitor, locationOf(await visitor.authorize(parameters)), { recover: "1" });
  const code = await follow(visitor, recover, { address });
  return follow(visitor, code, { code: mailed.code });
}

/** The page on which a person asks. */
async function askPage(visitor = browser, address = "alice@example.com"): Promise<string> {
  const page = await follow(visitor, await afterCode(visitor, address), { lost: "all" });
  expect(stepOf(page)).toBe("await-recovery");
  return page;
}

const ask = async (visitor = browser, address = "alice@example.com") =>
  follow(visitor, await askPage(visitor, address), { ask: "1" });

const stopPathOf = () => mailed.notices.findLast(({ kind }) => kind === "recovery-asked")!.undo!.path;

async function stopByLink(path = stopPathOf()): Promise<Response> {
  const visitor = fixtures.browser(mailed.env);
  const token = new URLSearchParams(path.split("?")[1]).get("token")!;
  return visitor.post("/account/recovery/stop", { token });
}

describe("a person who has nothing but a mailbox", () => {
  it("asks, waits a day, and sets a new password: the app and the codes are gone, every session has ended", async () => {
    await AuthenticatorApp.register("alice");
    await registerRecoveryCodes("alice");
    const page = await ask();
    expect(await textOf(page)).toMatch(/<h1>You have asked for it<[\s\S]*Come back between/);
    expect(stepOf(await afterCode())).toBe("prove-more");
    later(waitMs);
    const ready = await afterCode();
    expect(stepOf(ready)).toBe("set-password");
    expect(sentToClient(await postOnce(browser, ready, newPassword)).code).toBeDefined();
    const rows = ["user_totp", "user_recovery_codes", "account_recoveries"].map(countRows);
    expect(await Promise.all(rows)).toEqual([0, 0, 0]);
    const detail = await DB.prepare("SELECT detail FROM admin_events WHERE action = 'password.recovered'").first(
      "detail",
    );
    expect(detail).toBe('{"by":"address"}');
    expect(await eventsOf("account.recovery%")).toEqual(["account.recovery_asked"]);
    // The flow has opened a session, which stops nothing any more; the next sign-in needs no app.
    const other = fixtures.browser(mailed.env);
    expect(sentToClient(await other.signIn(await other.pageOf(), "alice", chosen)).code).toBeDefined();
  });

  it("with a passkey alone keeps it, and whoever has it is told by a sign-in that works", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await withoutPassword();
    await ask();
    later(waitMs);
    await postOnce(browser, await afterCode(), newPassword);
    const owner = fixtures.browser(mailed.env);
    const signIn = await owner.pageOf();
    const html = await (await owner.get(signIn)).text();
    expect(sentToClient(await owner.submit(signIn, { credential: await passkey.assert(html) })).code).toBeDefined();
  });

  it("all addresses are told at once, each with the link that stops it, also the one with which it was asked for", async () => {
    await SoftwarePasskey.register("alice");
    await withoutPassword();
    await ask();
    const [notice] = mailed.notices;
    expect(notice).toMatchObject({
      sub: "alice",
      kind: "recovery-asked",
      evidence: { action: "account.recovery_asked" },
    });
    expect(notice!.undo).toEqual({ path: expect.stringMatching(/^\/account\/recovery\/stop\?token=/) });
    expect(notice!.asker).toBeDefined();
  });

  it("whoever is signed in is told on each page of the account", async () => {
    await browser.signInWhole();
    await AuthenticatorApp.register("alice");
    await ask(fixtures.browser(mailed.env));
    for (const path of ["/account", "/account/security", "/account/applications", "/account/activity"]) {
      expect(await textOf(path), path).toContain(
        "Somebody has asked to recover your account by mail alone, with alice@",
      );
    }
  });

  it("after a password and without the app is led to it, and the password does not stand for more", async () => {
    await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.signIn(await browser.pageOf()));
    expect(stepOf(page)).toBe("prove-more");
    const recover = await follow(browser, page, { lost: "all" });
    expect(await textOf(recover)).toContain('value="alice@example.com"');
    const code = await follow(browser, recover, { address: "alice@example.com" });
    const proven = await follow(browser, code, { code: mailed.code });
    expect(stepOf(proven)).toBe("prove-more");
    expect(stepOf(await follow(browser, proven, { lost: "all" }))).toBe("await-recovery");
  });
});

describe("it is stopped", () => {
  const stopped = async () => DB.prepare("SELECT stopped_at_ms FROM account_recoveries").first("stopped_at_ms");

  beforeEach(async () => {
    await AuthenticatorApp.register("alice");
  });

  it("by the link of the mail, without a sign-in: opening it stops nothing, its button does, once", async () => {
    await ask();
    const visitor = fixtures.browser(mailed.env);
    expect(await textOf(stopPathOf(), visitor)).toContain("Stop the recovery of your account?");
    expect(await stopped()).toBeNull();
    expect(await (await stopByLink()).text()).toContain("The recovery was stopped, and nothing was changed");
    expect(await stopped()).not.toBeNull();
    expect((await stopByLink()).status).toBe(400);
    expect((await visitor.once(stopPathOf())).status).toBe(400);
    expect(await eventsOf("account.recovery%")).toEqual(["account.recovery_asked", "account.recovery_stopped"]);
    await vi.waitFor(() => expect(mailed.notices.map(({ kind }) => kind)).toContain("recovery-stopped"));
    later(waitMs);
    const page = await afterCode();
    expect(stepOf(page)).toBe("prove-more");
    expect(await textOf(await follow(browser, page, { lost: "all" }))).toContain("<h1>The recovery was stopped</h1>");
  });

  it("at the account, by a session of any age", async () => {
    const session = fixtures.browser(mailed.env);
    await DB.prepare("DELETE FROM user_totp").run();
    await session.signInWhole();
    await AuthenticatorApp.register("alice");
    await ask();
    later(60 * 60_000);
    const form_token = formTokenOf(await textOf("/account", session));
    expect(locationOf(await session.post("/account/recovery", { form_token }))).toBe(
      "/account?notice=recovery-stopped",
    );
    const note = "by mail alone, with alice@example.com, was stopped";
    // What was just done is said once; later pages keep the note.
    expect(await textOf("/account", session)).not.toContain(note);
    expect(await textOf("/account", session)).toContain(note);
    expect(await stopped()).not.toBeNull();
  });

  it("by a form of another site it is not, nor by a session that was ended", async () => {
    const session = fixtures.browser(mailed.env);
    await DB.prepare("DELETE FROM user_totp").run();
    await session.signInWhole();
    await AuthenticatorApp.register("alice");
    await ask();
    const form_token = formTokenOf(await textOf("/account", session));
    expect((await session.post("/account/recovery", { form_token: "x" })).status).toBe(403);
    await DB.prepare("DELETE FROM user_sessions").run();
    await session.post("/account/recovery", { form_token });
    expect(await stopped()).toBeNull();
  });

  it("by a whole sign-in, and the person is told; not by a password alone", async () => {
    await DB.prepare("DELETE FROM user_totp").run();
    const app = await AuthenticatorApp.register("alice");
    await ask();
    const owner = fixtures.browser(mailed.env);
    const page = locationOf(await owner.signIn(await owner.pageOf()));
    expect([stepOf(page), await stopped()]).toEqual(["prove-more", null]);
    await follow(owner, page, { code: await app.code() });
    expect(await stopped()).not.toBeNull();
    await vi.waitFor(async () => expect(await eventsOf("%stopped")).toEqual(["account.recovery_stopped"]));
    await vi.waitFor(() => expect(mailed.notices.map(({ kind }) => kind)).toContain("recovery-stopped"));
  });

  it("then nobody asks again for a week, and the link of the first stops no later one", async () => {
    await ask();
    const first = stopPathOf();
    await stopByLink(first);
    later(blockedMs - 60_000);
    const page = await askPage();
    expect(await textOf(page)).not.toContain('id="ask"');
    expect(await textOf(await follow(browser, page, { ask: "1" }))).toContain("The recovery was stopped");
    later(60_000);
    await ask();
    expect((await stopByLink(first)).status).toBe(400);
    expect(await stopped()).toBeNull();
    expect((await stopByLink()).status).toBe(200);
  });

  it.each(["made up", "of another person"])("a link that is %s stops nothing", async (which) => {
    await ask();
    const id = await DB.prepare("SELECT recovery_id FROM account_recoveries").first<string>("recovery_id");
    const other = await stopLinkTo(contextOf().env, { sub: "bob", id: id! });
    const path = which === "made up" ? `/account/recovery/stop?token=${"A".repeat(80)}` : other;
    expect((await stopByLink(path)).status).toBe(400);
    expect(await stopped()).toBeNull();
  });

  it("and used at the same moment: one of them", async () => {
    await ask();
    later(waitMs);
    const page = await afterCode();
    const body = new URLSearchParams({ form_token: formTokenOf(await textOf(page)), ...newPassword }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const use = browser.once(page, { method: "POST", headers, body });
    const [used, stop] = await Promise.all([use, stopByLink()]);
    const isUsed = locationOf(used).startsWith("https://app.example.com/callback");
    expect([isUsed, stop.status]).toEqual(isUsed ? [true, 400] : [false, 200]);
    expect((await countRows("user_totp")) === 0).toBe(isUsed);
  });

  it("between the page for the new password and its form: nothing is set", async () => {
    await ask();
    later(waitMs);
    const page = await afterCode();
    expect((await browser.once(page)).status).toBe(200);
    const form = formTokenOf(await textOf(page));
    await stopByLink();
    const body = new URLSearchParams({ form_token: form, ...newPassword }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await browser.once(page, { method: "POST", headers, body });
    expect(stepOf(locationOf(response))).toBe("prove-more");
    expect(await countRows("user_totp")).toBe(1);
  });
});

describe("it cannot be used", () => {
  beforeEach(async () => {
    await AuthenticatorApp.register("alice");
  });

  it("before a day, nor after its end; a second request does not begin anew", async () => {
    await ask();
    const asked = await DB.prepare("SELECT recovery_id, asked_at_ms FROM account_recoveries").first();
    later(waitMs - 60_000);
    expect(stepOf(await afterCode())).toBe("prove-more");
    await ask();
    expect(await DB.prepare("SELECT recovery_id, asked_at_ms FROM account_recoveries").first()).toEqual(asked);
    expect(await eventsOf("account.recovery_asked")).toHaveLength(1);
    later(usableMs + 120_000);
    const page = await afterCode();
    expect(stepOf(page)).toBe("prove-more");
    expect(await textOf(await follow(browser, page, { lost: "all" }))).toContain('id="ask"');
  });

  it("asked for in two isolates at the same time: one row, one event", async () => {
    const other = fixtures.browser(mailed.env);
    const [first, second] = [await askPage(), await askPage(other)];
    await Promise.all([postOnce(browser, first, { ask: "1" }), postOnce(other, second, { ask: "1" })]);
    expect([await countRows("account_recoveries"), (await eventsOf("%asked")).length]).toEqual([1, 1]);
  });

  it("by the mailbox of another address of the account, or after the address was replaced", async () => {
    await seedAddress("alice", "alice@example.org");
    await ask();
    later(waitMs);
    expect(stepOf(await afterCode(browser, "alice@example.org"))).toBe("prove-more");
    const page = await afterCode();
    expect(stepOf(page)).toBe("set-password");
    await DB.prepare("UPDATE user_addresses SET held_until_ms = 9e15 WHERE address_key = 'alice@example.com'").run();
    const response = await browser.once(page);
    expect(stepOf(locationOf(response))).not.toBe("set-password");
    expect(await countRows("user_totp")).toBe(1);
  });

  it("of an account that was suspended, and a deleted one has none", async () => {
    await ask();
    later(waitMs);
    await DB.prepare("UPDATE users SET status = 'suspended' WHERE sub = 'alice'").run();
    expect(stepOf(await afterCode())).toBe("recover");
    await DB.prepare("DELETE FROM users WHERE sub = 'alice'").run();
    expect(await countRows("account_recoveries")).toBe(0);
  });

  it("asked for with an address that was added within a week, unless it is the oldest", async () => {
    await DB.prepare(
      "INSERT INTO user_addresses (address_key, sub, verified_at_ms) VALUES ('new@example.org', 'alice', ?1)",
    )
      .bind(Date.now() - 60_000)
      .run();
    const page = await follow(browser, await askPage(browser, "new@example.org"), { ask: "1" });
    const response = await browser.once(page);
    expect([response.status, await countRows("account_recoveries")]).toEqual([400, 0]);
    expect(await response.text()).toContain("added less than a week ago cannot be used");
    await DB.prepare("UPDATE user_addresses SET verified_at_ms = ?1 WHERE address_key = 'alice@example.com'")
      .bind(Date.now())
      .run();
    await ask(browser, "new@example.org");
    expect(await countRows("account_recoveries")).toBe(1);
  });

  it("without the mail that tells of it, it is not asked for", async () => {
    const getByName = () => ({ prepare: async () => false }) as unknown as MailSenderRpc;
    const page = await askPage();
    browser.env = { ...browser.env, MAIL_SENDER: { getByName } as never };
    await follow(browser, page, { ask: "1" });
    expect(await countRows("account_recoveries")).toBe(0);
  });
});

describe("there is none", () => {
  const isOffered = async (parameters = {}) =>
    (await textOf(await afterCode(browser, "alice@example.com", parameters))).includes('id="lost-all"');

  beforeEach(async () => {
    await AuthenticatorApp.register("alice");
  });

  it("without the setting: neither the button, nor its form, nor the use of an earlier one", async () => {
    await ask();
    later(waitMs);
    mailed.restart(authEnv);
    browser.restart(mailed.env);
    expect(await isOffered()).toBe(false);
    expect(stepOf(await follow(browser, await afterCode(), { lost: "all" }))).toBe("prove-more");
  });

  it("where every sign-in needs two factors: the settings exclude each other", async () => {
    mailed.restart({ ...offered, MFA: "required" });
    browser.restart(mailed.env);
    expect((await browser.authorize()).status).toBe(500);
  });

  const essential = JSON.stringify({ id_token: { acr: { essential: true, values: ["mfa"] } } });

  it.each<[string, () => Promise<unknown>, object]>([
    ["of a person with a role that needs two factors", () => role("staff"), { parameters: {}, MFA_ROLES: "staff" }],
    ["of a member of an organisation that requires two factors", strictOrganization, {}],
    ["of an administrator", () => role("admin", "admin:users"), {}],
    ["for a request that requires two factors", async () => {}, { parameters: { claims: essential } }],
    [
      "for a client that requires two factors",
      () => DB.prepare("UPDATE clients SET metadata = json_set(metadata, '$.require_mfa', json('true'))").run(),
      {},
    ],
  ])("%s", async (_, given, { parameters, ...settings }: { parameters?: object }) => {
    await given();
    mailed.restart({ ...offered, ...settings });
    browser.restart(mailed.env);
    expect(await isOffered(parameters)).toBe(false);
  });

  async function strictOrganization(): Promise<void> {
    await DB.batch([
      DB.prepare(
        "INSERT INTO organizations VALUES ('acme', 'active', '{\"name\":\"Acme\",\"require_mfa\":true}', 0, 0)",
      ),
      DB.prepare("INSERT INTO memberships VALUES ('alice', 'acme', 'active', 'administrator', 0, 0)"),
    ]);
  }

  async function role(name: string, permission?: string): Promise<void> {
    await DB.prepare("INSERT INTO user_roles VALUES ('alice', ?1)").bind(name).run();
    if (permission === undefined) return;
    await DB.prepare("INSERT INTO role_permissions VALUES (?1, ?2)").bind(name, permission).run();
  }

  it("for a person who needs no more than the mailbox", async () => {
    await DB.prepare("DELETE FROM user_totp").run();
    expect(stepOf(await afterCode())).toBe("set-password");
  });
});
