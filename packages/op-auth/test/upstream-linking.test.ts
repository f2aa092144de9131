/** **Connecting and disconnecting identities of upstream providers, attacked.** */

import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  AuthFixtures,
  authEnv,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { pressUpstream, StandInUpstream, seedUpstream, signInUpstream } from "./fixtures/stand-in-upstream.ts";

const believed = { email: "Alice@example.com", email_verified: true };

let upstream: StandInUpstream;

const { fixtures, browser } = useDeployment({ skip_consent: true });

beforeEach(async () => {
  await seedUpstream();
  upstream = new StandInUpstream({ claims: believed }).install();
});

async function identities(): Promise<{ sub: string; subject: string }[]> {
  const { results } = await authEnv.DB.prepare("SELECT sub, subject FROM user_identities ORDER BY subject").all<{
    sub: string;
    subject: string;
  }>();
  return results;
}

/** The sign-in page after a believed address was found. */
async function askedToSignIn(visitor = browser): Promise<string> {
  const page = locationOf(await signInUpstream(visitor, await visitor.pageOf(), upstream));
  expect(stepOf(page)).toBe("sign-in");
  const html = await (await visitor.get(page)).text();
  expect(html).toContain("An account has your address at Example IdP, Alice@example.com.");
  expect(html).toMatch(/id="username"[^>]* value="Alice@example.com"/);
  return page;
}

/** The page that asks, after a sign-in to the account. */
async function askedToConnect(): Promise<string> {
  const page = locationOf(await browser.signIn(await askedToSignIn()));
  expect(stepOf(page)).toBe("link");
  return page;
}

describe("a believed address of an account", () => {
  it("signs nobody in; the person proves the account, sees both identities, and connects them", async () => {
    const signIn = await askedToSignIn();
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    const page = locationOf(await browser.signIn(signIn));
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    const html = await (await browser.get(page)).text();
    expect(html).toContain("Your account: Alice Example");
    expect(html).toContain("At Example IdP: Alice@example.com");
    expect(await identities()).toEqual([]);
    expect(sentToClient(await browser.submit(page, { decision: "connect" }))["code"]).toBeDefined();
    expect(await identities()).toEqual([{ sub: "alice", subject: "their-1" }]);
    const event = await authEnv.DB.prepare(
      "SELECT sub, target FROM admin_events WHERE action = 'identity.linked'",
    ).first();
    expect(event).toEqual({ sub: "alice", target: "idp" });
    const later = fixtures.browser();
    expect(sentToClient(await signInUpstream(later, await later.pageOf(), upstream))["code"]).toBeDefined();
  });

  it("a person who does not connect them is signed in all the same", async () => {
    const page = await askedToConnect();
    expect(sentToClient(await browser.submit(page, { decision: "skip" }))["code"]).toBeDefined();
    expect(await identities()).toEqual([]);
  });

  it("somebody else who signs in then is not asked, and nothing is connected", async () => {
    const response = await browser.signIn(await askedToSignIn(), "bob");
    expect(sentToClient(response)["code"]).toBeDefined();
    expect(await identities()).toEqual([]);
  });

  it("the page of the question posted by a flow of somebody else connects nothing", async () => {
    const page = await askedToConnect();
    const form_token = formTokenOf(await (await browser.get(page)).text());
    const thief = fixtures.browser();
    const response = await thief.post(page, { form_token, decision: "connect" });
    expect(response.status).toBe(400);
    expect(await identities()).toEqual([]);
  });

  it("an old page connects nothing after the identity was disconnected", async () => {
    const page = await askedToConnect();
    const form_token = formTokenOf(await (await browser.get(page)).text());
    await browser.post(page, { form_token, decision: "connect" });
    await authEnv.DB.prepare("DELETE FROM user_identities").run();
    await browser.post(page, { form_token, decision: "connect" });
    expect(await identities()).toEqual([]);
  });

  it("the account is proven at its level: the second factor comes before the question", async () => {
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await browser.signIn(await askedToSignIn()));
    expect(stepOf(page)).toBe("prove-more");
    const link = page.replace("/flow/prove-more", "/flow/link");
    expect(stepOf(locationOf(await browser.once(link)))).toBe("prove-more");
    expect(await identities()).toEqual([]);
    const asked = locationOf(await browser.submit(page, { code: await app.code() }));
    expect(stepOf(asked)).toBe("link");
  });

  it.each([
    ["that is suspended", "UPDATE users SET status = 'suspended' WHERE sub = 'alice'", "refused"],
    ["without a verified address", "DELETE FROM user_addresses", "new"],
    ["with the address only to take it back", "UPDATE user_addresses SET held_until_ms = 9999999999999", "refused"],
  ])("an account %s is not mentioned", async (_, statement, outcome) => {
    await authEnv.DB.prepare(statement).run();
    const response = await signInUpstream(browser, await browser.pageOf(), upstream);
    if (outcome === "new") {
      expect(sentToClient(response)["code"]).toBeDefined();
      return;
    }
    const html = await (await browser.get(locationOf(response))).text();
    expect(html).toContain("No account is connected");
    expect(html).not.toContain("An account has your address");
  });

  it("a provider that is only connected at the account page asks nobody", async () => {
    await authEnv.DB.prepare("UPDATE upstreams SET document = json_set(document, '$.link_only', json('true'))").run();
    const visitor = new AuthFixtures(fixtures.client).browser();
    const html = await (
      await visitor.get(locationOf(await signInUpstream(visitor, await visitor.pageOf(), upstream)))
    ).text();
    expect(html).toContain("No account is connected");
  });
});

