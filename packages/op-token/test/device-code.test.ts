import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { objectName } from "@edge-op/shared/storage/shard-address";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople, tokensOf } from "./fixtures/login-fixtures.ts";
import { errorOf, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

let app: SeededClient;
let warm: LoginFixtures;

beforeEach(async () => {
  await seedPeople();
  app = await seedApp({ grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"] });
  warm = new LoginFixtures();
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await warm.signIn(app);
});

async function approved() {
  const { deviceCode, userCode } = await warm.openDevice("app");
  const context = createRequestContext(new Request("https://op.example.com/device"), tokenEnv, { waitUntil: () => {} });
  const grant = await grantNow(context, warm.isolate);
  await warm.approveDevice(userCode, { grant });
  return { deviceCode, grant };
}

async function setStatus(status: "active" | "suspended"): Promise<void> {
  await tokenEnv.DB.prepare("UPDATE users SET status = ?1 WHERE sub = 'alice'").bind(status).run();
  await tokenEnv.CACHE.delete("user:alice");
}

describe("R6: user and grant are checked before a device code is spent", () => {
  it("a suspended user is refused, and the code is redeemed when they are active again", async () => {
    const { deviceCode } = await approved();
    await setStatus("suspended");
    const poll = async () => errorOf(await new LoginFixtures().pollDevice(deviceCode, app));
    expect([await poll(), await poll()]).toEqual(["400 invalid_grant", "400 invalid_grant"]);
    await setStatus("active");
    await tokensOf(await new LoginFixtures().pollDevice(deviceCode, app));
  });

  it("a revoked grant is refused, by an isolate with a lease or without", async () => {
    const { deviceCode, grant } = await approved();
    const shard = tokenEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", grant.address));
    const event = { type: "grant.revoked", payload: {} };
    const revocation = { key: grantKey(grant.grantId), untilMs: Date.now() + 3_600_000, operationId: "end", event };
    await shard.revoke([revocation], false);
    for (const isolate of [new LoginFixtures(), warm]) {
      expect(await errorOf(await isolate.pollDevice(deviceCode, app))).toBe("400 invalid_grant");
    }
  });
});
