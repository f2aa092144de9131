import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, type Answer, bindings } from "./fixtures/admin-fixtures.ts";

/** ADR 11: what a restored database allows again is refused until an administrator decides. */
const { DB, CONTROL_PLANE } = bindings;
let admin: AdminCaller;

async function ok(method: string, path: string, body?: unknown): Promise<Answer["body"]> {
  const { status, body: answer } = await admin.call(method, path, body === undefined ? {} : { body });
  expect(status, `${method} ${path} ${JSON.stringify(answer)}`).toBeLessThan(300);
  return answer;
}

async function awaitRelay(): Promise<void> {
  const seq = await DB.prepare("SELECT max(seq) AS seq FROM admin_events").first<number>("seq");
  const relayed = async () => (await CONTROL_PLANE.getByName(controlPlaneName).auditStatus()).relayedSeq;
  await expect.poll(relayed, { timeout: 10_000 }).toBe(seq);
}

const decide = (decision: string, records?: readonly unknown[]) =>
  ok("POST", "/held-records/decision", { decision, ...(records && { records }) });
const held = async () =>
  ((await ok("GET", "/held-records")) as { held_records: { kind: string; id: string; lost: string }[] }).held_records;

interface Case {
  readonly kind: string;
  readonly id: string;
  readonly path: string;
  readonly create: readonly [string, string, unknown];
  readonly lost: string;
  /** The member that shows what the record allows. */
  readonly member: string;
  readonly refused: unknown;
}

const identifier = "https://api.example.net/";
const cases: readonly Case[] = [
  {
    ...{ kind: "user", id: "uma", path: "/users/uma", member: "status", refused: "suspended", lost: "user.update" },
    create: ["POST", "/users", { sub: "uma", username: "uma" }],
  },
  {
    ...{ kind: "user", id: "eve", path: "/users/eve", member: "status", refused: "suspended", lost: "totp.removed" },
    create: ["POST", "/users", { sub: "eve", username: "eve" }],
  },
  {
    ...{ kind: "client", id: "shop", path: "/clients/shop", member: "status", refused: "disabled" },
    lost: "secret.rotate",
    create: ["POST", "/clients", { client_id: "shop", grant_types: ["client_credentials"], response_types: [] }],
  },
  {
    ...{ kind: "issuer", id: "ci", path: "/issuers/ci", member: "status", refused: "disabled", lost: "issuer.update" },
    create: ["POST", "/issuers", { issuer_id: "ci", issuer: "https://ci.example.net", rules: [] }],
  },
  {
    ...{ kind: "upstream", id: "corp", path: "/upstreams/corp", member: "status", refused: "disabled" },
    lost: "upstream.delete",
    create: [
      "POST",
      "/upstreams",
      {
        upstream_id: "corp",
        name: "Corp",
        issuer: "https://idp.example.net",
        client_id: "op",
        client_secret: "s3cret",
      },
    ],
  },
  {
    ...{ kind: "document-host", id: "apps.example.net", path: "/client-document-hosts/apps.example.net" },
    ...{ member: "policy", refused: "deny", lost: "document-host.delete" },
    create: ["PUT", "/client-document-hosts/apps.example.net", { policy: "allow" }],
  },
  {
    ...{ kind: "resource", id: identifier, path: "/resources/photos", member: "clients", refused: [] },
    lost: "resource.update",
    create: ["POST", "/resources", { resource_id: "photos", identifier, name: "Photos", clients: "any" }],
  },
  {
    ...{ kind: "role", id: "editor", path: "/roles/editor", member: "permissions", refused: undefined },
    lost: "role.update",
    create: ["PUT", "/roles/editor", { permissions: ["articles:write"] }],
  },
  {
    ...{ kind: "group", id: "staff", path: "/groups/staff", member: "roles", refused: undefined, lost: "group.update" },
    create: ["PUT", "/groups/staff", { roles: ["editor"] }],
  },
  {
    ...{ kind: "attribute", id: "desk", path: "/attributes/desk", member: "claim", refused: undefined },
    lost: "attribute.delete",
    create: [
      "POST",
      "/attributes",
      {
        attribute: "desk",
        type: "string",
        title: "Desk",
        claim: { name: "desk", scope: "profile", tokens: ["userinfo"] },
      },
    ],
  },
];

const member = async ({ path, member: name }: Case) => (await admin.call("GET", path)).body[name];

/** The rows of the changes, copied by the control plane and then lost: the records are as they were before. */
async function loseChanges(rows: readonly (readonly [action: string, target: string, sub?: string])[]): Promise<void> {
  const before = await DB.prepare("SELECT coalesce(max(seq), 0) AS seq FROM admin_events").first<number>("seq");
  const insert = DB.prepare(
    "INSERT INTO admin_events (at_ms, action, target, client_id, sub) VALUES (?1, ?2, ?3, 'console', ?4)",
  );
  await DB.batch(rows.map(([action, target, sub = "root"]) => insert.bind(Date.now(), action, target, sub)));
  await awaitRelay();
  await DB.batch([
    DB.prepare("DELETE FROM admin_events WHERE seq > ?1").bind(before),
    DB.prepare("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'admin_events'").bind(before),
  ]);
}

