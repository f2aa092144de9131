import { controlPlaneName, parseTokenId } from "@edge-op/shared/storage/shard-address";
import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

let fixtures: ManagementFixtures;
let app: SeededClient;
let api: SeededClient;
beforeEach(async () => {
  fixtures = new ManagementFixtures();
  app = await seedClient(managementEnv, "app");
  api = await seedClient(managementEnv, "api");
});

describe("RFC 7009 §2.1 revocation", () => {
  it("is in force in warm and fresh isolates when the call has returned", async () => {
    const token = await fixtures.token();
    const others = Array.from({ length: 5 }, () => new ManagementFixtures());
    for (const isolate of [fixtures, ...others, ...others])
      expect(await isolate.introspect(token, api)).toMatchObject({ active: true });
    expect(await fixtures.revoke(token, app)).toBe(200);
    for (const isolate of [fixtures, ...others, new ManagementFixtures()]) {
      expect(await isolate.introspect(token, api)).toEqual({ active: false });
    }
    expect(await fixtures.revoke(token, app)).toBe(200);
  });

  it("revokes the tokens exchanged from the token, but nothing else of the grant", async () => {
    const parent = await fixtures.token();
    const id = parseTokenId(decodeJwt(parent).jti!)!;
    const child = await fixtures.token({
      id: { ...id, random: "CHILD" },
      lineage: [id.random],
      clientId: "api",
      grantClientId: "app",
    });
    const sibling = await fixtures.token({ id: { ...id, random: "SIBLING" } });
    expect(await fixtures.revoke(parent, app)).toBe(200);
    expect(await fixtures.introspect(child, api)).toEqual({ active: false });
    expect(await fixtures.introspect(sibling, api)).toMatchObject({ active: true });
  });

  it("a client that was disabled after its copy in KV was made revokes nothing, also by an isolate that knows no version", async () => {
    const [token, other] = [await fixtures.token(), await fixtures.token()];
    expect(await new ManagementFixtures().revoke(other, app)).toBe(200);
    await managementEnv.DB.batch([
      managementEnv.DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'app'"),
      managementEnv.DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', 'app', 0)"),
    ]);
    await managementEnv.CONTROL_PLANE.getByName(controlPlaneName).publish(crypto.randomUUID());
    expect(await new ManagementFixtures().revoke(token, app)).toBe(401);
    expect(await fixtures.introspect(token, api)).toMatchObject({ active: true });
  });

  it("a client cannot revoke another client's token, even as its audience", async () => {
    const token = await fixtures.token();
    const response = await fixtures.post("/revoke", { token }, api);
    expect([response.status, await response.json()]).toMatchObject([400, { error: "invalid_grant" }]);
    expect(await fixtures.introspect(token, app)).toMatchObject({ active: true });
  });

  it("§2.2: an unknown token is 200", async () => {
    for (const token of ["garbage", "a.b.c", "rt.g1.wnam.0.x.0.y", (await fixtures.token()).slice(0, -2)]) {
      expect(await fixtures.revoke(token, app)).toBe(200);
    }
  });

  it.each(["generation", "region", "shard"])(
    "RFC 7009 §2.2: a token whose %s D1 has lost is 503, never 200 without effect, and revoked when it is listed again",
    async (lost) => {
      const { DB } = managementEnv;
      const regions = { generation: { weur: 1 }, region: { weur: 1, wnam: 8 }, shard: { wnam: 9 } }[lost];
      const json = JSON.stringify(
        Object.fromEntries(Object.entries(regions!).map(([name, shards]) => [name, { shards, hint: name }])),
      );
      const insert = "INSERT INTO shard_generations (store, generation, regions, minted_from_ms) VALUES (?1, 2, ?2, 0)";
      await DB.batch(["revocation", "refresh"].map((store) => DB.prepare(insert).bind(store, json)));
      const at = { generation: 2, region: lost === "shard" ? "wnam" : "weur", shard: lost === "shard" ? 8 : 0 };
      const accessToken = await fixtures.token({ id: { address: at, grantId: "lost", random: "x" } });
      const refreshToken = await fixtures.refreshToken(at);
      const isLost =
        lost === "generation"
          ? "DELETE FROM shard_generations WHERE generation = 2"
          : `UPDATE shard_generations SET regions = '{"wnam":{"shards":8,"hint":"wnam"}}' WHERE generation = 2`;
      await DB.prepare(isLost).run();
      await managementEnv.CACHE.delete("generations:*");

      const isolate = new ManagementFixtures();
      for (const token of [accessToken, refreshToken]) {
        const response = await isolate.post("/revoke", { token }, app);
        expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
        expect((await isolate.post("/introspect", { token }, app)).status).toBe(503);
      }
      expect(await isolate.revoke(`${accessToken.slice(0, -4)}AAAA`, app)).toBe(200);

      await DB.prepare("DELETE FROM shard_generations WHERE generation = 2").run();
      await managementEnv.CACHE.delete("generations:*");
      await DB.batch(["revocation", "refresh"].map((store) => DB.prepare(insert).bind(store, json)));
      const later = new ManagementFixtures();
      expect(await later.introspect(accessToken, app)).toMatchObject({ active: true });
      expect(await later.revoke(accessToken, app)).toBe(200);
      expect(await later.introspect(accessToken, app)).toEqual({ active: false });
    },
  );

  it("requires client authentication and a token", async () => {
    expect((await fixtures.post("/revoke", { token: "x" }, { clientId: "app", clientSecret: "wrong" })).status).toBe(
      401,
    );
    expect((await fixtures.post("/revoke", {}, app)).status).toBe(400);
  });
});
