/** **How many calls follow one another before a token request is answered.** ARCHITECTURE.md has the table. */

import { newGrantId } from "@edge-op/shared/grants/grant";
import { expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { type FormFields, postForm } from "../../../test/fixtures/call.ts";
import { type MeasuredRequest, measureDepths } from "../../../test/fixtures/call-depth.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { LoginFixtures, redirectUri, seedApp, tokensOf, verifier } from "./fixtures/login-fixtures.ts";
import {
  accessTokenType,
  createTokenFixtures,
  exchangeGrant,
  seedApplication,
  seedService,
  tokenEnv,
} from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

function measured(
  client: SeededClient,
  fields: () => FormFields | Promise<FormFields>,
): MeasuredRequest<typeof tokenEnv> {
  return {
    createApp: () => createApp(createIsolate()),
    send: async (app, env) => postForm(app, env, "/token", await fields(), client),
  };
}

it("depth of token requests: cold, after a pause, busy, with an empty KV", { retry: 2 }, async () => {
  const fixtures = await createTokenFixtures();
  const service = await seedService("service");
  const subject = await fixtures.userToken(
    await seedApplication(fixtures, "app", { audiences: ["https://a.example"] }),
  );
  const anywhere = await seedService("anywhere", {
    token_exchange: {
      subject_clients: ["app"],
      audiences: ["*"],
      resources: [],
      scopes: ["*"],
      modes: ["impersonation"],
    },
  });
  const web = await seedApp({}, "web");
  const login = new LoginFixtures();
  // One shard, so that a busy isolate has its lease.
  const address = { generation: 1, region: "wnam", shard: 3 };
  const authorize = () => {
    const grant = { grantId: newGrantId({ client: 1, user: 1 }), address, grantCreatedAtMs: Date.now() };
    return login.authorize({ clientId: "web", grant });
  };
  const television = await seedApp({ grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] }, "television");
  const allowDevice = async () => {
    const { deviceCode, userCode } = await login.openDevice("television");
    const grant = { grantId: newGrantId({ client: 1, user: 1 }), address, grantCreatedAtMs: Date.now() };
    await login.approveDevice(userCode, { clientId: "television", grant });
    return { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: deviceCode };
  };
  let { refresh_token: token } = await tokensOf(await login.redeem(await authorize(), web));
  const refresh = measured(web, () => ({ grant_type: "refresh_token", refresh_token: token }));
  const depths = await measureDepths(tokenEnv, {
    "client credentials": measured(service, () => ({ grant_type: "client_credentials" })),
    "token exchange": measured(service, () => ({
      ...{ grant_type: exchangeGrant, subject_token: subject, subject_token_type: accessTokenType },
      audience: "https://api.example.com/payments",
    })),
    "token exchange for an audience that no registration names": measured(anywhere, () => ({
      ...{ grant_type: exchangeGrant, subject_token: subject, subject_token_type: accessTokenType },
      audience: "https://b.example/api",
    })),
    refresh: {
      ...refresh,
      async send(to, env) {
        const response = await refresh.send(to, env);
        token = (await response.clone().json<{ refresh_token: string }>()).refresh_token;
        return response;
      },
    },
    "authorization code with a refresh token": measured(web, async () => ({
      ...{ grant_type: "authorization_code", redirect_uri: redirectUri, code_verifier: verifier },
      code: await authorize(),
    })),
    "redemption of a device code": measured(television, allowDevice),
  });
  expect(depths).toEqual({
    "client credentials": { cold: 2, afterPause: 1, busy: 0, emptyKv: 3 },
    "token exchange": { cold: 2, afterPause: 1, busy: 0, emptyKv: 4 },
    "token exchange for an audience that no registration names": { cold: 3, afterPause: 1, busy: 0, emptyKv: 5 },
    refresh: { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
    "authorization code with a refresh token": { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
    "redemption of a device code": { cold: 4, afterPause: 3, busy: 2, emptyKv: 5 },
  });
});