describe("at the account page", () => {
  async function signInToAccount(visitor = browser, username = "alice"): Promise<void> {
    await visitor.signIn(locationOf(await visitor.get("/account/security")), username);
  }

  async function post(path: string, fields: Record<string, string>, visitor = browser): Promise<Response> {
    const form_token = formTokenOf(await (await visitor.get("/account/security")).text());
    return visitor.post(path, { form_token, ...fields });
  }

  async function leave(visitor = browser): Promise<string> {
    return locationOf(await post("/account/identities", { upstream: "idp" }, visitor));
  }

  async function connect(): Promise<void> {
    const page = locationOf(await browser.once(upstream.signIn(await leave())));
    const html = await (await browser.get(page)).text();
    const link = new URL(page, "https://op.example.com").searchParams.get("link")!;
    const response = await browser.post("/account/identities/confirm", {
      ...{ form_token: formTokenOf(html), link, decision: "connect" },
    });
    expect(locationOf(response)).toBe("/account/security?notice=identity-connected");
  }

  const remove = async () => {
    const html = await (await browser.get("/account/security")).text();
    const identity = /identities\/remove\?identity=([^"]+)"/.exec(html)![1]!;
    return locationOf(await post("/account/identities/remove", { identity }));
  };

  beforeEach(() => signInToAccount());

  it("a person connects a provider, whatever address they have there, and sees it", async () => {
    upstream.behaviour.claims = { email: "elsewhere@example.net" };
    await connect();
    expect(await identities()).toEqual([{ sub: "alice", subject: "their-1" }]);
    const html = await (await browser.get("/account/security")).text();
    expect(html).toContain("elsewhere@example.net");
    expect(html).not.toContain("Connect Example IdP");
  });

  it("nothing is connected by a URL, without the form's token, or before the confirmation", async () => {
    expect((await browser.get("/account/identities?upstream=idp")).status).toBe(200);
    expect((await browser.post("/account/identities", { upstream: "idp" })).status).toBe(403);
    const page = locationOf(await browser.once(upstream.signIn(await leave())));
    await browser.get(page);
    const link = new URL(page, "https://op.example.com").searchParams.get("link")!;
    expect((await browser.post("/account/identities/confirm", { link, decision: "connect" })).status).toBe(403);
    expect(await identities()).toEqual([]);
  });

  it("an old sign-in connects nothing", async () => {
    const form_token = formTokenOf(await (await browser.get("/account/security")).text());
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 11 * 60_000);
    const response = await browser.post("/account/identities", { form_token, upstream: "idp" });
    expect(stepOf(locationOf(response))).toBe("sign-in");
  });

  it("a callback of somebody else's connection does nothing in the session of the victim", async () => {
    const thief = fixtures.browser();
    await signInToAccount(thief, "bob");
    const callback = upstream.signIn(await leave(thief));
    expect((await browser.once(callback)).status).toBe(400);
    expect(await identities()).toEqual([]);
  });

  it("an identity of somebody else is not taken over", async () => {
    await authEnv.DB.prepare(
      "INSERT INTO user_identities VALUES ('idp', 'https://idp.example.net', 'their-1', 'bob', 'x', 0, NULL)",
    ).run();
    const response = await browser.once(upstream.signIn(await leave()));
    expect(locationOf(response)).toBe("/account/security?notice=identity-taken");
    expect(await identities()).toEqual([{ sub: "bob", subject: "their-1" }]);
  });

  it("of two confirmations for one identity the second changes nothing", async () => {
    const first = locationOf(await browser.once(upstream.signIn(await leave(), "code-1")));
    const second = locationOf(await browser.once(upstream.signIn(await leave(), "code-2")));
    const confirm = async (page: string) => {
      const link = new URL(page, "https://op.example.com").searchParams.get("link")!;
      return locationOf(await post("/account/identities/confirm", { link, decision: "connect" }));
    };
    expect(await confirm(first)).toBe("/account/security?notice=identity-connected");
    expect(await confirm(first)).toBe("/account/security?notice=identity-not-connected");
    expect(await confirm(second)).toBe("/account/security?notice=identity-not-connected");
    expect(await identities()).toHaveLength(1);
  });

  it("a disconnected provider signs nobody in, and other sessions end", async () => {
    await connect();
    const other = fixtures.browser();
    await signInToAccount(other);
    expect(await remove()).toBe("/account/security?notice=identity-disconnected");
    expect(await identities()).toEqual([]);
    expect(stepOf(locationOf(await other.get("/account")))).toBe("sign-in");
    expect((await browser.get("/account")).status).toBe(200);
    const event = await authEnv.DB.prepare("SELECT sub FROM admin_events WHERE action = 'identity.unlinked'").first();
    expect(event).toEqual({ sub: "alice" });
  });

  it.each<[string, string[], string]>([
    ["the last way in stays", [], "last-identity"],
    [
      "a second identity whose provider is disabled is no way in",
      [
        "INSERT INTO upstreams VALUES ('off', 'disabled', '{}', NULL, NULL, 0, 0)",
        "INSERT INTO user_identities VALUES ('off', 'i', 's', 'alice', 'x', 9999999999999, NULL)",
      ],
      "last-identity",
    ],
    [
      "a second identity is a way in",
      [
        "INSERT INTO upstreams VALUES ('on', 'active', '{}', NULL, NULL, 0, 0)",
        "INSERT INTO user_identities VALUES ('on', 'i', 's', 'alice', 'x', 9999999999999, NULL)",
      ],
      "identity-disconnected",
    ],
  ])("%s", async (_, statements, notice) => {
    await connect();
    await authEnv.DB.batch(
      [...statements, "DELETE FROM user_passwords WHERE sub = 'alice'"].map((text) => authEnv.DB.prepare(text)),
    );
    expect(await remove()).toBe(`/account/security?notice=${notice}`);
  });

  it("a person who signs in with a provider alone sets a password soon after a sign-in there", async () => {
    await connect();
    await authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
    const visitor = fixtures.browser();
    const page = locationOf(await visitor.get("/account"));
    await visitor.once(upstream.signIn(await pressUpstream(visitor, page), "code-9"));
    const chosen = "four words nobody would join";
    const form_token = formTokenOf(await (await visitor.get("/account/password")).text());
    const response = await visitor.post("/account/password", { form_token, new: chosen, repeat: chosen });
    expect(locationOf(response)).toBe("/account/security?notice=password-changed");
  });
});
