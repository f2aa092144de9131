import { type AuditMessage, canonicalJson, chainStart } from "@edge-op/shared/audit/audit-event";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { hashEvent } from "../src/audit/verify-chain.ts";
import { writeEvents } from "../src/audit/write-events.ts";
import { AdminCaller, bindings, runsLong } from "./fixtures/admin-fixtures.ts";

/** `/admin/audit`: queries of the audit log, its verification and its gaps. */
const { AUDIT_DB } = bindings;
const start = Date.parse("2026-11-20T08:00:00Z");
const minute = 60_000;

interface Happened {
  readonly type: string;
  readonly [member: string]: unknown;
}

async function record(shard: string, happened: readonly Happened[]): Promise<AuditMessage[]> {
  const events: AuditMessage[] = [];
  for (const [index, { type, ...payload }] of happened.entries()) {
    const previous = events.at(-1)?.hash ?? chainStart;
    const link = {
      shard,
      seq: index + 1,
      atMs: start + index * minute,
      type,
      payload: canonicalJson(payload),
      previous,
      floor: 0,
    };
    events.push({ ...link, hash: await hashEvent(link) });
  }
  await writeEvents(AUDIT_DB, events, start);
  return events;
}

const happened: readonly Happened[] = [
  {
    type: "sign-in.succeeded",
    sub: "alice",
    clientId: "app",
    address: "203.0.113.0/24",
    requestId: "r1",
    amr: ["pwd"],
  },
  { type: "sign-in.failed", sub: "bob", reason: "wrong password" },
  { type: "code.replayed", client_id: "app", grant_id: "g1" },
  { type: "client.update", clientId: "app", actor: "root", actorClientId: "console", target: "app", fields: ["scope"] },
  { type: "sign-in.throttled", reason: "too many attempts: address" },
];

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

