/**
 * **W: a write about a person stands only on what allowed it.** Each form is posted twice: once as it is, and it writes; once while a change is
 * committed after the form was judged and before it is written, and nothing is written. `test/topology/person-writes.test.ts` lists the writes.
 */

import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import { personalTables } from "@edge-op/shared/users/personal-data";
import { beforeEach, describe, expect, it } from "vitest";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import {
  authEnv,
  type Browser,
  formTokenOf,
  locationOf,
  password,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp, codeOfKey } from "./fixtures/authenticator-app.ts";
import { follow, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { StandInUpstream, seedUpstream, signInUpstream } from "./fixtures/stand-in-upstream.ts";

const { DB } = authEnv;
const mailed = useMailedCodes({ ...authEnv, SIGN_UP: "open" } as AuthEnv);
const { browser } = useDeployment({}, mailed);
const chosen = "purple monkey dishwasher 42";
const further = "further@example.org";

let upstream: StandInUpstream;
beforeEach(async () => {
  await seedUpstream();
  upstream = new StandInUpstream({ claims: { email: "alice@example.com", email_verified: true } }).install();
});

/** A deployment in which `end` is committed before the first write that has a guard. */
function ending(env: AuthEnv, end: () => Promise<unknown>): AuthEnv {
  const actual = new WeakMap<object, D1PreparedStatement>();
  const guarded = new WeakSet<object>();
  const wrap = (statement: D1PreparedStatement, isGuard: boolean): D1PreparedStatement => {
    const proxy = new Proxy(statement, {
      get(target, name) {
        if (name === "bind") return (...values: unknown[]) => wrap(target.bind(...values), isGuard);
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    actual.set(proxy, statement);
    if (isGuard) guarded.add(proxy);
    return proxy;
  };
  let isDue = true;
  const database = new Proxy(env.DB, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => wrap(target.prepare(sql), sql.includes("write refused"));
      if (name !== "batch") return Reflect.get(target, name);
      return async (statements: readonly D1PreparedStatement[]) => {
        if (isDue && statements.some((each) => guarded.has(each))) {
          isDue = false;
          await end();
        }
        return target.batch(statements.map((each) => actual.get(each) ?? each));
      };
    },
  });
  return { ...env, DB: database };
}

const ends = {
  /** As a new password does, a suspension, and whatever else ends every session. */
  "a change cuts the person off": () =>
    DB.batch([
      DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('user', 'alice', 1)"),
      recordNewest(DB, { key: "nb:sub:alice", untilMs: cutOffUntilMs(Date.now()) }),
    ]),
  "the session is signed out elsewhere": () => DB.prepare("DELETE FROM user_sessions WHERE sub = 'alice'").run(),
} as const;

/** Everything that is stored about people, but where they are signed in and when something was used last. */
async function stored(): Promise<string> {
  const tables = personalTables.filter(({ table }) => !["user_sessions", "user_grants"].includes(table));
  const rows = await DB.batch(tables.map(({ table }) => DB.prepare(`SELECT * FROM ${table}`)));
  return JSON.stringify(rows.map(({ results }) => results)).replaceAll(/"last_(used_at_ms|step)":\d+/g, "");
}

async function signIn(visitor = browser): Promise<void> {
  expect(locationOf(await visitor.signIn(locationOf(await visitor.get("/account"))))).toBe("/account");
}

/** Signs in with an app beside the password. */
async function signInWithTwo(): Promise<AuthenticatorApp> {
  const app = await AuthenticatorApp.register("alice");
  const next = locationOf(await browser.signIn(locationOf(await browser.get("/account"))));
  expect(locationOf(await browser.submit(next, { code: await app.code(-1) }))).toBe("/account");
  return app;
}

const accountToken = async () => formTokenOf(await (await browser.get("/account/security")).text());

type Post = () => Promise<Response>;

/** Posts a form of the account pages. */
async function account(path: string, fields: Readonly<Record<string, string>>): Promise<Post> {
  const form_token = await accountToken();
  return () =>
    browser.once(path, { method: "POST", headers, body: new URLSearchParams({ form_token, ...fields }).toString() });
}

const headers = { "content-type": "application/x-www-form-urlencoded" };

/** Posts the form of a step. */
async function step(name: string, page: string, fields: Readonly<Record<string, string>>): Promise<Post> {
  expect(stepOf(page)).toBe(name);
  const form_token = formTokenOf(await (await browser.once(page)).text());
  return () =>
    browser.once(page, { method: "POST", headers, body: new URLSearchParams({ form_token, ...fields }).toString() });
}

async function addressCode(address: string, isFurther: boolean): Promise<Post> {
  const fields: Record<string, string> = isFurther ? { address, further: "1" } : { address };
  const html = await (await browser.submit("/account/address", fields)).text();
  const state = /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "";
  return account("/account/address", { state, code: mailed.code });
}

async function askedToConnect(): Promise<string> {
  const page = locationOf(await signInUpstream(browser, await browser.pageOf(), upstream));
  return locationOf(await browser.signIn(page));
}

/** What is posted, by the session of the person. */
const inSession: Readonly<Record<string, () => Promise<Post>>> = {
  "a name": async () => {
    await signIn();
    return account("/account/name", { name: "Mallory" });
  },
  "a language": async () => {
    await signIn();
    return account("/account/language", { language: "de" });
  },
  "another address": async () => {
    await signIn();
    return addressCode("new@example.org", false);
  },
  "a further address": async () => {
    await signIn();
    return addressCode("new@example.org", true);
  },
  "a further address as the main one": async () => {
    await seedAddress("alice", further);
    await signIn();
    return account("/account/address/primary", { address: further });
  },
  "the removal of an address": async () => {
    await seedAddress("alice", further);
    await signIn();
    return account("/account/address/remove", { address: further });
  },
  "a passkey": async () => {
    await signIn();
    const html = await (await browser.get("/account/security")).text();
    const ceremony = /name="ceremony" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const { credential } = await SoftwarePasskey.create(html);
    return account("/account/passkeys", { ceremony, credential });
  },
  "the name of a passkey": async () => {
    const { id } = await SoftwarePasskey.register("alice");
    await signIn();
    return account("/account/passkeys/rename", { credential_id: id, name: "Laptop" });
  },
  "the removal of a passkey": async () => {
    const { id } = await SoftwarePasskey.register("alice");
    await signIn();
    return account("/account/passkeys/remove", { credential_id: id });
  },
  "an app": async () => {
    await signIn();
    const page = locationOf(await browser.get("/account/apps"));
    const [, key = ""] = /id="key">([^<]+)</.exec(await (await browser.get(page)).text())!;
    return account("/account/apps", { code: await codeOfKey(key), setup: page.split("setup=")[1]! });
  },
  "the removal of an app": async () => {
    const { factorId } = await signInWithTwo();
    return account("/account/factors/remove", { factor_id: factorId });
  },
  "recovery codes": async () => {
    await signInWithTwo();
    return account("/account/recovery-codes", {});
  },
  "an identity": async () => {
    await signIn();
    const leave = await account("/account/identities", { upstream: "idp" });
    const page = locationOf(await browser.once(upstream.signIn(locationOf(await leave()))));
    const link = new URL(page, "https://op.example.com").searchParams.get("link")!;
    return account("/account/identities/confirm", { link, decision: "connect" });
  },
  "the removal of an identity": async () => {
    const insert = "INSERT INTO user_identities VALUES ('idp', 'https://idp.example', '1', 'alice', 'a', 0, NULL)";
    await DB.prepare(insert).run();
    await signIn();
    const html = await (await browser.get("/account/security")).text();
    const identity = /identities\/remove\?identity=([^"]+)"/.exec(html)![1]!;
    return account("/account/identities/remove", { identity });
  },
  "a password": async () => {
    await signIn();
    return account("/account/password", { current: password, new: chosen, repeat: chosen });
  },
  "the deletion of the account": async () => {
    await signIn();
    return account("/account/delete", {});
  },
  "a consent": async () => {
    const page = locationOf(await browser.signIn(await browser.pageOf()));
    return step("consent", page, { decision: "allow" });
  },
};

/** What is posted, by proofs that have not opened a session. */
const inFlow: Readonly<Record<string, () => Promise<Post>>> = {
  "an app that a sign-in needs": async () => {
    browser.env = { ...mailed.env, MFA: "required" } as AuthEnv;
    const page = locationOf(await browser.signIn(await browser.pageOf()));
    const [, key = ""] = /id="key">([^<]+)</.exec(await (await browser.get(page)).text())!;
    return step("enrol", page, { code: await codeOfKey(key) });
  },
  "a password in place of a forgotten one": async () => {
    const asked = await follow(browser, await follow(browser, await browser.pageOf(), { recover: "1" }), {
      address: "alice@example.com",
    });
    const page = await follow(browser, asked, { code: mailed.code });
    return step("set-password", page, { new: chosen, repeat: chosen });
  },
  "the decision to keep an account": async () => {
    await DB.prepare("UPDATE users SET deletes_at_ms = ?1 WHERE sub = 'alice'")
      .bind(Date.now() + 86_400_000)
      .run();
    const page = locationOf(await browser.signIn(await browser.pageOf()));
    return step("restore", page, { decision: "keep" });
  },
  "the identity that a sign-in connects": async () => step("link", await askedToConnect(), { decision: "connect" }),
};

async function postWhile(prepare: () => Promise<Post>, end: (() => Promise<unknown>) | undefined) {
  const post = await prepare();
  const before = await stored();
  if (end !== undefined) browser.env = ending(browser.env, end);
  const response = await post();
  return { location: locationOfPage(response), isWritten: (await stored()) !== before };
}

/** The step to which a form leads; the path of another page, `undefined` for a page in the response. */
function locationOfPage(response: Response): string | undefined {
  const location = response.headers.get("location");
  return location === null ? undefined : (stepOf(location) ?? locationOf(response));
}

describe("by a session", () => {
  it.each(Object.entries(inSession))("%s is written", async (_, prepare) => {
    expect(await postWhile(prepare, undefined)).toMatchObject({ isWritten: true });
  });

  for (const [name, end] of Object.entries(ends)) {
    it.each(Object.entries(inSession))(`%s is not, if ${name} before`, async (_, prepare) => {
      expect(await postWhile(prepare, end)).toEqual({ location: "sign-in", isWritten: false });
    });
  }
});

describe("by proofs that have not opened a session", () => {
  it.each(Object.entries(inFlow))("%s is written", async (_, prepare) => {
    expect(await postWhile(prepare, undefined)).toMatchObject({ isWritten: true });
  });

  it.each(Object.entries(inFlow))("%s is not, if a change cuts the person off before", async (_, prepare) => {
    const end = ends["a change cuts the person off"];
    expect(await postWhile(prepare, end)).toEqual({ location: "sign-in", isWritten: false });
  });
});

describe("a row that is not the one that was read", () => {
  const changed = async (prepare: () => Promise<Post>, change: string) => {
    const post = await prepare();
    const read = async () =>
      (await DB.prepare("SELECT hash FROM user_passwords WHERE sub = 'alice'").first("hash")) ?? null;
    const main = () => DB.prepare("SELECT claims ->> '$.email' AS email FROM users WHERE sub = 'alice'").first("email");
    browser.env = ending(browser.env, () => DB.prepare(change).run());
    const before = [await read(), await main()];
    const response = await post();
    return { location: locationOfPage(response), before, after: [await read(), await main()] };
  };

  it("of two changes that were confirmed by one password, the first stands", async () => {
    const first = "UPDATE user_passwords SET hash = 'first' WHERE sub = 'alice'";
    const { location, after } = await changed(inSession["a password"]!, first);
    expect([location, after[0]]).toEqual(["/account/security?notice=not-changed", "first"]);
  });

  it.each(["another address", "a further address as the main one"])(
    "of two changes of one main address, the first stands (%s)",
    async (name) => {
      const first = "UPDATE users SET claims = json_set(claims, '$.email', 'first@example.org') WHERE sub = 'alice'";
      const { location, after } = await changed(inSession[name]!, first);
      expect([location, after[1]]).toEqual(["/account?notice=not-changed", "first@example.org"]);
    },
  );

  it.each([
    ["the address was given up", "UPDATE user_addresses SET held_until_ms = 9e15 WHERE sub = 'alice'"],
    ["the person has set up an app", "INSERT INTO user_totp VALUES ('alice', 'a', 's', 'k', 0, 0, NULL)"],
  ])("NIST SP 800-63B-4 §4.2.2.2: a mailbox sets no password after %s", async (_, change) => {
    const { location, before, after } = await changed(inFlow["a password in place of a forgotten one"]!, change);
    expect([location, after[0]]).toEqual(["sign-in", before[0]]);
  });
});

it("the browser of a refused form says why it asks for a sign-in", async () => {
  const post = await inFlow["a password in place of a forgotten one"]!();
  browser.env = ending(browser.env, ends["a change cuts the person off"]);
  const page = locationOf(await post());
  expect(await (await (browser as Browser).get(page)).text()).toContain("was changed");
});
