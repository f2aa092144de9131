/** **Words by which people are found**: in every spelling, after each change of theirs, and also if the previous release wrote them. */

import { folded, searchedWords, wordsOf } from "@edge-op/shared/users/search-words";
import { beforeEach, describe, expect, it, test } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

const { DB } = bindings;
let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

async function search(text: string, others = ""): Promise<string[]> {
  const { status, body } = await admin.call("GET", `/users?search=${encodeURIComponent(text)}${others}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.users.map(({ sub }: { readonly sub: string }) => sub);
}

test.each([
  ["MÜLLER", "muller"],
  ["mu\u0308ller", "muller"],
  ["Straße", "strasse"],
  ["Łukasz Ørsted", "lukasz orsted"],
  ["ΣΊΣΥΦΟΣ", "σισυφοσ"],
  ["İSTANBUL ısparta", "istanbul isparta"],
  ["ＡＮＮ", "ann"],
  ["Ёлкин", "елкин"],
])("%s is searched as %s", (text, expected) => {
  expect(folded(text)).toBe(expected);
});

it("words are whole names and their parts, addresses and usernames as a whole; long ones are cut, and there are few", () => {
  const source = ["auth0|1", "ann.lee", "Ann-Marie O'Brien", null, "O'Brien", null, null, null, "Ann@X.example"];
  expect(wordsOf(source)).toEqual([...["ann@x.example", "ann.lee", "ann-marie", "o'brien", "lee", "marie", "brien"]]);
  expect(wordsOf(["s", "u", "a ".repeat(9) + "b".repeat(99), null])).toEqual(["u", "a", "b".repeat(64)]);
  expect(wordsOf(["s", Array.from({ length: 99 }, (_, index) => `w${index}`).join(" ")]).length).toBe(24);
  expect(searchedWords(" Ann,  mül* ")).toEqual(["ann", "mul"]);
});

const people = [
  { sub: "u1", username: "anna", claims: { name: "Anna Müller", family_name: "Müller", email: "Anna@Example.com" } },
  { sub: "u2", username: "jürgen", claims: { given_name: "Jürgen", family_name: "Anders-Müllner" } },
  { sub: "auth0|5f7c", username: "bob" },
];

describe("GET /admin/users?search=", () => {
  beforeEach(async () => {
    for (const body of people) expect((await admin.call("POST", "/users", { body })).status).toBe(201);
  });

  it.each<[string, string[]]>([
    ["müller", ["u1"]],
    ["MULL", ["u1", "u2"]],
    ["mül ann", ["u1"]],
    ["anders jur", ["u2"]],
    ["mullner", ["u2"]],
    ["an", ["u2", "u1"]],
    ["anna@EXAMPLE", ["u1"]],
    ["auth0|5f7c", ["auth0|5f7c"]],
    ["u1", ["u1"]],
    ["bob", ["auth0|5f7c"]],
    ["muller bob", []],
    ["  ", []],
  ])("%j finds %j, also a page of one at a time", async (text, subs) => {
    expect(await search(text)).toEqual(subs);
    const seen: string[] = [];
    let cursor = "";
    do {
      const { body } = await admin.call("GET", `/users?limit=1&search=${encodeURIComponent(text)}${cursor}`);
      seen.push(...body.users.map(({ sub }: { readonly sub: string }) => sub));
      cursor = body.next_cursor === undefined ? "" : `&cursor=${body.next_cursor}`;
    } while (cursor !== "");
    expect(seen).toEqual(subs);
  });

  it("follows a change in its transaction, and an erasure leaves no word", async () => {
    await admin.call("PATCH", "/users/u1", { body: { claims: { name: "Anna Schmidt", family_name: null } } });
    expect([await search("müller"), await search("schmidt")]).toEqual([[], ["u1"]]);
    await admin.call("PATCH", "/users/u1", { body: { status: "suspended" } });
    expect(await DB.prepare("SELECT count(*) AS n FROM users WHERE searched IS NOT search_source").first("n")).toBe(0);
    expect((await admin.call("DELETE", "/users/u1")).status).toBe(204);
    expect(await DB.prepare("SELECT count(*) AS n FROM user_search WHERE sub = 'u1'").first("n")).toBe(0);
  });

  it("an import makes the words of its users", async () => {
    const users = [{ sub: "i1", username: "zoë", claims: { name: 'Zoë "Z" Ångström' } }];
    expect((await admin.call("POST", "/import/users", { body: { users } })).body.created).toBe(1);
    expect(await DB.prepare("SELECT count(*) AS n FROM users WHERE searched IS NOT search_source").first("n")).toBe(0);
    expect(await search("angs zoe")).toEqual(["i1"]);
  });

  it("finds whom the previous release has written or changed, by their names as they are", async () => {
    await DB.batch([
      DB.prepare(
        "INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms) VALUES ('o1', 'old', 'old', ?1, 0, 0)",
      ).bind('{"name":"Olga \\u0001\\"Q\\" \\u2028Müller"}'),
      DB.prepare(
        "UPDATE users SET claims = json_set(claims, '$.name', 'Anna Weber', '$.family_name', NULL) WHERE sub = 'u1'",
      ),
    ]);
    expect([await search("müller"), await search("weber")]).toEqual([["o1"], ["u1"]]);
    expect(await DB.prepare("SELECT count(*) AS n FROM users WHERE searched IS NOT search_source").first("n")).toBe(0);
  });

  it("says while more of them are without words than one search makes", async () => {
    await DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
         INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms)
         SELECT 'n' || i, 'n' || i, 'n' || i, json_object('name', 'Nina'), 0, 0 FROM n`,
    ).run();
    const first = await admin.call("GET", "/users?search=nina");
    const second = await admin.call("GET", "/users?search=nina");
    expect([first.body.incomplete, second.body.incomplete]).toEqual([true, undefined]);
  });

  it("refuses a cursor of another list, and a condition beside it", async () => {
    const other = await admin.call("GET", "/users?limit=1");
    const cursors = [other.body.next_cursor, btoa("[9,1]")];
    for (const cursor of cursors) {
      expect((await admin.call("GET", `/users?search=a&cursor=${cursor}`)).status).toBe(400);
    }
    expect((await admin.call("GET", "/users?search=a&status=active")).status).toBe(400);
  });
});
