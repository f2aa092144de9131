/**
 * **Records with members that this release does not know**, stored by a later release before a rollback. Each PATCH keeps them, but refuses them in
 * the patch itself. Roles, groups, document hosts and other records are replaced as a whole (PUT), so their stored form is not validated.
 */

import { issuerDocumentSchema } from "@edge-op/shared/issuers/issuer-schema";
import { describe, expect, it } from "vitest";
import { patchStored } from "../src/admin/merge-patch.ts";
import { adminRouteTable } from "../src/admin-routes.ts";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

interface Kind {
  readonly create: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
  readonly at: (created: Record<string, unknown>) => string;
  /** Where the members are stored. */
  readonly stored: { readonly table: string; readonly column: string };
  /** JSON paths of the unknown members, `$.…`. */
  readonly unknown: readonly string[];
  readonly patch: Readonly<Record<string, unknown>>;
  /** The stored JSON after the patch. */
  readonly patched: Readonly<Record<string, unknown>>;
  /** A patch with an unknown member, and the path in its refusal. */
  readonly refused: readonly [Readonly<Record<string, unknown>>, string];
}

const rule = {
  ...{ rule_id: "main", uses: ["assertion"], claims: { sub: { exact: "job" } }, client_id: "deploy" },
  ...{ subject: { type: "client" }, resources: ["https://api.example.com"], scopes: ["read"] },
};

const kinds: Readonly<Record<string, Kind>> = {
  "/users/{sub}": {
    create: { path: "/users", body: { username: "alice", claims: { name: "Alice", address: { locality: "Oslo" } } } },
    at: ({ sub }) => `/users/${sub}`,
    stored: { table: "users", column: "claims" },
    unknown: ["$.favourite_colour", "$.address.planet"],
    patch: { claims: { name: "Alice Example", address: { country: "NO" } } },
    patched: { name: "Alice Example", address: { locality: "Oslo", country: "NO", planet: "later" } },
    refused: [{ claims: { favourite_colour: "red" } }, "claims.favourite_colour"],
  },
  "/organizations/{org_id}": {
    create: { path: "/organizations", body: { org_id: "acme", name: "Acme" } },
    at: () => "/organizations/acme",
    stored: { table: "organizations", column: "document" },
    unknown: ["$.later_member"],
    patch: { name: "Acme Ltd" },
    patched: { name: "Acme Ltd" },
    refused: [{ later_member: "mine" }, "later_member"],
  },
  "/attributes/{attribute}": {
    create: { path: "/attributes", body: { attribute: "desk", type: "string", title: "Desk" } },
    at: ({ attribute }) => `/attributes/${attribute}`,
    stored: { table: "attributes", column: "document" },
    unknown: ["$.later_member"],
    patch: { title: "Place" },
    patched: { type: "string", title: "Place" },
    refused: [{ later_member: "mine" }, "later_member"],
  },
  "/clients/{client_id}": {
    create: { path: "/clients", body: { redirect_uris: ["https://app.example/"], introspection: { clients: ["*"] } } },
    at: ({ client_id }) => `/clients/${client_id}`,
    stored: { table: "clients", column: "metadata" },
    unknown: ["$.later_member", "$.introspection.later_rule"],
    patch: { client_name: "Renamed" },
    patched: { client_name: "Renamed", introspection: { clients: ["*"], later_rule: "later" } },
    refused: [{ later_member: "mine" }, "later_member"],
  },
  "/resources/{resource_id}": {
    create: { path: "/resources", body: { identifier: "https://files.example.com", name: "Files" } },
    at: ({ resource_id }) => `/resources/${resource_id}`,
    stored: { table: "resources", column: "metadata" },
    unknown: ["$.later_member"],
    patch: { name: "Renamed" },
    patched: { name: "Renamed" },
    refused: [{ later_member: "mine" }, "later_member"],
  },
  "/upstreams/{upstream_id}": {
    create: {
      path: "/upstreams",
      body: {
        name: "Corp",
        issuer: "https://idp.example.net",
        client_id: "op",
        client_secret: "s",
        acr_map: { a: "mfa" },
      },
    },
    at: ({ upstream_id }) => `/upstreams/${upstream_id}`,
    stored: { table: "upstreams", column: "document" },
    unknown: ["$.later_member"],
    patch: { name: "Renamed", acr_map: { b: "phr" } },
    patched: { name: "Renamed", acr_map: { a: "mfa", b: "phr" } },
    refused: [{ later_member: "mine" }, "later_member"],
  },
  "/issuers/{issuer_id}": {
    create: {
      path: "/issuers",
      body: { issuer: "https://ci.example.com", algorithms: ["ES256"], rules: [rule] },
    },
    at: ({ issuer_id }) => `/issuers/${issuer_id}`,
    stored: { table: "trusted_issuers", column: "document" },
    unknown: ["$.later_member", "$.rules[0].later_rule"],
    patch: { name: "Renamed" },
    patched: { name: "Renamed", rules: [{ later_rule: "later", rule_id: "main" }] },
    refused: [{ later_member: "mine" }, "later_member"],
  },
};

describe("members that this release does not know, after a rollback", () => {
  it("every route that patches a stored record is in the list", () => {
    const patched = adminRouteTable.filter(({ method }) => method === "PATCH").map(({ path }) => path);
    expect(patched.toSorted()).toEqual(Object.keys(kinds).toSorted());
  });

  it.each(Object.entries(kinds))(
    "PATCH %s keeps members that it does not know, and refuses them in a patch",
    async (_, kind) => {
      const admin = new AdminCaller();
      const created = await admin.call("POST", kind.create.path, { body: kind.create.body });
      expect(created.status, JSON.stringify(created.body)).toBe(201);
      const { table, column } = kind.stored;
      for (const path of kind.unknown) {
        await bindings.DB.prepare(`UPDATE ${table} SET ${column} = json_set(${column}, ?1, 'later')`).bind(path).run();
      }
      const at = kind.at(created.body);
      const changed = await admin.call("PATCH", at, { body: kind.patch });
      expect([changed.status, changed.body["error_description"]]).toEqual([200, undefined]);
      const row = await bindings.DB.prepare(`SELECT ${column} AS json FROM ${table}`).first<{ json: string }>();
      expect(JSON.parse(row!.json)).toMatchObject(kind.patched);
      for (const path of kind.unknown) {
        const kept = await bindings.DB.prepare(`SELECT ${column} ->> ?1 AS value FROM ${table}`).bind(path).first();
        expect(kept, path).toEqual({ value: "later" });
      }
      const [body, path] = kind.refused;
      const refused = await admin.call("PATCH", at, { body });
      expect([refused.status, refused.body["fields"]]).toEqual([400, [{ path, message: "is not a known field" }]]);
    },
  );

  it("a list that the patch replaces contains no unknown member", () => {
    const stored = { status: "active", algorithms: ["ES256"], rules: [{ ...rule, later_rule: 1 }], later_member: 2 };
    const replaced = patchStored(issuerDocumentSchema, stored, { rules: [{ ...rule, later_rule: 3 }] });
    expect(replaced.merged["rules"]).toEqual([{ ...rule, later_rule: 3 }]);
    expect(replaced.merged).not.toHaveProperty("later_member");
    expect(replaced.keepOthers({ rules: [] })).toEqual({ rules: [], later_member: 2 });
  });
});
