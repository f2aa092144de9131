/** **Invitations**: what a link proves, what the account gets, and that it works once. */

import { invitationToken } from "@edge-op/shared/mail/sealed-links";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { describe, expect, it } from "vitest";
import { inviteAdministrator } from "../../edge-op/src/administrators.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { authEnv, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { follow, postOnce, seedAddress, useMailedCodes } from "./fixtures/mailed-codes.ts";

const address = "maria@example.com";
const name = "Maria Muster";
const chosen = "a long and new secret of Maria";
const password = { new: chosen, repeat: chosen };

const codes = useMailedCodes({ ...authEnv, SIGN_UP: "invitation" } as AuthEnv);
const { fixtures, browser } = useDeployment({}, codes);

function useSettings(settings: Partial<AuthEnv>): void {
  codes.restart({ ...authEnv, ...settings } as AuthEnv);
  browser.restart(codes.env);
}

/** Returns the path of its link. */
async function invite(id = "invitation", { untilMs = Date.now() + 60_000, of = address } = {}): Promise<string> {
  const document = JSON.stringify({ name, roles: ["auditor"], groups: ["staff"] });
  await authEnv.DB.prepare("INSERT INTO invitations VALUES (?1, ?2, ?2, ?3, 'console', 0, ?4)")
    .bind(id, of, document, untilMs)
    .run();
  return `/invitation?${new URLSearchParams({ token: await invitationToken(authEnv, id) })}`;
}

function accept(page: string, visitor = browser): Promise<string> {
  const token = new URLSearchParams(page.split("?")[1]).get("token")!;
  return follow(visitor, page, { token, name });
}

async function values(sql: string): Promise<unknown[]> {
  return (await authEnv.DB.prepare(sql).raw()).flat();
}

const users = "SELECT count(*) FROM users";
const open = "SELECT count(*) FROM invitations";

it("the link of npm run admin-client makes its person an administrator, once, with SIGN_UP=off and without mail, and is in the audit log", async () => {
  useSettings({ SIGN_UP: "off", MAIL_PROVIDER: "off" });
  const parsed = parseEmailAddress(address)!;
  const facts = { issuer: "https://op.example.com", masterKey: authEnv.OP_MASTER_KEY, by: "npm run admin-client" };
  const { statements, link } = await inviteAdministrator(parsed, { ...facts, nowMs: Date.now() });
  await authEnv.DB.batch(statements.map((sql) => authEnv.DB.prepare(sql)));
  const page = link.slice(facts.issuer.length);
  await postOnce(browser, await accept(page), password);
  expect(await values("SELECT role FROM user_roles")).toEqual(["administrator"]);
  expect(await values("SELECT permission FROM role_permissions WHERE role = 'administrator'")).toContain("admin:users");
  expect(await values("SELECT action || ' ' || sub FROM admin_events ORDER BY seq LIMIT 2")).toEqual([
    "role.update npm run admin-client",
    "invitation.create npm run admin-client",
  ]);
  expect(await values(open)).toEqual([0]);
});

it("npm run admin-client gives its role to nobody who had its name before it gave anything; to administrators it stays", async () => {
  const facts = { issuer: "https://op.example.com", masterKey: authEnv.OP_MASTER_KEY, by: "npm run admin-client" };
  const run = async (of: string) => {
    const { statements } = await inviteAdministrator(parseEmailAddress(of)!, { ...facts, nowMs: Date.now() });
    await authEnv.DB.batch(statements.map((sql) => authEnv.DB.prepare(sql)));
  };
  await authEnv.DB.batch(
    [
      "INSERT INTO user_roles VALUES ('alice', 'administrator')",
      "INSERT INTO group_roles VALUES ('staff', 'administrator')",
      "INSERT INTO role_permissions VALUES ('administrator', 'read')",
      `INSERT INTO invitations VALUES ('squat', 'm@example.com', 'm@example.com', '{"roles":["administrator"],"groups":[]}', 'x', 0, 9e15)`,
      `INSERT INTO invitations VALUES ('other', 'o@example.com', 'o@example.com', '{"roles":["auditor"],"groups":[]}', 'x', 0, 9e15)`,
    ].map((sql) => authEnv.DB.prepare(sql)),
  );
  await run(address);
  const left = "SELECT sub FROM user_roles UNION ALL SELECT group_name FROM group_roles";
  expect(await values(left)).toEqual([]);
  expect(await values("SELECT address_key FROM invitations ORDER BY 1")).toEqual([address, "o@example.com"]);
  expect(
    await values("SELECT action || ' ' || target FROM admin_events WHERE detail LIKE '%lost%' ORDER BY seq"),
  ).toEqual(["user.update alice", "group.update staff", "invitation.delete squat"]);
  await authEnv.DB.prepare("INSERT INTO user_roles VALUES ('bob', 'administrator')").run();
  await run("second@example.com");
  expect(await values(left)).toEqual(["bob"]);
  expect(await values("SELECT address_key FROM invitations ORDER BY 1")).toContain(address);
});

