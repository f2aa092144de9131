/**
 * **Every operation, called with the examples of its description**: it is accepted, or refused as described, and what it returns has the described
 * form. Each regards the preconditions that it names, and no others.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { exampleBodies, exampleParameters } from "../src/admin/examples.ts";
import { describeApi } from "../src/admin/openapi.ts";
import { adminRouteTable } from "../src/admin-routes.ts";
import { AdminCaller, type Answer, issuer } from "./fixtures/admin-fixtures.ts";

interface Described {
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}

const { paths } = describeApi(adminRouteTable, issuer) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};

const { client_id, resource_id, issuer_id, upstream_id, sub, org_id } = exampleParameters;

type Existing = readonly [method: string, path: string, body: unknown];
const user: Existing = ["POST", "/users", { ...Object(exampleBodies["createUser"]), sub }];

/** The records that exist before a call whose path names them. */
const existing: Readonly<Record<string, Existing | readonly Existing[]>> = {
  clients: ["POST", "/clients", { ...Object(exampleBodies["createClient"]), client_id }],
  resources: ["POST", "/resources", { ...Object(exampleBodies["createResource"]), resource_id }],
  issuers: ["POST", "/issuers", { ...Object(exampleBodies["createIssuer"]), issuer_id }],
  upstreams: ["POST", "/upstreams", { ...Object(exampleBodies["createUpstream"]), upstream_id }],
  attributes: ["POST", "/attributes", exampleBodies["createAttribute"]],
  users: user,
  organizations: [
    user,
    ["POST", "/organizations", exampleBodies["createOrganization"]],
    ["PUT", `/organizations/${org_id}/members/${sub}`, exampleBodies["replaceMember"]],
    ["PUT", `/organizations/${org_id}/domains/example.com`, undefined],
  ],
  "organization-roles": ["PUT", "/organization-roles/editor", exampleBodies["replaceOrganizationRole"]],
  "client-document-hosts": ["PUT", "/client-document-hosts/*.example.com", exampleBodies["replaceDocumentHost"]],
  branding: ["PUT", "/branding/current", exampleBodies["replaceBranding"]],
  roles: ["PUT", "/roles/editor", exampleBodies["replaceRole"]],
  groups: ["PUT", "/groups/editor", exampleBodies["replaceGroup"]],
};

/** The example names a record that only others can create, or whose id this provider chooses. */
const unknown = [
  ...["deleteClientSecret", "removeFactor", "removeIdentity", "endSession", "endConsent", "endGrant"],
  ...[
    "deleteScimToken",
    "replaceScimGroup",
    "readClientSecret",
    "readInvitation",
    "deleteInvitation",
    "readKey",
    "revokeKey",
  ],
];
/** The outcomes other than that of `response`; nobody signs up by default. */
const refused: Readonly<Record<string, readonly [status: number, error: string]>> = {
  ...Object.fromEntries(unknown.map((operationId) => [operationId, [404, "not_found"] as const])),
  // The example is not contested.
  decideDomain: [409, "conflict"],
  createInvitation: [409, "conflict"],
  inviteMember: [409, "conflict"],
  withdrawMemberInvitation: [404, "not_found"],
  resendInvitation: [409, "conflict"],
  // No mail is sent by default.
  mailResetLink: [409, "conflict"],
};

const fill = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(exampleParameters[name] ?? ""));

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the examples of the admin API's description", () => {
  it.each(adminRouteTable)(
    "OpenAPI 3.1.1 §4.8.10: $operationId responds to its example as described",
    async (route) => {
      const { method, path, operationId, body, response, preconditions = [] } = route;
      const before = path.includes("{") ? existing[path.split("/")[1]!] : undefined;
      const earlier = before === undefined ? [] : Array.isArray(before[0]) ? before : [before];
      for (const [by, at, record] of earlier as readonly Existing[]) {
        expect((await admin.call(by, at, { body: record })).status).toBeLessThan(300);
      }
      // Resolvers that know nothing.
      if (operationId === "checkDomain") vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ Status: 3 })));
      const send = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
        admin.call(method, fill(path), { headers, ...(body && { body: exampleBodies[operationId] }) });
      const { responses } = paths[path]![method.toLowerCase()]!;
      const regards = preconditions.includes("If-Match");
      expect("412" in responses).toBe(regards);
      if (regards) expect((await send({ "if-match": '"1"' })).status).toBe(412);

      const answer = await send(regards ? {} : { "if-match": '"1"' });
      expect([answer.status, answer.body?.error]).toEqual(refused[operationId] ?? [response.status, undefined]);
      expect(Object.keys(responses)).toContain(String(answer.status));
      if (answer.status === 200 || answer.status === 201)
        expect(response.schema?.parse(answer.body)).toEqual(answer.body);
      if (answer.status === 204) expect(answer.body).toBeUndefined();
      if (answer.status < 300) {
        const headers = ["ETag", "Location"].filter((name) => answer.headers.has(name));
        expect(headers).toEqual(Object.keys(responses[answer.status]?.headers ?? {}));
      }
      const location = answer.headers.get("location");
      if (location === null) return;
      // RFC 9110 §15.3.2: it names what was created.
      const { status, body: created } = await admin.call("GET", location.slice(`${issuer}/admin`.length));
      expect([status, answer.body]).toEqual([200, expect.objectContaining(created)]);
    },
  );
});
