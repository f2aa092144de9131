import { expect, it } from "vitest";
import { useFreshDeployment } from "../../../../test/fixtures/fresh-deployment.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { Challenges } from "../../src/storage/challenges.ts";
import { ShardMap } from "../../src/storage/shard-map.ts";
import { sharedEnv, withinRequest } from "../fixtures/request-fixtures.ts";

useFreshDeployment();

const until = () => Date.now() + 60_000;

async function isolate(): Promise<Challenges> {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  const { results } = await sharedEnv.DB.prepare("SELECT max(version) AS cv FROM control_changes").run<{
    cv: number;
  }>();
  await withinRequest((context) => control.observe(context, results[0]!.cv));
  await withinRequest((context) => shardMap.table(context));
  return new Challenges(shardMap);
}

function spend(challenges: Challenges, key: string, cf: Partial<IncomingRequestCfProperties> = {}) {
  return withinRequest((context) => challenges.spendOnce(context, key, until()), cf);
}

async function change(...statements: string[]): Promise<void> {
  const announced = "INSERT INTO control_changes (kind, id, at_ms) VALUES ('generations', '*', 1)";
  await sharedEnv.DB.batch([...statements, announced].map((statement) => sharedEnv.DB.prepare(statement)));
}

function open(generation: number): Promise<void> {
  const regions = '{"weur":{"shards":3,"hint":"weur"},"enam":{"shards":5,"hint":"enam"}}';
  return change(
    `INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES ('challenge', ${generation}, '${regions}', 1)`,
  );
}

it("RFC 7523 §3: a jti is spent once, by one object call", async () => {
  const challenges = await isolate();
  expect(await spend(challenges, "app jti-1")).toEqual({ result: true, counts: { object: 1, kv: 0, d1: 0 } });
  expect((await spend(challenges, "app jti-1")).result).toBe(false);
  expect((await spend(challenges, "app jti-2")).result).toBe(true);
});

it("RFC 7523 §3: a jti presented on another continent is the same jti", async () => {
  await open(2);
  await change("UPDATE shard_generations SET retired = 1 WHERE store = 'challenge' AND generation = 1");
  const challenges = await isolate();
  const results = [];
  for (const continent of ["EU", "NA", "AS"] as const) {
    results.push((await spend(challenges, "app jti-1", { continent })).result);
  }
  expect(results).toEqual([true, false, false]);
});

it("RFC 7523 §3: opening a generation accepts no jti twice, in either order of isolates", async () => {
  const before = await isolate();
  await open(2);
  const after = await isolate();
  expect((await spend(before, "old isolate first")).result).toBe(true);
  expect((await spend(after, "old isolate first")).result).toBe(false);
  expect((await spend(after, "new isolate first")).result).toBe(true);
  expect((await spend(before, "new isolate first")).result).toBe(false);
});

it("RFC 7523 §3: retiring a generation accepts no jti twice, in either order of isolates", async () => {
  await open(2);
  const before = await isolate();
  await change("UPDATE shard_generations SET retired = 1 WHERE store = 'challenge' AND generation = 1");
  const after = await isolate();
  expect((await spend(before, "old isolate first")).result).toBe(true);
  expect((await spend(after, "old isolate first")).result).toBe(false);
  expect((await spend(after, "new isolate first")).result).toBe(true);
  expect((await spend(before, "new isolate first")).result).toBe(false);
});

it("exactly one of twenty parallel uses during an opening succeeds", async () => {
  const before = await isolate();
  await open(2);
  const after = await isolate();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) => spend(index % 2 === 0 ? before : after, "app jti-1")),
  );
  expect(results.filter(({ result }) => result)).toHaveLength(1);
});

it("concurrent uses of keys in one shard share a call, and each has its own result", async () => {
  const challenges = await isolate();
  const keys = Array.from({ length: 200 }, (_, index) => `app jti-${index}`);
  const together = await Promise.all([...keys, ...keys].map((key) => spend(challenges, key)));
  const first = together.slice(0, keys.length);
  const second = together.slice(keys.length);
  expect(first.map(({ result }, index) => Number(result) + Number(second[index]!.result))).toEqual(keys.map(() => 1));
  expect(together.reduce((calls, { counts }) => calls + counts.object, 0)).toBeLessThan(keys.length);
});

it("a value is found by its id and taken once, and its id contains its shard", async () => {
  const challenges = await isolate();
  const { result: id } = await withinRequest((context) => challenges.put(context, "flow", "value", until()));
  expect(id).toMatch(/^ch\.g1\.wnam\.[0-7]\.[A-Za-z0-9_-]{43}$/);
  await open(2);
  const later = await isolate();
  expect((await withinRequest((context) => later.peek(context, "flow", id))).result).toBe("value");
  const taken = await Promise.all(
    Array.from({ length: 10 }, () => withinRequest((context) => later.take(context, "flow", id))),
  );
  expect(taken.map(({ result }) => result).filter((value) => value !== undefined)).toEqual(["value"]);
});

it("a value of one kind is unknown as any other kind, and stays available for its own", async () => {
  const challenges = await isolate();
  const { result: id } = await withinRequest((context) => challenges.put(context, "flow", "value", until()));
  for (const other of ["authorization-request", "logout-request", "passkey-ceremony"] as const) {
    expect((await withinRequest((context) => challenges.peek(context, other, id))).result).toBeUndefined();
    expect((await withinRequest((context) => challenges.take(context, other, id))).result).toBeUndefined();
  }
  expect((await withinRequest((context) => challenges.take(context, "flow", id))).result).toBe("value");
});

it("a presented key and a stored value never collide, whatever a caller's jti is", async () => {
  const challenges = await isolate();
  const { result: id } = await withinRequest((context) => challenges.put(context, "flow", "value", until()));
  const random = id.split(".").at(-1)!;
  await Promise.all([random, `v:${random}`, `v:flow:${random}`].map((key) => spend(challenges, key)));
  expect((await withinRequest((context) => challenges.take(context, "flow", id))).result).toBe("value");
});

it.each([
  "",
  "nonsense",
  "ss.g1.wnam.0.abc",
  "ch.g1.wnam.8.abc",
  "ch.g9.wnam.0.abc",
  "ch.g1.xx.0.abc",
  "ch.g1.wnam.00.abc",
])("G1: the id %j addresses no object", async (id) => {
  const challenges = await isolate();
  const { result, counts } = await withinRequest((context) => challenges.take(context, "flow", id));
  expect(result).toBe(undefined);
  expect(counts.object).toBe(0);
});
