/** **How many calls follow one another before UserInfo is answered.** ARCHITECTURE.md has the table. */

import { expect, it } from "vitest";
import { call } from "../../../test/fixtures/call.ts";
import { measureDepths } from "../../../test/fixtures/call-depth.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { UserinfoFixtures, userinfoEnv } from "./fixtures/userinfo-fixtures.ts";

it("depth of UserInfo: cold, after a pause, busy, with an empty KV", { retry: 2 }, async () => {
  await seedClient(userinfoEnv, "app");
  await seedUser(userinfoEnv, "alice", { claims: { email: "alice@example.com" } });
  const token = await new UserinfoFixtures().token({ scope: ["openid", "email", "roles"] });
  const depths = await measureDepths(userinfoEnv, {
    UserInfo: {
      createApp: () => new UserinfoFixtures().app,
      send: (app, env) => call(app, env, "/userinfo", { headers: { authorization: `Bearer ${token}` } }),
    },
  });
  expect(depths).toEqual({ UserInfo: { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 } });
});
