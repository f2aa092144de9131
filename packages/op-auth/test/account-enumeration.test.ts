/**
 * **Nobody learns whether an account exists**: for every kind of account and for none, a wrong password, a forgotten password and a sign-up have the
 * same statuses, headers, bytes, calls and cost of hashes. `load-tests/measure/measure-account-timing.ts` measures their time.
 */

import { createRequestContext } from "@edge-op/shared/http/request-context";
import { costOf, dearestHash, refusalMs } from "@edge-op/shared/secrets/hash-cost";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { readHash, type StoredHash } from "@edge-op/shared/secrets/stored-hash";
import { findPassword, savePassword } from "@edge-op/shared/users/credentials";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DepthMeter } from "../../../test/fixtures/call-depth.ts";
import { importedHashes } from "../../../test/fixtures/imported-hashes.ts";
import { currentCost } from "../../../test/fixtures/password-cost.ts";
import { seedUser } from "../../../test/fixtures/seed.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { authEnv, Browser, formTokenOf, locationOf, origin, useDeployment } from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { follow, MailedCodes, postOnce, seedAddress } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { seedUpstream } from "./fixtures/stand-in-upstream.ts";

const { DB } = authEnv;
const run = (sql: string, ...values: unknown[]) =>
  DB.prepare(sql)
    .bind(...values)
    .run();

/** Makes each of five letters, which are no words of a page, an account with an address of the same name. */
const accounts: Readonly<Record<string, (sub: string) => Promise<unknown>>> = {
  known: async () => {},
  suspd: (sub) => run("UPDATE users SET status = 'suspended' WHERE sub = ?1", sub),
  leave: (sub) => run("UPDATE users SET deletes_at_ms = 9e15 WHERE sub = ?1", sub),
  fedra: async (sub) => {
    await seedUpstream();
    await run("DELETE FROM user_passwords WHERE sub = ?1", sub);
    const insert = "INSERT INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms) VALUES";
    await run(`${insert} ('idp', 'https://idp.example.net', 'there', ?1, 'there', 0)`, sub);
  },
  authr: (sub) => AuthenticatorApp.register(sub),
  psskk: async (sub) => {
    await SoftwarePasskey.register(sub);
    await run("DELETE FROM user_passwords WHERE sub = ?1", sub);
  },
  tempy: async (sub) => savePassword(DB, sub, await hashPassword("given by an administrator"), 0, 9e15).run(),
  heldd: (sub) => run("UPDATE user_addresses SET held_until_ms = 9e15 WHERE sub = ?1", sub),
  // A cheaper hash of another product.
  cheap: (sub) =>
    run(
      "UPDATE user_passwords SET hash = '$scrypt$ln=1,r=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$MDLAj8t5IJu9XD5dJ7dNSioSUnKEwZeY2mn120BSHM8' WHERE sub = ?1",
      sub,
    ),
};

let meter: DepthMeter<AuthEnv>;

const { fixtures } = useDeployment();

beforeEach(async () => {
  const hash = await hashPassword("the password of everybody");
  for (const [sub, change] of Object.entries(accounts)) {
    const address = `${sub}@example.com`;
    await seedUser(authEnv, sub, { claims: { email: address, email_verified: true } });
    await savePassword(DB, sub, hash, 0).run();
    await change(sub);
  }
  meter = new DepthMeter(fixtures.app, { ...authEnv, LEASE_MS: "10000", SIGN_UP: "open" } as AuthEnv);
});

