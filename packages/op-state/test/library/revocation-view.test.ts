import { createExecutionContext, evictDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { isolateMemory, limits } from "@edge-op/shared/config/limits";
import type { RevocationMode, SettingsVariables } from "@edge-op/shared/config/settings";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { ControlView } from "@edge-op/shared/control/control-view";
import { newGrantId } from "@edge-op/shared/grants/grant";
import { grantKey, type RevokeRequest, tokenKey } from "@edge-op/shared/grants/grant-revocation";
import { type CallCounts, countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { RevocationSubject } from "@edge-op/shared/leases/revocation-subject";
import { type RevocationBindings, RevocationView } from "@edge-op/shared/leases/revocation-view";
import { controlPlaneName, formatTokenId, objectName } from "@edge-op/shared/storage/shard-address";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import { afterEach, describe, expect, it, vi } from "vitest";

type FixtureEnv = RevocationBindings &
  SettingsVariables & { readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc> };
const fixtureEnv = env as unknown as FixtureEnv;
const address = { generation: 1, region: "wnam", shard: 3 };
const otherAddress = { ...address, shard: 4 };

/** Work that continues after a response: renewals, while a lease is used. */
const background: Promise<void>[] = [];

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(background.splice(0));
  vi.restoreAllMocks();
});

/** One isolate: the memory of a Worker. */
class Isolate {
  readonly control = new ControlView();
  readonly view = new RevocationView(this.control, new ShardMap(this.control));
  readonly #variables: Partial<SettingsVariables>;
  readonly #counts: CallCounts[] = [];

  /** Every D1 read of this isolate, in the background too. */
  get databaseReads(): number {
    return this.#counts.reduce((sum, { d1 }) => sum + d1, 0);
  }

  constructor(mode: RevocationMode = "strict", leaseMs = 500) {
    this.#variables = { REVOCATION_MODE: mode, LEASE_MS: String(leaseMs) };
  }

