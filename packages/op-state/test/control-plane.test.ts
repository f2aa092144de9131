import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import { loadGenerations } from "@edge-op/shared/storage/generation-table";
import { loadUser } from "@edge-op/shared/users/user-directory";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { setChangeLogBackTo, setGenerationsBackTo } from "../../../test/fixtures/set-back.ts";
import { ControlLeases } from "../src/changes/control-leases.ts";
import { ControlPlane } from "../src/control/control-plane.ts";
import { registerAtDatabase } from "../src/revocation/register-at-database.ts";
import {
  actualWait,
  commitChange,
  endInstance,
  fixtures,
  follow,
  followAll,
  plane,
  revocationGenerations,
  ring,
  settled,
  start,
  told,
  useControlPlaneFixtures,
} from "./fixtures/control-plane-fixtures.ts";

const { DB } = env as unknown as { DB: D1Database };
const day = 86_400_000;
const wnam = { shards: 2, hint: "wnam" } as const;

useControlPlaneFixtures();

const names = (generation: number, count: number) =>
  Array.from({ length: count }, (_, shard) => `revocation:g${generation}:wnam:${shard}`);
const firstShards = names(1, 8);
beforeEach(() => Promise.all(firstShards.map(follow)));

const cvs = () => Object.fromEntries([...fixtures.shards].map(([name, { cv }]) => [name, cv]).sort());
/** The versions for which shards vouch, including shards that were not called: the object may have forgotten to whom it granted leases. */
const inForce = async () => {
  await followAll();
  return cvs();
};
const all = (shardNames: readonly string[], cv: number) => Object.fromEntries(shardNames.map((name) => [name, cv]));
const alice = { kind: "sub", id: "alice", operationId: "c1", actor: "admin" } as const;
const opening = { store: "revocation", regions: { wnam }, operationId: "o1" } as const;

function count(table: string): Promise<number> {
  return runInDurableObject(
    plane(),
    (_, { storage }) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  );
}

function events(): Promise<string[]> {
  return runInDurableObject(plane(), (_, { storage }) =>
    storage.sql
      .exec<{ type: string }>("SELECT type FROM audit_outbox ORDER BY seq")
      .toArray()
      .map(({ type }) => type),
  );
}

it("when the call returns, a published change is on every live shard, leases included, and no work is left", async () => {
  await plane().begin("op");
  await commitChange("app");
  expect(await plane().publish("op")).toMatchObject({ cv: 2 });
  expect(cvs()).toEqual(all(names(1, 8), 2));
  expect([...fixtures.shards.values()].every(({ waits }) => waits.every(Boolean))).toBe(true);
  expect(await count("intent")).toBe(0);
});

it("ADR 12: the first alarm announces the changes of the set-up, also after an eviction", async () => {
  await commitChange("admin");
  await plane().wakeAudit();
  await endInstance();
  await ring();
  expect(await inForce()).toEqual(all(firstShards, 2));
});

it("bounded mode: shards acknowledge immediately", async () => {
  await runInDurableObject(plane(), async (_, ctx) => {
    const env_ = { ...(env as object), REVOCATION_MODE: "bounded" } as ConstructorParameters<typeof ControlPlane>[1];
    const bounded = new ControlPlane(ctx, env_);
    await actualWait(20);
    for (const name of firstShards) await bounded.follow(name, 0);
    await bounded.publish("op");
  });
  expect([...fixtures.shards.values()].flatMap(({ waits }) => waits)).toEqual(Array(8).fill(false));
});

it("if a Worker fails after its commit, the alarm publishes the change, also after an eviction", async () => {
  await plane().begin("op");
  await commitChange("app");
  await endInstance();
  vi.setSystemTime(start + 10_000);
  expect(await ring()).toBe(true);
  expect(await inForce()).toEqual(all(names(1, 8), 2));
});

const alicesChange = { kind: "sub", id: "alice", actor: "admin", changedAtMs: start } as const;
const addAlice = () =>
  DB.prepare(
    "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('alice', 'alice', 'alice', 0, 0)",
  ).run();
