import {
  createExecutionContext,
  listDurableObjectIds,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { limits } from "@edge-op/shared/config/limits";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { ControlView } from "@edge-op/shared/control/control-view";
import { type RevokeRequest, tokenKey } from "@edge-op/shared/grants/grant-revocation";
import { type CallCounts, countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { RevocationSubject } from "@edge-op/shared/leases/revocation-subject";
import { type RevocationBindings, RevocationView } from "@edge-op/shared/leases/revocation-view";
import { controlPlaneName, formatTokenId, objectName } from "@edge-op/shared/storage/shard-address";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

type FixtureEnv = RevocationBindings &
  SettingsVariables & { readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc> };
const fixtureEnv = env as unknown as FixtureEnv;
const shards = Array.from({ length: 8 }, (_, shard) => ({ generation: 1, region: "wnam", shard }));
const leaseMs = 500;

const background: Promise<void>[] = [];

/** One isolate behind a relay. */
class Isolate {
  readonly control = new ControlView();
  readonly view = new RevocationView(this.control, new ShardMap(this.control));
  readonly counts: CallCounts = { object: 0, kv: 0, d1: 0 };

  async request<T>(work: (context: RequestContext<FixtureEnv>) => Promise<T>, bindings = fixtureEnv): Promise<T> {
    const execution = createExecutionContext();
    const counted = countCalls({ ...bindings, LEASE_MS: String(leaseMs) }, this.counts);
    try {
      return await work(createRequestContext(new Request("https://op.example.com/"), counted, execution));
    } finally {
      background.push(waitOnExecutionContext(execution));
    }
  }

  isRevoked(subject: RevocationSubject, bindings = fixtureEnv): Promise<boolean> {
    return this.request((context) => this.view.isRevoked(context, [subject]), bindings);
  }

  /** Decides about tokens of every shard for a while. */
  async serve(ms: number, bindings = fixtureEnv): Promise<void> {
    const untilMs = performance.now() + ms;
    do {
      for (const address of shards) await this.isRevoked(token("any", address), bindings);
      await scheduler.wait(20);
    } while (performance.now() < untilMs);
  }

  revoke(...grants: readonly string[]): Promise<void> {
    const requests = grants.map((grant) => revocation(tokenKey(token(grant).jti)));
    return this.request(async (context) => void (await this.view.revoke(context, shards[3]!, requests)));
  }
}

function revocation(key: string): RevokeRequest {
  const event = { type: "token.revoked", payload: { key } };
  return { key, untilMs: Date.now() + 3_600_000, operationId: key, event };
}

function token(grantId: string, address = shards[3]!): RevocationSubject {
  const jti = formatTokenId({ address, grantId, random: "r" });
  return { address, jti, grantId, sub: "alice", clientId: "app", lineage: [] };
}

function controlPlane() {
  return fixtureEnv.CONTROL_PLANE.getByName(controlPlaneName);
}

function setRelays(number: number, operationId: string): Promise<unknown> {
  const regions = number === 0 ? {} : { wnam: { shards: number, hint: "wnam" as const } };
  return controlPlane().openGeneration({ store: "relay", regions, operationId });
}

function relay(generation = 1) {
  return fixtureEnv.REVOCATION_RELAY.getByName(objectName("relay", { generation, region: "wnam", shard: 0 }));
}

beforeEach(async () => {
  await setRelays(1, "open");
});

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(background.splice(0));
});

it("I1, T1: after a revocation returned, none of five isolates behind a relay calls the token live", async () => {
  const isolates = Array.from({ length: 5 }, () => new Isolate());
  await Promise.all(isolates.map((isolate) => isolate.serve(400)));
  for (const grant of ["one", "two", "three"]) {
    const serving = Promise.all(isolates.map((isolate) => isolate.serve(100)));
    await isolates[0]!.revoke(grant);
    expect(await Promise.all(isolates.map((isolate) => isolate.isRevoked(token(grant))))).toEqual(Array(5).fill(true));
    await serving;
  }
  const { leasesGranted, liveShards, confirmations } = await relay().statistics();
  expect(liveShards).toBe(8);
  expect(leasesGranted).toBeGreaterThan(10);
  expect(confirmations).toBeGreaterThan(5);
});

it("a warm isolate makes at most two calls per lease length for eight shards, and none for a request", async () => {
  const isolate = new Isolate();
  await isolate.serve(1_500);
  const leases = 4;
  const perLease: number[] = [];
  for (let window = 0; window < 8 && Math.min(...perLease) > 2; window += 1) {
    const before = { calls: isolate.counts.object, atMs: performance.now() };
    await isolate.serve(leases * leaseMs);
    const passed = (performance.now() - before.atMs) / leaseMs;
    perLease.push((isolate.counts.object - before.calls) / passed);
  }
  // 1.7 for each lease length; a request that takes over the renewals adds none. Direct leases would be eight times as many. A machine that is slow
  // for a moment loses a lease, and calls the shards then.
  expect(Math.min(...perLease)).toBeLessThanOrEqual(2);
  expect(Math.min(...perLease)).toBeGreaterThan(0.5);
});

it("T2: a revocation behind a relay is acknowledged by confirmations, not by the end of leases", async () => {
  const isolates = [new Isolate(), new Isolate()];
  await Promise.all(isolates.map((isolate) => isolate.serve(600)));
  const shard = fixtureEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", shards[3]!));
  for (const grant of ["one", "two", "three"]) {
    await Promise.all([...isolates.map((isolate) => isolate.serve(60)), isolates[0]!.revoke(grant)]);
  }
  const { waits } = await shard.statistics();
  expect(waits.endedByConfirmation).toBeGreaterThan(0);
});

