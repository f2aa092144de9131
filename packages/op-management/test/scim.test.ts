/** **SCIM against its storage**: the hostile cases by number, and what is written (RFC 7644; ADR 72). */

import { createExecutionContext } from "cloudflare:test";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { loadRecord } from "@edge-op/shared/storage/record-kinds";
import { membershipQuery } from "@edge-op/shared/users/organizations";
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../src/app.ts";
import { DirectoryStore, groupFilters, userFilters } from "../src/scim/directory-store.ts";
import { readFilter } from "../src/scim/filters.ts";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;
const patchOp = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

// biome-ignore lint/suspicious/noExplicitAny: bodies are compared with literals.
type Answer = { readonly status: number; readonly body: any; readonly headers: Headers; readonly text: string };

let admin: AdminCaller;
let token: string;
let app: ReturnType<typeof createApp>;

async function scim(
  method: string,
  path: string,
  body?: unknown,
  { org = "acme", as = token, headers = {} }: { org?: string; as?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const request = new Request(`${issuer}/scim/${org}/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${as}`, "content-type": "application/scim+json", ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const response = await app.fetch(request, { ...bindings, REVOCATION_MODE: "direct" }, createExecutionContext());
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === "" ? undefined : JSON.parse(text) };
}

const patch = (path: string, ...operations: readonly unknown[]) =>
  scim("PATCH", path, { schemas: [patchOp], Operations: operations });

async function newToken(org: string): Promise<string> {
  const made = await admin.call("POST", `/organizations/${org}/scim-tokens`, { body: { name: "Entra" } });
  return made.body.token;
}

async function verifyDomain(org: string, domain: string): Promise<void> {
  await DB.prepare(
    "INSERT INTO organization_domains (org_id, domain, state, created_at_ms) VALUES (?1, ?2, 'verified', 1)",
  )
    .bind(org, domain)
    .run();
}

const rows = async (sql: string) => (await DB.prepare(sql).all()).results;
const userOf = async (scimId: string) => (await rows(`SELECT * FROM scim_users WHERE scim_id = '${scimId}'`))[0]!;
const cutOffs = async () => (await rows("SELECT key FROM cut_offs ORDER BY key")).map(({ key }) => key);
const person = (name: string, more: object = {}) => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  userName: `${name}@acme.example`,
  externalId: `x-${name}`,
  emails: [{ value: `${name}@acme.example`, type: "work", primary: true }],
  ...more,
});
const create = async (name: string, more: object = {}) => {
  const { status, body } = await scim("POST", "/Users", person(name, more));
  expect([status, body.id]).toEqual([201, expect.any(String)]);
  return body as { id: string; meta: { version: string } };
};

beforeEach(async () => {
  admin = new AdminCaller();
  app = createApp(admin.isolate);
  for (const org of ["acme", "zeta"]) await admin.call("POST", "/organizations", { body: { org_id: org, name: org } });
  token = await newToken("acme");
  await verifyDomain("acme", "acme.example");
});

