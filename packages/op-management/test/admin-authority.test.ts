import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, dumpDatabase, issuer } from "./fixtures/admin-fixtures.ts";

/** An administrator cannot use a client to obtain more than the admin scopes of their own token (RFC 9700 §2.3, ADR 18). */
const adminAudience = `${issuer}/admin`;
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const bearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const machine = { grant_types: ["client_credentials"] };
const exchangePolicy = {
  subject_clients: ["*"],
  audiences: [adminAudience],
  resources: [],
  scopes: ["admin:users"],
  modes: ["impersonation"],
};
const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };

let admin: AdminCaller;
let lesser: string;
beforeEach(async () => {
  admin = new AdminCaller();
  lesser = await admin.issueToken({ scope: ["admin:clients"] });
});

async function create(body: Record<string, unknown>): Promise<string> {
  const response = await admin.call("POST", "/clients", { body });
  expect(response.status, JSON.stringify(response.body)).toBe(201);
  return response.body.client_id;
}

/** Every way in which a client may obtain an admin scope. */
const holders: readonly (readonly [string, Record<string, unknown>])[] = [
  ["scope", { ...machine, scope: "read admin:users" }],
  ["token_exchange.scopes", { grant_types: [exchangeGrant], token_exchange: exchangePolicy }],
  [
    "jwt_bearer.scopes",
    { grant_types: [bearerGrant], jwks: { keys: [key] }, jwt_bearer: { subjects: ["*"], scopes: ["admin:users"] } },
  ],
];

describe("admin:clients alone does not lead to admin:users", () => {
  it.each(holders)("a client that holds it by %s is not created", async (_name, body) => {
    const response = await admin.call("POST", "/clients", { token: lesser, body });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="admin:users"');
  });

  it.each(holders)("a client that holds it by %s is not changed, given a secret, or deleted", async (_name, body) => {
    const clientId = await create(body);
    const path = `/clients/${clientId}`;
    const [secret] = (await admin.call("GET", `${path}/secrets`)).body.secrets;
    const before = await dumpDatabase();
    const responses = [
      await admin.call("PATCH", path, { token: lesser, body: { redirect_uris: ["https://mine.example/cb"] } }),
      await admin.call("PATCH", path, { token: lesser, body: { jwks: { keys: [key] } } }),
      await admin.call("PATCH", path, { token: lesser, body: { jwks_uri: "https://mine.example/jwks" } }),
      await admin.call("PATCH", path, { token: lesser, body: { token_exchange: null, scope: "", jwt_bearer: null } }),
      await admin.call("PATCH", path, { token: lesser, body: { status: "active" } }),
      await admin.call("POST", `${path}/secrets`, { token: lesser, body: {} }),
      await admin.call("DELETE", `${path}/secrets/${secret.secret_id}`, { token: lesser }),
      await admin.call("DELETE", path, { token: lesser }),
    ];
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 403));
    expect(await dumpDatabase()).toBe(before);
  });

  it.each(holders)("a client of one's own is not raised to it by %s", async (_name, body) => {
    const clientId = await create({ ...machine, scope: "read", jwks: { keys: [key] } });
    const response = await admin.call("PATCH", `/clients/${clientId}`, { token: lesser, body });
    expect(response.status).toBe(403);
  });

  it("a wildcard policy grants no admin scope, so it requires no authority over any", async () => {
    const wildcard = { ...exchangePolicy, audiences: ["*"], resources: ["*"], scopes: ["*"] };
    const body = { grant_types: [exchangeGrant], token_exchange: wildcard };
    expect((await admin.call("POST", "/clients", { token: lesser, body })).status).toBe(201);
  });
});

describe("removing an admin scope from a client stops its issued tokens", () => {
  const scope = "admin:clients admin:users";
  const full = { ...machine, scope, audiences: [adminAudience], token_exchange: exchangePolicy };

  it.each<readonly [string, Record<string, unknown>]>([
    ["from scope, though a policy still names it", { scope: "admin:clients" }],
    ["with the audience of the admin API", { audiences: ["https://api.example.com"] }],
    ["from the token_exchange policy", { token_exchange: { scopes: ["read"] } }],
    ["with the token_exchange policy", { token_exchange: null }],
  ])("%s", async (_name, patch) => {
    const clientId = await create(full);
    const token = await admin.issueToken({ clientId, scope: scope.split(" ") });
    expect((await admin.call("GET", "/users", { token })).status).toBe(200);
    expect((await admin.call("PATCH", `/clients/${clientId}`, { body: patch })).status).toBe(200);
    expect((await admin.call("GET", "/users", { token })).status).toBe(401);
    expect((await admin.call("GET", "/clients", { token })).status).toBe(401);
  });

  it("a change that removes no admin scope leaves tokens unchanged", async () => {
    const clientId = await create({ ...full, scope: `${scope} read` });
    const token = await admin.issueToken({ clientId, scope: scope.split(" ") });
    const body = { scope: `admin:keys ${scope}`, client_name: "Console" };
    expect((await admin.call("PATCH", `/clients/${clientId}`, { body })).status).toBe(200);
    expect((await admin.call("GET", "/users", { token })).status).toBe(200);
  });
});
