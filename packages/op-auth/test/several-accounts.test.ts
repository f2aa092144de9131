/**
 * **Several accounts in one browser.** The rule is in `src/session/choose-account.ts`. Its invariants: a request is never answered for another
 * account than the one that was chosen or named (I1); a flow is bound to one account (I2); the list has at most five sessions, one of each person,
 * and none that has ended is offered (I3); a browser with one account makes the calls that it made before there was a list (I4).
 */

import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { signIdToken } from "@edge-op/shared/tokens/id-token";
import { savePassword } from "@edge-op/shared/users/credentials";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { accountsAtMost } from "../src/session/browser-accounts.ts";
import {
  type AuthorizationParameters,
  authEnv,
  type Browser,
  codeClient,
  contextOf,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

const chosen = "purple monkey dishwasher 42";
const goodbye = "https://app.example.com/goodbye";
const frontChannel = "https://app.example.com/frontchannel";
const { fixtures, browser } = useDeployment({
  post_logout_redirect_uris: [goodbye],
  frontchannel_logout_uri: frontChannel,
});

/** Two people are signed in: Alice, then Bob, who is active. Both have allowed the client. */
beforeEach(async () => {
  await browser.signInWhole();
  await add("bob");
});

async function add(username: string, from: Browser = browser): Promise<void> {
  const page = await from.pageOf({ prompt: "login", login_hint: `${username}@nowhere.example` });
  const answer = locationOf(await from.signIn(page, username));
  if (stepOf(answer) === "consent") await from.allow(answer);
}

async function subOf(answer: Response): Promise<string> {
  const sent = sentToClient(answer);
  return sent["code"] === undefined ? sent["error"]! : (await fixtures.payloadOf(sent["code"])).sub;
}

/** The person whose code a silent request gets, or its error. */
async function silently(parameters: AuthorizationParameters = {}, from: Browser = browser): Promise<string> {
  return subOf(await from.authorize({ prompt: "none", ...parameters }));
}

async function idTokenOf(sub: string, clientId = "app"): Promise<string> {
  const context = contextOf();
  return signIdToken(context, fixtures.isolate, {
    grant: await grantNow(context, fixtures.isolate),
    client: (await fixtures.isolate.clients.find(context, clientId))!,
    sub,
    nonce: undefined,
    sid: undefined,
    authTimeSeconds: undefined,
    acr: undefined,
    amr: undefined,
    accessToken: "access-token",
    code: undefined,
    userClaims: {},
  });
}

/** Who the account pages are for; `undefined` if they lead elsewhere. */
async function active(from: Browser = browser): Promise<string | undefined> {
  const response = await from.get("/account");
  return response.status === 200 ? /Signed in as ([^<]+)</.exec(await response.text())?.[1] : undefined;
}

const pathToChoose = "/account/choose?to=%2Faccount";

async function offered(from: Browser = browser): Promise<string[]> {
  const html = await (await from.get(pathToChoose)).text();
  return [...html.matchAll(/name="choose" value="([^"]+)"/g)].map(([, sub = ""]) => sub);
}

async function atChooser(fields: Record<string, string>, from: Browser = browser): Promise<Response> {
  const html = await (await from.get(pathToChoose)).text();
  return from.post("/account/choose", { form_token: formTokenOf(html), to: "/account", ...fields });
}

const claimed = (sub: string) => JSON.stringify({ id_token: { sub: { value: sub } } });

describe("I1: whom a silent request is for", () => {
  it.each<[string, () => Promise<AuthorizationParameters> | AuthorizationParameters, string]>([
    ["nobody is named", () => ({}), "account_selection_required"],
    ["an id_token_hint", async () => ({ id_token_hint: await idTokenOf("alice") }), "alice"],
    ["one of the active account", async () => ({ id_token_hint: await idTokenOf("bob") }), "bob"],
    ["the claim sub", () => ({ claims: claimed("alice") }), "alice"],
    ["a sub of nobody here", () => ({ claims: claimed("carol") }), "login_required"],
    ["an address", () => ({ login_hint: "Alice@Example.com " }), "alice"],
    ["a username", () => ({ login_hint: "bob" }), "bob"],
    ["an address of nobody here", () => ({ login_hint: "carol@example.com" }), "account_selection_required"],
    ["a hint that nobody understands", () => ({ login_hint: "+49 30 901820" }), "account_selection_required"],
    [
      "a hint and the sub of another: the sub decides",
      () => ({ login_hint: "bob", claims: claimed("alice") }),
      "alice",
    ],
  ])("%s", async (_, parameters, expected) => {
    expect(await silently(await parameters())).toBe(expected);
  });

  it("an address that is not their main one", async () => {
    await authEnv.DB.prepare(
      "INSERT INTO user_addresses (address_key, sub, verified_at_ms) VALUES ('alice@example.org', 'alice', 1)",
    ).run();
    expect(await silently({ login_hint: "alice@example.org" })).toBe("alice");
  });

  it("with one account, by the address of another one: it is not answered", async () => {
    const alone = fixtures.browser();
    await alone.signInWhole();
    expect(await silently({ login_hint: "bob@example.com" }, alone)).toBe("account_selection_required");
    expect(await silently({ login_hint: "alice@example.com" }, alone)).toBe("alice");
    expect(await silently({ login_hint: "what nobody understands" }, alone)).toBe("alice");
    const page = await alone.pageOf({ login_hint: "bob@example.com" });
    expect(stepOf(page)).toBe("select-account");
    expect(await subOf(await alone.submit(page, { choose: "alice" }))).toBe("alice");
  });

  it("pairwise subjects: each client names the account by its own", async () => {
    await seedClient(authEnv, "pairs", { ...codeClient, subject_type: "pairwise", skip_consent: true });
    const page = await browser.pageOf({ client_id: "pairs" });
    await browser.submit(page, { choose: "alice" });
    const client = (await fixtures.isolate.clients.find(contextOf(), "pairs"))!;
    const sub = (await pairwiseSubject(authEnv, client, "alice"))!;
    expect(await silently({ client_id: "pairs", claims: claimed(sub) })).toBe("alice");
    expect(await silently({ client_id: "pairs", login_hint: sub })).toBe("alice");
    expect(await silently({ client_id: "pairs", claims: claimed("alice") })).toBe("login_required");
  });
});

describe("I1: whom a request with pages is for", () => {
  it("nobody is named: the person chooses, and the chosen one is active from then on", async () => {
    const page = await browser.pageOf();
    expect(stepOf(page)).toBe("select-account");
    const html = await (await browser.get(page)).text();
    expect(html).toContain("Alice Example");
    expect(html).toContain("bob");
    expect(await subOf(await browser.submit(page, { choose: "alice" }))).toBe("alice");
    expect([await active(), await offered()]).toEqual(["Alice Example", ["alice", "bob"]]);
  });

  it.each<[string, AuthorizationParameters, string]>([
    ["prompt=login", { prompt: "login" }, "alice"],
    ["max_age=0", { max_age: "0" }, "alice"],
    ["prompt=select_account and a hint", { prompt: "select_account", login_hint: "bob" }, "alice"],
  ])("%s: the chosen one is asked, and signs in", async (_, parameters, chosen) => {
    const page = await browser.pageOf(parameters);
    expect(stepOf(page)).toBe("select-account");
    const answer = await browser.submit(page, { choose: chosen });
    if (parameters["login_hint"] !== undefined) {
      expect(await subOf(answer)).toBe(chosen);
      return;
    }
    const signIn = locationOf(answer);
    expect(stepOf(signIn)).toBe("sign-in");
    expect(await (await browser.get(signIn)).text()).toContain("Alice Example");
    expect(await subOf(await browser.signIn(signIn, chosen))).toBe(chosen);
  });

  it("prompt=login with a name leads to the sign-in of that account", async () => {
    const page = await browser.pageOf({ prompt: "login", id_token_hint: await idTokenOf("alice") });
    expect(stepOf(page)).toBe("sign-in");
    expect(await (await browser.get(page)).text()).toContain("Alice Example");
    const session = browser.cookies.get("__Host-op-session");
    expect(await subOf(await browser.signIn(page, "alice"))).toBe("alice");
    expect(browser.cookies.get("__Host-op-session")).not.toBe(session);
    expect(await offered()).toEqual(["alice", "bob"]);
  });

  it("another account: nobody is signed out", async () => {
    const page = await browser.pageOf();
    const signIn = locationOf(await browser.submit(page, { account: "other" }));
    expect(await (await browser.get(signIn)).text()).not.toContain("Alice Example");
    await browser.signIn(signIn, "alice");
    expect(await offered()).toEqual(["alice", "bob"]);
  });

  it("another account whose last step proves nothing: nobody is signed out", async () => {
    const alone = fixtures.browser();
    await alone.signInWhole();
    const temporary = await hashPassword("temporary secret");
    await savePassword(authEnv.DB, "bob", temporary, 1, Date.now() + 86_400_000).run();
    const signIn = locationOf(await atChooser({ account: "other" }, alone));
    const page = locationOf(await alone.signIn(signIn, "bob", "temporary secret"));
    expect(stepOf(page)).toBe("set-password");
    await alone.submit(page, { new: chosen, repeat: chosen });
    expect(await offered(alone)).toEqual(["bob", "alice"]);
  });

  it("a name that is not in the list adds nobody", async () => {
    const page = await browser.pageOf();
    expect(stepOf(locationOf(await browser.submit(page, { choose: "mallory" })))).toBe("sign-in");
    expect(await offered()).toEqual(["bob", "alice"]);
  });
});

describe("I2: a flow is bound to one account", () => {
  it("a choice in another tab does not change whose consent is given", async () => {
    await seedClient(authEnv, "second", codeClient);
    const consent = locationOf(
      await browser.submit(await browser.pageOf({ client_id: "second" }), { choose: "alice" }),
    );
    await atChooser({ choose: "bob" });
    expect(await active()).toBe("bob");
    expect(await (await browser.get(consent)).text()).toContain("Alice Example");
    expect(await subOf(await browser.allow(consent))).toBe("alice");
    const { results } = await authEnv.DB.prepare("SELECT sub FROM consents WHERE client_id = 'second'").all();
    expect(results).toEqual([{ sub: "alice" }]);
  });

  it("a flow of an account that was signed out begins anew, and is for no other", async () => {
    await seedClient(authEnv, "second", codeClient);
    const consent = locationOf(
      await browser.submit(await browser.pageOf({ client_id: "second" }), { choose: "alice" }),
    );
    const html = await (await browser.get(consent)).text();
    await atChooser({ "sign-out": "alice" });
    const fields = { f: new URLSearchParams(consent.split("?")[1]).get("f")!, form_token: formTokenOf(html) };
    const answer = locationOf(await browser.post("/flow/consent", { ...fields, decision: "allow" }));
    expect(answer).toMatch(/^\/flow\/restart/);
    expect(await authEnv.DB.prepare("SELECT count(*) AS n FROM consents WHERE client_id = 'second'").first("n")).toBe(
      0,
    );
  });

  it("a form of the account pages is posted by the account that it was shown to", async () => {
    const form_token = formTokenOf(await (await browser.get("/account/sessions/end-others")).text());
    await atChooser({ choose: "alice" });
    expect((await browser.post("/account/sessions/end-others", { form_token })).status).toBe(403);
  });

  it("a page of this provider is for the active account, also after another one was chosen meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 3_600_000);
    const page = locationOf(await browser.get("/account/delete"));
    expect(stepOf(page)).toBe("sign-in");
    await atChooser({ choose: "alice" });
    expect(await (await browser.get(page)).text()).toContain("bob");
  });
});

