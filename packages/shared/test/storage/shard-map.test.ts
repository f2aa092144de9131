import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { afterEach, expect, it, vi } from "vitest";
import { useFreshDeployment } from "../../../../test/fixtures/fresh-deployment.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { ShardMap } from "../../src/storage/shard-map.ts";
import { sharedEnv, withinRequest } from "../fixtures/request-fixtures.ts";

useFreshDeployment();
afterEach(() => {
  vi.useRealTimers();
});

const wnam = { shards: 8, hint: "wnam" };
const at = (generation: number, region = "wnam", shard = 0) => ({ generation, region, shard });

/** An isolate that knows control version 1, that of an empty deployment. */
async function warmIsolate() {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  await withinRequest((context) => control.observe(context, 1));
  await withinRequest((context) => shardMap.table(context));
  return { control, shardMap };
}

async function openGeneration(store: string, regions: unknown, generation = 2): Promise<void> {
  const { DB } = sharedEnv;
  await DB.batch([
    DB.prepare(
      "INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES (?1, ?2, ?3, 1)",
    ).bind(store, generation, JSON.stringify(regions)),
    DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('generations', '*', 1)"),
  ]);
}

it("a warm table costs nothing", async () => {
  const { shardMap } = await warmIsolate();
  const { counts } = await withinRequest((context) => shardMap.place(context, "revocation", "grant"));
  expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
});

it("a second isolate reads the table from KV, without D1", async () => {
  await warmIsolate();
  const control = new ControlView();
  const second = new ShardMap(control);
  await withinRequest((context) => control.observe(context, 1));
  const { counts } = await withinRequest((context) => second.table(context));
  expect(counts).toEqual({ object: 0, kv: 1, d1: 0 });
});

it.each([
  ["a shard outside the table", at(1, "wnam", 8)],
  ["a region outside the table", at(1, "weur")],
  ["a name that every object has", at(1, "toString")],
])("G1: %s has no object, and looking it up costs nothing", async (_, address) => {
  const { shardMap } = await warmIsolate();
  const { result, counts } = await withinRequest((context) =>
    shardMap.locateUnverified(context, "revocation", address),
  );
  expect(result).toBe(undefined);
  expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
});

it.each([
  ["generation", at(9)],
  ["region", at(1, "weur")],
  ["shard", at(1, "wnam", 8)],
])("ADR 11: a verified id whose %s D1 has lost is unavailable, not invalid", async (_, address) => {
  const { shardMap } = await warmIsolate();
  const looking = withinRequest((context) => shardMap.locate(context, "revocation", address));
  await expect(looking).rejects.toThrow(UnavailableError);
});

it("G1: a retired generation has no object", async () => {
  await openGeneration("revocation", { wnam });
  await sharedEnv.DB.prepare(
    "UPDATE shard_generations SET retired = 1 WHERE store = 'revocation' AND generation = 1",
  ).run();
  const { shardMap } = await warmIsolate();
  expect((await withinRequest((context) => shardMap.locate(context, "revocation", at(1)))).result).toBe(undefined);
  expect((await withinRequest((context) => shardMap.locate(context, "revocation", at(2)))).result).toEqual(wnam);
});

it("G3: a verified id of an unknown generation reloads the table from D1, once", async () => {
  const { shardMap } = await warmIsolate();
  await openGeneration("revocation", { wnam });
  const first = await withinRequest((context) => shardMap.locate(context, "revocation", at(2)));
  expect(first.result).toEqual(wnam);
  expect(first.counts.d1).toBe(1);
  const second = await withinRequest((context) => shardMap.locate(context, "revocation", at(2)));
  expect(second).toEqual({ result: wnam, counts: { object: 0, kv: 0, d1: 0 } });
});

it("G3: an unverified id reloads at most once a second, and still finds a new generation", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const { shardMap } = await warmIsolate();
  const locate = (generation: number) =>
    withinRequest((context) => shardMap.locateUnverified(context, "code", at(generation)));
  expect((await locate(999)).counts.d1).toBe(1);
  for (let attempt = 0; attempt < 50; attempt += 1) expect((await locate(1_000 + attempt)).counts.d1).toBe(0);
  await openGeneration("code", { wnam });
  vi.setSystemTime(Date.now() + 1_000);
  expect((await locate(2)).result).toEqual(wnam);
});

it("the control version announces a new generation at once: new ids use it, existing ones keep working", async () => {
  const { control, shardMap } = await warmIsolate();
  await openGeneration("revocation", { weur: { shards: 4, hint: "weur" } });
  await withinRequest((context) => control.observe(context, 2));
  const { result } = await withinRequest((context) => shardMap.place(context, "revocation", "a"));
  // fnv1a("a") = 0xe40c292c: mod 4 = 0.
  expect(result).toEqual(at(2, "weur", 0));
  expect((await withinRequest((context) => shardMap.locate(context, "revocation", at(1)))).result).toEqual(wnam);
});

it("a KV copy older than an announced generation is not used", async () => {
  await warmIsolate();
  await openGeneration("revocation", { wnam });
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  await withinRequest((context) => control.observe(context, 2));
  const { result } = await withinRequest((context) => shardMap.table(context));
  expect(result.newest("revocation").generation).toBe(2);
});

it("new ids are placed in the configured region nearest to the request, on the shard of their key", async () => {
  await openGeneration("session", { enam: { shards: 3, hint: "enam" }, weur: { shards: 5, hint: "weur" } });
  const { shardMap } = await warmIsolate();
  const place = async (continent: ContinentCode) =>
    (await withinRequest((context) => shardMap.place(context, "session", "a"), { continent })).result;
  // fnv1a("a") = 3826002220: mod 5 = 0, mod 3 = 1.
  expect(await place("EU")).toEqual(at(2, "weur", 0));
  expect(await place("NA")).toEqual(at(2, "enam", 1));
});

it("D1 without a table is unavailability, not an empty deployment", async () => {
  await sharedEnv.DB.exec("DELETE FROM shard_generations");
  const shardMap = new ShardMap(new ControlView());
  await expect(withinRequest((context) => shardMap.table(context))).rejects.toThrow("generation table did not respond");
});
