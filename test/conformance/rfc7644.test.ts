/**
 * **SCIM 2.0** (RFC 7643, RFC 7644) as directories send it: recorded shapes of Entra with and without `aadOptscim062020`, Okta, JumpCloud, OneLogin
 * and authentik, from their documentation. Hostile cases and storage are in op-management `scim`.
 */

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fixtures } from "./fixtures/shared-provider.ts";

const { admin, origin } = fixtures;
const organization = `scim-${randomUUID().slice(0, 8)}`;
const base = `${origin}/scim/${organization}/v2`;
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
let token: string;
let count = 0;
let user: Answer["body"];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are compared with literals.
  readonly body: any;
}

async function scim(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

beforeAll(async () => {
  await admin.require("POST", "/organizations", { org_id: organization, name: "Directory" });
  const made = await admin.require("POST", `/organizations/${organization}/scim-tokens`, { name: "directory" });
  token = String((made as { token?: unknown }).token);
});

beforeEach(async () => {
  count += 1;
  const made = await scim("POST", "/Users", {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User", enterprise],
    userName: `person${count}@directory.example`,
    externalId: `e${count}`,
    name: { givenName: "Ann", familyName: "Lee" },
    emails: [{ value: `person${count}@directory.example`, type: "work", primary: true }],
    active: true,
  });
  expect(made.status).toBe(201);
  user = made.body;
});

const patched = (operations: unknown) =>
  scim("PATCH", `/Users/${user.id}`, {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
    Operations: operations,
  });

/** What a directory sends, and members of the resource afterwards. */
const shapes: readonly (readonly [from: string, operations: unknown, expected: object])[] = [
  ["Entra, flag", [{ op: "replace", path: "active", value: false }], { active: false }],
  ["Entra, no flag", [{ op: "Replace", path: "active", value: "False" }], { active: false }],
  [
    "Entra, flag",
    [{ op: "replace", path: 'emails[type eq "work"].value', value: "n@x.example" }],
    { emails: [{ value: "n@x.example", type: "work", primary: true }] },
  ],
  [
    "Entra, no flag",
    [{ op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "+1" }],
    { phoneNumbers: [{ type: "mobile", value: "+1" }] },
  ],
  [
    "Entra, no flag",
    [{ op: "Add", value: { "name.familyName": "Ray", displayName: "Ann Ray" } }],
    { name: { givenName: "Ann", familyName: "Ray" }, displayName: "Ann Ray" },
  ],
  [
    "Entra, flag",
    [{ op: "add", path: `${enterprise}:department`, value: "Sales" }],
    { [enterprise]: { department: "Sales" } },
  ],
  [
    "Entra, no flag",
    [{ op: "Add", path: `${enterprise}:manager`, value: "m1" }],
    { [enterprise]: { manager: { value: "m1" } } },
  ],
  [
    "Entra, flag",
    [{ op: "add", path: `${enterprise}:manager.value`, value: "m1" }],
    { [enterprise]: { manager: { value: "m1" } } },
  ],
  [
    "Entra, flag",
    [{ op: "add", value: { [enterprise]: { department: "Sales" } } }],
    { [enterprise]: { department: "Sales" } },
  ],
  ["Okta", [{ op: "replace", value: { active: false } }], { active: false }],
  [
    "OneLogin",
    [{ op: "replace", value: { id: "1", active: "true", title: "Chief" } }],
    { active: true, title: "Chief" },
  ],
  [
    "JumpCloud",
    [{ op: "replace", path: "emails", value: { value: "j@x.example", primary: "True" } }],
    { emails: [{ value: "j@x.example", primary: true }] },
  ],
  ["authentik", [], { active: true }],
  ["authentik", [{ op: "remove", path: "name.familyName" }], { name: { givenName: "Ann" } }],
];

describe("RFC 7644 §3.5.2: PATCH in the forms of directories", () => {
  test.each(shapes)("%s: %j", async (_from, operations, expected) => {
    const { status, body } = await patched(operations);
    expect([status, body]).toEqual([200, expect.objectContaining(expected)]);
    expect((await scim("GET", `/Users/${user.id}`)).body).toMatchObject(expected);
    // A repeated request ends in the same state.
    expect((await patched(operations)).body).toMatchObject(expected);
  });

  test.each([
    ["invalidSyntax", [{ op: "move", path: "title", value: "x" }]],
    ["invalidSyntax", [{ op: "replace", value: "x" }]],
    ["noTarget", [{ op: "remove" }]],
    ["invalidPath", [{ op: "add", path: "favouriteColour", value: "x" }]],
    ["invalidPath", [{ op: "add", path: 'emails[value co "x"].value', value: "x" }]],
    ["invalidValue", [{ op: "replace", path: "active", value: "maybe" }]],
    ["invalidValue", [{ op: "remove", path: "userName" }]],
  ])("%s: an unknown form is refused, and nothing of the request is done: %j", async (scimType, operations) => {
    const refused = await patched([{ op: "replace", path: "title", value: "changed" }, ...operations]);
    expect(refused.body).toMatchObject({
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: "400",
      scimType,
    });
    expect((await scim("GET", `/Users/${user.id}`)).body).toEqual(user);
  });

  test("members are removed by filter and by value, replaced and added again", async () => {
    const { id } = (await scim("POST", "/Groups", { displayName: `G${count}`, members: [{ value: user.id }] })).body;
    const members = async (...Operations: unknown[]) =>
      ((await scim("PATCH", `/Groups/${id}`, { Operations })).body.members ?? []).length;
    expect(await members({ op: "Remove", path: "members", value: [{ value: user.id }] })).toBe(0);
    expect(await members({ op: "Add", path: "members", value: [{ value: user.id }, { value: user.id }] })).toBe(1);
    expect(await members({ op: "remove", path: `members[value eq "${user.id}"]` })).toBe(0);
    expect(await members({ op: "replace", value: { members: [{ value: user.id }] } })).toBe(1);
    expect((await scim("GET", `/Users/${user.id}`)).body.groups).toMatchObject([{ value: id, display: `G${count}` }]);
    expect((await scim("GET", `/Groups/${id}?excludedAttributes=members`)).body.members).toBeUndefined();
    expect(
      (await scim("GET", `/Groups?filter=${encodeURIComponent(`members.value eq "${user.id}"`)}`)).body.totalResults,
    ).toBe(1);
  });
});

describe("RFC 7644 §3.4.2: lists", () => {
  test.each([
    'userName eq "PERSON%@directory.example"',
    'externalId eq "e%"',
    'emails[type eq "work"].value eq "person%@directory.example"',
    'userName eq "person%@directory.example" and active eq true',
  ])("%s", async (filter) => {
    const found = await scim("GET", `/Users?filter=${encodeURIComponent(filter.replaceAll("%", String(count)))}`);
    expect(found.body).toMatchObject({ totalResults: 1, startIndex: 1, itemsPerPage: 1, Resources: [{ id: user.id }] });
  });

  test.each([
    'userName co "a"',
    "not (active eq true)",
    'userName eq "a" or externalId eq "b"',
    'title eq "x"',
    "userName eq",
  ])("%s is no filter that is supported", async (filter) => {
    const refused = await scim("GET", `/Users?filter=${encodeURIComponent(filter)}`);
    expect([refused.status, refused.body.scimType]).toEqual([400, "invalidFilter"]);
  });

  test("pages begin with 1; count=0 counts", async () => {
    const all = (await scim("GET", "/Users?count=0")).body;
    expect(all).toMatchObject({ itemsPerPage: 0, Resources: [] });
    const last = (await scim("GET", `/Users?startIndex=${all.totalResults}&count=5`)).body;
    expect(last).toMatchObject({ startIndex: all.totalResults, itemsPerPage: 1, Resources: [{ id: user.id }] });
  });
});

describe("RFC 7644 §4: discovery needs no token", () => {
  test.each(["/ServiceProviderConfig", "/ResourceTypes", "/ResourceTypes/User", "/Schemas", `/Schemas/${enterprise}`])(
    "%s",
    async (path) => {
      const response = await fetch(base + path);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/scim+json"]);
    },
  );
});

test("RFC 7644 §3.12: errors are in its form, also for a path, a method and a body that are none", async () => {
  const error = { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"] };
  expect((await scim("GET", "/Bulk")).body).toMatchObject({ ...error, status: "404" });
  expect((await scim("DELETE", "/Users")).body).toMatchObject({ ...error, status: "405" });
  expect((await scim("POST", "/Users", [])).body).toMatchObject({ ...error, status: "400", scimType: "invalidSyntax" });
  expect((await scim("POST", "/Users", {}, { "content-type": "text/plain" })).status).toBe(400);
});
