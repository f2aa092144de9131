import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ChallengeStoreRpc, Spend } from "@edge-op/shared/storage/challenges";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ProofTable } from "../src/challenges/proof-table.ts";

/** protocols.md §6: DPoP proofs in the memory of a shard. P2 is simulated in test/simulation/proofs.test.ts. */
const { CHALLENGE_STORE } = env as unknown as { CHALLENGE_STORE: DurableObjectNamespace<ChallengeStoreRpc> };
const start = Date.parse("2030-01-01T00:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Ends the instance before its timer has saved the memory. */
const endUnsaved = () => evictDurableObject(store());

/** The platform waits for timers before a test may evict an object; an instance that ends unsaved has not reached its timer. */
function stopSaves(): void {
  const { setTimeout: start } = globalThis;
  const stub = ((run: () => void, ms?: number) => (ms === 5_000 ? 0 : start(run, ms))) as typeof setTimeout;
  vi.stubGlobal("setTimeout", stub);
}

const store = () => CHALLENGE_STORE.getByName("challenge:g1:wnam:1");
const hash = (name: string) => name.padStart(43, "A");

/** A proof of now without a nonce, as read-proof.ts presents it. */
function proof(name: string, more: Partial<Spend> = {}): Spend {
  const now = Date.now();
  const presented = { notBeforeMs: now - 30_000 };
  return {
    key: `s:dpop:${hash(name)}`,
    untilMs: now + 90_000,
    operationId: crypto.randomUUID(),
    proof: presented,
    ...more,
  };
}

async function spend(...spends: Spend[]) {
  return store().spendEach(spends);
}

/** Calls the instance directly, and counts the rows that its statements write. */
function rowsWrittenBy(run: (shard: ChallengeStoreRpc) => Promise<unknown>): Promise<number> {
  return runInDurableObject(store(), async (instance, { storage }) => {
    const before = storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
    await run(instance as unknown as ChallengeStoreRpc);
    return storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n - before;
  });
}

it("a busy shard writes no row: 2,000 proofs, one durable hold in 30 s, no alarm", async () => {
  expect(await spend(proof("first"))).toEqual([true]);
  const proofs = Array.from({ length: 2_000 }, (_, index) => proof(`p${index}`));
  expect(
    await rowsWrittenBy(async (shard) => {
      for (let from = 0; from < proofs.length; from += 64) {
        expect(await shard.spendEach(proofs.slice(from, from + 64))).not.toContain(false);
      }
      expect(
        await shard.spendEach(proofs.map((used) => ({ ...used, operationId: crypto.randomUUID() }))),
      ).not.toContain(true);
    }),
  ).toBe(0);
  expect(await runInDurableObject(store(), (_, { storage }) => storage.getAlarm())).toBeNull();
  vi.setSystemTime(start + 30_000);
  expect(await rowsWrittenBy((shard) => shard.spendEach([proof("later"), proof("later still")]))).toBe(1);
});

it("P1: exactly one of twenty parallel uses is the first, and a repeated call of its operation is the same use", async () => {
  const uses = Array.from({ length: 20 }, () => proof("jti-1"));
  const results = await Promise.all(uses.map((use) => spend(use)));
  expect(results.flat().filter((result) => result === true)).toHaveLength(1);
  const first = uses[results.findIndex(([result]) => result === true)]!;
  expect(await spend(first, proof("jti-1"))).toEqual([true, false]);
});

it("a proof that nothing would remember is never accepted", async () => {
  expect(await spend(proof("dead", { untilMs: start }))).toEqual([false]);
});

it("P2: after an end without a save, a proof that may be older needs a nonce of the new memory; what is newer than the fence does not", async () => {
  stopSaves();
  expect(await spend(proof("before"))).toEqual([true]);
  await endUnsaved();
  const [boot] = await spend(proof("before"));
  expect(boot).toMatch(/^[A-Za-z0-9_-]{11}$/);
  const named = (name: string, by: unknown) =>
    proof(name, { proof: { notBeforeMs: Date.now() - 60_000, boot: String(by) } });
  expect(await spend(named("with nonce", boot), named("with nonce", boot), named("other", "AAAAAAAAAAA"))).toEqual([
    ...[true, false],
    boot,
  ]);
  // The hold of 30 s, 60 s between two clocks, and the tolerance for proofs of clients whose clocks are ahead.
  vi.setSystemTime(start + 120_000);
  expect(await spend(proof("at the fence"))).toEqual([boot]);
  vi.setSystemTime(start + 120_001);
  expect(await spend(proof("after the fence"))).toEqual([true]);
});

it("P2: after 5 s without a proof the memory is saved, and the next instance continues with it", async () => {
  expect(await spend(proof("before"))).toEqual([true]);
  const saved = () =>
    runInDurableObject(store(), (_, { storage }) =>
      storage.sql
        .exec<{ held: number | null; size: number }>(
          "SELECT held_until_ms AS held, length(proofs) AS size FROM used_proofs",
        )
        .one(),
    );
  expect((await saved()).held).toBe(start + 30_000);
  vi.setSystemTime(start + 5_000);
  await vi.waitFor(async () => expect((await saved()).held).toBeNull(), { timeout: 10_000, interval: 200 });
  // One slot of one proof: two words of the slot, four of the proof.
  expect((await saved()).size).toBe(24);
  await evictDurableObject(store());
  expect(await spend(proof("before"), proof("new"))).toEqual([false, true]);
});

it("two releases: a proof that an endpoint of the previous release spends is a row, which the memory respects, and the reverse", async () => {
  stopSaves();
  const old = (name: string) => {
    const { proof: _, ...without } = proof(name);
    return without;
  };
  expect(await spend(old("by the old endpoint"), proof("by the old endpoint"))).toEqual([true, false]);
  expect(await spend(proof("by the new endpoint"), old("by the new endpoint"))).toEqual([true, false]);
  await endUnsaved();
  expect(await spend(proof("by the old endpoint"))).toEqual([false]);
});

it("the memory is bounded: 4 MB hold more than 100,000 proofs; what has no room is a row, which is found after it", async () => {
  const table = new ProofTable(4 * 1024 * 1024);
  const entry = (index: number) => ({ key: `s:dpop:${hash(index.toString(36))}`, operationId: crypto.randomUUID() });
  let stored = 0;
  while (table.add(entry(stored), start + (stored % 4) * 32_000)) stored += 1;
  expect(stored).toBeGreaterThan(100_000);
  expect(table.bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
  expect([table.find(entry(0)), table.find(entry(stored - 1)), table.find(entry(stored))]).toEqual([
    ...["other", "other"],
    "absent",
  ]);
  table.forget(start + 4 * 32_000 + 32_000);
  expect([table.bytes, table.savedBytes, table.find(entry(0))]).toEqual([0, 0, "absent"]);
  vi.spyOn(ProofTable.prototype, "add").mockReturnValue(false);
  stopSaves();
  const full = proof("no room");
  expect(await spend(full, full, proof("no room"))).toEqual([true, true, false]);
  expect(await spend(proof("no room"))).toEqual([false]);
});

it("a saved table is loaded as it was", () => {
  const table = new ProofTable(1024 * 1024);
  const entries = Array.from({ length: 5_000 }, (_, index) => ({
    key: `s:dpop:${hash(index.toString(36))}`,
    operationId: crypto.randomUUID(),
  }));
  for (const [index, entry] of entries.entries()) table.add(entry, start + index * 20);
  table.forget(start + 32_000);
  const copy = new ProofTable(1024 * 1024);
  copy.load(table.save());
  const found = (of: ProofTable) => entries.map((entry) => of.find(entry));
  expect(found(copy)).toEqual(found(table));
  expect(new Set(found(copy))).toEqual(new Set(["absent", "same"]));
});