async function types(query: string): Promise<string[]> {
  const { status, body } = await admin.call("GET", `/audit${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.events.map(({ type }: { type: string }) => type);
}

describe("GET /admin/audit", () => {
  it("shows the actor, action, client, time and origin, newest first", async () => {
    const events = await record("session:g1:wnam:0", happened);
    const { body } = await admin.call("GET", "/audit");
    expect(body.events.map(({ type }: { type: string }) => type)).toEqual(
      happened.map(({ type }) => type).toReversed(),
    );
    expect(body.events[1]).toEqual({
      position: 4,
      time: "2026-11-20T08:03:00.000Z",
      type: "client.update",
      client_id: "app",
      actor: "root",
      actor_client_id: "console",
      detail: { fields: ["scope"], target: "app" },
      shard: "session:g1:wnam:0",
      seq: 4,
      hash: events[3]!.hash,
    });
    expect(body.events[4]).toMatchObject({ sub: "alice", address: "203.0.113.0/24", request_id: "r1" });
    expect(body.next_cursor).toBeUndefined();
  });

  it.each([
    ["?sub=alice", ["sign-in.succeeded"]],
    ["?client_id=app", ["client.update", "code.replayed", "sign-in.succeeded"]],
    ["?actor=root", ["client.update"]],
    ["?target=app", ["client.update"]],
    ["?request_id=r1", ["sign-in.succeeded"]],
    ["?request_id=r1&from=2026-11-20T08:01:00Z", []],
    ["?type=sign-in.failed", ["sign-in.failed"]],
    ["?type=sign-in.*", ["sign-in.throttled", "sign-in.failed", "sign-in.succeeded"]],
    ["?client_id=app&type=sign-in.*", ["sign-in.succeeded"]],
    ["?from=2026-11-20T08:02:00Z&to=2026-11-20T08:04:00Z", ["client.update", "code.replayed"]],
    [`?from=${start / 1000 + 180}`, ["sign-in.throttled", "client.update"]],
    ["?sub=nobody", []],
  ])("filters: %s", async (query, expected) => {
    await record("session:g1:wnam:0", happened);
    expect(await types(query)).toEqual(expected);
  });

  it("pages through events with the same time without losing or repeating one", async () => {
    await record("code:g1:wnam:0", happened);
    await record("code:g1:wnam:1", happened);
    const seen: number[] = [];
    let cursor = "";
    do {
      const { body } = await admin.call("GET", `/audit?limit=3${cursor}`);
      seen.push(...body.events.map(({ position }: { position: number }) => position));
      cursor = body.next_cursor === undefined ? "" : `&cursor=${body.next_cursor}`;
    } while (cursor !== "");
    expect(seen).toEqual([10, 5, 9, 4, 8, 3, 7, 2, 6, 1]);
  });

  it.each([
    ["?from=yesterday", "from"],
    ["?cursor=nonsense", "cursor"],
    ["?person=alice", "person"],
  ])("refuses %s by name", async (query, path) => {
    const { status, body } = await admin.call("GET", `/audit${query}`);
    expect([status, body.error]).toEqual([400, "invalid_request"]);
    expect(body.error_description).toContain(path);
  });

  it("every combination of filters gives what it selects, in order and once, page by page", async () => {
    const ids = ["a", "b", undefined];
    const members = { sub: "sub", client_id: "clientId", actor: "actor", target: "target", request_id: "requestId" };
    const event = fc.record({
      type: fc.constantFrom("client.create", "client.update", "clients", "sign-in.failed"),
      atMs: fc.integer({ min: 1, max: 6 }).map((second) => second * 1_000),
      ...Object.fromEntries(Object.keys(members).map((name) => [name, fc.constantFrom(...ids)])),
    });
    const filter = fc.record({
      type: fc.constantFrom(undefined, "client.*", "client.update", "*", "zzz", "client"),
      from: fc.constantFrom(undefined, "3"),
      to: fc.constantFrom(undefined, "5"),
      ...Object.fromEntries(Object.keys(members).map((name) => [name, fc.constantFrom(...ids, undefined, undefined)])),
    });
    type Given = Readonly<Record<string, string | undefined>>;
    const isSelected = (happened: Given & { readonly atMs: number }, { type, from, to, ...others }: Given) =>
      (type === undefined ||
        (type.endsWith("*") ? happened.type!.startsWith(type.slice(0, -1)) : happened.type === type)) &&
      (from === undefined || happened.atMs >= Number(from) * 1_000) &&
      (to === undefined || happened.atMs < Number(to) * 1_000) &&
      Object.entries(others).every(([name, value]) => value === undefined || happened[name] === value);
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 30, maxLength: 40 }),
        fc.array(filter, { minLength: 10, maxLength: 10 }),
        async (events, filters) => {
          const stored = events as unknown as readonly (Given & { readonly atMs: number })[];
          await AUDIT_DB.prepare("DELETE FROM audit_events").run();
          const rows = stored.map(({ type, atMs, ...given }, index) => {
            const payload = Object.entries(members).map(([name, member]) => [member, given[name]]);
            return { position: index + 1, type, atMs, payload: JSON.stringify(Object.fromEntries(payload)) };
          });
          await AUDIT_DB.prepare(
            `INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
               SELECT value ->> 'position', 'control', value ->> 'position', value ->> 'atMs', value ->> 'type', value ->> 'payload', x'00', x'00', x'00'
                 FROM json_each(?1)`,
          )
            .bind(JSON.stringify(rows))
            .run();
          for (const chosen of filters as unknown as readonly Given[]) {
            const expected = stored
              .map((happened, index) => ({ happened, position: index + 1 }))
              .filter(({ happened }) => isSelected(happened, chosen))
              .sort((a, b) => b.happened.atMs - a.happened.atMs || b.position - a.position);
            const given = Object.entries(chosen).filter(([, value]) => value !== undefined) as [string, string][];
            const query = new URLSearchParams([["limit", "11"], ...given]);
            const seen: number[] = [];
            do {
              const { status, body } = await admin.call("GET", `/audit?${query}`);
              expect(status, JSON.stringify(body)).toBe(200);
              seen.push(...body.events.map(({ position }: { position: number }) => position));
              if (body.next_cursor === undefined) break;
              query.set("cursor", body.next_cursor);
            } while (seen.length <= stored.length);
            expect(seen, String(query)).toEqual(expected.map(({ position }) => position));
          }
        },
      ),
      { numRuns: runsLong ? 20 : 2 },
    );
  });

  it("with two identities, a page may be short or empty while next_cursor leads on", async () => {
    await AUDIT_DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
       INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
         SELECT i, 'control', i, i, 'client.update', json_object('actor', 'root', 'clientId', iif(i = 2, 'app', 'other')), x'00', x'00', x'00' FROM n`,
    ).run();
    const pages: number[][] = [];
    let cursor = "";
    do {
      const { body } = await admin.call("GET", `/audit?actor=root&client_id=app${cursor}`);
      pages.push(body.events.map(({ position }: { position: number }) => position));
      cursor = body.next_cursor === undefined ? "" : `&cursor=${body.next_cursor}`;
    } while (cursor !== "");
    expect(pages).toEqual([[], [], [2]]);
  });

  it("requires the scope admin:audit, which no other admin scope includes", async () => {
    const token = await admin.issueToken({ scope: ["admin:users", "admin:clients"] });
    for (const path of ["/audit", "/audit/verification", "/audit/gaps"]) {
      expect((await admin.call("GET", path, { token })).status).toBe(403);
    }
  });

  it("a change through the admin API is recorded with its actor, network and request", async () => {
    const headers = { "cf-ray": "ray-1", "x-forwarded-for": "203.0.113.77" };
    const overrides = { TRUST_FORWARDED_HEADERS: "true" };
    await admin.call("POST", "/users", { body: { sub: "alice", username: "alice" }, headers, overrides });
    const { results } = await bindings.DB.prepare(
      "SELECT action, target, sub, address, request_id FROM admin_events",
    ).all();
    expect(results).toEqual([
      { action: "user.create", target: "alice", sub: "operators", address: "203.0.113.0/24", request_id: "ray-1" },
    ]);
  });
});

