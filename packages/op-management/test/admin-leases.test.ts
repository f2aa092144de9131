import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { objectName } from "@edge-op/shared/storage/shard-address";
import type { ManagementEnv } from "@edge-op/workers/env";
import { describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

const path = "/shards/revocation/leases";
const names = Array.from({ length: 8 }, (_, shard) =>
  objectName("revocation", { generation: 1, region: "wnam", shard }),
);

/** The shards, of which one does not respond. */
function withoutShard(name: string): Pick<ManagementEnv, "TOKEN_REVOCATION_STORE"> {
  const away = new Proxy({}, { get: () => () => Promise.reject(new Error("away")) });
  const namespace = new Proxy(bindings.TOKEN_REVOCATION_STORE, {
    get(object, property) {
      if (property === "getByName") {
        return (asked: string, options?: object) => (asked === name ? away : object.getByName(asked, options));
      }
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
  return { TOKEN_REVOCATION_STORE: namespace };
}

describe("GET /admin/shards/revocation/leases", () => {
  it("returns the counters of each live shard", async () => {
    const admin = new AdminCaller();
    const shard = bindings.TOKEN_REVOCATION_STORE.getByName(names[5]!);
    const request = { sinceSeq: -1, confirmedSeq: -1, filterSeq: -1, sinceCv: -1, leaseMs: 5_000, hold: false };
    await shard.lease({ ...request, holder: "one" });
    await shard.lease({ ...request, holder: "two" });
    await shard.release("two");
    const event = { type: "token.revoked", payload: {} };
    const row = { key: grantKey("x"), untilMs: Date.now() + 60_000, operationId: "x", event };
    const revoked = shard.revoke([row], true);
    await shard.lease({ ...request, holder: "one", sinceSeq: 1, confirmedSeq: 1 });
    await revoked;

    const { status, body } = await admin.call("GET", path);
    expect(status).toBe(200);
    expect(body).toMatchObject({ unreachable: [], not_called: 0 });
    expect(body.shards.map((one: { shard: string }) => one.shard)).toEqual(names);
    expect(body.shards[5]).toEqual({
      shard: names[5],
      since: expect.any(Number),
      holders: 1,
      waiting: 0,
      leases_granted: 3,
      renewals_held: 0,
      confirmations: 1,
      releases: 1,
      waits: {
        count: 1,
        longest_ms: expect.any(Number),
        ended_by_confirmation: 1,
        ended_by_lease_end: 0,
        boot_fences: expect.any(Number),
      },
    });
    expect(Math.abs(body.shards[5].since - Date.now() / 1000)).toBeLessThan(120);
  });

  it("names a shard that does not respond, and returns the others", async () => {
    const admin = new AdminCaller();
    const token = await admin.issueToken();
    // Any shard except that of the caller's token, which is needed for authorization.
    const jti: string = JSON.parse(atob(token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/"))).jti;
    const away = names[(Number(jti.split(":")[2]) + 1) % 8]!;
    const { status, body } = await admin.call("GET", path, { token, overrides: withoutShard(away) });
    expect(status).toBe(200);
    expect(body.unreachable).toEqual([away]);
    expect(body.shards).toHaveLength(7);
  });

  it("requires admin:shards, accepts no other method, and is described", async () => {
    const admin = new AdminCaller();
    const token = await admin.issueToken({ scope: ["admin:clients", "admin:users", "admin:keys", "admin:tokens"] });
    expect((await admin.call("GET", path, { token })).status).toBe(403);
    expect((await admin.call("GET", path, { token: null })).status).toBe(401);
    expect((await admin.call("POST", path, { body: {} })).status).toBe(405);
    const { body } = await admin.call("GET", "/openapi.json");
    expect(body.paths[path].get).toMatchObject({
      operationId: "listShardLeases",
      security: [{ admin: ["admin:shards"] }],
      responses: {
        200: { content: { "application/json": { schema: { $ref: "#/components/schemas/ShardLeasesList" } } } },
      },
    });
  });

  it("returns the counters of the relays, once there are any", async () => {
    const admin = new AdminCaller();
    expect((await admin.call("GET", path)).body.relays).toEqual([]);
    const opening = { store: "relay", regions: { wnam: { shards: 2 } } };
    expect((await admin.call("POST", "/shards/generations", { body: opening })).status).toBe(201);
    const name = objectName("relay", { generation: 1, region: "wnam", shard: 1 });
    const request = { holder: "one", instance: undefined, version: -1, sinceCv: -1, leaseMs: 5_000, hold: false };
    const relay = bindings.REVOCATION_RELAY.getByName(name);
    // A starting relay has no leases yet; it holds renewals until it has them.
    let { instance, version, leaseMs } = await relay.lease(request);
    while (leaseMs === 0)
      ({ instance, version, leaseMs } = await relay.lease({ ...request, instance, version, hold: true }));

    const { body } = await admin.call("GET", path);
    expect(Math.max(...body.shards.map((one: { leases_granted: number }) => one.leases_granted))).toBeGreaterThan(0);
    expect(body.relays[0]).toMatchObject({ holders: 0, live_shards: 0 });
    expect(body.relays[1]).toMatchObject({ shard: name, live_shards: 8 });
    expect(body.relays[1].leases_granted).toBeGreaterThan(0);
    expect(body.relays[1].renewals_held).toBeGreaterThan(0);
    expect(body.unreachable).toEqual([]);
  });

  it("a generation of relays without regions closes them; for shards it is refused", async () => {
    const admin = new AdminCaller();
    await admin.call("POST", "/shards/generations", { body: { store: "relay", regions: ["wnam"], shards: 1 } });
    expect((await admin.call("POST", "/shards/generations", { body: { store: "relay", regions: {} } })).status).toBe(
      201,
    );
    expect((await admin.call("GET", path)).body.relays).toEqual([]);
    for (const refused of [{ store: "revocation", regions: {} }, { store: "relay" }]) {
      expect((await admin.call("POST", "/shards/generations", { body: refused })).status).toBe(400);
    }
  });
});
