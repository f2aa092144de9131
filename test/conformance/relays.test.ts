import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import { type KeyedClient, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

/** Four isolates of op-management behind two relays that fail on demand. */
let provider: FaultyProvider;
let fixtures: ProviderFixtures;
let asserter: KeyedClient;
let resourceServer: TestClient;
let user: string;
let isolates: string[];
const relays = ["relay:g1:wnam:0", "relay:g1:wnam:1"];

beforeAll(async () => {
  provider = await startFaultyProvider({ relays: 2, extraIsolates: 3, direct: true });
  fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  user = await fixtures.user();
  isolates = Object.entries(provider.direct).flatMap(([name, origin]) =>
    name.startsWith("op-management") ? [origin] : [],
  );
});

afterEach(() => provider.setFaults([]));
afterAll(() => provider.stop());

async function introspect(origin: string, token: string): Promise<unknown> {
  const headers = { authorization: resourceServer.authorization };
  const { status, body } = await postForm(`${origin}/introspect`, { token }, headers);
  expect(status).toBe(200);
  return body["active"];
}

/** Every isolate introspects for a while, so that it holds leases. */
async function warmUp(ms: number): Promise<void> {
  const token = await fixtures.userToken(asserter, user);
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs) {
    expect(await Promise.all(isolates.map((origin) => introspect(origin, token)))).toEqual([true, true, true, true]);
    await sleep(50);
  }
}

/** After the response to the revocation, no isolate reports the token as active. Returns the time until the response. */
async function revokeEverywhere(): Promise<number> {
  const token = await fixtures.userToken(asserter, user);
  for (const origin of isolates) expect(await introspect(origin, token)).toBe(true);
  const startedAtMs = performance.now();
  const headers = { authorization: asserter.authorization };
  const { status } = await postForm(`${provider.origin}/revoke`, { token }, headers);
  const tookMs = performance.now() - startedAtMs;
  expect(status).toBe(200);
  expect(await Promise.all(isolates.map((origin) => introspect(origin, token)))).toEqual([false, false, false, false]);
  return tookMs;
}

test("a revocation is in force at every isolate behind relays when its response arrives", async () => {
  await warmUp(2_000);
  for (let count = 0; count < 5; count += 1) await revokeEverywhere();
  expect((await provider.objectCalls())["RevocationRelay.lease"]).toBeGreaterThan(8);
});

test.each([
  ["throw", (names: readonly string[]) => ({ className: "RevocationRelay", names, kind: "throw" }) as const],
  ["do not respond", (names: readonly string[]) => ({ className: "RevocationRelay", names, kind: "hang" }) as const],
  [
    "are slow",
    (names: readonly string[]) => ({ className: "RevocationRelay", names, kind: "delay", ms: 700 }) as const,
  ],
])("when relays %s, isolates call the shards: no request fails, and no revocation is missed", async (_, fault) => {
  await warmUp(1_000);
  await provider.setFaults([fault(relays)]);
  for (let count = 0; count < 3; count += 1) await revokeEverywhere();
  await warmUp(1_500);
  await revokeEverywhere();
  await provider.setFaults([]);
  await warmUp(1_000);
  await revokeEverywhere();
});

test("ending relays are other holders: no revocation is missed", async () => {
  for (const name of relays) {
    await warmUp(800);
    const ended = fetch(`${provider.direct["op-state"]}/end/RevocationRelay/${encodeURIComponent(name)}`, {
      method: "POST",
    });
    await revokeEverywhere();
    expect((await ended).status).toBe(204);
    await revokeEverywhere();
  }
});
