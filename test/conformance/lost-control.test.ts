import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import type { Fault } from "../faults/faulty-objects.ts";
import { shardOf } from "../soak/object-names.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import { ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

/**
 * Revocation shards, the control plane and D1 lost one by one and together, for longer than a shard may vouch for the control version: an
 * administrator's change is in force everywhere after one lease, and requests are refused only while neither the control plane nor D1 answers.
 */
let provider: FaultyProvider;
let fixtures: ProviderFixtures;
let resourceServer: TestClient;
let origins: readonly string[];

beforeAll(async () => {
  provider = await startFaultyProvider({ direct: true, extraIsolates: 1 });
  fixtures = new ProviderFixtures(provider);
  resourceServer = await fixtures.resourceServer();
  origins = [provider.origin, provider.direct["op-management#2"]!];
});

afterEach(() => provider.setFaults([]));
afterAll(() => provider.stop());

const away = (className: string, kind: Fault["kind"] = "hang"): Fault => ({ className, kind });

interface Seen {
  readonly status: number;
  readonly active: unknown;
  readonly retryAfter: string | null;
}

async function introspect(origin: string, token: string): Promise<Seen> {
  const response = await fetch(`${origin}/introspect`, {
    method: "POST",
    headers: { authorization: resourceServer.authorization },
    body: new URLSearchParams({ token }),
  });
  const body = (await response.json()) as { readonly active?: unknown };
  return { status: response.status, active: body.active, retryAfter: response.headers.get("retry-after") };
}

/** Introspects each token at each isolate. */
const introspectAll = (tokens: readonly string[]) =>
  Promise.all(origins.flatMap((origin) => tokens.map((token) => introspect(origin, token))));

/** Again and again, for so long. */
async function introspectFor(tokens: readonly string[], ms: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; ) {
    seen.push(...(await introspectAll(tokens)));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return seen;
}

/** Enough for every shard. */
const tokensOf = (client: TestClient) => Promise.all(Array.from({ length: 24 }, () => fixtures.clientToken(client)));

/** A token of the administrator that none of the shards can make unavailable. */
async function adminToken(shards: readonly string[]): Promise<string> {
  const authorization = basicAuthorization(provider.admin);
  for (;;) {
    const { body } = await postForm(
      `${provider.origin}/token`,
      { grant_type: "client_credentials" },
      { authorization },
    );
    const token = String(body.access_token);
    if (!shards.includes(shardOf(token))) return token;
  }
}

const refused = (seen: readonly Seen[]) => seen.filter(({ status, active }) => status !== 200 || active !== true);

test("with one shard hung and another dead, a change succeeds after one lease and is in force at every isolate", {
  timeout: 60_000,
}, async () => {
  const client = await fixtures.client();
  const tokens = await tokensOf(client);
  expect(refused(await introspectFor(tokens, 2_000))).toEqual([]);
  const nameOf = (shard: number) => `revocation:g1:wnam:${shard}`;
  const lost = (shard: number, kind: Fault["kind"]): Fault => ({
    className: "TokenRevocationStore",
    names: [nameOf(shard)],
    kind,
  });
  const token = await adminToken([nameOf(2), nameOf(5)]);
  const setStatus = async (status: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/merge-patch+json" };
    const url = `${provider.origin}/admin/clients/${client.client_id}`;
    return (await fetch(url, { method: "PATCH", headers, body: JSON.stringify({ status }) })).status;
  };
  await provider.setFaults([lost(2, "hang"), lost(5, "throw")]);
  const startedAt = performance.now();
  expect(await setStatus("disabled")).toBe(200);
  // A lease of 10.4 s and the call; a wait for the hung shard itself would be 17.6 s.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  const { authorization } = client;
  for (const origin of [provider.origin, provider.direct["op-token#2"]!]) {
    const response = await postForm(`${origin}/token`, { grant_type: "client_credentials" }, { authorization });
    expect([401, 503]).toContain(response.status);
  }
  const seen = await introspectAll(tokens);
  expect(seen.filter(({ active }) => active === true)).toEqual([]);
  expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(tokens.length / 2);
  // The next one does not wait: the shards vouch for nothing any more.
  const againAt = performance.now();
  expect(await setStatus("active")).toBe(200);
  expect(performance.now() - againAt).toBeLessThan(8_000);
});

test("without the control plane requests are served, by registrations in D1; without D1 too they are 503, until one is back", {
  timeout: 90_000,
}, async () => {
  const client = await fixtures.client();
  const tokens = await tokensOf(client);
  expect(refused(await introspectFor(tokens, 1_000))).toEqual([]);
  await provider.setFaults([away("ControlPlane")]);
  expect(refused(await introspectFor(tokens, 13_000))).toEqual([]);
  await provider.setFaults([away("ControlPlane"), away("D1")]);
  const seen = await introspectFor(tokens, 13_000);
  const last = seen.at(-1)!;
  expect(last.status).toBe(503);
  expect(last.retryAfter).toMatch(/^\d+$/);
  expect(seen.filter(({ status, active }) => status === 200 && active !== true)).toEqual([]);
  await provider.setFaults([away("ControlPlane", "throw")]);
  await introspectFor(tokens, 5_000);
  expect(refused(await introspectAll(tokens))).toEqual([]);
  await provider.setFaults([]);
  await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
  expect((await introspectAll(tokens)).filter(({ active }) => active === true)).toEqual([]);
});

test("without D1, and while the control plane is started again every two seconds, requests are served", {
  timeout: 90_000,
}, async () => {
  const tokens = await tokensOf(await fixtures.client());
  expect(refused(await introspectFor(tokens, 1_000))).toEqual([]);
  await provider.setFaults([away("D1")]);
  expect(refused(await introspectFor(tokens, 12_000))).toEqual([]);
  await provider.setFaults([]);
  for (let restart = 0; restart < 3; restart += 1) {
    const ended = await fetch(`${provider.direct["op-state"]}/end/ControlPlane/control`, { method: "POST" });
    expect(ended.status).toBe(204);
    expect(refused(await introspectFor(tokens, 2_000))).toEqual([]);
  }
  const startedAt = performance.now();
  await fixtures.client();
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});