/** Commits like an endpoint: the change and the cut-off in one transaction. Returns the change's number. */
async function commitCutOff(sub: string, atMs = Date.now()): Promise<number> {
  const change = "INSERT INTO control_changes (kind, id, at_ms) VALUES ('user', ?1, ?2) RETURNING version";
  const [row] = await DB.batch<{ version: number }>([
    DB.prepare(change).bind(sub, atMs),
    recordNewest(DB, { key: `nb:sub:${sub}`, untilMs: cutOffUntilMs(atMs) }),
  ]);
  return row!.results[0]!.version;
}
const cutOffsReceived = () => [...fixtures.shards.values()].map(({ cutOffs }) => [...cutOffs.keys()]);

it("a change that ends grants is published with the cut-off, in one round", async () => {
  await addAlice();
  await plane().begin("op", alicesChange);
  const version = await commitCutOff("alice");
  await commitChange("app");
  expect(await plane().publish("op", { version, listsSessions: false })).toMatchObject({ cv: 3 });
  expect(cutOffsReceived()).toEqual(Array(8).fill(["nb:sub:alice"]));
  // Ordered by its own number, although a later change is announced with it.
  expect(told("revocation:g1:wnam:0").cutOffs.get("nb:sub:alice")?.version).toBe(2);
  expect(await events()).toEqual(["cut-off"]);
  expect(await count("intent")).toBe(0);
});

it("a cut-off committed to a restored D1 covers grants of the lost time, whose versions are higher", async () => {
  for (let change = 0; change < 5; change += 1) await commitChange("app");
  expect(await plane().publish("op")).toMatchObject({ cv: 6 });
  await DB.batch([
    DB.prepare("DELETE FROM control_changes WHERE version > 2"),
    DB.prepare("UPDATE sqlite_sequence SET seq = 2 WHERE name = 'control_changes'"),
  ]);
  await addAlice();
  await plane().begin("op2", alicesChange);
  const version = await commitCutOff("alice");
  expect(version).toBe(3);
  const { cv } = await plane().publish("op2", { version, listsSessions: false });
  const cutOff = told("revocation:g1:wnam:0").cutOffs.get("nb:sub:alice");
  expect(cutOff?.version).toBeGreaterThan(6);
  expect(cutOff?.version).toBeLessThanOrEqual(cv);
  // The records contain it with the number to which it moved.
  expect((await loadUser(DB, "alice"))?.cutOffs).toMatchObject([{ key: "nb:sub:alice", version: cutOff?.version }]);
});

it("if a Worker fails after its commit, the alarm makes the cut-off; if it fails before, nothing changes", async () => {
  await plane().begin("op", alicesChange);
  vi.setSystemTime(start + 10_000);
  await ring();
  expect(cutOffsReceived()).toEqual(Array(8).fill([]));
  await commitCutOff("alice", start);
  await endInstance();
  vi.setSystemTime(start + 30_000);
  await ring();
  await followAll();
  expect(cutOffsReceived()).toEqual(Array(8).fill(["nb:sub:alice"]));
  expect(await events()).toEqual(["cut-off"]);
});

it("an intent outlives its first publication, because the commit may come later", async () => {
  await plane().begin("op");
  vi.setSystemTime(start + 10_000);
  await ring();
  expect(await inForce()).toEqual(all(names(1, 8), 1));
  await commitChange("app");
  vi.setSystemTime(start + 30_000);
  await ring();
  expect(await inForce()).toEqual(all(names(1, 8), 2));
  expect(await count("intent")).toBe(1);
  vi.setSystemTime(start + 120_000);
  await ring();
  expect(await count("intent")).toBe(0);
});

