import { beforeEach, describe, expect, it } from "vitest";
import { adminRouteTable } from "../src/admin-routes.ts";
import { AdminCaller, bindings, dumpDatabase, everyScope, issuer } from "./fixtures/admin-fixtures.ts";
import { AdminMails } from "./fixtures/admin-mails.ts";

/**
 * **No record gives more authority than its writer has** (RFC 9700 §2.3). For each operation that changes something: the writes by which somebody
 * with the scope of the operation alone would bind, raise or replace a greater administrator, all refused; or the reason why it cannot. A new kind of
 * record without an entry fails the first test.
 */
const adminAudience = `${issuer}/admin`;
const upstream = {
  name: "Corp",
  issuer: "https://idp.example.net",
  client_id: "op",
  client_secret: "the secret there",
};
const root = "/users/root";
type Case = readonly [method: string, path: string, body?: object];

const rule = {
  ...{ rule_id: "main", uses: ["assertion"], claims: { sub: { exact: "ci" } }, client_id: "operators" },
  ...{ subject: { type: "client" }, audiences: [adminAudience], scopes: ["admin:keys"] },
};
const trusted = { issuer_id: "ci", issuer: "https://ci.example.com", jwks_uri: "https://ci.example.com/jwks" };
const operators = {
  ...{ client_id: "operators", grant_types: ["client_credentials"], scope: "admin:keys", audiences: [adminAudience] },
  token_endpoint_auth_method: "client_secret_basic",
};

