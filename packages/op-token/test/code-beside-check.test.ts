import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { objectName, parseRefreshToken } from "@edge-op/shared/storage/shard-address";
import { beforeEach, expect, it } from "vitest";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople, tokensOf } from "./fixtures/login-fixtures.ts";
import { errorOf, tokenEnv } from "./fixtures/token-fixtures.ts";
import { unreachable } from "./fixtures/unreachable.ts";

/** **An authorization code that is spent while its grant is being checked**: each `LoginFixtures` is an isolate without a lease. */
let app: SeededClient;
beforeEach(async () => {
  await seedPeople();
  app = await seedApp();
});

async function newGrant() {
  const context = createRequestContext(new Request("https://op.example.com/"), tokenEnv, { waitUntil: () => {} });
  return grantNow(context, new LoginFixtures().isolate);
}

it("R6: a redemption whose check fails gives no token and no loss: the code is redeemed afterwards", async () => {
  const code = await new LoginFixtures().authorize();
  const { TOKEN_REVOCATION_STORE } = tokenEnv;
  const cutOff = { ...tokenEnv, TOKEN_REVOCATION_STORE: unreachable(TOKEN_REVOCATION_STORE) };
  expect((await new LoginFixtures(cutOff).redeem(code, app)).status).toBe(503);
  expect((await new LoginFixtures(cutOff).redeem(code, app)).status).toBe(503);
  expect((await new LoginFixtures().redeem(code, app)).status).toBe(200);
});

it("R6: an unreachable code store is 503, and the code is redeemed afterwards", async () => {
  const code = await new LoginFixtures().authorize();
  const { AUTHORIZATION_CODE_STORE } = tokenEnv;
  const cutOff = { ...tokenEnv, AUTHORIZATION_CODE_STORE: unreachable(AUTHORIZATION_CODE_STORE) };
  expect((await new LoginFixtures(cutOff).redeem(code, app)).status).toBe(503);
  expect((await new LoginFixtures().redeem(code, app)).status).toBe(200);
});

it("a code whose grant was revoked before its redemption gives no token, by an isolate with a lease or without", async () => {
  const grant = await newGrant();
  const code = await new LoginFixtures().authorize({ grant });
  const shard = tokenEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", grant.address));
  const event = { type: "grant.revoked", payload: {} };
  const revocation = { key: grantKey(grant.grantId), untilMs: Date.now() + 3_600_000, operationId: "end", event };
  await shard.revoke([revocation], false);
  const warm = new LoginFixtures();
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await warm.signIn(app);
  for (const isolate of [new LoginFixtures(), warm]) {
    expect(await errorOf(await isolate.redeem(code, app))).toBe("400 invalid_grant");
  }
});

it("RFC 6749 §4.1.2: of twenty redemptions by isolates without a lease one succeeds at most, and the grant ends", async () => {
  const code = await new LoginFixtures().authorize();
  const responses = await Promise.all(Array.from({ length: 20 }, () => new LoginFixtures().redeem(code, app)));
  const granted = responses.filter(({ status }) => status === 200);
  expect(granted.length).toBe(1);
  const { refresh_token: token } = await tokensOf(granted[0]!);
  expect(await errorOf(await new LoginFixtures().refresh(token, app))).toBe("400 invalid_grant");
});

it("R7: a replay ends the refresh family itself, which no row of a revocation shard has to remember", async () => {
  const grant = await newGrant();
  const code = await new LoginFixtures().authorize({ grant });
  const { refresh_token: token } = await tokensOf(await new LoginFixtures().redeem(code, app));
  expect(await errorOf(await new LoginFixtures().redeem(code, app))).toBe("400 invalid_grant");
  const { address } = parseRefreshToken(token)!;
  const rotator = tokenEnv.REFRESH_TOKEN_ROTATOR.getByName(objectName("refresh", address));
  expect(await rotator.inspect(grant.grantId)).toEqual({ kind: "refused" });
});

it("a code that is too long for a URL is stored, redeemed once, and its replay ends the grant", async () => {
  const names = Array.from({ length: 100 }, (_, index) => [`claim_number_${index}`, null]);
  const claims = { userinfo: Object.fromEntries(names) };
  const code = await new LoginFixtures().authorize({ claims });
  expect(code).toMatch(/^ch\./);
  expect(code.length).toBeLessThan(100);
  const other = await seedApp({}, "other");
  expect(await errorOf(await new LoginFixtures().redeem(code, other))).toBe("400 invalid_grant");
  const { refresh_token: token } = await tokensOf(await new LoginFixtures().redeem(code, app));
  const next = await tokensOf(await new LoginFixtures().refresh(token, app));
  expect(await errorOf(await new LoginFixtures().redeem(code, app))).toBe("400 invalid_grant");
  expect(await errorOf(await new LoginFixtures().refresh(next.refresh_token, app))).toBe("400 invalid_grant");
});
