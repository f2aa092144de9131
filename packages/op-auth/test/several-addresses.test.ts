/** **Several addresses of an account**: added by a code, made the main one, removed; and who must not. */

import { beforeEach, describe, expect, it } from "vitest";
import { authEnv, formTokenOf, locationOf, sentToClient, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { follow, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";

const path = "/account/address";
const added = "alice@example.org";

const mailed = useMailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

beforeEach(async () => {
  expect(locationOf(await browser.signIn(locationOf(await browser.get(path))))).toBe(path);
});

async function add(address: string): Promise<string> {
  const html = await (await browser.submit(`${path}?further=1`, { address, further: "1" })).text();
  const state = /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "";
  return locationOf(await browser.post(path, { form_token: formTokenOf(html), state, code: mailed.code }));
}

async function press(page: "primary" | "remove", address: string): Promise<string> {
  const form_token = formTokenOf(await (await browser.get("/account/security")).text());
  return locationOf(await browser.post(`${path}/${page}`, { form_token, address }));
}

async function addresses(): Promise<string[]> {
  const select = "SELECT address_key, held_until_ms FROM user_addresses WHERE sub = 'alice' ORDER BY address_key";
  const { results } = await authEnv.DB.prepare(select).all<{ address_key: string; held_until_ms: number | null }>();
  return results.map(({ address_key: key, held_until_ms: held }) => (held === null ? key : `${key} (held)`));
}

async function main(): Promise<unknown> {
  const claims = await authEnv.DB.prepare("SELECT claims FROM users WHERE sub = 'alice'").first<string>("claims");
  return JSON.parse(claims ?? "{}").email;
}

const notices = () => mailed.notices.map(({ kind, undo }) => [kind, undo?.address]);

describe("NIST SP 800-63B-4 §4.2.1.2, §4.6: several addresses", () => {
  it("one is added by a code, finds its person when they forget their password, and changes no claim", async () => {
    const form = await (await browser.get(`${path}?further=1`)).text();
    expect(form).toContain('name="further"');
    expect(await add(added)).toBe("/account?notice=address-added");
    expect([await addresses(), await main()]).toEqual([["alice@example.com", added], "alice@example.com"]);
    expect(notices()).toEqual([["address-added", undefined]]);
    const html = await (await browser.get("/account")).text();
    expect(html).toContain(`Make main: ${added}`);
    const other = fixtures.browser(mailed.env);
    const recover = await follow(other, locationOf(await other.authorize()), { recover: "1" });
    const code = await follow(other, recover, { address: added });
    expect(stepOf(await follow(other, code, { code: mailed.code }))).toBe("set-password");
  });

  it("one becomes the main one, and the other stays; applications see the new one, and sessions stay", async () => {
    await add(added);
    const confirm = await (await browser.get(`${path}/primary?address=${encodeURIComponent(added)}`)).text();
    expect(confirm).toContain(`Applications see ${added}`);
    expect(await press("primary", added)).toBe("/account?notice=address-changed");
    expect([await addresses(), await main()]).toEqual([["alice@example.com", added], added]);
    expect(notices().slice(1)).toEqual([["address-changed", undefined]]);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect(await press("remove", "alice@example.com")).toBe("/account?notice=address-removed");
  });

  it("ten changes are made, then no more for some minutes: each stops every shard for a moment", async () => {
    await add(added);
    const made: string[] = [];
    for (let count = 0; count < 11; count += 1)
      made.push(await press("primary", count % 2 ? "alice@example.com" : added));
    const changed = Array<string>(10).fill("/account?notice=address-changed");
    expect(made).toEqual([...changed, "/account?notice=too-many-changes"]);
    expect(await main()).toBe("alice@example.com");
  });

  it("one that is the oldest and is removed is told with a link, which takes that back and signs out everywhere", async () => {
    await add(added);
    await press("primary", added);
    expect(await press("remove", "alice@example.com")).toBe("/account?notice=address-removed");
    expect(await addresses()).toEqual(["alice@example.com (held)", added]);
    const removed = mailed.notices.at(-1)!;
    expect([removed.kind, removed.undo?.address]).toEqual(["address-removed", "alice@example.com"]);
    const undo = new URLSearchParams(removed.undo!.path.split("?")[1]).get("undo")!;
    expect(stepOf(locationOf(await fixtures.browser().post(`${path}/undo`, { undo })))).toBe("set-password");
    expect([await addresses(), await main()]).toEqual([["alice@example.com"], "alice@example.com"]);
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
  });

  it("one that a thief has added takes nothing back when its owner removes or replaces it", async () => {
    await add("thief@example.org");
    await press("remove", "thief@example.org");
    expect(notices().at(-1)).toEqual(["address-removed", undefined]);
    await add("thief@example.org");
    await press("primary", "thief@example.org");
    // The owner replaces the main address by their own, and the thief's is told of that with a link.
    const html = await (await browser.submit(path, { address: "alice@example.com" })).text();
    const state = /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "";
    await browser.post(path, { form_token: formTokenOf(html), state, code: mailed.code });
    expect([await addresses(), await main()]).toEqual([
      ["alice@example.com", "thief@example.org (held)"],
      "alice@example.com",
    ]);
    const { undo } = mailed.notices.at(-1)!;
    expect(undo?.address).toBe("thief@example.org");
    const link = new URLSearchParams(undo!.path.split("?")[1]).get("undo")!;
    expect((await fixtures.browser().post(`${path}/undo`, { undo: link })).status).toBe(400);
  });

  it("a code that a session asked for before the password was recovered adds nothing", async () => {
    const html = await (
      await browser.submit(`${path}?further=1`, { address: "thief@example.org", further: "1" })
    ).text();
    const state = /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const { code } = mailed;
    const owner = fixtures.browser(mailed.env);
    const recover = await follow(owner, locationOf(await owner.authorize()), { recover: "1" });
    const next = await follow(owner, recover, { address: "alice@example.com" });
    const chosen = "purple monkey dishwasher 42";
    await follow(owner, await follow(owner, next, { code: mailed.code }), { new: chosen, repeat: chosen });
    const late = await browser.post(path, { form_token: formTokenOf(html), state, code });
    expect(stepOf(locationOf(late))).toBe("sign-in");
    expect(await addresses()).toEqual(["alice@example.com"]);
  });

  it("the main one is not removed, so neither is the last", async () => {
    await add(added);
    expect(await press("remove", "alice@example.com")).toBe("/account");
    await press("primary", added);
    expect(await press("remove", added)).toBe("/account");
    expect(await addresses()).toEqual(["alice@example.com", added]);
  });

  it("a sixth is not added, also not by two pages at once; one that is there may be confirmed again", async () => {
    for (const number of [2, 3, 4]) await seedAddress("alice", `alice${number}@example.com`);
    expect(await add(added)).toBe("/account?notice=address-added");
    expect(await (await browser.get("/account")).text()).not.toContain('id="add-address"');
    expect(await add("alice6@example.com")).toBe("/account?notice=address-not-added");
    expect(await add(added)).toBe("/account?notice=address-added");
    expect(await addresses()).toHaveLength(5);
  });

  it("a change of the main one holds that one alone", async () => {
    await add(added);
    const html = await (await browser.submit(path, { address: "new@example.com" })).text();
    const state = /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "";
    await browser.post(path, { form_token: formTokenOf(html), state, code: mailed.code });
    expect(await addresses()).toEqual(["alice@example.com (held)", added, "new@example.com"]);
  });

  it("somebody else's address is neither added nor made main nor removed", async () => {
    await seedAddress("bob", "bob@example.com");
    expect(await add("bob@example.com")).toBe("/account?notice=address-not-added");
    for (const page of ["primary", "remove"] as const) {
      expect(await press(page, "bob@example.com")).toBe("/account");
      expect(locationOf(await browser.get(`${path}/${page}?address=bob%40example.com`))).toBe("/account");
    }
    const { results } = await authEnv.DB.prepare("SELECT action FROM admin_events").all();
    expect([await addresses(), results]).toEqual([["alice@example.com"], []]);
  });

  it("below the level of the account, or without a fresh sign-in, nothing changes", async () => {
    await seedAddress("alice", added);
    await AuthenticatorApp.register("alice");
    for (const page of ["primary", "remove"] as const) {
      expect(await press(page, added)).toMatch(/^\/flow\/sign-in/);
      expect(locationOf(await browser.get(`${path}/${page}?address=${added}`))).toMatch(/^\/flow\/sign-in/);
    }
    expect(locationOf(await browser.get(`${path}?further=1`))).toMatch(/^\/flow\/sign-in/);
    expect([await addresses(), await main()]).toEqual([["alice@example.com", added], "alice@example.com"]);
  });
});
