import { createExecutionContext } from "cloudflare:test";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings, dumpDatabase, isLiveSecret, issuer, leasing } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const web = { client_name: "App", redirect_uris: ["https://app.example/cb"], contacts: ["a@app.example"] };

async function create(body: Record<string, unknown> = web) {
  const response = await admin.call("POST", "/clients", { body });
  expect(response.status).toBe(201);
  return response;
}

describe("POST /admin/clients", () => {
  it("RFC 7591 §3.2.1: the created client is shown with its secret, once", async () => {
    const { body, headers } = await create();
    expect(body).toEqual({
      client_id: expect.stringMatching(/^c[A-Za-z0-9_-]{22}$/),
      client_id_issued_at: expect.any(Number),
      updated_at: expect.any(Number),
      client_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      client_secret_expires_at: 0,
      status: "active",
      application_type: "web",
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["authorization_code"],
      response_types: ["code"],
      scope: "openid",
      audiences: [],
      ...web,
    });
    expect(headers.get("location")).toBe(`${issuer}/admin/clients/${body.client_id}`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(await isLiveSecret(body.client_id, body.client_secret)).toBe(true);

    const read = await admin.call("GET", `/clients/${body.client_id}`);
    expect(read.status).toBe(200);
    expect(JSON.stringify(read.body)).not.toContain('secret"');
    expect(await dumpDatabase()).not.toContain(body.client_secret);
  });

  it("RFC 7591 §3.2.1: a public client gets no secret", async () => {
    const { body } = await create({ ...web, token_endpoint_auth_method: "none" });
    expect(body).not.toHaveProperty("client_secret");
    expect(body).not.toHaveProperty("client_secret_expires_at");
  });

  it("admin API: a client id may be chosen, once", async () => {
    expect((await create({ ...web, client_id: "load-test-1" })).body.client_id).toBe("load-test-1");
    const before = await dumpDatabase();
    const second = await admin.call("POST", "/clients", { body: { ...web, client_id: "load-test-1" } });
    expect(second.status).toBe(409);
    expect(second.body).toEqual({
      error: "conflict",
      error_description: "client_id: is taken",
      fields: [{ path: "client_id", message: "is taken" }],
    });
    expect(await dumpDatabase()).toBe(before);
  });

  it("RFC 9068 §5: a client id that is a user's sub is taken", async () => {
    await admin.call("POST", "/users", { body: { sub: "alice", username: "alice" } });
    const response = await admin.call("POST", "/clients", { body: { ...web, client_id: "alice" } });
    expect(response.status).toBe(409);
  });

  it("RFC 7591 §3.2.2: a refused registration changes nothing", async () => {
    const before = await dumpDatabase();
    const response = await admin.call("POST", "/clients", { body: { redirect_uris: ["http://app.example/"] } });
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: "invalid_redirect_uri",
      error_description:
        "redirect_uris[0]: must be https, or http on a loopback address; private-use schemes require application_type native",
      fields: [
        {
          path: "redirect_uris[0]",
          message: "must be https, or http on a loopback address; private-use schemes require application_type native",
        },
      ],
    });
    expect(await dumpDatabase()).toBe(before);
  });

  it("RFC 9700 §2.3: admin:clients alone creates no client with other admin scopes", async () => {
    const token = await admin.issueToken({ scope: ["admin:clients"] });
    const body = { grant_types: ["client_credentials"], scope: "admin:clients admin:keys" };
    const response = await admin.call("POST", "/clients", { token, body });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="admin:keys"');
    const own = { ...body, scope: "admin:clients" };
    expect((await admin.call("POST", "/clients", { token, body: own })).status).toBe(201);
  });
});

