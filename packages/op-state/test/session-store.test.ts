import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import { type GrantRevocation, grantKey } from "@edge-op/shared/grants/grant-revocation";
import { keyManagerName } from "@edge-op/shared/keys/key-schedule";
import type { NewSession } from "@edge-op/shared/sessions/session-rpc";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { leastMetadata } from "../../../test/fixtures/seed.ts";
import { KeyManager } from "../src/keys/key-manager.ts";
import type { SessionStore, SessionStoreEnv } from "../src/sessions/session-store.ts";

type StateEnv = SessionStoreEnv & { readonly SESSION_STORE: DurableObjectNamespace<SessionStore> };
const stateEnv = env as unknown as StateEnv;

const address = { generation: 1, region: "wnam", shard: 0 } as const;
const start = Date.UTC(2026, 10, 21);
const day = 86_400_000;
const limit = { capacity: 3, drainMs: 10_000 };

let store: DurableObjectStub<SessionStore>;

beforeEach(() => {
  store = stateEnv.SESSION_STORE.get(stateEnv.SESSION_STORE.idFromName("session:g1:wnam:0"));
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const proof = { method: "boundPasskey", sub: "alice", atMs: start, controlVersion: 7 } as const;

function newSession(changes: Partial<NewSession> = {}): NewSession {
  return {
    key: "key-1",
    sid: "g1.wnam.0.sid-1",
    sub: "alice",
    signedInAtMs: start,
    proofs: [proof],
    idleMs: day,
    endsAtMs: start + 14 * day,
    ...changes,
  };
}

const app = { clientId: "app", subject: "alice", consented: ["openid"], registeredAtMs: 0 };
const grant = { grantId: "grant-1", address, untilMs: start + day };

describe("the lifetime of a session", () => {
  it("an expired session is no longer listed; while D1 does not respond, it stays listed until its absolute end", async () => {
    const { DB } = stateEnv;
    const listed = () => DB.prepare("SELECT sid FROM user_sessions ORDER BY sid").all<{ sid: string }>();
    await DB.prepare(
      "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('alice', 'a', 'a', 0, 0)",
    ).run();
    const sids = ["g1.wnam.0.idle", "g1.wnam.0.late", "g1.wnam.0.used"];
    const insert = `INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms) VALUES (?1, 'alice', '', 0, ?2)`;
    for (const [index, sid] of sids.entries()) {
      await store.open({ session: newSession({ sid, key: sid, idleMs: (index + 1) * day }) });
      await DB.prepare(insert)
        .bind(sid, start + 14 * day)
        .run();
    }
    vi.setSystemTime(start + day + 120_000);
    await runDurableObjectAlarm(store);
    expect((await listed()).results.map(({ sid }) => sid)).toEqual(sids.slice(1));
    const logged = vi.spyOn(console, "warn").mockImplementation(() => {});
    await DB.prepare("ALTER TABLE user_sessions RENAME TO unreadable").run();
    vi.setSystemTime(start + 2 * day + 120_000);
    await runDurableObjectAlarm(store);
    await DB.prepare("ALTER TABLE unreadable RENAME TO user_sessions").run();
    expect((await listed()).results.map(({ sid }) => sid)).toEqual(sids.slice(1));
    expect(logged.mock.calls.map(([line]) => JSON.parse(String(line)).event)).toContain("sessions-still-listed");
    expect(await store.read("g1.wnam.0.late")).toBeUndefined();
    expect(await store.read("g1.wnam.0.used")).toBeDefined();
  });

  it("is found by its key, with the facts of the sign-in", async () => {
    await store.open({ session: newSession() });
    expect(await store.use("key-1", "app", undefined)).toEqual({
      session: {
        sid: "g1.wnam.0.sid-1",
        sub: "alice",
        signedInAtMs: start,
        proofs: [proof],
        endsAtMs: start + 14 * day,
      },
      client: undefined,
      dismissal: 0,
    });
    expect(await store.use("key-2", "app", undefined)).toBeUndefined();
    expect(await store.use("g1.wnam.0.sid-1", "app", undefined)).toBeUndefined();
  });

  it("ends a day after its last use, and each use postpones that", async () => {
    await store.open({ session: newSession() });
    vi.setSystemTime(start + 0.9 * day);
    expect(await store.use("key-1", "app", undefined)).toBeDefined();
    vi.setSystemTime(start + 1.8 * day);
    expect(await store.use("key-1", "app", undefined)).toBeDefined();
    vi.setSystemTime(start + 2.9 * day);
    expect(await store.use("key-1", "app", undefined)).toBeUndefined();
    expect(await store.read("key-1")).toBeUndefined();
  });

  it("ends at its absolute end regardless of its use", async () => {
    await store.open({ session: newSession() });
    for (let at = 0.9; at < 14; at += 0.9) {
      vi.setSystemTime(start + at * day);
      expect(await store.use("key-1", "app", undefined)).toBeDefined();
    }
    vi.setSystemTime(start + 14 * day);
    expect(await store.use("key-1", "app", undefined)).toBeUndefined();
  });

  it("is renewed under a new key with its clients; the old key becomes useless", async () => {
    await store.open({ session: newSession() });
    await store.admit("key-1", app, undefined);
    const session = newSession({ key: "key-2", signedInAtMs: start + 1 });
    expect(await store.open({ session, replaces: "key-1" })).toBe("opened");
    expect(await store.read("key-1")).toBeUndefined();
    expect(await store.read("key-2")).toMatchObject({ session: { signedInAtMs: start + 1 }, clients: [app] });
  });

  it("is not renewed for another user, or after it has ended", async () => {
    await store.open({ session: newSession() });
    const bobs = newSession({ key: "key-2", sub: "bob" });
    expect(await store.open({ session: bobs, replaces: "key-1" })).toBe("gone");
    await store.end({ key: "key-1" }, "logout");
    expect(await store.open({ session: newSession({ key: "key-2" }), replaces: "key-1" })).toBe("gone");
    expect(await store.read("key-2")).toBeUndefined();
  });

  it("a flow opens one session, with its client and grant; a repeated call finds what it has opened", async () => {
    const flow = { fid: "fid-1", untilMs: start + 1_800_000 };
    const opening = { session: newSession(), flow, admitted: { client: app, grant } };
    const open = () => store.open(opening);
    expect(await Promise.all([open(), open()])).toEqual(["opened", "opened"]);
    expect((await store.use("key-1", "app", undefined))?.client).toEqual(app);
    const second = { session: newSession({ key: "key-2", sid: "g1.wnam.0.sid-2" }), flow };
    expect(await store.open(second)).toBe("spent");
    await store.end({ key: "key-1" }, "logout");
    expect(await store.open(second)).toBe("spent");
    expect(await store.read("key-2")).toBeUndefined();
  });

  it("a session that could not replace another leaves its flow unspent", async () => {
    const flow = { fid: "fid-1", untilMs: start + 1_800_000 };
    expect(await store.open({ session: newSession(), replaces: "key-0", flow })).toBe("gone");
    expect(await store.open({ session: newSession(), flow })).toBe("opened");
  });

  it("ADR 16: a session that is ended before it is opened is not opened", async () => {
    expect(await store.end({ sid: "g1.wnam.0.sid-1" }, "password changed")).toBeUndefined();
    expect(await store.open({ session: newSession() })).toBe("gone");
    vi.setSystemTime(start + 300_000);
    expect(await store.open({ session: newSession() })).toBe("opened");
  });

  it("is ended by its key or its sid, once", async () => {
    await store.open({ session: newSession() });
    const ended = await store.end({ sid: "g1.wnam.0.sid-1" }, "logout");
    expect(ended).toMatchObject({ session: { sub: "alice" }, clients: [], due: [] });
    expect(await store.end({ key: "key-1" }, "logout")).toEqual(ended);
    expect(await store.admit("key-1", app, undefined)).toBe(false);
    expect(await store.read("key-1")).toBeUndefined();
    const events = await runInDurableObject(store, (_, { storage: { sql } }) =>
      sql.exec("SELECT seq FROM audit_outbox WHERE type = 'session.ended'").toArray(),
    );
    expect(events).toHaveLength(1);
  });

  it("leaves no row after it has expired and was swept", async () => {
    await store.open({ session: newSession() });
    await store.admit("key-1", app, { ...grant, untilMs: start + 30 * day });
    const rows = () =>
      runInDurableObject(store, (_, ctx) =>
        ["sessions", "session_clients", "session_grants", "due_revocation"].map(
          (table) => ctx.storage.sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${table}`).one().count,
        ),
      );
    vi.setSystemTime(start + 2 * day);
    await runDurableObjectAlarm(store);
    expect(await rows()).toEqual([1, 1, 0, 0]);
    vi.setSystemTime(start + 2 * day + 120_000);
    await runDurableObjectAlarm(store);
    expect(await rows()).toEqual([0, 0, 0, 0]);
  });

  it("ADR 22: due grants are found by the key, by the sid and by the client, until they are acknowledged; then no row is left", async () => {
    await store.open({ session: newSession() });
    await store.admit("key-1", app, grant);
    await store.admit("key-1", { ...app, clientId: "mute" }, { ...grant, grantId: "grant-2" });
    const idsOf = (due: readonly GrantRevocation[] = []) => due.map((each) => each.grant.grantId);
    expect(idsOf(await store.dismissClient("g1.wnam.0.sid-1", "app", "consent taken back"))).toEqual(["grant-1"]);
    expect(idsOf(await store.dismissClient("g1.wnam.0.sid-1", "app", "consent taken back"))).toEqual(["grant-1"]);
    const first = await store.end({ key: "key-1" }, "logout");
    expect(idsOf(first?.due)).toEqual(["grant-1", "grant-2"]);
    expect(first?.clients.map(({ clientId }) => clientId)).toEqual(["mute"]);
    expect(await store.end({ key: "key-1" }, "logout")).toEqual(first);
    expect(await store.end({ sid: "g1.wnam.0.sid-1" }, "logout")).toEqual(first);
    expect(idsOf(await store.dismissClient("g1.wnam.0.sid-1", "mute", "consent taken back"))).toEqual(["grant-2"]);
    const left = await store.acknowledgeRevoked("g1.wnam.0.sid-1", undefined, ["grant-1"]);
    expect(idsOf(left)).toEqual(["grant-2"]);
    expect(await store.acknowledgeRevoked("g1.wnam.0.sid-1", "app", [])).toEqual([]);
    expect(await store.acknowledgeRevoked("g1.wnam.0.sid-1", undefined, ["grant-2"])).toEqual([]);
    expect(await store.end({ key: "key-1" }, "logout")).toMatchObject({ due: [] });
    vi.setSystemTime(start + 120_000);
    await runDurableObjectAlarm(store);
    expect(await store.end({ key: "key-1" }, "logout")).toBeUndefined();
  });

  it("ADR 22: a session with very many grants is revoked by its Worker in parts", async () => {
    await store.open({ session: newSession() });
    await store.admit("key-1", app, undefined);
    for (let index = 0; index < 450; index += 1) {
      await store.use("key-1", "app", { ...grant, grantId: `grant-${index}` });
    }
    const parts: number[] = [];
    let due = (await store.end({ key: "key-1" }, "logout"))?.due ?? [];
    while (due.length > 0) {
      parts.push(due.length);
      due = await store.acknowledgeRevoked(
        "g1.wnam.0.sid-1",
        undefined,
        due.map((each) => each.grant.grantId),
      );
    }
    expect(parts).toEqual([200, 200, 50]);
  });
});

describe("effects of its end", () => {
  interface Sent {
    readonly url: string;
    readonly init: RequestInit;
  }

  /** The requests that the object sent; the responses have these statuses in turn, then the last one repeatedly. */
  function respondWith(...statuses: number[]): Sent[] {
    const sent: Sent[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
      sent.push({ url: String(url), init: init as RequestInit });
      return new Response(null, { status: statuses.length > 1 ? statuses.shift()! : statuses[0]! });
    });
    return sent;
  }

  /** The alarm, and the notices that it starts to send. */
  async function runAlarm(): Promise<void> {
    await runDurableObjectAlarm(store);
    const dueNotices = () =>
      runInDurableObject(store, (_, { storage: { sql } }) =>
        sql.exec("SELECT id FROM logout_notices WHERE due_at_ms <= ?", Date.now()).toArray(),
      );
    await expect.poll(dueNotices, { interval: 5 }).toEqual([]);
  }

  async function seedClient(clientId: string, metadata: Record<string, unknown>): Promise<void> {
    await stateEnv.DB.prepare(
      "INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES (?1, ?2, 0, 0)",
    )
      .bind(clientId, JSON.stringify({ ...leastMetadata, ...metadata }))
      .run();
  }

  async function verifyLogoutToken({ init }: Sent) {
    const keys = stateEnv.KEY_MANAGER.get(stateEnv.KEY_MANAGER.idFromName(keyManagerName));
    const schedule = await keys.schedule();
    const jwks = { keys: schedule.keys.map(({ kid, alg, publicJwk }) => ({ ...publicJwk, kid, alg })) };
    const token = new URLSearchParams(String(init.body)).get("logout_token")!;
    const options = { issuer: stateEnv.ISSUER, audience: "app", currentDate: new Date(Date.now()) };
    const { payload } = await jwtVerify(token, createLocalJWKSet(jwks as never), options);
    return { header: decodeProtectedHeader(token), payload };
  }

  beforeEach(async () => {
    await seedClient("app", { backchannel_logout_uri: "https://app.example.com/logout" });
    await seedClient("mute", {});
    await store.open({ session: newSession() });
  });

  it("Back-Channel Logout §2.4: each client that registered for it is sent a logout token", async () => {
    const requests = respondWith(200);
    await store.admit("key-1", app, undefined);
    await store.admit("key-1", { ...app, clientId: "mute" }, undefined);
    await store.end({ key: "key-1" }, "logout");
    await runAlarm();
    expect(requests.map(({ url, init }) => `${init.method} ${url}`)).toEqual(["POST https://app.example.com/logout"]);
    expect(requests[0]!.init.headers).toEqual({ "content-type": "application/x-www-form-urlencoded" });
    const { header, payload } = await verifyLogoutToken(requests[0]!);
    expect(header).toMatchObject({ typ: "logout+jwt", alg: "RS256" });
    expect(payload).toEqual({
      iss: stateEnv.ISSUER,
      aud: "app",
      sub: "alice",
      sid: "g1.wnam.0.sid-1",
      iat: start / 1000,
      exp: start / 1000 + 120,
      jti: expect.any(String),
      events: { "http://schemas.openid.net/event/backchannel-logout": {} },
    });
  });

  it("a pairwise client's logout token contains the sid of its sector's ID tokens, never the session's own", async () => {
    const requests = respondWith(200);
    await store.admit("key-1", { ...app, subject: "alice-at-app" }, undefined);
    await store.end({ key: "key-1" }, "logout");
    await runAlarm();
    const { payload } = await verifyLogoutToken(requests[0]!);
    const sid = await sectorSessionId(stateEnv, newSession(), "alice-at-app");
    expect(payload).toMatchObject({ sub: "alice-at-app", sid });
    expect(sid).toMatch(/^[\w-]{50,100}$/);
    expect(JSON.stringify(payload)).not.toContain("sid-1");
  });

  it("Back-Channel Logout §2.6: no logout token is signed by a revoked key, even if KV still has it", async () => {
    const requests = respondWith(200);
    const keys = stateEnv.KEY_MANAGER.get(stateEnv.KEY_MANAGER.idFromName(keyManagerName));
    const schedule = await keys.schedule();
    const revoked = schedule.keys.find(({ alg, signFromMs }) => alg === "RS256" && signFromMs <= start)!;
    await stateEnv.CACHE.put("keys:*", JSON.stringify({ cv: 1, readAtMs: start, value: schedule }));
    await keys.revokeKey(revoked.kid, "leaked");
    await store.admit("key-1", app, undefined);
    await store.end({ key: "key-1" }, "logout");
    await runAlarm();
    const { header } = await verifyLogoutToken(requests[0]!);
    expect(header.kid).not.toBe(revoked.kid);
  });

  it("without KeyManager and a schedule in D1 a logout waits, and is sent when KeyManager responds again", async () => {
    const requests = respondWith(200);
    const log = vi.spyOn(console, "warn").mockImplementation(() => {});
    await store.admit("key-1", app, undefined);
    await store.end({ key: "key-1" }, "logout");
    const away = vi.spyOn(KeyManager.prototype, "schedule").mockRejectedValue(new Error("down"));
    // A change of keys that the schedule in D1 does not contain.
    await stateEnv.DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('keys', '*', 0)").run();
    await runAlarm();
    expect(requests).toEqual([]);
    expect(log.mock.calls.join()).toContain("KeyManager did not respond");
    away.mockRestore();
    vi.setSystemTime(start + 1_000);
    await runAlarm();
    expect(requests).toHaveLength(1);
  });

  it("ADR 22: a client's slow endpoint delays no revocation, even in another session, and is called once at a time", async () => {
    const answer = Promise.withResolvers<Response>();
    const fetched = vi.spyOn(globalThis, "fetch").mockReturnValue(answer.promise);
    await store.admit("key-1", app, undefined);
    await store.end({ key: "key-1" }, "logout");
    await runDurableObjectAlarm(store);
    await expect.poll(() => fetched.mock.calls.length, { interval: 5 }).toBe(1);
    await store.open({ session: newSession({ key: "key-2", sid: "g1.wnam.0.sid-2" }) });
    await store.admit("key-2", { ...app, clientId: "mute" }, { ...grant, grantId: "grant-2" });
    await store.end({ key: "key-2" }, "logout");
    await runDurableObjectAlarm(store);
    expect(await revokedGrants("grant-2")).toEqual(["g:grant-2"]);
    expect(fetched).toHaveBeenCalledTimes(1);
    answer.resolve(new Response(null, { status: 200 }));
    await runAlarm();
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it("a client that does not respond is notified again, at increasing intervals, with a token of the same jti", async () => {
    const requests = respondWith(500, 503, 200);
    await store.admit("key-1", app, undefined);
    await store.end({ key: "key-1" }, "logout");
    for (const afterMs of [0, 1_000, 6_000]) {
      vi.setSystemTime(start + afterMs);
      await runAlarm();
    }
    expect(requests).toHaveLength(3);
    const ids = await Promise.all(requests.map(async (request) => (await verifyLogoutToken(request)).payload.jti));
    expect(new Set(ids).size).toBe(1);
    vi.setSystemTime(start + day);
    await runAlarm();
    expect(requests).toHaveLength(3);
  });

  it("notification of a client that never responds ends after a day", async () => {
    const requests = respondWith(500);
    await store.admit("key-1", app, undefined);
    await store.end({ key: "key-1" }, "logout");
    for (let at = 0; at <= 1.2 * day; at += 600_000) {
      vi.setSystemTime(start + at);
      await runAlarm();
    }
    expect(requests.length).toBeGreaterThan(20);
    expect(requests.length).toBeLessThan(60);
  });

  it("Back-Channel Logout §2.7: grants recorded with the session are revoked", async () => {
    respondWith(200);
    await store.admit("key-1", app, grant);
    await store.use("key-1", "app", { ...grant, grantId: "grant-2" });
    await store.use("key-1", "stranger", { ...grant, grantId: "grant-3" });
    await store.end({ key: "key-1" }, "logout");
    await runAlarm();
    const namespace = stateEnv.TOKEN_REVOCATION_STORE;
    const shard = namespace.get(namespace.idFromName("revocation:g1:wnam:0"));
    const { revoked } = await shard.check(["grant-1", "grant-2", "grant-3"].map(grantKey), [], -1);
    expect([...revoked].sort()).toEqual(["g:grant-1", "g:grant-2"]);
  });

  async function revokedGrants(...grantIds: string[]): Promise<string[]> {
    const namespace = stateEnv.TOKEN_REVOCATION_STORE;
    const shard = namespace.get(namespace.idFromName("revocation:g1:wnam:0"));
    return [...(await shard.check(grantIds.map(grantKey), [], -1)).revoked].sort();
  }

  const lasting = { ...grant, untilMs: start + 30 * day };

  it.each([
    ["idle", 1.01 * day, 1],
    ["absolute", 14.01 * day, 20],
  ])("a session that ends by its %s end ends its grants, and sends no logout token", async (_, afterMs, uses) => {
    const requests = respondWith(200);
    await store.admit("key-1", app, lasting);
    for (let use = 1; use < uses; use += 1) {
      vi.setSystemTime(start + use * 0.7 * day);
      await store.use("key-1", "app", undefined);
    }
    vi.setSystemTime(start + afterMs);
    expect(await store.read("key-1")).toBeUndefined();
    await runAlarm();
    expect(await revokedGrants("grant-1")).toEqual(["g:grant-1"]);
    expect(requests).toEqual([]);
  });

  it("withdrawing consent or signing out reaches a session that has gone idle and was not swept", async () => {
    const requests = respondWith(200);
    await store.admit("key-1", app, lasting);
    await store.admit("key-1", { ...app, clientId: "mute" }, { ...lasting, grantId: "grant-2" });
    vi.setSystemTime(start + 1.5 * day);
    await store.dismissClient("g1.wnam.0.sid-1", "app", "consent taken back");
    expect(await store.end({ key: "key-1" }, "logout")).toMatchObject({ session: { sub: "alice" } });
    await runAlarm();
    expect(await revokedGrants("grant-1", "grant-2")).toEqual(["g:grant-1", "g:grant-2"]);
    expect(requests).toHaveLength(1);
  });

  it("a session with many grants is ended over several alarms, none omitted", async () => {
    await store.admit("key-1", app, lasting);
    await runInDurableObject(store, (_, ctx) => {
      for (let index = 0; index < 2_500; index += 1) {
        ctx.storage.sql.exec(
          "INSERT INTO session_grants (grant_id, sid, client_id, address, until_ms) VALUES (?, 'g1.wnam.0.sid-1', 'app', ?, ?)",
          `many-${index}`,
          JSON.stringify(address),
          lasting.untilMs,
        );
      }
    });
    const left = () =>
      runInDurableObject(store, (_, { storage: { sql } }) => ({
        grants: sql.exec<{ n: number }>("SELECT count(*) AS n FROM session_grants").one().n,
        sessions: sql.exec<{ n: number }>("SELECT count(*) AS n FROM sessions").one().n,
      }));
    vi.setSystemTime(start + 2 * day);
    await runAlarm();
    expect(await left()).toEqual({ grants: 1_501, sessions: 1 });
    await runAlarm();
    await runAlarm();
    expect(await left()).toEqual({ grants: 0, sessions: 1 });
    const ids = ["grant-1", ...Array.from({ length: 2_500 }, (_, index) => `many-${index}`)];
    await store.acknowledgeRevoked("g1.wnam.0.sid-1", undefined, ids);
    vi.setSystemTime(start + 2 * day + 120_000);
    await runAlarm();
    expect(await left()).toEqual({ grants: 0, sessions: 0 });
  });

  it("a client registered again under its id is sent no logout token for its predecessor's session", async () => {
    const requests = respondWith(200);
    await store.admit("key-1", { ...app, registeredAtMs: 7 }, undefined);
    await store.end({ key: "key-1" }, "logout");
    await runAlarm();
    expect(requests).toEqual([]);
  });

  it("rows from before a client's registration time was recorded are read", async () => {
    const requests = respondWith(200);
    await runInDurableObject(store, (_, { storage: { sql } }) => {
      sql.exec("ALTER TABLE session_clients DROP COLUMN registered_at_ms");
      sql.exec("INSERT INTO session_clients VALUES ('g1.wnam.0.sid-1', 'app', 'alice', '[]')");
    });
    await evictDurableObject(store);
    expect((await store.use("key-1", "app", undefined))?.client).toEqual({
      clientId: "app",
      subject: "alice",
      consented: [],
      registeredAtMs: undefined,
    });
    await store.end({ key: "key-1" }, "logout");
    await runAlarm();
    expect(requests).toHaveLength(1);
  });

  it("ADR 16: what was decided before a client was dismissed admits none; what is decided after it does", async () => {
    const sid = "g1.wnam.0.sid-1";
    const dismissal = async () => (await store.read("key-1"))?.dismissal;
    await store.admit("key-1", app, grant, 0);
    const read = [await dismissal()];
    for (const clientId of ["app", "other", "other"]) {
      await store.dismissClient(sid, clientId, "consent taken back");
      read.push((await store.use("key-1", "app", undefined))?.dismissal);
    }
    expect(new Set(read).size).toBe(4);
    for (const earlier of read.slice(0, 3)) expect(await store.admit("key-1", app, undefined, earlier)).toBe(false);
    expect((await store.read("key-1"))?.clients).toEqual([]);
    expect(
      await store.open({
        session: newSession({ key: "key-2" }),
        replaces: "key-1",
        admitted: { client: app, grant, dismissal: read[0] },
      }),
    ).toBe("gone");
    expect(await store.admit("key-1", app, grant, read[3])).toBe(true);
    expect((await store.read("key-1"))?.clients).toEqual([app]);
  });

  it("ADR 16: a client that is dismissed before its session is opened is not admitted to it", async () => {
    const session = newSession({ sid: "g1.wnam.0.sid-2", key: "key-2" });
    await store.dismissClient(session.sid, "app", "consent taken back");
    expect(await store.open({ session, admitted: { client: app, grant, dismissal: 0 } })).toBe("gone");
    expect(await store.open({ session })).toBe("opened");
  });

  it("ADR 34: the previous release's endpoints do not say when they read a consent: it is read again", async () => {
    await store.admit("key-1", app, undefined);
    expect((await store.read("key-1"))?.clients).toEqual([app]);
    await store.dismissClient("g1.wnam.0.sid-1", "app", "consent taken back");
    expect(await store.admit("key-1", app, grant)).toBe(true);
    expect((await store.read("key-1"))?.clients).toEqual([{ ...app, consented: [] }]);
    // No request is under way that long.
    vi.setSystemTime(start + 3_600_000);
    await runDurableObjectAlarm(store);
    expect(await store.read("key-1")).toMatchObject({ dismissal: 0 });
    expect(await store.admit("key-1", app, undefined)).toBe(true);
    expect((await store.read("key-1"))?.clients).toEqual([app]);
  });

  it("withdrawing consent ends one client and keeps the session", async () => {
    const requests = respondWith(200);
    await store.admit("key-1", app, grant);
    await store.admit("key-1", { ...app, clientId: "mute" }, undefined);
    await store.dismissClient("g1.wnam.0.sid-1", "app", "consent taken back");
    await runAlarm();
    expect(requests).toHaveLength(1);
    expect((await store.read("key-1"))?.clients.map(({ clientId }) => clientId)).toEqual(["mute"]);
  });
});

const laneOf = (key: string) => [[{ key, limit }]];

describe("attempts", () => {
  it("fill a bucket that drains: no wait is longer than the time to drain one place", async () => {
    const results = await Promise.all(Array.from({ length: 5 }, () => store.reserveAttempt(laneOf("alice"))));
    expect(results.map(({ kind }) => kind)).toEqual(["allowed", "allowed", "allowed", "refused", "refused"]);
    expect(results[3]).toEqual({ kind: "refused", retryAfterMs: 10_000 });
    vi.setSystemTime(start + 10_000);
    expect(await store.reserveAttempt(laneOf("alice"))).toEqual({ kind: "allowed", lane: laneOf("alice")[0] });
    expect((await store.reserveAttempt(laneOf("alice"))).kind).toBe("refused");
  });

  async function auditEvents(): Promise<{ type: string; payload: unknown }[]> {
    return runInDurableObject(store, (_, { storage }) =>
      storage.sql
        .exec<{ type: string; payload: string }>("SELECT type, payload FROM audit_outbox ORDER BY seq")
        .toArray()
        .map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as unknown })),
    );
  }

  it("failed sign-ins are audited, and a full bucket once a minute", async () => {
    const failed = { method: "password", sub: "alice", reason: "wrong password" } as const;
    const throttled = { method: "password", sub: "alice", reason: "too many attempts: account" } as const;
    await store.recordFailedSignIn(failed);
    await store.recordFailedSignIn({ ...failed, sub: undefined, reason: "unknown user" });
    for (let attempt = 0; attempt < 20; attempt += 1) await store.recordThrottledSignIn("alice", throttled);
    vi.setSystemTime(start + 60_000);
    for (let attempt = 0; attempt < 20; attempt += 1) await store.recordThrottledSignIn("alice", throttled);
    expect(await auditEvents()).toEqual([
      { type: "sign-in.failed", payload: failed },
      { type: "sign-in.failed", payload: { method: "password", reason: "unknown user" } },
      { type: "sign-in.throttled", payload: throttled },
      { type: "sign-in.throttled", payload: throttled },
    ]);
  });

  it("that succeeded are returned", async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await store.reserveAttempt(laneOf("bob"))).kind).toBe("allowed");
      await store.refundAttempt(laneOf("bob")[0]!);
    }
    const rows = await runInDurableObject(store, (_, { storage }) =>
      storage.sql.exec("SELECT key FROM attempts").toArray(),
    );
    expect(rows).toEqual([]);
  });

  it("take places in all buckets of the first lane with room, and are returned there", async () => {
    const lanes = [
      [
        { key: "own", limit: { capacity: 1, drainMs: 60_000 } },
        { key: "all", limit: { capacity: 2, drainMs: 60_000 } },
      ],
      [{ key: "shared", limit: { capacity: 1, drainMs: 30_000 } }],
    ];
    const attempt = () => store.reserveAttempt(lanes);
    expect(await attempt()).toEqual({ kind: "allowed", lane: lanes[0] });
    expect(await attempt()).toEqual({ kind: "allowed", lane: lanes[1] });
    expect(await attempt()).toEqual({ kind: "refused", retryAfterMs: 30_000 });
    await store.refundAttempt(lanes[0]!);
    expect(await attempt()).toEqual({ kind: "allowed", lane: lanes[0] });
  });
});
