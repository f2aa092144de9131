/** **People whom an administrator lets back in**: by a temporary password, or by a mailed link; and what neither does. */

import { resetLinkTo } from "@edge-op/shared/mail/sealed-links";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { savePassword } from "@edge-op/shared/users/credentials";
import { beforeEach, describe, expect, it } from "vitest";
import {
  authEnv,
  contextOf,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { follow, postOnce, seedAddress } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const chosen = "purple monkey dishwasher 42";
const newPassword = { new: chosen, repeat: chosen };
const temporary = "k7m2x-9qfhd-w4tbn-6rzcp";
const dayMs = 86_400_000;

const { fixtures, browser } = useDeployment({ skip_consent: true });

async function hashOf(sub: string): Promise<string | null> {
  return authEnv.DB.prepare("SELECT hash FROM user_passwords WHERE sub = ?1").bind(sub).first<string>("hash");
}

describe("a temporary password", () => {
  beforeEach(async () => {
    await savePassword(authEnv.DB, "alice", await hashPassword(temporary), 1, Date.now() + dayMs).run();
  });

  /** The page after the temporary password. */
  async function typeIt(visitor = browser): Promise<string> {
    return locationOf(await visitor.signIn(locationOf(await visitor.authorize()), "alice", temporary));
  }

  it("is replaced by one's own, which signs in; it works no second time", async () => {
    const page = await typeIt();
    expect(stepOf(page)).toBe("set-password");
    expect(await (await browser.get(page)).text()).toContain("temporary password");
    expect(sentToClient(await postOnce(browser, page, newPassword)).code).toBeDefined();
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    const other = fixtures.browser();
    const signIn = locationOf(await other.authorize());
    expect((await other.signIn(signIn, "alice", temporary)).status).toBe(400);
    expect(sentToClient(await other.signIn(signIn, "alice", chosen)).code).toBeDefined();
  });

  it("is not kept as one's own", async () => {
    const again = await follow(browser, await typeIt(), { new: temporary, repeat: temporary });
    const response = await browser.once(again);
    expect([response.status, (await response.text()).includes("another password than the temporary")]).toEqual([
      400,
      true,
    ]);
  });

  it.each(["enrol", "recovery-codes", "consent", "link", "create-account"])(
    "opens no session and adds no factor: the step %s leads elsewhere",
    async (step) => {
      const page = (await typeIt()).replace("set-password", step);
      const response = await browser.once(page);
      expect(response.status === 303 ? stepOf(locationOf(response)) : response.status).not.toBe(step);
      expect(response.status).not.toBe(200);
      expect(browser.cookies.has("__Host-op-session")).toBe(false);
      expect(locationOf(await browser.once("/account/apps"))).toMatch(/^\/flow\/sign-in/);
    },
  );

  it("does not take the place of a second factor", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await typeIt();
    expect(stepOf(page)).toBe("prove-more");
    const skipped = page.replace("prove-more", "set-password");
    expect(stepOf(locationOf(await browser.once(skipped)))).toBe("prove-more");
    const next = await follow(browser, page, { code: await app.code() });
    expect(sentToClient(await postOnce(browser, next, newPassword)).code).toBeDefined();
  });

  it("lets in a person who has only passkeys, and has lost them: an administrator vouches for them", async () => {
    await SoftwarePasskey.register("alice");
    expect(stepOf(await typeIt())).toBe("set-password");
  });

  it("ends after a day, as a wrong password does; also between its two pages", async () => {
    const page = await typeIt();
    await authEnv.DB.prepare("UPDATE user_passwords SET temporary_until_ms = 1 WHERE sub = 'alice'").run();
    const before = await hashOf("alice");
    expect(locationOf(await browser.once(page))).toMatch(/^\/flow\/restart/);
    const refused = await browser.signIn(locationOf(await browser.authorize()), "alice", temporary);
    expect([refused.status, await hashOf("alice")]).toEqual([400, before]);
  });

  it("is no current password at a change of it, nor a way in beside which the last passkey may go", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    const page = locationOf(await browser.authorize());
    const html = await (await browser.get(page)).text();
    const signedIn = { form_token: formTokenOf(html), credential: await passkey.assert(html) };
    expect(stepOf(locationOf(await browser.post(page, signedIn)))).toBe("recovery-codes");
    expect(await (await browser.get("/account/password")).text()).not.toContain('name="current"');
    const credential_id = await authEnv.DB.prepare("SELECT credential_id FROM webauthn_credentials").first<string>(
      "credential_id",
    );
    const account = formTokenOf(await (await browser.get("/account/security")).text());
    const removed = await browser.post("/account/passkeys/remove", {
      form_token: account,
      credential_id: credential_id ?? "",
    });
    expect(locationOf(removed)).toBe("/account/security?notice=last-way-in");
  });
});

