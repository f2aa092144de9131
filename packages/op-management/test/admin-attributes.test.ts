import { protocolClaims, rbacScopes, standardClaims } from "@edge-op/protocol/oauth/claims";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

const claim = { name: "cost_centre", scope: "employment", tokens: ["userinfo"] };
const costCentre = { attribute: "cost_centre", type: "string", title: "Cost centre", max_length: 8, claim };

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

function declare(attribute: object) {
  return admin.call("POST", "/attributes", { body: { ...costCentre, ...attribute } });
}

function patch(attributes: unknown) {
  return admin.call("PATCH", "/users/ann", { body: { attributes } });
}

const plain = { title: "Value", claim: undefined, max_length: undefined };

describe("/admin/attributes", () => {
  it("creates, shows, lists, changes and deletes a declaration, each with an event", async () => {
    const created = await declare({ titles: { de: "Kostenstelle" } });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      ...{ ...costCentre, titles: { de: "Kostenstelle" } },
      ...{ created_at: expect.any(Number), updated_at: expect.any(Number) },
    });
    expect((await admin.call("GET", "/attributes")).body.attributes).toEqual([created.body]);
    const changed = await admin.call("PATCH", "/attributes/cost_centre", {
      body: { titles: { de: null, no: "Kostnadssted" }, claim: { tokens: ["id_token"] } },
    });
    expect(changed.body).toMatchObject({ titles: { no: "Kostnadssted" }, claim: { ...claim, tokens: ["id_token"] } });
    expect((await admin.call("PATCH", "/attributes/cost_centre", { body: { claim: null } })).body.claim).toBe(
      undefined,
    );
    expect((await admin.call("DELETE", "/attributes/cost_centre")).status).toBe(204);
    expect((await admin.call("GET", "/attributes/cost_centre")).status).toBe(404);
    const { results } = await bindings.DB.prepare("SELECT action, target FROM admin_events ORDER BY seq").all();
    expect(results.map(({ action }) => action)).toEqual([
      ...["attribute.create", "attribute.update", "attribute.update", "attribute.delete"],
    ]);
  });

  it.each([
    ...protocolClaims,
    ...standardClaims,
    ...rbacScopes,
    ...["nbf", "jti", "scope", "client_id", "cnf", "act", "may_act", "authorization_details", "active", "token_type"],
    ...["resource", "username", "user", "via", "lineage", "grant_client", "sealed_sub", "claims_userinfo"],
    ...["at_hash", "c_hash", "entitlements", "events", "_claim_names", "__proto__"],
  ])("never maps an attribute to the claim %s", async (name) => {
    const refused = await declare({ claim: { ...claim, name } });
    expect([refused.status, refused.body.fields?.[0].path]).toEqual([400, "claim.name"]);
  });

  it.each<[string, object, string]>([
    ["a limit of another type", { type: "boolean" }, "max_length"],
    [
      "a least number that is greater than the greatest",
      { ...plain, type: "number", minimum: 2, maximum: 1 },
      "minimum",
    ],
    ["an admin scope", { claim: { ...claim, scope: "admin:users" } }, "claim.scope"],
    ["offline_access", { claim: { ...claim, scope: "offline_access" } }, "claim.scope"],
    ["a claim that no token has", { claim: { ...claim, tokens: [] } }, "claim.tokens"],
    ["resources without access tokens", { claim: { ...claim, resources: ["https://a.example"] } }, "claim.resources"],
    ["a name with a dot", { attribute: "cost.centre" }, "attribute"],
    ["a language that is none", { titles: { "no such": "x" } }, "titles.no such"],
  ])("refuses %s", async (_, attribute, path) => {
    const refused = await declare(attribute);
    expect([refused.status, refused.body.fields?.[0].path]).toEqual([400, path]);
  });

  it("refuses a name or claim that is taken, another type, and more than 64 K characters of all", async () => {
    await declare({});
    expect((await declare({})).body.fields[0].path).toBe("attribute");
    expect((await declare({ attribute: "other" })).body.fields[0].path).toBe("claim.name");
    const other = await admin.call("PATCH", "/attributes/cost_centre", { body: { type: "number" } });
    expect([other.status, other.body.fields.map(({ path }: { path: string }) => path)]).toEqual([
      400,
      ["max_length", "type"],
    ]);
    const values = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(250, "x"));
    const large = { claim: undefined, values };
    expect((await declare({ ...large, attribute: "large_1" })).status).toBe(201);
    expect((await declare({ ...large, attribute: "large_2" })).status).toBe(201);
    expect((await declare({ ...large, attribute: "large_3" })).status).toBe(409);
  });
});

