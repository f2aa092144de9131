/** **The distances of a local provider**: what a request waits is its depth times the round trips, and an object is where its name says. */

import { expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { withDistance } from "../../edge-op/src/distant-stores.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { seedService, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

const distances = { object: 80, kv: 30, d1: 70, far: 250 };

/**
 * Adds up waits that follow one another, by happens-before: a wait begins when the last of those that had ended by then ended, however long it really
 * takes.
 */
class Waits {
  ended = 0;

  readonly wait = async (ms: number): Promise<void> => {
    const begins = this.ended;
    // Waits in parallel overlap by this much.
    await scheduler.wait(20);
    this.ended = Math.max(this.ended, begins + ms);
  };
}

it("client credentials wait for KV and an object at first, and then for nothing", { retry: 2 }, async () => {
  const client = await seedService("service");
  const send = async (env: typeof tokenEnv, app = createApp(createIsolate())) => {
    const response = await postForm(app, env, "/token", { grant_type: "client_credentials" }, client);
    expect(response.status, await response.text()).toBe(200);
  };
  await send(tokenEnv);
  const waits = new Waits();
  const env = withDistance(tokenEnv, distances, false, waits.wait);
  const app = createApp(createIsolate());
  await send(env, app);
  expect(waits.ended).toBe(30 + 80);
  // Each shard is asked at most once.
  for (let time = 0; time < 100; time += 1) await send(env, app);
  waits.ended = 0;
  await send(env, app);
  expect(waits.ended).toBe(0);
});

it.each([
  ["from the first region", false, { home: 80, far: 250, single: 80, d1: 70, kv: 30 }],
  ["from the second region", true, { home: 250, far: 80, single: 250, d1: 250, kv: 30 }],
])("round trips %s", async (_, isFar, expected) => {
  const waitsOf = async (call: (env: typeof tokenEnv) => Promise<unknown>) => {
    const waits = new Waits();
    await call(withDistance(tokenEnv, distances, isFar, waits.wait));
    return waits.ended;
  };
  const shard = (name: string) => waitsOf((env) => env.TOKEN_REVOCATION_STORE.getByName(name).raise({ cv: 1 }, true));
  expect({
    home: await shard("revocation:g1:wnam:0"),
    far: await shard("revocation:g1:apac:0"),
    single: await waitsOf((env) => env.KEY_MANAGER.getByName("key-manager").schedule()),
    d1: await waitsOf((env) => env.DB.prepare("SELECT 1").first()),
    kv: await waitsOf((env) => env.CACHE.get("a")),
  }).toEqual(expected);
});
