/** **Hooks at sign-in, attacked**: what a verdict changes, what it cannot, and what a stranger learns of passwords that another system has. */

import type { HooksWorker, SignInVerdict } from "@edge-op/shared/hooks/call-hook";
import { savePassword } from "@edge-op/shared/users/credentials";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
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
import { AuthenticatorApp, codeOfKey } from "./fixtures/authenticator-app.ts";
import { follow, MailedCodes, postOnce } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { fixtures } = useDeployment({ skip_consent: true });

function withHooks(hooks: Partial<HooksWorker>, settings: Partial<AuthEnv> = {}): Browser {
  const ENABLED_HOOKS = Object.keys(hooks).join(" ");
  return fixtures.browser({ ...authEnv, ENABLED_HOOKS, HOOKS: hooks as HooksWorker, ...settings });
}

const essentialMfa = { claims: JSON.stringify({ id_token: { acr: { essential: true, values: ["mfa"] } } }) };

const hasSession = (browser: Browser) => browser.cookies.has("__Host-op-session");

/** Posts the sign-in form of a page, and returns the redirect that follows. */
async function postPassword(browser: Browser, page: string, user = "alice", secret = password): Promise<Response> {
  const form_token = formTokenOf(await (await browser.get(page)).text());
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams({ form_token, username: user, password: secret }).toString();
  return browser.once(page, { method: "POST", headers, body });
}

async function byPassword(
  browser: Browser,
  parameters: Record<string, string> = {},
  user = "alice",
): Promise<Response> {
  return postPassword(browser, locationOf(await browser.authorize(parameters)), user);
}

