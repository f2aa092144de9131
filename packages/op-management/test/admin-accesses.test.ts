import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, issuer } from "./fixtures/admin-fixtures.ts";

const { DB } = env as unknown as { DB: D1Database };
const later = Date.now() + 86_400_000;
let admin: AdminCaller;

const run = (sql: string, ...values: readonly unknown[]) => DB.prepare(sql).bind(...values);
const session = (sid: string, endsAtMs = later, sub = "pat") =>
  run("INSERT INTO user_sessions VALUES (?, ?, 'Firefox on Windows', 1000, ?, 'Bonn', 'DE')", sid, sub, endsAtMs);
const consent = (clientId: string) =>
  run("INSERT INTO consents VALUES ('pat', ?, '[\"openid\"]', 1000, 2000)", clientId);
const grant = (clientId: string, grantId: string, untilMs = later) =>
  run(
    "INSERT INTO user_grants VALUES ('pat', ?, ?, 1, 'wnam', 0, ?, NULL, NULL, NULL, NULL)",
    clientId,
    grantId,
    untilMs,
  );

beforeEach(async () => {
  admin = new AdminCaller();
  for (const sub of ["pat", "sam"]) {
    expect((await admin.call("POST", "/users", { body: { sub, username: sub } })).status).toBe(201);
  }
  for (const client_id of ["app", "own"]) {
    const body = { client_id, redirect_uris: ["https://app.example/"] };
    expect((await admin.call("POST", "/clients", { body })).status).toBe(201);
  }
  await DB.batch([
    session("g1.wnam.0.two"),
    session("g1.wnam.0.one"),
    session("g1.wnam.0.over", 5),
    session("g1.wnam.0.sams", later, "sam"),
    consent("app"),
    grant("app", "first"),
    grant("app", "second"),
    grant("own", "third"),
    grant("own", "over", 5),
  ]);
});

const inSeconds = Math.floor(later / 1000);
const place = { device: "Firefox on Windows", city: "Bonn", country: "DE", signed_in_at: 1, ends_at: inSeconds };
const kinds = [
  {
    kind: "sessions",
    items: [
      { sid: "g1.wnam.0.one", ...place },
      { sid: "g1.wnam.0.two", ...place },
    ],
    one: "g1.wnam.0.one",
    unknown: ["g1.wnam.0.over", "g1.wnam.0.sams", "nothing"],
    detail: { sessions: ["g1.wnam.0.one"] },
    action: "user.session_end",
  },
  {
    kind: "consents",
    items: [
      { client_id: "app", allowed: ["openid"], given_at: 1, updated_at: 2 },
      { client_id: "own", allowed: ["offline_access"] },
    ],
    one: "app",
    unknown: ["nothing"],
    detail: { consents: ["app"] },
    action: "user.consent_end",
  },
  {
    kind: "grants",
    items: [
      { grant_id: "g1:wnam:0:first", client_id: "app", ends_at: inSeconds },
      { grant_id: "g1:wnam:0:second", client_id: "app", ends_at: inSeconds },
      { grant_id: "g1:wnam:0:third", client_id: "own", ends_at: inSeconds },
    ],
    one: "g1:wnam:0:first",
    unknown: ["g1:wnam:0:over", "first", "nothing"],
    detail: { grants: ["g1:wnam:0:first"] },
    action: "user.grant_end",
  },
] as const;

describe.each(kinds)("/admin/users/{sub}/$kind", ({ kind, items, one, unknown, detail, action }) => {
  const path = `/users/pat/${kind}`;
  const named = (id: string) => `${path}/${encodeURIComponent(id)}`;

  it("lists what is alive, a page at a time", async () => {
    expect(await admin.call("GET", path)).toMatchObject({ status: 200, body: { [kind]: items } });
    const seen: unknown[] = [];
    let cursor = "";
    do {
      const { body } = await admin.call("GET", `${path}?limit=1${cursor && `&cursor=${cursor}`}`);
      seen.push(...body[kind]);
      cursor = body.next_cursor ?? "";
    } while (cursor !== "");
    expect(seen).toEqual(items);
  });

  it("ends one, with an event that names it and who ended it", async () => {
    expect((await admin.call("DELETE", named(one))).status).toBe(204);
    const rest = (await admin.call("GET", path)).body[kind];
    expect(rest).toEqual(items.slice(1));
    const event = await DB.prepare("SELECT target, client_id, detail FROM admin_events WHERE action = ?")
      .bind(action)
      .first<{ detail: string }>();
    expect({ ...event, detail: JSON.parse(event!.detail) }).toEqual({ target: "pat", client_id: "operators", detail });
    expect((await admin.call("DELETE", named(one))).status).toBe(404);
  });

  it("ends all", async () => {
    const { status, body } = await admin.call("DELETE", path);
    expect([status, body]).toEqual([200, { ended: items.length, more: false }]);
    expect((await admin.call("GET", path)).body).toEqual({ [kind]: [] });
    expect((await admin.call("DELETE", path)).body).toEqual({ ended: 0, more: false });
  });

  it("what has ended, is another person's, or never was is 404, and so are they of nobody", async () => {
    for (const id of unknown) expect((await admin.call("DELETE", named(id))).status, id).toBe(404);
    for (const method of ["GET", "DELETE"]) {
      expect((await admin.call(method, `/users/nobody/${kind}`)).status).toBe(404);
    }
    expect((await admin.call("GET", path)).body[kind]).toEqual(items);
  });

  it("a lesser administrator does not end a greater one's", async () => {
    await DB.batch([
      run("INSERT INTO user_roles (sub, role) VALUES ('pat', 'keeper')"),
      run("INSERT INTO role_permissions (role, permission) VALUES ('keeper', 'admin:keys')"),
    ]);
    const token = await admin.issueToken({ scope: ["admin:users"] });
    expect((await admin.call("DELETE", named(one), { token })).status).toBe(403);
    expect((await admin.call("DELETE", path, { token })).status).toBe(403);
    expect((await admin.call("GET", path)).body[kind]).toEqual(items);
  });
});

it("one call ends 200 sessions, and says that others are left", async () => {
  const many = Array.from({ length: 199 }, (_, index) => session(`g1.wnam.0.x${index}`));
  await DB.batch(many);
  expect((await admin.call("DELETE", "/users/pat/sessions")).body).toEqual({ ended: 200, more: true });
  expect((await admin.call("DELETE", "/users/pat/sessions")).body).toEqual({ ended: 1, more: false });
});

it.each([
  ["/revocations", { sub: "pat" }],
  ["/revocations/everything", { confirm: issuer }],
])("POST %s: the grants that it has ended are not listed any more", async (path, body) => {
  expect((await admin.call("POST", path, { body })).status).toBe(200);
  const rest = new AdminCaller();
  expect((await rest.call("GET", "/users/pat/grants")).body).toEqual({ grants: [] });
});
