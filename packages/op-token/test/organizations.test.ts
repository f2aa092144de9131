/** **Codes and refresh tokens of organisations** (ADR 72): what another release does with them, and that they wait no longer than others. */

import { newGrantId } from "@edge-op/shared/grants/grant";
import { openSealed } from "@edge-op/shared/secrets/seal";
import { formatCode, parseCode, parseRefreshToken } from "@edge-op/shared/storage/shard-address";
import { beforeEach, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { measureDepths } from "../../../test/fixtures/call-depth.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { LoginFixtures, redirectUri, seedApp, seedPeople, tokensOf, verifier } from "./fixtures/login-fixtures.ts";
import { tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

beforeEach(async () => {
  await seedPeople();
  const { DB } = tokenEnv;
  await DB.batch([
    DB.prepare(
      "INSERT INTO organizations (org_id, document, created_at_ms, updated_at_ms) VALUES ('acme', '{\"name\":\"Acme\"}', 0, 0)",
    ),
    DB.prepare("INSERT INTO memberships VALUES ('alice', 'acme', 'active', 'administrator', 0, 0)"),
    DB.prepare("INSERT INTO membership_roles VALUES ('alice', 'acme', 'billing')"),
  ]);
});

/** As a release without organisations opens it. */
async function opensBefore(code: string): Promise<boolean> {
  const { address, sealed } = parseCode(code)!;
  return (await openSealed(tokenEnv, "code-seal", sealed, formatCode(address, ""))) !== undefined;
}

it("ADR 34: a release that knows no organisations opens no code and no refresh token of one, and so refuses both", async () => {
  const app = await seedApp();
  const login = new LoginFixtures();
  expect(await opensBefore(await login.authorize())).toBe(true);
  expect(await opensBefore(await login.authorize({ orgId: "acme" }))).toBe(false);
  const plain = await login.signIn(app);
  const ofAcme = await login.signIn(app, { orgId: "acme" });
  const refreshed = await tokensOf(await login.refresh(ofAcme.refresh_token, app));
  for (const [token, isOpened] of [
    [plain.refresh_token, true],
    [ofAcme.refresh_token, false],
    [refreshed.refresh_token, false],
  ] as const) {
    const { familyId } = parseRefreshToken(token)!;
    expect((await openSealed(tokenEnv, "refresh-seal", familyId)) !== undefined).toBe(isOpened);
  }
});

it("the code of a grant without an organisation has the same members as before", async () => {
  const login = new LoginFixtures();
  const membersOf = async (code: string, bound: string) => {
    const { address, sealed } = parseCode(code)!;
    const text = await openSealed(tokenEnv, "code-seal", sealed, formatCode(address, bound));
    return (JSON.parse(text!) as unknown[]).length;
  };
  expect(await membersOf(await login.authorize(), "")).toBe(24);
  expect(await membersOf(await login.authorize({ orgId: "acme" }), "organization")).toBe(25);
});

it("depth of the token requests of an organisation: that of others", { retry: 2 }, async () => {
  const web = await seedApp({}, "web");
  const login = new LoginFixtures();
  const address = { generation: 1, region: "wnam", shard: 3 };
  const authorize = () => {
    const grant = { grantId: newGrantId({ client: 1, user: 1 }), address, grantCreatedAtMs: Date.now() };
    return login.authorize({ clientId: "web", grant, orgId: "acme" });
  };
  let { refresh_token: token } = await tokensOf(await login.redeem(await authorize(), web));
  const start = () => createApp(createIsolate());
  const depths = await measureDepths(tokenEnv, {
    refresh: {
      createApp: start,
      async send(app, env) {
        const response = await postForm(app, env, "/token", { grant_type: "refresh_token", refresh_token: token }, web);
        token = (await response.clone().json<{ refresh_token: string }>()).refresh_token;
        return response;
      },
    },
    code: {
      createApp: start,
      send: async (app, env) => {
        const bound = { grant_type: "authorization_code", redirect_uri: redirectUri, code_verifier: verifier };
        return postForm(app, env, "/token", { ...bound, code: await authorize() }, web);
      },
    },
  });
  expect(depths).toEqual({
    refresh: { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
    code: { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
  });
});
