/**
 * **What leads back in**, for each kind of account and each loss: the table of docs/operating/second-factors.md. A person tries what they still
 * have, in the order in which they would.
 */

import { describe, expect, it, vi } from "vitest";
import page from "../../../docs/operating/second-factors.md?raw";
import { authEnv, locationOf, password, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp, registerRecoveryCodes } from "./fixtures/authenticator-app.ts";
import { follow, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { seedUpstream } from "./fixtures/stand-in-upstream.ts";

const mailed = useMailedCodes();
const { fixtures } = useDeployment({ skip_consent: true }, mailed);

/** What the person has. A device holds the app or the passkey; codes are on paper. */
interface Holding {
  password?: boolean;
  app?: AuthenticatorApp;
  passkey?: SoftwarePasskey;
  codes?: readonly string[];
  mailbox?: boolean;
  provider?: boolean;
}

const withoutPassword = () => authEnv.DB.prepare("DELETE FROM user_passwords WHERE sub = 'alice'").run();
const mailbox = true;

const kinds = {
  password: async () => ({ password: true, mailbox }),
  "password and app": async () => ({ password: true, mailbox, app: await AuthenticatorApp.register("alice") }),
  "password, app and codes": async () => ({
    ...{ password: true, mailbox, app: await AuthenticatorApp.register("alice") },
    codes: await registerRecoveryCodes("alice"),
  }),
  "password and passkey": async () => ({
    ...{ password: true, mailbox, passkey: await SoftwarePasskey.register("alice") },
  }),
  "passkey alone": async () => {
    await withoutPassword();
    return { mailbox, passkey: await SoftwarePasskey.register("alice") };
  },
  "passkey and codes": async () => {
    await withoutPassword();
    return {
      ...{ mailbox, passkey: await SoftwarePasskey.register("alice") },
      codes: await registerRecoveryCodes("alice"),
    };
  },
  "provider alone": async () => {
    await withoutPassword();
    await seedUpstream();
    const insert = "INSERT INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms) VALUES";
    await authEnv.DB.prepare(`${insert} ('idp', 'https://idp.example.net', 'there', 'alice', 'there', 0)`).run();
    return { mailbox, provider: true };
  },
} satisfies Record<string, () => Promise<Holding>>;

const losses = {
  password: ["password"],
  device: ["app", "passkey"],
  mailbox: ["mailbox"],
  "password and device": ["password", "app", "passkey"],
  all: ["password", "app", "passkey", "codes", "mailbox", "provider"],
} as const satisfies Record<string, readonly (keyof Holding)[]>;

/** The page after a password, or after a mailed code, and what is proven there. */
async function provenAt(visitor: ReturnType<typeof fixtures.browser>, page: string, { app, codes }: Holding) {
  if (stepOf(page) !== "prove-more") return { isIn: true, by: "" };
  if (app !== undefined) {
    const next = await follow(visitor, page, { code: await app.code() });
    return { isIn: stepOf(next) !== "prove-more", by: ", app" };
  }
  if (codes === undefined) return { isIn: false, by: "" };
  const next = await follow(visitor, page, { code: codes[0]! });
  return { isIn: stepOf(next) !== "prove-more", by: ", code" };
}

async function wayIn(holding: Holding): Promise<string> {
  const visitor = fixtures.browser(mailed.env);
  const signIn = locationOf(await visitor.authorize());
  if (holding.passkey !== undefined) {
    const html = await (await visitor.get(signIn)).text();
    const next = await follow(visitor, signIn, { credential: await holding.passkey.assert(html) });
    expect(stepOf(next) === undefined || stepOf(next) === "recovery-codes").toBe(true);
    return "passkey";
  }
  if (holding.password) {
    const { isIn, by } = await provenAt(visitor, locationOf(await visitor.signIn(signIn, "alice", password)), holding);
    if (isIn) return `password${by}`;
  }
  if (holding.provider) {
    expect(await (await visitor.get(signIn)).text()).toContain('value="idp"');
    return "provider";
  }
  if (!holding.mailbox) return "nobody";
  const again = fixtures.browser(mailed.env);
  const recover = await follow(again, locationOf(await again.authorize()), { recover: "1" });
  const code = await follow(again, recover, { address: "alice@example.com" });
  const proven = await follow(again, code, { code: mailed.code });
  const { isIn, by } = await provenAt(again, proven, holding);
  if (isIn) return `mail${by}`;
  const wait = await follow(again, proven, { lost: "all" });
  if (stepOf(wait) !== "await-recovery") return "nobody";
  await follow(again, wait, { ask: "1" });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  const tomorrow = await follow(again, locationOf(await again.authorize()), { recover: "1" });
  const codeThen = await follow(again, tomorrow, { address: "alice@example.com" });
  return stepOf(await follow(again, codeThen, { code: mailed.code })) === "set-password" ? "mail, a day" : "nobody";
}

const [usual = "", byAddress = ""] = page.split("\n| With `RECOVERY=address` |");

/** A table of the page. */
const rowsOf = (table: string) =>
  Object.keys(kinds).flatMap((kind) => {
    const [, cells] = new RegExp(`^\\| ${kind} \\|(.*)\\|$`, "m").exec(table) ?? [];
    const ways = cells?.split("|").map((cell) => cell.trim()) ?? [];
    return Object.keys(losses).flatMap((loss, index) => {
      const way = ways[index];
      return way === undefined ? [] : [[kind as keyof typeof kinds, loss as keyof typeof losses, way] as const];
    });
  });

describe("kinds of account and losses: what leads back in", () => {
  it("each kind and loss has a row", () => {
    expect(rowsOf(usual)).toHaveLength(Object.keys(kinds).length * Object.keys(losses).length);
    expect(rowsOf(byAddress)).toHaveLength(4 * Object.keys(losses).length);
  });

  it.each(rowsOf(usual))("%s, lost: %s: %s", async (kind, loss, way) => {
    const held: Holding = await kinds[kind]();
    for (const lost of losses[loss]) delete held[lost];
    expect(await wayIn(held)).toBe(way);
  });

  it.each(rowsOf(byAddress))("RECOVERY=address: %s, lost: %s: %s", async (kind, loss, way) => {
    mailed.restart({ ...authEnv, RECOVERY: "address" });
    const held: Holding = await kinds[kind]();
    for (const lost of losses[loss]) delete held[lost];
    expect(await wayIn(held)).toBe(way);
  });
});

describe("where nothing leads back in, recovery says what does", () => {
  const deadEnd = async (env = {}) => {
    mailed.restart({ ...authEnv, ...env });
    const visitor = fixtures.browser(mailed.env);
    const recover = await follow(visitor, locationOf(await visitor.authorize()), { recover: "1" });
    const code = await follow(visitor, recover, { address: "alice@example.com" });
    return (await visitor.get(await follow(visitor, code, { code: mailed.code }))).text();
  };

  it.each(["passkey alone", "provider alone"] as const)("%s: the support, and no second factor", async (kind) => {
    await kinds[kind]();
    const html = await deadEnd({ SUPPORT_URL: "https://help.example.com/" });
    expect(html).toMatch(/id="who-helps">[^<]*<a href="https:\/\/help\.example\.com\/">Contact support/);
    expect(html).not.toMatch(/second factor|administrator/);
  });

  it("without a support page the administrator", async () => {
    await kinds["passkey alone"]();
    const html = await deadEnd();
    expect(html).toContain("Ask your administrator");
    expect(html).not.toContain("second factor");
  });

  it("with recovery codes a person is asked for one, and for no second factor", async () => {
    await kinds["passkey and codes"]();
    expect(await deadEnd()).toMatch(/<h1>Enter a recovery code<\/h1>(?![\s\S]*second factor)/);
  });
});
