import { createExecutionContext } from "cloudflare:test";
import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import type { RevokeRequest } from "@edge-op/shared/grants/grant-revocation";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { RefreshFamily } from "@edge-op/shared/refresh/refresh-family-rpc";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { formatTokenId } from "@edge-op/shared/storage/shard-address";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import type { ManagementEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it } from "vitest";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { openSecondGeneration } from "../../../test/fixtures/open-generation.ts";
import { setChangeLogBackTo } from "../../../test/fixtures/set-back.ts";
import { AdminCaller, bindings, dumpDatabase, issuer, leasing } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

async function tokenIdOf(token: string): Promise<string> {
  const context = createRequestContext(new Request(issuer), bindings, createExecutionContext());
  const read = await readAccessToken(context, admin.isolate, token);
  return formatTokenId(read!.id);
}

function refreshFamily(grant: GrantIdentity): RefreshFamily {
  return {
    grant,
    clientId: "app",
    sub: "alice",
    pairwiseSub: undefined,
    authorizationDetails: undefined,
    cnf: undefined,
    scope: [],
    resources: [],
    expiresAtMs: nowMs() + 3_600_000,
    sid: undefined,
    authTimeSeconds: undefined,
    acr: undefined,
    amr: undefined,
    claims: undefined,
  };
}

const works = async (token: string): Promise<boolean> =>
  (await admin.call("GET", "/clients", { token })).status === 200;

describe("/admin/keys", () => {
  it("protocols.md §4: keys are shown with their states, never their private halves", async () => {
    const { status, body } = await admin.call("GET", "/keys");
    expect(status).toBe(200);
    expect(
      body.keys
        .filter((key: { state: string }) => key.state === "active")
        .map((key: { alg: string }) => key.alg)
        .toSorted(),
    ).toEqual(["ES256", "EdDSA", "RS256"]);
    for (const key of body.keys) {
      expect(Object.keys(key).toSorted()).toEqual([
        "alg",
        "kid",
        "public_jwk",
        "publish_at",
        "retire_at",
        "sign_from",
        "sign_until",
        "state",
      ]);
      expect(key.public_jwk).not.toHaveProperty("d");
    }
    expect((await admin.call("GET", `/keys/${body.keys[0].kid}`)).body).toEqual(body.keys[0]);
    expect((await admin.call("GET", "/keys/nothing")).status).toBe(404);
  });

  it("protocols.md §4 K1: a rotation announces a key, and existing tokens stay valid", async () => {
    const token = await admin.issueToken();
    const { status, body, headers } = await admin.call("POST", "/keys", { body: { alg: "ES256" } });
    expect([status, body.alg, body.state]).toEqual([201, "ES256", "announced"]);
    expect(headers.get("location")).toBe(`${issuer}/admin/keys/${body.kid}`);
    expect(await works(token)).toBe(true);
  });

  it("on a new deployment, each rotation takes effect at once, and one key per algorithm is active", async () => {
    const ofAlgorithm = async () => {
      const { body } = await admin.call("GET", "/keys");
      return body.keys.filter((key: { alg: string }) => key.alg === "RS256") as { kid: string; state: string }[];
    };
    for (let rotation = 0; rotation < 3; rotation += 1) {
      const before = (await ofAlgorithm()).map(({ kid }) => kid);
      expect((await admin.call("POST", "/keys", { body: { alg: "RS256" } })).status).toBe(201);
      const after = await ofAlgorithm();
      expect(after.filter(({ kid }) => !before.includes(kid))).toHaveLength(1);
      expect(after.filter(({ state }) => state === "active")).toHaveLength(1);
    }
  });

  it("protocols.md §4: a revoked key's tokens are refused at once, also by an isolate that knew the key", {
    timeout: 30_000,
  }, async () => {
    const other = new AdminCaller(leasing);
    const token = await other.issueToken();
    expect((await other.call("GET", "/clients", { token })).status).toBe(200);
    const kid = JSON.parse(atob(token.split(".")[0]!)).kid as string;
    expect((await admin.call("DELETE", `/keys/${kid}`)).status).toBe(204);
    expect((await other.call("GET", "/clients", { token })).status).toBe(401);
    const fresh = await other.issueToken();
    expect((await other.call("GET", "/clients", { token: fresh })).status).toBe(200);
  });

  it("admin API: a key revocation may be repeated; an unknown key is 404", async () => {
    const token = await admin.issueToken();
    const kid = JSON.parse(atob(token.split(".")[0]!)).kid as string;
    expect((await admin.call("DELETE", `/keys/${kid}`)).status).toBe(204);
    const again = new AdminCaller();
    expect((await again.call("DELETE", `/keys/${kid}`)).status).toBe(204);
    expect((await again.call("DELETE", "/keys/nothing")).status).toBe(404);
  });

  it.each([[{}], [{ alg: "none" }], [{ alg: "HS256" }], [{ alg: "ES256", kid: "mine" }]])(
    "admin API: a rotation with %j is refused",
    async (body) => {
      expect((await admin.call("POST", "/keys", { body })).status).toBe(400);
    },
  );
});

