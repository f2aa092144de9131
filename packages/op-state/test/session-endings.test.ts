import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import type { SessionStoreRpc } from "@edge-op/shared/sessions/session-rpc";
import { endUserSessions, listEndingSession } from "@edge-op/shared/sessions/user-sessions";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Followers } from "../src/changes/followers.ts";
import { CutOffLedger } from "../src/cut-offs/cut-off-ledger.ts";
import { SessionEndings } from "../src/sessions/session-endings.ts";
import { SessionStore } from "../src/sessions/session-store.ts";
import { plane, ring, settled, start, useControlPlaneFixtures } from "./fixtures/control-plane-fixtures.ts";

/** ADR 16: the sessions of a user end with the change that ends them, even if a process fails between any two steps. */
const { DB, SESSION_STORE } = env as unknown as {
  DB: D1Database;
  SESSION_STORE: DurableObjectNamespace<SessionStoreRpc>;
};
const day = 86_400_000;
const sidOf = (shard: number, random: string) => `g1.wnam.${shard}.${random}`;
const [first, second, kept] = [sidOf(1, "first"), sidOf(6, "second"), sidOf(3, "kept")];
const storeOf = (sid: string) => SESSION_STORE.getByName(`session:g1:wnam:${sid.split(".")[2]}`);

useControlPlaneFixtures();

async function openSession(sid: string, sub: string): Promise<void> {
  const endsAtMs = start + 14 * day;
  const proof = { method: "password", sub, atMs: start, controlVersion: 0 } as const;
  const about = { sid, sub, key: `key-${sid}`, signedInAtMs: start, proofs: [proof], idleMs: day, endsAtMs };
  await storeOf(sid).open({ session: about });
  const client = { clientId: "app", subject: sub, consented: [], registeredAtMs: 0 };
  expect(await storeOf(sid).admit(about.key, client, undefined)).toBe(true);
  const insert =
    "INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms) VALUES (?1, ?2, '', ?3, ?4)";
  await DB.prepare(insert).bind(sid, sub, start, endsAtMs).run();
}

async function sidsIn(table: "ending_sessions" | "user_sessions"): Promise<string[]> {
  const { results } = await DB.prepare(`SELECT sid FROM ${table} ORDER BY sid`).all<{ sid: string }>();
  return results.map(({ sid }) => sid);
}

/** The sessions whose client receives a logout token, once for each notice. */
async function noticesOf(...sids: readonly string[]): Promise<string[]> {
  const notices = await Promise.all(
    sids.map((sid) =>
      runInDurableObject(storeOf(sid), (_, { storage: { sql } }) =>
        sql
          .exec<{ sid: string }>(
            "SELECT notice ->> '$.sid' AS sid FROM logout_notices WHERE notice ->> '$.sid' = ?",
            sid,
          )
          .toArray()
          .map((row) => row.sid),
      ),
    ),
  );
  return notices.flat();
}

/** Commits like `/account/password`: a new password, the cut-off and the sessions in one transaction. */
async function commit(): Promise<number> {
  const change = "INSERT INTO control_changes (kind, id, at_ms) VALUES ('user', 'alice', ?1) RETURNING version";
  const results = await DB.batch<{ version: number }>([
    ...endUserSessions(DB, "alice", { reason: "password changed", atMs: start, kept }),
    DB.prepare(change).bind(start),
    recordNewest(DB, { key: "nb:sub:alice", untilMs: cutOffUntilMs(start) }),
  ]);
  return results[2]!.results[0]!.version;
}

const begin = () => plane().begin("op", { kind: "sub", id: "alice", actor: "alice", changedAtMs: start });
const publish = (version: number) => settled(() => plane().publish("op", { version, listsSessions: true }));

/** A new instance, and its alarms for two minutes. */
async function recover(): Promise<void> {
  await evictDurableObject(plane());
  for (let seconds = 5; seconds <= 120; seconds += 5) {
    vi.setSystemTime(start + seconds * 1_000);
    await ring();
  }
}

beforeEach(async () => {
  await DB.prepare(
    "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('alice', 'alice', 'alice', 0, 0), ('bob', 'bob', 'bob', 0, 0)",
  ).run();
  for (const sid of [first, second, kept]) await openSession(sid, "alice");
  await openSession(sidOf(1, "of-bob"), "bob");
});

it("a published change ends every session of its user except the kept one, in one run of the alarm", async () => {
  await begin();
  await publish(await commit());
  expect(await sidsIn("ending_sessions")).toEqual([first, second]);
  await ring();
  expect(await noticesOf(first, second, kept, sidOf(1, "of-bob"))).toEqual([first, second]);
  expect([await sidsIn("ending_sessions"), await sidsIn("user_sessions")]).toEqual([[], [sidOf(1, "of-bob"), kept]]);
});