describe("beforeSignIn", () => {
  it("sees who signs in where and how, once, and changes nothing if it returns nothing", async () => {
    const beforeSignIn = vi.fn(async () => undefined);
    const browser = withHooks({ beforeSignIn });
    expect(sentToClient(await byPassword(browser)).code).toBeDefined();
    expect(beforeSignIn.mock.calls).toEqual([
      [
        expect.objectContaining({
          user: expect.objectContaining({ sub: "alice", username: "alice", roles: [], groups: [] }) as object,
          client: { client_id: "app", client_name: "Example App" },
          ...{ acr: "urn:edge-op:acr:password", amr: ["pwd"] },
        }),
      ],
    ]);
    // A session is no sign-in.
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect(beforeSignIn).toHaveBeenCalledTimes(1);
  });

  it("is not asked before the proofs are complete, nor about a wrong password", async () => {
    const app = await AuthenticatorApp.register("alice");
    const beforeSignIn = vi.fn(async () => undefined);
    const browser = withHooks({ beforeSignIn });
    const page = locationOf(await byPassword(browser));
    expect(stepOf(page)).toBe("prove-more");
    await byPassword(withHooks({ beforeSignIn }), {}, "nobody");
    expect(beforeSignIn).not.toHaveBeenCalled();
    expect(sentToClient(await browser.submit(page, { code: await app.code() })).code).toBeDefined();
    expect(beforeSignIn).toHaveBeenCalledWith(expect.objectContaining({ acr: "mfa" }));
  });

  it("is asked before a step stores anything: a refusal leaves no app", async () => {
    const verdicts: (SignInVerdict | undefined)[] = [];
    const beforeSignIn = vi.fn<NonNullable<HooksWorker["beforeSignIn"]>>(async () => verdicts.shift());
    const browser = withHooks({ beforeSignIn });
    // When the page would be shown, and when its form is posted.
    verdicts.push({ refuse: true });
    expect(sentToClient(await byPassword(browser, essentialMfa))).toMatchObject({ error: "access_denied" });
    const enrol = locationOf(await byPassword(browser, essentialMfa));
    expect(stepOf(enrol)).toBe("enrol");
    const [, key = ""] = /id="key">([^<]+)</.exec(await (await browser.get(enrol)).text())!;
    verdicts.push({ refuse: true });
    const code = await codeOfKey(key);
    expect(sentToClient(await browser.submit(enrol, { code }))).toMatchObject({ error: "access_denied" });
    // A passkey is no step after this one.
    verdicts.push({ require: "phr" });
    expect(stepOf(locationOf(await browser.submit(enrol, { code })))).toBe("sign-in");
    expect(await countRows("user_totp")).toBe(0);
    expect(new Set(beforeSignIn.mock.calls.map(([{ acr }]) => acr))).toEqual(new Set(["urn:edge-op:acr:password"]));
  });

  it("a refusal keeps no account that its person has asked to delete", async () => {
    await authEnv.DB.prepare("UPDATE users SET deletes_at_ms = 9e15 WHERE sub = 'alice'").run();
    const beforeSignIn = vi.fn(async () => undefined as SignInVerdict | undefined);
    const browser = withHooks({ beforeSignIn });
    const restore = locationOf(await byPassword(browser));
    expect(stepOf(restore)).toBe("restore");
    beforeSignIn.mockResolvedValueOnce({ refuse: true });
    expect(sentToClient(await browser.submit(restore, { decision: "keep" }))).toMatchObject({ error: "access_denied" });
    const deletes = "SELECT deletes_at_ms FROM users WHERE sub = 'alice'";
    expect(await authEnv.DB.prepare(deletes).first("deletes_at_ms")).toBe(9e15);
  });

  it("is asked about who has forgotten the password before the new one is stored", async () => {
    const beforeSignIn = vi.fn(async () => undefined as SignInVerdict | undefined);
    const ENABLED_HOOKS = "beforeSignIn";
    const mailed = new MailedCodes({ ...authEnv, ENABLED_HOOKS, HOOKS: { beforeSignIn } as unknown as HooksWorker });
    const browser = fixtures.browser(mailed.env);
    const hash = () => authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = 'alice'").first<string>("hash");
    const before = await hash();
    const typed = await follow(browser, locationOf(await browser.authorize()), { recover: "1" });
    const sent = await follow(browser, typed, { address: "alice@example.com" });
    const page = await follow(browser, sent, { code: mailed.code });
    expect(stepOf(page)).toBe("set-password");
    const chosen = { new: "purple monkey dishwasher 42", repeat: "purple monkey dishwasher 42" };
    beforeSignIn.mockResolvedValueOnce({ refuse: true });
    expect(sentToClient(await postOnce(browser, page, chosen))).toMatchObject({ error: "access_denied" });
    expect(await hash()).toBe(before);
    // A second factor is asked for in its turn.
    beforeSignIn.mockResolvedValue({ require: "mfa" });
    const again = await follow(browser, page, chosen);
    expect([stepOf(again), await hash()]).toEqual(["set-password", before]);
    expect(stepOf(await follow(browser, again, chosen))).toBe("enrol");
    expect(await hash()).not.toBe(before);
  });

  it("`refuse` is `access_denied`, without a session, at every attempt and for the account page too", async () => {
    const browser = withHooks({ beforeSignIn: async () => ({ refuse: true }) });
    expect(sentToClient(await byPassword(browser))).toMatchObject({ error: "access_denied" });
    expect(hasSession(browser)).toBe(false);
    const response = await postPassword(browser, locationOf(await browser.get("/account")));
    expect(response.status).toBe(400);
    expect(hasSession(browser)).toBe(false);
  });

  it("`require` `mfa` asks whoever has a second factor; a page of before the demand leads to it again", async () => {
    const app = await AuthenticatorApp.register("alice");
    const isAsked = { is: false };
    const beforeSignIn = async () => (isAsked.is ? { require: "mfa" } : undefined);
    const browser = withHooks({ beforeSignIn }, { REMEMBER_DEVICE_DAYS: "30" });
    const first = locationOf(await byPassword(browser));
    expect(sentToClient(await browser.submit(first, { code: await app.code(), remember: "1" })).code).toBeDefined();
    isAsked.is = true;
    const start = locationOf(await browser.authorize({ prompt: "login" }));
    for (const _ of ["first", "again from the same page"]) {
      expect(stepOf(locationOf(await postPassword(browser, start)))).toBe("prove-more");
    }
  });

  it("`require` `phr` begins anew with passkeys alone, and tells the client the `acr` that it asked for", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    const browser = withHooks({ beforeSignIn: async () => ({ require: "phr" }) });
    const page = locationOf(await byPassword(browser));
    expect(stepOf(page)).toBe("sign-in");
    expect(hasSession(browser)).toBe(false);
    const html = await (await browser.get(page)).text();
    expect(html).not.toContain('name="password"');
    const signedIn = await browser.post(page, {
      form_token: formTokenOf(html),
      credential: await passkey.assert(html),
    });
    expect(sentToClient(signedIn).code).toBeDefined();
  });

  it("`require` `phr` for a client that requires a password is refused, not lowered", async () => {
    const browser = withHooks({ beforeSignIn: async () => ({ require: "phr" }) });
    const acr = { essential: true, values: ["urn:edge-op:acr:password"] };
    const response = await byPassword(browser, { claims: JSON.stringify({ id_token: { acr } }) });
    expect(sentToClient(response)).toMatchObject({ error: "unmet_authentication_requirements" });
    expect(hasSession(browser)).toBe(false);
  });

  it.each([
    ["throws", async () => Promise.reject(new Error("down"))],
    ["answers nonsense", async () => ({ refuse: "no", sub: "bob" })],
  ])("that %s is 503 without a session; with =open the sign-in goes on", async (_, beforeSignIn) => {
    const closed = withHooks({ beforeSignIn });
    expect((await byPassword(closed)).status).toBe(503);
    expect(hasSession(closed)).toBe(false);
    const open = withHooks({ beforeSignIn }, { ENABLED_HOOKS: "beforeSignIn=open" });
    expect(sentToClient(await byPassword(open)).code).toBeDefined();
  });
});