describe("a restored D1", () => {
  it.each([
    ["to before a change that isolates know", 1],
    ["to before several", 4],
  ])("ADR 11: %s: warm isolates know the next change when it has returned", { timeout: 60_000 }, async (_, changes) => {
    const app = { client_id: "app", grant_types: ["client_credentials"], scope: "a" };
    expect(await admin.call("POST", "/clients", { body: app })).toMatchObject({ status: 201 });
    const newest = await bindings.DB.prepare("SELECT max(version) FROM control_changes").first<number>("max(version)");
    for (const role of ["r0", "r1", "r2", "r3"].slice(0, changes)) {
      await admin.call("PUT", `/roles/${role}`, { body: { permissions: [] } });
    }

    // Both isolates know them, so neither needs to read D1 after losing them.
    const other = new AdminCaller(leasing);
    for (const caller of [admin, other]) await caller.call("GET", "/clients");
    const execution = createExecutionContext();
    const context = () => createRequestContext(new Request(issuer), bindings, execution);
    expect((await other.isolate.clients.find(context(), "app"))?.status).toBe("active");

    await setChangeLogBackTo(bindings.DB, newest!);
    expect(await admin.call("PATCH", "/clients/app", { body: { status: "disabled" } })).toMatchObject({
      status: 200,
    });
    const later = context();
    await other.isolate.revocation.confirmControl(later);
    expect((await other.isolate.clients.find(later, "app"))?.status).toBe("disabled");
    await waitBriefly(execution);
  });
});

