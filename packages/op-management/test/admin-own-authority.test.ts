import { beforeEach, describe, expect, it } from "vitest";
import { generateClientKey } from "../../../test/fixtures/assertions.ts";
import { adminRouteTable } from "../src/admin-routes.ts";
import { AdminCaller, bindings, dumpDatabase, everyScope, issuer } from "./fixtures/admin-fixtures.ts";

/**
 * An administrator cannot accidentally end the authority of their own access token, because the last one would lock everyone out. Tests three kinds
 * of tokens: a client's own, a user's, and a client's token obtained with a token of a trusted issuer.
 */
const key = await generateClientKey();
const other = await generateClientKey();
const scope = everyScope.join(" ");
const operators = {
  client_id: "operators",
  grant_types: ["client_credentials", "authorization_code"],
  redirect_uris: ["https://console.example/cb", "https://console.example/other"],
  scope,
  audiences: [`${issuer}/admin`],
};
const keyed = { ...operators, client_id: "keyed", token_endpoint_auth_method: "private_key_jwt" };
const jwks = { keys: [key.publicJwk] };
const rule = {
  rule_id: "main",
  uses: ["assertion"],
  claims: { sub: { exact: "ci" } },
  client_id: "operators",
  subject: { type: "client" },
  audiences: [`${issuer}/admin`],
  scopes: [...everyScope],
};
const record = { issuer_id: "ci", issuer: "https://ci.example.com", jwks, algorithms: ["ES256"], rules: [rule] };
const root = { sub: "root", username: "root", password: "a long password", roles: ["admins"], groups: ["ops"] };

type Caller = "client" | "user" | "workload" | "keyed client";
type Case = readonly [caller: Caller, method: string, path: string, body?: object];

const client = "/clients/operators";
const user = "/users/root";

