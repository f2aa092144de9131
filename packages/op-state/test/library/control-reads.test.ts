/**
 * **Isolates do not read D1 because of administrative changes** that name none of their records, at any rate of requests. Eight shards; leases of
 * half a second, so that the rates are those of leases of a second divided by two.
 */

import {
  createExecutionContext,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ClientDirectory } from "@edge-op/shared/clients/client-directory";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { ControlView } from "@edge-op/shared/control/control-view";
import { settle } from "@edge-op/shared/control/settle";
import { type CallCounts, countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { type RevocationBindings, RevocationView } from "@edge-op/shared/leases/revocation-view";
import { controlPlaneName, formatTokenId, objectName } from "@edge-op/shared/storage/shard-address";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { leastMetadata } from "../../../../test/fixtures/seed.ts";

type FixtureEnv = RevocationBindings &
  SettingsVariables & { readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc> };
const fixtureEnv = env as unknown as FixtureEnv;
const { DB } = fixtureEnv;
const leaseMs = 500;
const addresses = Array.from({ length: 8 }, (_, shard) => ({ generation: 1, region: "wnam", shard }));
const stubs = () => addresses.map((at) => fixtureEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", at)));
const plane = () => fixtureEnv.CONTROL_PLANE.getByName(controlPlaneName);

const background: Promise<void>[] = [];
afterEach(async () => {
  await Promise.all(background.splice(0));
});

/** An isolate whose requests read a client and decide about a token. */
class Isolate {
  readonly control = new ControlView();
  readonly revocation = new RevocationView(this.control, new ShardMap(this.control));
  readonly #clients = new ClientDirectory(this.control);
  readonly #mode: "strict" | "direct";
  readonly #counts: CallCounts = { object: 0, kv: 0, d1: 0 };
  #served = 0;

  constructor(mode: "strict" | "direct" = "strict") {
    this.#mode = mode;
  }

  /** In the background too. */
  get databaseReads(): number {
    return this.#counts.d1;
  }

  async #request<T>(work: (context: RequestContext<FixtureEnv>) => Promise<T>): Promise<T> {
    const execution = createExecutionContext();
    const variables = { REVOCATION_MODE: this.#mode, LEASE_MS: String(leaseMs) };
    const counted = countCalls({ ...fixtureEnv, ...variables }, this.#counts);
    try {
      return await work(createRequestContext(new Request("https://op.example.com/"), counted, execution));
    } finally {
      background.push(waitOnExecutionContext(execution));
    }
  }

  /** A request about a token of the next shard, in an order in which neighbours are far apart. */
  serve(): Promise<boolean> {
    const address = addresses[(this.#served++ * 5) % addresses.length]!;
    const jti = formatTokenId({ address, grantId: "grant", random: "r" });
    const token = {
      address,
      jti,
      grantId: "grant",
      sub: "alice",
      clientId: "app",
      lineage: [],
    };
    return this.#request((context) =>
      settle(context, this, async () => {
        expect((await this.#clients.find(context, "app"))?.status).toBe("active");
        return this.revocation.isRevoked(context, [token]);
      }),
    );
  }

  async serveUntil(untilMs: number, gapMs: number): Promise<void> {
    do {
      await this.serve();
      await scheduler.wait(gapMs);
    } while (performance.now() < untilMs);
  }

  revoke(key: string): Promise<void> {
    const event = { type: "token.revoked", payload: { key } };
    const row = { key, untilMs: Date.now() + 3_600_000, operationId: key, event };
    return this.#request(async (context) => void (await this.revocation.revoke(context, addresses[3]!, [row])));
  }
}

/** Appends a change of a client, by default of one that no isolate uses. */
async function commitChange(id = "unrelated"): Promise<number> {
  const insert = "INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ?1, ?2) RETURNING version";
  const row = await DB.prepare(insert).bind(id, Date.now()).first<{ version: number }>();
  return row!.version;
}

/** Returns the announced version. */
async function publish(): Promise<number> {
  return (await plane().publish(crypto.randomUUID())).cv;
}

/**
 * Leaves the deployment as it is at the first request of an administrator, before any change of one: the set-up has written a client, and the alarm
 * of `ControlPlane` has run, its sweep included.
 */
async function firstAlarm(): Promise<void> {
  await commitChange("admin");
  await plane().wakeAudit();
  const sweptUntilMs = () =>
    runInDurableObject(
      plane(),
      (_, { storage }) => storage.sql.exec<{ at: number }>("SELECT due_ms AS at FROM change_sweep").one().at,
    );
  const giveUpAtMs = performance.now() + 20_000;
  while ((await sweptUntilMs()) === 0 && performance.now() < giveUpAtMs) {
    await runDurableObjectAlarm(plane());
    await scheduler.wait(10);
  }
}

async function warmUp(isolate: Isolate): Promise<void> {
  for (let request = 0; request < 9; request += 1) await isolate.serve();
}

beforeEach(async () => {
  await DB.prepare("INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('app', ?1, 0, 0)")
    .bind(JSON.stringify(leastMetadata))
    .run();
});

describe.each([0, 1])("%i relays", (relays) => {
  it("isolates at 1, 2, 8 and 25 requests a second read nothing for 12 changes, from the first of the deployment on", {
    timeout: 60_000,
  }, async () => {
    if (relays > 0) {
      const insert =
        "INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES ('relay', 1, ?1, 0)";
      await DB.prepare(insert)
        .bind(JSON.stringify({ wnam: { shards: relays, hint: "wnam" } }))
        .run();
    }
    await firstAlarm();
    const rates = [1, 2, 8, 25];
    const isolates = rates.map(() => new Isolate());
    await Promise.all(isolates.map(warmUp));
    const readBefore = isolates.map(({ databaseReads }) => databaseReads);
    const untilMs = performance.now() + 2_500;
    const serving = rates.map((rate, index) => isolates[index]!.serveUntil(untilMs, leaseMs / rate));
    let cv = 0;
    for (let change = 0; change < 12; change += 1) {
      await commitChange();
      cv = await publish();
      await scheduler.wait(120);
    }
    await Promise.all(serving);
    await Promise.all(isolates.map((isolate) => isolate.serve()));
    expect(isolates.map(({ control }) => control.version)).toEqual(rates.map(() => cv));
    expect(isolates.map(({ databaseReads }) => databaseReads)).toEqual(readBefore);
  });
});

it("an isolate that was idle during changes reads nothing, even from shards that were restarted meanwhile", async () => {
  await firstAlarm();
  const isolate = new Isolate("direct");
  await warmUp(isolate);
  const before = isolate.databaseReads;
  for (let change = 0; change < 3; change += 1) {
    await commitChange();
    await publish();
  }
  for (const shard of stubs()) await evictDurableObject(shard);
  await isolate.serve();
  expect([isolate.control.version, isolate.databaseReads]).toEqual([5, before]);
});

it("a cold isolate uses the copies in KV after every shard was restarted", async () => {
  await firstAlarm();
  // Every shard has acknowledged the alarm's announcement, so none receives it again after its restart.
  await publish();
  await warmUp(new Isolate("direct"));
  await commitChange();
  await publish();
  for (const shard of stubs()) await evictDurableObject(shard);
  await Promise.all(background.splice(0));
  const cold = new Isolate("direct");
  await warmUp(cold);
  expect(cold.databaseReads).toBe(0);
});

it("400 changes that are published together are sent with responses too", { timeout: 60_000 }, async () => {
  await firstAlarm();
  const isolates = [new Isolate("strict"), new Isolate("direct")];
  await Promise.all(isolates.map(warmUp));
  const before = isolates.map(({ databaseReads }) => databaseReads);
  const insert = DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ?1, ?2)");
  await DB.batch(Array.from({ length: 400 }, (_, index) => insert.bind(`unrelated-${index}`, Date.now())));
  expect(await publish()).toBe(402);
  await Promise.all(isolates.map((isolate) => isolate.serve()));
  expect(isolates.map(({ control }) => control.version)).toEqual([402, 402]);
  expect(isolates.map(({ databaseReads }) => databaseReads)).toEqual(before);
});

it("the response to a revocation names the changes that its isolate lacks", async () => {
  await firstAlarm();
  const isolate = new Isolate("direct");
  await warmUp(isolate);
  const before = isolate.databaseReads;
  await commitChange();
  const cv = await publish();
  await isolate.revoke("j:one");
  expect([isolate.control.version, isolate.databaseReads]).toEqual([cv, before]);
});

it("if names are missing, one read serves the responses of all shards", async () => {
  await firstAlarm();
  const isolate = new Isolate();
  const untilMs = performance.now() + leaseMs;
  await isolate.serveUntil(untilMs, 5);
  const before = isolate.databaseReads;
  const cv = await commitChange();
  await Promise.all(stubs().map((shard) => shard.raise({ cv }, true)));
  await isolate.serve();
  expect(isolate.control.version).toBe(cv);
  // Two, if the first one is slow.
  expect(isolate.databaseReads - before).toBeLessThanOrEqual(2);
});