describe("GET /admin/clients", () => {
  it("admin API: pages contain every client once, in the order of their ids", async () => {
    for (const client_id of ["c3", "c1", "c5", "c2", "c4"]) await create({ ...web, client_id });
    const seen: string[][] = [];
    let cursor: string | undefined;
    do {
      const query = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { body } = await admin.call("GET", `/clients?limit=2${query}`);
      seen.push(body.clients.map((client: { client_id: string }) => client.client_id));
      cursor = body.next_cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([["c1", "c2"], ["c3", "c4"], ["c5"]]);
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=x", "limit"],
    ["cursor=!", "cursor"],
    ["page=2", "page"],
    ["limit=1&limit=2", "limit"],
    ["status=gone", "status"],
  ])("admin API: ?%s is refused by name", async (query, path) => {
    const { status, body } = await admin.call("GET", `/clients?${query}`);
    expect(status).toBe(400);
    expect(body.fields[0].path).toBe(path);
  });

  it("admin API: an unknown client is 404", async () => {
    const { status, body } = await admin.call("GET", "/clients/nobody");
    expect(status).toBe(404);
    expect(body).toEqual({ error: "not_found", error_description: "There is no such resource." });
  });
});

describe("PATCH /admin/clients/{client_id}", () => {
  it("RFC 7396: an update drops no field that it was not given", async () => {
    const policy = {
      subject_clients: ["*"],
      audiences: ["api"],
      resources: [],
      scopes: ["read"],
      modes: ["delegation"],
    };
    const { body: created } = await create({ ...web, token_exchange: policy, access_token_lifetime: 60 });
    const { client_secret: _, client_secret_expires_at: __, ...before } = created;
    const { status, body } = await admin.call("PATCH", `/clients/${before.client_id}`, {
      body: { client_name: "Renamed", contacts: null, token_exchange: { scopes: ["read", "write"] } },
    });
    expect(status).toBe(200);
    const { contacts: ___, ...kept } = before;
    expect(body).toEqual({
      ...kept,
      updated_at: expect.any(Number),
      client_name: "Renamed",
      token_exchange: { ...policy, scopes: ["read", "write"] },
    });
    expect((await admin.call("GET", `/clients/${before.client_id}`)).body).toEqual(body);
  });

  it("RFC 7396: null restores the default of a field that always has a value", async () => {
    const { body } = await create({ ...web, scope: "openid email" });
    const patched = await admin.call("PATCH", `/clients/${body.client_id}`, { body: { scope: null } });
    expect(patched.body.scope).toBe("openid");
  });

  it("RFC 7396: the merged document is checked by the rules, and a refusal changes nothing", async () => {
    const { body } = await create();
    const before = await dumpDatabase();
    const path = `/clients/${body.client_id}`;
    const responses = [
      await admin.call("PATCH", path, { body: { redirect_uris: null } }),
      await admin.call("PATCH", path, { body: { token_endpoint_auth_method: "private_key_jwt" } }),
      await admin.call("PATCH", path, { body: { client_id: "other" } }),
      await admin.call("PATCH", path, { body: { client_secret: "mine" } }),
      await admin.call("PATCH", path, { body: { status: null } }),
      await admin.call("PATCH", path, { body: [] }),
    ];
    expect(responses.map((response) => [response.status, response.body.error, response.body.fields[0].path])).toEqual([
      [400, "invalid_redirect_uri", "redirect_uris"],
      [400, "invalid_client_metadata", "jwks"],
      [400, "invalid_client_metadata", "client_id"],
      [400, "invalid_client_metadata", "client_secret"],
      [400, "invalid_client_metadata", "status"],
      [400, "invalid_client_metadata", ""],
    ]);
    expect(await dumpDatabase()).toBe(before);
  });

  it("admin API: a client that a later rule would refuse can still be disabled and deleted", async () => {
    await bindings.DB.prepare(
      `INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('old', '{"scope":"","was":1}', 0, 0)`,
    ).run();
    expect((await admin.call("PATCH", "/clients/old", { body: { client_name: "x" } })).status).toBe(400);
    expect((await admin.call("PATCH", "/clients/old", { body: { status: "disabled" } })).body.status).toBe("disabled");
    expect((await admin.call("DELETE", "/clients/old")).status).toBe(204);
  });

  it("RFC 9110 §13.1.1: If-Match that names an older version is 412", async () => {
    const { body, headers } = await create();
    const path = `/clients/${body.client_id}`;
    const etag = headers.get("etag") ?? "";
    const first = await admin.call("PATCH", path, { body: { client_name: "One" }, headers: { "if-match": etag } });
    expect(first.status).toBe(200);
    expect(first.headers.get("etag")).not.toBe(etag);
    const second = await admin.call("PATCH", path, { body: { client_name: "Two" }, headers: { "if-match": etag } });
    expect([second.status, second.body.error]).toEqual([412, "precondition_failed"]);
    expect((await admin.call("GET", path)).body.client_name).toBe("One");
  });

  it("admin API: concurrent updates lose no field", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}`;
    const patches = [
      { client_name: "New" },
      { access_token_lifetime: 60 },
      { skip_consent: true },
      { contacts: ["b@app.example"] },
    ];
    const responses = await Promise.all(patches.map((patch) => admin.call("PATCH", path, { body: patch })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await admin.call("GET", path)).body).toMatchObject(Object.assign({}, ...patches));
  });

  it("admin API: a warm isolate refuses a disabled client once the call has returned", {
    timeout: 30_000,
  }, async () => {
    const { body } = await create();
    const other = new AdminCaller(leasing);
    await other.call("GET", "/clients");
    const context = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    expect((await other.isolate.clients.find(context, body.client_id))?.status).toBe("active");

    const response = await admin.call("PATCH", `/clients/${body.client_id}`, { body: { status: "disabled" } });
    expect([response.status, response.body.status]).toEqual([200, "disabled"]);
    const later = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    await other.isolate.revocation.confirmControl(later);
    expect((await other.isolate.clients.find(later, body.client_id))?.status).toBe("disabled");
  });

  it("RFC 9700 §2.3: admin:clients alone takes over no client with other admin scopes", async () => {
    const { body } = await create({ grant_types: ["client_credentials"], scope: "admin:keys" });
    const token = await admin.issueToken({ scope: ["admin:clients"] });
    const path = `/clients/${body.client_id}`;
    const before = await dumpDatabase();
    const responses = [
      await admin.call("PATCH", path, { token, body: { client_name: "Mine" } }),
      await admin.call("POST", `${path}/secrets`, { token, body: {} }),
      await admin.call("DELETE", path, { token }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(await dumpDatabase()).toBe(before);
  });

  it("admin API: a secret that the new method does not use does not come back with the old one", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}`;
    await admin.call("PATCH", path, { body: { token_endpoint_auth_method: "none" } });
    await admin.call("PATCH", path, { body: { token_endpoint_auth_method: "client_secret_basic" } });
    expect(await isLiveSecret(body.client_id, body.client_secret)).toBe(false);
  });
});