it("if a shard does not respond, the call returns when its lease has ended, and the others have the change immediately", {
  timeout: 20_000,
}, async () => {
  fixtures.refuse = (name) => name === "revocation:g1:wnam:3";
  await plane().begin("op");
  await commitChange("app");
  const startedAt = performance.now();
  const published = plane().publish("op");
  const others = all(firstShards.toSpliced(3, 1), 2);
  await vi.waitFor(() => expect(cvs()).toEqual({ ...others, "revocation:g1:wnam:3": 0 }));
  const tookMs = await published.then(() => performance.now() - startedAt);
  expect(tookMs).toBeGreaterThan(9_900);
  expect(tookMs).toBeLessThan(11_000);
  expect(await count("intent")).toBe(0);
  await follow("revocation:g1:wnam:3");
  expect(cvs()).toEqual(all(firstShards, 2));
});

it("a shard without a lease is not awaited, and not called", async () => {
  vi.setSystemTime(start + 10_500);
  await commitChange("app");
  expect(await plane().publish("op")).toMatchObject({ cv: 2 });
  expect([...fixtures.shards.values()].map(({ calls }) => calls)).toEqual(Array(8).fill(0));
});

it("a new instance waits once for the leases of its predecessor", async () => {
  await endInstance();
  fixtures.waited.length = 0;
  await plane().publish("op");
  expect(Math.max(...fixtures.waited)).toBeGreaterThan(12_400);
  expect(Math.max(...fixtures.waited)).toBeLessThanOrEqual(12_501);
  fixtures.waited.length = 0;
  await plane().publish("op2");
  expect(fixtures.waited).toEqual([]);
});

describe("a shard to which the control plane does not respond registers in D1", () => {
  const register = (shard: string, at: { cv: number; cvAtMs: number | undefined }) =>
    registerAtDatabase(DB, shard, at, Date.now());
  const other = "revocation:g1:wnam:9";
  const registrations = async () => (await DB.prepare("SELECT shard FROM control_registrations").all()).results;

  it("it reads announced changes, and none that are only committed", async () => {
    await plane().cutOff(alice);
    await commitChange("app");
    const news = await register(other, { cv: 0, cvAtMs: undefined });
    expect(news).toMatchObject({ cv: 2, cvAtMs: start, changes: [{ version: 1 }, { version: 2, kind: "cut-off" }] });
    expect(news.cutOffs).toMatchObject([{ key: "nb:sub:alice", version: 2 }]);
    await plane().cutOff({ ...alice, operationId: "c2" });
    expect((await register(other, news)).changes.map(({ version }) => version)).toEqual([3, 4]);
  });

  it("a cut-off that a later, unannounced one has replaced counts up to the announced version", async () => {
    await plane().cutOff(alice);
    await addAlice();
    await commitCutOff("alice");
    const news = await register(other, { cv: 1, cvAtMs: 0 });
    expect(news).toMatchObject({ cv: 2, cutOffs: [{ key: "nb:sub:alice", version: 2 }] });
  });

  it("if D1 lacks a change that the shard contains, D1 was restored, and the shard vouches for nothing", async () => {
    await commitChange("app");
    await plane().publish("op");
    await setChangeLogBackTo(DB, 1);
    vi.setSystemTime(start + 1);
    await commitChange("other");
    await expect(register(other, { cv: 2, cvAtMs: start })).rejects.toThrow("D1 did not respond");
  });

  it("an announcement waits until the shard has acknowledged, and deletes ended registrations", async () => {
    await register(other, { cv: 0, cvAtMs: undefined });
    await commitChange("app");
    expect(await plane().publish("op")).toMatchObject({ cv: 2 });
    expect(told(other).cv).toBe(2);
    vi.setSystemTime(start + 70_500);
    await plane().publish("op2");
    expect(await registrations()).toEqual([]);
  });

  it("… or until its registration has ended", { timeout: 20_000 }, async () => {
    fixtures.refuse = (name) => name === other;
    await register(other, { cv: 0, cvAtMs: undefined });
    await commitChange("app");
    const startedAt = performance.now();
    expect(await plane().publish("op")).toMatchObject({ cv: 2 });
    expect(performance.now() - startedAt).toBeGreaterThan(10_400);
    expect(performance.now() - startedAt).toBeLessThan(11_000);
  });

  it("a restored D1 has lost registrations: the longest of them is awaited, also by a new instance", async () => {
    await commitChange("app");
    await plane().publish("op");
    await register(other, { cv: 0, cvAtMs: undefined });
    await setChangeLogBackTo(DB, 1);
    await DB.prepare("DELETE FROM control_registrations").run();
    vi.setSystemTime(start + 1);
    fixtures.waited.length = 0;
    await plane().publish("op2");
    expect(Math.max(...fixtures.waited)).toBeGreaterThan(10_400);
    await followAll();
    await endInstance();
    fixtures.waited.length = 0;
    await plane().publish("op3");
    expect(Math.max(...fixtures.waited)).toBeGreaterThan(10_400);
  });

  it.each([
    ["never", undefined, 0, 0],
    ["a moment ago", start - 1, 10_400, 10_500],
    ["a minute ago, by a clock that may have been behind", start - 60_000, 10_400, 10_500],
    ["long ago", start - 80_000, 0, 0],
  ])(
    "I7: a new instance without a horizon waits for them if D1 was found restored %s",
    (_, restoredAtMs, least, most) => {
      const { fenceMs } = new ControlLeases(leaseTiming, { horizon: undefined, restoredAtMs }, start).startWait(
        1,
        start,
      );
      expect(fenceMs).toBeGreaterThanOrEqual(least);
      expect(fenceMs).toBeLessThanOrEqual(most);
    },
  );
});

