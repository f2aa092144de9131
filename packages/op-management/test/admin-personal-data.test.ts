import { env } from "cloudflare:workers";
import { canonicalJson, chainStart } from "@edge-op/shared/audit/audit-event";
import { personalTables } from "@edge-op/shared/users/personal-data";
import { beforeEach, describe, expect, it } from "vitest";
import { hashEvent } from "../src/audit/verify-chain.ts";
import { writeEvents } from "../src/audit/write-events.ts";
import { AdminCaller, issuer } from "./fixtures/admin-fixtures.ts";

const { DB, AUDIT_DB } = env as unknown as { DB: D1Database; AUDIT_DB: D1Database };
const later = Date.parse("2099-01-01T00:00:00Z");
let admin: AdminCaller;

/** Tables without data about a person, or whose remainder an erasure names. */
const impersonal = [
  ...["announced_version", "client_secrets", "clients", "control_registrations", "deployment", "document_hosts"],
  ...["group_roles", "key_schedule", "resources", "role_permissions", "shard_generations", "trusted_issuers"],
  ...["attributes", "branding", "upstreams", "organizations", "organization_domains", "organization_role_permissions"],
  ...["scim_tokens", "scim_groups", "scim_members", "scim_group_roles"],
  // Names users by their ids, and its rows are deleted with them.
  "held_records",
  // Hashes of names at another provider: those of a session are deleted with it, those of messages within a day.
  ...["upstream_sessions", "upstream_endings"],
  ...["audit_anchors", "audit_gaps", "audit_watermarks", "audit_segments"],
];
const remaining = [
  ...["admin_events", "audit_events", "control_changes", "cut_offs", "invitations", "retired_subjects", "retired_subs"],
  // The row of a session whose person is gone, until its object has ended it.
  "ending_sessions",
];

async function tablesOf(database: D1Database): Promise<string[]> {
  const { results } = await database
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '*_migrations' AND name NOT GLOB '_*' AND name NOT GLOB 'sqlite_*'",
    )
    .all<{ name: string }>();
  return results.map(({ name }) => name);
}

async function columnsOf(table: string): Promise<string[]> {
  const { results } = await DB.prepare("SELECT name FROM pragma_table_info(?)").bind(table).all<{ name: string }>();
  return results.map(({ name }) => name);
}

describe("the list of personal tables", () => {
  it("has every table of both databases that is not known to be without data about a person", async () => {
    const all = [...(await tablesOf(DB)), ...(await tablesOf(AUDIT_DB))];
    const listed = [...personalTables.map(({ table }) => table), ...impersonal, ...remaining];
    expect(all.filter((table) => !listed.includes(table))).toEqual([]);
  });

  it("has every table of DB with a sub, but for events", async () => {
    const withSub: string[] = [];
    for (const table of await tablesOf(DB)) if ((await columnsOf(table)).includes("sub")) withSub.push(table);
    expect(withSub.length).toBeGreaterThan(8);
    expect(withSub.toSorted()).toEqual([...personalTables.map(({ table }) => table), "admin_events"].toSorted());
  });

  it.each(personalTables)("exports or withholds each column of $table, and no secret", async (personal) => {
    const { table, exported, withheld } = personal;
    expect([...exported, ...withheld].toSorted()).toEqual((await columnsOf(table)).toSorted());
    expect(exported.filter((column) => /hash|secret|seal|mac$/.test(column))).toEqual([]);
  });
});

const secrets = ["a scrypt hash", "a sealed secret", "eight hashes"];

