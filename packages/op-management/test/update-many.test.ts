/** **Changes of many users by one request**: each line by itself, all of them in one transaction, each user with an event. */

import { beforeEach, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;
let admin: AdminCaller;
beforeEach(async () => {
  admin = new AdminCaller();
  const attribute = { attribute: "cost_centre", type: "string", title: "Cost centre" };
  expect((await admin.call("POST", "/attributes", { body: attribute })).status).toBe(201);
  for (const sub of ["ann", "bob", "cy"]) {
    const body = { sub, username: sub, claims: { name: sub, email: `${sub}@example.com` }, roles: ["old"] };
    expect((await admin.call("POST", "/users", { body })).status).toBe(201);
  }
});

async function events(): Promise<unknown[]> {
  const { results } = await DB.prepare(
    "SELECT target, detail FROM admin_events WHERE action = 'user.update' ORDER BY seq",
  ).all();
  return results.map(({ target, detail }) => [target, JSON.parse(String(detail))]);
}

it("applies each line to its user, and refuses the others with their reason", async () => {
  const { headers } = await admin.call("GET", "/users/bob");
  const users = [
    { sub: "ann", attributes: { cost_centre: "4711" }, claims: { name: "Ann Müller", nickname: "A" } },
    { sub: "bob", roles: ["new"], groups: ["staff"], if_match: headers.get("ETag") },
    { sub: "cy", claims: { name: null }, if_match: '"1"' },
    { sub: "cy" },
    { sub: "ann", roles: [] },
    { sub: "none", roles: [] },
    { sub: "cy", attributes: { floor: 3 } },
    { sub: "cy", claims: { email: "x@example.com" } },
    { sub: "cy", status: "suspended" },
    7,
  ];
  const { status, body } = await admin.call("POST", "/update/users", { body: { users } });
  expect([status, body.updated, body.unchanged, body.refused], JSON.stringify(body)).toEqual([200, 2, 0, 8]);
  const reasons = body.results.slice(2).map(({ fields }: { fields: { path: string; message: string }[] }) => fields[0]);
  expect(reasons).toMatchObject([
    { path: "if_match", message: "is not the version of the user" },
    { path: "sub", message: "is that of an earlier line" },
    { path: "sub", message: "is that of an earlier line" },
    { path: "sub", message: "is no user's" },
    { path: "sub", message: "is that of an earlier line" },
    { path: "claims.email" },
    { path: "status" },
    {},
  ]);
  const shown = await Promise.all(["ann", "bob"].map(async (sub) => (await admin.call("GET", `/users/${sub}`)).body));
  expect(shown).toMatchObject([
    {
      ...{ claims: { name: "Ann Müller", nickname: "A", email: "ann@example.com" }, roles: ["old"] },
      attributes: { cost_centre: "4711" },
    },
    { roles: ["new"], groups: ["staff"], claims: { name: "bob" } },
  ]);
  expect((await admin.call("GET", "/users?search=muller")).body.users).toMatchObject([{ sub: "ann" }]);
  expect(await events()).toEqual([
    ["ann", { fields: ["claims", "attributes"] }],
    ["bob", { fields: ["roles", "groups"] }],
  ]);
});

it("a line without members and a patch without members change nothing: no version, no event", async () => {
  const before = await admin.call("GET", "/users/ann");
  const many = await admin.call("POST", "/update/users", { body: { users: [{ sub: "ann" }] } });
  expect(many.body).toMatchObject({ updated: 0, unchanged: 1, refused: 0 });
  const patched = await admin.call("PATCH", "/users/ann", { body: {} });
  expect([patched.status, patched.headers.get("ETag"), patched.body]).toEqual([
    200,
    before.headers.get("ETag"),
    before.body,
  ]);
  expect((await admin.call("PATCH", "/users/ann", { body: {}, headers: { "If-Match": '"1"' } })).status).toBe(412);
  expect(await events()).toEqual([]);
});

it("refuses an attribute that is not declared, and a request without lines", async () => {
  const { body } = await admin.call("POST", "/update/users", {
    body: { users: [{ sub: "cy", attributes: { floor: 3 } }] },
  });
  expect(body.results[0].fields).toEqual([{ path: "attributes.floor", message: "is not a declared attribute" }]);
  expect((await admin.call("POST", "/update/users", { body: { users: [] } })).status).toBe(400);
});