describe("NIST SP 800-63B-4 §4.2.1.2: a link of an administrator", () => {
  async function linkFor(change: { sub?: string; key?: string; untilMs?: number } = {}): Promise<string> {
    const context = contextOf();
    await fixtures.isolate.revocation.confirmControl(context);
    const controlVersion = fixtures.isolate.control.version ?? 0;
    const link = { sub: "alice", key: "alice@example.com", controlVersion, untilMs: Date.now() + dayMs, ...change };
    return resetLinkTo(authEnv, link);
  }

  /** The page after the one of the link. */
  async function open(link: string, visitor = browser): Promise<string> {
    const html = await (await visitor.once(link)).text();
    const token = new URLSearchParams(link.split("?")[1]).get("token")!;
    const fields = { form_token: formTokenOf(html), token };
    return locationOf(await visitor.post("/account/password/reset", fields));
  }

  it("leads to a new password, in any browser, and works until one is set; opening it changes nothing", async () => {
    const link = await linkFor();
    const before = await hashOf("alice");
    for (let scan = 0; scan < 10; scan += 1) expect((await browser.once(link)).status).toBe(200);
    expect(await hashOf("alice")).toBe(before);
    const first = await open(link);
    expect(stepOf(first)).toBe("set-password");
    const other = fixtures.browser();
    const second = await open(link, other);
    expect(locationOf(await postOnce(browser, first, newPassword))).toBe("/account");
    // The new password ends the link, and every flow that was begun by it.
    expect((await browser.once(link)).status).toBe(400);
    expect(locationOf(await other.once(second))).toMatch(/^\/flow\/restart/);
    expect((await browser.get("/account")).status).toBe(200);
  });

  it("signs nobody in, and asks for a second factor", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = await open(await linkFor());
    expect(stepOf(page)).toBe("prove-more");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    const next = await follow(browser, page, { code: await app.code() });
    expect(stepOf(next)).toBe("set-password");
  });

  it.each([
    ["after a day", async () => linkFor({ untilMs: Date.now() })],
    ["for an address of somebody else", async () => linkFor({ key: "bob@example.com" })],
    [
      "after the address was replaced",
      async () => {
        const link = await linkFor();
        await authEnv.DB.prepare("UPDATE user_addresses SET held_until_ms = 9e15 WHERE sub = 'alice'").run();
        return link;
      },
    ],
    [
      "after a suspension",
      async () => {
        const link = await linkFor();
        await authEnv.DB.prepare("UPDATE users SET status = 'suspended' WHERE sub = 'alice'").run();
        return link;
      },
    ],
    ["that was made up", async () => `/account/password/reset?token=${"A".repeat(80)}`],
  ])("%s: refused", async (_, make) => {
    await seedAddress("bob", "bob@example.com");
    const link = await make();
    const response = await browser.once(link);
    expect([response.status, (await response.text()).includes("expired or was used")]).toEqual([400, true]);
  });

  it("CSRF: a form of another browser begins nothing", async () => {
    const link = await linkFor();
    const html = await (await browser.once(link)).text();
    const token = new URLSearchParams(link.split("?")[1]).get("token")!;
    const fields = { form_token: formTokenOf(html), token };
    expect((await fixtures.browser().post("/account/password/reset", fields)).status).toBe(403);
  });
});
