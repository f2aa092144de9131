import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ChallengeStoreRpc } from "@edge-op/shared/storage/challenges";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

const { CHALLENGE_STORE } = env as unknown as { CHALLENGE_STORE: DurableObjectNamespace<ChallengeStoreRpc> };
const start = Date.parse("2030-01-01T00:00:00Z");
const until = start + 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

const store = () => CHALLENGE_STORE.getByName("challenge:g1:wnam:0");

/** Spends a key with a new operation. */
async function spendOnce(
  key: string,
  untilMs: number,
  shard: Pick<ChallengeStoreRpc, "spendEach"> = store(),
): Promise<boolean> {
  return (await shard.spendEach([{ key, untilMs, operationId: crypto.randomUUID() }]))[0] === true;
}

function rows(): Promise<number> {
  return runInDurableObject(
    store(),
    (_, { storage }) => storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM challenge").one().n,
  );
}

it("RFC 7523 §3: exactly one of twenty parallel uses of one assertion id is the first", async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => spendOnce("app jti-1", until)));
  expect(results.filter(Boolean)).toHaveLength(1);
});

it("attempts: of twenty parallel wrong ones five count, then no right one is accepted; one right one is", async () => {
  const attempt = (key: string, isRight: boolean) => store().attempt(key, { isRight, most: 5, untilMs: until });
  const wrong = await Promise.all(Array.from({ length: 20 }, () => attempt("guessed", false)));
  expect(wrong.filter((outcome) => outcome === "wrong")).toHaveLength(4);
  expect(await attempt("guessed", true)).toBe("over");
  expect(await attempt("typed", false)).toBe("wrong");
  const right = await Promise.all(Array.from({ length: 8 }, () => attempt("typed", true)));
  expect(right.toSorted()).toEqual([...Array.from({ length: 7 }, () => "over"), "right"]);
  expect(await store().attempt("ended", { isRight: true, most: 5, untilMs: start })).toBe("over");
});

it("several keys are spent in one call: each once, also within the call, and again only by the same operation", async () => {
  await spendOnce("spent before", until);
  const spend = (key: string, operationId: string, untilMs = until) => ({ key, untilMs, operationId });
  const call = [
    spend("a", "1"),
    spend("a", "2"),
    spend("b", "3"),
    spend("spent before", "4"),
    spend("dead", "5", start),
  ];
  const expected = [true, false, true, false, false];
  expect(await store().spendEach(call)).toEqual(expected);
  await evictDurableObject(store());
  expect(await store().spendEach(call), "the same call, sent again").toEqual(expected);
  expect(await store().spendEach([spend("a", "6")])).toEqual([false]);
  expect(await spendOnce("b", until)).toBe(false);
});

it("a spent key stays spent across an eviction", async () => {
  expect(await spendOnce("app jti-1", until)).toBe(true);
  await evictDurableObject(store());
  expect(await spendOnce("app jti-1", until)).toBe(false);
});

it("an already expired key is never new, because nothing would remember it", async () => {
  expect(await spendOnce("app jti-1", start)).toBe(false);
});

it("a key may be used again after its expiry, swept or not", async () => {
  await spendOnce("app jti-1", until);
  vi.setSystemTime(until);
  expect(await spendOnce("app jti-1", until + 60_000)).toBe(true);
});

it("exactly one of twenty parallel takers gets the value, and a taken key cannot be filled again", async () => {
  expect(await store().put("k", "value", until)).toBe(true);
  expect(await store().peek("k")).toBe("value");
  const results = await Promise.all(Array.from({ length: 20 }, () => store().take("k")));
  expect(results.filter((value) => value !== undefined)).toEqual(["value"]);
  expect(await store().peek("k")).toBe(undefined);
  expect(await store().put("k", "other", until)).toBe(false);
});

it("put does not replace a live value; an expired value is unavailable before it is swept", async () => {
  await store().put("k", "first", until);
  expect(await store().put("k", "second", until)).toBe(false);
  vi.setSystemTime(until);
  expect(await store().peek("k")).toBe(undefined);
  expect(await store().take("k")).toBe(undefined);
});

it("a value survives an eviction and is taken once after it", async () => {
  await store().put("k", "value", until);
  await evictDurableObject(store());
  expect(await store().take("k")).toBe("value");
  await evictDurableObject(store());
  expect(await store().take("k")).toBe(undefined);
});

it("the alarm sweeps expired rows, a thousand at a time, and keeps live ones", async () => {
  await runInDurableObject(store(), async (instance) => {
    const shard = instance as unknown as ChallengeStoreRpc;
    for (let index = 0; index < 1_500; index += 1) await spendOnce(`dead ${index}`, until, shard);
    await spendOnce("alive", until + 3_600_000, shard);
  });
  vi.setSystemTime(until + 60_000);
  expect(await runDurableObjectAlarm(store())).toBe(true);
  expect(await rows()).toBe(501);
  expect(await runDurableObjectAlarm(store())).toBe(true);
  expect(await rows()).toBe(1);
  expect(await runInDurableObject(store(), (_, { storage }) => storage.getAlarm())).toBe(until + 3_600_000 + 60_000);
});
