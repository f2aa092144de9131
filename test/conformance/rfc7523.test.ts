import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { accessToken, claimsOf, grantTypes, type KeyedClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const token = `${provider.origin}/token`;

let keyed: KeyedClient;
let asserter: KeyedClient;
let user: string;

beforeAll(async () => {
  keyed = await fixtures.asserter({ token_endpoint_auth_method: "private_key_jwt" });
  asserter = await fixtures.asserter();
  user = await fixtures.user({ roles: ["editor"], groups: ["staff"] });
});

function authenticate(assertion: string, form: Readonly<Record<string, string>> = {}): Promise<ApiResponse> {
  return postForm(token, {
    grant_type: "client_credentials",
    client_assertion_type: assertionType,
    client_assertion: assertion,
    ...form,
  });
}

/** An assertion by which the client authenticates itself. */
function own(claims: JWTPayload = {}, header: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return fixtures.assertion(keyed, keyed.client_id, claims, header);
}

const now = () => Math.floor(Date.now() / 1000);

describe("RFC 7523 §2.2, §3: private_key_jwt", () => {
  test("a valid assertion authenticates, for the issuer and for the token endpoint", async () => {
    expect((await authenticate(await own())).status).toBe(200);
    expect((await authenticate(await own({ aud: token }))).status).toBe(200);
    expect((await authenticate(await own(), { client_id: keyed.client_id })).status).toBe(200);
  });

  test("§3 item 7: exactly one of twenty parallel uses of one assertion succeeds", async () => {
    const assertion = await own();
    const responses = await Promise.all(Array.from({ length: 20 }, () => authenticate(assertion)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of responses.filter((response) => response.status !== 200)) {
      expect([status, body["error"]]).toEqual([401, "invalid_client"]);
    }
  });

  test("§3: every fault of an assertion is invalid_client", async () => {
    const stranger = await generateKeyPair("ES256");
    const rsa = await generateKeyPair("RS256");
    const claims = { iss: keyed.client_id, sub: keyed.client_id, aud: provider.issuer, jti: randomUUID() };
    const sign = (key: CryptoKey, alg: string) =>
      new SignJWT({ ...claims, exp: now() + 60 }).setProtectedHeader({ alg, kid: "k1" }).sign(key);
    const cases: [string, string][] = [
      ["wrong aud", await own({ aud: "https://other.example.com" })],
      ["aud beside ours", await own({ aud: [provider.issuer, "https://other.example.com"] })],
      ["the issuer with a slash", await own({ aud: `${provider.issuer}/` })],
      ["no aud", await own({ aud: undefined } as never)],
      ["no exp", await own({ exp: undefined } as never)],
      ["expired", await own({ iat: now() - 500, exp: now() - 60 })],
      ["a lifetime of two hours", await own({ exp: now() + 7200 })],
      ["an endpoint that was not called", await own({ aud: `${provider.issuer}/revoke` })],
      ["no jti", await own({ jti: undefined } as never)],
      ["not yet valid", await own({ nbf: now() + 300 })],
      ["issued in the future", await own({ iat: now() + 300, exp: now() + 400 })],
      ["iss is not sub", await own({ iss: "someone" })],
      ["sub is another client", await own({ iss: asserter.client_id, sub: asserter.client_id })],
      ["another key", await sign(stranger.privateKey, "ES256")],
      ["another algorithm", await sign(rsa.privateKey, "RS256")],
      ["a kid of nobody", await own({}, { kid: "nobody" })],
      [
        "crit",
        `${Buffer.from('{"alg":"ES256","kid":"k1","crit":["x"],"x":1}').toString("base64url")}.${(await own()).split(".").slice(1).join(".")}`,
      ],
      ["no JWT", "x"],
    ];
    for (const [what, assertion] of cases) {
      const { status, body } = await authenticate(assertion);
      expect([status, body["error"]], what).toEqual([401, "invalid_client"]);
    }
  });

  test("an HMAC assertion keyed with the public key is refused", async () => {
    const { publicKey } = await generateKeyPair("ES256", { extractable: true });
    const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(publicKey)));
    const assertion = await new SignJWT({
      iss: keyed.client_id,
      sub: keyed.client_id,
      aud: provider.issuer,
      exp: now() + 60,
      jti: randomUUID(),
    })
      .setProtectedHeader({ alg: "HS256", kid: "k1" })
      .sign(secret);
    expect((await authenticate(assertion)).body["error"]).toBe("invalid_client");
  });

  test("RFC 7521 §4.2: another assertion type, or a second method, is refused", async () => {
    const type = await authenticate(await own(), { client_assertion_type: "urn:example:saml" });
    expect([type.status, type.body["error"]]).toEqual([400, "invalid_request"]);
    const secret = await authenticate(await own(), { client_id: keyed.client_id, client_secret: "x" });
    expect([secret.status, secret.body["error"]]).toEqual([400, "invalid_request"]);
  });

  test("RFC 6749 §2.3: a secret for a private_key_jwt client is refused", async () => {
    const form = { grant_type: "client_credentials", client_id: keyed.client_id, client_secret: "anything" };
    expect((await postForm(token, form)).body["error"]).toBe("invalid_client");
  });

  test("§3 item 3: the endpoint called may be the audience; another endpoint of the provider may not", async () => {
    for (const endpoint of ["introspect", "revoke"]) {
      const url = `${provider.origin}/${endpoint}`;
      const form = { token: "x", client_assertion_type: assertionType };
      const forIt = await own({ aud: `${provider.issuer}/${endpoint}` });
      expect((await postForm(url, { ...form, client_assertion: forIt })).status, endpoint).toBe(200);
      const forPar = await own({ aud: `${provider.issuer}/par` });
      expect((await postForm(url, { ...form, client_assertion: forPar })).status, endpoint).toBe(401);
    }
  });

  test("§3 item 4: an assertion that is valid for an hour authenticates", async () => {
    expect((await authenticate(await own({ iat: now(), exp: now() + 3600 }))).status).toBe(200);
  });

  test("one assertion is accepted at any endpoint, once", async () => {
    const assertion = await own();
    const form = { token: "x", client_assertion_type: assertionType, client_assertion: assertion };
    expect((await postForm(`${provider.origin}/introspect`, form)).status).toBe(200);
    expect((await postForm(`${provider.origin}/revoke`, form)).status).toBe(401);
  });
});

