/** **Deletion of an account by its person**: at once for sessions and grants, after some days for the rest, and kept by a sign-in. */

import { describe, expect, it } from "vitest";
import { authEnv, formTokenOf, locationOf, sentToClient, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { follow, postOnce, useMailedCodes } from "./fixtures/mailed-codes.ts";

const { DB } = authEnv;

const mailed = useMailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

async function signIn(visitor = browser): Promise<string> {
  return locationOf(await visitor.signIn(locationOf(await visitor.get("/account"))));
}

async function askDeletion(): Promise<Response> {
  await signIn();
  return browser.submit("/account/delete", {});
}

const deletesAtMs = () =>
  DB.prepare("SELECT deletes_at_ms FROM users WHERE sub = 'alice'").first<number | null>("deletes_at_ms");
const kinds = () => mailed.notices.map(({ kind }) => kind);

async function actions(): Promise<string[]> {
  const { results } = await DB.prepare("SELECT action FROM admin_events WHERE target = 'alice' ORDER BY seq").all<{
    action: string;
  }>();
  return results.map(({ action }) => action);
}

const dateIn = (days: number) =>
  new Date(Date.now() + days * 86_400_000).toLocaleDateString("en-GB", {
    ...{ day: "numeric", month: "short", year: "numeric", timeZone: "UTC" },
  });

describe("a person who deletes their account", () => {
  it("is signed out everywhere at once, is told, and has 14 days", async () => {
    const elsewhere = fixtures.browser(mailed.env);
    await elsewhere.signInWhole();
    const before = Date.now();
    expect(locationOf(await askDeletion())).toBe("/account/deleted");
    expect(await (await browser.get("/account/deleted")).text()).toContain(`On ${dateIn(14)} your account`);
    for (const each of [browser, elsewhere]) {
      expect(sentToClient(await each.authorize({ prompt: "none" })).error).toBe("login_required");
    }
    expect((await deletesAtMs())! - before).toBeGreaterThanOrEqual(14 * 86_400_000 - 1000);
    expect([kinds(), await actions()]).toEqual([["deletion-asked"], ["account.deletion_asked"]]);
  });

  it("needs a recent sign-in at the level of the account", async () => {
    await signIn();
    const html = await (await browser.get("/account/delete")).text();
    const app = await AuthenticatorApp.register("alice");
    const posted = await browser.post("/account/delete", { form_token: formTokenOf(html) });
    expect(stepOf(locationOf(posted))).toBeDefined();
    expect([await deletesAtMs(), app !== undefined]).toEqual([null, true]);
  });

  it("cannot where the deployment does not let people", async () => {
    browser.restart({ ...mailed.env, DELETION_GRACE_DAYS: "0" });
    await signIn();
    expect(await (await browser.get("/account/activity")).text()).not.toContain("/account/delete");
    const html = await (await browser.get("/account/security")).text();
    expect(locationOf(await browser.get("/account/delete"))).toBe("/account/activity");
    expect(locationOf(await browser.post("/account/delete", { form_token: formTokenOf(html) }))).toBe(
      "/account/activity",
    );
    expect(await deletesAtMs()).toBeNull();
  });
});

describe("a person who signs in before", () => {
  it("is asked first, keeps the account, and goes on to the client", async () => {
    await askDeletion();
    const page = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    expect(stepOf(page)).toBe("restore");
    expect(await (await browser.get(page)).text()).toContain("Alice Example (alice@example.com)");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
    expect(sentToClient(await postOnce(browser, page, { decision: "keep" })).code).toBeDefined();
    expect([await deletesAtMs(), kinds()]).toEqual([null, ["deletion-asked", "account-restored"]]);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it("comes to the account page the same way, and leaving it as it is changes nothing", async () => {
    await askDeletion();
    const page = await signIn();
    expect(stepOf(page)).toBe("restore");
    await postOnce(browser, page, { decision: "cancel" });
    expect(await deletesAtMs()).not.toBeNull();
    expect(locationOf(await postOnce(browser, page, { decision: "keep" }))).toBe("/account");
    expect((await browser.get("/account")).status).toBe(200);
  });

  it("who has forgotten the password sets a new one first", async () => {
    await askDeletion();
    const visitor = fixtures.browser(mailed.env);
    const start = await follow(visitor, locationOf(await visitor.authorize()), { recover: "1" });
    const code = await follow(visitor, start, { address: "alice@example.com" });
    const chosen = await follow(visitor, code, { code: mailed.code });
    const repeated = "purple monkey dishwasher 42";
    const page = await follow(visitor, chosen, { new: repeated, repeat: repeated });
    expect(stepOf(page)).toBe("restore");
    expect(sentToClient(await postOnce(visitor, page, { decision: "keep" })).code).toBeDefined();
  });

  it("the step skipped to by URL keeps nothing without the second factor", async () => {
    await askDeletion();
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    expect(stepOf(page)).toBe("prove-more");
    const skipped = page.replace("/prove-more", "/restore");
    expect(stepOf(locationOf(await browser.once(skipped)))).toBe("prove-more");
    const proven = await follow(browser, page, { code: await app.code() });
    expect(stepOf(proven)).toBe("restore");
    const html = await (await browser.once(proven)).text();
    const f = new URL(page, "https://op.example.com").searchParams.get("f")!;
    const forged = await browser.post(skipped, { form_token: formTokenOf(html), f, decision: "keep" });
    expect([stepOf(locationOf(forged)), await deletesAtMs()]).not.toContain(null);
    expect(sentToClient(await postOnce(browser, proven, { decision: "keep" })).code).toBeDefined();
  });

  it("a thief deletes the account; its person is told, and gets it back as it was", async () => {
    await browser.signInWhole();
    await browser.submit("/account/delete", {});
    expect(kinds()).toContain("deletion-asked");
    const owner = fixtures.browser(mailed.env);
    const page = locationOf(await owner.signIn(locationOf(await owner.authorize())));
    await postOnce(owner, page, { decision: "keep" });
    expect(sentToClient(await owner.authorize({ prompt: "none" })).code).toBeDefined();
    expect(await DB.prepare("SELECT count(*) AS n FROM user_passwords WHERE sub = 'alice'").first("n")).toBe(1);
  });
});
