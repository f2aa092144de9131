import { createExecutionContext } from "cloudflare:test";
import { decodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { macText } from "@edge-op/shared/secrets/mac";
import { verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings, dumpDatabase, issuer, leasing } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const alice = {
  sub: "alice",
  username: "Alice",
  claims: {
    name: "Alice A.",
    email: "alice@example.com",
    email_verified: true,
    address: { formatted: "1 Street\nTown", country: "NZ" },
  },
  roles: ["reader", "editor"],
  groups: ["staff"],
};

async function create(body: Record<string, unknown> = alice) {
  const response = await admin.call("POST", "/users", { body });
  expect(response).toMatchObject({ status: 201 });
  return response;
}

describe("POST /admin/users", () => {
  it("admin API: the created user is shown, with its Location", async () => {
    const { body, headers } = await create();
    expect(body).toEqual({
      ...alice,
      claims: { ...alice.claims, updated_at: body.updated_at },
      roles: ["editor", "reader"],
      status: "active",
      attributes: {},
      has_password: false,
      created_at: expect.any(Number),
      updated_at: body.created_at,
    });
    expect(headers.get("location")).toBe(`${issuer}/admin/users/alice`);
    expect((await admin.call("GET", "/users/alice")).body).toEqual(body);
  });

  it("admin API: without a sub, one is chosen", async () => {
    const { body } = await create({ username: "bob" });
    expect(body.sub).toMatch(/^u[A-Za-z0-9_-]{22}$/);
  });

  it("admin API: a sub with special characters is found at its Location", async () => {
    const { headers } = await create({ sub: "auth|7@x", username: "signs" });
    const location = headers.get("location") ?? "";
    expect(location).toBe(`${issuer}/admin/users/auth%7C7%40x`);
    expect((await admin.call("GET", location.slice(`${issuer}/admin`.length))).body.sub).toBe("auth|7@x");
  });

  it.each([
    [{ username: "ALICE" }, "username"],
    [{ sub: "alice", username: "other" }, "sub"],
  ])("admin API: %j is a conflict that names the taken member", async (body, path) => {
    await create();
    const before = await dumpDatabase();
    const response = await admin.call("POST", "/users", { body });
    expect([response.status, response.body.fields]).toEqual([409, [{ path, message: "is taken" }]]);
    expect(await dumpDatabase()).toBe(before);
  });

  it("RFC 9068 §5: a sub that is a client's id is taken", async () => {
    await admin.call("POST", "/clients", { body: { client_id: "app", redirect_uris: ["https://app.example/"] } });
    expect((await admin.call("POST", "/users", { body: { sub: "app", username: "app" } })).status).toBe(409);
  });

  it("NIST SP 800-63B §3.1.1.2: a password is stored as its hash and never returned", async () => {
    const password = "correct horse battery";
    const { body } = await create({ username: "carol", password });
    expect(body.has_password).toBe(true);
    expect(JSON.stringify(body)).not.toContain(password);
    expect(await dumpDatabase()).not.toContain(password);
    const row = await bindings.DB.prepare("SELECT hash FROM user_passwords WHERE sub = ?1")
      .bind(body.sub)
      .first<{ hash: string }>();
    expect(await verifyPassword(password, row?.hash)).toBe(true);
  });

  it.each([
    [{}, "username: is required"],
    [{ username: " alice" }, "username: must not begin or end with white space"],
    [{ username: "e\u0301" }, "username: must be in Unicode's composed form (NFC)"],
    [{ username: "a\u0000" }, "username: must not contain control characters"],
    [{ username: "a\u00a0b" }, "username: must not contain white space: U+00A0 (RFC 8265)"],
    [{ username: "a b" }, "username: must not contain white space: U+0020 (RFC 8265)"],
    [{ username: "a\u200bb" }, "username: must not contain format characters: U+200B (RFC 8265)"],
    [{ username: "ﬁona" }, "username: must not contain U+FB01 (RFC 8265)"],
    [{ username: "Ａlice" }, "username: must not contain U+FF21 (RFC 8265)"],
    [
      { username: "a", sub: "../b" },
      "sub: must be 1 to 255 letters, digits or ._~:@|/- and begin with a letter or digit",
    ],
    [{ username: "a", password: "short" }, "password: must be at least 15 characters long"],
    [{ username: "a", password: "x".repeat(257) }, "password: must be at most 256 characters long"],
    [{ username: "a", password: "correct horse \ud800 staple" }, "password: must be Unicode text"],
    [{ username: "a", password: "passwordpassword" }, "password: is a commonly used password"],
    [
      { username: "a", password: " ".repeat(15) },
      "password: consists of little more than repeated or consecutive characters",
    ],
    [
      { username: "a", claims: { email: "margaret@mail.example" }, password: "margaretmargaret" },
      "password: consists of little more than the username, the email address or the name of this service",
    ],
    [{ username: "a", email: "a@b" }, "email: is not a known field"],
    [{ username: "a", claims: { email: "nobody" } }, "claims.email: must be an e-mail address"],
    ...["name", "given_name", "family_name", "middle_name", "nickname", "preferred_username"].map(
      (member): [object, string] => [
        { username: "a", claims: { [member]: "\u200b\u{e0041}" } },
        `claims.${member}: must have a visible character`,
      ],
    ),
    [{ username: "a", claims: { admin: true } }, "claims.admin: is not a known field"],
    [{ username: "a", claims: { address: { planet: "Mars" } } }, "claims.address.planet: is not a known field"],
    [{ username: "a", claims: { picture: "javascript:1" } }, "claims.picture: must be an https URL"],
    [{ username: "a", claims: { birthdate: "1.1.2000" } }, "claims.birthdate: must be YYYY-MM-DD or YYYY"],
    [{ username: "a", roles: ["x", "x"] }, "roles: must not repeat a value"],
    [{ username: "a", roles: "x" }, "roles: must be an array"],
  ])("admin API: %j is refused by name", async (body, description) => {
    const before = await dumpDatabase();
    const response = await admin.call("POST", "/users", { body });
    expect([response.status, response.body.error, response.body.error_description]).toEqual([
      400,
      "invalid_request",
      description,
    ]);
    expect(await dumpDatabase()).toBe(before);
  });
});

describe("the terms that a person has agreed to", () => {
  const terms = { version: "2026-11", accepted_at: 1_700_000_001 };

  it("are shown; no administrator agrees for a person, and no change by one forgets it", async () => {
    for (const body of [
      { username: "zoe", terms },
      { username: "zoe", terms: null },
    ]) {
      expect(await admin.call("POST", "/users", { body })).toMatchObject({ status: 400 });
    }
    const sub = (await admin.call("POST", "/users", { body: { username: "zoe" } })).body.sub as string;
    expect((await admin.call("GET", `/users/${sub}`)).body.terms).toBeUndefined();
    for (const body of [{ terms }, { terms: null }]) {
      expect(await admin.call("PATCH", `/users/${sub}`, { body })).toMatchObject({ status: 400 });
    }
    const agree = "UPDATE users SET terms_version = ?2, terms_accepted_at_ms = ?3 WHERE sub = ?1";
    await bindings.DB.prepare(agree)
      .bind(sub, terms.version, terms.accepted_at * 1000)
      .run();
    expect((await admin.call("PATCH", `/users/${sub}`, { body: { claims: { name: "Zoe" } } })).status).toBe(200);
    expect((await admin.call("GET", `/users/${sub}`)).body.terms).toEqual(terms);
  });
});

describe("GET /admin/users", () => {
  it("admin API: pages contain every user once; a name finds its user in any case", async () => {
    for (const sub of ["u2", "u1", "u3"]) await create({ sub, username: `Name-${sub}` });
    const first = await admin.call("GET", "/users?limit=2");
    const second = await admin.call("GET", `/users?limit=2&cursor=${first.body.next_cursor}`);
    const subs = [first, second].map(({ body }) => body.users.map((user: { sub: string }) => user.sub));
    expect(subs).toEqual([["u1", "u2"], ["u3"]]);
    expect(second.body).not.toHaveProperty("next_cursor");
    const named = await admin.call("GET", "/users?username=name-U3");
    expect(named.body.users.map((user: { sub: string }) => user.sub)).toEqual(["u3"]);
  });
});

describe("PATCH /admin/users/{sub}", () => {
  it("RFC 7396: an update drops no field that it was not given, at any depth", async () => {
    const { body: before } = await create();
    const { status, body } = await admin.call("PATCH", "/users/alice", {
      body: { claims: { name: "Alice B.", email_verified: null, address: { country: "AU" } }, roles: [] },
    });
    expect(status).toBe(200);
    const { email_verified: _, ...claims } = before.claims;
    expect(body).toEqual({
      ...before,
      claims: {
        ...claims,
        name: "Alice B.",
        address: { formatted: "1 Street\nTown", country: "AU" },
        updated_at: body.updated_at,
      },
      roles: [],
      updated_at: expect.any(Number),
    });
    expect((await admin.call("GET", "/users/alice")).body).toEqual(body);
  });

  it("admin API: a password is set, replaced and removed", async () => {
    await create();
    const hash = async () =>
      (await bindings.DB.prepare("SELECT hash FROM user_passwords").first<{ hash: string }>())?.hash;
    expect(
      (await admin.call("PATCH", "/users/alice", { body: { password: "the first password" } })).body.has_password,
    ).toBe(true);
    expect((await admin.call("PATCH", "/users/alice", { body: { password: "the second password" } })).status).toBe(200);
    expect(await verifyPassword("the first password", await hash())).toBe(false);
    expect(await verifyPassword("the second password", await hash())).toBe(true);
    expect((await admin.call("PATCH", "/users/alice", { body: { roles: ["x"] } })).body.has_password).toBe(true);
    expect((await admin.call("PATCH", "/users/alice", { body: { password: null } })).body.has_password).toBe(false);
    expect(await hash()).toBeUndefined();
  });

  it("NIST SP 800-63B-4 §3.1.1.2: a new password is checked against the patched user, and a refused one changes nothing", async () => {
    await create();
    const patch = (body: object) => admin.call("PATCH", "/users/alice", { body });
    await patch({ password: "the first password" });
    const before = await dumpDatabase();
    const refused = await patch({ username: "margaret-hamilton", password: "Margaret-Hamilton" });
    expect([refused.status, refused.body.error_description]).toEqual([
      400,
      "password: consists of little more than the username, the email address or the name of this service",
    ]);
    expect((await patch({ password: "password" })).body.error_description).toBe(
      "password: must be at least 15 characters long",
    );
    expect(await dumpDatabase()).toBe(before);
    expect((await patch({ username: "margaret-hamilton" })).status).toBe(200);
  });

  it.each([
    ["replaced", "another long password"],
    ["removed", null],
  ])("a password that is %s ends every session and grant of the user, offline ones too", async (_, password) => {
    await admin.call("PUT", "/roles/support", { body: { permissions: ["admin:users"] } });
    await create({ sub: "support", username: "support", roles: ["support"], password: "a long password" });
    const victim = await admin.issueToken({ user: "support" });
    expect((await admin.call("GET", "/users", { token: victim })).status).toBe(200);
    const { DB } = bindings;
    await admin.call("POST", "/clients", {
      body: { client_id: "app", redirect_uris: ["https://app.example.com/cb"], grant_types: ["authorization_code"] },
    });
    await DB.batch([
      DB.prepare(`INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms)
           VALUES ('g1.wnam.0.s', 'support', 'Firefox', 1, 9999999999999)`),
      DB.prepare("INSERT INTO user_grants VALUES ('support', 'app', 'g', 1, 'wnam', 0, 9999999999999, 1, NULL, 0, 0)"),
    ]);
    expect((await admin.call("PATCH", "/users/support", { body: { password } })).status).toBe(200);
    expect((await admin.call("GET", "/users", { token: victim })).status).toBe(401);
    for (const table of ["user_sessions", "user_grants"]) {
      expect((await DB.prepare(`SELECT * FROM ${table}`).all()).results).toEqual([]);
    }
  });

  it("admin API: another user's name is a conflict; the user's own name in another case is not", async () => {
    await create();
    await create({ sub: "bob", username: "bob" });
    const taken = await admin.call("PATCH", "/users/bob", { body: { username: "ALICE" } });
    expect([taken.status, taken.body.error_description]).toEqual([409, "username: is taken"]);
    expect((await admin.call("PATCH", "/users/bob", { body: { username: "BOB" } })).body.username).toBe("BOB");
  });

  it("a verified address has one user: 409 in any spelling, for a creation and a change; an unverified one is not taken", async () => {
    await create();
    const email = "ALICE@Example.com";
    const taken = { status: 409, body: { error_description: "claims.email: is taken" } };
    const verified = { email, email_verified: true };
    expect(await admin.call("POST", "/users", { body: { username: "bob", claims: verified } })).toMatchObject(taken);
    await create({ sub: "bob", username: "bob", claims: { email } });
    const patch = (claims: object) => admin.call("PATCH", "/users/bob", { body: { claims } });
    expect(await patch({ email_verified: true })).toMatchObject(taken);
    // Given up by a change, an address is free.
    expect((await admin.call("PATCH", "/users/alice", { body: { claims: { email_verified: false } } })).status).toBe(
      200,
    );
    expect((await patch({ email_verified: true })).status).toBe(200);
    const select = "SELECT address_key, sub, address FROM user_addresses";
    expect((await bindings.DB.prepare(select).all()).results).toEqual([
      { address_key: "alice@example.com", sub: "bob", address: "ALICE@example.com" },
    ]);
  });

  it("a username is not somebody else's verified address, nor the other way round", async () => {
    await create();
    const named = await admin.call("POST", "/users", { body: { username: "Alice@example.com" } });
    expect(named).toMatchObject({
      status: 409,
      body: { error_description: "username: is the address of another user" },
    });
    expect((await admin.call("PATCH", "/users/alice", { body: { username: "alice@example.com" } })).status).toBe(200);
    await create({ sub: "bob", username: "bob@example.com" });
    const addressed = await admin.call("PATCH", "/users/alice", { body: { claims: { email: "bob@example.com" } } });
    expect(addressed).toMatchObject({
      status: 409,
      body: { error_description: "claims.email: is the username of another user" },
    });
  });

  it.each(['"alice"@example.com', "alıce@example.com", "alice@localhost", "alice@[192.0.2.1]"])(
    "%s cannot be verified: 400, and it may stand in the claims without that",
    async (email) => {
      const refused = await admin.call("POST", "/users", {
        body: { username: "a", claims: { email, email_verified: true } },
      });
      expect(refused).toMatchObject({ status: 400, body: { fields: [{ path: "claims.email" }] } });
      expect((await admin.call("POST", "/users", { body: { username: "a", claims: { email } } })).status).toBe(201);
    },
  );

  it("RFC 8265 §3.3: a name is taken in every spelling, and found by every spelling", async () => {
    await create({ sub: "unal", username: "Ünal" });
    for (const username of ["ünal", "ÜNAL"]) {
      const response = await admin.call("POST", "/users", { body: { username } });
      expect([response.status, response.body.error_description]).toEqual([409, "username: is taken"]);
    }
    for (const spelling of ["ünal", "ÜNAL", "u\u0308nal", "Üｎal"]) {
      const { body } = await admin.call("GET", `/users?username=${encodeURIComponent(spelling)}`);
      expect(body.users.map(({ sub }: { sub: string }) => sub)).toEqual(["unal"]);
    }
    expect((await admin.call("GET", "/users?username=unal")).body.users).toEqual([]);
    expect((await admin.call("PATCH", "/users/unal", { body: { username: "Ayşe" } })).status).toBe(200);
    expect((await admin.call("POST", "/users", { body: { sub: "second", username: "ÜNAL" } })).status).toBe(201);
    expect((await admin.call("PATCH", "/users/second", { body: { username: "AYŞE" } })).status).toBe(409);
  });

  it("admin API: concurrent updates lose no field", async () => {
    await create();
    const patches = [{ roles: ["x"] }, { groups: [] }, { claims: { nickname: "Al" } }, { username: "alice2" }];
    const responses = await Promise.all(patches.map((body) => admin.call("PATCH", "/users/alice", { body })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await admin.call("GET", "/users/alice")).body).toMatchObject({
      roles: ["x"],
      groups: [],
      username: "alice2",
      claims: { nickname: "Al", name: "Alice A." },
    });
  });

  it("OIDC Core §5.3: other isolates discard their copies of a user's roles and status before the call returns", {
    timeout: 30_000,
  }, async () => {
    await create();
    const other = new AdminCaller(leasing);
    await other.call("GET", "/users");
    const context = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    expect((await other.isolate.users.findRbacClaims(context, "alice")).roles).toEqual(["editor", "reader"]);
    expect((await other.isolate.users.find(context, "alice"))?.status).toBe("active");

    await admin.call("PATCH", "/users/alice", { body: { roles: ["owner"], status: "suspended" } });
    const later = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    await other.isolate.revocation.confirmControl(later);
    expect((await other.isolate.users.findRbacClaims(later, "alice")).roles).toEqual(["owner"]);
    expect((await other.isolate.users.find(later, "alice"))?.status).toBe("suspended");
  });
});

describe("DELETE /admin/users/{sub}", () => {
  it("admin API: roles, groups and password are deleted with the user", async () => {
    await create({ ...alice, password: "a long password" });
    expect((await admin.call("DELETE", "/users/alice")).status).toBe(204);
    expect((await admin.call("GET", "/users/alice")).status).toBe(404);
    expect((await admin.call("DELETE", "/users/alice")).status).toBe(404);
    const counts = await bindings.DB.batch(
      ["user_roles", "user_groups", "user_passwords"].map((table) => bindings.DB.prepare(`SELECT * FROM ${table}`)),
    );
    expect(counts.map(({ results }) => results)).toEqual([[], [], []]);
  });

  it("OIDC Core §2: a sub is never assigned again: 409, for a user and for a client; the name becomes free", async () => {
    const sub = "alice@example.com";
    expect((await create({ ...alice, sub })).status).toBe(201);
    expect((await admin.call("DELETE", `/users/${encodeURIComponent(sub)}`)).status).toBe(204);
    const retired = await Promise.all([
      bindings.DB.prepare("SELECT hex(hash) AS hash FROM retired_subs").all(),
      bindings.AUDIT_DB.prepare("SELECT hex(hash) AS hash FROM retired_subjects").all(),
    ]);
    const hash = await macText(bindings, "pairwise-mac", `retired:\n${sub}`);
    const bytes = Array.from(decodeBase64Url(hash)!, (byte) => byte.toString(16).padStart(2, "0"));
    const row = { hash: bytes.join("").toUpperCase() };
    expect(retired.map(({ results }) => results)).toEqual([[row], [row]]);
    const before = await dumpDatabase();
    const again = await admin.call("POST", "/users", { body: { ...alice, sub } });
    const message = "was a deleted user's, and is never given again";
    expect([again.status, again.body.error, again.body.fields]).toEqual([409, "conflict", [{ path: "sub", message }]]);
    expect(await dumpDatabase()).toBe(before);
    // As after a restoration of either database.
    for (const [database, table] of [
      [bindings.DB, "retired_subs"],
      [bindings.AUDIT_DB, "retired_subjects"],
    ] as const) {
      const { results } = await database.prepare(`DELETE FROM ${table} RETURNING hash`).all<{ hash: number[] }>();
      expect((await admin.call("POST", "/users", { body: { ...alice, sub } })).status).toBe(409);
      const insert = database.prepare(`INSERT INTO ${table} VALUES (?)`);
      await database.batch(results.map((deleted) => insert.bind(new Uint8Array(deleted.hash))));
    }
    expect((await create({ ...alice, sub: "alice" })).status).toBe(201);
    expect((await admin.call("DELETE", "/users/alice")).status).toBe(204);
    const client = { client_id: "alice", grant_types: ["client_credentials"] };
    const asClient = await admin.call("POST", "/clients", { body: client });
    expect([asClient.status, asClient.body.fields?.[0].path]).toEqual([409, "client_id"]);
  });
});

describe("/admin/roles and /admin/groups", () => {
  it("RFC 9068 §2.2.3.1: permissions reach a user through role and group, even in isolates that had a copy", {
    timeout: 30_000,
  }, async () => {
    await create({ sub: "dave", username: "dave", groups: ["staff"] });
    const other = new AdminCaller(leasing);
    await other.call("GET", "/users");
    const context = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    expect(await other.isolate.users.findRbacClaims(context, "dave")).toEqual({
      roles: [],
      groups: ["staff"],
      permissions: [],
    });

    expect((await admin.call("PUT", "/groups/staff", { body: { roles: ["editor"] } })).body).toEqual({
      group: "staff",
      roles: ["editor"],
    });
    expect((await admin.call("PUT", "/roles/editor", { body: { permissions: ["write", "read"] } })).body).toEqual({
      role: "editor",
      permissions: ["read", "write"],
    });
    const later = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    await other.isolate.revocation.confirmControl(later);
    expect(await other.isolate.users.findRbacClaims(later, "dave")).toEqual({
      roles: ["editor"],
      groups: ["staff"],
      permissions: ["read", "write"],
    });
  });

  it("admin API: a role is listed, read, replaced and deleted", async () => {
    await admin.call("PUT", "/roles/b", { body: { permissions: ["one"] } });
    await admin.call("PUT", "/roles/a", { body: { permissions: ["two", "three"] } });
    await admin.call("PUT", "/roles/a", { body: { permissions: ["four"] } });
    expect((await admin.call("GET", "/roles")).body).toEqual({
      roles: [
        { role: "a", permissions: ["four"] },
        { role: "b", permissions: ["one"] },
      ],
    });
    expect((await admin.call("GET", "/roles/a")).body).toEqual({ role: "a", permissions: ["four"] });
    expect((await admin.call("DELETE", "/roles/a")).status).toBe(204);
    expect((await admin.call("GET", "/roles/a")).status).toBe(404);
    expect((await admin.call("DELETE", "/roles/a")).status).toBe(404);
  });

  it.each([
    ["/roles/bad%20name", { permissions: [] }, "role"],
    ["/roles/x", { permissions: ["with space"] }, "permissions[0]"],
    ["/roles/x", { permissions: ["p", "p"] }, "permissions"],
    ["/roles/x", {}, "permissions"],
    ["/groups/x", { roles: ["*"] }, "roles[0]"],
  ])("admin API: PUT %s with %j is refused by name", async (path, body, field) => {
    const before = await dumpDatabase();
    const response = await admin.call("PUT", path, { body });
    expect([response.status, response.body.fields?.[0].path]).toEqual([400, field]);
    expect(await dumpDatabase()).toBe(before);
  });
});