describe("the attributes of a user", () => {
  beforeEach(async () => {
    await admin.call("POST", "/users", { body: { sub: "ann", username: "ann" } });
  });

  it.each<[string, object, unknown, unknown]>([
    ["string", { max_length: 4 }, "4711", "47110"],
    ["string", { values: ["red", "green"] }, "red", "blue"],
    ["string", { format: "date" }, "2026-11-23", "2026-13-23"],
    ["string", { format: "date-time" }, "2026-11-23T22:00:00Z", "2026-11-23"],
    ["string", { format: "email" }, "ann@example.com", "ann"],
    ["string", { format: "phone" }, "+4799999999", "4799999999"],
    ["string", { format: "uri" }, "https://example.com/ann", "javascript:alert(1)"],
    ["string", { format: "uuid" }, "0b7e3cb2-3f2c-4bb0-9d28-3fbd9fbf2c2a", "0b7e3cb2"],
    ["string", {}, "Ann", "Ann\u202e"],
    ["string", {}, "Ann", 4711],
    ["number", { minimum: 1, maximum: 5 }, 5, 6],
    ["boolean", {}, false, "false"],
    ["strings", { max_items: 2 }, ["a", "b"], ["a", "b", "c"]],
    ["strings", {}, ["a", "b"], ["a", "a"]],
  ])("%s %j accepts %j and refuses %j", async (type, limits, value, wrong) => {
    await declare({ ...plain, attribute: "value", type, ...limits });
    expect((await patch({ value })).body.attributes).toEqual({ value });
    const refused = await patch({ value: wrong });
    expect([refused.status, refused.body.fields?.[0].path]).toEqual([400, expect.stringMatching(/^attributes\.value/)]);
    expect((await admin.call("GET", "/users/ann")).body.attributes).toEqual({ value });
  });

  it("are merged by a patch, bounded, and refused without a declaration", async () => {
    await declare({});
    await declare({ ...plain, attribute: "tags", type: "strings", max_length: 1024 });
    const created = await admin.call("POST", "/users", {
      body: { username: "bob", attributes: { cost_centre: "4711", tags: ["a"] } },
    });
    expect(created.body.attributes).toEqual({ cost_centre: "4711", tags: ["a"] });
    await patch({ cost_centre: "4711", tags: ["a"] });
    expect((await patch({ tags: null })).body.attributes).toEqual({ cost_centre: "4711" });
    expect((await patch({ shoe_size: "43" })).body.fields).toEqual([
      { path: "attributes.shoe_size", message: "is not a declared attribute" },
    ]);
    const tags = Array.from({ length: 5 }, (_, index) => `${index}`.padEnd(1000, "x"));
    expect((await patch({ tags })).body.fields).toEqual([
      { path: "attributes", message: "must be at most 4096 bytes as JSON" },
    ]);
  });

  it("end with the declaration, in every copy", async () => {
    await declare({});
    await declare({ ...plain, attribute: "shoe_size", type: "number" });
    await patch({ cost_centre: "4711", shoe_size: 43 });
    const before = await admin.call("GET", "/users/ann");
    await admin.call("DELETE", "/attributes/cost_centre");
    const after = await admin.call("GET", "/users/ann");
    expect(after.body.attributes).toEqual({ shoe_size: 43 });
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
    const { results } = await bindings.DB.prepare(
      "SELECT kind, id FROM control_changes ORDER BY version DESC LIMIT 3",
    ).all();
    expect(results.map(({ kind, id }) => `${kind} ${id}`).toSorted()).toEqual([
      ...["attributes *", "document-hosts *", "user *"],
    ]);
  });
});