describe("I3: what is in the list", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["a sign-out from another device", () => endFrom("/account/sessions/end-others", {})],
    ["a new password", () => endFrom("/account/password", { current: password, new: chosen, repeat: chosen })],
    ["a suspension", () => change("UPDATE users SET status = 'suspended' WHERE sub = 'alice'")],
    ["a cut-off", () => change("SELECT 1", { kind: "sub", id: "alice", actor: "console" })],
  ])("%s: the account is not offered, and the other one needs no choice", async (_, end) => {
    await end();
    expect(await offered()).toEqual(["bob"]);
    expect(await silently()).toBe("bob");
    expect(await silently({ claims: claimed("alice") })).toBe("login_required");
  });

  async function change(statement: string, cutOff?: Parameters<typeof commitControlChange>[3]): Promise<void> {
    await commitControlChange(contextOf(), [authEnv.DB.prepare(statement)], [{ kind: "user", id: "alice" }], cutOff);
  }

  async function endFrom(path: string, fields: Record<string, string>): Promise<void> {
    const elsewhere = fixtures.browser();
    await elsewhere.signInWhole();
    const form_token = formTokenOf(await (await elsewhere.get(path)).text());
    await elsewhere.post(path, { form_token, ...fields });
  }

  it("when the active one has ended, the other one is not used before it is chosen", async () => {
    await atChooser({ "sign-out": "bob" });
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    expect(await silently()).toBe("account_selection_required");
    expect(locationOf(await browser.get("/account/security"))).toBe("/account/choose?to=%2Faccount%2Fsecurity");
    expect(locationOf(await atChooser({ choose: "alice" }))).toBe("/account");
    expect([await active(), await silently()]).toEqual(["Alice Example", "alice"]);
    expect(browser.cookies.has("__Host-op-accounts")).toBe(false);
  });

  it(`has at most ${accountsAtMost} accounts; a further one ends the one of the longest time ago`, async () => {
    const copy = fixtures.copyOf(browser);
    const people = ["carol", "dora", "emil", "fritz"];
    await seedPeople(people);
    for (const sub of people) await add(sub);
    expect(await offered()).toEqual(["fritz", "emil", "dora", "carol", "bob"]);
    expect(browser.cookies.get("__Host-op-accounts")!.length).toBeLessThan(900);
    // Alice's session has ended, also for who has copied the cookies.
    expect(await silently({ claims: claimed("alice") }, copy)).toBe("login_required");
    expect(await silently({ claims: claimed("bob") }, copy)).toBe("bob");
  });

  it("signing in anew as somebody in the list replaces their session", async () => {
    const copy = fixtures.copyOf(browser);
    const signIn = locationOf(await atChooser({ account: "other" }));
    await browser.signIn(signIn, "alice");
    expect([await offered(), await active()]).toEqual([["alice", "bob"], "Alice Example"]);
    expect(await silently({ claims: claimed("alice") }, copy)).toBe("login_required");
    const { results } = await authEnv.DB.prepare("SELECT sub FROM user_sessions ORDER BY sub").all();
    expect(results).toEqual([{ sub: "alice" }, { sub: "bob" }]);
  });

  it("a list that this provider did not write is none", async () => {
    browser.cookies.set("__Host-op-accounts", `${browser.cookies.get("__Host-op-accounts")!.slice(0, -4)}AAAA`);
    expect([await offered(), await silently()]).toEqual([["bob"], "bob"]);
  });

  it("beside a session that the previous release has opened, nobody is mistaken for another", async () => {
    await seedPeople(["carol"]);
    const other = fixtures.browser();
    await add("carol", other);
    browser.cookies.set("__Host-op-session", other.cookies.get("__Host-op-session")!);
    expect(await active()).toBe("carol");
    expect(await silently()).toBe("account_selection_required");
    expect(await silently({ claims: claimed("alice") })).toBe("alice");
    expect(await silently({ claims: claimed("carol") })).toBe("carol");
    expect(await offered()).toEqual(["carol", "bob", "alice"]);
  });
});