const refused: Readonly<Record<string, readonly Case[] | string>> = {
  createClient: [["POST", "/clients", { ...operators, client_id: "mine" }]],
  updateClient: [
    ["PATCH", "/clients/operators", { require_mfa: false }],
    ["PATCH", "/clients/operators", { redirect_uris: ["https://mine.example/cb"] }],
  ],
  deleteClient: [["DELETE", "/clients/operators"]],
  rotateClientSecret: [["POST", "/clients/operators/secrets", {}]],
  deleteClientSecret: [["DELETE", "/clients/operators/secrets/any"]],
  createIssuer: [
    ["POST", "/issuers", { ...trusted, issuer_id: "mine", issuer: "https://mine.example", rules: [rule] }],
  ],
  updateIssuer: [["PATCH", "/issuers/ci", { jwks_uri: "https://mine.example/jwks" }]],
  deleteIssuer: [["DELETE", "/issuers/ci"]],
  createUpstream: [
    ["POST", "/upstreams", { ...upstream, domains: ["corp.example"], discovery: "require" }],
    ["POST", "/upstreams", { ...upstream, domains: ["corp.example"], discovery: "offer" }],
    ["POST", "/upstreams", { ...upstream, trusted_domains: ["corp.example"] }],
    ["POST", "/upstreams", { ...upstream, acr_map: { gold: "mfa" } }],
    ["POST", "/upstreams", { ...upstream, status: "disabled", trusted_domains: ["*"] }],
  ],
  updateUpstream: [
    ["PATCH", "/upstreams/plain", { domains: ["corp.example"], discovery: "require" }],
    ["PATCH", "/upstreams/plain", { trusted_domains: ["*"] }],
    ["PATCH", "/upstreams/plain", { acr_map: { gold: "phr" } }],
    // What the record decides already, it would decide by another's word.
    ["PATCH", "/upstreams/binding", { issuer: "https://mine.example" }],
    ["PATCH", "/upstreams/binding", { client_secret: "mine" }],
    ["PATCH", "/upstreams/binding", { discovery: "off", trusted_domains: [], acr_map: {} }],
    ["PATCH", "/upstreams/binding", { status: "disabled" }],
    // An administrator signs in with it.
    ["PATCH", "/upstreams/connected", { issuer: "https://mine.example" }],
    ["PATCH", "/upstreams/connected", { status: "disabled" }],
  ],
  deleteUpstream: [
    ["DELETE", "/upstreams/binding"],
    ["DELETE", "/upstreams/connected"],
  ],
  createUser: [
    ["POST", "/users", { username: "eve", roles: ["admins"] }],
    ["POST", "/users", { username: "eve", groups: ["ops"] }],
  ],
  updateUser: [
    ["PATCH", root, { password: "mine from now on" }],
    ["PATCH", root, { claims: { email: "eve@example.com", email_verified: true } }],
    ["PATCH", root, { status: "suspended" }],
    ["PATCH", "/users/eve", { roles: ["admins"] }],
    ["PATCH", "/users/eve", { groups: ["ops"] }],
  ],
  deleteUser: [["DELETE", root]],
  eraseUser: [["POST", `${root}/erasure`, { confirm: "root" }]],
  removeFactor: [["DELETE", `${root}/factors/any`]],
  removeIdentity: [["DELETE", `${root}/identities/any`]],
  setTemporaryPassword: [["POST", `${root}/temporary-password`]],
  mailResetLink: [["POST", `${root}/reset-link`]],
  endSession: [["DELETE", `${root}/sessions/any`]],
  endSessions: [["DELETE", `${root}/sessions`]],
  endConsent: [["DELETE", `${root}/consents/any`]],
  endConsents: [["DELETE", `${root}/consents`]],
  endGrant: [["DELETE", `${root}/grants/any`]],
  endGrants: [["DELETE", `${root}/grants`]],
  createInvitation: [["POST", "/invitations", { email: "eve@example.com", roles: ["admins"] }]],
  resendInvitation: [["POST", "/invitations/waiting/resend"]],
  deleteInvitation: [["DELETE", "/invitations/waiting"]],
  importUsers: [["POST", "/import/users", { users: [{ sub: "u", username: "u", roles: ["admins"] }] }]],
  updateUsers: [["POST", "/update/users", { users: [{ sub: "eve", roles: ["admins"] }] }]],
  replaceRole: [
    ["PUT", "/roles/mine", { permissions: ["admin:keys"] }],
    ["PUT", "/roles/admins", { permissions: [] }],
  ],
  deleteRole: [["DELETE", "/roles/admins"]],
  replaceGroup: [
    ["PUT", "/groups/mine", { roles: ["admins"] }],
    ["PUT", "/groups/ops", { roles: [] }],
  ],
  deleteGroup: [["DELETE", "/groups/ops"]],
  createOrganization: "no membership and no role of members gives an admin scope",
  updateOrganization: "as createOrganization",
  deleteOrganization: "as createOrganization",
  inviteMember: "as createOrganization",
  withdrawMemberInvitation: "as createOrganization",
  claimDomain: "as createOrganization",
  checkDomain: "as createOrganization",
  decideDomain: "as createOrganization",
  deleteDomain: "as createOrganization",
  replaceMember: "as createOrganization",
  deleteMember: "as createOrganization",
  createScimToken: "as createOrganization",
  deleteScimToken: "as createOrganization",
  replaceScimGroup: "as createOrganization",
  replaceOrganizationRole: "as createOrganization",
  deleteOrganizationRole: "as createOrganization",
  replaceBranding: "a look decides nothing",
  deleteBranding: "as replaceBranding",
  createAttribute: "no claim of rights can be mapped, and this provider reads none of the mapped ones",
  updateAttribute: "as createAttribute",
  deleteAttribute: "as createAttribute",
  createResource: "the admin API is no resource: its identifier is refused",
  updateResource: "as createResource",
  deleteResource: "as createResource",
  replaceDocumentHost: "clients of metadata documents get no admin scope",
  deleteDocumentHost: "as replaceDocumentHost",
  testIssuer: "changes nothing",
  revoke: "ends tokens, and gives nothing",
  revokeEverything: "as revoke",
  backUp: "only reads",
  sealAgain: "what opens still opens",
  decideHeldRecords: "restores what the restored database says, which its writers could write",
  rotateKey: "keys are made here, and never given",
  revokeKey: "as rotateKey",
  openGeneration: "nothing about people or clients",
};

let admin: AdminCaller;

async function setUp(method: string, path: string, body: object): Promise<void> {
  const response = await admin.call(method, path, { body });
  expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
}

async function connect(upstreamId: string, sub: string): Promise<void> {
  const insert = bindings.DB.prepare("INSERT INTO user_identities VALUES (?1, 'https://idp', ?2, ?2, 'x', 1, NULL)");
  await insert.bind(upstreamId, sub).run();
}

