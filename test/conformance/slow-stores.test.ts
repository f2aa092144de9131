import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { SlowStore } from "../faults/slow-stores.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import { type KeyedClient, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

/**
 * D1 and KV that are slow in one isolate (op-management's), with everything else healthy. The guarantee: a response in bounded time, 200 or 503, and
 * normal service as soon as the store recovers.
 */
let provider: FaultyProvider;
let fixtures: ProviderFixtures;
let asserter: KeyedClient;
let resourceServer: TestClient;
let user: string;
let token: string;

beforeAll(async () => {
  provider = await startFaultyProvider({
    direct: true,
    extraIsolates: 1,
    entryPoints: { "op-management": "test/faults/slow-management.ts" },
  });
  fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  user = await fixtures.user();
  token = await fixtures.userToken(asserter, user);
});

afterEach(() => slowDown());
afterAll(() => provider.stop());

async function slowDown(...stores: readonly SlowStore[]): Promise<void> {
  const response = await fetch(`${provider.direct["op-management"]}/slow-stores`, {
    method: "PUT",
    body: JSON.stringify(stores),
  });
  expect(response.status).toBe(204);
}

async function operations(containing: string): Promise<string[]> {
  const all = (await (await fetch(`${provider.direct["op-management"]}/slow-stores`)).json()) as string[];
  return all.filter((operation) => operation.includes(containing));
}

interface Timed {
  readonly status: number;
  readonly active: boolean;
  readonly tookMs: number;
  readonly endedAtMs: number;
}

async function introspect(caller = resourceServer): Promise<Timed> {
  const startedAt = performance.now();
  const response = await fetch(`${provider.origin}/introspect`, {
    method: "POST",
    headers: { authorization: caller.authorization },
    body: new URLSearchParams({ token }),
  });
  const active = (await response.text()).includes('"active":true');
  const endedAtMs = performance.now();
  return { status: response.status, active, tookMs: endedAtMs - startedAt, endedAtMs };
}

/** Introspects from several callers in parallel, for this time. */
async function introspectFor(ms: number): Promise<Timed[]> {
  const untilMs = performance.now() + ms;
  const seen: Timed[] = [];
  const caller = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      seen.push(await introspect());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  return seen;
}

const changeLogRead = "SELECT version, kind, id FROM control_changes";

/**
 * A change that affects no subject of these tests, made while the isolate holds no lease; afterwards the shards restart without it. They know the
 * control version but not the change, so the isolate reads D1.
 */
async function changeUnseen(): Promise<void> {
  await introspectFor(1_500);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  // By another isolate, which receives its own change.
  const { access_token } = (
    await postForm(
      `${provider.origin}/token`,
      { grant_type: "client_credentials" },
      { authorization: basicAuthorization(provider.admin) },
    )
  ).body;
  const changed = await fetch(`${provider.direct["op-management#2"]}/admin/roles/unused`, {
    method: "PUT",
    headers: { authorization: `Bearer ${String(access_token)}`, "content-type": "application/json" },
    body: JSON.stringify({ permissions: [] }),
  });
  expect(changed.ok, await changed.text()).toBe(true);
  for (let shard = 0; shard < 8; shard += 1) {
    const url = `${provider.direct["op-state"]}/end/TokenRevocationStore/revocation:g1:wnam:${shard}?empty=recent_change`;
    expect((await fetch(url, { method: "POST" })).status).toBe(204);
  }
}

describe("after an administrative change", () => {
  test("one read of the change log that takes 8 s fails no request: it is read a second time", async () => {
    await changeUnseen();
    await slowDown({ store: "D1", containing: changeLogRead, ms: 8_000, times: 1 });
    const seen = await introspectFor(6_000);
    expect(await operations(changeLogRead)).not.toHaveLength(0);
    expect(seen.filter(({ status, active }) => status !== 200 || !active)).toEqual([]);
    expect(Math.max(...seen.map(({ tookMs }) => tookMs))).toBeLessThan(5_000);
  });

  test("a change log that is slow for long causes 503 in bounded time, and the isolate recovers with it", async () => {
    await changeUnseen();
    await slowDown({ store: "D1", containing: changeLogRead, ms: 8_000 });
    const seen = await introspectFor(5_000);
    expect(seen.some(({ status }) => status === 503)).toBe(true);
    expect(Math.max(...seen.map(({ tookMs }) => tookMs))).toBeLessThan(12_000);
    for (const { status, active } of seen) expect(status === 200 ? active : status === 503).toBe(true);
    await slowDown();
    const wellAtMs = performance.now();
    const after = await introspectFor(6_000);
    // Requests that joined an earlier call may fail with it; from 5 s on, no request does.
    const late = after.filter(({ endedAtMs, tookMs }) => endedAtMs - tookMs > wellAtMs + 5_000);
    expect(late.length).toBeGreaterThan(8);
    expect(late.filter(({ status, active }) => status !== 200 || !active)).toEqual([]);
  });
});

describe("a cold record", () => {
  test("a KV stall of 12 s is a miss: 200 in less than 4 s", async () => {
    const cold = await fixtures.resourceServer();
    await slowDown({ store: "KV", ms: 12_000 });
    const { status, tookMs } = await introspect(cold);
    expect(status).toBe(200);
    expect(tookMs).toBeLessThan(4_000);
  });

  test("a D1 stall of 12 s is 503 in less than 8 s; the next request is served", async () => {
    const cold = await fixtures.resourceServer();
    await slowDown({ store: "D1", containing: "FROM clients", ms: 12_000, times: 1 });
    const { status, tookMs } = await introspect(cold);
    expect(status).toBe(503);
    expect(tookMs).toBeGreaterThan(3_000);
    expect(tookMs).toBeLessThan(8_000);
    expect((await introspect(cold)).status).toBe(200);
  });

  test("sixty concurrent requests of one client read it from D1 once", async () => {
    const cold = await fixtures.resourceServer();
    await slowDown({ store: "D1", containing: "FROM clients", ms: 300, times: 1 });
    const seen = await Promise.all(Array.from({ length: 60 }, () => introspect(cold)));
    expect(seen.map(({ status }) => status)).toEqual(seen.map(() => 200));
    expect(await operations("FROM clients")).toHaveLength(1);
    expect((await operations(`client:${cold.client_id}`)).filter((each) => each.startsWith("KV get"))).toHaveLength(1);
  });
});
