/**
 * **The reads of the first request in an isolate of op-userinfo**, with KV filled by others and with KV empty, and of a hundred requests that arrive
 * at once. ARCHITECTURE.md has the table.
 */

import { beforeEach, describe, expect, it } from "vitest";
import { countColdRequests, expectAtMost } from "../../../test/fixtures/cold-cost.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { UserinfoFixtures, userinfoEnv } from "./fixtures/userinfo-fixtures.ts";

let issuer: UserinfoFixtures;
beforeEach(async () => {
  issuer = new UserinfoFixtures();
  await seedClient(userinfoEnv, "app");
  await seedUser(userinfoEnv, "alice", { claims: { email: "alice@example.com" } });
});

async function costOf(requests: number, emptyCache: boolean) {
  const token = await issuer.token({ scope: ["openid", "email", "roles"] });
  return countColdRequests({
    ...{ env: userinfoEnv, createIsolate: () => new UserinfoFixtures(), requests, emptyCache },
    async send(env, fixtures: UserinfoFixtures) {
      expect((await fixtures.get(token, env)).status).toBe(200);
    },
  });
}

// On a busy machine, a KV read may exceed its 300 ms, which is a miss and costs the same as an empty KV.
describe("cost of a cold request", { retry: 2 }, () => {
  it("UserInfo reads five copies in KV and nothing in D1", async () => {
    const counts = await costOf(1, false);
    expect(counts).toMatchObject({ kv: 5, d1: 0 });
    expectAtMost(counts, { object: 1, kv: 5, d1: 0 });
  });

  it("with an empty KV it reads D1 five times, and writes five copies", async () => {
    expectAtMost(await costOf(1, true), { object: 5, kv: 10, d1: 5 });
  });

  it("a hundred concurrent requests read each record once", async () => {
    for (const emptyCache of [false, true]) expectAtMost(await costOf(100, emptyCache), { object: 20, kv: 10, d1: 5 });
  });
});