describe("POST /admin/revocations", () => {
  it("RFC 7009 §2: a token is refused once the call that revokes it has returned", async () => {
    const token = await admin.issueToken();
    expect(await works(token)).toBe(true);
    const response = await admin.call("POST", "/revocations", { body: { token } });
    expect([response.status, response.body]).toEqual([
      200,
      { kind: "token", id: await tokenIdOf(token), revoked_at: expect.any(Number) },
    ]);
    expect(await works(token)).toBe(false);
  });

  it.each(["jti", "grant_id"])("admin API: a token is revoked by the jti as %s", async (name) => {
    const token = await admin.issueToken();
    const response = await admin.call("POST", "/revocations", { body: { [name]: await tokenIdOf(token) } });
    expect(response.status).toBe(200);
    expect(await works(token)).toBe(false);
  });

  it("RFC 7009 §2.1: a refresh token also ends its family and its grant", async () => {
    const token = await admin.issueToken();
    const context = createRequestContext(new Request(issuer), bindings, createExecutionContext());
    const { id } = (await readAccessToken(context, admin.isolate, token))!;
    const grant = { grantId: id.grantId, address: id.address, grantCreatedAtMs: Date.now() };
    const at = await admin.isolate.shardMap.place(context, "refresh", id.grantId);
    const refreshToken = await admin.isolate.refreshFamilies.create(context, refreshFamily(grant), Date.now(), at);
    const response = await admin.call("POST", "/revocations", { body: { token: refreshToken } });
    expect([response.status, response.body.kind]).toEqual([200, "grant"]);
    expect(await works(token)).toBe(false);
    const read = (await readRefreshToken(context, refreshToken))!;
    expect(await admin.isolate.refreshFamilies.inspect(context, read)).toMatchObject({ live: false });
    const forged = `${refreshToken.slice(0, -1)}${refreshToken.endsWith("A") ? "B" : "A"}`;
    expect((await admin.call("POST", "/revocations", { body: { token: forged } })).status).toBe(400);
  });

  it("admin API: a grant is revoked by its id with its shard", async () => {
    const token = await admin.issueToken();
    const jti = await tokenIdOf(token);
    const grantId = jti.slice(0, jti.indexOf("."));
    const response = await admin.call("POST", "/revocations", { body: { grant_id: grantId } });
    expect(response.body).toEqual({ kind: "grant", id: grantId, revoked_at: expect.any(Number) });
    expect(await works(token)).toBe(false);
  });

  describe("ADR 16: a grant by its id", () => {
    const day = 86_400_000;

    /** A namespace whose stubs have the methods of `changed`. */
    function withMethods<Stub extends object, T extends { get(id: DurableObjectId): Stub }>(
      namespace: T,
      change: (stub: Stub) => Readonly<Record<string, unknown>>,
    ): T {
      const changing = (stub: Stub): Stub => {
        const changed = change(stub);
        return new Proxy(stub, {
          get: (target, method) => (method in changed ? changed[String(method)] : Reflect.get(target, method, target)),
        });
      };
      return new Proxy(namespace, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          const isStub = name === "get" || name === "getByName";
          return (...args: unknown[]): unknown =>
            isStub ? changing(Reflect.apply(value, target, args)) : Reflect.apply(value, target, args);
        },
      });
    }

    /** Revokes a grant by its id. Returns the lifetime of its row. */
    async function revoke(grantId: string, overrides: Partial<ManagementEnv> = {}): Promise<number> {
      let lifeMs = 0;
      const recording = withMethods(bindings.TOKEN_REVOCATION_STORE, (stub: Pick<RevocationShard, "revoke">) => ({
        revoke(requests: readonly RevokeRequest[], wait: boolean) {
          lifeMs = requests[0]!.untilMs - nowMs();
          return stub.revoke(requests, wait);
        },
      }));
      const caller = new AdminCaller({ TOKEN_REVOCATION_STORE: recording, ...overrides });
      expect((await caller.call("POST", "/revocations", { body: { grant_id: grantId } })).status).toBe(200);
      return lifeMs;
    }

    async function grantWithFamily() {
      const token = await admin.issueToken();
      const context = createRequestContext(new Request(issuer), bindings, createExecutionContext());
      const { id } = (await readAccessToken(context, admin.isolate, token))!;
      const family = refreshFamily({ grantId: id.grantId, address: id.address, grantCreatedAtMs: Date.now() });
      const start = async () => {
        const at = await admin.isolate.shardMap.place(context, "refresh", id.grantId);
        return admin.isolate.refreshFamilies.create(context, family, Date.now(), at);
      };
      const isLive = async (refreshToken: string) =>
        (await admin.isolate.refreshFamilies.inspect(context, (await readRefreshToken(context, refreshToken))!))?.live;
      const grantId = formatTokenId(id).slice(0, formatTokenId(id).indexOf("."));
      return { token, grantId, start, isLive };
    }

    it("its family is ended, and its row is kept as long as an access token can be valid", async () => {
      const { token, grantId, start, isLive } = await grantWithFamily();
      const refreshToken = await start();
      const lifeMs = await revoke(grantId);
      expect([await works(token), await isLive(refreshToken)]).toEqual([false, false]);
      expect(lifeMs).toBeGreaterThan(day - 60_000);
      expect(lifeMs).toBeLessThan(day + 10 * 60_000);
    });

    it("a family that starts afterwards, by an earlier code, starts as an ended one", async () => {
      const { grantId, start, isLive } = await grantWithFamily();
      expect(await revoke(grantId)).toBeLessThan(day + 10 * 60_000);
      expect(await isLive(await start())).toBe(false);
    });

    it("while the family's shard does not respond, 503: the family alone knows where its tokens are revoked", async () => {
      const { token, grantId } = await grantWithFamily();
      const kill = () => Promise.reject(new Error("unreachable"));
      const unreachable = withMethods(bindings.REFRESH_TOKEN_ROTATOR, () => ({ kill }));
      const caller = new AdminCaller({ REFRESH_TOKEN_ROTATOR: unreachable });
      expect((await caller.call("POST", "/revocations", { body: { grant_id: grantId } })).status).toBe(503);
      expect(await works(token)).toBe(true);
      expect(await revoke(grantId)).toBeLessThan(day + 10 * 60_000);
      expect(await works(token)).toBe(false);
    });
  });

  it.each(["sub", "client_id"])("protocols.md §2: every grant up to now ends by %s, later ones live", async (name) => {
    const before = await admin.issueToken({ clientId: "others" });
    const response = await admin.call("POST", "/revocations", { body: { [name]: "others" } });
    expect([response.status, response.body.kind, response.body.id]).toEqual([
      200,
      name === "sub" ? "sub" : "client",
      "others",
    ]);
    expect(await works(before)).toBe(false);
    expect(await works(await admin.issueToken({ clientId: "others" }))).toBe(true);
  });

  it.each([
    [{}, ""],
    [{ sub: "a", client_id: "b" }, ""],
    [{ jti: "x" }, "jti"],
    [{ jti: "g1:wnam:3:abc" }, "jti"],
    [{ token: "x" }, "token"],
    [{ grant_id: "abc" }, "grant_id"],
    [{ sub: "*" }, "sub"],
    [{ tenant: "x", sub: "y" }, "tenant"],
  ])("admin API: %j is refused by name", async (body, path) => {
    const before = await dumpDatabase();
    const response = await admin.call("POST", "/revocations", { body });
    expect([response.status, response.body.fields?.[0].path]).toEqual([400, path]);
    expect(await dumpDatabase()).toBe(before);
  });

  it.each(["g1:wnam:999:abc.def", "g7:wnam:0:abc.def", "g1:weur:0:abc.def"])(
    "G1: %s names a shard that does not exist, and none is created",
    async (jti) => {
      const response = await admin.call("POST", "/revocations", { body: { jti } });
      expect([response.status, response.body.error_description]).toEqual([
        400,
        "jti: names a shard that does not exist",
      ]);
    },
  );
});

