import * as oidc from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiResponse, postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { Application } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { accessToken, grantTypes, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

/**
 * **DPoP proofs after a start of the objects** (protocols.md §6), which ended while proofs were in their memories: each client repeats one request,
 * by RFC 9449 §8, and no proof of before counts again. The provider has its own state.
 */
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let service: TestClient;
let application: Application;
let refreshToken: string;
let userToken: string;
let before: string;
let key: DpopKey;

beforeAll(async () => {
  provider = await startLocalProvider({});
  fixtures = new ProviderFixtures(provider);
  key = await DpopKey.generate();
  service = await fixtures.client();
  application = await Application.register(fixtures);
  const person = await registerPerson(fixtures);
  refreshToken = (await application.signIn(person.browser(), { scope: "openid offline_access", prompt: "consent" }))
    .refreshToken!;
  const asserter = await fixtures.asserter();
  const assertion = await fixtures.assertion(asserter, person.sub);
  const fields = { grant_type: grantTypes.jwtBearer, assertion, scope: "openid" };
  userToken = accessToken(await send(fields, await tokenProof(), asserter));
  before = await tokenProof();
  expect((await requestToken(before)).status).toBe(200);
  // Every shard has a memory when the objects end.
  await Promise.all(
    Array.from({ length: 80 }, async () => expect((await requestToken(await tokenProof())).status).toBe(200)),
  );
  await provider.restart();
});
afterAll(() => provider.stop());

const tokenProof = (claims = {}) => key.proof("POST", `${provider.issuer}/token`, claims);

function send(fields: Readonly<Record<string, string>>, proof: string, client: TestClient): Promise<ApiResponse> {
  return postForm(`${provider.origin}/token`, fields, { authorization: client.authorization, DPoP: proof });
}

function requestToken(proof: string): Promise<ApiResponse> {
  return send({ grant_type: "client_credentials" }, proof, service);
}

async function nonceOf(): Promise<string> {
  const refused = await requestToken(await tokenProof());
  expect([refused.status, refused.body["error"]]).toEqual([400, "use_dpop_nonce"]);
  return refused.headers.get("dpop-nonce")!;
}

test("P1: a proof that was used before the start is refused", async () => {
  expect((await requestToken(before)).body["error"]).toBe("use_dpop_nonce");
  expect((await requestToken(before)).status).toBe(400);
});

test("P3, RFC 9449 §8.2: one retry, then the nonce serves all requests of the client, at the token endpoint and at UserInfo", async () => {
  const nonce = await nonceOf();
  for (let time = 0; time < 10; time += 1) {
    expect((await requestToken(await tokenProof({ nonce }))).status).toBe(200);
    const ath = await accessTokenHash(userToken);
    const proof = await key.proof("GET", `${provider.issuer}/userinfo`, { nonce, ath });
    const headers = { authorization: `DPoP ${userToken}`, DPoP: proof };
    const ask = async () => readResponse(await fetch(`${provider.origin}/userinfo`, { headers }));
    expect((await ask()).status).toBe(200);
    expect((await ask()).body["error"]).toBe("invalid_dpop_proof");
  }
});

test("RFC 9449 §9: UserInfo demands the nonce by a challenge", async () => {
  const ath = await accessTokenHash(userToken);
  const proof = await key.proof("GET", `${provider.issuer}/userinfo`, { ath });
  const headers = { authorization: `DPoP ${userToken}`, DPoP: proof };
  const refused = await fetch(`${provider.origin}/userinfo`, { headers });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    401,
    'DPoP error="use_dpop_nonce", algs="ES256 EdDSA PS256 RS256"',
  ]);
  expect(refused.headers.get("dpop-nonce")).toMatch(/^\d+\.g1\.wnam\.[0-7]\./);
});

test("a refused refresh does not use its token: the retry is no theft", async () => {
  const refresh = async (token: string, claims = {}) =>
    send({ grant_type: "refresh_token", refresh_token: token }, await tokenProof(claims), application.client);
  const refused = await refresh(refreshToken);
  expect([refused.status, refused.body["error"]]).toEqual([400, "use_dpop_nonce"]);
  const nonce = refused.headers.get("dpop-nonce")!;
  const first = await refresh(refreshToken, { nonce });
  expect([first.status, first.body["token_type"]]).toEqual([200, "DPoP"]);
  expect((await refresh(String(first.body["refresh_token"]), { nonce })).status).toBe(200);
});

test("openid-client repeats its request by itself", async () => {
  const config = await oidc.discovery(
    new URL(provider.issuer),
    service.client_id,
    undefined,
    oidc.ClientSecretBasic(service.client_secret),
    { execute: [oidc.allowInsecureRequests] },
  );
  const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());
  for (let time = 0; time < 3; time += 1) {
    expect((await oidc.clientCredentialsGrant(config, {}, { DPoP })).token_type).toBe("dpop");
  }
});
