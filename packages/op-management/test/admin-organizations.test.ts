import { loadRecord } from "@edge-op/shared/storage/record-kinds";
import { membershipQuery, organizationQuery } from "@edge-op/shared/users/organizations";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;

let admin: AdminCaller;
beforeEach(async () => {
  admin = new AdminCaller();
  for (const sub of ["ann", "bob"]) await admin.call("POST", "/users", { body: { sub, username: sub } });
  await admin.call("POST", "/organizations", { body: { org_id: "acme", name: "Acme" } });
});

async function changes(): Promise<unknown[]> {
  const { results } = await DB.prepare("SELECT kind, id FROM control_changes WHERE at_ms > 0 ORDER BY version").all();
  return results.map(({ kind, id }) => `${kind} ${id}`);
}

async function cutOffs(): Promise<unknown[]> {
  return (await DB.prepare("SELECT key FROM cut_offs ORDER BY key").all()).results.map(({ key }) => key);
}

const add = (sub: string, body: object = {}) => admin.call("PUT", `/organizations/acme/members/${sub}`, { body });

describe("/admin/organizations", () => {
  it("an organisation is created, listed by name, renamed, disabled and deleted with its memberships", async () => {
    await admin.call("POST", "/organizations", { body: { org_id: "zeta", name: "Zeta" } });
    expect((await admin.call("GET", "/organizations?name=AC*")).body.organizations).toMatchObject([{ org_id: "acme" }]);
    expect((await admin.call("GET", "/organizations")).body.organizations).toHaveLength(2);
    await add("ann", { roles: ["billing"] });
    const renamed = await admin.call("PATCH", "/organizations/acme", { body: { name: "Acme Ltd" } });
    expect([renamed.status, renamed.body.name, await cutOffs()]).toEqual([200, "Acme Ltd", []]);
    const disabled = await admin.call("PATCH", "/organizations/acme", { body: { status: "disabled" } });
    expect([disabled.body.status, await cutOffs()]).toEqual(["disabled", ["nb:org:acme"]]);
    expect((await admin.call("DELETE", "/organizations/acme")).status).toBe(204);
    const rows = "SELECT sub FROM memberships UNION ALL SELECT sub FROM membership_roles";
    expect((await DB.prepare(rows).all()).results).toEqual([]);
  });

  it("an id that is taken is a conflict that names it; one with a colon is refused", async () => {
    const taken = await admin.call("POST", "/organizations", { body: { org_id: "acme", name: "Other" } });
    expect([taken.status, taken.body.fields]).toEqual([409, [{ path: "org_id", message: "is taken" }]]);
    const colon = await admin.call("POST", "/organizations", { body: { org_id: "a:b", name: "Other" } });
    expect([colon.status, colon.body.fields[0].path]).toEqual([400, "org_id"]);
  });

  it("O2: the record of a membership says what it gives, and that of the organisation whether anything is", async () => {
    await admin.call("PUT", "/organization-roles/billing", { body: { permissions: ["invoices:read"] } });
    await add("ann", { roles: ["billing", "unknown"] });
    expect(await loadRecord(DB, membershipQuery, "acme:ann")).toEqual({
      status: "active",
      roles: ["billing", "unknown"],
      permissions: ["invoices:read"],
      cutOffs: [],
    });
    await admin.call("PATCH", "/organizations/acme", { body: { status: "disabled" } });
    expect(await loadRecord(DB, organizationQuery, "acme")).toEqual({
      status: "disabled",
      name: "Acme",
      cutOffs: [{ key: "nb:org:acme", version: expect.any(Number) }],
    });
    expect(await loadRecord(DB, membershipQuery, "acme:bob")).toBeUndefined();
  });

  it("requiring two factors is in the record, and ends every grant of before, once", async () => {
    const requires = async () => (await loadRecord(DB, organizationQuery, "acme"))?.requiresMfa;
    const patch = async (body: object) => {
      await DB.prepare("DELETE FROM cut_offs").run();
      const { status } = await admin.call("PATCH", "/organizations/acme", { body });
      return [status, await requires(), await cutOffs()];
    };
    expect(await requires()).toBeUndefined();
    expect(await patch({ require_mfa: true })).toEqual([200, true, ["nb:org:acme"]]);
    expect(await patch({ require_mfa: true, name: "Acme Ltd" })).toEqual([200, true, []]);
    expect(await patch({ require_mfa: null })).toEqual([200, undefined, []]);
    expect(await patch({ require_mfa: "yes" })).toEqual([400, undefined, []]);
  });

  it("a disabled organisation stays disabled when only its name is changed", async () => {
    await admin.call("PATCH", "/organizations/acme", { body: { status: "disabled" } });
    const renamed = await admin.call("PATCH", "/organizations/acme", { body: { name: "Acme Ltd" } });
    expect(renamed.body).toMatchObject({ status: "disabled", name: "Acme Ltd" });
  });
});