describe("/admin/shards/generations", () => {
  it("protocols.md §1: the first generation of every store is listed", async () => {
    const { body } = await admin.call("GET", "/shards/generations");
    const shown = body.generations.map((row: { store: string; generation: number; regions: object }) => [
      row.store,
      row.generation,
      row.regions,
    ]);
    expect(shown).toContainEqual(["revocation", 1, { wnam: { shards: 8, hint: "wnam" } }]);
    expect(shown).toContainEqual(["refresh", 1, { wnam: { shards: 8, hint: "wnam" } }]);
  });

  it.each([
    ["revocation", 86_400 + 45 * 60],
    ["refresh", 366 * 86_400 + 15 * 60],
  ] as const)("G2: a closed generation of %s shows when it retires", async (store, lifeSeconds) => {
    const closedMs = Date.now() - 3_600_000;
    await openSecondGeneration(bindings, store, closedMs);
    const { body } = await admin.call("GET", "/shards/generations");
    const [first, second] = body.generations.filter((row: { store: string }) => row.store === store);
    const closed = Math.floor(closedMs / 1000);
    expect(first).toMatchObject({ generation: 1, minted_until: closed, retires_at: closed + lifeSeconds });
    expect([second.generation, second.minted_until, second.retires_at]).toEqual([2, undefined, undefined]);
  });

  it("protocols.md §1: an opened generation takes new ids, and old tokens keep working and can be revoked", async () => {
    const old = await admin.issueToken();
    const regions = { wnam: { shards: 4, hint: "wnam" }, weur: { shards: 4, hint: "weur" } };
    const { status, body } = await admin.call("POST", "/shards/generations", {
      body: { store: "revocation", regions },
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      store: "revocation",
      generation: 2,
      regions,
      minted_from: expect.any(Number),
      retired: false,
    });
    expect(await works(old)).toBe(true);
    const fresh = await admin.issueToken();
    expect(await tokenIdOf(fresh)).toMatch(/^g2:wnam:[0-3]:/);
    expect(await works(fresh)).toBe(true);
    await admin.call("POST", "/revocations", { body: { token: old } });
    expect([await works(old), await works(fresh)]).toEqual([false, true]);
  });

  it.each([
    [{ shards: 3 }, { wnam: { shards: 3, hint: "wnam" } }],
    [
      { regions: ["weur", "enam"], shards: 2 },
      { weur: { shards: 2, hint: "weur" }, enam: { shards: 2, hint: "enam" } },
    ],
    [
      { regions: { weur: {}, asia: { shards: 5, hint: "apac" } }, shards: 2 },
      { weur: { shards: 2, hint: "weur" }, asia: { shards: 5, hint: "apac" } },
    ],
  ])("admin API: %j opens the named shards, completed from the existing ones", async (opening, regions) => {
    const { status, body } = await admin.call("POST", "/shards/generations", { body: { store: "code", ...opening } });
    expect([status, body.regions]).toEqual([201, regions]);
  });

  it("a store has at most 16 live generations, and revocation 900 live shards, because each change is sent to all of them", async () => {
    const { DB } = bindings;
    const open = (body: object) => admin.call("POST", "/shards/generations", { body });
    const insert = `INSERT INTO shard_generations (store, generation, regions, minted_from_ms, minted_until_ms, retired)
      VALUES (?1, ?2, ?3, 0, 1, ?4)`;
    const wnam = (shards: number) => JSON.stringify({ wnam: { shards, hint: "wnam" } });
    const rows = Array.from({ length: 15 }, (_, index) => DB.prepare(insert).bind("code", index - 20, wnam(1), 0));
    // A retired generation is not counted.
    await DB.batch([...rows, DB.prepare(insert).bind("revocation", -1, wnam(500), 0)]);
    await DB.prepare(insert).bind("revocation", -2, wnam(500), 1).run();
    admin = new AdminCaller();
    const before = await dumpDatabase();
    expect((await open({ store: "code", shards: 1 })).status).toBe(409);
    expect((await open({ store: "revocation", shards: 393 })).status).toBe(409);
    expect(await dumpDatabase()).toBe(before);
  });

  it.each([
    [{ store: "refresh" }, "shards"],
    [{ store: "refresh", regions: ["mars"], shards: 1 }, "regions[0]"],
    [{ store: "refresh", regions: { home: { shards: 1 } } }, "regions.home.hint"],
    [{ store: "tokens", regions: { wnam: { shards: 1, hint: "wnam" } } }, "store"],
    [{ store: "refresh", regions: {} }, "regions"],
    [{ store: "refresh", regions: { WNAM: { shards: 1, hint: "wnam" } } }, "regions.WNAM"],
    [{ store: "refresh", regions: { wnam: { shards: 0, hint: "wnam" } } }, "regions.wnam.shards"],
    [{ store: "refresh", regions: { wnam: { shards: 1, hint: "mars" } } }, "regions.wnam.hint"],
    [
      { store: "refresh", regions: { wnam: { shards: 300, hint: "wnam" }, weur: { shards: 300, hint: "weur" } } },
      "regions",
    ],
    [{ store: "refresh", regions: { wnam: { shards: 1, hint: "wnam", zone: 1 } } }, "regions.wnam.zone"],
  ])("admin API: %j is refused by name", async (body, path) => {
    const before = await dumpDatabase();
    const response = await admin.call("POST", "/shards/generations", { body });
    expect([response.status, response.body.fields?.[0].path]).toEqual([400, path]);
    expect(await dumpDatabase()).toBe(before);
  });
});