async function seed(): Promise<void> {
  const claims = { name: "Pat Person", email: "pat@example.com", email_verified: true };
  await admin.call("POST", "/users", { body: { sub: "pat", username: "pat", claims, roles: ["r"], groups: ["g"] } });
  await admin.call("POST", "/users", { body: { sub: "sam", username: "sam", roles: ["r"] } });
  await admin.call("POST", "/clients", { body: { client_id: "app", redirect_uris: ["https://app.example/"] } });
  await DB.batch([
    DB.prepare(
      "INSERT INTO user_passwords VALUES ('pat', 'a scrypt hash', 1000, NULL), ('sam', 'a scrypt hash', 1000, 5000)",
    ),
    DB.prepare("INSERT INTO user_totp VALUES ('pat', 'app', 'a sealed secret', 'key', 1, 1000, 2000)"),
    DB.prepare("INSERT INTO user_recovery_codes VALUES ('pat', 'set', 'eight hashes', 0, 1000)"),
    DB.prepare(
      "INSERT INTO webauthn_credentials VALUES ('cred', 'pat', 'public', 0, '[\"usb\"]', 0, 'Key', 1000, NULL, 0)",
    ),
    DB.prepare(
      "INSERT INTO upstreams (upstream_id, document, created_at_ms, updated_at_ms) VALUES ('corp', '{}', 0, 0)",
    ),
    DB.prepare(
      "INSERT INTO user_identities VALUES ('corp', 'https://idp.example.net', '7', 'pat', 'pat@corp', 1000, NULL)",
    ),
    DB.prepare(
      "INSERT INTO organizations (org_id, document, created_at_ms, updated_at_ms) VALUES ('acme', '{\"name\":\"Acme\"}', 0, 0)",
    ),
    DB.prepare("INSERT INTO memberships VALUES ('pat', 'acme', 'active', 'import', 1000, 1000)"),
    DB.prepare("INSERT INTO membership_roles VALUES ('pat', 'acme', 'billing')"),
    DB.prepare(
      "INSERT INTO scim_users VALUES ('acme', 's1', 'pat', 0, 'e1', 'pat', NULL, NULL, 1, '{\"userName\":\"pat\"}', NULL, 1000, 1000)",
    ),
    DB.prepare("INSERT INTO account_recoveries VALUES ('pat', 'id', 'pat@example.com', 1000, NULL, ?)").bind(later),
    DB.prepare("INSERT INTO consents VALUES ('pat', 'app', '[\"openid\"]', 1000, 2000)"),
    DB.prepare("INSERT INTO user_grants VALUES ('pat', 'app', 'grant', 1, 'wnam', 0, ?, NULL, NULL, NULL, NULL)").bind(
      later,
    ),
    DB.prepare("INSERT INTO user_sessions VALUES ('g1.wnam.0.sid', 'pat', 'Firefox', 1000, ?, NULL, 'DE')").bind(later),
  ]);
}

async function record(...happened: readonly (Readonly<Record<string, unknown>> & { type: string })[]) {
  const events: Parameters<typeof writeEvents>[1][number][] = [];
  for (const [index, { type, ...payload }] of happened.entries()) {
    const previous = events.at(-1)?.hash ?? chainStart;
    const link = { shard: "x", seq: index + 1, atMs: 1000, type, payload: canonicalJson(payload), previous, floor: 0 };
    events.push({ ...link, hash: await hashEvent(link) });
  }
  await writeEvents(AUDIT_DB, events, 1000);
}

beforeEach(async () => {
  admin = new AdminCaller();
  await seed();
});