/** The parts of a response that a caller can compare, without those that differ between any two responses; and its calls. */
async function seenOf(response: Response, typed: string): Promise<object> {
  const varying = /f=[^"&]+|value="[^"]{20,}"|data-options="[^"]*"|lang=[^"&]+&amp;return[^"]*/g;
  const headers = [...response.headers].filter(([name]) => !["location", "set-cookie", "request-id"].includes(name));
  const cookies = response.headers.getSetCookie().map((line) => line.replace(/=[^;]*/, ""));
  const { pathname } = new URL(response.headers.get("location") ?? "/", "https://op.example.com");
  const { object, d1, kv, depth } = meter.last;
  const text = (await response.text()).replaceAll(typed, "NAME").replaceAll(varying, "");
  return { status: response.status, headers, cookies, pathname, text, object, d1, kv, depth };
}

type Way = (
  visitor: Browser,
  codes: MailedCodes,
  typed: string,
  note: (of: Response) => Promise<Response>,
) => Promise<void>;

/** A lease that has ended would be a call of one of two requests. */
async function keepLeases(): Promise<void> {
  const context = createRequestContext(new Request(origin), { ...authEnv, LEASE_MS: "10000" }, { waitUntil: () => {} });
  await fixtures.isolate.revocation.confirmControl(context);
}

async function observe(way: Way, typed: string): Promise<readonly object[]> {
  await keepLeases();
  const codes = new MailedCodes(meter.env);
  const visitor = new Browser({ app: meter.app }, codes.env);
  const seen: object[] = [];
  await way(visitor, codes, typed, async (response) => {
    const copy = response.clone();
    seen.push(await seenOf(response, typed));
    return copy;
  });
  return seen;
}

/** Compares every account with a name of nobody; the first one loads what an isolate keeps. */
async function compare(way: Way, nameOf: (sub: string) => string): Promise<void> {
  await observe(way, nameOf("first"));
  const nobody = await observe(way, nameOf("nobdy"));
  for (const sub of Object.keys(accounts)) expect(await observe(way, nameOf(sub)), sub).toEqual(nobody);
}

const addressOf = (sub: string) => `${sub}@example.com`;

/** The page that a button of the sign-in page leads to. */
async function pageOf(visitor: Browser, button: string): Promise<string> {
  return follow(visitor, locationOf(await visitor.authorize()), { [button]: "1" });
}

describe("every account and no account: the same statuses, headers, bytes and calls", {
  retry: 2,
  timeout: 120_000,
}, () => {
  const signIn: Way = async (visitor, _, username, note) => {
    const page = locationOf(await visitor.authorize({ login_hint: username }));
    await note(await visitor.once(page));
    const wrong = await note(await postOnce(visitor, page, { username, password: "a wrong password" }));
    await note(await visitor.once(locationOf(wrong)));
  };

  it("a wrong password, by a username and by an address, also as login_hint", async () => {
    await compare(signIn, (sub) => sub);
    await compare(signIn, addressOf);
  });

  it("the right password of a suspended person is told; with any other one they are like everybody", async () => {
    const told = async (username: string, secret: string) => {
      const visitor = fixtures.browser();
      const response = await visitor.signIn(locationOf(await visitor.authorize()), username, secret);
      return (await response.text()).includes("suspended");
    };
    const everybody = "the password of everybody";
    expect(await told("suspd", everybody)).toBe(true);
    expect(await told(addressOf("suspd"), everybody)).toBe(true);
    for (const username of ["suspd", "known", "nobdy", addressOf("suspd")]) {
      expect(await told(username, "a wrong password"), username).toBe(false);
    }
  });

  it("a forgotten password: the address, a wrong code, another code", async () => {
    await compare(async (visitor, codes, address, note) => {
      const sent = await note(await postOnce(visitor, await pageOf(visitor, "recover"), { address }));
      const page = locationOf(sent);
      await note(await visitor.once(page));
      const wrong = await note(await postOnce(visitor, page, { code: codes.wrongCode }));
      await note(await visitor.once(locationOf(wrong)));
      const again = await note(await postOnce(visitor, page, { again: "1" }));
      await note(await visitor.once(locationOf(again)));
    }, addressOf);
  });

  it("a sign-up: the address, a wrong code", async () => {
    await compare(async (visitor, codes, address, note) => {
      const sent = await note(await postOnce(visitor, await pageOf(visitor, "sign-up"), { name: "Nina", address }));
      const page = locationOf(sent);
      await note(await visitor.once(page));
      const wrong = await note(await postOnce(visitor, page, { code: codes.wrongCode }));
      await note(await visitor.once(locationOf(wrong)));
    }, addressOf);
  });
});

describe("the cost of a hash", { timeout: 120_000 }, () => {
  const cheap = { ...currentCost };
  afterEach(() => {
    Object.assign(currentCost, cheap);
  });

  it("a wrong password takes that of a new hash, whatever the account has", async () => {
    Object.assign(currentCost, { ln: 14, r: 8, p: 2 });
    const hash = await hashPassword("the password of everybody");
    await run("UPDATE user_passwords SET hash = ?1 WHERE sub NOT IN ('tempy', 'cheap')", hash);
    await accounts["tempy"]!("tempy");
    const visitor = fixtures.browser();
    const timeOf = async (username: string) => {
      const page = locationOf(await visitor.authorize());
      const form_token = formTokenOf(await (await visitor.once(page)).text());
      const startedAt = performance.now();
      await visitor.post(page, { form_token, username, password: "a wrong password" });
      return performance.now() - startedAt;
    };
    // Other work of the machine may disturb a pair; without a hash, a request would take a tenth of the time in every one.
    const isAlike = async (sub: string) => {
      for (let pair = 0; pair < 8; pair += 1) {
        const proportion = (await timeOf(sub)) / (await timeOf(`nobdy${pair}`));
        if (proportion > 0.5 && proportion < 2) return true;
      }
      return false;
    };
    for (const sub of Object.keys(accounts)) expect(await isAlike(sub), sub).toBe(true);
  });
});

describe("hashes that are dearer than a new one", () => {
  const dear = "$2b$08$NucjkdKw2ruJKARj8QQuI.3uaHJtr3cChf9y2xU8Kn187bqI7klk2";
  const store = (sub: string, hash: string) => run("UPDATE user_passwords SET hash = ?2 WHERE sub = ?1", sub, hash);
  const findDearest = async () => (await findPassword(DB, "nobdy")).dearestMs;

  it.each(importedHashes)("%s: the database knows what it costs", async (_, hash) => {
    await store("known", hash);
    const expected = costOf(readHash(hash) as StoredHash);
    expect(await findDearest()).toBeGreaterThan(expected * 0.99 - 0.01);
    expect(await findDearest()).toBeLessThan(Math.max(expected * 1.01, 1));
  });

  it("the dearest is found by the index alone, which has no hash of this provider", async () => {
    const { results } = await DB.prepare(`EXPLAIN QUERY PLAN ${dearestHash}`).all<{ detail: string }>();
    expect(results.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/USING (COVERING )?INDEX user_passwords_by_cost$/),
    ]);
    const own = "$scrypt$ln=14,r=8,p=5$";
    await run(`UPDATE user_passwords SET hash = '${own}' || sub`);
    expect(await findDearest()).toBe(0);
  });

  it("a refusal takes as long as with the dearest hash of the deployment, whoever is named", async () => {
    const timeOf = async (username: string, secret: string) => {
      const visitor = fixtures.browser();
      const page = locationOf(await visitor.authorize());
      const startedAtMs = performance.now();
      await postOnce(visitor, page, { username, password: secret });
      return performance.now() - startedAtMs;
    };
    await store("authr", dear);
    const leastMs = refusalMs(await findDearest(), 1);
    expect(leastMs).toBeGreaterThan(40);
    for (const sub of ["nobdy", ...Object.keys(accounts)]) {
      expect(await timeOf(addressOf(sub), "a wrong password"), sub).toBeGreaterThanOrEqual(Math.floor(leastMs));
    }
    // Suspended: refused, although the password is right.
    expect(await timeOf(addressOf("suspd"), "the password of everybody")).toBeGreaterThanOrEqual(Math.floor(leastMs));
  });
});

it("a verified address signs in in place of the username, and one that was given up does not", async () => {
  const password = "the password of everybody";
  const visitor = fixtures.browser();
  const signInAs = async (username: string) =>
    locationOf(await postOnce(visitor, locationOf(await visitor.authorize()), { username, password }));
  expect(await signInAs("heldd@example.com")).toMatch(/^\/flow\/sign-in/);
  await seedAddress("known", "Other@example.com");
  expect(await signInAs("OTHER@example.com")).toMatch(/^\/flow\/consent/);
});