it("I7: a shard that responds with an older version has not been told: it is called until it contains the change", async () => {
  const [slow] = firstShards;
  fixtures.ignore = (name) => name === slow && told(name).calls < 3;
  await plane().begin("op");
  await commitChange("app");
  expect(await plane().publish("op")).toMatchObject({ cv: 2 });
  expect(told(slow!)).toMatchObject({ cv: 2, calls: 3 });
});

it("publish is idempotent and needs no begin", async () => {
  expect(await plane().publish("op")).toMatchObject({ cv: 1 });
  expect(await plane().publish("op")).toMatchObject({ cv: 1 });
  expect(await inForce()).toEqual(all(names(1, 8), 1));
});

it("a cut-off is a change with its own number", async () => {
  await plane().cutOff(alice);
  const untilMs = start + day + 15 * 60_000;
  for (const name of names(1, 8)) {
    const cutOff = { key: "nb:sub:alice", untilMs, version: 2 };
    expect([...told(name).cutOffs.values()]).toEqual([cutOff]);
  }
});

it("a repeated cut-off is the same cut-off and one event; another one is later", async () => {
  const version = () => told("revocation:g1:wnam:0").cutOffs.get("nb:sub:alice")?.version;
  await plane().cutOff(alice);
  vi.setSystemTime(start + 60_000);
  await endInstance();
  await plane().cutOff(alice);
  await followAll();
  expect(version()).toBe(2);
  await plane().cutOff({ ...alice, operationId: "c2" });
  expect(version()).toBe(3);
  expect(await events()).toEqual(["cut-off", "cut-off"]);
  expect(await count("cut_off")).toBe(1);
});

it("concurrent calls of one operation are one change, also beside the alarm", async () => {
  await Promise.all([plane().cutOff(alice), plane().cutOff(alice), plane().cutOff({ ...alice, operationId: "c2" })]);
  const changes = DB.prepare("SELECT count(*) AS n FROM control_changes WHERE kind = 'cut-off'");
  expect(await changes.first("n")).toBe(2);
  expect(await events()).toEqual(["cut-off", "cut-off"]);
});

it("failing work makes the alarm fire every few seconds, not in a loop", async () => {
  await DB.prepare("ALTER TABLE announced_version RENAME TO unreachable").run();
  await expect(settled(() => plane().cutOff(alice))).rejects.toThrow();
  vi.setSystemTime(start + 30_000);
  await ring();
  expect(await runInDurableObject(plane(), (_, { storage }) => storage.getAlarm())).toBe(start + 35_000);
  await DB.prepare("ALTER TABLE unreachable RENAME TO announced_version").run();
  await endInstance();
  vi.setSystemTime(start + 35_000);
  await ring();
  await followAll();
  expect(told("revocation:g1:wnam:0").cutOffs.get("nb:sub:alice")?.version).toBe(2);
});

