import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { formatTokenId, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import type { ManagementEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it } from "vitest";
import { openSecondGeneration, retireFirstGeneration } from "../../../test/fixtures/open-generation.ts";
import { type SeededClient, seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { AdminCaller } from "./fixtures/admin-fixtures.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

/** **Ends of a grant whose tokens are on two generations of revocation shards** (ADR 16), each by one call. */
let app: SeededClient;
beforeEach(async () => {
  await openSecondGeneration(managementEnv, "revocation");
  app = await seedClient(managementEnv, "app");
  await seedUser(managementEnv, "alice");
});

const first: ShardAddress = { generation: 1, region: "wnam", shard: 3 };
const login = { sid: "s", authTimeSeconds: 1, acr: undefined, amr: undefined, claims: undefined, cnf: undefined };
const scope = ["openid", "offline_access"];
let grants = 0;

/** A grant that began on the first generation and was refreshed on the second. */
async function movedGrant(fixtures: ManagementFixtures) {
  grants += 1;
  const grantId = `moved-grant-${grants}-00000000001`;
  const grantCreatedAtMs = Date.now();
  const family = {
    ...{ ...login, scope, clientId: "app", sub: "alice", pairwiseSub: undefined, authorizationDetails: undefined },
    ...{ resources: [], expiresAtMs: grantCreatedAtMs + 86_400_000 },
    grant: { grantId, address: first, grantCreatedAtMs },
  };
  const tokensEndAtMs = grantCreatedAtMs + 300_000;
  return fixtures.within(async (context) => {
    const { shardMap, refreshFamilies } = fixtures.isolate;
    const at = await shardMap.place(context, "refresh", grantId);
    const refreshToken = await refreshFamilies.create(context, family, tokensEndAtMs, at);
    const address = await shardMap.placeAgain(context, "revocation", first, grantId);
    const jti = formatTokenId({ address, grantId, random: "second" });
    const rotation = await refreshFamilies.rotate(context, (await readRefreshToken(context, refreshToken))!, {
      ...{ clientId: "app", cnf: undefined, scope: undefined, resources: undefined, authorizationDetails: undefined },
      ...{ accessToken: { jti, iatSeconds: 1, expSeconds: 2 }, tokensEndAtMs, graceMs: 30_000, allowedScope: scope },
      ...{ keepsToken: false, bindsToken: false, dropsScope: false },
      targets: { audiences: ["*"], issuer: "https://op.example.com", openid: true, checked: {}, defaultChecked: true },
    });
    if ("reason" in rotation) throw new Error(rotation.reason);
    return {
      refreshToken: rotation.refreshToken,
      /** The id of an access token at each place. */
      ids: [
        { address: first, grantId, random: "first" },
        { address, grantId, random: "second" },
      ],
    };
  });
}

type Moved = Awaited<ReturnType<typeof movedGrant>>;

const byAdmin = async (bindings: ManagementEnv, body: object) =>
  (await new AdminCaller(bindings).call("POST", "/revocations", { body })).status;

/** The ends of a grant at this Worker; those at others are tested with them. Returns the status of the response. */
const ends: Readonly<Record<string, (grant: Moved, bindings: ManagementEnv) => Promise<number>>> = {
  "its client revokes the refresh token": async ({ refreshToken }, bindings) =>
    (await new ManagementFixtures().post("/revoke", { token: refreshToken }, app, bindings)).status,
  "an administrator revokes the refresh token": ({ refreshToken }, bindings) =>
    byAdmin(bindings, { token: refreshToken }),
  "an administrator names the first access token": ({ ids }, bindings) =>
    byAdmin(bindings, { grant_id: formatTokenId(ids[0]!) }),
  "an administrator names the second access token": ({ ids }, bindings) =>
    byAdmin(bindings, { grant_id: formatTokenId(ids[1]!) }),
};

/** The bindings of an isolate, and the events that its revocations record. */
function recording() {
  const events: string[] = [];
  const namespace = new Proxy(managementEnv.TOKEN_REVOCATION_STORE, {
    get: (target, name) => {
      if (name !== "getByName") return Reflect.get(target, name, target);
      return (...args: Parameters<typeof target.getByName>) => {
        const shard = target.getByName(...args);
        const revoke: typeof shard.revoke = (requests, ...others) => {
          for (const { event } of requests) if (event !== undefined) events.push(event.type);
          return shard.revoke(requests, ...others);
        };
        return new Proxy(shard, {
          get: (stub, method) => (method === "revoke" ? revoke : Reflect.get(stub, method, stub)),
        });
      };
    },
  });
  return { events, bindings: { ...managementEnv, TOKEN_REVOCATION_STORE: namespace } };
}

describe("R7: every access token of a moved grant is inactive after the response, and its end is one event", () => {
  it.each(Object.entries(ends))("%s", async (_, end) => {
    const fixtures = new ManagementFixtures();
    const grant = await movedGrant(fixtures);
    const tokens = await Promise.all(grant.ids.map((id) => fixtures.token({ id })));
    for (const token of tokens) expect(await fixtures.introspect(token, app)).toMatchObject({ active: true });
    expect(await fixtures.introspect(grant.refreshToken, app)).toMatchObject({ active: true });
    const { events, bindings } = recording();
    expect(await end(grant, bindings)).toBe(200);
    expect(events).toEqual(["grant.revoked"]);
    for (const isolate of [fixtures, new ManagementFixtures()])
      for (const token of [...tokens, grant.refreshToken])
        expect(await isolate.introspect(token, app)).toEqual({ active: false });
  });
});

describe("G2: after the generation in which the grant began is retired", () => {
  beforeEach(() => retireFirstGeneration(managementEnv, "revocation"));

  it.each(Object.entries(ends))("its refresh token is active until %s", async (_, end) => {
    const fixtures = new ManagementFixtures();
    const grant = await movedGrant(fixtures);
    const token = await fixtures.token({ id: grant.ids[1]! });
    expect(await fixtures.introspect(await fixtures.token({ id: grant.ids[0]! }), app)).toEqual({ active: false });
    for (const live of [token, grant.refreshToken])
      expect(await fixtures.introspect(live, app)).toMatchObject({ active: true });
    const { events, bindings } = recording();
    expect(await end(grant, bindings)).toBe(200);
    expect(events).toEqual(["grant.revoked"]);
    for (const ended of [token, grant.refreshToken])
      expect(await fixtures.introspect(ended, app)).toEqual({ active: false });
  });
});