describe("tokens", () => {
  it("case 1: a token of another organisation is refused with the same bytes as an unknown one, and reads nothing of it", async () => {
    const { id } = await create("ann");
    const foreign = await scim("GET", `/Users/${id}`, undefined, { as: await newToken("zeta") });
    const unknown = await scim("GET", `/Users/${id}`, undefined, { as: `scim.${"a".repeat(16)}.${"b".repeat(43)}` });
    const none = await scim("GET", `/Users/${id}`, undefined, { as: "x" });
    expect(foreign.status).toBe(401);
    expect(new Set([foreign.text, unknown.text, none.text]).size).toBe(1);
    expect(foreign.headers.get("www-authenticate")).toBe("Bearer");
    expect((await scim("GET", `/Users/${id}`, undefined, { org: "none" })).text).toBe(unknown.text);
  });

  it("cases 12, 13: at most five, shown once, a year at most, refused at once when deleted, and with a disabled organisation", async () => {
    for (let count = 0; count < 4; count += 1) await newToken("acme");
    const sixth = await admin.call("POST", "/organizations/acme/scim-tokens", { body: { name: "Okta" } });
    expect(sixth.status).toBe(409);
    const { scim_tokens: tokens } = (await admin.call("GET", "/organizations/acme/scim-tokens")).body;
    expect(tokens).toHaveLength(5);
    expect(Object.keys(tokens[0])).toEqual(["id", "name", "created_at", "expires_at"]);
    expect(
      (await admin.call("POST", "/organizations/zeta/scim-tokens", { body: { name: "O", days: 366 } })).status,
    ).toBe(400);
    expect((await scim("GET", "/Users")).status).toBe(200);
    await admin.call("PATCH", "/organizations/acme", { body: { status: "disabled" } });
    expect((await scim("GET", "/Users")).status).toBe(401);
    await admin.call("PATCH", "/organizations/acme", { body: { status: "active" } });
    const id = token.split(".")[1];
    expect((await admin.call("DELETE", `/organizations/zeta/scim-tokens/${id}`)).status).toBe(404);
    expect((await admin.call("DELETE", `/organizations/acme/scim-tokens/${id}`)).status).toBe(204);
    expect((await scim("GET", "/Users")).status).toBe(401);
    const stored = JSON.stringify(await rows("SELECT * FROM scim_tokens"));
    expect(stored).not.toContain(token.split(".")[2]);
  });

  it("an ended token is refused", async () => {
    await DB.prepare("UPDATE scim_tokens SET expires_at_ms = 1").run();
    expect((await scim("GET", "/Users")).status).toBe(401);
  });
});

describe("creating", () => {
  it("S2: nobody has the address and the domain is verified: an account without credentials, a member", async () => {
    const { id } = await create("ann", { displayName: "Ann", password: "secret", roles: ["admin"] });
    const { sub, created_account: created } = await userOf(id);
    const user = (await admin.call("GET", `/users/${String(sub)}`)).body;
    expect(user).toMatchObject({ username: "ann@acme.example", status: "active", has_password: false, roles: [] });
    expect(user.claims).toMatchObject({ name: "Ann", email: "ann@acme.example", email_verified: true });
    const member = (await admin.call("GET", `/organizations/acme/members/${String(sub)}`)).body;
    expect([created, member.status, member.source, member.roles]).toEqual([1, "active", "scim", []]);
    expect(await rows("SELECT kind FROM control_changes WHERE kind = 'membership'")).toEqual([]);
    const text = JSON.stringify(await rows("SELECT * FROM scim_users"));
    expect(text).not.toContain("secret");
    const [event] = await rows("SELECT action, sub, detail FROM admin_events WHERE action = 'user.create'");
    expect(event).toMatchObject({ sub: `scim.${token.split(".")[1]}` });
    expect(JSON.parse(String(event!["detail"])).names).toContain("displayName");
    expect(String(event!["detail"])).not.toContain("Ann");
  });

  it("S2: the account that has verified the address becomes a member", async () => {
    const claims = { email: "bob@acme.example", email_verified: true };
    await admin.call("POST", "/users", { body: { sub: "bob", username: "bob", claims } });
    const { id } = await create("bob");
    expect(await userOf(id)).toMatchObject({ sub: "bob", created_account: 0 });
    expect((await admin.call("GET", "/organizations/acme/members/bob")).status).toBe(200);
  });

  it("case 3: an address outside of the verified domains is pending, and gives and changes nothing", async () => {
    const claims = { email: "root@op.example", email_verified: true };
    await admin.call("POST", "/users", { body: { sub: "root", username: "root", claims } });
    const before = await rows("SELECT * FROM users");
    const { id } = await create("root", {
      userName: "root@op.example",
      emails: [{ value: "root@op.example", primary: true }],
    });
    expect(await userOf(id)).toMatchObject({ sub: null, active: 1 });
    expect([await rows("SELECT * FROM users"), await rows("SELECT * FROM memberships")]).toEqual([before, []]);
    expect((await scim("GET", `/Users/${id}`)).body).toMatchObject({ userName: "root@op.example", active: true });
  });

  it("an unverified address of an account, a held one, and a username of somebody are pending", async () => {
    const unverified = { email: "cat@acme.example" };
    await admin.call("POST", "/users", { body: { sub: "cat", username: "cat@acme.example", claims: unverified } });
    const { id } = await create("cat");
    expect(await userOf(id)).toMatchObject({ sub: null });
  });

  it("case 14: an address whose domain another organisation has is pending", async () => {
    await DB.prepare("UPDATE organization_domains SET org_id = 'zeta'").run();
    expect(await userOf((await create("ann")).id)).toMatchObject({ sub: null });
  });

  it("case 17: a pending user is connected by the next change after the domain is verified", async () => {
    await DB.prepare("DELETE FROM organization_domains").run();
    const { id } = await create("ann");
    expect(await userOf(id)).toMatchObject({ sub: null });
    await verifyDomain("acme", "acme.example");
    expect(await userOf(id)).toMatchObject({ sub: null });
    await patch(`/Users/${id}`, { op: "replace", path: "title", value: "Engineer" });
    expect((await userOf(id))["sub"]).toMatch(/^u/);
  });

  it("case 16, S4: a repeated creation is the same resource by externalId, else a conflict that the filter shows", async () => {
    const { id } = await create("ann");
    expect((await create("ann")).id).toBe(id);
    const again = await scim("POST", "/Users", person("ann", { externalId: undefined }));
    expect([again.status, again.body.scimType]).toEqual([409, "uniqueness"]);
    const found = await scim("GET", `/Users?filter=${encodeURIComponent('userName eq "ANN@acme.example"')}`);
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
    expect(await rows("SELECT count(*) AS n FROM users")).toEqual([{ n: 1 }]);
  });
});

