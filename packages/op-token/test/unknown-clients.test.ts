import { countCalls } from "@edge-op/shared/http/count-calls";
import type { TokenEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { basicHeader, call } from "../../../test/fixtures/call.ts";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { countingRateLimit, createTokenFixtures, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

/** The cost of failed client authentications, which must not reveal which clients exist. */
let bindings: TokenEnv;
let app: ReturnType<typeof createApp>;
let known: SeededClient;
let other: SeededClient;

beforeEach(async () => {
  await createTokenFixtures();
  known = await seedClient(tokenEnv, "known");
  other = await seedClient(tokenEnv, "other");
  const { FAILED_AUTHENTICATION_RATE_LIMIT: _, ...unlimited } = tokenEnv;
  bindings = { ...unlimited, TRUST_FORWARDED_HEADERS: "true" };
  app = createApp(createIsolate());
  for (let warmUp = 0; warmUp < 3; warmUp += 1) expect((await attempt(other)).status).toBe(200);
});

function attempt(client: SeededClient, env: TokenEnv = bindings): Promise<Response> {
  return call(app, env, "/token", {
    method: "POST",
    headers: {
      authorization: basicHeader(client.clientId, client.clientSecret),
      "content-type": "application/x-www-form-urlencoded",
      "cf-connecting-ip": "192.0.2.1",
    },
    body: "grant_type=client_credentials",
  });
}

async function costOf(client: SeededClient, status = 401): Promise<string> {
  // Counted on the bindings of this request, because leases are renewed in the background of others.
  const own = { object: 0, kv: 0, d1: 0 };
  expect((await attempt(client, countCalls(bindings, own))).status).toBe(status);
  return `${own.object} object, ${own.kv} KV, ${own.d1} D1`;
}

const unknown = { clientId: "nobody", clientSecret: "wrong" };
const free = "0 object, 0 KV, 0 D1";
const lookedUp = "0 object, 1 KV, 1 D1";

describe("failed client authentications", () => {
  it("an unknown client costs one look-up, and none while its absence is cached", async () => {
    expect([await costOf(unknown), await costOf(unknown), await costOf(unknown)]).toEqual([lookedUp, free, free]);
  });

  it("a wrong secret costs the same as an unknown client, whether the client is in memory, in KV or only in D1", async () => {
    const wrong = { clientId: "known", clientSecret: "wrong" };
    // Stored only in D1: the second KV call writes a copy after the response.
    expect([await costOf(wrong), await costOf(wrong)]).toEqual(["0 object, 2 KV, 1 D1", free]);
    for (const holding of ["in KV", "held"]) {
      app = createApp(createIsolate());
      for (let warmUp = 0; warmUp < 3; warmUp += 1) await attempt(other);
      if (holding === "held") expect((await attempt(known)).status).toBe(200);
      expect([await costOf(wrong), await costOf(wrong)], holding).toEqual([lookedUp, free]);
    }
  });

  it("the correct secret works after wrong ones, at no cost", async () => {
    await costOf({ clientId: "known", clientSecret: "wrong" });
    expect(await costOf(known, 200)).toBe(free);
  });

  it("RFC 6585 §4: over the limit, an unknown client is refused before any look-up; a cached client still works", async () => {
    expect((await attempt(known)).status).toBe(200);
    const limiter: RateLimit = { limit: async () => ({ success: false }) };
    const limited = { ...bindings, FAILED_AUTHENTICATION_RATE_LIMIT: limiter };
    expect((await attempt(unknown, limited)).status).toBe(401);
    const counts = { object: 0, kv: 0, d1: 0 };
    for (const clientId of ["nobody1", "nobody2", "nobody3"]) {
      expect((await attempt({ clientId, clientSecret: "wrong" }, countCalls(limited, counts))).status).toBe(429);
    }
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
    expect((await attempt(known, limited)).status).toBe(200);
  });

  it("a client that had to be looked up and authenticates does not count as a failure", async () => {
    const { counted, limiter } = countingRateLimit();
    const limited = { ...bindings, FAILED_AUTHENTICATION_RATE_LIMIT: limiter };
    const clients = await Promise.all(["a", "b", "c", "d"].map((id) => seedClient(tokenEnv, id)));
    for (const client of clients) expect((await attempt(client, limited)).status).toBe(200);
    // The first one is reported before it is known to be correct; it is offset against the next count.
    expect(counted).toEqual([1]);
  });
});
