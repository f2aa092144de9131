import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { leaseTiming, longestWaitMs, outlast } from "@edge-op/shared/config/lease-timing";
import { limits } from "@edge-op/shared/config/limits";
import type { RevokeRequest } from "@edge-op/shared/grants/grant-revocation";
import type { LeaseRequest, LeaseResponse, RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { RowFilter } from "@edge-op/shared/leases/row-filter";
import type { NamedChange } from "@edge-op/shared/storage/record-kinds";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { TokenRevocationStore } from "../src/revocation/token-revocation-store.ts";

const { TOKEN_REVOCATION_STORE } = env as unknown as {
  TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};
const shard = () => TOKEN_REVOCATION_STORE.getByName("revocation:g1:wnam:0");
const hour = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function revocation(key: string, operationId = `revoke ${key}`, untilMs = Date.now() + hour): RevokeRequest {
  return { key, untilMs, operationId, event: { type: "token.revoked", payload: { key } } };
}

function sql<T extends Record<string, SqlStorageValue>>(query: string): Promise<T[]> {
  return runInDurableObject(shard(), (_, { storage }) => storage.sql.exec<T>(query).toArray());
}

async function count(table: string): Promise<number> {
  const [row] = await sql<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
  return row!.n;
}

function leaseRequest(changes: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    holder: "a",
    sinceSeq: -1,
    confirmedSeq: -1,
    filterSeq: -1,
    sinceCv: -1,
    leaseMs: 100,
    hold: false,
    ...changes,
  };
}

async function lease(
  sinceSeq: number,
  leaseMs: number,
  changes: Partial<LeaseRequest> = {},
): Promise<Extract<LeaseResponse, { kind: "lease" }>> {
  const response: LeaseResponse = await shard().lease(leaseRequest({ sinceSeq, leaseMs, ...changes }));
  if (response.kind !== "lease") throw new Error("no lease");
  return response;
}

/** Milliseconds that the work took, by a clock that tests do not fake. */
async function duration(work: Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work;
  return performance.now() - from;
}

it("I1: without leases out a revocation is acknowledged at once and named by the next check", async () => {
  await shard().check([], [], -1);
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeLessThan(200);
  expect(await shard().check(["j:a", "j:b"], [], -1)).toEqual({
    revoked: ["j:a"],
    cutOffs: [],
    seq: 1,
    cv: 0,
    changes: undefined,
  });
});

it("I1: a revocation waits until the leases that lack it have ended", async () => {
  await lease(-1, 300);
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeGreaterThanOrEqual(300);
});

it("I1: a revocation repeated after a lost response waits too, and creates one row and one event", async () => {
  await lease(-1, 400);
  void shard().revoke([revocation("j:a")], false);
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeGreaterThanOrEqual(300);
  expect(await count("revoked")).toBe(1);
  expect(await count("audit_outbox")).toBe(1);
});

it("I1: a revocation is acknowledged as soon as every holder has confirmed it", async () => {
  const a = await lease(-1, 5_000, { holder: "a" });
  const b = await lease(-1, 5_000, { holder: "b" });
  const held = [lease(a.seq, 5_000, { holder: "a", hold: true }), lease(b.seq, 5_000, { holder: "b", hold: true })];
  const revoked = shard().revoke([revocation("j:a")], true);
  let isAcknowledged = false;
  void revoked.then(() => {
    isAcknowledged = true;
  });
  const [newsA, newsB] = await Promise.all(held);
  expect([newsA!.rows, newsB!.rows].map((rows) => rows.map(({ key }) => key))).toEqual([["j:a"], ["j:a"]]);
  void lease(newsA!.seq, 5_000, { holder: "a", confirmedSeq: newsA!.seq, hold: true });
  await shard().check([], [], -1);
  expect(isAcknowledged).toBe(false);
  void lease(newsB!.seq, 5_000, { holder: "b", confirmedSeq: newsB!.seq, hold: true });
  expect(await duration(revoked)).toBeLessThan(1_000);
  await Promise.all(["a", "b"].map((holder) => shard().release(holder)));
});

it("I1: a holder that released its lease is not awaited", async () => {
  await lease(-1, 5_000);
  const revoked = shard().revoke([revocation("j:a")], true);
  await shard().release("a");
  expect(await duration(revoked)).toBeLessThan(1_000);
});