describe("changing", () => {
  it("case 2: a user or group of another organisation is none", async () => {
    const { id } = await create("ann");
    const other = { org: "zeta", as: await newToken("zeta") };
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      const body = method === "GET" || method === "DELETE" ? undefined : { ...person("x"), Operations: [] };
      expect((await scim(method, `/Users/${id}`, body, other)).status, method).toBe(404);
    }
    const group = await scim("POST", "/Groups", { displayName: "G", members: [{ value: id }] }, other);
    expect([group.status, group.body.scimType]).toEqual([400, "invalidValue"]);
    const own = await scim("POST", "/Groups", { displayName: "G", members: [{ value: id }] });
    const nested = await patch(`/Groups/${own.body.id}`, {
      op: "add",
      path: "members",
      value: [{ value: own.body.id }],
    });
    expect([nested.status, nested.body.scimType]).toEqual([400, "invalidValue"]);
    expect((await scim("DELETE", `/Groups/${own.body.id}`, undefined, other)).status).toBe(404);
  });

  it("case 4: a changed address stays in the document", async () => {
    const { id } = await create("ann");
    const value = "victim@b.example";
    await patch(`/Users/${id}`, { op: "replace", path: 'emails[type eq "work"].value', value });
    expect((await scim("GET", `/Users/${id}`)).body.emails).toEqual([{ value, type: "work", primary: true }]);
    expect(await rows("SELECT address_key FROM user_addresses")).toEqual([{ address_key: "ann@acme.example" }]);
  });

  it("case 5, S6: the userName of another user is a conflict, and nothing of the request is changed", async () => {
    const { id } = await create("ann");
    await create("bob");
    const before = await userOf(id);
    const taken = await patch(
      `/Users/${id}`,
      { op: "replace", path: "title", value: "x" },
      { op: "replace", path: "userName", value: "BOB@acme.example" },
    );
    expect([taken.status, taken.body.scimType]).toEqual([409, "uniqueness"]);
    expect(await userOf(id)).toEqual(before);
  });

  it("case 7: of active true and false in one request the last operation counts", async () => {
    const { id } = await create("ann");
    const off = { op: "replace", path: "active", value: false };
    const on = { op: "replace", path: "active", value: true };
    expect((await patch(`/Users/${id}`, off, on)).body.active).toBe(true);
    expect((await patch(`/Users/${id}`, on, off)).body.active).toBe(false);
    expect(await rows("SELECT status FROM memberships")).toEqual([{ status: "suspended" }]);
  });

  it("cases 6, 15, S3: a deactivation commits the cut-off with the suspension; a repeated one commits it again; a return restores", async () => {
    const claims = { email: "bob@acme.example", email_verified: true };
    await admin.call("POST", "/users", { body: { sub: "bob", username: "bob", claims, password: "correct horse 7" } });
    const { id } = await create("bob");
    await admin.call("PUT", "/organizations/acme/members/bob", { body: { roles: ["owner"] } });
    await patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" });
    expect([await cutOffs(), await rows("SELECT status FROM users")]).toEqual([
      ["nb:member:acme:bob"],
      [{ status: "active" }],
    ]);
    const versions = async () => rows("SELECT version FROM cut_offs");
    const first = await versions();
    await patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" });
    expect(await versions()).not.toEqual(first);
    await patch(`/Users/${id}`, { op: "replace", value: { active: true } });
    expect(await loadRecord(DB, membershipQuery, "acme:bob")).toMatchObject({ status: "active", roles: ["owner"] });
  });

  it("what an administrator has suspended, the directory does not give back", async () => {
    const { id } = await create("ann");
    const { sub } = await userOf(id);
    await patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
    await admin.call("PUT", `/organizations/acme/members/${String(sub)}`, { body: { status: "suspended" } });
    await patch(`/Users/${id}`, { op: "replace", path: "active", value: true });
    expect(await rows("SELECT status FROM memberships")).toEqual([{ status: "suspended" }]);
  });

  it("an account that SCIM created is suspended with its membership, and comes back with it; one with a credential is not", async () => {
    const { id } = await create("ann");
    const { sub } = await userOf(id);
    await patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
    expect([await cutOffs(), await rows("SELECT status FROM users")]).toEqual([
      [`nb:sub:${String(sub)}`],
      [{ status: "suspended" }],
    ]);
    await patch(`/Users/${id}`, { op: "replace", path: "active", value: true });
    expect(await rows("SELECT status FROM users")).toEqual([{ status: "active" }]);
    await admin.call("PATCH", `/users/${String(sub)}`, { body: { password: "correct horse 7" } });
    await scim("DELETE", `/Users/${id}`);
    expect(await rows("SELECT status FROM users")).toEqual([{ status: "active" }]);
    expect(await rows("SELECT * FROM memberships")).toEqual([]);
  });

  it("case 8: after DELETE a creation is a new resource, and connects by the rule as at first", async () => {
    const { id } = await create("ann");
    const { sub } = await userOf(id);
    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(204);
    expect([await rows("SELECT * FROM memberships"), await cutOffs()]).toEqual([[], [`nb:sub:${String(sub)}`]]);
    expect((await scim("DELETE", `/Users/${id}`)).status).toBe(404);
    const again = await create("ann");
    expect(again.id).not.toBe(id);
    expect(await userOf(again.id)).toMatchObject({ sub, created_account: 0 });
  });

  it("If-Match: a change of another version is 412; ETag is weak", async () => {
    const { id, meta } = await create("ann");
    const read = await scim("GET", `/Users/${id}`);
    expect([read.headers.get("etag"), read.headers.get("content-type")]).toEqual([
      meta.version,
      "application/scim+json",
    ]);
    const body = { Operations: [{ op: "replace", path: "title", value: "x" }] };
    expect((await scim("PATCH", `/Users/${id}`, body, { headers: { "if-match": meta.version } })).status).toBe(200);
    expect((await scim("PATCH", `/Users/${id}`, body, { headers: { "if-match": meta.version } })).status).toBe(412);
  });
});

