/** **Searches of the admin API**: what they find, page by page, and that an index finds the first row of each page. */

import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";
import { RecordedStatements } from "./fixtures/recorded-statements.ts";

const statements = new RecordedStatements(bindings.DB);
let admin: AdminCaller;

beforeEach(async () => {
  admin = new AdminCaller({ DB: statements.database });
  const people = [
    { sub: "u1", username: "anna", claims: { name: "Anna Adler", email: "Anna@Example.com" } },
    { sub: "u2", username: "annabel", claims: { name: "Anna Bell", email: "bell@example.com" } },
    { sub: "u3", username: "bob", claims: { name: "Anna Bell", email: "bell@example.org" }, status: "suspended" },
    { sub: "v4", username: "nobody" },
  ];
  for (const body of people) expect((await admin.call("POST", "/users", { body })).status).toBe(201);
  for (const [client_id, client_name] of [
    ["c1", "Photos"],
    ["c2", "photos of Bob"],
    ["d3", "Mail"],
  ]) {
    const body = { client_id, client_name, redirect_uris: ["https://app.example/"] };
    expect((await admin.call("POST", "/clients", { body })).status).toBe(201);
  }
  await bindings.DB.batch(
    [
      ["u1", "2026-11"],
      ["u2", "2026-11"],
      ["u3", "2026-12"],
    ].map((agreed) =>
      bindings.DB.prepare("UPDATE users SET terms_version = ?2, terms_accepted_at_ms = 1 WHERE sub = ?1").bind(
        ...agreed,
      ),
    ),
  );
  expect((await admin.call("PATCH", "/clients/d3", { body: { status: "disabled" } })).status).toBe(200);
});

const searches: readonly (readonly [string, string, readonly string[]])[] = [
  ["users", "", ["u1", "u2", "u3", "v4"]],
  ["users", "status=suspended", ["u3"]],
  ["users", "status=active", ["u1", "u2", "v4"]],
  ["users", "sub=u2", ["u2"]],
  ["users", "sub=u*", ["u1", "u2", "u3"]],
  ["users", "username=ANNA", ["u1"]],
  ["users", "username=Ann*", ["u1", "u2"]],
  ["users", "username=*", ["u1", "u2", "u3", "v4"]],
  ["users", "email=anna@example.com", ["u1"]],
  ["users", "email=bell@EXAMPLE*", ["u2", "u3"]],
  ["users", "email=*", ["u1", "u2", "u3"]],
  ["users", "name=anna bell", ["u2", "u3"]],
  ["users", "name=ANNA*", ["u1", "u2", "u3"]],
  ["users", "name=carl*", []],
  ["users", "terms=2026-11", ["u1", "u2"]],
  ["users", "terms=2026*", ["u1", "u2", "u3"]],
  ["users", "username=%C2%A0", []],
  ["clients", "", ["c1", "c2", "d3"]],
  ["clients", "status=disabled", ["d3"]],
  ["clients", "client_id=c*", ["c1", "c2"]],
  ["clients", "client_name=PHOTOS", ["c1"]],
  ["clients", "client_name=photos*", ["c1", "c2"]],
];

type Named = Readonly<Record<string, string>>;

describe.each(searches)("GET /admin/%s?%s", (list, query, ids) => {
  const idOf = (item: Named) => item[list === "users" ? "sub" : "client_id"];

  /** The pages of one item each. */
  async function pages(): Promise<unknown[]> {
    const seen: unknown[] = [];
    let cursor = "";
    do {
      const { status, body } = await admin.call("GET", `/${list}?limit=1&${query}${cursor && `&cursor=${cursor}`}`);
      expect(status, JSON.stringify(body)).toBe(200);
      seen.push(...body[list].map(idOf));
      cursor = body.next_cursor ?? "";
    } while (cursor !== "");
    return seen;
  }

  it("finds each once, and begins each page where its index does: nothing is scanned, sorted or counted", async () => {
    expect((await admin.call("GET", `/${list}?${query}`)).body[list].map(idOf)).toEqual(ids);
    statements.forget();
    expect(await pages()).toEqual(ids);
    const plans = await statements.plans(` AS place FROM ${list} `);
    expect(plans.length).toBe(query === "username=%C2%A0" ? 0 : Math.max(1, ids.length));
    for (const [page, plan] of plans.entries()) {
      expect(plan.filter((step) => new RegExp(`^SEARCH ${list} USING `).test(step)).length, plan.join("\n")).toBe(1);
      expect(plan.filter((step) => /^SCAN (?!\(|CONSTANT)|TEMP B-TREE/.test(step))).toEqual([]);
      const [name, value = ""] = query.split("=");
      if (page > 0 && value.endsWith("*") && !/^(sub|client_id)$/.test(name!)) {
        expect(plan.join("\n")).toMatch(
          /\((\w+_key|terms_version),(sub|client_id)\)>\(\?,\?\) AND (\w+_key|terms_version)<\?/,
        );
      }
      if (/=/.test(query) && !/^(sub|client_id|status=active)/.test(query)) {
        expect(plan.join("\n")).not.toMatch(new RegExp(`SEARCH ${list} USING PRIMARY KEY`));
      }
    }
  });
});

it.each([
  ["/users?email=a*&name=b*", "at most one of"],
  ["/users?name=a*&cursor=YWJj", "cursor"],
  ["/users?name=", "name"],
  ["/clients?status=active&client_name=a", "at most one of"],
])("%s is refused", async (path, text) => {
  const { status, body } = await admin.call("GET", path);
  expect([status, body.error_description]).toEqual([400, expect.stringContaining(text)]);
});