it("I1: confirming a number that was never assigned has no effect", async () => {
  await lease(-1, 300, { holder: "a" });
  await lease(99, 300, { holder: "a", confirmedSeq: 99 });
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeGreaterThanOrEqual(300);
});

it("a renewal without changes is held until half of the lease has passed, and the response states how long", async () => {
  const first = await lease(-1, 600);
  const renewed = await lease(first.seq, 600, { hold: true });
  expect(renewed.heldMs).toBeGreaterThanOrEqual(290);
  expect(renewed).toMatchObject({ rows: [], snapshot: false });
});

it("a second renewal of a holder completes the first", async () => {
  const first = await lease(-1, 8_000);
  const held = lease(first.seq, 8_000, { hold: true });
  const second = lease(first.seq, 8_000, { hold: false });
  expect(await duration(Promise.all([held, second]))).toBeLessThan(2_000);
});

it("an administrative change ends held renewals, whose responses name its records", async () => {
  const first = await lease(-1, 8_000, { sinceCv: 4 });
  const held = lease(first.seq, 8_000, { sinceCv: 4, hold: true });
  const changes: readonly NamedChange[] = [
    { version: 5, kind: "client", id: "app" },
    { version: 6, kind: "user", id: "alice" },
  ];
  void shard().raise({ cv: 6, changes }, false);
  const news = await held;
  expect(news).toMatchObject({ cv: 6, changes });
  expect(await lease(news.seq, 100, { sinceCv: 5 })).toMatchObject({ cv: 6, changes: changes.slice(1) });
  expect(await lease(news.seq, 100, { sinceCv: 6 })).toMatchObject({ cv: 6, changes: [] });
  expect(await lease(news.seq, 100, { sinceCv: 3 })).toMatchObject({ cv: 6, changes: undefined });
  await shard().raise({ cv: 9, changes: [{ version: 9, kind: "keys", id: "*" }] }, false);
  expect(await lease(news.seq, 100, { sinceCv: 6 }), "numbers are missing (ADR 11)").toMatchObject({
    cv: 9,
    changes: undefined,
  });
});

it.each([
  ["another record", { version: 6, kind: "client", id: "other" }, 5, true],
  ["a read before it was made", { version: 6, kind: "client", id: "app" }, 6, true],
  ["a read", { version: 6, kind: "client", id: "app" }, 5, false],
  ["every record of a read's kind", { version: 6, kind: "client", id: "*" }, 5, false],
  ["a read, by a cut-off", { version: 6, kind: "cut-off", id: "nb:client:app" }, 5, false],
  ["unknown records, before those that the shard knows", { version: 6, kind: "client", id: "other" }, 3, false],
] as const)("I7: a conditional revocation after a change that names %s", async (_, change, version, revokes) => {
  await shard().check([], [], -1);
  const changes: readonly NamedChange[] = [{ version: 5, kind: "user", id: "alice" }, change];
  await shard().raise({ cv: 6, changes }, true);
  const condition = { version, reads: [{ kind: "client", id: "app" }] as const };
  const response = await shard().revoke([revocation("j:token")], true, -2, condition);
  expect(response.isOutdated !== true).toBe(revokes);
  const { revoked } = await shard().check(["j:token"], [], -1);
  expect(revoked).toEqual(revokes ? ["j:token"] : []);
});

it("bounded mode: a revocation does not wait, and the next lease contains it", async () => {
  const before = await lease(-1, 5_000);
  expect(await duration(shard().revoke([revocation("j:a")], false))).toBeLessThan(200);
  expect((await lease(before.seq, 5_000)).rows.map(({ key }) => key)).toEqual(["j:a"]);
});

it("I4: after a crash, a revocation waits for the boot fence, and not again afterwards", async () => {
  await lease(-1, 100);
  await abortAllDurableObjects();
  const fence = outlast(leaseTiming, leaseTiming.horizonStepMs + 100);
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeGreaterThanOrEqual(fence - 50);
  expect(await duration(shard().revoke([revocation("j:b")], true))).toBeLessThan(200);
});

it("I4: an object that was idle after its last holder released its lease has no fence", async () => {
  await lease(-1, 5_000);
  await shard().release("a");
  expect(await sql("SELECT horizon_ms FROM shard_state")).toEqual([{ horizon_ms: null }]);
  await evictDurableObject(shard());
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeLessThan(500);
});

