import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const files = {
  identifier: "https://mcp.example.com/files/mcp",
  name: "Files",
  clients: "any",
  scopes: [{ value: "files:read", description: "Read your files", default: true }],
};

async function events(): Promise<unknown[]> {
  const { results } = await bindings.DB.prepare("SELECT action, target FROM admin_events ORDER BY seq").all();
  return results;
}

describe("/admin/resources", () => {
  it("a resource is created, shown, found by its identifier, changed and deleted; each change is audited", async () => {
    const created = await admin.call("POST", "/resources", { body: files });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      ...files,
      resource_id: expect.stringMatching(/^r[\w-]{16}$/),
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    });
    const location = `/resources/${created.body.resource_id}`;
    expect(created.headers.get("location")).toBe(`${issuer}/admin${location}`);
    expect((await admin.call("GET", location)).body).toEqual(created.body);
    const found = await admin.call("GET", `/resources?identifier=${encodeURIComponent(files.identifier)}`);
    expect(found.body).toEqual({ resources: [created.body] });

    const etag = created.headers.get("etag")!;
    const changed = await admin.call("PATCH", location, {
      body: { clients: ["app"], access_token_lifetime: 60 },
      headers: { "if-match": etag },
    });
    expect([changed.status, changed.body.clients, changed.body.access_token_lifetime]).toEqual([200, ["app"], 60]);
    const late = await admin.call("PATCH", location, { body: { name: "Late" }, headers: { "if-match": etag } });
    expect(late.status).toBe(412);
    const removed = await admin.call("PATCH", location, { body: { access_token_lifetime: null } });
    expect(removed.body).not.toHaveProperty("access_token_lifetime");

    expect((await admin.call("DELETE", location)).status).toBe(204);
    expect((await admin.call("GET", location)).status).toBe(404);
    expect(await events()).toEqual(
      ["create", "update", "update", "delete"].map((verb) => ({
        action: `resource.${verb}`,
        target: files.identifier,
      })),
    );
  });

  it("defaults deny: without clients nobody may request it", async () => {
    const { body } = await admin.call("POST", "/resources", { body: { identifier: "urn:example:api", name: "API" } });
    expect(body).toMatchObject({ clients: [], scopes: [] });
  });

  it.each(
    Object.entries({
      "a host in capitals": issuer.toUpperCase(),
      "a default port": `${issuer}:443/`,
      "the dot of an absolute name": `${issuer}./admin`,
      "a percent-encoded path": `${issuer}/%61dmin/clients`,
      "a percent-encoded host": issuer.replace(".", "%2E"),
      "dot segments": `${issuer}/api/%2e%2E/admin`,
      "a query": `${issuer}/admin?tenant=1`,
      "all of them": `${issuer.replace("https", "HTTPS").replace(".", "%2e")}.:443/x/../%61%64min/`,
    }),
  )("RFC 3986 §6.2: %s does not make another party of this provider", async (_, identifier) => {
    const { status, body } = await admin.call("POST", "/resources", { body: { ...files, identifier } });
    const hasFinalDot = /\.(?::|\/)/.test(identifier);
    const message = hasFinalDot ? "must be an absolute URI without a fragment" : "is this provider itself";
    expect([status, body.fields]).toEqual([400, [{ path: "identifier", message }]]);
  });

  it.each([`${issuer}/api`, `${issuer}/admins`, `${issuer}/%2561dmin`, issuer.replace("https://", "https://api.")])(
    "%s is another party, also on a host of this provider",
    async (identifier) => {
      const { status } = await admin.call("POST", "/resources", { body: { ...files, identifier } });
      expect(status).toBe(201);
    },
  );

  it("an identifier or id that is taken is a conflict that names it", async () => {
    await admin.call("POST", "/resources", { body: { ...files, resource_id: "files" } });
    const again = await admin.call("POST", "/resources", { body: files });
    expect([again.status, again.body.fields]).toEqual([409, [{ path: "identifier", message: "is taken" }]]);
    const sameId = { ...files, identifier: "https://other.example.com", resource_id: "files" };
    const taken = await admin.call("POST", "/resources", { body: sameId });
    expect([taken.status, taken.body.fields]).toEqual([409, [{ path: "resource_id", message: "is taken" }]]);
  });

  it.each([
    ["RFC 8707 §2: a fragment", { identifier: "https://a.example/#x" }, "identifier"],
    ["RFC 8707 §2: no absolute URI", { identifier: "files" }, "identifier"],
    ["the issuer", { identifier: issuer }, "identifier"],
    ["the admin API", { identifier: `${issuer}/admin` }, "identifier"],
    ["below the admin API", { identifier: `${issuer}/admin/clients` }, "identifier"],
    ["an admin scope", { scopes: [{ value: "admin:clients", description: "x" }] }, "scopes[0].value"],
    ["a scope of OpenID Connect", { scopes: [{ value: "openid", description: "x" }] }, "scopes[0].value"],
    ["a scope with a space", { scopes: [{ value: "a b", description: "x" }] }, "scopes[0].value"],
    ["a scope without words", { scopes: [{ value: "a" }] }, "scopes[0].description"],
    ["no name", { name: undefined }, "name"],
    ["an unknown rule", { clients: "everyone" }, "clients"],
    ["an unsupported algorithm", { access_token_signed_response_alg: "none" }, "access_token_signed_response_alg"],
    ["an unknown type", { access_token_typ: "jwt" }, "access_token_typ"],
    ["a lifetime beyond a day", { access_token_lifetime: 86_401 }, "access_token_lifetime"],
    ["an unknown member", { audience: "x" }, "audience"],
  ])("%s is refused, and nothing is stored", async (_, wrong, path) => {
    const { status, body } = await admin.call("POST", "/resources", { body: { ...files, ...wrong } });
    expect([status, body.error, body.fields?.[0]?.path]).toEqual([400, "invalid_request", path]);
    expect((await admin.call("GET", "/resources")).body.resources).toEqual([]);
  });

  it("the identifier cannot be changed, because tokens name it", async () => {
    const { body } = await admin.call("POST", "/resources", { body: files });
    const changed = await admin.call("PATCH", `/resources/${body.resource_id}`, {
      body: { identifier: "https://other.example.com" },
    });
    expect([changed.status, changed.body.fields]).toEqual([
      400,
      [{ path: "identifier", message: "is not a known field" }],
    ]);
  });
});