describe("groups", () => {
  it("case 9, S5: roles are given to the id of a group, by an administrator; renaming moves nothing", async () => {
    const { id } = await create("ann");
    const { sub } = await userOf(id);
    const record = async () => (await loadRecord(DB, membershipQuery, `acme:${String(sub)}`))?.roles;
    const finance = (await scim("POST", "/Groups", { displayName: "Finance", members: [{ value: id }] })).body;
    expect(await record()).toEqual([]);
    await admin.call("PUT", `/organizations/acme/scim-groups/${finance.id}`, { body: { roles: ["owner"] } });
    expect(await record()).toEqual(["owner"]);
    await patch(`/Groups/${finance.id}`, { op: "replace", path: "displayName", value: "Old" });
    const other = (await scim("POST", "/Groups", { displayName: "Finance" })).body;
    const { id: bob } = await create("bob");
    await patch(`/Groups/${other.id}`, { op: "add", path: "members", value: [{ value: bob }] });
    const { sub: bobSub } = await userOf(bob);
    expect((await loadRecord(DB, membershipQuery, `acme:${String(bobSub)}`))?.roles).toEqual([]);
    expect(await record()).toEqual(["owner"]);
    await DB.prepare("DELETE FROM control_changes").run();
    await patch(`/Groups/${finance.id}`, { op: "remove", path: `members[value eq "${id}"]` });
    expect(await record()).toEqual([]);
    expect(await rows("SELECT kind, id FROM control_changes WHERE kind = 'membership'")).toEqual([
      { kind: "membership", id: `acme:${String(sub)}` },
    ]);
    expect(
      (await admin.call("PUT", `/organizations/zeta/scim-groups/${finance.id}`, { body: { roles: [] } })).status,
    ).toBe(404);
  });

  it("case 10: remove of members without naming any is refused", async () => {
    const { id } = await create("ann");
    const group = (await scim("POST", "/Groups", { displayName: "G", members: [{ value: id }] })).body;
    for (const value of [undefined, null, []]) {
      const refused = await patch(`/Groups/${group.id}`, { op: "remove", path: "members", value });
      expect([refused.status, refused.body.scimType]).toEqual([400, "noTarget"]);
    }
    expect(
      (await patch(`/Groups/${group.id}`, { op: "replace", path: "members", value: [] })).body.members,
    ).toBeUndefined();
  });

  it("S6: an operation that is refused leaves the whole request undone", async () => {
    const { id } = await create("ann");
    const group = (await scim("POST", "/Groups", { displayName: "G" })).body;
    const refused = await patch(
      `/Groups/${group.id}`,
      { op: "add", path: "members", value: [{ value: id }] },
      { op: "add", path: "members", value: [{ value: "unknown" }] },
    );
    expect(refused.status).toBe(400);
    expect((await scim("GET", `/Groups/${group.id}`)).body.members).toBeUndefined();
  });
});

