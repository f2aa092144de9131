import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { setChangeLogBackTo } from "../../../test/fixtures/set-back.ts";
import {
  commitChange,
  follow,
  plane,
  ring,
  start,
  told,
  useControlPlaneFixtures,
} from "./fixtures/control-plane-fixtures.ts";

const { DB } = env as unknown as { DB: D1Database };
const day = 86_400_000;
/** Longer than the lifetime of KV's copy of the key schedule, the oldest copy that is compared with the log. */
const life = 31 * day;

useControlPlaneFixtures();

/** Numbered from 2: number 1 is the migration's change, in the year 1970. */
async function changesAt(...times: readonly number[]): Promise<void> {
  const insert = DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', 'app', ?1)");
  await DB.batch(times.map((atMs) => insert.bind(atMs)));
}

async function versions(): Promise<number[]> {
  const { results } = await DB.prepare("SELECT version FROM control_changes ORDER BY version").run<{
    version: number;
  }>();
  return results.map(({ version }) => version);
}

/** Fires the alarm that every change sets. */
async function ringAfterChange(): Promise<void> {
  await plane().begin(crypto.randomUUID());
  vi.setSystemTime(Date.now() + 10_000);
  await ring();
}

it("rows are deleted exactly when no copy is compared with them any more", async () => {
  await changesAt(start - life + 10_000, start - life + 10_001, start);
  await ringAfterChange();
  expect(await versions()).toEqual([3, 4]);
});

it("the newest row is kept however old it is, because it is the control version", async () => {
  await changesAt(0, 0);
  await ringAfterChange();
  expect(await versions()).toEqual([3]);
  expect(await plane().publish("op")).toMatchObject({ cv: 3 });
  await commitChange("app");
  expect(await plane().publish("op")).toMatchObject({ cv: 4 });
});

it("rows are deleted strictly in order: an old one behind a newer one, by a wrong clock, waits for it", async () => {
  await changesAt(0, start, 0, 0, start);
  await ringAfterChange();
  expect(await versions()).toEqual([3, 4, 5, 6]);
});

it("many rows are deleted in batches with pauses, by the alarm alone, also after an eviction", async () => {
  await changesAt(...Array<number>(1_200).fill(0), start);
  await ringAfterChange();
  expect((await versions())[0]).toBe(501);
  expect(await runInDurableObject(plane(), (_, { storage }) => storage.getAlarm())).toBe(start + 15_000);
  await evictDurableObject(plane());
  for (const atMs of [start + 15_000, start + 20_000]) {
    vi.setSystemTime(atMs);
    await ring();
  }
  expect(await versions()).toEqual([1202]);
});

it("the log is checked once a day, by no request", async () => {
  await ringAfterChange();
  await changesAt(0, start);
  await evictDurableObject(plane());
  await plane().publish("op");
  await ringAfterChange();
  expect(await versions()).toEqual([1, 2, 3]);
  vi.setSystemTime(start + day + 10_000);
  await plane().publish("op");
  expect(await versions()).toEqual([1, 2, 3]);
  await ringAfterChange();
  expect(await versions()).toEqual([3]);
});

/** Whether isolates find a gap: a missing number, at which they clear their cache. */
async function hasGapAfter(version: number): Promise<boolean> {
  const after = (await versions()).filter((other) => other > version);
  return after.length < after.at(-1)! - version;
}

async function publishChange(id: string): Promise<number> {
  vi.setSystemTime(Date.now() + 1);
  await commitChange(id);
  return (await plane().publish(crypto.randomUUID())).cv;
}

it.each([
  ["whose next change has a number that was never told", 1],
  ["whose next change has the number that was told last", 3],
])("ADR 11: a restored D1, %s: shards receive a number after a gap", async (_, restored) => {
  for (const id of ["app", "other", "third"]) await publishChange(id);
  await setChangeLogBackTo(DB, restored);
  await evictDurableObject(plane());
  const cv = await publishChange("new");
  expect(cv).toBe(6);
  await follow("revocation:g1:wnam:0");
  expect(told("revocation:g1:wnam:0").cv).toBe(6);
  for (const known of [1, 2, 3, 4]) expect(await hasGapAfter(known)).toBe(true);
  expect(await publishChange("newer")).toBe(7);
  expect(await hasGapAfter(6)).toBe(false);
});