describe("legacyPassword", () => {
  beforeEach(async () => {
    await authEnv.DB.batch(["bob", "mallory"].map((sub) => savePassword(authEnv.DB, sub, "$legacy$", 0)));
  });

  const hashOf = async (sub: string) =>
    (await authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = ?1").bind(sub).first<{ hash: string }>())
      ?.hash;

  it("is asked about marked, active people alone; the password is then stored here", async () => {
    const legacyPassword = vi.fn(async () => true);
    expect(sentToClient(await byPassword(withHooks({ legacyPassword }), {}, "bob")).code).toBeDefined();
    expect(legacyPassword.mock.calls).toEqual([[{ sub: "bob", username: "bob", password }]]);
    await vi.waitFor(async () => expect(await hashOf("bob")).toMatch(/^\$scrypt\$/));
    expect(sentToClient(await byPassword(withHooks({ legacyPassword }), {}, "bob")).code).toBeDefined();
    await byPassword(withHooks({ legacyPassword }));
    await byPassword(withHooks({ legacyPassword }), {}, "mallory");
    expect(legacyPassword).toHaveBeenCalledTimes(1);
    expect(await hashOf("mallory")).toBe("$legacy$");
  });

  it("a refusal takes as long, whoever is named: a marked person, nobody, one who is suspended (refusal-times.test.ts)", async () => {
    const slowestMs = 400;
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const earlier = fixtures.isolate.refusalTimes.hold(async () => {
      vi.setSystemTime(Date.now() + slowestMs);
      return { isRefused: true, askedHook: true };
    });
    await vi.runAllTimersAsync();
    await earlier;
    vi.useRealTimers();
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    const legacyPassword = vi.fn(async () => false);
    const refusals = ["bob", "nobody", "mallory"].map(async (user) => {
      const browser = withHooks({ legacyPassword });
      const page = locationOf(await browser.authorize());
      const startedAtMs = Date.now();
      const again = locationOf(await postPassword(browser, page, user));
      return { step: stepOf(again), isHeld: Date.now() - startedAtMs >= slowestMs, hasSession: hasSession(browser) };
    });
    for (const refusal of await Promise.all(refusals)) {
      expect(refusal).toEqual({ step: "sign-in", isHeld: true, hasSession: false });
    }
    expect(legacyPassword).toHaveBeenCalledTimes(1);
  });

  it("no password matches the mark where the hook is not enabled, not even the mark itself", async () => {
    const browser = fixtures.browser();
    const page = locationOf(await browser.authorize());
    expect(stepOf(locationOf(await postPassword(browser, page, "bob", "$legacy$")))).toBe("sign-in");
    expect(hasSession(browser)).toBe(false);
  });
});