describe("one refusal names every wrong field", () => {
  const paths = (response: { body: { fields: { path: string }[] } }) =>
    response.body.fields.map(({ path }) => path).sort();

  it("of its form and by the rules, and unknown ones, at creation", async () => {
    const response = await admin.call("POST", "/clients", {
      body: {
        redirect_uris: ["http://app.example/cb"],
        client_name: 1,
        nonsense: true,
        jwks_uri: "https://10.0.0.1/jwks",
        require_pkce: false,
        token_endpoint_auth_method: "none",
        jwks: { keys: [{ kty: "EC", crv: "P-256", x: "AAAA", y: "AAAA" }] },
      },
    });
    expect(response.status).toBe(400);
    expect(paths(response)).toEqual([
      "client_name",
      "jwks.keys[0]",
      "jwks_uri",
      "jwks_uri",
      "nonsense",
      "redirect_uris[0]",
      "require_pkce",
    ]);
  });

  it("and none that depend on another wrong field", async () => {
    const body = {
      grant_types: ["nothing"],
      response_types: ["code"],
      redirect_uris: "https://app.example/",
      scope: 1,
    };
    const response = await admin.call("POST", "/clients", { body });
    expect(paths(response)).toEqual(["grant_types[0]", "redirect_uris", "scope"]);
  });

  it("in a change too, together with the existing members of the client", async () => {
    const { body } = await create({ ...web, token_endpoint_auth_method: "none" });
    const patch = { client_uri: "no", require_pkce: false, jwks_uri: "https://localhost/jwks" };
    const response = await admin.call("PATCH", `/clients/${body.client_id}`, { body: patch });
    expect([response.status, paths(response)]).toEqual([400, ["client_uri", "jwks_uri", "require_pkce"]]);
  });
});