describe("into an organisation (ADR 72)", () => {
  const id = "into-acme";

  /** The row as the admin API writes it. */
  async function inviteMember(roles: readonly string[] = ["billing"]): Promise<string> {
    const page = await invite(id);
    const document = JSON.stringify({ name, roles: [], groups: [], org_id: "acme", member_roles: roles });
    await authEnv.DB.batch(
      [
        `INSERT INTO organizations (org_id, status, document, created_at_ms, updated_at_ms) VALUES ('acme', 'active', '{"name":"Acme"}', 1, 1)`,
        `UPDATE invitations SET document = '${document}', address_key = 'acme ${address}' WHERE id = '${id}'`,
      ].map((sql) => authEnv.DB.prepare(sql)),
    );
    return page;
  }

  /** The form, with the fields that a browser sends, and others. */
  const press = (page: string, more: Readonly<Record<string, string>> = {}) =>
    postOnce(browser, page, { token: new URLSearchParams(page.split("?")[1]).get("token")!, name, ...more });

  const members =
    "SELECT m.sub || ' ' || m.source || ' ' || coalesce(r.role, '') FROM memberships m LEFT JOIN membership_roles r ON r.sub = m.sub";

  it("a new person becomes a member with the roles of the row, by the transaction that creates the account", async () => {
    const page = await inviteMember();
    const shown = await (await browser.get(page)).text();
    expect(shown).toContain("Join Acme");
    await postOnce(browser, await accept(page), password);
    const [sub] = await values("SELECT sub FROM users WHERE sub LIKE 'u%'");
    expect(await values(members)).toEqual([`${sub} invitation billing`]);
    expect([await values("SELECT role FROM user_roles"), await values(open)]).toEqual([[], [0]]);
  });

  it("case 11, 12: an account with the address joins, whoever is signed in in the browser; the link works once", async () => {
    await seedAddress("bob", address);
    const page = await inviteMember();
    await browser.signInWhole();
    const joined = await press(page);
    expect([joined.status, await joined.text()]).toEqual([200, expect.stringContaining("You are a member of Acme")]);
    expect(await values(members)).toEqual(["bob invitation billing"]);
    expect(await values("SELECT action || ' ' || target FROM admin_events WHERE action LIKE 'organization%'")).toEqual([
      "organization.member_add acme",
    ]);
    expect((await browser.get(page)).status).toBe(400);
  });

  it("case 13: the link has only the id; roles, organisation and address of the request are none", async () => {
    await seedAddress("alice", address);
    const page = await inviteMember();
    await press(page, { org_id: "beta", roles: "owner", email: "bob@example.com" });
    expect(await values(members)).toEqual(["alice invitation billing"]);
    expect((await browser.get(`${page.slice(0, -3)}AAA`)).status).toBe(400);
  });

  it("case 14: the row counts as it is when it is accepted; withdrawn, or of an organisation that is disabled, it is none", async () => {
    await seedAddress("alice", address);
    const page = await inviteMember();
    await authEnv.DB.prepare("UPDATE organizations SET status = 'disabled'").run();
    expect((await browser.get(page)).status).toBe(400);
    await authEnv.DB.prepare("UPDATE organizations SET status = 'active'").run();
    await authEnv.DB.prepare(
      `UPDATE invitations SET document = json_set(document, '$.member_roles', json('["owner"]'))`,
    ).run();
    await browser.get(page);
    const both = await Promise.all([press(page), press(page)]);
    expect(both.map(({ status }) => status).every((status) => [200, 400].includes(status))).toBe(true);
    expect(await values(members)).toEqual(["alice invitation owner"]);
  });

  it("a member who is suspended stays so", async () => {
    await seedAddress("alice", address);
    const page = await inviteMember();
    await authEnv.DB.prepare(
      "INSERT INTO memberships VALUES ('alice', 'acme', 'suspended', 'administrator', 1, 1)",
    ).run();
    await press(page);
    expect(await values("SELECT status FROM memberships")).toEqual(["suspended"]);
  });
});

