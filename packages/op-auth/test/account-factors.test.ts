/** **Second factors on the account page**: who may change them, what a change ends, and what is shown once. */

import { describe, expect, it, vi } from "vitest";
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
import { AuthenticatorApp, codeOfKey, registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { fixtures, browser } = useDeployment({ skip_consent: true });

/** Signs in at the account page by password, and by a code if the person has an app. */
async function signIn(visitor: Browser, app?: AuthenticatorApp, offset = 0): Promise<void> {
  const next = locationOf(await visitor.signIn(locationOf(await visitor.get("/account/security"))));
  if (app !== undefined)
    expect(locationOf(await visitor.submit(next, { code: await app.code(offset) }))).toBe("/account/security");
}

async function addAppPage(): Promise<string> {
  return locationOf(await browser.get("/account/apps"));
}

async function actions(): Promise<string[]> {
  const { results } = await authEnv.DB.prepare("SELECT action FROM admin_events ORDER BY seq").all<{
    action: string;
  }>();
  return results.map(({ action }) => action);
}

const later = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });

describe("an authenticator app", () => {
  it("is added with a code of it; the page shows a QR code, a link and the key, and no script is needed", async () => {
    await signIn(browser);
    const page = await addAppPage();
    const html = await (await browser.get(page)).text();
    expect(html).toContain("<svg");
    const [, key = ""] = /id="key">([^<]+)</.exec(html)!;
    expect(html).toContain(`secret=${key.replaceAll(" ", "")}&amp;issuer=Edge%20OP`);
    const wrong = await browser.submit(page, { code: "000000", setup: page.split("setup=")[1]! });
    expect([wrong.status, (await wrong.text()).includes(key)]).toEqual([400, true]);
    expect(await countRows("user_totp")).toBe(0);
  });

  it("whose set-up is abandoned beside another one: the other one signs in, and the abandoned one does not", async () => {
    const app = await AuthenticatorApp.register("alice");
    await signIn(browser, app, -1);
    const page = await addAppPage();
    const [, key = ""] = /id="key">([^<]+)</.exec(await (await browser.get(page)).text())!;
    expect((await browser.submit(page, { code: "000000", setup: page.split("setup=")[1]! })).status).toBe(400);
    expect(await countRows("user_totp")).toBe(1);
    const visitor = fixtures.browser();
    const next = locationOf(await visitor.signIn(locationOf(await visitor.get("/account/security"))));
    expect((await visitor.submit(next, { code: await codeOfKey(key) })).status).toBe(400);
    expect(locationOf(await visitor.submit(next, { code: await app.code() }))).toBe("/account/security");
  });

  it("NIST §4.1.2.1: a person who has one adds another only with two factors; an old sign-in is not enough", async () => {
    await signIn(browser);
    const app = await AuthenticatorApp.register("alice");
    const again = locationOf(await browser.get("/account/apps"));
    expect(stepOf(again)).toBe("sign-in");
    expect(await (await browser.get(again)).text()).toContain("a recent sign-in with two factors");
    const second = locationOf(await browser.signIn(again));
    expect(stepOf(second)).toBe("prove-more");
    expect(locationOf(await browser.submit(second, { code: await app.code() }))).toBe("/account/apps");
    expect(await addAppPage()).toContain("setup=");
    later(11 * 60_000);
    expect(stepOf(locationOf(await browser.get("/account/apps")))).toBe("sign-in");
  });

  it("a person who has a passkey does not add one after a password alone", async () => {
    await SoftwarePasskey.register("alice");
    await signIn(browser);
    expect(stepOf(locationOf(await browser.get("/account/apps")))).toBe("sign-in");
  });

  it("a passkey is not added after a password alone beside an app", async () => {
    await signIn(browser);
    expect(await (await browser.get("/account/security")).text()).toContain('data-passkey="create"');
    await AuthenticatorApp.register("alice");
    expect(await (await browser.get("/account/security")).text()).not.toContain('data-passkey="create"');
  });

  it("the password is not changed after a password alone beside an app; after both it is, and the session keeps both", async () => {
    await signIn(browser);
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.get("/account/password"));
    expect(stepOf(page)).toBe("sign-in");
    await browser.submit(locationOf(await browser.signIn(page)), { code: await app.code() });
    const chosen = "a new and longer password";
    const changed = await browser.submit("/account/password", { current: password, new: chosen, repeat: chosen });
    expect(locationOf(changed)).toBe("/account/security?notice=password-changed");
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ["mfa"] } } });
    expect(sentToClient(await browser.authorize({ claims, prompt: "none" })).code).toBeDefined();
  });

  it("removed: other sessions end, this one stays, remembered browsers are forgotten, codes without an app too", async () => {
    const app = await AuthenticatorApp.register("alice");
    await registerRecoveryCodes("alice");
    const other = fixtures.browser();
    await signIn(other, app, -1);
    await signIn(browser, app);
    const html = await (await browser.get("/account/security")).text();
    expect(html).toContain("8 unused");
    const [, remove = ""] = /href="(\/account\/factors\/remove\?factor_id=app-of-alice)"/.exec(html)!;
    expect(await (await browser.get(remove)).text()).toContain("Remove this authenticator app?");
    const removed = await browser.submit(remove, { factor_id: app.factorId });
    expect(locationOf(removed)).toBe("/account/security?notice=factor-removed");
    expect([await countRows("user_totp"), await countRows("user_recovery_codes")]).toEqual([0, 0]);
    expect((await browser.get("/account")).status).toBe(200);
    expect(stepOf(locationOf(await other.get("/account")))).toBe("sign-in");
    expect(await authEnv.DB.prepare("SELECT factor_epoch FROM users WHERE sub = 'alice'").first("factor_epoch")).toBe(
      1,
    );
    expect(await actions()).toContain("totp.removed");
  });

  it("of another person is not removed", async () => {
    const theirs = await AuthenticatorApp.register("bob");
    await signIn(browser);
    const html = await (await browser.get("/account/security")).text();
    await browser.post("/account/factors/remove", { form_token: formTokenOf(html), factor_id: theirs.factorId });
    expect(await countRows("user_totp")).toBe(1);
  });
});