describe("metadata", () => {
  it("ADR 49: a resource server names the audiences whose tokens it may introspect", async () => {
    const body = { grant_types: ["client_credentials"], introspection: { audiences: ["https://api.example.com"] } };
    const created = await create(body);
    expect(created.body.introspection).toEqual(body.introspection);
    const path = `/clients/${created.body.client_id}`;
    const both = { introspection: { clients: ["app"] } };
    const { body: patched } = await admin.call("PATCH", path, { body: both });
    expect(patched.introspection).toEqual({ audiences: ["https://api.example.com"], clients: ["app"] });
    const emptied = { introspection: { clients: null, audiences: null } };
    expect((await admin.call("PATCH", path, { body: emptied })).status).toBe(400);
    expect((await admin.call("PATCH", path, { body: { introspection: null } })).body.introspection).toBeUndefined();
  });
});

describe("DELETE /admin/clients/{client_id}", () => {
  it("RFC 7592 §2.3: the client and its secrets are deleted", async () => {
    const { body } = await create();
    expect((await admin.call("DELETE", `/clients/${body.client_id}`)).status).toBe(204);
    expect((await admin.call("GET", `/clients/${body.client_id}`)).status).toBe(404);
    expect((await admin.call("DELETE", `/clients/${body.client_id}`)).status).toBe(404);
    const { results } = await bindings.DB.prepare("SELECT id FROM client_secrets").all();
    expect(results).toEqual([]);
  });

  it("a client that is created anew under the same id inherits nothing: no token, secret or consent", async () => {
    const service = { grant_types: ["client_credentials"], audiences: [`${issuer}/admin`], scope: "admin:clients" };
    const { body } = await create({ ...service, client_id: "again" });
    const path = "/clients/again";
    const token = await admin.issueToken({ clientId: "again", scope: ["admin:clients"] });
    expect((await admin.call("GET", path, { token })).status).toBe(200);
    await bindings.DB.batch([
      bindings.DB.prepare(
        "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('a', 'a', 'a', 0, 0)",
      ),
      bindings.DB.prepare("INSERT INTO consents VALUES ('a', 'again', '[]', 0, 0)"),
    ]);
    expect((await admin.call("DELETE", path)).status).toBe(204);
    const created = await create({ ...service, client_id: "again" });
    expect(created.status).toBe(201);
    expect((await admin.call("GET", path, { token })).status).toBe(401);
    expect(await isLiveSecret("again", body.client_secret)).toBe(false);
    expect(await bindings.DB.prepare("SELECT count(*) AS n FROM consents").first<number>("n")).toBe(0);
    const fresh = await admin.issueToken({ clientId: "again", scope: ["admin:clients"] });
    expect((await admin.call("GET", path, { token: fresh })).status).toBe(200);
  });
});

describe("audit", () => {
  it("protocols.md §5 A1: every change is audited with actor and operation, and without secrets", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}`;
    await admin.call("PATCH", path, { body: { client_name: "New", scope: "openid" } });
    const { body: rotated } = await admin.call("POST", `${path}/secrets`, { body: { overlap_seconds: 5 } });
    await admin.call("DELETE", path);
    const { results } = await bindings.DB.prepare(
      "SELECT action, target, client_id, sub, detail FROM admin_events ORDER BY seq",
    ).all();
    const who = { target: body.client_id, client_id: "operators", sub: "operators" };
    expect(results).toEqual([
      { action: "client.create", ...who, detail: "{}" },
      { action: "client.update", ...who, detail: '{"fields":["client_name","scope"]}' },
      { action: "secret.rotate", ...who, detail: JSON.stringify({ secret_id: rotated.secret_id, overlap_seconds: 5 }) },
      { action: "client.update", ...who, detail: '{"fields":["status"]}' },
      { action: "client.delete", ...who, detail: "{}" },
    ]);
    expect(await dumpDatabase()).not.toContain(rotated.client_secret);
  });
});