it("I4: an object that was idle after a lease ended without release has no fence", async () => {
  await lease(-1, 50);
  await vi.waitFor(async () => expect(await sql("SELECT horizon_ms FROM shard_state")).toEqual([{ horizon_ms: null }]));
  await evictDurableObject(shard());
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeLessThan(500);
});

it("I4: a holder that releases its lease before the boot fence has passed leaves no fence to the next instance", async () => {
  await lease(-1, 100);
  await abortAllDurableObjects();
  await lease(-1, 50, { holder: "b" });
  await shard().release("b");
  expect(await sql("SELECT horizon_ms IS NULL AS closed FROM shard_state")).toEqual([{ closed: 0 }]);
  await vi.waitFor(
    async () => expect(await sql("SELECT horizon_ms FROM shard_state")).toEqual([{ horizon_ms: null }]),
    { timeout: 15_000, interval: 200 },
  );
  await evictDurableObject(shard());
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeLessThan(500);
});

it("I4: an object that was idle after only exact checks has a fence of less than a second", async () => {
  await shard().check([], [], -1);
  await evictDurableObject(shard());
  const waitedMs = await duration(shard().revoke([revocation("j:a")], true));
  expect(waitedMs).toBeGreaterThanOrEqual(outlast(leaseTiming, leaseTiming.checkStepMs) - 50);
  expect(waitedMs).toBeLessThan(1_500);
});

it("I4: an instance that starts 60 s after the horizon has no fence", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_900_000_000_000 });
  await lease(-1, 1_000);
  await abortAllDurableObjects();
  vi.setSystemTime(1_900_000_000_000 + 64_000);
  expect(await duration(shard().revoke([revocation("j:a")], true))).toBeLessThan(500);
});

it("I5: acknowledged changes are in storage, and storage takes precedence over memory", async () => {
  await shard().revoke([revocation("j:a"), revocation("g:b")], false);
  await shard().raise({ cutOffs: [{ key: "nb:sub:alice", version: 5, untilMs: Date.now() + hour }], cv: 7 }, false);
  await runInDurableObject(shard(), (_, { storage }) => storage.sql.exec("DELETE FROM revoked WHERE key = 'g:b'"));
  expect((await shard().check(["j:a", "g:b"], [], -1)).revoked).toEqual(["j:a", "g:b"]);
  await evictDurableObject(shard());
  const response = await shard().check(["j:a", "g:b"], ["nb:sub:alice", "nb:sub:bob"], -1);
  expect(response).toMatchObject({ revoked: ["j:a"], cutOffs: [{ key: "nb:sub:alice", version: 5 }], cv: 7 });
});

it("I5: a failed write has no effect in memory or in storage", async () => {
  const before = await lease(-1, 100);
  await runInDurableObject(shard(), (_, { storage }) => {
    storage.sql.exec("CREATE TRIGGER broken BEFORE INSERT ON audit_outbox BEGIN SELECT raise(ABORT, 'disk full'); END");
  });
  await expect(async () => await shard().revoke([revocation("j:a")], false)).rejects.toThrow("disk full");
  expect((await shard().check(["j:a"], [], -1)).revoked).toEqual([]);
  expect(await lease(before.seq, 100)).toMatchObject({ rows: [], seq: before.seq });
  await runInDurableObject(shard(), (_, { storage }) => storage.sql.exec("DROP TRIGGER broken"));
  await shard().revoke([revocation("j:a")], false);
  expect(await count("audit_outbox")).toBe(1);
});

it("I3: leases and checks write the horizon once in C, and immediately for a longer lease", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_900_000_000_000 });
  const horizon = async () => (await sql<{ horizon_ms: number }>("SELECT horizon_ms FROM shard_state"))[0]!.horizon_ms;
  await lease(-1, 1_000);
  const first = await horizon();
  expect(first).toBe(1_900_000_000_000 + Math.ceil(outlast(leaseTiming, 1_000)) + 2_000);
  vi.setSystemTime(1_900_000_000_000 + 2_000);
  await lease(-1, 1_000);
  await shard().check([], [], -1);
  expect(await horizon()).toBe(first);
  vi.setSystemTime(1_900_000_000_000 + 2_001);
  await shard().check([], [], -1);
  expect(await horizon()).toBe(first + 2_001);
  await lease(-1, 2_000);
  expect(await horizon()).toBeGreaterThan(first + 2_001);
});

