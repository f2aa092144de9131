/** **How many calls follow one another before an introspection or revocation is answered.** ARCHITECTURE.md has the table. */

import { expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { measureDepths } from "../../../test/fixtures/call-depth.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

useAnnouncedSetUp();

it("depth of introspections and revocations: cold, after a pause, busy, with an empty KV", { retry: 2 }, async () => {
  const app = await seedClient(managementEnv, "app");
  const api = await seedClient(managementEnv, "api");
  const issuer = new ManagementFixtures();
  const token = await issuer.token();
  const createApp = () => new ManagementFixtures().app;
  const depths = await measureDepths(managementEnv, {
    introspection: { createApp, send: (to, env) => postForm(to, env, "/introspect", { token }, api) },
    "revocation of an access token": {
      createApp,
      send: async (to, env) => postForm(to, env, "/revoke", { token: await issuer.token() }, app),
    },
  });
  expect(depths).toEqual({
    introspection: { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
    "revocation of an access token": { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
  });
});