describe("bounds", () => {
  it("case 11: names of a prototype, deep filters and large bodies are refused before they are followed", async () => {
    const { id } = await create("ann");
    const path = `/Users/${id}`;
    for (const name of ["__proto__", "constructor", "constructor.prototype", "name.__proto__", "toString"]) {
      const answer = await patch(path, { op: "add", path: name, value: { polluted: true } });
      expect([answer.status, answer.body.scimType], name).toEqual([400, "invalidPath"]);
    }
    expect((await scim("PATCH", path, '{"Operations":[{"op":"add","value":{"__proto__":{"a":1}}}]}')).status).toBe(400);
    expect((await scim("PUT", path, `{"constructor":{"a":1},"userName":"ann@acme.example"}`)).status).toBe(200);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    const deep = `${"(".repeat(10_000)}id eq "1"${")".repeat(10_000)}`;
    const filtered = await scim("GET", `/Users?filter=${encodeURIComponent(deep)}`);
    expect([filtered.status, filtered.body.scimType]).toEqual([400, "invalidFilter"]);
    const members = Array.from({ length: 100_000 }, (_, index) => ({ value: `m${index}` }));
    expect((await scim("POST", "/Groups", { displayName: "G", members })).status).toBe(413);
    expect((await patch(path, { op: "replace", path: "title", value: "x".repeat(2_000) })).status).toBe(400);
  });

  it("case 18: what is withheld cannot be asked for", async () => {
    const { id } = await create("ann", { password: "secret" });
    const answer = await scim("GET", `/Users/${id}?attributes=password,userName`);
    expect(answer.body).toEqual({ schemas: expect.any(Array), id, userName: "ann@acme.example" });
    const filtered = await scim("GET", `/Users?filter=${encodeURIComponent('password eq "secret"')}`);
    expect(filtered.status).toBe(400);
  });
});