describe("RFC 7523 §2.1: JWT bearer grant", () => {
  const grant = (assertion: string, form: Readonly<Record<string, string>> = {}) =>
    fixtures.token(asserter, { grant_type: grantTypes.jwtBearer, assertion, ...form });

  test("a trusted client gets a user's token, with roles and groups if its scope covers them (RFC 9068 §2.2.3.1)", async () => {
    const narrow = await grant(await fixtures.assertion(asserter, user), { scope: "openid read" });
    for (const name of ["username", "roles", "groups", "permissions"]) {
      expect(claimsOf(accessToken(narrow))).not.toHaveProperty(name);
    }
    const scope = "read roles groups";
    const { status, body } = await grant(await fixtures.assertion(asserter, user), { scope });
    expect(status).toBe(200);
    expect(claimsOf(String(body["access_token"]))).toMatchObject({
      sub: user,
      client_id: asserter.client_id,
      scope: "read roles groups",
      roles: ["editor"],
      groups: ["staff"],
    });
  });

  test("an assertion is spent: its second use is invalid_grant", async () => {
    const assertion = await fixtures.assertion(asserter, user);
    expect((await grant(assertion, { scope: "read" })).status).toBe(200);
    const again = await grant(assertion, { scope: "read" });
    expect([again.status, again.body["error"]]).toEqual([400, "invalid_grant"]);
  });

  test("§3.1: an invalid assertion, an unknown and a suspended user are invalid_grant", async () => {
    const suspended = await fixtures.user({ status: "suspended" });
    const cases: [string, string][] = [
      ["wrong aud", await fixtures.assertion(asserter, user, { aud: "https://other.example.com" })],
      ["expired", await fixtures.assertion(asserter, user, { iat: now() - 500, exp: now() - 60 })],
      ["no jti", await fixtures.assertion(asserter, user, { jti: undefined } as never)],
      ["an issuer who is not the client", await fixtures.assertion(asserter, user, { iss: keyed.client_id })],
      ["no user", await fixtures.assertion(asserter, `nobody-${randomUUID()}`)],
      ["suspended", await fixtures.assertion(asserter, suspended)],
      ["signed by another", await fixtures.assertion({ ...keyed, client_id: asserter.client_id }, user)],
      ["not a JWT", "x.y.z"],
    ];
    for (const [what, assertion] of cases) {
      const { status, body } = await grant(assertion, { scope: "read" });
      expect([status, body["error"]], what).toEqual([400, "invalid_grant"]);
    }
  });

  test("default deny: only the subjects and scopes of the client's policy", async () => {
    const other = await fixtures.user();
    const bound = await fixtures.asserter({}, { subjects: [user], scopes: ["read"] });
    const ask = async (sub: string, scope: string) =>
      fixtures.token(bound, {
        grant_type: grantTypes.jwtBearer,
        assertion: await fixtures.assertion(bound, sub),
        scope,
      });
    expect((await ask(user, "read")).status).toBe(200);
    expect((await ask(other, "read")).body["error"]).toBe("invalid_grant");
    expect((await ask(user, "read write")).body["error"]).toBe("invalid_scope");
  });

  test("a client without the policy cannot use the grant", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const client = await fixtures.client({
      grant_types: [grantTypes.jwtBearer],
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" }] },
    });
    const { status, body } = await fixtures.token(client, {
      grant_type: grantTypes.jwtBearer,
      assertion: await fixtures.assertion({ ...client, privateKey }, user),
      scope: "read",
    });
    expect([status, body.error]).toEqual([400, "unauthorized_client"]);
  });
});