beforeEach(async () => {
  admin = new AdminCaller(new AdminMails({ SIGN_UP: "invitation" }).env);
  await setUp("POST", "/clients", operators);
  await setUp("POST", "/issuers", { ...trusted, rules: [rule] });
  const binding = { domains: ["bound.example"], discovery: "require", acr_map: { gold: "mfa" } };
  await setUp("POST", "/upstreams", { ...upstream, upstream_id: "binding", ...binding });
  for (const id of ["plain", "connected"]) await setUp("POST", "/upstreams", { ...upstream, upstream_id: id });
  await setUp("PUT", "/roles/admins", { permissions: ["admin:keys"] });
  await setUp("PUT", "/groups/ops", { roles: ["admins"] });
  await setUp("POST", "/users", { sub: "root", username: "root", groups: ["ops"] });
  await setUp("POST", "/users", { sub: "eve", username: "eve" });
  await connect("connected", "root");
  await connect("plain", "eve");
  const document = JSON.stringify({ roles: ["admins"], groups: [] });
  await bindings.DB.prepare(
    "INSERT INTO invitations VALUES ('waiting', 'w@example.com', 'w@example.com', ?1, 'x', 0, 9e15)",
  )
    .bind(document)
    .run();
});

it("RFC 9700 §2.3: every operation that changes something is listed", () => {
  const changing = adminRouteTable.filter(({ method }) => method !== "GET").map(({ operationId }) => operationId);
  expect(Object.keys(refused).toSorted()).toEqual(changing.toSorted());
});

const withCases = Object.entries(refused).flatMap(([operationId, list]) =>
  typeof list === "string" ? [] : [{ operationId, list }],
);

describe("RFC 9700 §2.3: who has every scope but admin:keys does not get it, or rule over who has it", () => {
  it.each(withCases)("$operationId", async ({ list }) => {
    const token = await admin.issueToken({ scope: everyScope.filter((value) => value !== "admin:keys") });
    for (const [method, path, body] of list) {
      const before = await dumpDatabase();
      const response = await admin.call(method, path, { token, ...(body && { body }) });
      const what = `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(response.body)}`;
      expect([response.status, response.body?.error], what).toEqual([403, "insufficient_scope"]);
      expect(await dumpDatabase()).toBe(before);
    }
  });

  it("an upstream provider that decides about nobody is written with admin:issuers alone", async () => {
    const token = await admin.issueToken({ scope: ["admin:issuers"] });
    const created = await admin.call("POST", "/upstreams", { token, body: { ...upstream, sign_up: "anyone" } });
    expect(created.status).toBe(201);
    expect((await admin.call("PATCH", "/upstreams/plain", { token, body: { name: "Plain" } })).status).toBe(200);
    expect((await admin.call("DELETE", "/upstreams/plain", { token })).status).toBe(204);
  });

  it("the export of a greater administrator, with the places where they were, is refused; that of others is not", async () => {
    const token = await admin.issueToken({ scope: ["admin:users"] });
    expect((await admin.call("GET", `${root}/export`, { token })).status).toBe(403);
    expect((await admin.call("GET", "/users/eve/export", { token })).status).toBe(200);
  });
});

describe("RFC 9470 §3: admin scopes of a person need two factors", () => {
  it.each([
    ["mfa", 200],
    ["phr", 200],
    ["urn:edge-op:acr:password", 401],
    ["urn:edge-op:acr:upstream", 401],
    ["silver", 401],
    ["", 401],
  ])("a token with the acr %j is %i, for a read and a change", async (acr, status) => {
    const token = await admin.issueToken({ user: "root", acr });
    const read = await admin.call("GET", "/keys", { token });
    expect(read.status).toBe(status);
    if (status === 200) return;
    const challenge = 'Bearer error="insufficient_user_authentication", acr_values="mfa"';
    expect([read.body.error, read.headers.get("www-authenticate")]).toEqual([
      "insufficient_user_authentication",
      challenge,
    ]);
    const before = await dumpDatabase();
    expect((await admin.call("POST", "/keys", { token, body: { alg: "ES256" } })).status).toBe(401);
    expect(await dumpDatabase()).toBe(before);
  });

  it("a client's own token needs none", async () => {
    expect((await admin.call("GET", "/keys")).status).toBe(200);
  });
});