it("T4: a new run of the relay is another holder: isolates receive snapshots, and no revocation is missed", async () => {
  const isolates = [new Isolate(), new Isolate()];
  await Promise.all(isolates.map((isolate) => isolate.serve(400)));
  await isolates[0]!.revoke("before");
  const ended = runInDurableObject(relay(), (_, state) => state.abort("ended by the test"));
  await expect(ended).rejects.toThrow("ended by the test");
  await isolates[1]!.revoke("while");
  for (const isolate of isolates) {
    expect(await isolate.isRevoked(token("before"))).toBe(true);
    expect(await isolate.isRevoked(token("while"))).toBe(true);
  }
  await Promise.all(isolates.map((isolate) => isolate.serve(2_000)));
  const { leasesGranted, liveShards } = await relay().statistics();
  expect(liveShards).toBe(8);
  expect(leasesGranted).toBeGreaterThan(2);
});

it("a request waits at most 300 ms for a relay that does not respond, and later ones not at all", async () => {
  // With this clock, code that waits for a time waits for this test.
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const never = new Promise<never>(() => {});
  const called = Promise.withResolvers<void>();
  const lease = () => {
    called.resolve();
    return never;
  };
  const silent = { lease, release: () => never, idFromName: () => undefined };
  const namespace = { ...silent, getByName: () => silent } as unknown as RevocationBindings["REVOCATION_RELAY"];
  const bindings = { ...fixtureEnv, REVOCATION_RELAY: namespace };
  const isolate = new Isolate();
  await isolate.isRevoked(token("any"), bindings);
  const waiting = isolate.isRevoked(token("any"), bindings);
  await called.promise;
  await vi.advanceTimersByTimeAsync(limits.relayCallMs);
  expect(await waiting).toBe(false);
  for (let use = 0; use < 5; use += 1) {
    expect(await isolate.isRevoked(token("any", shards[use]), bindings)).toBe(false);
  }
});

it("T5: an isolate for which a relay has no snapshot checks exactly, requests no lease from the shards, and retries in its turn", async () => {
  const calledAtMs: number[] = [];
  const response = { instance: "run", version: -1, shards: [], leaseMs: 0, heldMs: 0, cv: -1, changes: undefined };
  const pacing = {
    lease: async () => {
      calledAtMs.push(performance.now());
      return { ...response, againMs: 300 };
    },
    release: async () => undefined,
    idFromName: () => undefined,
  };
  const namespace = { ...pacing, getByName: () => pacing } as unknown as RevocationBindings["REVOCATION_RELAY"];
  const isolate = new Isolate();
  const paced = { ...fixtureEnv, REVOCATION_RELAY: namespace };
  await isolate.serve(1_500, paced);
  expect(calledAtMs.length).toBeGreaterThan(1);
  const gaps = calledAtMs.slice(1).map((atMs, index) => atMs - calledAtMs[index]!);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(280);
  const statistics = await Promise.all(
    shards.map((address) =>
      fixtureEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", address)).statistics(),
    ),
  );
  expect(statistics.map(({ leasesGranted }) => leasesGranted)).toEqual(shards.map(() => 0));
  await isolate.revoke("paced");
  expect(await isolate.isRevoked(token("paced"), paced)).toBe(true);
  expect(await isolate.isRevoked(token("other"), paced)).toBe(false);
  // The relay can send again.
  await isolate.serve(1_500);
  expect((await relay().statistics()).leasesGranted).toBeGreaterThan(0);
});

it("relays are opened and closed live: isolates follow, and no object of a closed relay is called", async () => {
  const isolate = new Isolate();
  await isolate.serve(600);
  expect((await relay().statistics()).leasesGranted).toBeGreaterThan(0);
  await setRelays(0, "close");
  // The control version reaches the isolate with the leases, so it had left before the call returned.
  await isolate.serve(300);
  const { leasesGranted } = await relay().statistics();
  await isolate.revoke("closed");
  expect(await isolate.isRevoked(token("closed"))).toBe(true);
  await isolate.serve(700);
  expect(await relay().statistics()).toMatchObject({ leasesGranted, holders: 0 });
  await setRelays(2, "open again");
  await isolate.serve(900);
  const names = (await listDurableObjectIds(fixtureEnv.REVOCATION_RELAY)).length;
  expect(names).toBe(2);
  await isolate.revoke("open again");
  expect(await isolate.isRevoked(token("open again"))).toBe(true);
});

it("T3: an administrative change reaches isolates through the relay: none of them reads D1", async () => {
  const isolates = [new Isolate(), new Isolate(), new Isolate()];
  await Promise.all(isolates.map((isolate) => isolate.serve(700)));
  const before = isolates.map(({ counts }) => counts.d1);
  for (const id of ["a", "b", "c"]) {
    const serving = Promise.all(isolates.map((isolate) => isolate.serve(60)));
    await controlPlane().begin(id);
    await fixtureEnv.DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ?, 0)").bind(id).run();
    const { cv } = await controlPlane().publish(id);
    for (const isolate of isolates) expect(isolate.control.version).toBe(cv);
    await serving;
  }
  expect(isolates.map(({ counts }) => counts.d1)).toEqual(before);
});