it("G4: a shard of a new generation receives live cut-offs with the control version, before it responds", async () => {
  await plane().cutOff(alice);
  await commitChange("app");
  expect(await plane().openGeneration(opening)).toEqual({ generation: 2 });
  await Promise.all(names(2, 2).map(follow));
  expect([...told("revocation:g2:wnam:0").cutOffs.keys()]).toEqual(["nb:sub:alice"]);
  expect(told("revocation:g2:wnam:0").cutOffs.get("nb:sub:alice")?.version).toBe(2);
  // 1 the migration's, 2 the cut-off's, 3 app's, 4 the opening's.
  expect(cvs()).toEqual({ ...all(firstShards, 4), ...all(names(2, 2), 4) });
  const [first, second] = await revocationGenerations();
  expect(first).toMatchObject({ generation: 1, mintedUntilMs: Date.now(), retired: false });
  expect(second).toEqual({
    store: "revocation",
    generation: 2,
    regions: { wnam },
    mintedFromMs: Date.now(),
    mintedUntilMs: undefined,
    retired: false,
  });
});

it("a shard that lacks many cut-offs reads them in parts, and vouches once it has all of them", async () => {
  const record = DB.prepare("INSERT INTO cut_offs SELECT 'nb:sub:' || ?1, max(version), ?2 FROM control_changes");
  const change = DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('user', ?1, 0)");
  const ids = Array.from({ length: 2_100 }, (_, id) => String(id));
  for (let from = 0; from < ids.length; from += 100) {
    const some = ids.slice(from, from + 100).flatMap((id) => [change.bind(id), record.bind(id, start + 400 * day)]);
    await DB.batch(some);
  }
  await plane().publish("op");
  const cold = "revocation:g1:wnam:9";
  await follow(cold);
  expect(told(cold)).toMatchObject({ cv: 2_001, vouchesUntilMs: 0 });
  await follow(cold);
  expect(told(cold)).toMatchObject({ cv: 2_101, vouchesUntilMs: start + 10_000 });
  expect(told(cold).cutOffs.size).toBe(2_100);
});

it("an opening that is interrupted while it is announced is finished by the alarm, once", async () => {
  await DB.prepare("ALTER TABLE announced_version RENAME TO unreachable").run();
  await expect(settled(() => plane().openGeneration(opening))).rejects.toThrow();
  expect(await revocationGenerations()).toHaveLength(2);
  await endInstance();
  vi.setSystemTime(start + 30_000);
  await ring();
  await DB.prepare("ALTER TABLE unreachable RENAME TO announced_version").run();
  await ring();
  // Regardless of the number of attempts: the migration's change and the opening's.
  expect(await inForce()).toEqual(all(firstShards, 2));
  expect((await revocationGenerations()).map(({ generation }) => generation)).toEqual([1, 2]);
  expect(await plane().openGeneration(opening)).toEqual({ generation: 2 });
  expect(await events()).toEqual(["generation-opened"]);
});

it("parallel openings follow one another; the same operation opens once", async () => {
  const opened = await Promise.all(
    ["o1", "o2", "o1"].map((operationId) => plane().openGeneration({ ...opening, operationId })),
  );
  expect(opened).toEqual([{ generation: 2 }, { generation: 3 }, { generation: 2 }]);
  expect((await revocationGenerations()).map(({ mintedUntilMs }) => mintedUntilMs)).toEqual([start, start, undefined]);
});

it("a generation of another store is announced like any change", async () => {
  expect(await plane().openGeneration({ ...opening, store: "code" })).toEqual({ generation: 2 });
  expect(cvs()).toEqual(all(names(1, 8), 2));
});

it.each([
  ["no region", {}],
  ["no shards", { wnam: { shards: 0, hint: "wnam" as const } }],
  ["a region that no id can name", { "west-1": wnam }],
  ["more shards than can be told of a change", { wnam: { shards: 1_001, hint: "wnam" as const } }],
])("an opening with %s leaves no trace", async (_, regions) => {
  await expect(settled(() => plane().openGeneration({ ...opening, regions }))).rejects.toThrow(
    "regions of a generation",
  );
  expect(await count("opening")).toBe(0);
});