it("leases are capped, and a delta contains the changes since then", async () => {
  const longest = await lease(-1, 86_400_000);
  expect(longest).toMatchObject({ snapshot: true, rows: [] });
  // The shard's lease on the control log bounds it.
  expect(longest.leaseMs).toBeGreaterThan(7_000);
  expect(longest.leaseMs).toBeLessThanOrEqual(10_000);
  await shard().revoke([revocation("j:a"), revocation("j:b")], false);
  const snapshot = await lease(-1, 100);
  expect(snapshot.rows.map(({ key }) => key)).toEqual(["j:a", "j:b"]);
  await shard().revoke([revocation("j:c"), revocation("j:a", "longer", Date.now() + 2 * hour)], false);
  const delta = await lease(snapshot.seq, 100);
  expect(delta.snapshot).toBe(false);
  expect(delta.rows.map(({ key }) => key)).toEqual(["j:c", "j:a"]);
  expect(await lease(delta.seq, 100)).toMatchObject({ snapshot: false, rows: [] });
  expect(await lease(delta.seq + 1, 100)).toMatchObject({ snapshot: true, seq: delta.seq });
});

it("cut-offs and the control version combine by maximum, in any order", async () => {
  const untilMs = Date.now() + hour;
  await shard().raise({ cutOffs: [{ key: "nb:client:app", version: 20, untilMs }], cv: 4 }, false);
  await shard().raise({ cutOffs: [{ key: "nb:client:app", version: 10, untilMs: untilMs + 1 }], cv: 3 }, false);
  const cutOffs = [{ key: "nb:client:app", version: 20, untilMs: untilMs + 1 }];
  expect(await shard().check([], ["nb:client:app"], -1)).toEqual({
    revoked: [],
    cutOffs,
    seq: 2,
    cv: 4,
    changes: undefined,
  });
  await evictDurableObject(shard());
  expect(await lease(-1, 100)).toMatchObject({ cutOffs, cv: 4 });
});

it("a large set is checked exactly, from storage, and replicated row by row again when it is smaller", async () => {
  const start = 1_900_000_000_000;
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  const keys = Array.from({ length: limits.leaseReplicaRows }, (_, index) => `j:${index}`);
  await shard().revoke(
    keys.map((key) => revocation(key, "one operation for all", start + hour)),
    false,
  );
  await shard().revoke([revocation("j:last", "last", start + 2 * hour)], false);
  expect((await lease(-1, 100)).filter).toBeDefined();
  expect((await shard().check(["j:0", "j:last", "j:other"], [], -1)).revoked).toEqual(["j:0", "j:last"]);
  await abortAllDurableObjects();
  const checkOnly = { kind: "checkOnly", cv: 0, changes: undefined, againMs: 1_000 };
  expect(await shard().lease(leaseRequest())).toEqual(checkOnly);
  expect((await shard().check(["j:7", "j:other"], [], -1)).revoked).toEqual(["j:7"]);
  vi.setSystemTime(start + hour + 2 * 60_000);
  for (let bell = 0; bell < limits.leaseReplicaRows / 1_000; bell += 1) await runDurableObjectAlarm(shard());
  expect((await lease(-1, 100)).rows.map(({ key }) => key)).toEqual(["j:last"]);
});

it("rows expire by the slowest clock: a minute after their time, not before", async () => {
  const start = 1_900_000_000_000;
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  await shard().revoke([revocation("j:a", "a", start + hour)], false);
  vi.setSystemTime(start + hour + 59_000);
  await runDurableObjectAlarm(shard());
  expect((await shard().check(["j:a"], [], -1)).revoked).toEqual(["j:a"]);
  vi.setSystemTime(start + hour + 2 * 60_000);
  await runDurableObjectAlarm(shard());
  expect((await shard().check(["j:a"], [], -1)).revoked).toEqual([]);
  expect(await count("revoked")).toBe(0);
  expect(await count("operations")).toBe(0);
});

