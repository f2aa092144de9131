import { openSealed } from "@edge-op/shared/secrets/seal";
import { upstreamSeal } from "@edge-op/shared/upstreams/upstream";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings, dumpDatabase, issuer } from "./fixtures/admin-fixtures.ts";

const record = {
  ...{ upstream_id: "corp", name: "Example Corp", issuer: "https://idp.example.net" },
  ...{ client_id: "op", client_secret: "the secret there" },
};

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

async function storedSecret(): Promise<string | undefined> {
  const row = await bindings.DB.prepare("SELECT secret FROM upstreams WHERE upstream_id = 'corp'").first<{
    secret: string;
  }>();
  return openSealed(bindings, "upstream-seal", row!.secret, upstreamSeal("corp"));
}

async function privateKey(): Promise<string> {
  const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
  ])) as CryptoKeyPair;
  const der = (await crypto.subtle.exportKey("pkcs8", pair.privateKey)) as ArrayBuffer;
  return `-----BEGIN PRIVATE KEY-----\n${btoa(String.fromCharCode(...new Uint8Array(der)))}\n-----END PRIVATE KEY-----`;
}

describe("/admin/upstreams", () => {
  it("creates, shows, lists, changes and deletes a provider, each with an event and without its secret", async () => {
    const created = await admin.call("POST", "/upstreams", { body: record });
    expect([created.status, created.headers.get("location")]).toEqual([201, `${issuer}/admin/upstreams/corp`]);
    const { client_secret: _, ...shown } = record;
    expect(created.body).toEqual({
      ...shown,
      ...{ kind: "oidc", status: "active", has_secret: true, token_endpoint_auth_method: "client_secret_basic" },
      ...{ claims: {}, acr_map: {}, trusted_domains: [], sign_up: "off", link_only: false, domains: [] },
      discovery: "off",
      ...{ created_at: expect.any(Number), updated_at: expect.any(Number) },
    });
    expect((await admin.call("GET", "/upstreams/corp")).body).toEqual(created.body);
    expect((await admin.call("GET", "/upstreams")).body.upstreams).toEqual([created.body]);
    const changed = await admin.call("PATCH", "/upstreams/corp", { body: { name: "Corp", sign_up: "anyone" } });
    expect(changed.body).toMatchObject({ name: "Corp", sign_up: "anyone", has_secret: true });
    expect(await storedSecret()).toBe("the secret there");
    expect(await dumpDatabase()).not.toContain("the secret there");
    expect((await admin.call("DELETE", "/upstreams/corp")).status).toBe(204);
    expect((await admin.call("GET", "/upstreams/corp")).status).toBe(404);
    const { results } = await bindings.DB.prepare("SELECT action, detail FROM admin_events ORDER BY seq").all();
    expect(results).toMatchObject([
      { action: "upstream.create" },
      { action: "upstream.update", detail: '{"fields":["name","sign_up"]}' },
      { action: "upstream.delete" },
    ]);
  });

  it("a patch replaces the secret, and another authentication needs one of its kind", async () => {
    await admin.call("POST", "/upstreams", { body: record });
    await admin.call("PATCH", "/upstreams/corp", { body: { client_secret: "the next one" } });
    expect(await storedSecret()).toBe("the next one");
    const method = { token_endpoint_auth_method: "private_key_jwt" };
    expect((await admin.call("PATCH", "/upstreams/corp", { body: method })).body.fields).toEqual([
      { path: "private_key", message: "is required" },
    ]);
    const key = await privateKey();
    const changed = await admin.call("PATCH", "/upstreams/corp", {
      body: { ...method, private_key: key, key_id: "k1" },
    });
    expect(changed.status).toBe(200);
    expect(await storedSecret()).toBe(key);
  });

  it("RFC 7396 §2: a patch names some of the mapped claims, and null removes one", async () => {
    await admin.call("POST", "/upstreams", { body: { ...record, claims: { nickname: "alias" } } });
    const changed = await admin.call("PATCH", "/upstreams/corp", {
      body: { claims: { name: "label", nickname: null } },
    });
    expect(changed.body.claims).toEqual({ name: "label" });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["discovery without a domain", { discovery: "offer" }, "domains"],
    [
      "discovery of what only the connected use",
      { discovery: "require", domains: ["a.example"], link_only: true },
      "discovery",
    ],
    ["an internal issuer", { issuer: "https://10.0.0.1" }, "issuer"],
    ["an issuer without TLS", { issuer: "http://idp.example.net" }, "issuer"],
    ["this provider as its own", { issuer }, "issuer"],
    ["an issuer with a query", { issuer: "https://idp.example.net?x" }, "issuer"],
    ["an issuer that is a template", { issuer: "https://idp.example.net/{tenantid}/v2.0" }, "issuer"],
    ...["login.microsoftonline.com", "login.microsoftonline.us", "sts.windows.net", "corp.ciamlogin.com"].flatMap(
      (host) =>
        ["common/v2.0", "organizations/v2.0", "consumers/v2.0", "corp.example/v2.0", ""].map(
          (path): [string, Record<string, unknown>, string] => [
            `${host}/${path}, which is the issuer of nobody`,
            { issuer: `https://${host}/${path}` },
            "issuer",
          ],
        ),
    ),
    ...["common", "organizations", "consumers", "{tenantid}", "corp.example"].map(
      (tenant): [string, Record<string, unknown>, string] => [
        `${tenant} as a directory`,
        { kind: "microsoft", issuer: undefined, tenants: [tenant] },
        "tenants[0]",
      ],
    ),
    ["no issuer", { issuer: undefined }, "issuer"],
    ["another kind's member", { tenants: ["11111111-1111-1111-1111-111111111111"] }, "tenants"],
    ["a Microsoft provider without directories", { kind: "microsoft", issuer: undefined }, "tenants"],
    ["a Google provider with an issuer", { kind: "google" }, "issuer"],
    ["an Apple provider without a key", { kind: "apple", issuer: undefined, client_secret: undefined }, "private_key"],
    ["no secret", { client_secret: undefined }, "client_secret"],
    ["a key in place of a secret", { client_secret: undefined, private_key: "x" }, "client_secret"],
    [
      "no key for private_key_jwt",
      { token_endpoint_auth_method: "private_key_jwt", private_key: "x", client_secret: undefined },
      "private_key",
    ],
    ["scopes without openid", { scopes: ["email"] }, "scopes"],
    ["roles as a claim", { claims: { roles: "groups" } }, "claims.roles"],
    ["an address as a mapped claim", { claims: { email: "upn" } }, "claims.email"],
    ["a required claim that is no JSON Pointer", { required_claims: { tenant: "acme" } }, "required_claims.tenant"],
    ["another level than mfa and phr", { acr_map: { x: "gold" } }, "acr_map.x"],
    ["a domain that is none", { domains: ["corp@example"] }, "domains[0]"],
    ["sign_up by domains without one", { sign_up: "domains" }, "domains"],
  ])("refuses %s", async (_, changes, path) => {
    const response = await admin.call("POST", "/upstreams", { body: { ...record, ...changes } });
    expect(response.status).toBe(400);
    expect(response.body.fields.map((field: { path: string }) => field.path)).toContain(path);
  });

  it("an OpenID provider may end sessions, and one that sends no logout tokens may not", async () => {
    await admin.call("POST", "/upstreams", { body: record });
    const stored = () => bindings.DB.prepare("SELECT document FROM upstreams").first<string>("document");
    // A deployment without it has documents that the previous release knows.
    expect(await stored()).not.toContain("backchannel_logout");
    const may = { backchannel_logout: true };
    expect((await admin.call("PATCH", "/upstreams/corp", { body: may })).body.backchannel_logout).toBe(true);
    const cleared = await admin.call("PATCH", "/upstreams/corp", { body: { backchannel_logout: null } });
    expect(cleared.body).not.toHaveProperty("backchannel_logout");
    const { issuer: _, ...google } = { ...record, kind: "google" };
    expect((await admin.call("POST", "/upstreams", { body: { ...google, ...may } })).body.fields).toEqual([
      { path: "backchannel_logout", message: "belongs to oidc: other kinds send no logout tokens" },
    ]);
  });

  it("accepts the issuer of one directory", async () => {
    const one = "https://login.microsoftonline.com/11111111-1111-1111-1111-111111111111/v2.0";
    expect((await admin.call("POST", "/upstreams", { body: { ...record, issuer: one } })).status).toBe(201);
  });

  it("the kind stays", async () => {
    await admin.call("POST", "/upstreams", { body: record });
    const response = await admin.call("PATCH", "/upstreams/corp", { body: { kind: "google", issuer: null } });
    expect(response.body.fields).toEqual([{ path: "kind", message: "cannot be changed" }]);
  });

  it("a domain belongs to one provider, and an id to one record", async () => {
    const domains = ["corp.example"];
    await admin.call("POST", "/upstreams", { body: { ...record, domains } });
    const other = { ...record, upstream_id: "other" };
    expect((await admin.call("POST", "/upstreams", { body: record })).body.fields[0].path).toBe("upstream_id");
    expect((await admin.call("POST", "/upstreams", { body: { ...other, domains } })).body.fields[0].path).toBe(
      "domains",
    );
    await admin.call("POST", "/upstreams", { body: other });
    const taken = await admin.call("PATCH", "/upstreams/other", { body: { domains } });
    expect([taken.status, taken.body.fields[0].path]).toEqual([409, "domains"]);
    expect((await admin.call("PATCH", "/upstreams/corp", { body: { name: "Same domains" } })).status).toBe(200);
  });

  it("there are at most fifty", async () => {
    const rows = Array.from({ length: 50 }, (_, index) =>
      bindings.DB.prepare("INSERT INTO upstreams VALUES (?1, 'active', '{}', NULL, NULL, 0, 0)").bind(`p${index}`),
    );
    await bindings.DB.batch(rows);
    const response = await admin.call("POST", "/upstreams", { body: record });
    expect([response.status, response.body.error]).toEqual([409, "conflict"]);
  });

  it("needs admin:issuers", async () => {
    const token = await admin.issueToken({ scope: ["admin:clients", "admin:users"] });
    expect((await admin.call("POST", "/upstreams", { token, body: record })).status).toBe(403);
    expect((await admin.call("GET", "/upstreams", { token })).status).toBe(403);
  });
});