/** A token lives a day, a device code half an hour, and an isolate's copy of the table a quarter of an hour. */
const life = day + 45 * 60_000;

it("G2: a generation is retired exactly when no id that names it can be live", async () => {
  await plane().openGeneration({ ...opening, store: "code" });
  const due = start + life;
  vi.setSystemTime(due - 1);
  await ring();
  const codeGenerations = async () =>
    ((await loadGenerations(DB)) ?? []).filter(({ store }) => store === "code").map(({ retired }) => retired);
  expect(await codeGenerations()).toEqual([false, false]);
  await endInstance();
  vi.setSystemTime(due);
  await ring();
  expect(await codeGenerations()).toEqual([true, false]);
  expect(await inForce()).toEqual(all(names(1, 8), 3));
  expect(await events()).toEqual(["generation-opened", "generation-retired"]);
});

it("G2: shards of a retiring generation learn of it, so that no isolate continues to call them", async () => {
  await plane().openGeneration(opening);
  vi.setSystemTime(start + life);
  await Promise.all([...firstShards, ...names(2, 2)].map(follow));
  await ring();
  expect((await revocationGenerations()).map(({ retired }) => retired)).toEqual([true, false]);
  expect(cvs()).toEqual({ ...all(firstShards, 3), ...all(names(2, 2), 3) });
});

it("G2: a retirement that was not announced is announced again", async () => {
  await plane().openGeneration(opening);
  await DB.prepare("ALTER TABLE announced_version RENAME TO unreachable").run();
  vi.setSystemTime(start + life);
  await ring();
  expect(await count("retirement")).toBe(1);
  await DB.prepare("ALTER TABLE unreachable RENAME TO announced_version").run();
  await endInstance();
  vi.setSystemTime(start + 2 * day);
  await ring();
  expect(await count("retirement")).toBe(0);
  expect(await inForce()).toEqual(all(firstShards, 3));
});