describe("a revocation of everything", () => {
  const everything = () =>
    settled(() => plane().cutOff({ kind: "tenant", id: "default", operationId: "all", actor: "admin" }));
  const insertMany = (count: number) =>
    DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 10001 UNION ALL SELECT i + 1 FROM n WHERE i < 10000 + ?3)
         INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms)
           SELECT 'g1.wnam.2.' || i, 'bob', '', ?1, ?2 FROM n`,
    ).bind(start, start + 14 * day, count);

  it("ends every session that began before, in parts, also after an eviction, and none that began later", async () => {
    await insertMany(1_200).run();
    await everything();
    const later = sidOf(1, "later");
    await openSession(later, "bob");
    await DB.prepare("UPDATE user_sessions SET signed_in_at_ms = ?2 WHERE sid = ?1")
      .bind(later, start + 1)
      .run();
    await ring();
    await recover();
    expect([await sidsIn("ending_sessions"), await sidsIn("user_sessions")]).toEqual([[], [later]]);
    expect(await noticesOf(first, second, kept, sidOf(1, "of-bob"), later)).toEqual([
      first,
      second,
      kept,
      sidOf(1, "of-bob"),
    ]);
  });

  it("a sign-in of before that is stored later is ending", async () => {
    await everything();
    const [inserted] = await DB.batch<{ sid: string }>([
      listEndingSession(DB, { sub: "alice", sid: "late", version: 0, endsAtMs: start + day }),
    ]);
    expect(inserted!.meta.changes).toBe(1);
  });
});

describe("ControlPlane reads the list of ending sessions only if a change may have listed one", () => {
  const isDue = () =>
    runInDurableObject(plane(), (_, { storage }) => {
      const { dueMs } = storage.sql.exec<{ dueMs: number | null }>("SELECT due_ms AS dueMs FROM session_ending").one();
      return dueMs !== null;
    });

  it.each<readonly [string, "sub" | "client", boolean, boolean]>([
    ["a change that has listed sessions", "sub", true, true],
    ["a change without sessions", "sub", false, false],
    ["a change that ends the grants of a client", "client", true, false],
  ])("%s", async (_, kind, listsSessions, due) => {
    await plane().begin("op", { kind, id: kind === "sub" ? "alice" : "app", actor: "admin", changedAtMs: start });
    const version = await commit();
    await settled(() => plane().publish("op", { version, listsSessions }));
    expect(await isDue()).toBe(due);
  });

  it("a change whose Worker failed after the commit", async () => {
    await begin();
    await commit();
    vi.setSystemTime(start + 10_000);
    await ring();
    expect(await isDue()).toBe(false);
    expect(await noticesOf(first, second)).toEqual([first, second]);
  });
});

describe("killed between any two steps, each session ends, and each client is notified once", () => {
  const actualEnd = SessionStore.prototype.end;
  const failOnce = (method: { mockImplementationOnce(work: () => never): unknown }) =>
    method.mockImplementationOnce(() => {
      throw new Error("killed");
    });

  it.each<readonly [string, () => Promise<void>]>([
    ["the Worker after its commit", async () => void (await commit())],
    [
      "ControlPlane before it orders the cut-off",
      async () => {
        failOnce(vi.spyOn(CutOffLedger.prototype, "order"));
        await expect(publish(await commit())).rejects.toThrow("killed");
      },
    ],
    [
      "ControlPlane before it tells shards",
      async () => {
        vi.spyOn(Followers.prototype, "bringIntoForce").mockRejectedValueOnce(new Error("killed"));
        await expect(publish(await commit())).rejects.toThrow();
      },
    ],
    [
      "ControlPlane before it reads the list",
      async () => {
        await publish(await commit());
        failOnce(vi.spyOn(SessionEndings.prototype, "resume"));
        await ring();
      },
    ],
    [
      "an object before it ends its session",
      async () => {
        await publish(await commit());
        failOnce(vi.spyOn(SessionStore.prototype, "end"));
        await ring();
        expect(await sidsIn("ending_sessions")).toHaveLength(1);
      },
    ],
    [
      "an object after it has ended its session, before its response",
      async () => {
        await publish(await commit());
        vi.spyOn(SessionStore.prototype, "end").mockImplementationOnce(async function (this: SessionStore, ...of) {
          await actualEnd.apply(this, of);
          throw new Error("killed");
        });
        await ring();
        expect(await sidsIn("ending_sessions")).toHaveLength(1);
        expect(await noticesOf(first, second)).toHaveLength(2);
      },
    ],
    [
      "ControlPlane after the objects, before it deletes the rows",
      async () => {
        await publish(await commit());
        const killed =
          "CREATE TRIGGER killed BEFORE DELETE ON ending_sessions BEGIN SELECT RAISE (ABORT, 'killed'); END";
        await DB.prepare(killed).run();
        await ring();
        expect(await noticesOf(first, second)).toHaveLength(2);
        await DB.prepare("DROP TRIGGER killed").run();
      },
    ],
  ])("%s", async (_, work) => {
    await begin();
    await work();
    vi.restoreAllMocks();
    vi.spyOn(console, "error").mockImplementation(() => {});
    await recover();
    expect((await noticesOf(first, second, kept)).toSorted()).toEqual([first, second]);
    expect([await sidsIn("ending_sessions"), await sidsIn("user_sessions")]).toEqual([[], [sidOf(1, "of-bob"), kept]]);
  });

  it("a failure of the Worker before its commit ends no session", async () => {
    await begin();
    await recover();
    expect(await noticesOf(first, second, kept)).toEqual([]);
    expect(await sidsIn("user_sessions")).toHaveLength(4);
  });
});

it("a cut-off without a change of a record also ends the sessions", async () => {
  await plane().cutOff({ kind: "sub", id: "alice", operationId: "c1", actor: "admin" });
  await ring();
  expect(await noticesOf(first, second, kept)).toEqual([first, second, kept]);
  expect(await sidsIn("user_sessions")).toEqual([sidOf(1, "of-bob")]);
});

it("an object that does not respond only delays its own sessions, and is called until it responds", async () => {
  await begin();
  const end = vi.spyOn(SessionStore.prototype, "end").mockImplementation(async function (this: SessionStore, by) {
    throw new Error(JSON.stringify(by));
  });
  await publish(await commit());
  await ring();
  expect(await sidsIn("ending_sessions")).toEqual([first, second]);
  end.mockRestore();
  vi.setSystemTime(start + 5_000);
  await ring();
  expect(await sidsIn("ending_sessions")).toEqual([]);
});

it("a session that a sign-in listed but did not end, because its Worker failed, is ended by the daily alarm", async () => {
  // Sets the first alarm, which begins the days.
  await plane().wakeAudit();
  await ring();
  const insert = "INSERT INTO ending_sessions VALUES (?1, 'ended by a change during the sign-in', ?2)";
  await DB.prepare(insert)
    .bind(first, start + 14 * day)
    .run();
  vi.setSystemTime(start + day + 10_000);
  await ring();
  expect([await noticesOf(first), await sidsIn("ending_sessions")]).toEqual([[first], []]);
});

const listEnding = (sids: readonly string[]) =>
  DB.prepare(`INSERT INTO ending_sessions SELECT value, 'test', ${start + day} FROM json_each(?1)`)
    .bind(JSON.stringify(sids))
    .run();

it("ADR 11: a session of a lost generation stays listed until D1 lists the generation again; one of a retired generation has ended", async () => {
  const [lost, ended] = ["g2.wnam.1.lost", "g2.wnam.2.retired"];
  await listEnding([lost]);
  await begin();
  await publish(await commit());
  await ring();
  expect(await sidsIn("ending_sessions")).toEqual([lost]);
  const relist = `INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES ('session', 2, '{"wnam":{"shards":8,"hint":"wnam"}}', 0)`;
  await DB.prepare(relist).run();
  vi.setSystemTime(start + 5_000);
  await ring();
  expect(await sidsIn("ending_sessions")).toEqual([]);
  await DB.prepare("UPDATE shard_generations SET retired = 1 WHERE store = 'session' AND generation = 2").run();
  await listEnding([ended]);
  const end = vi.spyOn(SessionStore.prototype, "end");
  await plane().cutOff({ kind: "sub", id: "nobody", operationId: "c1", actor: "admin" });
  await ring();
  expect([await sidsIn("ending_sessions"), end.mock.calls]).toEqual([[], []]);
});

it("more sessions than one run ends, and what is no session id", async () => {
  await listEnding([...Array.from({ length: 250 }, (_, index) => sidOf(index % 8, `many-${index}`)), "not an id"]);
  await begin();
  await publish(await commit());
  for (let run = 0; run < 4; run += 1) await ring();
  expect(await sidsIn("ending_sessions")).toEqual([]);
  expect(await noticesOf(first, second)).toEqual([first, second]);
});
