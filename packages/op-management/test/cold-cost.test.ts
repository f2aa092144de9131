/**
 * **The reads of the first request in an isolate of op-management**, with KV filled by others and with KV empty, and of a hundred requests that
 * arrive at once. ARCHITECTURE.md has the table.
 */

import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { countColdRequests, expectAtMost } from "../../../test/fixtures/cold-cost.ts";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

useAnnouncedSetUp();

let app: SeededClient;
let api: SeededClient;
let issuer: ManagementFixtures;
beforeEach(async () => {
  issuer = new ManagementFixtures();
  app = await seedClient(managementEnv, "app");
  api = await seedClient(managementEnv, "api");
});

const createIsolate = () => new ManagementFixtures();

async function introspecting(requests: number, emptyCache: boolean) {
  const token = await issuer.token();
  return countColdRequests({
    ...{ env: managementEnv, createIsolate, requests, emptyCache },
    async send(env, fixtures: ManagementFixtures) {
      expect(await fixtures.introspect(token, api, env)).toMatchObject({ active: true });
    },
  });
}

async function revoking(requests: number, emptyCache: boolean) {
  const tokens = await Promise.all(Array.from({ length: requests + 1 }, () => issuer.token()));
  return countColdRequests({
    ...{ env: managementEnv, createIsolate, requests, emptyCache },
    async send(env, fixtures: ManagementFixtures) {
      expect((await fixtures.post("/revoke", { token: tokens.pop()! }, app, env)).status).toBe(200);
    },
  });
}

// On a busy machine, a KV read may exceed its 300 ms, which is a miss and costs the same as an empty KV.
describe("cost of a cold request", { retry: 2 }, () => {
  it.each([
    ["an introspection", introspecting, 1],
    ["a revocation", revoking, 2],
  ])("%s reads three copies in KV and nothing in D1", async (_, costOf, object) => {
    const counts = await costOf(1, false);
    expect(counts).toMatchObject({ kv: 3, d1: 0 });
    expectAtMost(counts, { object, kv: 3, d1: 0 });
  });

  it.each([
    ["an introspection", introspecting, 1],
    ["a revocation", revoking, 4],
  ])("%s with an empty KV reads D1 three times, and writes three copies", async (_, costOf, object) => {
    expectAtMost(await costOf(1, true), { object, kv: 6, d1: 3 });
  });

  it.each([
    ["introspections share their checks too", introspecting, 20],
    ["revocations are a call each", revoking, 110],
  ])("a hundred concurrent requests read each record once: %s", async (_, costOf, object) => {
    for (const emptyCache of [false, true]) expectAtMost(await costOf(100, emptyCache), { object, kv: 6, d1: 3 });
  });
});