describe("RFC 9068 §2.2.3.1: a name that gives its first admin scope is not held by whom somebody else has given it", () => {
  const lesser = () => admin.issueToken({ scope: ["admin:users"] });
  const first = { permissions: ["admin:audit"] };

  it.each<[string, (token: string) => Promise<{ readonly status: number }>, string]>([
    [
      "a user",
      (token) =>
        admin.call("POST", "/users", { token, body: { sub: "mallory", username: "m", roles: ["operations"] } }),
      "user mallory",
    ],
    [
      "a user, by a change",
      (token) => admin.call("PATCH", "/users/eve", { token, body: { roles: ["operations"] } }),
      "user eve",
    ],
    [
      "an imported user",
      (token) =>
        admin.call("POST", "/import/users", {
          token,
          body: { users: [{ sub: "i", username: "i", roles: ["operations"] }] },
        }),
      "user i",
    ],
    ["a group", (token) => admin.call("PUT", "/groups/mine", { token, body: { roles: ["operations"] } }), "group mine"],
    [
      "an invitation",
      (token) =>
        admin.call("POST", "/invitations", {
          token,
          body: { email: "m@example.com", roles: ["operations"] },
        }),
      "invitation ",
    ],
  ])("held by %s, the role is refused until its writer says that it is kept", async (_, give, holder) => {
    const token = await lesser();
    expect((await give(token)).status).toBeLessThan(300);
    const before = await dumpDatabase();
    for (const headers of [{}, { "If-None-Match": "*" }] as const) {
      const response = await admin.call("PUT", "/roles/operations", { body: first, headers });
      expect([response.status, response.body.error]).toEqual([409, "conflict"]);
      expect(response.body.error_description).toContain(holder);
    }
    expect(await dumpDatabase()).toBe(before);
    const kept = await admin.call("PUT", "/roles/operations", { body: { ...first, keep_holders: true } });
    expect([kept.status, kept.body]).toEqual([200, { role: "operations", ...first }]);
  });

  it("a group that gets its first such role, and a role without one that somebody has made, are no way around", async () => {
    const token = await lesser();
    await admin.call("PATCH", "/users/eve", { token, body: { groups: ["staff"] } });
    await setUp("PUT", "/roles/auditor", first);
    const group = await admin.call("PUT", "/groups/staff", { body: { roles: ["auditor"] } });
    expect([group.status, group.body.error_description]).toEqual([409, expect.stringContaining("user eve")]);
    await admin.call("PUT", "/roles/operations", { token, body: { permissions: ["read"] } });
    await admin.call("PATCH", "/users/eve", { token, body: { roles: ["operations"] } });
    expect((await admin.call("PUT", "/roles/operations", { body: first })).status).toBe(409);
  });

  it("a deleted role that is made anew does not have its former holders", async () => {
    await setUp("PUT", "/roles/operations", first);
    await setUp("PATCH", "/users/eve", { roles: ["operations"] });
    expect((await admin.call("DELETE", "/roles/operations")).status).toBe(204);
    expect((await admin.call("PUT", "/roles/operations", { body: first })).status).toBe(409);
    await setUp("PATCH", "/users/eve", { roles: [] });
    await setUp("PUT", "/roles/operations", first);
  });

  it("one that gives admin scopes already is widened with its holders; one without needs no look", async () => {
    await setUp("PUT", "/roles/admins", { permissions: ["admin:keys", "admin:audit"] });
    await setUp("PATCH", "/users/eve", { roles: ["editor"] });
    await setUp("PUT", "/roles/editor", { permissions: ["articles:write"] });
  });

  it("a role that gets an admin scope while a lesser administrator gives it is not given", async () => {
    const token = await lesser();
    const { DB } = bindings;
    const racing = {
      ...{ prepare: DB.prepare.bind(DB), withSession: DB.withSession.bind(DB) },
      async batch(statements: D1PreparedStatement[]) {
        await DB.prepare("INSERT OR IGNORE INTO role_permissions VALUES ('operations', 'admin:audit')").run();
        return DB.batch(statements);
      },
    } as unknown as D1Database;
    const call = { token, overrides: { DB: racing }, body: { sub: "m", username: "m", roles: ["operations"] } };
    expect((await admin.call("POST", "/users", call)).status).toBe(503);
    expect((await admin.call("POST", "/users", { ...call, overrides: {} })).status).toBe(403);
  });
});