it("rows read: of 40,000 organisations with a user each, a page of 1,000 users and each filter read the rows of one", async () => {
  const numbered = (count: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) `;
  const insert = (org: string, key: string, count: number) =>
    `${numbered(count)} INSERT INTO scim_users (org_id, scim_id, created_account, external_id, user_name_key, email_key, display_key, active,
       document, created_at_ms, version) SELECT ${org}, ${key}, 0, ${key}, ${key}, ${key}, ${key}, 1, '{}', 1, 1 FROM n`;
  for (const sql of [
    `${numbered(40_000)} INSERT INTO organizations (org_id, document, created_at_ms, updated_at_ms) SELECT 'o' || i, '{"name":"O"}', 1, 1 FROM n`,
    insert("'o' || i", "'u' || (i % 3000)", 40_000),
    insert("'acme'", "'u' || i", 3_000),
    "INSERT INTO scim_groups (org_id, group_id, display_name, display_key, created_at_ms, version) VALUES ('acme', 'g', 'G', 'g', 1, 1)",
    `${numbered(3_000)} INSERT INTO scim_groups (org_id, group_id, display_name, display_key, created_at_ms, version) SELECT 'zeta', 'g' || i, 'g' || i, 'g' || i, 1, 1 FROM n`,
    `${numbered(2_000)} INSERT INTO scim_members SELECT 'acme', 'g', 'u' || i FROM n`,
  ])
    await DB.prepare(sql).run();
  const counts = { object: 0, kv: 0, d1: 0, rows: 0 };
  const store = new DirectoryStore(countCalls({ DB }, counts).DB, "acme");
  const rowsOf = async (read: () => Promise<readonly unknown[]>): Promise<[found: number, rows: number]> => {
    counts.rows = 0;
    return [(await read()).length, counts.rows];
  };
  const none = { sql: "", values: [] };
  const [found, read] = await rowsOf(() => store.listUsers({ condition: none, offset: 0, count: 1_000 }));
  expect([found, read <= 1_100]).toEqual([1_000, true]);
  for (const name of ["id", "userName", "externalId", "displayName", "emails.value"]) {
    const condition = readFilter(`${name} eq "u7" and active eq true`, userFilters);
    expect(await rowsOf(() => store.listUsers({ condition, offset: 0, count: 1 })), name).toEqual([
      1,
      expect.any(Number),
    ]);
    expect(counts.rows, name).toBeLessThanOrEqual(6);
  }
  for (const filter of ['displayName eq "g"', 'members.value eq "u7"']) {
    const condition = readFilter(filter, groupFilters);
    const [groups] = await rowsOf(() => store.listGroups({ condition, offset: 0, count: 1 }));
    expect([groups, counts.rows <= 6], filter).toEqual([1, true]);
  }
});