describe("a link", () => {
  it("opened ten times by a program changes nothing; its person then gets an account with its roles, and no code", async () => {
    const page = await invite();
    for (let opened = 0; opened < 10; opened += 1) {
      const response = await fixtures.browser(codes.env).get(page);
      expect([response.status, (await response.text()).includes(address)]).toEqual([200, true]);
    }
    const create = await accept(page);
    expect(stepOf(create)).toBe("create-account");
    expect((await postOnce(browser, create, password)).headers.get("location")).toBe("/account");
    expect(codes.mails).toEqual([]);
    expect(await values("SELECT role FROM user_roles UNION SELECT group_name FROM user_groups")).toEqual([
      "auditor",
      "staff",
    ]);
    expect(await values("SELECT coalesce(address, address_key) FROM user_addresses WHERE sub LIKE 'u%'")).toEqual([
      address,
    ]);
    expect(await values("SELECT json_extract(detail, '$.invitation') FROM admin_events")).toEqual(["invitation"]);
    expect(await values(open)).toEqual([0]);
    expect((await browser.get("/account")).status).toBe(200);
  });

  it("is used once, also from two browsers at the same time", async () => {
    const page = await invite();
    const visitors = [browser, fixtures.browser(codes.env)];
    const pages = await Promise.all(visitors.map((visitor) => accept(page, visitor)));
    const ends = await Promise.all(visitors.map((visitor, index) => follow(visitor, pages[index]!, password)));
    expect(ends.filter((end) => end === "/account")).toHaveLength(1);
    expect(await values(users)).toEqual([4]);
    expect((await browser.get(page)).status).toBe(400);
  });

  it("names its address alone: SIGN_UP_DOMAINS does not apply", async () => {
    useSettings({ SIGN_UP: "open", SIGN_UP_DOMAINS: "corp.example" });
    expect(await follow(browser, await accept(await invite()), password)).toBe("/account");
  });

  it.each<readonly [string, (page: string) => Promise<unknown>]>([
    ["withdrawn", () => authEnv.DB.prepare("DELETE FROM invitations").run()],
    ["that has ended", () => authEnv.DB.prepare("UPDATE invitations SET until_ms = 1").run()],
    ["whose address has an account", () => seedAddress("bob", address)],
  ])("%s between the page and its form gives no account", async (_, happen) => {
    const page = await invite();
    const create = await accept(page);
    await happen(page);
    expect(stepOf(await follow(browser, create, password))).toBe("create-account");
    expect([await values(users), await values("SELECT count(*) FROM user_roles")]).toEqual([[3], [0]]);
  });

  it.each([
    ["forged", "/invitation?token=invitation.AAAAAAAAAAAAAAAAAAAAAA"],
    ["empty", "/invitation"],
    ["of another id", `/invitation?token=other`],
  ])("%s is refused, and so is the form", async (_, page) => {
    await invite();
    expect((await browser.get(page)).status).toBe(400);
    const posted = await browser.post("/invitation", { token: page.split("token=")[1] ?? "", form_token: "x", name });
    expect(posted.status).toBe(403);
  });

  it("of an administrator does nothing with SIGN_UP=off, also if it was opened before", async () => {
    const page = await invite();
    const create = await accept(page);
    const cookies = [...browser.cookies];
    useSettings({ SIGN_UP: "off" });
    expect((await browser.get(page)).status).toBe(400);
    for (const [cookie, value] of cookies) browser.cookies.set(cookie, value);
    expect(stepOf(await follow(browser, create, password))).toBe("create-account");
    expect(await values(users)).toEqual([3]);
  });

  it("does not lead from one invitation to another one's address or roles", async () => {
    const theirs = await invite("theirs", { of: "other@example.com" });
    await authEnv.DB.prepare("UPDATE invitations SET document = ?1")
      .bind(JSON.stringify({ roles: ["boss"], groups: [] }))
      .run();
    const create = await accept(await invite());
    await postOnce(browser, create, password);
    expect(await values("SELECT role FROM user_roles")).toEqual(["auditor"]);
    expect((await browser.get(theirs)).status).toBe(200);
  });
});