describe("/admin/organizations/{org_id}/members", () => {
  it("a membership is added without a control change, since no isolate remembers its absence", async () => {
    const before = await changes();
    const added = await add("ann", { roles: ["billing"] });
    expect([added.status, added.body.roles, added.body.source]).toEqual([200, ["billing"], "administrator"]);
    expect(await changes()).toEqual(before);
    expect((await admin.call("GET", "/organizations/acme/members")).body.members).toMatchObject([
      { sub: "ann", username: "ann", organization: "Acme", status: "active" },
    ]);
    expect((await admin.call("GET", "/users/ann/memberships")).body.memberships).toMatchObject([{ org_id: "acme" }]);
  });

  it("O7: suspension and removal are changes of the membership, with its cut-off in the same transaction", async () => {
    await add("ann", { roles: ["billing"] });
    await add("ann", { roles: [] });
    expect([(await changes()).at(-1), await cutOffs()]).toEqual(["membership acme:ann", []]);
    await add("ann", { status: "suspended" });
    expect([(await changes()).at(-1), await cutOffs()]).toEqual(["membership acme:ann", ["nb:member:acme:ann"]]);
    await add("bob");
    expect((await admin.call("DELETE", "/organizations/acme/members/bob")).status).toBe(204);
    expect([(await changes()).at(-1), await cutOffs()]).toEqual([
      "membership acme:bob",
      ["nb:member:acme:ann", "nb:member:acme:bob"],
    ]);
    expect((await admin.call("GET", "/organizations/acme/members/bob")).status).toBe(404);
  });

  it("O7: a member who was removed and added again has the cut-off in the record, for as long as an older grant lives", async () => {
    await add("ann");
    await admin.call("DELETE", "/organizations/acme/members/ann");
    await add("ann");
    expect(await loadRecord(DB, membershipQuery, "acme:ann")).toMatchObject({
      status: "active",
      cutOffs: [{ key: "nb:member:acme:ann", version: expect.any(Number) }],
    });
  });

  it("concurrent additions with other roles are one membership, with the roles of one of them", async () => {
    const [one, other] = await Promise.all([add("ann", { roles: ["a"] }), add("ann", { roles: ["b"] })]);
    expect([one.status, other.status]).toEqual([200, 200]);
    const { body } = await admin.call("GET", "/organizations/acme/members/ann");
    expect([["a"], ["b"]]).toContainEqual(body.roles);
  });

  it("hostile case 22: a user is a member of at most 200 organisations", async () => {
    await DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO organizations (org_id, status, document, created_at_ms, updated_at_ms) SELECT 'o' || i, 'active', '{"name":"x"}', 1, 1 FROM n`,
    ).run();
    await DB.prepare(
      "INSERT INTO memberships SELECT 'ann', org_id, 'active', 'import', 1, 1 FROM organizations WHERE org_id <> 'acme'",
    ).run();
    const refused = await add("ann");
    expect([refused.status, refused.body.error_description]).toEqual([409, expect.stringContaining("200")]);
    expect((await add("bob")).status).toBe(200);
  });

  it("with If-None-Match, what is there is not replaced", async () => {
    const headers = { "if-none-match": "*" };
    const role = { body: { permissions: ["invoices:read"] }, headers };
    const statuses = [];
    for (const path of ["/organizations/acme/members/ann", "/organization-roles/billing"]) {
      const body = path.includes("roles") ? role : { body: { roles: ["billing"] }, headers };
      statuses.push((await admin.call("PUT", path, body)).status, (await admin.call("PUT", path, body)).status);
    }
    expect(statuses).toEqual([200, 412, 200, 412]);
  });

  it("unknown organisations and users, and If-Match of another version, are refused", async () => {
    expect((await admin.call("PUT", "/organizations/none/members/ann", { body: {} })).status).toBe(404);
    expect((await add("nobody")).status).toBe(404);
    const { headers } = await add("ann");
    await add("ann", { roles: ["x"] });
    const late = { body: {}, headers: { "if-match": headers.get("etag")! } };
    expect((await admin.call("PUT", "/organizations/acme/members/ann", late)).status).toBe(412);
  });

  it("the events of an organisation name it, with its members: they are found by their target", async () => {
    await add("ann", { roles: ["billing"] });
    await admin.call("DELETE", "/organizations/acme/members/ann");
    const { results } = await DB.prepare(
      "SELECT action, detail FROM admin_events WHERE target = 'acme' ORDER BY seq",
    ).all();
    expect(results.map(({ action, detail }) => [action, JSON.parse(String(detail)).sub])).toEqual([
      ["organization.create", undefined],
      ["organization.member_add", "ann"],
      ["organization.member_remove", "ann"],
    ]);
  });
});

describe("/admin/organization-roles", () => {
  it("O9: a role of members never gives an admin scope", async () => {
    const refused = await admin.call("PUT", "/organization-roles/boss", { body: { permissions: ["admin:users"] } });
    expect([refused.status, refused.body.fields[0].path]).toEqual([400, "permissions"]);
  });

  it("a change of what a role gives names every membership, and no copy of the deployment's roles", async () => {
    const set = await admin.call("PUT", "/organization-roles/billing", { body: { permissions: ["b", "a"] } });
    expect([set.body, (await changes()).at(-1)]).toEqual([
      { role: "billing", permissions: ["a", "b"] },
      "membership *",
    ]);
    expect((await admin.call("GET", "/organization-roles")).body.organization_roles).toEqual([set.body]);
    expect((await admin.call("DELETE", "/organization-roles/billing")).status).toBe(204);
    expect((await admin.call("GET", "/organization-roles/billing")).status).toBe(404);
    expect(await changes()).not.toContain("rbac *");
  });
});
