/**
 * **Rows read by the lists of the admin API**: each page reads about as many rows as it shows, for every filter and pair of filters, in databases in
 * which many rows have one value and none has both. The lists and their filters are those of the route table: a new one needs an entry here.
 */

import { countCalls } from "@edge-op/shared/http/count-calls";
import { findOwnOrganizations, mostMemberships } from "@edge-op/shared/users/organizations";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import type { AdminRoute } from "../src/admin/define-route.ts";
import { adminRouteTable } from "../src/admin-routes.ts";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

vi.setConfig({ testTimeout: 120_000 });

const { DB, AUDIT_DB } = bindings;
const limit = 50;
/** Authorization, the user of a path, one row for each type of event, and the row that tells whether there is another page. */
const fixed = 60;
/** Two rows for an item of a list: of an index and of its table. An item with lists of its own has more. */
const rowsOfItem = 2;
/** With two identities a page looks at 500 events, and has a next_cursor also if it is short. */
const rowsOfPair = 500 * 4 + fixed;
/** The rarest of several words is found by counting at most 250 of each. */
const rowsOfWords = 500 * 5 + fixed;

interface List {
  readonly path?: string;
  /** Values of each filter. */
  readonly filters?: Readonly<Record<string, readonly string[]>>;
  readonly rowsOfItem?: number;
  /** Filters of which a request may have one, and others of which two make a page short. */
  readonly exclusive?: true;
  readonly identities?: readonly string[];
}

const ofUser = (list: string) => ({ path: `/users/u/${list}` });

const lists: Readonly<Record<string, List>> = {
  listAuditEvents: {
    filters: {
      sub: ["robot", "u7", "nobody"],
      client_id: ["big", "small", "c7"],
      actor: ["root", "other"],
      target: ["app", "t7"],
      request_id: ["r7"],
      type: ["client.*", "sign-in.*", "sign-in.failed", "*", "none.*"],
      from: ["1764000090", "1"],
      to: ["1764000010", "1864000000"],
    },
    rowsOfItem: 4,
    identities: ["sub", "client_id", "actor", "target", "request_id"],
  },
  listAuditGaps: {},
  listUsers: {
    filters: {
      status: ["active", "suspended"],
      sub: ["u1*", "u7"],
      username: ["u1*", "u7"],
      email: ["u1*", "u7@example.com"],
      name: ["anna*", "anna"],
      terms: ["2", "2026*", "3"],
      search: ["anna", "u7", "anna u7", "anna u", "anna lee", "nobody"],
    },
    exclusive: true,
    rowsOfItem: 6,
  },
  listClients: {
    filters: { status: ["active", "disabled"], client_id: ["c1*", "c7"], client_name: ["app*", "app"] },
    exclusive: true,
    rowsOfItem: 4,
  },
  listResources: { filters: { identifier: ["https://r7.example"] } },
  listIssuers: {},
  listUpstreams: {},
  listAttributes: {},
  listDocumentHosts: {},
  listInvitations: {},
  listHeldRecords: {},
  listOrganizations: {
    filters: { status: ["active", "disabled"], name: ["acme*", "acme"] },
    exclusive: true,
    rowsOfItem: 4,
  },
  listMembers: { path: "/organizations/o1/members", rowsOfItem: 8 },
  listMemberInvitations: { path: "/organizations/o1/invitations", rowsOfItem: 4 },
  listDomains: { path: "/organizations/o1/domains", rowsOfItem: 4 },
  listScimGroups: { path: "/organizations/o1/scim-groups", rowsOfItem: 8 },
  listMemberships: { path: "/users/v7/memberships", rowsOfItem: 8 },
  listOrganizationRoles: { rowsOfItem: 12 },
  listRoles: { rowsOfItem: 12 },
  listGroups: { rowsOfItem: 12 },
  exportUsers: { rowsOfItem: 12 },
  listSessions: ofUser("sessions"),
  // With the grants of each application.
  listConsents: { ...ofUser("consents"), rowsOfItem: 20 },
  listGrants: ofUser("grants"),
  // Up to 10,000 rows in the SQLite of an object, not in D1; by indexes too.
  listRefusals: { filters: { request_id: ["r7"], client_id: ["big"] } },
};

const isList = ({ method, query }: AdminRoute) =>
  method === "GET" && query instanceof z.ZodObject && "cursor" in query.shape;

/** What a caller may ask for beside the page. */
function filtersOf({ query }: AdminRoute): string[] {
  return Object.keys((query as z.ZodObject).shape).filter((name) => name !== "cursor" && name !== "limit");
}