describe("GET /admin/users/{sub}/export", () => {
  it("has everything about the person, and no secret", async () => {
    const { status, body } = await admin.call("GET", "/users/pat/export");
    expect([status, body.sub, body.issuer, body.more_events]).toEqual([200, "pat", issuer, false]);
    const at = "1970-01-01T00:00:01.000Z";
    expect(body.data).toMatchObject({
      users: [{ sub: "pat", username: "pat", claims: { name: "Pat Person", email: "pat@example.com" } }],
      user_addresses: [{ address_key: "pat@example.com", verified_at: expect.any(String) }],
      user_roles: [{ role: "r" }],
      user_groups: [{ group_name: "g" }],
      memberships: [{ org_id: "acme", status: "active", source: "import", joined_at: at }],
      membership_roles: [{ org_id: "acme", role: "billing" }],
      scim_users: [{ org_id: "acme", external_id: "e1", document: { userName: "pat" }, active: 1, created_at: at }],
      user_passwords: [{ updated_at: at }],
      webauthn_credentials: [{ credential_id: "cred", name: "Key", transports: ["usb"], created_at: at }],
      user_totp: [{ factor_id: "app", created_at: at }],
      user_recovery_codes: [{ created_at: at }],
      account_recoveries: [{ address_key: "pat@example.com", asked_at: at }],
      user_identities: [{ upstream_id: "corp", subject: "7", label: "pat@corp" }],
      consents: [{ client_id: "app", allowed: ["openid"], given_at: at }],
      user_grants: [{ client_id: "app", grant_id: "grant", until: "2099-01-01T00:00:00.000Z" }],
      user_sessions: [{ sid: "g1.wnam.0.sid", device: "Firefox", country: "DE", signed_in_at: at }],
    });
    expect(Object.keys(body.data)).toEqual(personalTables.map(({ table }) => table));
    for (const secret of secrets) expect(JSON.stringify(body)).not.toContain(secret);
  });

  it("has the events of the person, without who else acted, and is an event itself", async () => {
    await record(
      { type: "sign-in.succeeded", sub: "pat", address: "192.0.2.0/24", requestId: "r1" },
      {
        ...{ type: "user.update", sub: "pat", actor: "root", actorClientId: "console" },
        ...{ address: "203.0.113.0/24", requestId: "r2", target: "pat" },
      },
      { type: "sign-in.succeeded", sub: "sam" },
    );
    const { body } = await admin.call("GET", "/users/pat/export");
    expect(body.events).toMatchObject([
      { type: "user.update", sub: "pat" },
      { type: "sign-in.succeeded", sub: "pat", address: "192.0.2.0/24", request_id: "r1" },
    ]);
    expect(JSON.stringify(body)).not.toMatch(/root|console|203\.0\.113|r2|sam/);
    const { results } = await DB.prepare("SELECT target FROM admin_events WHERE action = 'user.export'").all();
    expect(results).toEqual([{ target: "pat" }]);
  });

  it("of nobody is 404", async () => {
    expect((await admin.call("GET", "/users/nobody/export")).status).toBe(404);
  });
});

describe("POST /admin/users/{sub}/erasure", () => {
  it("deletes every row of the person, no row of another, and says what stays until when", async () => {
    const rowsOf = async (sub: string) => {
      const rows = await DB.batch(
        personalTables.map(({ table }) => DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE sub = ?`).bind(sub)),
      );
      return rows.map(({ results }) => (results as { n: number }[])[0]!.n);
    };
    const others = await rowsOf("sam");
    expect(await rowsOf("pat")).toEqual(
      personalTables.map(({ table }) => (table === "user_search" ? expect.any(Number) : 1)),
    );
    const { status, body } = await admin.call("POST", "/users/pat/erasure", { body: { confirm: "pat" } });
    expect(status).toBe(200);
    expect(await rowsOf("pat")).toEqual(personalTables.map(() => 0));
    expect(await rowsOf("sam")).toEqual(others);
    expect(body.erased).toEqual([...new Set(personalTables.map(({ table }) => table))]);
    const named = body.remains.map(({ where }: { where: string }) => where).join(", ");
    for (const table of remaining.filter((each) => each !== "ending_sessions")) expect(named).toContain(table);
    const days = body.remains.map(({ until }: { until?: string }) =>
      until === undefined ? undefined : Math.round((Date.parse(until) - Date.parse(body.erased_at)) / 86_400_000),
    );
    expect(days).toEqual([undefined, 366, 368, 32, 8, 367, 367, 30]);
    expect((await admin.call("GET", "/users/pat")).status).toBe(404);
    const again = await admin.call("POST", "/users", { body: { sub: "pat", username: "other" } });
    expect([again.status, again.body.error_description]).toEqual([
      409,
      "sub: was a deleted user's, and is never given again",
    ]);
  });

  it("without the sub as a confirmation changes nothing", async () => {
    for (const body of [{}, { confirm: "sam" }, { confirm: "" }]) {
      expect((await admin.call("POST", "/users/pat/erasure", { body })).status).toBe(400);
    }
    expect((await admin.call("GET", "/users/pat")).status).toBe(200);
    expect((await admin.call("POST", "/users/nobody/erasure", { body: { confirm: "nobody" } })).status).toBe(404);
  });
});
