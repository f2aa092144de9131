/**
 * **A change of what every isolate uses is read from D1 and KeyManager once, not by each isolate**: changes carry small records. Counted for a
 * client, a rotation of keys and an opened generation, with leases from shards and from a relay.
 */

import { createExecutionContext, runDurableObjectAlarm, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ClientDirectory } from "@edge-op/shared/clients/client-directory";
import { limits } from "@edge-op/shared/config/limits";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { type ControlPlaneBindings, commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { ControlView } from "@edge-op/shared/control/control-view";
import { settle } from "@edge-op/shared/control/settle";
import { type CallCounts, countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { type KeyBindings, KeyRing } from "@edge-op/shared/keys/key-ring";
import { keyManagerName } from "@edge-op/shared/keys/key-schedule";
import { type RevocationBindings, RevocationView } from "@edge-op/shared/leases/revocation-view";
import { controlPlaneName, formatTokenId } from "@edge-op/shared/storage/shard-address";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { leastMetadata } from "../../../../test/fixtures/seed.ts";

type FixtureEnv = RevocationBindings & KeyBindings & ControlPlaneBindings & SettingsVariables;
const fixtureEnv = env as unknown as FixtureEnv;
const { DB } = fixtureEnv;
const plane = () => fixtureEnv.CONTROL_PLANE.getByName(controlPlaneName);
const manager = () => fixtureEnv.KEY_MANAGER.getByName(keyManagerName);

const background: Promise<void>[] = [];
afterEach(async () => {
  await Promise.all(background.splice(0));
});

/** The records that an isolate has read: the name of the client, the revision of the keys, the generations of codes. */
interface Seen {
  readonly name: string | undefined;
  readonly revision: number;
  readonly generation: number;
}

/** The calls of an isolate, background included, except those of revocation shards and relays, which are leases. */
interface Reads {
  readonly d1: number;
  readonly kv: number;
  readonly keyManager: number;
}

class Isolate {
  readonly control = new ControlView();
  readonly #shardMap = new ShardMap(this.control);
  readonly revocation = new RevocationView(this.control, this.#shardMap);
  readonly #clients = new ClientDirectory(this.control);
  readonly #keyRing = new KeyRing(this.control);
  readonly #stores: CallCounts = { object: 0, kv: 0, d1: 0 };
  readonly #keys: CallCounts = { object: 0, kv: 0, d1: 0 };
  readonly #shard: number;
  #isServing = true;

  constructor(index: number) {
    this.#shard = index % 8;
  }

  get reads(): Reads {
    return { d1: this.#stores.d1, kv: this.#stores.kv, keyManager: this.#keys.object };
  }

  async request<T>(work: (context: RequestContext<FixtureEnv>) => Promise<T>): Promise<T> {
    const execution = createExecutionContext();
    const counted = {
      ...countCalls(fixtureEnv, this.#stores),
      ...countCalls({ KEY_MANAGER: fixtureEnv.KEY_MANAGER }, this.#keys),
    };
    try {
      return await work(createRequestContext(new Request("https://op.example.com/"), counted, execution));
    } finally {
      background.push(waitOnExecutionContext(execution));
    }
  }

  /** A request that reads all of them and decides about a token. */
  serve(): Promise<Seen> {
    const address = { generation: 1, region: "wnam", shard: this.#shard };
    const jti = formatTokenId({ address, grantId: "grant", random: "r" });
    const token = { address, jti, grantId: "grant", sub: "alice", clientId: "app", lineage: [] };
    return this.request((context) =>
      settle(context, this, async () => {
        const client = await this.#clients.find(context, "app");
        const { revision } = await this.#keyRing.schedule(context);
        const { generation } = (await this.#shardMap.table(context)).newest("code");
        await this.revocation.isRevoked(context, [token]);
        return { name: client?.metadata.client_name, revision, generation };
      }),
    );
  }

  /** Keeps its leases. */
  async goOn(): Promise<void> {
    while (this.#isServing) {
      await this.serve();
      await scheduler.wait(250);
    }
  }

  stop(): void {
    this.#isServing = false;
  }
}

async function renameClient(by: Isolate, name: string): Promise<void> {
  await by.request((context) =>
    commitControlChange(
      context,
      [
        DB.prepare(
          "UPDATE clients SET metadata = json_set(metadata, '$.client_name', ?1) WHERE client_id = 'app'",
        ).bind(name),
      ],
      [{ kind: "client", id: "app" }],
    ),
  );
}

async function openRelay(): Promise<void> {
  const regions = JSON.stringify({ wnam: { shards: 1, hint: "wnam" } });
  await DB.prepare(
    "INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES ('relay', 1, ?1, 0)",
  )
    .bind(regions)
    .run();
}

/** D1 has the key schedule, as in every deployment that has served a request. */
async function storeSchedule(): Promise<void> {
  await manager().schedule();
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(manager());
    expect(await DB.prepare("SELECT count(*) AS parts FROM key_schedule").first("parts")).toBe(1);
  });
}

function added(before: Reads, after: Reads): Reads {
  return {
    d1: after.d1 - before.d1,
    kv: after.kv - before.kv,
    keyManager: after.keyManager - before.keyManager,
  };
}

/** The reads of each isolate for each change, when all isolates have served a request after it. */
async function readsPerChange(count: number): Promise<Readonly<Record<string, readonly Reads[]>>> {
  const administrator = new Isolate(0);
  const isolates = Array.from({ length: count }, (_, index) => new Isolate(index));
  await storeSchedule();
  await renameClient(administrator, "before");
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await Promise.all(isolates.map((isolate) => isolate.serve()));
  const serving = isolates.map((isolate) => isolate.goOn());
  const { revision } = await isolates[0]!.serve();

  const counted: Record<string, readonly Reads[]> = {};
  const observe = async (change: string, make: () => Promise<unknown>, seen: Partial<Seen>) => {
    const before = isolates.map(({ reads }) => reads);
    await make();
    const served = await Promise.all(isolates.map((isolate) => isolate.serve()));
    for (const each of served) expect(each).toMatchObject(seen);
    counted[change] = isolates.map(({ reads }, index) => added(before[index]!, reads));
  };
  const regions = { wnam: { shards: 4, hint: "wnam" as const } };
  try {
    await observe("client", () => renameClient(administrator, "after"), { name: "after" });
    await observe("keys", () => manager().rotate("ES256", "rotation"), { revision: revision + 1 });
    await observe("generation", () => plane().openGeneration({ store: "code", regions, operationId: "opening" }), {
      generation: 2,
    });
  } finally {
    for (const isolate of isolates) isolate.stop();
    await Promise.all(serving);
  }
  return counted;
}

const nothing: Reads = { d1: 0, kv: 0, keyManager: 0 };

beforeEach(async () => {
  await DB.prepare("INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('app', ?1, 0, 0)")
    .bind(JSON.stringify(leastMetadata))
    .run();
});

describe.each([0, 1])("%i relays", (relays) => {
  it.each([4, 16, 64])(
    "%i isolates read neither D1, KV nor KeyManager for a client, a rotation or a generation",
    {
      timeout: 120_000,
    },
    async (count) => {
      if (relays > 0) await openRelay();
      const counted = await readsPerChange(count);
      for (const [change, reads] of Object.entries(counted))
        expect(reads, change).toEqual(Array.from({ length: count }, () => nothing));
    },
  );
});

it("a record that is too large is read by each isolate, from the copy in KV or from D1", {
  timeout: 60_000,
}, async () => {
  const { changeRecords } = limits;
  Object.assign(limits, { changeRecords: { ...changeRecords, eachCharacters: 10 } });
  try {
    const counted = await readsPerChange(4);
    for (const [change, reads] of Object.entries(counted))
      for (const { d1, kv, keyManager } of reads) expect([change, d1 + kv > 0, keyManager]).toEqual([change, true, 0]);
  } finally {
    Object.assign(limits, { changeRecords });
  }
});
