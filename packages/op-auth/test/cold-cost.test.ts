/**
 * **The reads of the first request in an isolate of op-auth**, with KV filled by others and with KV empty, and of a hundred requests that arrive at
 * once: for a browser without a session, which is sent to the sign-in page, and for one with a session and a consent. ARCHITECTURE.md has the table.
 */

import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { countColdRequests, expectAtMost } from "../../../test/fixtures/cold-cost.ts";
import {
  AuthFixtures,
  authEnv,
  type Browser,
  locationOf,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

useAnnouncedSetUp();

const { fixtures: first, browser: signedIn } = useDeployment();

beforeEach(async () => {
  await signedIn.signInWhole();
});

function costOf(requests: number, emptyCache: boolean, authorize: (browser: Browser) => Promise<void>) {
  return countColdRequests({
    ...{ env: authEnv, createIsolate: () => new AuthFixtures(first.client), requests, emptyCache },
    send: (env, fixtures: AuthFixtures) => authorize(fixtures.browser(env)),
  });
}

async function withoutSession(browser: Browser) {
  expect(locationOf(await browser.authorize())).toMatch(/sign-in\?f=/);
}

async function silently(browser: Browser) {
  for (const [name, value] of signedIn.cookies) browser.cookies.set(name, value);
  expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
}

// On a busy machine, a KV read may exceed its 300 ms, which is a miss and costs the same as an empty KV.
describe("cost of a cold request", { retry: 2 }, () => {
  it.each([
    ["without a session", withoutSession, { object: 2, kv: 3, d1: 0 }],
    ["with a session and a consent", silently, { object: 4, kv: 4, d1: 0 }],
  ])("/authorize %s reads copies in KV and nothing in D1", async (_, authorize, bounds) => {
    const counts = await costOf(1, false, authorize);
    expect(counts).toMatchObject({ kv: bounds.kv, d1: 0 });
    expectAtMost(counts, bounds);
  });

  it.each([
    ["without a session", withoutSession, { object: 2, kv: 7, d1: 4 }],
    ["with a session and a consent", silently, { object: 4, kv: 9, d1: 5 }],
  ])("/authorize %s and with an empty KV reads each record once in D1", async (_, authorize, bounds) => {
    expectAtMost(await costOf(1, true, authorize), bounds);
  });

  // A browser's request uses its session and stores its result, which are separate calls.
  it.each([
    ["without a session", withoutSession, { object: 120, kv: 7, d1: 4 }],
    ["with a session and a consent", silently, { object: 240, kv: 9, d1: 5 }],
  ])("a hundred concurrent requests read each record once: %s", async (_, authorize, bounds) => {
    for (const emptyCache of [false, true]) expectAtMost(await costOf(100, emptyCache, authorize), bounds);
  });
});
