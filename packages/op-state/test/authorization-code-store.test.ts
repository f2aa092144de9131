import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { AuthorizationCodeStoreRpc, SpendRequest } from "@edge-op/shared/codes/authorization-code-rpc";
import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

const bindings = env as unknown as {
  AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStoreRpc>;
  TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};
const start = Date.parse("2035-01-01T00:00:00Z");
const expires = start + 60_000;
const grantEnds = start + 31 * 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

const grant = { grantId: "grant", address: { generation: 1, region: "wnam", shard: 2 }, grantCreatedAtMs: start };
const family = { address: { generation: 1, region: "wnam", shard: 5 }, tokensEndAtMs: start + 120_000 + 300_000 };
const revocation = { grant, clientId: "app", reason: "code_replayed", untilMs: grantEnds, family } as const;

function spending(change: Partial<SpendRequest> = {}): SpendRequest {
  return {
    ...{ id: "code", expiresAtMs: expires, refusal: undefined, revocation, origin: {}, isUnchecked: false },
    redeemed: { grant, clientId: "app", sub: "alice", scope: ["openid"] },
    operationId: crypto.randomUUID(),
    ...change,
  };
}

const store = () => bindings.AUTHORIZATION_CODE_STORE.getByName("code:g1:wnam:0");
async function isRevoked(): Promise<boolean> {
  const response = await bindings.TOKEN_REVOCATION_STORE.getByName("revocation:g1:wnam:2").check(
    [grantKey("grant")],
    [],
    -1,
  );
  return response.revoked.length > 0;
}

function rows(): Promise<number> {
  return runInDurableObject(
    store(),
    (_, { storage }) => storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM spent_code").one().n,
  );
}

async function events(): Promise<readonly string[]> {
  return runInDurableObject(store(), (_, { storage }) =>
    storage.sql
      .exec<{ type: string }>("SELECT type FROM audit_outbox ORDER BY seq")
      .toArray()
      .map(({ type }) => type),
  );
}

it("RFC 6749 §4.1.2: one of twenty parallel redemptions succeeds, the others are replays", async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => store().spend(spending())));
  expect(results.filter(({ kind }) => kind === "spent")).toHaveLength(1);
  expect(results.filter(({ kind }) => kind === "replayed")).toHaveLength(19);
  expect((await events()).filter((type) => type === "code.redeemed")).toHaveLength(1);
});

it("one of twenty parallel redemptions that are being checked spends the code, and none of the others is judged", async () => {
  const uses = Array.from({ length: 20 }, () => spending({ isUnchecked: true }));
  const results = await Promise.all(uses.map((use) => store().spend(use)));
  const spent = results.findIndex(({ kind }) => kind === "spent");
  expect(results.filter(({ kind }) => kind === "unchecked_request")).toHaveLength(19);
  await runDurableObjectAlarm(store());
  expect(await isRevoked()).toBe(false);
  // Only the request that spent the code gives it back.
  for (const use of uses.filter((_, index) => index !== spent)) await store().takeBack(use);
  expect(await rows()).toBe(1);
  await store().takeBack(uses[spent]!);
  expect(await rows()).toBe(0);
  expect(await events()).toEqual(["code.redeemed", "code.taken-back"]);
  expect(await store().spend(spending())).toEqual({ kind: "spent" });
});

it("a refusal of what the request asks for spends nothing, and a replay is found all the same", async () => {
  const refusal = { kind: "invalid_target", reason: "resource-not-granted" } as const;
  expect(await store().spend(spending({ refusal }))).toEqual(refusal);
  expect(await store().spend(spending())).toEqual({ kind: "spent" });
  expect(await store().spend(spending({ refusal }))).toEqual({ kind: "replayed", revocation });
});

it("an expired code is refused, also when the row of its redemption has been deleted", async () => {
  await store().spend(spending());
  vi.setSystemTime(start + 86_400_000 + 60_000);
  await runDurableObjectAlarm(store());
  expect(await rows()).toBe(0);
  expect(await store().spend(spending())).toMatchObject({ reason: "code-expired" });
  vi.setSystemTime(expires);
  expect(await store().spend(spending({ id: "other" }))).toMatchObject({ reason: "code-expired" });
  expect(await rows()).toBe(0);
});

it("a lost response is not a replay: the same request gets the same result, even after an eviction", async () => {
  const request = spending();
  const first = await store().spend(request);
  await evictDurableObject(store());
  expect(await store().spend(request)).toEqual(first);
});

it("RFC 6749 §4.1.2: a replay returns the due revocation, even an hour later, and the object also performs it", async () => {
  await store().spend(spending());
  vi.setSystemTime(start + 3_600_000);
  expect(await store().spend(spending())).toEqual({ kind: "replayed", revocation });
  expect(await isRevoked()).toBe(false);
  await evictDurableObject(store());
  await runDurableObjectAlarm(store());
  expect(await isRevoked()).toBe(true);
});