/** For each operation that changes something: the refused changes to the caller's own authority, or the reason why it cannot affect it. */
const refused: Readonly<Record<string, readonly Case[] | string>> = {
  updateClient: [
    ["client", "PATCH", client, { audiences: [] }],
    ["client", "PATCH", client, { audiences: ["https://api.example.com"] }],
    ["client", "PATCH", client, { scope: scope.replace("admin:keys", "read") }],
    ["client", "PATCH", client, { scope: "" }],
    ["client", "PATCH", client, { status: "disabled" }],
    ["client", "PATCH", client, { grant_types: ["authorization_code"] }],
    ["client", "PATCH", client, { token_endpoint_auth_method: "client_secret_post" }],
    ["client", "PATCH", client, { token_endpoint_auth_method: "private_key_jwt", jwks }],
    ["client", "PATCH", client, { dpop_bound_access_tokens: true }],
    ["keyed client", "PATCH", "/clients/keyed", { jwks: { keys: [other.publicJwk] } }],
    ["keyed client", "PATCH", "/clients/keyed", { jwks: null, jwks_uri: "https://console.example/jwks" }],
    ["user", "PATCH", client, { redirect_uris: ["https://console.example/other"] }],
    ["user", "PATCH", client, { status: "disabled" }],
    ["workload", "PATCH", client, { audiences: [] }],
  ],
  deleteClient: [
    ["client", "DELETE", client],
    ["user", "DELETE", client],
    ["workload", "DELETE", client],
  ],
  deleteClientSecret: [["client", "DELETE", `${client}/secrets/{secret}`]],
  updateUser: [
    ["user", "PATCH", user, { status: "suspended" }],
    ["user", "PATCH", user, { password: "another long password" }],
    ["user", "PATCH", user, { password: null }],
    ["user", "PATCH", user, { roles: [] }],
    ["user", "PATCH", user, { roles: ["readers"] }],
    ["user", "PATCH", user, { groups: [] }],
  ],
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
  deleteUser: [["user", "DELETE", user]],
  endSession: [["user", "DELETE", `${user}/sessions/any`]],
  endSessions: [["user", "DELETE", `${user}/sessions`]],
  endConsent: [["user", "DELETE", `${user}/consents/any`]],
  endConsents: [["user", "DELETE", `${user}/consents`]],
  endGrant: [["user", "DELETE", `${user}/grants/any`]],
  endGrants: [["user", "DELETE", `${user}/grants`]],
  eraseUser: [["user", "POST", `${user}/erasure`, { confirm: "root" }]],
  setTemporaryPassword: [["user", "POST", `${user}/temporary-password`]],
  mailResetLink: [["user", "POST", `${user}/reset-link`]],
  removeIdentity: [["user", "DELETE", `${user}/identities/any`]],
  createAttribute: "no claim of rights can be mapped",
  updateAttribute: "no claim of rights can be mapped",
  deleteAttribute: "no claim of rights can be mapped",
  removeFactor: "an administrator cannot remove a factor of their own",
  replaceRole: [
    ["user", "PUT", "/roles/admins", { permissions: ["admin:users"] }],
    ["user", "PUT", "/roles/keepers", { permissions: [] }],
  ],
  deleteRole: [["user", "DELETE", "/roles/admins"]],
  replaceGroup: [["user", "PUT", "/groups/ops", { roles: ["readers"] }]],
  deleteGroup: [["user", "DELETE", "/groups/ops"]],
  updateIssuer: [
    ["workload", "PATCH", "/issuers/ci", { status: "disabled" }],
    ["workload", "PATCH", "/issuers/ci", { rules: [] }],
    ["workload", "PATCH", "/issuers/ci", { rules: [{ ...rule, status: "disabled" }] }],
    ["workload", "PATCH", "/issuers/ci", { rules: [{ ...rule, scopes: ["admin:users"] }] }],
    ["workload", "PATCH", "/issuers/ci", { jwks: { keys: [other.publicJwk] } }],
  ],
  deleteIssuer: [["workload", "DELETE", "/issuers/ci"]],
  revoke: [
    ["client", "POST", "/revocations", { client_id: "operators" }],
    ["client", "POST", "/revocations", { sub: "operators" }],
    ["user", "POST", "/revocations", { sub: "root" }],
    ["user", "POST", "/revocations", { client_id: "operators" }],
  ],
  revokeEverything: "the client or the person gets another token",
  createClient: "another client",
  rotateClientSecret: [["client", "POST", `${client}/secrets`, {}]],
  createUser: "another user",
  createInvitation: "another person",
  resendInvitation: "another person",
  importUsers: "another person",
  updateUsers: "a line of one's own user is refused",
  backUp: "it only reads",
  sealAgain: "what opens still opens",
  decideHeldRecords: "a held record has no authority",
  deleteInvitation: "nobody has signed up by it",
  createUpstream: "another provider",
  updateUpstream: "tokens and sessions stay",
  deleteUpstream: "tokens and sessions stay",
  createIssuer: "another issuer",
  testIssuer: "changes nothing",
  createResource: "the admin API is no resource: its identifier is refused",
  updateResource: "the admin API is no resource: its identifier is refused",
  deleteResource: "the admin API is no resource: its identifier is refused",
  replaceDocumentHost: "clients of metadata documents get no admin scope",
  deleteDocumentHost: "clients of metadata documents get no admin scope",
  rotateKey: "earlier keys stay good",
  revokeKey: "the client gets a token of the next key",
  openGeneration: "nothing ends",
};

let admin: AdminCaller;
let secret: string;

async function tokenOf(caller: Caller): Promise<string> {
  if (caller === "user") return admin.issueToken({ user: "root" });
  if (caller === "keyed client") return admin.issueToken({ clientId: "keyed" });
  return admin.issueToken(caller === "workload" ? { parties: ["issuer:ci", "issuer:ci:main"] } : {});
}

/** Another administrator, for whom nothing is refused. */
const setUp = async (method: string, path: string, body: object) => {
  const token = await admin.issueToken({ clientId: "founder" });
  const response = await admin.call(method, path, { token, body });
  expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
  return response;
};

beforeEach(async () => {
  admin = new AdminCaller();
  await setUp("POST", "/clients", operators);
  await setUp("POST", "/clients", { ...keyed, jwks });
  await setUp("POST", "/issuers", record);
  await setUp("PUT", "/roles/admins", { permissions: everyScope.filter((value) => value !== "admin:keys") });
  await setUp("PUT", "/roles/keepers", { permissions: ["admin:keys"] });
  await setUp("PUT", "/roles/readers", { permissions: ["read"] });
  await setUp("PUT", "/groups/ops", { roles: ["keepers", "readers"] });
  await setUp("POST", "/users", root);
  const { results } = await bindings.DB.prepare("SELECT id FROM client_secrets WHERE client_id = 'operators'").all();
  secret = String(results[0]?.["id"]);
});

