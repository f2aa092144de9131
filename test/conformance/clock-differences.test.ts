import { randomUUID } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { Application, redirectUri } from "./fixtures/application.ts";
import {
  accessToken,
  api,
  grantTypes,
  type KeyedClient,
  type TestClient,
  tokenTypes,
} from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";
import { TestIssuer } from "./fixtures/test-issuer.ts";

/** Every JWT of others whose times are judged: its sender learns by how much its clock differs. */
type Times = Readonly<Record<string, number>>;

let keyed: KeyedClient;
let asserter: KeyedClient;
let exchanger: TestClient;
let issuer: TestIssuer;
let key: DpopKey;
let application: Application;
let privateKey: CryptoKey;

beforeAll(async () => {
  [keyed, asserter, exchanger, issuer, key] = await Promise.all([
    fixtures.asserter({ token_endpoint_auth_method: "private_key_jwt" }),
    fixtures.asserter(),
    fixtures.exchanger(
      { subject_clients: ["*"] },
      { grant_types: ["client_credentials", grantTypes.tokenExchange, grantTypes.jwtBearer] },
    ),
    TestIssuer.create(),
    DpopKey.generate(),
  ]);
  const pair = await generateKeyPair("ES256");
  privateKey = pair.privateKey;
  const jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "k1", alg: "ES256" }] };
  application = await Application.register(fixtures, { jwks });
  const rule = {
    claims: { sub: { exact: "job" } },
    clients: [exchanger.client_id],
    audiences: [api],
    scopes: ["read"],
  };
  const job = { client_id: exchanger.client_id, subject: { type: "client" } };
  await fixtures.admin.require("POST", "/issuers", {
    ...{ issuer_id: `clock-${randomUUID()}`, issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] },
    rules: [
      { ...rule, ...job, rule_id: "jobs", uses: ["assertion", "subject_token", "actor_token"] },
      { ...rule, rule_id: "users", uses: ["id_jag"], subject: { type: "user", claim: "sub", by: "sub" } },
      { rule_id: "apps", uses: ["software_statement"], claims: { software_id: { exact: "app" } } },
    ],
  });
});

const exchange = (form: Readonly<Record<string, string>>) => fixtures.token(exchanger, form);

async function signedRequest(times: Times): Promise<string> {
  const parameters = Object.fromEntries(application.authorizationParameters());
  const claims = { iss: application.client.client_id, aud: provider.issuer, ...parameters, ...times };
  const header = { alg: "ES256", kid: "k1", typ: "oauth-authz-req+jwt" };
  return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
}

const senders: readonly (readonly [route: string, send: (times: Times) => Promise<ApiResponse>])[] = [
  [
    "a client's assertion at /token",
    async (times) =>
      postForm(`${provider.origin}/token`, {
        grant_type: "client_credentials",
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: await fixtures.assertion(keyed, keyed.client_id, times),
      }),
  ],
  [
    "a client's assertion of a user",
    async (times) =>
      fixtures.token(asserter, {
        grant_type: grantTypes.jwtBearer,
        assertion: await fixtures.assertion(asserter, "somebody", times),
      }),
  ],
  [
    "a trusted issuer's assertion",
    async (times) =>
      exchange({
        grant_type: grantTypes.jwtBearer,
        assertion: await issuer.sign({ sub: "job", aud: provider.issuer, ...times }),
      }),
  ],
  [
    "an ID-JAG",
    async (times) =>
      exchange({
        grant_type: grantTypes.jwtBearer,
        assertion: await issuer.sign(
          { sub: "job", aud: provider.issuer, client_id: exchanger.client_id, ...times },
          { typ: "oauth-id-jag+jwt" },
        ),
      }),
  ],
  [
    "a trusted issuer's subject token",
    async (times) => {
      const token = await issuer.sign({ sub: "job", aud: provider.issuer, ...times });
      return fixtures.exchange(exchanger, token, { subject_token_type: tokenTypes.jwt, audience: api });
    },
  ],
  [
    "a trusted issuer's actor token",
    async (times) => {
      const subject = await fixtures.clientToken(exchanger);
      const actor = await issuer.sign({ sub: "job", aud: provider.issuer, ...times });
      return fixtures.exchange(exchanger, subject, {
        ...{ actor_token: actor, actor_token_type: tokenTypes.jwt, audience: api },
      });
    },
  ],
  [
    "a software statement",
    async (times) => {
      const software_statement = await issuer.sign({ software_id: "app", ...times });
      const body = { redirect_uris: ["https://app.example.com/callback"], software_statement };
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return readResponse(await fetch(`${provider.origin}/register`, init));
    },
  ],
  [
    "a request object at /par",
    async (times) => {
      const { client_id, authorization } = application.client;
      return postForm(`${provider.origin}/par`, { client_id, request: await signedRequest(times) }, { authorization });
    },
  ],
  [
    "a request object at /authorize",
    async (times) => {
      const query = new URLSearchParams({
        ...{ client_id: application.client.client_id, redirect_uri: redirectUri },
        request: await signedRequest(times),
      });
      const response = await fetch(`${provider.origin}/authorize?${query}`, { redirect: "manual" });
      const returned = new URL(response.headers.get("location") ?? "").searchParams;
      return { ...(await readResponse(response)), body: Object.fromEntries(returned) };
    },
  ],
  [
    "a DPoP proof at /token",
    async (times) => {
      const proof = await key.proof("POST", `${provider.issuer}/token`, times);
      const headers = { authorization: exchanger.authorization, DPoP: proof };
      return postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, headers);
    },
  ],
  [
    "a DPoP proof at /userinfo",
    async (times) => {
      const bound = {
        authorization: exchanger.authorization,
        DPoP: await key.proof("POST", `${provider.issuer}/token`),
      };
      const form = { grant_type: "client_credentials" };
      const token = accessToken(await postForm(`${provider.origin}/token`, form, bound));
      const claims = { ath: await accessTokenHash(token), ...times };
      const proof = await key.proof("GET", `${provider.issuer}/userinfo`, claims);
      const headers = { authorization: `DPoP ${token}`, DPoP: proof };
      return readResponse(await fetch(`${provider.origin}/userinfo`, { headers }));
    },
  ],
];

const now = () => Math.floor(Date.now() / 1000);

describe.each(senders)("RFC 7519 §4.1: %s says by how much the clock differs", (_route, send) => {
  test.each<[claim: string, sign: string, times: () => Times]>([
    ["exp", "behind", () => ({ iat: now(), exp: now() - 400 })],
    ["iat", "ahead of", () => ({ iat: now() + 400, exp: now() + 460 })],
    ["nbf", "ahead of", () => ({ iat: now(), nbf: now() + 400, exp: now() + 460 })],
  ])("%s", async (claim, sign, times) => {
    const { body, text } = await send(times());
    const said = new RegExp(`${claim} is (\\d+) s ${sign} the provider's clock`).exec(
      String(body["error_description"]),
    );
    expect(said, text).not.toBeNull();
    expect(Math.abs(Number(said![1]) - 400)).toBeLessThan(10);
  });
});
