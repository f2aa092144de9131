import { openResetLink } from "@edge-op/shared/mail/sealed-links";
import { verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings, dumpDatabase } from "./fixtures/admin-fixtures.ts";
import { AdminMails } from "./fixtures/admin-mails.ts";

const { DB } = bindings;
const day = 86_400;

let admin: AdminCaller;
let mails: AdminMails;

beforeEach(async () => {
  mails = new AdminMails();
  admin = new AdminCaller(mails.env);
  const claims = { email: "pat@example.com", email_verified: true };
  await admin.call("POST", "/users", { body: { sub: "pat", username: "pat", claims } });
  await admin.call("POST", "/users", { body: { sub: "quinn", username: "quinn" } });
});

const eventsOf = async (action: string) =>
  (await DB.prepare("SELECT target, detail FROM admin_events WHERE action = ?1").bind(action).all()).results;

describe("POST /admin/users/{sub}/temporary-password", () => {
  it("replaces the password for a day, ends sessions and grants, tells the person, and is shown once", async () => {
    const { status, body } = await admin.call("POST", "/users/pat/temporary-password");
    expect(status).toBe(201);
    expect(body.temporary_password).toMatch(/^([2-9a-hj-km-np-z]{5}-){3}[2-9a-hj-km-np-z]{5}$/);
    const row = await DB.prepare("SELECT * FROM user_passwords WHERE sub = 'pat'").first<Record<string, never>>();
    expect(Math.floor(row!["temporary_until_ms"]! / 1000)).toBe(body.expires_at);
    expect(row!["temporary_until_ms"]! - row!["updated_at_ms"]!).toBe(day * 1000);
    expect(await verifyPassword(body.temporary_password, row!["hash"]!)).toBe(true);
    expect(await DB.prepare("SELECT count(*) AS n FROM cut_offs WHERE key = 'nb:sub:pat'").first("n")).toBe(1);
    expect(await eventsOf("user.temporary_password")).toEqual([{ target: "pat", detail: "{}" }]);
    expect(mails.prepared).toMatchObject([{ sub: "pat", kind: "password-set-by-administrator" }]);
    expect(await dumpDatabase()).not.toContain(body.temporary_password);
    const again = await admin.call("POST", "/users/pat/temporary-password");
    expect(again.body.temporary_password).not.toBe(body.temporary_password);
  });

  it("a password that an administrator sets afterwards is the person's own", async () => {
    await admin.call("POST", "/users/pat/temporary-password");
    await admin.call("PATCH", "/users/pat", { body: { password: "a long password of Pat" } });
    const until = "SELECT temporary_until_ms FROM user_passwords WHERE sub = 'pat'";
    expect(await DB.prepare(until).first("temporary_until_ms")).toBeNull();
  });
});

describe("POST /admin/users/{sub}/reset-link", () => {
  it("mails a link to the main address, for a day, and changes nothing else", async () => {
    expect((await admin.call("POST", "/users/pat/reset-link")).status).toBe(204);
    const [notice] = mails.prepared;
    expect(notice).toMatchObject({ sub: "pat", kind: "reset-link-by-administrator" });
    expect(notice!.undo!.address).toBe("pat@example.com");
    const token = new URLSearchParams(notice!.undo!.path.split("?")[1]).get("token")!;
    const link = await openResetLink(bindings, token, Date.now());
    expect(link).toMatchObject({ sub: "pat", key: "pat@example.com" });
    expect(await openResetLink(bindings, token, Date.now() + day * 1000)).toBeUndefined();
    expect(await eventsOf("user.reset_link")).toEqual([{ target: "pat", detail: "{}" }]);
    expect(mails.released).toHaveLength(1);
    expect(await DB.prepare("SELECT count(*) AS n FROM cut_offs").first("n")).toBe(0);
    expect(await dumpDatabase()).not.toContain(token);
  });

  it.each([
    ["of a person without a verified address", "quinn", {}],
    ["of a suspended person", "pat", { status: "suspended" }],
  ])("%s: 409, and no mail", async (_, sub, change) => {
    if ("status" in change) await admin.call("PATCH", `/users/${sub}`, { body: change });
    expect((await admin.call("POST", `/users/${sub}/reset-link`)).body.error).toBe("conflict");
    expect(mails.prepared).toEqual([]);
  });

  it("without a provider of mail: 409", async () => {
    const silent = new AdminCaller();
    const { body } = await silent.call("POST", "/users/pat/reset-link");
    expect(body.error_description).toContain("MAIL_PROVIDER");
  });
});

describe.each(["temporary-password", "reset-link"])("%s", (operation) => {
  it("of nobody: 404", async () => {
    expect((await admin.call("POST", `/users/nobody/${operation}`)).status).toBe(404);
  });

  it("of a greater administrator, by a lesser one: 403, and nothing changes", async () => {
    await DB.batch([
      DB.prepare("INSERT INTO user_roles (sub, role) VALUES ('pat', 'keeper')"),
      DB.prepare("INSERT INTO role_permissions (role, permission) VALUES ('keeper', 'admin:keys')"),
    ]);
    const lesser = await admin.issueToken({ scope: ["admin:users"] });
    const before = await dumpDatabase();
    expect((await admin.call("POST", `/users/pat/${operation}`, { token: lesser })).status).toBe(403);
    expect([await dumpDatabase(), mails.prepared]).toEqual([before, []]);
  });
});