/** Gives further people the password of the fixtures. */
async function seedPeople(people: readonly string[]): Promise<void> {
  const hash = await hashPassword(password);
  for (const sub of people) await seedUser(authEnv, sub);
  await authEnv.DB.batch(people.map((sub) => savePassword(authEnv.DB, sub, hash, 0)));
}

describe("the end of a session", () => {
  const logout = (parameters: Record<string, string> = {}) => browser.get(`/logout?${new URLSearchParams(parameters)}`);

  it.each<[string, string]>([
    ["of another account", "alice"],
    ["of the active one", "bob"],
  ])("a hint %s ends it alone, and loads the front-channel URLs of its clients alone", async (_, sub) => {
    const response = await logout({ id_token_hint: await idTokenOf(sub), post_logout_redirect_uri: goodbye });
    const html = await response.text();
    expect(html.match(/<iframe/g)).toHaveLength(1);
    const [left = ""] = ["alice", "bob"].filter((each) => each !== sub);
    expect(await offered()).toEqual([left]);
    expect(await silently({ claims: claimed(sub) })).toBe("login_required");
    expect(await silently({ claims: claimed(left) })).toBe(left);
  });

  it("a hint of nobody here: the person confirms, for the active one or for all", async () => {
    const page = await logout({ id_token_hint: await idTokenOf("carol") });
    const html = await page.text();
    expect(html).toContain('value="leave"');
    expect(html).toContain('value="all"');
    expect(html).toMatch(/class="person".*bob/);
    const left = await browser.post("/logout/confirm", { form_token: formTokenOf(html), decision: "leave" });
    expect(await left.text()).toContain("You are still signed in to another account");
    expect(await offered()).toEqual(["alice"]);
  });

  it("all of them", async () => {
    const copy = fixtures.copyOf(browser);
    const html = await (await logout()).text();
    const left = await browser.post("/logout/confirm", { form_token: formTokenOf(html), decision: "all" });
    expect((await left.text()).match(/<iframe/g)).toHaveLength(2);
    for (const sub of ["alice", "bob"]) expect(await silently({ claims: claimed(sub) }, copy)).toBe("login_required");
    expect(browser.cookies.has("__Host-op-accounts")).toBe(false);
  });

  it("without an active one, the page asks about all", async () => {
    await atChooser({ "sign-out": "bob" });
    const html = await (await logout()).text();
    expect(html).not.toContain('value="leave"');
    await browser.post("/logout/confirm", { form_token: formTokenOf(html), decision: "all" });
    expect(await silently({ claims: claimed("alice") })).toBe("login_required");
  });

  it("a page that asked about one account does not sign another one out", async () => {
    const form_token = formTokenOf(await (await logout()).text());
    await atChooser({ choose: "alice" });
    expect((await browser.post("/logout/confirm", { form_token, decision: "leave" })).status).toBe(403);
    expect(await offered()).toEqual(["alice", "bob"]);
  });

  it("at the account pages, of this browser: the other account stays", async () => {
    const sid = await authEnv.DB.prepare("SELECT sid FROM user_sessions WHERE sub = 'bob'").first<string>("sid");
    await browser.submit(`/account/sessions/end?sid=${sid}`, {});
    const form_token = formTokenOf(await (await browser.get(`/account/sessions/end?sid=${sid}`)).text());
    await browser.post("/account/sessions", { form_token, sid: sid! });
    expect(await offered()).toEqual(["alice"]);
  });
});