it("ADR 11: … whose next changes have overtaken the lost ones before any was announced", async () => {
  expect(await publishChange("app")).toBe(2);
  await setChangeLogBackTo(DB, 1);
  vi.setSystemTime(Date.now() + 1);
  for (const id of ["one", "two", "three"]) await commitChange(id);
  expect(await plane().publish("op")).toMatchObject({ cv: 6 });
  expect(await hasGapAfter(2)).toBe(true);
});

it("ADR 11: restored twice, the second time to before the first gap", async () => {
  await publishChange("app");
  await publishChange("other");
  await setChangeLogBackTo(DB, 2);
  expect(await publishChange("new")).toBe(5);
  await setChangeLogBackTo(DB, 2);
  expect(await publishChange("newer")).toBe(7);
});

it("ADR 11: while D1 is not restored, no number is skipped, whatever is published concurrently and swept", async () => {
  await Promise.all(["a", "b", "c", "d"].map(publishChange));
  expect(await plane().publish("op")).toMatchObject({ cv: 5 });
  vi.setSystemTime(start + life + day);
  await ringAfterChange();
  expect(await versions()).toEqual([5]);
  expect(await publishChange("e")).toBe(6);
});

/** `ends` contains the ends of the rows, in days from the start. */
async function sessionsAndGrants(ends: readonly number[]): Promise<void> {
  await DB.batch([
    DB.prepare(
      "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('alice', 'alice', 'alice', 0, 0)",
    ),
    DB.prepare("INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('app', '{}', 0, 0)"),
    ...ends.flatMap((days, index) => [
      DB.prepare("INSERT INTO user_sessions VALUES (?1, 'alice', 'Firefox', 0, ?2, NULL, NULL)").bind(
        `s${index}`,
        start + days * day,
      ),
      DB.prepare("INSERT INTO user_grants VALUES ('alice', 'app', ?1, 1, 'wnam', 0, ?2, 1, NULL, 0, 0)").bind(
        `g${index}`,
        start + days * day,
      ),
    ]),
  ]);
}

async function remaining(): Promise<unknown> {
  const [sessions, grants] = await DB.batch<{ ids: string }>([
    DB.prepare("SELECT group_concat(sid) AS ids FROM (SELECT sid FROM user_sessions ORDER BY sid)"),
    DB.prepare("SELECT group_concat(grant_id) AS ids FROM (SELECT grant_id FROM user_grants ORDER BY grant_id)"),
  ]);
  return [sessions!.results[0]!.ids, grants!.results[0]!.ids];
}

it("sessions and offline grants of a user who does not return are deleted the day after they ended, by the alarm alone", async () => {
  await sessionsAndGrants([-1, 0.5, 2]);
  await ringAfterChange();
  expect(await remaining()).toEqual(["s1,s2", "g1,g2"]);
  await evictDurableObject(plane());
  vi.setSystemTime(start + day + 10_000);
  expect(await ring()).toBe(true);
  expect(await remaining()).toEqual(["s2", "g2"]);
});

it("many ended sessions are deleted in batches with pauses", async () => {
  await sessionsAndGrants(Array.from({ length: 1_100 }, (_, index) => (index < 1_050 ? -1 : 1)));
  await ringAfterChange();
  const alarms: number[] = [];
  for (let batch = 0; batch < 2; batch += 1) {
    const atMs = (await runInDurableObject(plane(), (_, { storage }) => storage.getAlarm()))!;
    alarms.push(atMs - start);
    vi.setSystemTime(atMs);
    await ring();
  }
  expect(alarms).toEqual([15_000, 20_000]);
  const left = await DB.prepare("SELECT count(*) AS n FROM user_sessions").first<{ n: number }>();
  expect(left?.n).toBe(50);
});
