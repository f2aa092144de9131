import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller } from "./fixtures/admin-fixtures.ts";

const { DB } = env as unknown as { DB: D1Database };
let admin: AdminCaller;

beforeEach(async () => {
  admin = new AdminCaller();
  const created = await admin.call("POST", "/users", { body: { sub: "pat", username: "pat" } });
  expect(created.status).toBe(201);
  await DB.batch([
    DB.prepare("INSERT INTO user_totp VALUES ('pat', 'app', 'sealed', 'key', 1, 1000, 2000)"),
    DB.prepare("INSERT INTO user_recovery_codes VALUES ('pat', 'codes', 'hashes', 5, 3000)"),
  ]);
});

describe("/admin/users/{sub}/factors", () => {
  it("lists factors without secrets", async () => {
    const { status, body } = await admin.call("GET", "/users/pat/factors");
    expect([status, body]).toEqual([
      200,
      {
        factors: [
          { factor_id: "app", kind: "totp", created_at: 1, last_used_at: 2 },
          { factor_id: "codes", kind: "recovery_codes", remaining: 6, created_at: 3 },
        ],
      },
    ]);
  });

  it("removes one, with an event; remembered browsers, and codes without an app, are forgotten", async () => {
    expect((await admin.call("DELETE", "/users/pat/factors/app")).status).toBe(204);
    expect((await admin.call("GET", "/users/pat/factors")).body).toEqual({ factors: [] });
    expect(await DB.prepare("SELECT factor_epoch FROM users WHERE sub = 'pat'").first("factor_epoch")).toBe(1);
    expect(await DB.prepare("SELECT count(*) AS n FROM cut_offs WHERE key = 'nb:sub:pat'").first("n")).toBe(1);
    const event = await DB.prepare(
      "SELECT target, detail FROM admin_events WHERE action = 'user.factor_remove'",
    ).first();
    expect(event).toEqual({ target: "pat", detail: JSON.stringify({ kind: "totp", factor_id: "app" }) });
  });

  it.each([
    ["GET", "/users/nobody/factors", 404],
    ["DELETE", "/users/pat/factors/other", 404],
    ["DELETE", "/users/nobody/factors/app", 404],
  ] as const)("%s %s is %i", async (method, path, status) => {
    expect((await admin.call(method, path)).status).toBe(status);
  });

  it("a lesser administrator does not remove a greater one's factor", async () => {
    await DB.batch([
      DB.prepare("INSERT INTO user_roles (sub, role) VALUES ('pat', 'keeper')"),
      DB.prepare("INSERT INTO role_permissions (role, permission) VALUES ('keeper', 'admin:keys')"),
    ]);
    const lesser = await admin.issueToken({ scope: ["admin:users"] });
    expect((await admin.call("DELETE", "/users/pat/factors/app", { token: lesser })).status).toBe(403);
    expect(await DB.prepare("SELECT count(*) AS n FROM user_totp").first("n")).toBe(1);
  });

  it("deleting the user deletes their factors", async () => {
    expect((await admin.call("DELETE", "/users/pat")).status).toBe(204);
    expect(await DB.prepare("SELECT count(*) AS n FROM user_totp").first("n")).toBe(0);
    expect(await DB.prepare("SELECT count(*) AS n FROM user_recovery_codes").first("n")).toBe(0);
  });
});

describe("/admin/users/{sub}/identities", () => {
  const shown = {
    ...{ upstream_id: "corp", issuer: "https://idp.example.net", subject: "s-1", label: "pat@example.net" },
    ...{ created_at: 1, last_used_at: 2 },
  };
  let path: string;

  beforeEach(async () => {
    const upstream = { upstream_id: "corp", name: "Corp", issuer: shown.issuer, client_id: "op", client_secret: "s" };
    expect((await admin.call("POST", "/upstreams", { body: upstream })).status).toBe(201);
    await DB.prepare("INSERT INTO user_identities VALUES ('corp', ?, 's-1', 'pat', 'pat@example.net', 1000, 2000)")
      .bind(shown.issuer)
      .run();
    const { body } = await admin.call("GET", "/users/pat/identities");
    expect(body).toEqual({ identities: [{ identity_id: expect.any(String), ...shown }] });
    path = `/users/pat/identities/${body.identities[0].identity_id}`;
  });

  it("disconnects one and ends all access, with an event; again, or of another user, it is 404", async () => {
    await admin.call("POST", "/users", { body: { sub: "sam", username: "sam" } });
    expect((await admin.call("DELETE", path.replace("pat", "sam"))).status).toBe(404);
    expect((await admin.call("DELETE", path)).status).toBe(204);
    expect((await admin.call("GET", "/users/pat/identities")).body).toEqual({ identities: [] });
    expect(await DB.prepare("SELECT count(*) AS n FROM cut_offs WHERE key = 'nb:sub:pat'").first("n")).toBe(1);
    const select = DB.prepare("SELECT target, detail FROM admin_events WHERE action = 'user.identity_remove'");
    expect(await select.first()).toEqual({ target: "pat", detail: expect.stringContaining('"upstream_id":"corp"') });
    expect((await admin.call("DELETE", path)).status).toBe(404);
  });

  it("a lesser administrator does not disconnect a greater one", async () => {
    await DB.batch([
      DB.prepare("INSERT INTO user_roles (sub, role) VALUES ('pat', 'keeper')"),
      DB.prepare("INSERT INTO role_permissions (role, permission) VALUES ('keeper', 'admin:keys')"),
    ]);
    const lesser = await admin.issueToken({ scope: ["admin:users"] });
    expect((await admin.call("DELETE", path, { token: lesser })).status).toBe(403);
    expect((await admin.call("GET", "/users/pat/identities")).body.identities).toHaveLength(1);
  });
});