describe("ADR 11: D1 was restored to before an opening", () => {
  async function openAndLose(store: "code" | "revocation" = "code"): Promise<void> {
    await plane().openGeneration({ ...opening, store });
    await setGenerationsBackTo(DB, store, 1);
    await setChangeLogBackTo(DB, 1);
  }
  const listed = async (store = "code") =>
    ((await loadGenerations(DB)) ?? [])
      .filter((row) => row.store === store)
      .map(({ generation, retired, mintedUntilMs }) => [generation, retired, mintedUntilMs !== undefined]);

  it("the shards of the lost generation learn of the next change, after an eviction and days as well", async () => {
    await openAndLose("revocation");
    await endInstance();
    vi.setSystemTime(start + 3 * day);
    await ring();
    await setGenerationsBackTo(DB, "revocation", 1);
    await Promise.all([...firstShards, ...names(2, 2)].map(follow));
    await plane().begin("op");
    await commitChange("app");
    const { cv } = await plane().publish("op");
    expect(cvs()).toEqual(all([...firstShards, ...names(2, 2)], cv));
    await plane().cutOff(alice);
    for (const name of names(2, 2)) expect(told(name).cutOffs.has("nb:sub:alice")).toBe(true);
  });

  it("the alarm re-lists it, with every cut-off and version for its shards, and audits that", async () => {
    await openAndLose("revocation");
    vi.setSystemTime(start + 60_000);
    await plane().cutOff(alice);
    expect(await listed("revocation")).toEqual([[1, false, false]]);
    fixtures.shards.clear();
    await ring();
    await Promise.all([...firstShards, ...names(2, 2)].map(follow));
    expect(await listed("revocation")).toEqual([
      [1, false, true],
      [2, false, false],
    ]);
    const [newest] = (await DB.prepare("SELECT version, kind FROM control_changes ORDER BY version DESC LIMIT 1").all())
      .results;
    expect(newest!["kind"]).toBe("generations");
    expect(cvs()).toEqual(all([...names(1, 8), ...names(2, 2)], newest!["version"] as number));
    for (const name of names(2, 2)) expect(told(name).cutOffs.has("nb:sub:alice")).toBe(true);
    expect(await events()).toEqual(["generation-opened", "cut-off", "generation-relisted"]);
    await ring();
    expect(await events()).toEqual(["generation-opened", "cut-off", "generation-relisted"]);
  });

  it("a generation opened afterwards gets a new number, and the lost one is listed before it", async () => {
    await openAndLose();
    const other = { wnam: { shards: 5, hint: "wnam" } } as const;
    expect(await plane().openGeneration({ store: "code", regions: other, operationId: "o2" })).toEqual({
      generation: 3,
    });
    expect(await listed()).toEqual([
      [1, false, true],
      [2, false, true],
      [3, false, false],
    ]);
    const table = (await loadGenerations(DB))!.filter(({ store }) => store === "code");
    expect(table.map(({ regions }) => regions["wnam"]!.shards)).toEqual([8, 2, 5]);
  });

  it("it retires by the second listing, because ids were created in the old generation until then", async () => {
    await openAndLose();
    vi.setSystemTime(start + 3_600_000);
    await plane().publish("op");
    await ring();
    vi.setSystemTime(start + 3_600_000 + life - 1);
    await ring();
    expect((await listed()).map(([, retired]) => retired)).toEqual([false, false]);
    // The publication has waited for registrations that D1 may have lost.
    vi.setSystemTime(start + 3_600_000 + 11_000 + life);
    await ring();
    expect((await listed()).map(([, retired]) => retired)).toEqual([true, false]);
  });

  it("generations retired since then are listed as retired: ids that name them are expired, not unavailable", async () => {
    await plane().openGeneration({ ...opening, store: "code" });
    await plane().openGeneration({ ...opening, store: "code", operationId: "o2" });
    vi.setSystemTime(start + life);
    await ring();
    await setGenerationsBackTo(DB, "code", 1);
    await setChangeLogBackTo(DB, 1);
    await plane().publish("op");
    await ring();
    expect(await listed()).toEqual([
      [1, false, true],
      [2, true, true],
      [3, false, false],
    ]);
    vi.setSystemTime(start + 60_000 + 2 * life);
    await ring();
    expect((await listed()).map(([, retired]) => retired)).toEqual([true, true, false]);
  });

  it("an end or a retirement that D1 lost is repeated", async () => {
    await plane().openGeneration({ ...opening, store: "code" });
    vi.setSystemTime(start + life);
    await ring();
    await DB.prepare("UPDATE shard_generations SET retired = 0 WHERE store = 'code'").run();
    await setChangeLogBackTo(DB, 2);
    await plane().publish("op");
    await ring();
    vi.setSystemTime(Date.now() + 60_000);
    await ring();
    expect((await listed()).map(([, retired]) => retired)).toEqual([true, false]);
  });

  it("a generation that it did not open itself is remembered from D1", async () => {
    await DB.prepare(
      `INSERT INTO shard_generations (store, generation, regions, minted_from_ms)
         SELECT store, 2, '{"wnam":{"shards":2,"hint":"wnam"}}', 0 FROM shard_generations WHERE store = 'revocation'`,
    ).run();
    await plane().wakeAudit();
    await ring();
    await setGenerationsBackTo(DB, "revocation", 1);
    vi.setSystemTime(start + 300_000);
    await ring();
    expect((await listed("revocation")).map(([generation]) => generation)).toEqual([1, 2]);
  });
});