/** Creates the records, and loses a change of each. Returns what they allow. */
async function setBack(): Promise<Map<Case, unknown>> {
  const allowed = new Map<Case, unknown>();
  for (const each of cases) {
    await ok(...each.create);
    allowed.set(each, await member(each));
  }
  await ok("PUT", "/roles/reader", { permissions: ["articles:read"] });
  await loseChanges(cases.map(({ lost, id }) => (lost === "totp.removed" ? [lost, "f1", id] : [lost, id])));
  return allowed;
}

const awaitHeld = (count = cases.length) =>
  expect.poll(async () => (await held()).length, { timeout: 10_000 }).toBe(count);

beforeEach(() => {
  admin = new AdminCaller();
});

describe("ADR 11: a database that was restored to an earlier moment", () => {
  it("holds every record whose later change is lost, and no other, until a decision", async () => {
    const allowed = await setBack();
    await awaitHeld();
    const named = cases.map(({ kind, id, lost }) => `${kind} ${id} ${lost}`);
    expect((await held()).map(({ kind, id, lost }) => `${kind} ${id} ${lost}`)).toEqual(named.toSorted());
    for (const each of cases) expect(await member(each), each.path).toEqual(each.refused);
    expect((await ok("GET", "/roles/reader")).permissions).toEqual(["articles:read"]);
    const select = DB.prepare("SELECT action || ' ' || target AS event FROM admin_events WHERE action LIKE '%.held'");
    const events = (await select.all<{ event: string }>()).results.map(({ event }) => event);
    expect(events.toSorted()).toEqual(cases.map(({ kind, id }) => `${kind}.held ${id}`).toSorted());

    // It stays refused by this decision, and another one about it changes nothing.
    const uma = [{ kind: "user", id: "uma" }];
    expect(await decide("refuse", uma)).toEqual({ decided: 1, more: true });
    expect(await decide("restore", uma)).toEqual({ decided: 0, more: true });
    expect(await member(cases[0]!)).toBe("suspended");

    // A later change is not replaced.
    await ok("PUT", "/roles/editor", { permissions: ["articles:publish"] });
    await decide("restore", [{ kind: "role", id: "editor" }]);
    expect((await ok("GET", "/roles/editor")).permissions).toEqual(["articles:publish"]);

    expect(await decide("restore")).toEqual({ decided: cases.length - 2, more: false });
    for (const each of cases.filter(({ id }) => id !== "uma" && id !== "editor")) {
      expect(await member(each), each.path).toEqual(allowed.get(each));
    }
    expect(await held()).toEqual([]);
  });

  it("holds the same records again after a second restoration, to before the first one was found", async () => {
    await ok("POST", "/users", { sub: "uma", username: "uma" });
    await loseChanges([["user.update", "uma"]]);
    await awaitHeld(1);
    await awaitRelay();
    await DB.batch([
      DB.prepare("UPDATE users SET status = 'active'"),
      DB.prepare("DELETE FROM held_records"),
      DB.prepare("DELETE FROM admin_events WHERE action = 'user.held'"),
    ]);
    await awaitHeld(1);
    expect(await held()).toMatchObject([{ kind: "user", id: "uma", lost: "user.held" }]);
  });

  it("ends invitations that were used or withdrawn, and holds nobody for a change that takes nothing away", async () => {
    await DB.prepare(
      "INSERT INTO invitations VALUES ('i1', 'a@example.com', 'a@example.com', '{}', 'root', 0, 9e12)",
    ).run();
    await ok("POST", "/users", { sub: "uma", username: "uma" });
    await loseChanges([
      ["invitation.delete", "i1"],
      ["consent.given", "uma", "uma"],
      ["user.export", "uma"],
      ["sub.cut-off", "uma"],
    ]);
    const invitations = async () => {
      await held();
      return DB.prepare("SELECT id FROM invitations").first();
    };
    await expect.poll(invitations, { timeout: 10_000 }).toBe(null);
    expect(await held()).toEqual([]);
  });

  it("requires the scope of the deployment, and a known kind", async () => {
    const token = await admin.issueToken({ scope: ["admin:users", "admin:clients"] });
    expect((await admin.call("GET", "/held-records", { token })).status).toBe(403);
    const body = { decision: "restore", records: [{ kind: "key", id: "x" }] };
    expect((await admin.call("POST", "/held-records/decision", { body })).status).toBe(400);
  });
});