const numbered = (count: number) =>
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) `;

const rows: readonly (readonly [D1Database, string])[] = [
  [
    AUDIT_DB,
    `${numbered(100_000)} INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
       SELECT i, 'control', i, 1764000000000 + i / 2, CASE i % 10 WHEN 9 THEN 'client.update' WHEN 8 THEN 'user.update' WHEN 7 THEN 'user.update'
         WHEN 6 THEN 'sign-in.failed' WHEN 5 THEN 'sign-in.succeeded' WHEN 4 THEN 'sign-in.throttled' ELSE 'token.issued' END,
       CASE WHEN i % 10 = 9 THEN json_object('actor', 'other', 'target', 'app', 'clientId', 'c' || (i % 100), 'requestId', 'r' || (i / 3))
         WHEN i % 10 > 6 THEN json_object('actor', 'root', 'target', 't' || (i % 1000), 'clientId', 'small', 'requestId', 'r' || (i / 3))
         WHEN i % 10 = 6 THEN json_object('sub', 'u' || (i % 1000))
         ELSE json_object('sub', iif(i % 10 < 4, 'robot', 'u' || (i % 1000)), 'clientId', 'big') END, x'00', x'00', x'00' FROM n`,
  ],
  [AUDIT_DB, `${numbered(2_000)} INSERT INTO audit_gaps SELECT 'control', i * 10, i * 10 + 1, i / 4 FROM n`],
  [
    DB,
    `${numbered(5_000)} INSERT INTO users (sub, username, username_key, status, claims, created_at_ms, updated_at_ms)
       SELECT 'u' || i, 'u' || i, 'u' || i, iif(i < 2500, 'suspended', 'active'),
         json_object('name', 'Anna', 'email', 'u' || i || '@example.com'), 1, 1 FROM n`,
  ],
  [DB, "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('u', 'u', 'u', 1, 1)"],
  [DB, "UPDATE users SET terms_version = iif(sub < 'u3', '2', '2026-11'), terms_accepted_at_ms = 1 WHERE sub < 'u5'"],
  // Half of them are called by one word.
  [
    DB,
    "INSERT INTO user_search SELECT 'anna', sub FROM users UNION ALL SELECT sub, sub FROM users UNION ALL SELECT 'lee', sub FROM users WHERE sub > 'u2'",
  ],
  [DB, "UPDATE users SET searched = search_source"],
  [
    DB,
    `${numbered(5_000)} INSERT INTO clients (client_id, status, metadata, created_at_ms, updated_at_ms)
       SELECT 'c' || i, iif(i < 2500, 'disabled', 'active'), json_object('client_name', 'App', 'redirect_uris', json_array()), 1, 1 FROM n`,
  ],
  [
    DB,
    `${numbered(5_000)} INSERT INTO invitations SELECT 'i' || i, 'i' || i, 'i' || i,
       iif(i % 2, '{"roles":[],"groups":[]}', '{"roles":[],"groups":[],"org_id":"o1","member_roles":[]}'), 'root', 1, iif(i < 2500, 1, 9e14) FROM n`,
  ],
  [DB, `${numbered(5_000)} INSERT INTO held_records SELECT 'user', 'u' || i, 'active', 'user.update', 1 FROM n`],
  [
    DB,
    `${numbered(40_000)} INSERT INTO organizations (org_id, status, document, created_at_ms, updated_at_ms)
       SELECT 'o' || i, iif(i < 20000, 'disabled', 'active'), '{"name":"Acme"}', 1, 1 FROM n`,
  ],
  [DB, "INSERT INTO memberships SELECT sub, 'o1', 'active', 'import', 1, 1 FROM users"],
  [
    DB,
    `${numbered(5_000)} INSERT INTO organization_domains (org_id, domain, created_at_ms) SELECT 'o1', 'd' || i || '.example', 1 FROM n`,
  ],
  [DB, "INSERT INTO membership_roles SELECT sub, org_id, 'billing' FROM memberships"],
  // A million members: each of these people is in as many organisations as anybody may be.
  [
    DB,
    `${numbered(5_000)} INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms)
       SELECT 'v' || i, 'v' || i, 'v' || i, 1, 1 FROM n`,
  ],
  [DB, "UPDATE users SET searched = search_source WHERE sub LIKE 'v%'"],
  [
    DB,
    `${numbered(5_000)} INSERT INTO memberships SELECT 'v' || p.i, 'o' || (o.i * 200), 'active', 'import', 1, 1
       FROM n p, (SELECT i FROM n LIMIT ${mostMemberships}) o`,
  ],
  [DB, `${numbered(2_000)} INSERT INTO organization_role_permissions SELECT 'role' || (i / 2), 'p' || i FROM n`],
  [
    DB,
    `${numbered(5_000)} INSERT INTO scim_groups (org_id, group_id, display_name, display_key, created_at_ms, version)
       SELECT 'o1', 'g' || i, 'G' || i, 'g' || i, 1, 1 FROM n`,
  ],
  [DB, `${numbered(2_000)} INSERT INTO role_permissions SELECT 'role' || (i / 2), 'p' || i FROM n`],
  [DB, `${numbered(2_000)} INSERT INTO group_roles SELECT 'group' || (i / 2), 'r' || i FROM n`],
  [
    DB,
    `${numbered(2_000)} INSERT INTO user_sessions SELECT 'g1.wnam.1.' || i, 'u', 'Firefox', 1, 9e14, NULL, NULL FROM n`,
  ],
  [DB, `${numbered(2_000)} INSERT INTO consents SELECT 'u', 'c' || i, '["openid"]', 1, 1 FROM n`],
  [
    DB,
    `${numbered(2_000)} INSERT INTO user_grants SELECT 'u', 'c' || (i % 500), 'grant' || i, 1, 'wnam', 1, 9e14, NULL, NULL, NULL, NULL FROM n`,
  ],
];

/** Each value alone, and each pair of values of two filters. */
function queriesOf(filters: NonNullable<List["filters"]>): ReadonlyMap<string, readonly string[]> {
  const given = Object.entries(filters).flatMap(([name, values]) =>
    values.map((value) => ({ name, query: `&${name}=${encodeURIComponent(value)}` })),
  );
  const pairs = given.flatMap((one, index) =>
    given
      .slice(index + 1)
      .filter(({ name }) => name !== one.name)
      .map((other): [string, string[]] => [one.query + other.query, [one.name, other.name]]),
  );
  return new Map([["", []], ...given.map(({ name, query }): [string, string[]] => [query, [name]]), ...pairs]);
}

it("Server-Timing has the rows that D1 reads in each kind of call, and not those of calls that are not counted", async () => {
  const counts = { object: 0, kv: 0, d1: 0, rows: 0 };
  const database = countCalls({ DB }, counts).DB;
  await DB.prepare(`${numbered(7)} INSERT INTO group_roles SELECT 'g', 'r' || i FROM n`).run();
  const select = database.prepare("SELECT role FROM group_roles WHERE group_name = ?1").bind("g");
  expect(await select.first()).toEqual({ role: "r1" });
  expect(await select.first("role")).toBe("r1");
  expect(await database.prepare("SELECT 1 FROM group_roles WHERE group_name = 'none'").first()).toBeNull();
  expect((await select.all()).results.length).toBe(7);
  await database.batch([select, select]);
  await database.prepare("UPDATE group_roles SET role = role WHERE group_name = 'g'").run();
  const read = counts.rows;
  expect({ ...counts, rows: read >= 6 * 7 && read <= 7 * 7 }).toEqual({ object: 0, kv: 0, d1: 6, rows: true });
});

it("a list of the admin API and its filters are measured here", () => {
  const declared = adminRouteTable.filter(isList);
  expect(declared.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(lists).sort());
  for (const route of declared) {
    const measured = Object.keys(lists[route.operationId]!.filters ?? {});
    expect(measured.sort(), route.operationId).toEqual(filtersOf(route).sort());
  }
});

it("each page reads about as many rows as it shows, for every filter and pair of filters", async () => {
  for (const [database, statement] of rows) await database.prepare(statement).run();
  const admin = new AdminCaller({ SERVER_TIMING: "true" });
  const above: string[] = [];
  for (const route of adminRouteTable.filter(isList)) {
    const { path = route.path, filters = {}, exclusive, identities = [], ...list } = lists[route.operationId]!;
    for (const [query, names] of queriesOf(filters)) {
      const { status, headers, body } = await admin.call("GET", `${path}?limit=${limit}${query}`);
      if (exclusive === true && names.length > 1) {
        expect([status, body.error_description], query).toEqual([400, expect.stringContaining("at most one of")]);
        continue;
      }
      expect(status, `${path}${query}: ${JSON.stringify(body)}`).toBe(200);
      const shown = (Object.values(body).find(Array.isArray) ?? []).length;
      const read = Number(/rows;dur=(\d+)/.exec(headers.get("Server-Timing")!)![1]);
      const isPair = names.filter((name) => identities.includes(name)).length > 1;
      const isOfWords = query.includes("%20");
      // A page that leaves items out is short, and not the last one.
      const looked = body.next_cursor === undefined ? shown : limit;
      const most = isOfWords ? rowsOfWords : isPair ? rowsOfPair : (list.rowsOfItem ?? rowsOfItem) * looked + fixed;
      if (read > most) above.push(`${path}${query}: ${read} rows for ${shown} items, above ${most}`);
    }
  }
  expect(above).toEqual([]);
  // What a person may choose from, of 40,000 organisations with a million members: the memberships of one person, and their organisations.
  const counts = { object: 0, kv: 0, d1: 0, rows: 0 };
  const own = await findOwnOrganizations(countCalls({ DB }, counts).DB, "v7");
  expect([own.length, counts.d1]).toEqual([101, 1]);
  expect(counts.rows).toBeLessThanOrEqual(4 * mostMemberships + fixed);
  // What the console's page of a person asks for.
  const { headers, body } = await admin.call("GET", "/audit?sub=u5&type=sign-in.succeeded&limit=1");
  expect(body["events"]).toEqual([expect.objectContaining({ sub: "u5", type: "sign-in.succeeded" })]);
  const read = Number(/rows;dur=(\d+)/.exec(headers.get("Server-Timing")!)![1]);
  expect(read).toBeLessThanOrEqual(20);
});