describe("the records of users and clients contain their cut-offs, which shards keep for a day (ADR 28)", () => {
  interface Stored {
    readonly key: string;
    readonly version: number;
  }
  const stored = async () => (await DB.prepare("SELECT key, version FROM cut_offs ORDER BY key").all<Stored>()).results;
  const aliceCutOff = { key: "nb:sub:alice", version: 2 };
  const shard = "revocation:g1:wnam:0";

  it("D1 contains a cut-off before any shard, with a change by which isolates discard the record", async () => {
    await addAlice();
    const seenByShards: unknown[] = [];
    fixtures.hold = async () => void seenByShards.push(await stored());
    await plane().cutOff(alice);
    expect(seenByShards).toEqual(Array(8).fill([aliceCutOff]));
    const { results } = await DB.prepare("SELECT kind, id FROM control_changes WHERE version > 1").all();
    expect(results).toEqual([{ kind: "cut-off", id: "nb:sub:alice" }]);
    expect((await loadUser(DB, "alice"))?.cutOffs).toEqual([aliceCutOff]);
  });

  it("if a Worker fails after its commit, its cut-off in D1 is not written again", async () => {
    await plane().begin("op", alicesChange);
    await commitCutOff("alice");
    await endInstance();
    vi.setSystemTime(start + 10_000);
    await ring();
    await followAll();
    expect(told(shard).cutOffs.get("nb:sub:alice")).toMatchObject({ version: 2 });
    expect(told(shard).cv).toBe(2);
  });

  it("without D1, no shard receives it", async () => {
    await DB.prepare("ALTER TABLE cut_offs RENAME TO unreachable").run();
    await expect(settled(() => plane().cutOff(alice))).rejects.toThrow();
    await DB.prepare("ALTER TABLE unreachable RENAME TO cut_offs").run();
    expect(cutOffsReceived()).toEqual(Array(8).fill([]));
    await endInstance();
    vi.setSystemTime(start + 40_000);
    await ring();
    await followAll();
    expect((await stored()).map(({ key }) => key)).toEqual(["nb:sub:alice"]);
    expect(cutOffsReceived()).toEqual(Array(8).fill(["nb:sub:alice"]));
  });

  it("a shard keeps it for a day after receiving it", async () => {
    await plane().cutOff(alice);
    vi.setSystemTime(start + 6 * 3_600_000);
    await follow("revocation:g1:wnam:9");
    expect(told("revocation:g1:wnam:9").cutOffs.get("nb:sub:alice")?.untilMs).toBeGreaterThanOrEqual(
      start + 6 * 3_600_000 + day,
    );
  });

  it("a restored D1 gets its cut-offs back before its records are read again", async () => {
    await plane().cutOff(alice);
    await setChangeLogBackTo(DB, 1);
    expect(await stored()).toEqual([]);
    vi.setSystemTime(start + 3_600_000);
    await commitChange("app");
    const { cv } = await plane().publish("op");
    expect(await stored()).toEqual([aliceCutOff]);
    expect(cv).toBeGreaterThan(3);
  });

  it("a later one raises the version; a repeated one changes nothing; a client's id may contain colons", async () => {
    await plane().cutOff(alice);
    await plane().cutOff({ ...alice, operationId: "later" });
    await plane().cutOff(alice);
    await plane().cutOff({ ...alice, kind: "client", id: "a:b", operationId: "client" });
    expect(await stored()).toEqual([
      { key: "nb:client:a:b", version: 4 },
      { key: "nb:sub:alice", version: 3 },
    ]);
  });

  it("a shard of a new generation receives only those of the last day", async () => {
    await plane().cutOff(alice);
    vi.setSystemTime(start + 2 * day);
    await ring();
    await plane().cutOff({ ...alice, id: "bob", operationId: "bob" });
    await follow("revocation:g2:wnam:0");
    expect([...told("revocation:g2:wnam:0").cutOffs.keys()]).toEqual(["nb:sub:bob"]);
  });
});

it("rows expire: operations a day after completion, cut-offs when their grants have expired", async () => {
  await plane().cutOff(alice);
  vi.setSystemTime(start + 2 * day);
  await ring();
  expect(await count("cut_off_operation")).toBe(0);
  expect(await count("cut_off")).toBe(1);
  vi.setSystemTime(start + 367 * day);
  await ring();
  expect(await count("cut_off")).toBe(0);
  expect((await DB.prepare("SELECT key FROM cut_offs").all()).results).toEqual([]);
});