  /** Runs `work` as one request, and returns its cost until the response. */
  async request<T>(
    work: (context: RequestContext<FixtureEnv>) => Promise<T>,
    bindings: FixtureEnv = fixtureEnv,
  ): Promise<{ readonly result: T; readonly counts: CallCounts; readonly context: RequestContext<FixtureEnv> }> {
    const execution = createExecutionContext();
    const counts = { object: 0, kv: 0, d1: 0 };
    this.#counts.push(counts);
    const counted = countCalls({ ...bindings, ...this.#variables }, counts);
    const context = createRequestContext(new Request("https://op.example.com/"), counted, execution);
    try {
      const result = await work(context);
      return { result, counts: { ...counts }, context };
    } finally {
      background.push(waitOnExecutionContext(execution));
    }
  }

  async isRevoked(...subjects: readonly RevocationSubject[]): Promise<{ revoked: boolean; objectCalls: number }> {
    const { result, counts } = await this.request((context) => this.view.isRevoked(context, subjects));
    return { revoked: result, objectCalls: counts.object };
  }

  async revoke(...keys: readonly string[]): Promise<void> {
    await this.request((context) => this.view.revoke(context, address, keys.map(revocation)));
  }
}

function revocation(key: string): RevokeRequest {
  const event = { type: "token.revoked", payload: { key } };
  return { key, untilMs: Date.now() + 3_600_000, operationId: key, event };
}

function subject(grantId = "grant", changes: Partial<RevocationSubject> = {}): RevocationSubject {
  const jti = formatTokenId({ address: changes.address ?? address, grantId, random: "r" });
  return { address, jti, grantId, sub: "alice", clientId: "app", lineage: [], ...changes };
}

function shard(at = address) {
  return fixtureEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", at));
}

const untilMs = Date.now() + 3_600_000;
const lineage = formatTokenId({ address, grantId: "grant", random: "ancestor" });

describe.each(["direct", "strict", "bounded"] as const)("mode %s", (mode) => {
  it.each([
    ["the token", tokenKey(subject().jti)],
    ["a token it was exchanged from", tokenKey(lineage)],
    ["its grant", grantKey("grant")],
  ])("a row of %s revokes it, by exact check and by lease", async (_, key) => {
    await shard().revoke([revocation(key)], false);
    const isolate = new Isolate(mode, 200);
    for (let use = 0; use < 3; use += 1) {
      expect((await isolate.isRevoked(subject("other"), subject("grant", { lineage: [lineage] }))).revoked).toBe(true);
      expect((await isolate.isRevoked(subject("other"))).revoked).toBe(false);
    }
  });

  it.each(["nb:sub:alice", "nb:client:app", "nb:tenant:default"])(
    "%s revokes grants that rest on an older version, and no later ones",
    async (key) => {
      await shard().raise({ cutOffs: [{ key, version: 20, untilMs }] }, false);
      const isolate = new Isolate(mode, 200);
      for (let use = 0; use < 3; use += 1) {
        expect((await isolate.isRevoked(subject(newGrantId({ client: 19, user: 19 })))).revoked).toBe(true);
        expect((await isolate.isRevoked(subject(newGrantId({ client: 20, user: 20 })))).revoked).toBe(false);
      }
    },
  );

  it("G1: an address outside the table is unavailable, and no object is called", async () => {
    const isolate = new Isolate(mode);
    for (const outside of [
      { ...address, shard: 8 },
      { ...address, region: "weur" },
      { ...address, generation: 2 },
    ]) {
      const lost = subject("grant", { address: outside });
      await expect(isolate.isRevoked(lost)).rejects.toThrow(UnavailableError);
      const revoking = isolate.request((context) => isolate.view.revoke(context, outside, []));
      await expect(revoking).rejects.toThrow(UnavailableError);
    }
  });

  it("G2: whatever a retired generation names is revoked, and no object is called", async () => {
    await fixtureEnv.DB.prepare("UPDATE shard_generations SET retired = 1 WHERE store = 'revocation'").run();
    const isolate = new Isolate(mode);
    expect(await isolate.isRevoked(subject())).toEqual({ revoked: true, objectCalls: 0 });
  });

  it("after a revocation returned, none of five isolates calls the token live", async () => {
    const isolates = Array.from({ length: 5 }, () => new Isolate(mode, 200));
    for (let round = 0; round < 3; round += 1) {
      const token = subject(`grant${round}`);
      for (let use = 0; use < 3; use += 1) {
        for (const isolate of isolates) expect((await isolate.isRevoked(token)).revoked).toBe(false);
      }
      await isolates[round]!.revoke(grantKey(token.grantId));
      if (mode === "bounded") await scheduler.wait(200);
      for (const isolate of isolates) expect((await isolate.isRevoked(token)).revoked).toBe(true);
      if (round === 1) await evictDurableObject(shard());
    }
  });
});

it("strict: a cold isolate checks, the second use takes a lease, and a warm one calls no object", async () => {
  const isolate = new Isolate("strict", 2_000);
  const calls: number[] = [];
  for (let use = 0; use < 5; use += 1) calls.push((await isolate.isRevoked(subject())).objectCalls);
  expect(calls).toEqual([1, 1, 0, 0, 0]);
});

it("strict: uses further apart than a lease lasts request no lease", async () => {
  const isolate = new Isolate("strict", 100);
  for (let use = 0; use < 3; use += 1) {
    expect((await isolate.isRevoked(subject())).objectCalls).toBe(1);
    await scheduler.wait(120);
  }
  // A revocation finds no lease to wait for.
  await isolate.revoke("j:a");
  expect(await shard().statistics()).toMatchObject({ leasesGranted: 0, waits: { count: 0 } });
});

it("strict: while requests arrive, the lease is renewed in the background, and no request waits for it", async () => {
  const isolate = new Isolate("strict", 400);
  for (let use = 0; use < 2; use += 1) await isolate.isRevoked(subject());
  for (let use = 0; use < 10; use += 1) {
    await scheduler.wait(100);
    expect(await isolate.isRevoked(subject())).toEqual({ revoked: false, objectCalls: 0 });
  }
});

it("strict: a revocation is in force within a few calls while isolates hold leases, long before these end", async () => {
  const isolates = Array.from({ length: 4 }, () => new Isolate("strict", 2_000));
  for (let use = 0; use < 3; use += 1) {
    for (const isolate of isolates) await isolate.isRevoked(subject());
  }
  await isolates[0]!.revoke(grantKey("grant"));
  const { leasesGranted, waits } = await shard().statistics();
  expect(leasesGranted).toBeGreaterThanOrEqual(isolates.length);
  expect(waits).toMatchObject({ endedByConfirmation: 1, endedByLeaseEnd: 0 });
  for (const isolate of isolates) expect(await isolate.isRevoked(subject())).toEqual({ revoked: true, objectCalls: 0 });
});

it("strict: an isolate without requests releases its lease, and no revocation waits for it", async () => {
  const isolate = new Isolate("strict", 1_000);
  for (let use = 0; use < 2; use += 1) await isolate.isRevoked(subject());
  await Promise.all(background.splice(0));
  await shard().revoke([revocation("j:a")], true);
  expect(await shard().statistics()).toMatchObject({ holders: 0, releases: 1, waits: { count: 0 } });
});

it("direct: twenty concurrent requests share calls, and none uses a call sent before it arrived", async () => {
  const isolate = new Isolate("direct");
  const requests = Array.from({ length: 20 }, () => isolate.isRevoked(subject()));
  const calls = (await Promise.all(requests)).reduce((sum, { objectCalls }) => sum + objectCalls, 0);
  expect(calls).toBeLessThanOrEqual(3);
});

it("subjects of one shard are one call, those of two are two at the same time", async () => {
  const isolate = new Isolate("direct");
  expect((await isolate.isRevoked(subject("a"), subject("b"))).objectCalls).toBe(1);
  expect((await isolate.isRevoked(subject("a"), subject("b", { address: otherAddress }))).objectCalls).toBe(2);
});

it("a failing object is 503, and service resumes by itself", async () => {
  const isolate = new Isolate("strict", 200);
  for (let use = 0; use < 3; use += 1) await isolate.isRevoked(subject());
  // No lease is left when the isolate has released it.
  await Promise.all(background.splice(0));
  const failing = new Proxy(fixtureEnv.TOKEN_REVOCATION_STORE, {
    get(target, name) {
      if (name === "getByName") {
        return () => {
          throw new Error("overloaded");
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const broken = { ...fixtureEnv, TOKEN_REVOCATION_STORE: failing };
  const asks = (context: RequestContext<FixtureEnv>) => isolate.view.isRevoked(context, [subject()]);
  const revokes = (context: RequestContext<FixtureEnv>) => isolate.view.revoke(context, address, [revocation("j:a")]);
  const confirms = (context: RequestContext<FixtureEnv>) => isolate.view.confirmControl(context);
  for (const work of [asks, revokes, confirms]) {
    await expect(isolate.request<unknown>(work, broken)).rejects.toThrow("revocation did not respond");
  }
  expect((await isolate.isRevoked(subject())).revoked).toBe(false);
});

it("a failing renewal is logged and affects no request while the lease lasts; the next request renews it", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const isolate = new Isolate("strict", 2_000);
  await isolate.isRevoked(subject());
  const { observe } = ControlView.prototype;
  const observing = vi.spyOn(isolate.control, "observe").mockImplementation(async (...given) => {
    if (observing.mock.calls.length === 2) throw new Error("D1 is down");
    return observe.apply(isolate.control, given);
  });
  await isolate.isRevoked(subject());
  await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce(), { timeout: 5_000 });
  expect(await isolate.isRevoked(subject())).toEqual({ revoked: false, objectCalls: 0 });
  await scheduler.wait(150);
  await isolate.isRevoked(subject());
  await vi.waitFor(() => expect(observing.mock.calls.length).toBeGreaterThan(2), { timeout: 5_000 });
  expect(warn).toHaveBeenCalledOnce();
});

describe("control version", () => {
  async function change(id: string): Promise<number> {
    const { meta } = await fixtureEnv.DB.prepare(
      "INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ?1, 0)",
    )
      .bind(id)
      .run();
    return meta.last_row_id;
  }

  const confirm = (isolate: Isolate) => isolate.request((context) => isolate.view.confirmControl(context));

  async function raiseEverywhere(cv: number): Promise<void> {
    const shards = Array.from({ length: 8 }, (_, index) => shard({ ...address, shard: index }));
    await Promise.all(shards.map(async (each) => await each.raise({ cv }, true)));
  }

  it("confirmed by one call when cold, by none while any lease covers the arrival", async () => {
    const isolate = new Isolate("strict", 2_000);
    const calls: number[] = [];
    for (let use = 0; use < 4; use += 1) calls.push((await confirm(isolate)).counts.object);
    expect(calls).toEqual([1, 1, 0, 0]);
    const asked = new Isolate("strict", 2_000);
    for (let use = 0; use < 2; use += 1) await asked.isRevoked(subject());
    expect((await confirm(asked)).counts.object).toBe(0);
  });

  /** Shards whose name `fails` accepts throw at every call, or never respond. */
  function withoutShards(fails: (name: string) => boolean, kind: "throw" | "hang"): FixtureEnv {
    const TOKEN_REVOCATION_STORE = new Proxy(fixtureEnv.TOKEN_REVOCATION_STORE, {
      get(target, property) {
        if (property !== "getByName") {
          const value: unknown = Reflect.get(target, property, target);
          return typeof value === "function" ? value.bind(target) : value;
        }
        return (name: string) => {
          if (!fails(name)) return target.getByName(name);
          const call = () => (kind === "hang" ? new Promise(() => {}) : Promise.reject(new Error("away")));
          return { check: call, lease: call };
        };
      },
    });
    return { ...fixtureEnv, TOKEN_REVOCATION_STORE };
  }

  it.each(["throw", "hang"] as const)(
    "with the isolate's own shard dead (%s) another one confirms, and is asked first from then on",
    { timeout: 20_000 },
    async (kind) => {
      for (let seed = 0; seed < 4; seed += 1) {
        const isolate = new Isolate("direct");
        let dead: string | undefined;
        const env = withoutShards((name) => {
          dead ??= name;
          return name === dead;
        }, kind);
        const confirmed = () => isolate.request((context) => isolate.view.confirmControl(context), env);
        const first = await confirmed();
        expect([first.context.progress.controlConfirmed, first.counts.object]).toEqual([true, 2]);
        // One call, so nothing waited for the dead shard.
        const second = await confirmed();
        expect([second.context.progress.controlConfirmed, second.counts.object]).toEqual([true, 1]);
        if (kind === "hang") break;
      }
    },
  );

  it("with every shard dead it is 503, after a bounded number of calls and 5 s at most", async () => {
    const names = new Set<string>();
    const dead = (name: string) => names.add(name) !== undefined;
    const asks = (kind: "throw" | "hang") => {
      const isolate = new Isolate("direct");
      return isolate.request((context) => isolate.view.confirmControl(context), withoutShards(dead, kind));
    };
    await expect(asks("throw")).rejects.toThrow("revocation did not respond");
    expect(names.size).toBe(4);
    names.clear();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const refused = expect(asks("hang")).rejects.toThrow("revocation did not respond");
    // The table of shards is read in real time; the limits begin with the first call.
    while (names.size === 0) await scheduler.wait(1);
    await vi.advanceTimersByTimeAsync(limits.objectCallMs);
    await refused;
    expect(names.size).toBe(4);
    // The calls in the background end too.
    await vi.advanceTimersByTimeAsync(limits.objectCallMs);
  });

  it("a request that called a shard is confirmed by the response", async () => {
    const isolate = new Isolate("direct");
    const { counts, context } = await isolate.request(async (context) => {
      await isolate.view.isRevoked(context, [subject()]);
      await isolate.view.confirmControl(context);
    });
    expect(counts.object).toBe(1);
    expect(context.progress.controlConfirmed).toBe(true);
  });

  it("after a raise returned, every isolate knows the version and has discarded the changed records", async () => {
    const isolates = Array.from({ length: 4 }, () => new Isolate("strict", 300));
    const forgotten: string[] = [];
    for (const [index, isolate] of isolates.entries()) {
      isolate.control.onChange("client", (id) => forgotten.push(`${index} ${id ?? "all"}`));
      for (let use = 0; use < 3; use += 1) await confirm(isolate);
    }
    forgotten.length = 0;
    const cv = await change("app");
    await raiseEverywhere(cv);
    for (const isolate of isolates) {
      await confirm(isolate);
      expect(isolate.control.version).toBe(cv);
    }
    expect(forgotten.sort()).toEqual(["0 app", "1 app", "2 app", "3 app"]);
  });

  it("changes travel with leases: an isolate acts on them without a read of D1, and in order", async () => {
    const isolates = Array.from({ length: 4 }, () => new Isolate("strict", 2_000));
    const forgotten: string[] = [];
    for (const [index, isolate] of isolates.entries()) {
      isolate.control.onChange("client", (id) => forgotten.push(`${index} ${id ?? "all"}`));
      for (let use = 0; use < 3; use += 1) await confirm(isolate);
    }
    const publish = () => fixtureEnv.CONTROL_PLANE.getByName(controlPlaneName).publish(crypto.randomUUID());
    await change("first");
    await publish();
    forgotten.length = 0;
    const readBefore = isolates.map(({ databaseReads }) => databaseReads);
    await change("app");
    const cv = await change("other");
    await publish();
    expect(isolates.map(({ control }) => control.version)).toEqual([cv, cv, cv, cv]);
    expect(forgotten.sort()).toEqual([0, 1, 2, 3].flatMap((index) => [`${index} app`, `${index} other`]));
    expect(isolates.map(({ databaseReads }) => databaseReads)).toEqual(readBefore);
  });

  it("G2: a lease of a shard whose generation is retired confirms nothing: it receives no later changes", async () => {
    const isolate = new Isolate("strict", 2_000);
    for (let use = 0; use < 2; use += 1) await isolate.isRevoked(subject());
    expect((await confirm(isolate)).counts.object).toBe(0);
    await fixtureEnv.DB.batch([
      fixtureEnv.DB.prepare(
        `INSERT INTO shard_generations (store, generation, regions, minted_from_ms)
           SELECT store, 2, regions, 0 FROM shard_generations WHERE store = 'revocation' AND generation = 1`,
      ),
      fixtureEnv.DB.prepare("UPDATE shard_generations SET retired = 1 WHERE store = 'revocation' AND generation = 1"),
      fixtureEnv.DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('generations', '*', 0)"),
    ]);
    const row = await fixtureEnv.DB.prepare("SELECT max(version) AS cv FROM control_changes").first<{ cv: number }>();
    await isolate.request((context) => isolate.control.observe(context, row!.cv));
    // The change is sent to the shards that the table now contains, and to no others.
    const disabling = await change("app");
    const shards = Array.from({ length: 8 }, (_, index) => shard({ ...address, generation: 2, shard: index }));
    await Promise.all(shards.map(async (each) => await each.raise({ cv: disabling }, true)));
    await confirm(isolate);
    expect(isolate.control.version).toBe(disabling);
  });

  it("a version that cannot be applied leaves no lease: 503 until D1 responds", async () => {
    const isolate = new Isolate("strict", 2_000);
    await confirm(isolate);
    const cv = await change("app");
    await raiseEverywhere(cv);
    const broken = {
      ...fixtureEnv,
      DB: {
        prepare: () => {
          throw new Error("D1 is down");
        },
      } as unknown as D1Database,
    };
    for (let use = 0; use < 2; use += 1) {
      await expect(isolate.request((context) => isolate.view.confirmControl(context), broken)).rejects.toThrow("D1");
    }
    expect((await confirm(isolate)).counts.object).toBe(1);
    expect(isolate.control.version).toBe(cv);
  });
});

describe("large sets are replicated by filters", () => {
  const many = 12_000;
  const fill = () =>
    shard().revoke(
      Array.from({ length: many }, (_, index) => revocation(grantKey(`revoked-${index}`))),
      false,
    );

  it("strict costs almost no calls: each revoked token and each chance one exact check, which is remembered", async () => {
    await fill();
    const isolate = new Isolate("strict", 5_000);
    for (let use = 0; use < 2; use += 1) await isolate.isRevoked(subject("first"));
    let calls = 0;
    let chance: RevocationSubject | undefined;
    const reads = 3_000;
    for (let index = 0; index < reads; index += 1) {
      const each = subject(`alive-${index}`);
      const { revoked, objectCalls } = await isolate.isRevoked(each);
      expect(revoked).toBe(false);
      calls += objectCalls;
      if (objectCalls === 1) chance = each;
    }
    // Two keys of a token, each in the filter by chance with a probability of 1/512.
    expect(calls / reads).toBeLessThan(0.01);
    expect(calls).toBeGreaterThan(0);
    expect(await isolate.isRevoked(subject("revoked-7"))).toEqual({ revoked: true, objectCalls: 1 });
    expect(await isolate.isRevoked(subject("revoked-7")), "remembered").toEqual({ revoked: true, objectCalls: 0 });
    expect(isolate.view.heldBytes).toBeLessThan(2 * many);

    // An exact check that found nothing is remembered until the token is revoked.
    expect(await isolate.isRevoked(chance!)).toEqual({ revoked: false, objectCalls: 0 });
    await isolate.revoke(grantKey(chance!.grantId));
    expect((await isolate.isRevoked(chance!)).revoked).toBe(true);
  }, 60_000);

  it("one client's 12,000 revocations leave others their leases, and later ones are in force immediately", async () => {
    const isolate = new Isolate("strict", 2_000);
    for (let use = 0; use < 2; use += 1) await isolate.isRevoked(subject("revoked-500"));
    const rows = Array.from({ length: many }, (_, index) => revocation(grantKey(`revoked-${index}`)));
    await isolate.request((context) => isolate.view.revoke(context, address, rows));
    for (let use = 0; use < 2; use += 1) {
      expect((await isolate.isRevoked(subject("revoked-500"))).revoked).toBe(true);
    }
    expect(await isolate.isRevoked(subject("quiet"))).toEqual({ revoked: false, objectCalls: 0 });
  }, 60_000);
});

describe("replicas are bounded by bytes", () => {
  it("a shard whose rows do not fit is checked exactly, and leases of the others continue", async () => {
    const shards = [0, 1, 2, 3].map((number) => ({ ...address, shard: number }));
    const sub = (index: number) => `${index}-`.padEnd(250, "x");
    const cutOffs = Array.from({ length: 9_000 }, (_, index) => ({
      key: `nb:sub:${sub(index)}`,
      version: 20,
      untilMs,
    }));
    for (const at of shards) await shard(at).raise({ cutOffs }, false);
    const isolate = new Isolate("strict", 3_000);
    const uses = async () => {
      const calls: number[] = [];
      for (const at of shards) {
        const revoked = subject("grant", { address: at, sub: sub(8_999) });
        const { revoked: isRevoked, objectCalls } = await isolate.isRevoked(revoked);
        expect(isRevoked).toBe(true);
        expect((await isolate.isRevoked(subject("grant", { address: at }))).revoked).toBe(false);
        calls.push(objectCalls);
      }
      return calls;
    };
    expect(await uses()).toEqual([1, 1, 1, 1]);
    expect(await uses()).toEqual([0, 0, 0, 1]);
    expect(isolate.view.heldBytes).toBeLessThanOrEqual(isolateMemory.revocationReplicas);
    expect(isolate.view.heldBytes).toBeGreaterThan(0.6 * isolateMemory.revocationReplicas);
  }, 60_000);
});