describe("recovery codes", () => {
  it("are made and shown once, with a file; the old ones stop working", async () => {
    const app = await AuthenticatorApp.register("alice");
    const [old = ""] = await registerRecoveryCodes("alice");
    await signIn(browser, app);
    const made = await browser.submit("/account/recovery-codes", {});
    const html = await made.text();
    expect(made.headers.get("cache-control")).toBe("no-store");
    const codes = [...html.matchAll(/<li>([0-9A-Z-]{29})<\/li>/g)].map(([, code]) => code!);
    expect(codes).toHaveLength(8);
    expect(decodeURIComponent(/href="data:text\/plain;charset=utf-8,([^"]+)"/.exec(html)![1]!)).toContain(
      codes.join("\n"),
    );
    expect(await (await browser.get("/account/security")).text()).not.toContain(codes[0]);
    const stored = await authEnv.DB.prepare("SELECT hashes FROM user_recovery_codes").first<string>("hashes");
    expect(stored).not.toContain(codes[0]);
    const next = async (code: string) => {
      const visitor = fixtures.browser();
      const page = locationOf(await visitor.signIn(locationOf(await visitor.authorize())));
      return (await visitor.submit(page, { code })).status;
    };
    expect([await next(old), await next(codes[3]!)]).toEqual([400, 303]);
    expect(await actions()).toEqual(expect.arrayContaining(["recovery_codes.made", "recovery_codes.used"]));
  });

  it("are not made for a person who has neither app nor passkey, nor after a password alone", async () => {
    await signIn(browser);
    expect(locationOf(await browser.get("/account/recovery-codes"))).toBe("/account/security");
    await AuthenticatorApp.register("alice");
    expect(stepOf(locationOf(await browser.get("/account/recovery-codes")))).toBe("sign-in");
  });
});

it("the last way in is not removed: a passkey of a person without a password", async () => {
  const passkey = await SoftwarePasskey.register("alice");
  await signIn(browser);
  await authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
  const page = `/account/passkeys/remove?credential_id=${passkey.id}`;
  const kept = await browser.submit(page, { credential_id: passkey.id });
  expect(locationOf(kept)).toBe("/account/security?notice=last-way-in");
  expect(await countRows("webauthn_credentials")).toBe(1);
  await SoftwarePasskey.register("alice");
  expect(locationOf(await browser.submit(page, { credential_id: passkey.id }))).toBe(
    "/account/security?notice=factor-removed",
  );
  expect(await countRows("webauthn_credentials")).toBe(1);
  // A form that is sent twice is not told that the last way in stays.
  const form_token = formTokenOf(await (await browser.get("/account/security")).text());
  expect(locationOf(await browser.post("/account/passkeys/remove", { form_token, credential_id: passkey.id }))).toBe(
    "/account/security",
  );
});