it("ADR 15: a clock that jumps ahead deletes no revocation of a token that is live by every other clock", async () => {
  const start = 1_900_000_000_000;
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  await shard().revoke([revocation("j:a", "a", start + hour)], false);
  await runDurableObjectAlarm(shard());
  const ringAt = (scheduledTime: number) =>
    runInDurableObject(shard(), (instance) =>
      (instance as unknown as TokenRevocationStore).alarm({ isRetry: false, retryCount: 0, scheduledTime }),
    );
  vi.setSystemTime(start + 30 * 24 * hour);
  await ringAt(start + 1_000);
  vi.setSystemTime(start + 2_000);
  expect((await shard().check(["j:a"], [], -1)).revoked).toEqual(["j:a"]);
  vi.setSystemTime(start + 2 * hour);
  await ringAt(start + 2 * hour);
  expect((await shard().check(["j:a"], [], -1)).revoked).toEqual([]);
});

it("the wait of an acknowledgement is bounded by the time limit of its callers", () => {
  // Under pressure, a lease may last for ten seconds; without leases, the only wait is for a predecessor.
  expect(longestWaitMs(leaseTiming, 1_000)).toBe(12_500);
  expect(longestWaitMs(leaseTiming, 0)).toBeLessThan(2_100);
});

describe("large sets are replicated by filters", () => {
  const keysOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `j:${prefix}.${index}`);
  const revokeAll = (keys: readonly string[], untilMs?: number) =>
    shard().revoke(
      keys.map((key) => revocation(key, undefined, untilMs)),
      false,
    );
  const filterLease = (sinceSeq: number, filterSeq = -1) => lease(sinceSeq, 100, { filterSeq });
  const isIn = ({ filter, rows }: Awaited<ReturnType<typeof lease>>, key: string) =>
    (filter !== undefined && new RowFilter(filter.bytes).mayContain(key)) || rows.some((row) => row.key === key);

  it("a small snapshot contains its keys; a larger one is a filter with a twentieth of the bytes", async () => {
    await revokeAll(keysOf("a", 500));
    expect(await filterLease(-1)).toMatchObject({ snapshot: true, rows: { length: 500 } });
    await revokeAll(keysOf("b", 8_500));
    const { filter, rows } = await filterLease(-1);
    expect(rows).toEqual([]);
    expect(filter?.seq).toBe(9_000);
    expect(filter!.bytes.length * 20).toBeLessThan(9_000 * 40);
  });

  it("snapshots share the filter; newer rows are added beside it, also those of a single client", async () => {
    await revokeAll(keysOf("a", 2_000));
    const first = await filterLease(-1);
    await revokeAll(["j:new"]);
    const second = await filterLease(-1);
    expect(second.filter).toEqual(first.filter);
    expect(second.rows.map(({ key }) => key)).toEqual(["j:new"]);
    await revokeAll(keysOf("b", 300));
    expect((await filterLease(-1)).filter!.seq).toBe(2_301);
  });

  it("beyond the memory limit, leases continue: deltas for replicas, filters for cold isolates", async () => {
    await revokeAll(keysOf("a", limits.leaseReplicaRows));
    const held = await filterLease(-1);
    await revokeAll(keysOf("b", 3_000));
    expect(await filterLease(held.seq, held.filter!.seq)).toMatchObject({ snapshot: false, rows: { length: 3_000 } });
    const cold = await filterLease(-1);
    expect(cold.snapshot).toBe(true);
    for (const key of [...keysOf("a", limits.leaseReplicaRows), ...keysOf("b", 3_000)]) {
      if (!isIn(cold, key)) expect.fail(`${key} is neither in the filter nor after it`);
    }
    const alive = keysOf("alive", 10_000).filter((key) => isIn(cold, key));
    expect(alive.length).toBeLessThan(60);
    expect((await shard().check(["j:a.0", "j:b.2999", "j:alive.0"], [], -1)).revoked).toEqual(["j:a.0", "j:b.2999"]);
  });

  it("a new instance of a large shard checks exactly at first, and grants leases when its filter is built", async () => {
    await shard().raise({ cutOffs: [{ key: "nb:sub:a", version: 1, untilMs: Date.now() + hour }] }, false);
    await revokeAll(keysOf("a", limits.leaseReplicaRows + 2_000));
    const before = await filterLease(-1);
    await evictDurableObject(shard());
    expect(await shard().lease(leaseRequest({ filterSeq: -1 }))).toMatchObject({ kind: "checkOnly" });
    expect((await shard().check(["j:a.11999", "j:b"], ["nb:sub:a"], -1)).revoked).toEqual(["j:a.11999"]);
    // A complete replica continues.
    expect(await filterLease(before.seq, before.filter!.seq)).toMatchObject({
      kind: "lease",
      snapshot: false,
      rows: [],
    });
    await vi.waitFor(async () => {
      const cold = await filterLease(-1);
      expect(cold.cutOffs).toMatchObject([{ key: "nb:sub:a" }]);
      expect(isIn(cold, "j:a.11999") && isIn(cold, "j:a.0")).toBe(true);
    }, 10_000);
  });

  it("a replica with an old filter gets the new one with its renewal", async () => {
    await revokeAll(keysOf("a", limits.leaseReplicaRows));
    const old = await filterLease(-1);
    await revokeAll(keysOf("b", limits.leaseReplicaRows));
    // The build reads storage in pages, between requests.
    await vi.waitFor(async () => expect((await filterLease(-1)).filter!.seq).toBeGreaterThan(15_000), 10_000);
    const renewed = await filterLease(20_000, old.filter!.seq);
    expect(renewed).toMatchObject({ snapshot: true, seq: 20_000 });
    expect(isIn(renewed, "j:a.0") && isIn(renewed, "j:b.9999")).toBe(true);
    expect(await filterLease(20_000, renewed.filter!.seq)).toMatchObject({ snapshot: false, rows: [] });
  });
});

