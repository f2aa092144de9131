import { encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { openSealed } from "@edge-op/shared/secrets/seal";
import { beforeEach, describe, expect, it } from "vitest";
import { seedOrganizations } from "../../../test/fixtures/seed.ts";
import { AdminCaller, bindings, dumpDatabase, isLiveSecret } from "./fixtures/admin-fixtures.ts";

/** A user with everything that a file may have. */
const whole = {
  ...{ sub: "realm/f:1|mia", username: "Mia", status: "suspended" },
  claims: {
    name: "Mia Muster",
    email: "Mia@example.com",
    email_verified: true,
    locale: "de",
    updated_at: 1_700_000_001,
  },
  ...{ roles: ["reader"], groups: ["staff"] },
  password_hash: "$2b$04$NucjkdKw2ruJKARj8QQuI.3uaHJtr3cChf9y2xU8Kn187bqI7klk2",
  passkeys: [
    {
      ...{ credential_id: "aWQ", public_key: encodeBase64Url(new Uint8Array(77)), sign_count: 7, transports: ["usb"] },
      ...{ backed_up: true, name: "Key", own: false, created_at: 1_600_000_000, last_used_at: 1_600_000_001 },
    },
  ],
  totp: [{ secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", created_at: 1_600_000_002 }],
  recovery_codes: { hashes: encodeBase64Url(new Uint8Array(128)), used: 5, created_at: 1_700_000_000 },
  identities: [
    {
      ...{ upstream_id: "google", issuer: "https://accounts.google.com", subject: "42", label: "mia" },
      ...{ created_at: 1_600_000_003, last_used_at: 1_600_000_004 },
    },
  ],
  terms: { version: "2026-11", accepted_at: 1_700_000_001 },
  memberships: [
    { org_id: "acme", status: "active", roles: ["billing", "reader"], joined_at: 1_650_000_000 },
    { org_id: "beta", status: "suspended", roles: [], joined_at: 1_650_000_001 },
  ],
  ...{ created_at: 1_700_000_000, updated_at: 1_700_000_001 },
};

let admin: AdminCaller;
beforeEach(async () => {
  admin = new AdminCaller();
  const document = JSON.stringify({
    ...{ name: "Google", kind: "google", client_id: "op", token_endpoint_auth_method: "client_secret_basic" },
    ...{
      claims: {},
      acr_map: {},
      trusted_domains: [],
      sign_up: "off",
      link_only: false,
      domains: [],
      discovery: "off",
    },
  });
  await bindings.DB.prepare("INSERT INTO upstreams VALUES ('google', 'active', ?1, NULL, NULL, 0, 0)")
    .bind(document)
    .run();
  await seedOrganizations(bindings, ["acme", "beta"], []);
});

async function importUsers(users: readonly unknown[], others: object = {}) {
  return (await admin.call("POST", "/import/users", { body: { users, ...others } })).body;
}

async function rowOf(sql: string): Promise<Record<string, unknown> | null> {
  return bindings.DB.prepare(sql).first();
}

async function controlVersion(): Promise<unknown> {
  return (await rowOf("SELECT max(version) AS version FROM control_changes"))?.["version"];
}

describe("POST /admin/import/users", () => {
  it("imports everything that a line has, and an export has the same again", async () => {
    const before = await controlVersion();
    expect(await importUsers([whole])).toMatchObject({ created: 1, results: [{ result: "created" }] });
    expect(await controlVersion()).toBe(before);
    const { body } = await admin.call("GET", "/export/users");
    expect(body).toEqual({ users: [whole], unreadable: [] });
    const row = await rowOf("SELECT factor_id, secret FROM user_totp");
    const sealed = await openSealed(
      bindings,
      "factor-seal",
      String(row?.["secret"]),
      `${whole.sub}\n${row?.["factor_id"]}`,
    );
    expect(sealed).toBe(encodeBase64Url(new TextEncoder().encode("12345678901234567890")));
    expect((await admin.call("GET", `/users/${encodeURIComponent(whole.sub)}`)).body.username).toBe("Mia");
    expect(await rowOf("SELECT address_key, address FROM user_addresses")).toEqual({
      ...{ address_key: "mia@example.com", address: "Mia@example.com" },
    });
  });

  it("a repeated import changes nothing; a dry run creates nothing; each batch that creates has one event with its digest", async () => {
    const lines = [whole, { sub: "2", username: "ben" }];
    const dry = await importUsers(lines, { dry_run: true });
    expect([dry.created, (await admin.call("GET", "/users")).body.users]).toEqual([2, []]);
    const first = await importUsers(lines);
    expect(first.digest).toBe(dry.digest);
    const stored = await dumpDatabase();
    expect(await importUsers(lines)).toMatchObject({ created: 0, exists: 2, refused: 0 });
    expect(await dumpDatabase()).toBe(stored);
    const { results } = await bindings.DB.prepare("SELECT action, target, detail FROM admin_events").all();
    expect(results).toEqual([
      { action: "import.users", target: first.digest, detail: '{"created":2,"exists":0,"refused":0}' },
    ]);
  });

  it.each<[string, unknown, string, string]>([
    ["a text", "mia", "", "must be an object"],
    ["an unknown member", { sub: "x", username: "x", password: "p" }, "password", "is not a known field"],
    ["terms without a date", { sub: "x", username: "x", terms: { version: "1" } }, "terms.accepted_at", "is required"],
    ["no sub", { username: "x" }, "sub", "is required"],
    [
      "a hash beyond the bounds",
      { sub: "x", username: "x", password_hash: "$2b$14$".padEnd(60, "a") },
      "password_hash",
      "must have a bcrypt cost of 4 to 13",
    ],
    [
      "an unknown hash",
      { sub: "x", username: "x", password_hash: "5f4dcc3b5aa765d61d8327deb882cf99" },
      "password_hash",
      "must be a hash of",
    ],
    [
      "a secret that is none",
      { sub: "x", username: "x", totp: [{ secret: "18" }] },
      "totp[0].secret",
      "must be base32",
    ],
    [
      "a membership of no organisation",
      { sub: "x", username: "x", memberships: [{ org_id: "gone" }] },
      "memberships[0].org_id",
      "is no organisation",
    ],
    [
      "a membership twice",
      { sub: "x", username: "x", memberships: [{ org_id: "acme" }, { org_id: "acme" }] },
      "memberships[1].org_id",
      "is given twice",
    ],
    [
      "a sub that is too long for a member",
      { sub: "x".repeat(191), username: "x", memberships: [{ org_id: "acme" }] },
      "sub",
      "of a member has at most 190",
    ],
    ["the same sub twice", { sub: "first", username: "x" }, "sub", "is that of an earlier line"],
    ["another user's sub", { sub: "known", username: "x" }, "sub", "belongs to a user with another username"],
    ["a client's id", { sub: "app", username: "x" }, "sub", "is the id of a client"],
    ["a retired sub", { sub: "gone", username: "x" }, "sub", "was a deleted user's"],
    ["a taken name", { sub: "x", username: "KNOWN" }, "username", "is taken"],
    ["a name of an earlier line", { sub: "x", username: "First" }, "username", "is taken"],
    ["an address as a name", { sub: "x", username: "known@example.com" }, "username", "is the address of another user"],
    [
      "a held address",
      { sub: "x", username: "x", claims: { email: "KNOWN@example.com", email_verified: true } },
      "claims.email",
      "is taken",
    ],
    [
      "a name as an address",
      { sub: "x", username: "x", claims: { email: "first@example.net", email_verified: true } },
      "claims.email",
      "is the username of another user",
    ],
    [
      "a registered passkey",
      { sub: "x", username: "x", passkeys: [{ credential_id: "aWQ", public_key: "A".repeat(40) }] },
      "passkeys[0].credential_id",
      "is registered already",
    ],
    [
      "a connected identity",
      { sub: "x", username: "x", identities: [{ upstream_id: "google", subject: "7" }] },
      "identities[0].subject",
      "is connected already",
    ],
    [
      "an unknown upstream provider",
      { sub: "x", username: "x", identities: [{ upstream_id: "corp", subject: "7" }] },
      "identities[0].upstream_id",
      "is no upstream provider",
    ],
  ])("refuses %s with the field and the reason, and imports the others", async (_, line, path, message) => {
    const known = { sub: "known", username: "known", claims: { email: "known@example.com", email_verified: true } };
    const credentials = {
      passkeys: [{ credential_id: "aWQ", public_key: "A".repeat(40) }],
      identities: [{ upstream_id: "google", subject: "7" }],
    };
    await importUsers([
      { ...known, ...credentials },
      { sub: "named", username: "first@example.net" },
      { sub: "gone", username: "gone" },
    ]);
    await admin.call("DELETE", "/users/gone");
    await admin.call("POST", "/clients", { body: { client_id: "app", grant_types: ["client_credentials"] } });
    const { created, results } = await importUsers([{ sub: "first", username: "first" }, line]);
    expect(created).toBe(1);
    expect(results[0]).toEqual({ result: "created" });
    expect(results[1]).toMatchObject({
      result: "refused",
      fields: [{ path, message: expect.stringContaining(message) }],
    });
  });

  it("refuses the sub of a person who was deleted after the moment to which D1 was restored", async () => {
    await importUsers([{ sub: "gone", username: "gone" }]);
    await admin.call("DELETE", "/users/gone");
    await bindings.DB.prepare("DELETE FROM retired_subs").run();
    const { created, results } = await importUsers([{ sub: "gone", username: "someone" }]);
    expect(created).toBe(0);
    expect(results[0].fields).toMatchObject([
      { path: "sub", message: expect.stringContaining("was a deleted user's") },
    ]);
  });

  it("names roles and groups that give nothing here", async () => {
    expect((await admin.call("PUT", "/roles/writer", { body: { permissions: ["documents:write"] } })).status).toBe(200);
    const users = [{ ...whole, roles: ["writer", "wirter"], groups: ["staff"] }];
    expect(await importUsers(users, { dry_run: true })).toMatchObject({
      created: 1,
      without_permissions: ["role wirter", "group staff"],
    });
  });

  it("a temporary password stays one, also in an export", async () => {
    const until = 4_000_000_000;
    expect((await importUsers([{ ...whole, password_until: until }])).created).toBe(1);
    expect(await rowOf("SELECT temporary_until_ms AS until FROM user_passwords")).toEqual({ until: until * 1000 });
    expect((await admin.call("GET", "/export/users")).body.users).toMatchObject([{ password_until: until }]);
  });

  it("gives no role beyond the authority of the token", async () => {
    await admin.call("PUT", "/roles/root", { body: { permissions: ["admin:keys"] } });
    const token = await admin.issueToken({ scope: ["admin:users"] });
    const body = { users: [{ sub: "x", username: "x", roles: ["root"] }] };
    expect((await admin.call("POST", "/import/users", { token, body })).status).toBe(403);
    expect((await admin.call("GET", "/export/users", { token })).status).toBe(403);
  });

  it("a name that is taken between the check and the commit refuses its line alone", async () => {
    const DB = new Proxy(bindings.DB, {
      get(database, name) {
        const value: unknown = Reflect.get(database, name);
        if (name !== "batch") return typeof value === "function" ? value.bind(database) : value;
        return async (statements: D1PreparedStatement[]) => {
          const isCommit = statements.length > 7;
          if (isCommit) {
            await database
              .prepare(
                "INSERT OR IGNORE INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('r', 'mia', 'mia', 0, 0)",
              )
              .run();
          }
          return database.batch(statements);
        };
      },
    });
    const users = [whole, { sub: "2", username: "ben", roles: ["reader"], groups: ["staff"] }];
    const { body } = await admin.call("POST", "/import/users", { body: { users }, overrides: { DB } });
    expect(body.results).toEqual([
      { result: "refused", fields: [{ path: "username", message: "is taken" }] },
      { result: "created" },
    ]);
  });
});

it("a client keeps the secret that it has, if it authenticates with one", async () => {
  const secret = "a-secret-of-another-provider";
  const body = { client_id: "moved", grant_types: ["client_credentials"], client_secret: secret };
  const created = await admin.call("POST", "/clients", { body });
  expect([created.status, created.body.client_secret]).toEqual([201, secret]);
  expect(await isLiveSecret("moved", secret)).toBe(true);
  const publicClient = {
    ...body,
    client_id: "public",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code"],
    redirect_uris: ["https://x.example/cb"],
  };
  expect((await admin.call("POST", "/clients", { body: publicClient })).body.fields[0].path).toBe("client_secret");
  expect((await admin.call("POST", "/clients", { body: { ...body, client_secret: "short" } })).status).toBe(400);
});
