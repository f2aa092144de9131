/** **Addresses that lead to an upstream provider**, by their domain alone. */

import { beforeEach, describe, expect, it } from "vitest";
import { DepthMeter } from "../../../test/fixtures/call-depth.ts";
import {
  authEnv,
  Browser,
  locationOf,
  password,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { follow, postOnce, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { StandInUpstream, seedUpstream, upstreamIssuer } from "./fixtures/stand-in-upstream.ts";

let upstream: StandInUpstream;

const mailed = useMailedCodes({ ...authEnv, SIGN_UP: "open" });
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

beforeEach(async () => {
  upstream = new StandInUpstream({ claims: { email: "alice@example.com", email_verified: true } }).install();
});

const seed = (discovery: string, document: object = {}, status: "active" | "disabled" = "active") =>
  seedUpstream({ status, document: { domains: ["example.com"], discovery, ...document } });

async function typeIn(username: string, secret: string, visitor = browser): Promise<string> {
  return locationOf(await postOnce(visitor, await visitor.pageOf(), { username, password: secret }));
}

/** Alice signs in by her address. */
async function nameByAddress(): Promise<void> {
  const rename = "UPDATE users SET username = ?1, username_key = ?1 WHERE sub = 'alice'";
  await authEnv.DB.prepare(rename).bind("alice@example.com").run();
}

const isThere = (location: string) => location.startsWith(`${upstreamIssuer}/authorize`);

describe("discovery=offer", () => {
  beforeEach(() => seed("offer"));

  it("an address without a password leads to the provider, which gets it as login_hint", async () => {
    const location = await typeIn("nobody@EXAMPLE.com", "");
    expect(isThere(location)).toBe(true);
    expect(new URL(location).searchParams.get("login_hint")).toBe("nobody@EXAMPLE.com");
  });

  it("and with the right password it signs in here", async () => {
    await nameByAddress();
    expect(await typeIn("alice@example.com", password)).toMatch(/^https:\/\/app\.example\.com/);
  });

  it("the page says so, to an address of the domain that it was given", async () => {
    const html = await (await browser.get(locationOf(await browser.authorize({ login_hint: "x@example.com" })))).text();
    expect(html).toContain("can also sign in with Example IdP");
    const password = /<input[^>]*name="password"[^>]*>/.exec(html)?.[0];
    expect(password).toMatch(/autocomplete="current-password"/);
    expect(password).not.toContain("required");
    const other = await (
      await browser.get(locationOf(await browser.authorize({ login_hint: "x@example.org" })))
    ).text();
    expect(other).not.toContain("Example IdP.");
  });
});

describe("discovery=require", () => {
  beforeEach(() => seed("require"));

  it.each([
    ["a password", async () => typeIn("alice@example.com", password)],
    [
      "a forgotten password",
      async () =>
        follow(browser, await follow(browser, await browser.pageOf(), { recover: "1" }), { address: "a@example.com" }),
    ],
    [
      "a new account",
      async () => {
        const page = await follow(browser, await browser.pageOf(), { "sign-up": "1" });
        return follow(browser, page, { name: "Nina", address: "nina@example.com" });
      },
    ],
  ])("%s of the domain leads to the provider, and nothing is mailed or looked up", async (_, go) => {
    await nameByAddress();
    expect(isThere(await go())).toBe(true);
    expect(mailed.mails).toEqual([]);
  });

  it("a username that is no address, a passkey and a recovery by another address do not get past it", async () => {
    const page = await typeIn("alice", password);
    expect(stepOf(page)).toBe("sign-in");
    expect(await (await browser.get(page)).text()).toContain("People with your address sign in with Example IdP.");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    // Nor does it lead to an app of a thief's.
    expect(stepOf(locationOf(await browser.once(page.replace("sign-in", "enrol"))))).toBe("sign-in");

    const passkey = await SoftwarePasskey.register("alice");
    const signIn = await browser.pageOf();
    const html = await (await browser.get(signIn)).text();
    expect(stepOf(locationOf(await postOnce(browser, signIn, { credential: await passkey.assert(html) })))).toBe(
      "sign-in",
    );

    await seedAddress("alice", "alice@example.org");
    const code = await follow(browser, await follow(browser, await browser.pageOf(), { recover: "1" }), {
      address: "alice@example.org",
    });
    expect(stepOf(await follow(browser, code, { code: mailed.code }))).toBe("sign-in");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("a person who signed in there is in; and one who has an account here proves it once, and connects both", async () => {
    const there = await typeIn("alice@example.com", "");
    const prove = locationOf(await browser.once(upstream.signIn(there)));
    expect(stepOf(prove)).toBe("sign-in");
    const link = locationOf(await postOnce(browser, prove, { username: "alice", password }));
    expect(stepOf(link)).toBe("link");
    const again = await follow(browser, link, { decision: "connect" });
    expect(stepOf(again)).toBe("sign-in");
    const location = locationOf(await postOnce(browser, again, { upstream: "idp" }));
    expect(sentToClient(await browser.once(upstream.signIn(location, "code-2"))).code).toBeDefined();
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it("coming from there opens nobody else's account", async () => {
    await authEnv.DB.prepare("UPDATE users SET claims = ?1 WHERE sub = 'bob'")
      .bind(JSON.stringify({ email: "bob@example.com", email_verified: true }))
      .run();
    const prove = locationOf(await browser.once(upstream.signIn(await typeIn("alice@example.com", ""))));
    expect(stepOf(locationOf(await postOnce(browser, prove, { username: "bob", password })))).toBe("sign-in");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });
});

it.each([
  "a@example.com.evil",
  "a@sub.example.com",
  '"a"@example.com',
  "a@evil@example.com",
  "example.com",
  "a@exаmple.com",
])("%s is of another domain, or no address", async (typed) => {
  await seed("require");
  expect(stepOf(await typeIn(typed, "any"))).toBe("sign-in");
});

it.each([
  ["of a disabled provider", () => seed("require", {}, "disabled")],
  ["without discovery", () => seed("off")],
])("a domain %s: people sign in here", async (_, prepare) => {
  await prepare();
  await nameByAddress();
  expect(await typeIn("alice@example.com", password)).toMatch(/^https:\/\/app\.example\.com/);
});

describe("nobody learns whether an account exists", () => {
  it.each(["offer", "require"])(
    "%s: the same for a known and an unknown address, after the same calls",
    async (discovery) => {
      await seed(discovery);
      await nameByAddress();
      const trace = async (typed: string) => {
        const meter = new DepthMeter(fixtures.app, { ...authEnv, LEASE_MS: "10000" });
        const visitor = new Browser({ app: meter.app }, meter.env);
        const location = new URL(await typeIn(typed, "", visitor));
        const { object, d1, kv, depth } = meter.last;
        return { host: location.host, names: [...location.searchParams.keys()], object, d1, kv, depth };
      };
      await trace("warm@example.com");
      const known = await trace("alice@example.com");
      expect(known).toMatchObject({ d1: 0, object: 1 });
      expect(await trace("nobod@example.com")).toEqual(known);
    },
  );
});

describe("SIGN_IN_PAGE=identifier: the name first", () => {
  beforeEach(async () => {
    browser.restart({ ...mailed.env, SIGN_IN_PAGE: "identifier" });
    await seed("offer");
  });

  interface Seen {
    readonly name: string | undefined;
    /** What the page asks for. */
    readonly asks: string;
    readonly html: string;
  }

  const inputOf = (html: string, name: string) => new RegExp(`<input[^>]* name="${name}"[^>]*>`).exec(html)?.[0];

  async function see(path: string, visitor = browser): Promise<Seen> {
    const html = await (await visitor.get(path)).text();
    const username = inputOf(html, "username") ?? "";
    const isFixed = username.includes("readonly");
    const asks = [...(isFixed ? [] : ["name"]), ...(inputOf(html, "password") === undefined ? [] : ["password"])];
    return { name: /value="([^"]*)"/.exec(username)?.[1], asks: asks.join(), html };
  }

  const name = async (username: string, visitor = browser) =>
    locationOf(await postOnce(visitor, await visitor.pageOf(), { username, ask: "password" }));

  it("name, then password; a wrong one and what was typed stay there, until the name is changed", async () => {
    const first = await browser.pageOf();
    const begin = await see(first);
    expect(begin).toMatchObject({ name: "", asks: "name" });
    expect(inputOf(begin.html, "username")).toContain('autocomplete="username webauthn"');
    expect(begin.html).toContain('data-passkey="get"');
    expect(begin.html).not.toContain('id="forgot"');

    const second = await name(" alice ");
    const asked = await see(second);
    expect(asked).toMatchObject({ name: "alice", asks: "password" });
    expect(inputOf(asked.html, "username")).toContain('autocomplete="username webauthn"');
    expect(asked.html).toContain('id="forgot"');
    expect(asked.html).not.toContain('name="upstream"');
    const refused = await follow(browser, second, { username: "alice", password: "wrong" });
    expect(await see(refused)).toMatchObject({ name: "alice", asks: "password" });
    expect(await see(await follow(browser, refused, { language: "de", username: "alice" }))).toMatchObject({
      asks: "password",
    });
    const renamed = await follow(browser, refused, { rename: "1", username: "alice" });
    expect(await see(renamed)).toMatchObject({ name: "alice", asks: "name" });
    const recover = await follow(browser, second, { recover: "1", username: "alice@example.org" });
    expect(await (await browser.get(recover)).text()).toContain('value="alice@example.org"');
    expect(locationOf(await postOnce(browser, second, { username: "alice", password }))).toMatch(/^https:\/\/app\./);
  });

  it("half a name is kept when the language changes, and no name is none", async () => {
    const half = await follow(browser, await browser.pageOf(), { language: "de", username: "al", ask: "password" });
    expect(await see(half)).toMatchObject({ name: "al", asks: "name" });
    expect(await see(await name("  "))).toMatchObject({ name: "", asks: "name" });
  });

  it("the domain of an address leads to its provider; whoever comes back from there can use the password", async () => {
    await nameByAddress();
    const there = await name("alice@example.com");
    expect(isThere(there)).toBe(true);
    expect(new URL(there).searchParams.get("login_hint")).toBe("alice@example.com");
    const state = new URL(there).searchParams.get("state") ?? "";
    const back = `/upstream/idp/callback?${new URLSearchParams({ state, error: "access_denied", iss: upstreamIssuer })}`;
    const page = locationOf(await browser.once(back));
    const seen = await see(page);
    expect(seen).toMatchObject({ name: "alice@example.com", asks: "password" });
    expect(seen.html).toContain('name="upstream" value="idp"');
    const done = await postOnce(browser, page, { username: "alice@example.com", password });
    expect(locationOf(done)).toMatch(/^https:\/\/app\./);
  });

  it("login_hint: of the domain to the provider, any other name to the password, and neither for another account", async () => {
    const given = locationOf(await browser.once(await browser.pageOf({ login_hint: "x@example.com" })));
    expect(isThere(given)).toBe(true);
    expect(new URL(given).searchParams.get("login_hint")).toBe("x@example.com");
    const page = await browser.pageOf({ login_hint: "alice" });
    expect(await see(page)).toMatchObject({ name: "alice", asks: "password" });
    expect(await see(await follow(browser, page, { rename: "1" }))).toMatchObject({ name: "alice", asks: "name" });

    await postOnce(browser, page, { username: "alice", password });
    const again = await browser.pageOf({ login_hint: "alice", prompt: "login" });
    expect(await see(again)).toMatchObject({ name: "alice", asks: "password" });
    expect(await see(await follow(browser, again, { account: "other" }))).toMatchObject({ asks: "name" });
  });

  it("who is to connect an account proves it on the page for the password", async () => {
    await nameByAddress();
    const prove = locationOf(await browser.once(upstream.signIn(await name("alice@example.com"))));
    expect(await see(prove)).toMatchObject({ name: "alice@example.com", asks: "password" });
  });

  it("a required passkey asks for no name", async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ["phr"] } } });
    expect(await see(await browser.pageOf({ claims }))).toMatchObject({ name: undefined, asks: "name" });
  });

  it("nobody learns whether a name has an account: the same page, after the same calls", async () => {
    const trace = async (username: string) => {
      const meter = new DepthMeter(fixtures.app, { ...browser.env, LEASE_MS: "10000" });
      const visitor = new Browser({ app: meter.app }, meter.env);
      const page = await name(username, visitor);
      const { object, d1, kv, depth } = meter.last;
      const { html } = await see(page, visitor);
      const shown = html.replaceAll(/value="[\w-]{22,}"|data-options="[^"]*"|f=[\w-]+/g, "").replaceAll(username, "");
      return { calls: { object, d1, kv, depth }, after: meter.last, shown };
    };
    await trace("nobody");
    const known = await trace("alice");
    expect(known.calls).toMatchObject({ object: 0, d1: 0 });
    expect(await trace("nobody")).toEqual(known);
  });
});