describe("counters of confirmed writes", () => {
  const nothing = { count: 0, longestMs: 0, endedByConfirmation: 0, endedByLeaseEnd: 0, bootFences: 0 };

  it("a shard counts since its instance started", async () => {
    expect(await shard().statistics()).toMatchObject({ holders: 0, waiting: 0, leasesGranted: 0, waits: nothing });
    // "a" confirms; "b" is frozen; "c" releases.
    await lease(-1, 300, { holder: "a" });
    await lease(-1, 300, { holder: "b" });
    await lease(-1, 300, { holder: "c" });
    await shard().release("c");
    const held = shard().lease(leaseRequest({ holder: "a", sinceSeq: 0, confirmedSeq: 0, leaseMs: 300, hold: true }));
    const revoked = shard().revoke([revocation("j:x")], true);
    await held;
    expect(await shard().statistics()).toMatchObject({ holders: 2, waiting: 1, releases: 1, waits: nothing });
    await lease(1, 300, { holder: "a", confirmedSeq: 1 });
    await revoked;
    const { waits, ...counters } = await shard().statistics();
    expect(waits).toMatchObject({ count: 1, endedByConfirmation: 0, endedByLeaseEnd: 1, bootFences: 0 });
    expect(waits.longestMs).toBeGreaterThanOrEqual(200);
    expect(counters).toMatchObject({ waiting: 0, leasesGranted: 5, renewalsHeld: 1, confirmations: 2, releases: 1 });
  });

  it("a wait that a confirmation ends, and an acknowledgement without a wait", async () => {
    await lease(-1, 2_000, { holder: "a" });
    const revoked = shard().revoke([revocation("j:x")], true);
    await lease(1, 2_000, { holder: "a", confirmedSeq: 1 });
    await revoked;
    await shard().release("a");
    await shard().revoke([revocation("j:y")], true);
    const { waits } = await shard().statistics();
    expect(waits).toMatchObject({ count: 1, endedByConfirmation: 1, endedByLeaseEnd: 0 });
  });

  it("a slow acknowledgement is logged with the shard, the time, and the holders that did not confirm", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    await lease(-1, 700, { holder: "frozen" });
    await shard().revoke([revocation("j:x")], true);
    const lines = warned.mock.calls.map(([line]) => JSON.parse(String(line)));
    expect(lines).toEqual([
      {
        event: "acknowledgement-slow",
        shard: "revocation:g1:wnam:0",
        waitedMs: expect.any(Number),
        fenceMs: 0,
        lacking: ["frozen"],
        lackingInAll: 1,
        unlogged: 0,
      },
    ]);
    expect(lines[0].waitedMs).toBeGreaterThanOrEqual(500);
  });

  it("after a crash, counters restart, and the boot fence is counted", async () => {
    await lease(-1, 100);
    await abortAllDurableObjects();
    await shard().revoke([revocation("j:x")], true);
    expect((await shard().statistics()).waits).toMatchObject({ count: 1, bootFences: 1 });
  });
});