describe("attacks on several accounts", () => {
  it.each<[string, Record<string, string>]>([
    ["switches the account", { choose: "alice" }],
    ["signs an account out", { "sign-out": "alice" }],
    ["begins a sign-in to another account", { account: "other" }],
  ])("a form of another site that %s is refused, also with a token of the attacker's browser", async (_, fields) => {
    const attacker = fixtures.browser();
    await attacker.signInWhole();
    const form_token = formTokenOf(await (await attacker.get(pathToChoose)).text());
    for (const token of [{}, { form_token }]) {
      expect((await browser.post("/account/choose", { ...token, to: "/account", ...fields })).status).toBe(403);
    }
    expect([await active(), await offered()]).toEqual(["bob", ["bob", "alice"]]);
  });

  it("a return to another origin leads to the start page", async () => {
    for (const to of ["https://evil.example/", "//evil.example", "/\\evil.example"]) {
      expect(locationOf(await atChooser({ choose: "alice", to }))).toBe("/");
    }
  });

  it("the attacker's page, form and chosen account are void in the browser of somebody else", async () => {
    const attacker = fixtures.browser();
    await attacker.signIn(locationOf(await attacker.get("/account")), "bob");
    await add("alice", attacker);
    const page = await attacker.pageOf();
    expect((await browser.get(page)).status).toBe(400);
    expect(await active()).toBe("bob");
  });

  it("the attacker's list beside one's own session offers nothing before it is chosen", async () => {
    const victim = fixtures.browser();
    await victim.signInWhole();
    victim.cookies.set("__Host-op-accounts", browser.cookies.get("__Host-op-accounts")!);
    expect([await active(victim), await silently({}, victim)]).toEqual(["Alice Example", "account_selection_required"]);
  });
});

