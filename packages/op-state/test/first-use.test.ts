import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { GrantRevocation } from "@edge-op/shared/grants/grant-revocation";
import type { RefreshFamily } from "@edge-op/shared/refresh/refresh-family-rpc";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { parseRefreshToken, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  fixtureEnv,
  forgetTable,
  Isolate,
  newFamily,
  openGeneration,
  ring,
  rotatorAt,
} from "./fixtures/rotation-fixtures.ts";

/** **A refresh family before its first use**: its first token contains it, and no shard has a row of it. */
const start = Date.parse("2035-01-01T00:00:00Z");
const dayMs = 86_400_000;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  await fixtureEnv.DB.prepare("DELETE FROM shard_generations WHERE store = 'refresh' AND generation > 1").run();
  await forgetTable();
});
afterEach(() => {
  vi.useRealTimers();
});

function rows(address: ShardAddress, { grant }: RefreshFamily): Promise<Readonly<Record<string, number>>> {
  return runInDurableObject(rotatorAt(address), (_, { storage: { sql } }) => {
    const count = (table: string) =>
      sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE grant_id = ?`, grant.grantId).one().n;
    return { family: count("family"), ended_grant: count("ended_grant") };
  });
}

async function begin(change: Partial<RefreshFamily> = {}) {
  const isolate = new Isolate();
  const family = newFamily(change);
  const token = await isolate.create(family);
  const { address } = parseRefreshToken(token)!;
  return { isolate, family, token, address };
}

it("a family has no row until its first token is used; a refused use writes none", async () => {
  const { isolate, family, token, address } = await begin();
  const read = (await readRefreshToken(isolate.context(), token))!;
  expect(await isolate.families.inspect(isolate.context(), read)).toMatchObject({ live: true, current: true, family });
  expect(await isolate.use(token, { clientId: "other" })).toMatchObject({ reason: "refresh-token-of-other-client" });
  expect(await isolate.use(token, { scope: ["admin"] })).toMatchObject({ kind: "invalid_scope" });
  expect(await rows(address, family)).toEqual({ family: 0, ended_grant: 0 });
  expect(await isolate.use(token)).toMatchObject({ kind: "rotated", version: 1 });
  expect(await rows(address, family)).toEqual({ family: 1, ended_grant: 0 });
});

it("R1, R2: twenty first uses at once, by isolates of two generations, give one successor", async () => {
  const { isolate, token } = await begin();
  await openGeneration(2);
  const isolates = [isolate, new Isolate(), new Isolate()];
  const uses = await Promise.all(
    Array.from({ length: 20 }, (_, index) => isolates[index % 3]!.use(token, { replays: 20 })),
  );
  expect(uses.map(({ kind }) => kind).toSorted()).toEqual([...Array(19).fill("replayed"), "rotated"]);
  const successors = uses.map((use) => ("reason" in use ? use.reason : use.refreshToken));
  expect(new Set(successors).size).toBe(1);
});

it("R3: the first token, used after its successor was, is theft, also after an eviction", async () => {
  const { isolate, token, address } = await begin();
  const next = await isolate.use(token);
  if ("reason" in next) throw new Error(next.reason);
  vi.setSystemTime(start + 3_600_000);
  await evictDurableObject(rotatorAt(address));
  expect(await isolate.use(token)).toMatchObject({ reason: "refresh-token-reused" });
  expect(await isolate.use(next.refreshToken)).toMatchObject({ reason: "refresh-family-reused" });
});

it("R6: a first use that is taken back can be repeated at any time", async () => {
  const { isolate, token } = await begin();
  const context = isolate.context();
  expect(await isolate.use(token, { context, isUnchecked: true })).toMatchObject({ kind: "rotated" });
  await isolate.families.takeBack(context, (await readRefreshToken(context, token))!);
  vi.setSystemTime(start + 3_600_000);
  expect(await isolate.use(token)).toMatchObject({ kind: "rotated", version: 1 });
});

it("a family that is too long for a token has a row from the beginning, which ends like any other", async () => {
  const isolate = new Isolate();
  const family = newFamily({ authorizationDetails: `[{"type":"${"long".repeat(400)}"}]` as never });
  const token = await isolate.create(family);
  const { address, sealedFamily } = parseRefreshToken(token)!;
  expect(sealedFamily).toBeUndefined();
  expect(token.length).toBeLessThan(300);
  expect(await rows(address, family)).toEqual({ family: 1, ended_grant: 0 });
  expect(await isolate.use(token)).toMatchObject({ kind: "rotated", family: { sub: "alice" } });
});

describe("a family that has a row from its redemption on", () => {
  const long = { authorizationDetails: `[{"type":"${"long".repeat(400)}"}]` as never };

  it("R7: it has ended if its grant ended before the redemption", async () => {
    const isolate = new Isolate();
    const family = newFamily(long);
    const address = { generation: 1, region: "wnam", shard: 2 };
    const revocation = revocationOf({ family, address });
    await isolate.families.end(isolate.context(), revocation);
    const token = await isolate.create(family, address);
    expect(await isolate.use(token)).toMatchObject({ reason: "refresh-family-ended" });
  });

  it("R1: a repeated creation does not set it back", async () => {
    const isolate = new Isolate();
    const family = newFamily(long);
    const first = await isolate.use(await isolate.create(family));
    if ("reason" in first) throw new Error(first.reason);
    await isolate.create(family);
    expect(await isolate.use(first.refreshToken)).toMatchObject({ kind: "rotated", version: 2 });
  });
});

it("R7: a second, shorter end does not shorten the memory of the first", async () => {
  const { isolate, token, address, family } = await begin();
  for (const untilMs of [family.expiresAtMs + dayMs, start + 60_000]) {
    await rotatorAt(address).kill(family.grant.grantId, "ended", undefined, untilMs);
  }
  vi.setSystemTime(start + 2 * dayMs);
  await ring(rotatorAt(address));
  expect(await isolate.use(token)).toMatchObject({ reason: "refresh-family-ended" });
});

/** Ends a family of which no token has been used, in the shard of its first token. */
type Ending = (of: Awaited<ReturnType<typeof begin>>) => Promise<unknown>;

function revocationOf(
  { family, address }: Pick<Awaited<ReturnType<typeof begin>>, "family" | "address">,
  reason: GrantRevocation["reason"] = "session_ended",
): GrantRevocation {
  const { grant, expiresAtMs } = family;
  const untilMs = expiresAtMs + dayMs + 120_000;
  return { grant, clientId: "app", reason, untilMs, family: { address, tokensEndAtMs: start + 120_000 } };
}

const byWorker =
  (reason: GrantRevocation["reason"]): Ending =>
  async (of) =>
    of.isolate.families.end(of.isolate.context(), revocationOf(of, reason));

const byToken: Ending = async ({ isolate, token }) =>
  isolate.families.kill(isolate.context(), (await readRefreshToken(isolate.context(), token))!, "revoked");

const byId =
  (reason: GrantRevocation["reason"]): Ending =>
  async (of) =>
    of.isolate.families.endWherever(of.isolate.context(), revocationOf(of, reason), Date.now());

/** All ways in which a family ends by a call. A cut-off and a suspended user are found in the records that each refresh reads (ADR 28). */
const endings: Readonly<Record<string, Ending>> = {
  "its client revokes the token": byToken,
  "an administrator revokes the token": byToken,
  "an administrator revokes the grant by its id": byId("administrator"),
  "its client logs the user out by a hint": byId("client_logout"),
  "its client ends its part of the session": byWorker("client_logout"),
  "the session ends": byWorker("session_ended"),
  "the consent is withdrawn": byWorker("consent_withdrawn"),
  "its code is replayed": byWorker("code_replayed"),
  "its device code is replayed": byWorker("device_code_replayed"),
};

const mutants: Readonly<Record<string, Ending>> = {
  "nothing is remembered of a family without a row": async ({ address, family }) =>
    rotatorAt(address).kill(family.grant.grantId, "ended", undefined),
  "remembered as long as the row of the revocation": async ({ address, family }) =>
    rotatorAt(address).kill(family.grant.grantId, "ended", undefined, start + 180_000),
  "remembered in the newest generation alone": async ({ family }) => {
    await openGeneration(2);
    return rotatorAt({ generation: 2, region: "wnam", shard: 0 }).kill(
      family.grant.grantId,
      "ended",
      undefined,
      start + 60 * dayMs,
    );
  },
};

/** Uses of a token at any time after its family has ended, with everything deleted that may be: the ones that succeed. */
async function usesAfter(ending: Ending): Promise<readonly string[]> {
  const succeeded: string[] = [];
  const of = await begin();
  await ending(of);
  const lastMs = of.family.expiresAtMs - 1;
  for (const atMs of [start, start + 120_000, start + dayMs, start + 3 * dayMs, lastMs]) {
    vi.setSystemTime(atMs);
    await ring(rotatorAt(of.address));
    // An isolate that knows the newest generation, and one that has known the table for long.
    for (const isolate of [new Isolate(), of.isolate]) {
      const read = await readRefreshToken(isolate.context(), of.token);
      const state = await isolate.families.inspect(isolate.context(), read!);
      if (state?.live === true) succeeded.push(`introspected as active at ${atMs - start}`);
      const use = await isolate.use(of.token);
      if (!("reason" in use)) succeeded.push(`refreshed at ${atMs - start}`);
    }
  }
  return succeeded;
}

describe("R7: a family that ends before its first use stays ended when the row of its grant has been deleted", () => {
  it.each(Object.entries(endings))("%s", async (_, ending) => {
    expect(await usesAfter(ending)).toEqual([]);
  });

  it("its generation is retired", async () => {
    const { token } = await begin();
    await openGeneration(2);
    const retire = "UPDATE shard_generations SET retired = 1 WHERE store = 'refresh' AND generation = 1";
    await fixtureEnv.DB.prepare(retire).run();
    await forgetTable();
    expect(await new Isolate().use(token)).toMatchObject({ reason: "refresh-generation-retired" });
  });

  it.each(Object.entries(mutants))("mutant: %s", async (_, ending) => {
    expect(await usesAfter(ending)).not.toEqual([]);
  });

  it("also when the family then moves to another generation", async () => {
    const of = await begin();
    await byWorker("session_ended")(of);
    await openGeneration(2);
    vi.setSystemTime(start + dayMs);
    expect(await new Isolate().use(of.token)).toMatchObject({ reason: "refresh-family-ended" });
    expect(await rows(of.address, of.family)).toEqual({ family: 0, ended_grant: 1 });
  });

  it("an end by id reaches a family of an older generation, and one of a generation that this isolate does not know yet", async () => {
    const old = await begin();
    await openGeneration(2);
    const young = await begin();
    expect([old.address.generation, young.address.generation]).toEqual([1, 2]);
    const ends = [
      [young.isolate, old],
      [old.isolate, young],
    ] as const;
    for (const [isolate, of] of ends) await byId("administrator")({ ...of, isolate });
    for (const { address, family } of [old, young]) {
      expect(await rows(address, family)).toEqual({ family: 0, ended_grant: 1 });
    }
    for (const { token } of [old, young]) {
      expect(await new Isolate().use(token)).toMatchObject({ reason: "refresh-family-ended" });
    }
  });
});
