import { encodeBase64Url, hexOf, sha256 } from "@edge-op/protocol/encoding/bytes";
import { decodeClaims } from "@edge-op/protocol/jwt/decode-claims";
import { countCalls } from "@edge-op/shared/http/count-calls";
import type { TokenEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { signAssertion } from "../../../test/fixtures/assertions.ts";
import { type FormFields, origin, postForm } from "../../../test/fixtures/call.ts";
import { DpopKey } from "../../../test/fixtures/dpop-key.ts";
import { type SeededClient, seedClient, seedIssuer } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { LoginFixtures, seedApp, tokensOf } from "./fixtures/login-fixtures.ts";
import {
  accessTokenType,
  bearerGrant,
  createTokenFixtures,
  exchangeGrant,
  seedApplication,
  seedService,
  TokenFixtures,
  tokenEnv,
} from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

/** The costs in the endpoint's header, measured on the bindings of one request; leases are renewed in the background of other requests. */
let fixtures: TokenFixtures;
beforeEach(async () => {
  fixtures = await createTokenFixtures();
});

async function warmCost(mode: string, fields: FormFields, client: SeededClient) {
  const app = createApp(createIsolate());
  const counts = { object: 0, kv: 0, d1: 0 };
  const bindings = { ...tokenEnv, REVOCATION_MODE: mode };
  const post = async (env: TokenEnv) => {
    const response = await postForm(app, env, "/token", fields, client);
    expect(response.status, await response.clone().text()).toBe(200);
  };
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await post(bindings);
  await post(countCalls(bindings, counts));
  return counts;
}

describe("cost of a warm request", () => {
  it.each([
    ["strict", 0],
    ["direct", 1],
  ])("client_credentials in %s mode: %i object calls, 0 KV, 0 D1", async (mode, object) => {
    const client = await seedService("service");
    expect(await warmCost(mode, { grant_type: "client_credentials" }, client)).toEqual({ object, kv: 0, d1: 0 });
  });

  it.each([
    ["everywhere", 1],
    ["isolate", 0],
  ])("a DPoP proof with single use %s: %i more object calls", async (singleUse, object) => {
    const client = await seedService("service");
    const { app } = new TokenFixtures(fixtures.key);
    const key = await DpopKey.generate();
    const counts = { object: 0, kv: 0, d1: 0 };
    const bindings = { ...tokenEnv, DPOP_SINGLE_USE: singleUse };
    const post = async (env: TokenEnv) => {
      const headers = { DPoP: await key.proof("POST", `${origin}/token`) };
      const response = await postForm(app, env, "/token", { grant_type: "client_credentials" }, client, headers);
      expect(response.status, await response.clone().text()).toBe(200);
    };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await post(bindings);
    await post(countCalls(bindings, counts));
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });

  it("RFC 8705 §3: binding a token to a certificate costs no call", async () => {
    const client = await seedService("service", { tls_client_certificate_bound_access_tokens: true });
    const app = createApp(createIsolate());
    const counts = { object: 0, kv: 0, d1: 0 };
    const hash = hexOf(await sha256("proxy key"));
    const bindings = { ...tokenEnv, MTLS_PROXY_KEY_SHA256: hash };
    const headers = { "client-cert": ":MAA=:", "client-cert-proxy-key": "proxy key" };
    const post = async (env: TokenEnv) => {
      const response = await postForm(app, env, "/token", { grant_type: "client_credentials" }, client, headers);
      const { access_token: token } = await response.json<{ access_token: string }>();
      expect(decodeClaims(token)?.["cnf"]).toEqual({ "x5t#S256": encodeBase64Url(await sha256("0\0")) });
    };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await post(bindings);
    await post(countCalls(bindings, counts));
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it.each([
    ["strict", 0],
    ["direct", 1],
  ])("token exchange in %s mode: %i object calls, 0 KV, 0 D1", async (mode, object) => {
    const subject = await fixtures.userToken(await seedApplication(fixtures, "app"));
    const fields = { grant_type: exchangeGrant, subject_token: subject, subject_token_type: accessTokenType };
    const audience = "https://api.example.com/payments";
    expect(await warmCost(mode, { ...fields, audience }, await seedService("service"))).toEqual({
      object,
      kv: 0,
      d1: 0,
    });
  });

  it.each([
    ["a workload's mounted token", { reusable_assertions: true, header: {} }, 0],
    ["a workload's token, accepted once", { reusable_assertions: false, header: {} }, 1],
    ["an ID-JAG, its replay checked", { reusable_assertions: true, header: { typ: "oauth-id-jag+jwt" } }, 1],
  ] as const)("%s: object calls %#, 0 KV, 0 D1", async (_, { reusable_assertions, header }, object) => {
    const issuer = "https://issuer.example.com";
    const audience = "https://api.example.com";
    const client = await seedClient(tokenEnv, "service", { grant_types: [bearerGrant] });
    const isIdJag = "typ" in header;
    await seedIssuer(tokenEnv, issuer, fixtures.key, {
      reusable_assertions,
      rules: [
        {
          ...{
            rule_id: "main",
            status: "active",
            uses: ["assertion", "id_jag"],
            clients: ["service"],
            client_id: "service",
          },
          ...{ claims: {}, audiences: [audience], resources: [], scopes: ["read"] },
          subject: isIdJag ? { type: "user", claim: "sub", by: "sub" } : { type: "client" },
        },
      ],
    });
    const app = createApp(createIsolate());
    const counts = { object: 0, kv: 0, d1: 0 };
    const post = async (env: TokenEnv) => {
      const assertion = await signAssertion(fixtures.key, issuer, { sub: "alice", client_id: "service" }, header);
      const fields = { grant_type: bearerGrant, assertion };
      const response = await postForm(app, env, "/token", fields, isIdJag ? client : undefined);
      expect(response.status, await response.clone().text()).toBe(200);
    };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await post(tokenEnv);
    await post(countCalls(tokenEnv, counts));
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });

  it("RFC 9700 §4.14: an unknown issuer costs nothing after its first token, and its keys are not fetched", async () => {
    const app = createApp(createIsolate());
    const counts = { object: 0, kv: 0, d1: 0 };
    const post = async (env: TokenEnv) => {
      const assertion = await signAssertion(fixtures.key, "https://unknown.example.com", { sub: "alice" });
      const response = await postForm(app, env, "/token", { grant_type: bearerGrant, assertion });
      expect(response.status).toBe(400);
    };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await post(tokenEnv);
    await post(countCalls(tokenEnv, counts));
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("issuing an ID-JAG: 0 object calls, 0 KV, 0 D1", async () => {
    const login = new LoginFixtures();
    const target = { audience: "https://other.example.com", client_id: "there", resources: ["*"], scopes: ["*"] };
    const grant_types = ["authorization_code", "refresh_token", exchangeGrant] as const;
    const client = await seedApp({ grant_types, id_jag_targets: [target] });
    const { id_token } = await login.signIn(client);
    const fields = {
      ...{ grant_type: exchangeGrant, requested_token_type: "urn:ietf:params:oauth:token-type:id-jag" },
      ...{ subject_token: id_token, subject_token_type: "urn:ietf:params:oauth:token-type:id_token" },
      ...{ audience: target.audience, resource: "https://api.example.com" },
    };
    expect(await warmCost("strict", fields, client)).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it.each([
    ["strict", 1],
    ["direct", 2],
  ])("refresh in %s mode: %i object calls, 0 KV, 0 D1", async (mode, object) => {
    const { login, counts, client } = await warmLogin(mode);
    let { refresh_token: token } = await login.signIn(client);
    for (let warmUp = 0; warmUp < 3; warmUp += 1) {
      token = (await tokensOf(await login.refresh(token, client))).refresh_token;
    }
    login.bindings = countCalls(login.bindings, counts);
    await tokensOf(await login.refresh(token, client));
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });

  it.each([
    ["strict", 1],
    ["direct", 2],
  ])("authorization code with refresh token in %s mode: %i object calls, 0 KV, 0 D1", async (mode, object) => {
    const { login, counts, client } = await warmLogin(mode);
    // The grant's revocation shard is warm too: one grant stands for all of them.
    const address = { generation: 1, region: "wnam", shard: 0 };
    const grant = { grantId: "grant", address, grantCreatedAtMs: Date.now() };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await login.signIn(client, { grant });
    const code = await login.authorize({ grant });
    login.bindings = countCalls(login.bindings, counts);
    await tokensOf(await login.redeem(code, client));
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });
});

describe("RFC 8628: cost of the device flow", () => {
  it.each([
    ["strict", 2],
    ["direct", 3],
  ])("a poll in %s mode is 1 object call; a redemption without refresh token %i", async (mode, redemption) => {
    const client = await seedApp({ grant_types: ["urn:ietf:params:oauth:grant-type:device_code"] });
    const counts = { object: 0, kv: 0, d1: 0 };
    const login = new LoginFixtures({ ...tokenEnv, REVOCATION_MODE: mode });
    const costOf = async (step: () => Promise<number>, expected: number) => {
      const { bindings } = login;
      Object.assign(counts, { object: 0, kv: 0, d1: 0 });
      login.bindings = countCalls(bindings, counts);
      expect(await step()).toBe(expected);
      login.bindings = bindings;
      return { ...counts };
    };
    // The grant's revocation shard is warm too: one grant stands for all of them.
    const address = { generation: 1, region: "wnam", shard: 0 };
    const grant = { grantId: "grant", address, grantCreatedAtMs: Date.now() };
    const codes = [];
    for (let each = 0; each < 4; each += 1) codes.push(await login.openDevice("app"));
    const poll = async (deviceCode: string) => (await login.pollDevice(deviceCode, client)).status;
    for (const { deviceCode, userCode } of codes.slice(0, 3)) {
      await poll(deviceCode);
      await login.approveDevice(userCode, { grant });
      expect(await poll(deviceCode)).toBe(200);
    }
    const { deviceCode, userCode } = codes[3]!;
    // `direct` confirms the control version of a refusal as well.
    const pending = mode === "direct" ? 2 : 1;
    expect(await costOf(() => poll(deviceCode), 400)).toEqual({ object: pending, kv: 0, d1: 0 });
    await login.approveDevice(userCode, { grant });
    expect(await costOf(() => poll(deviceCode), 200)).toEqual({ object: redemption, kv: 0, d1: 0 });
  });
});

async function warmLogin(mode: string) {
  const counts = { object: 0, kv: 0, d1: 0 };
  const login = new LoginFixtures({ ...tokenEnv, REVOCATION_MODE: mode });
  return { login, counts, client: await seedApp() };
}