describe("I4: what it costs", () => {
  const counted = async (from: Browser, parameters: AuthorizationParameters) => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const own = fixtures.copyOf(from, countCalls(authEnv, counts));
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await silently(parameters, from);
    await silently(parameters, own);
    return counts;
  };

  it("a silent request: one call with one account, and one with several that names it", async () => {
    const alone = fixtures.browser();
    await alone.signInWhole();
    expect(alone.cookies.has("__Host-op-accounts")).toBe(false);
    expect(await counted(alone, {})).toEqual({ object: 1, kv: 0, d1: 0 });
    expect(await counted(browser, { id_token_hint: await idTokenOf("bob") })).toEqual({ object: 1, kv: 0, d1: 0 });
    expect(await counted(browser, { login_hint: "alice@example.com" })).toEqual({ object: 1, kv: 0, d1: 0 });
    // Both sessions are read, because one that has ended is no reason to choose.
    expect(await counted(browser, {})).toEqual({ object: 2, kv: 0, d1: 0 });
  });
});

describe("any order of sign-ins, choices and ends", () => {
  it.each([1, 2, 3])("keeps I1 and I3 (%i)", async (seed) => {
    let state = seed * 2_654_435_761;
    const pick = <T>(items: readonly T[]): T => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return items[(state >>> 8) % items.length]!;
    };
    const people = ["alice", "bob"];
    const model = { active: "bob" as string | undefined, open: ["bob", "alice"] };
    for (let step = 0; step < 14; step += 1) {
      const sub = pick(people);
      const action = pick(["add", "choose", "sign out", "ask", "name"]);
      if (action === "add") {
        await browser.signIn(locationOf(await browser.get("/account/choose?to=/account").then(toSignIn)), sub);
        Object.assign(model, { active: sub, open: [sub, ...model.open.filter((each) => each !== sub)] });
      } else if (action === "choose" && model.open.includes(sub)) {
        await atChooser({ choose: sub });
        Object.assign(model, { active: sub, open: [sub, ...model.open.filter((each) => each !== sub)] });
      } else if (action === "sign out" && model.open.includes(sub)) {
        await atChooser({ "sign-out": sub });
        const active = model.active === sub ? undefined : model.active;
        Object.assign(model, { active, open: model.open.filter((each) => each !== sub) });
      } else if (action === "ask") {
        const isAlone = model.open.length === 1 && model.active !== undefined;
        const expected = model.open.length === 0 ? "login_required" : "account_selection_required";
        expect(await silently()).toBe(isAlone ? model.active : expected);
      } else if (action === "name") {
        const expected = model.open.includes(sub) ? sub : "login_required";
        expect(await silently({ claims: claimed(sub) })).toBe(expected);
      }
      if (model.open.length > 0) expect(await offered()).toEqual(model.open);
    }
  });

  async function toSignIn(page: Response): Promise<Response> {
    if (page.status === 303) return page;
    const form_token = formTokenOf(await page.text());
    return browser.post("/account/choose", { form_token, to: "/account", account: "other" });
  }
});