it("every operation that changes something is listed", () => {
  const changing = adminRouteTable.filter(({ method }) => method !== "GET").map(({ operationId }) => operationId);
  expect(Object.keys(refused).toSorted()).toEqual(changing.toSorted());
});

const withCases = Object.entries(refused).flatMap(([operationId, list]) =>
  typeof list === "string" ? [] : [{ operationId, list }],
);

describe("a change that would end the authority of its own access token is 409, and changes nothing", () => {
  it.each(withCases)("$operationId", { timeout: 60_000 }, async ({ list }) => {
    for (const [caller, method, path, body] of list) {
      const token = await tokenOf(caller);
      const before = await dumpDatabase();
      const call = { token, ...(body === undefined ? {} : { body }) };
      const response = await admin.call(method, path.replace("{secret}", secret), call);
      const what = `${caller}: ${method} ${path} ${JSON.stringify(body)}`;
      expect([response.status, response.body?.error], what).toEqual([409, "conflict"]);
      expect(response.body.error_description).toMatch(
        /would end the authority of its own access token: .+ Use another administrator's token\.$/,
      );
      expect(await dumpDatabase()).toBe(before);
      expect((await admin.call("GET", "/clients", { token })).status).toBe(200);
    }
  });
});

const renamed = { ...other.publicJwk, kid: "next" };
const kept: Readonly<Record<Caller, readonly Case[]>> = {
  client: [
    ["client", "PATCH", client, { client_name: "Console", scope: `${scope} read`, contacts: ["a@console.example"] }],
    ["client", "PATCH", client, { redirect_uris: ["https://console.example/other"] }],
    ["client", "PATCH", client, { grant_types: [...operators.grant_types, "refresh_token"] }],
    ["client", "POST", `${client}/secrets`, { overlap_seconds: 60 }],
    ["client", "PATCH", "/issuers/ci", { status: "disabled" }],
  ],
  "keyed client": [
    ["keyed client", "PATCH", "/clients/keyed", { jwks: { keys: [key.publicJwk, renamed] } }],
    ["keyed client", "PATCH", "/clients/keyed", { jwks: { keys: [renamed] } }],
  ],
  user: [
    ["user", "PATCH", user, { claims: { name: "Root" }, roles: ["admins", "readers"] }],
    ["user", "PATCH", user, { roles: ["admins", "keepers"], groups: [] }],
    ["user", "PUT", "/roles/readers", { permissions: [] }],
    ["user", "PUT", "/groups/ops", { roles: ["readers"] }],
  ],
  workload: [
    [
      "workload",
      "PATCH",
      "/issuers/ci",
      {
        rules: [
          { ...rule, description: "CI" },
          { ...rule, rule_id: "second" },
        ],
      },
    ],
  ],
};

describe("a change that does not end the caller's own authority is allowed", () => {
  it.each(Object.entries(kept))("%s", { timeout: 60_000 }, async (_, list) => {
    for (const [caller, method, path, body] of list) {
      const token = await tokenOf(caller);
      const response = await admin.call(method, path, { token, body });
      expect(response.status, `${path} ${JSON.stringify(response.body)}`).toBeLessThan(300);
      expect((await admin.call("GET", "/clients", { token })).status).toBe(200);
    }
  });

  it("another administrator can do it", async () => {
    const token = await admin.issueToken({ clientId: "founder" });
    const ofClient = refused["updateClient"]!;
    const [, , , body] = (ofClient as readonly Case[])[0]!;
    expect((await admin.call("PATCH", client, { token, body: body! })).status).toBe(200);
    expect((await admin.call("DELETE", client, { token })).status).toBe(204);
    expect((await admin.call("DELETE", user, { token })).status).toBe(204);
    expect((await admin.call("DELETE", "/roles/admins", { token })).status).toBe(204);
    expect((await admin.call("DELETE", "/issuers/ci", { token })).status).toBe(204);
  });
});