describe("GET /admin/audit/verification", () => {
  it("A3: verifies page by page, and identifies the first break", async () => {
    await record("code:g1:wnam:0", happened);
    const { body: first } = await admin.call("GET", "/audit/verification?limit=3");
    expect(first).toMatchObject({ valid: true, store: "database", from: 1, to: 3, gaps: [], next_from: 4 });
    const { body: second } = await admin.call("GET", `/audit/verification?from=${first.next_from}`);
    expect(second).toEqual({
      valid: true,
      store: "database",
      from: 4,
      to: 5,
      gaps: [],
      chain: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await AUDIT_DB.prepare("UPDATE audit_events SET payload = '{}' WHERE position = 2").run();
    const { body: broken } = await admin.call("GET", "/audit/verification");
    expect(broken).toMatchObject({
      valid: false,
      from: 1,
      to: 1,
      broken: { position: 2, shard: "code:g1:wnam:0", seq: 2, reason: "the event is not what its outbox hashed" },
    });
  });

  it("an empty log is valid", async () => {
    const { body } = await admin.call("GET", "/audit/verification");
    expect(body).toMatchObject({ valid: true, store: "database", from: 1, to: 0, gaps: [] });
  });

  it("503 if the audit database does not respond; the rest of the admin API does", async () => {
    await AUDIT_DB.exec("DROP TABLE audit_events");
    expect((await admin.call("GET", "/audit")).status).toBe(503);
    expect((await admin.call("GET", "/users")).status).toBe(200);
  });
});

describe("GET /admin/audit/gaps", () => {
  it("ADR 35: lists losses, newest first, in pages", async () => {
    await AUDIT_DB.batch([
      AUDIT_DB.prepare("INSERT INTO audit_gaps VALUES ('code:g1:wnam:0', 4, 6, ?1)").bind(start),
      AUDIT_DB.prepare("INSERT INTO audit_gaps VALUES ('code:g1:wnam:1', 2, 2, ?1)").bind(start + 1000),
    ]);
    const { body } = await admin.call("GET", "/audit/gaps?limit=1");
    expect(body.gaps).toEqual([
      { shard: "code:g1:wnam:1", from_seq: 2, to_seq: 2, recorded: "2026-11-20T08:00:01.000Z" },
    ]);
    const { body: next } = await admin.call("GET", `/audit/gaps?limit=1&cursor=${body.next_cursor}`);
    expect(next.gaps).toEqual([
      { shard: "code:g1:wnam:0", from_seq: 4, to_seq: 6, recorded: "2026-11-20T08:00:00.000Z" },
    ]);
    expect(next.next_cursor).toBeUndefined();
  });
});
