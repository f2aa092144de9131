import { CompactEncrypt, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Application, redirectUri } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import {
  accessToken,
  headerOf,
  type KeyedClient,
  ProviderFixtures,
  type TestClient,
} from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

/** Key changes affect everyone, so this file has its own provider, with a second isolate of each endpoint Worker. */
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let asserter: KeyedClient;
let resourceServer: TestClient;
let exchanger: TestClient;
let user: string;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape"), extraIsolates: 1 });
  fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  exchanger = await fixtures.exchanger();
  user = await fixtures.user();
});

afterAll(() => provider.stop());

async function publishedKids(): Promise<unknown[]> {
  const { keys } = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

/** The fixtures at the other isolate, which has its own caches. */
function elsewhere(): ProviderFixtures {
  return new ProviderFixtures({ ...provider, origin: provider.direct["op-management#2"]! });
}

describe("protocols.md §4: key rotation while tokens are in use", () => {
  test("a successor is announced before it signs; existing tokens stay valid", async () => {
    const before = await fixtures.userToken(asserter, user);
    const announced = await fixtures.admin.require("POST", "/keys", { alg: "ES256" });
    expect(announced).toMatchObject({ alg: "ES256", state: "announced", kid: expect.any(String) });
    expect(Number(announced.sign_from)).toBeGreaterThan(Date.now() / 1000);
    expect(await publishedKids()).toContain(announced.kid);
    const after = await fixtures.userToken(asserter, user);
    expect(headerOf(after).kid).toBe(headerOf(before).kid);
    expect(await fixtures.isActive(resourceServer, before)).toBe(true);
    expect(await fixtures.isActive(resourceServer, after)).toBe(true);
  });
});

describe("protocols.md §4: emergency revocation of a key", () => {
  test("once the call has returned, its tokens are refused at every endpoint and isolate; new ones are accepted", async () => {
    const old = await fixtures.userToken(asserter, user);
    const { kid } = headerOf(old);
    expect(await fixtures.isActive(resourceServer, old)).toBe(true);
    expect(await elsewhere().isActive(resourceServer, old)).toBe(true);
    expect((await fixtures.userinfo(old)).status).toBe(200);

    expect((await fixtures.admin.call("DELETE", `/keys/${kid}`)).status).toBe(204);

    expect(await fixtures.isActive(resourceServer, old)).toBe(false);
    expect(await elsewhere().isActive(resourceServer, old)).toBe(false);
    const userinfo = await fetch(`${provider.direct["op-userinfo#2"]}/userinfo`, {
      headers: { authorization: `Bearer ${old}` },
    });
    expect(userinfo.status).toBe(401);
    expect((await fixtures.userinfo(old)).status).toBe(401);
    expect((await fixtures.exchange(exchanger, old, { scope: "read" })).status).toBe(400);

    const fresh = await fixtures.userToken(asserter, user);
    expect(headerOf(fresh).kid).not.toBe(kid);
    expect(await fixtures.isActive(resourceServer, fresh)).toBe(true);
    expect(await elsewhere().isActive(resourceServer, fresh)).toBe(true);
    expect(await publishedKids()).not.toContain(kid);
  });

  test("server-rotate-keys, OIDC Core §10.1.1: the next ID token names another key, which is published", async () => {
    const fresh = new ProviderFixtures(provider);
    const application = await Application.register(fresh);
    const browser = (await registerPerson(fresh)).browser();
    const before = await application.signIn(browser);
    const { kid } = headerOf(before.idToken);
    expect((await fresh.admin.call("DELETE", `/keys/${kid}`)).status).toBe(204);
    const after = await application.signIn(browser);
    expect(headerOf(after.idToken).kid).not.toBe(kid);
    expect(await publishedKids()).not.toContain(kid);
    expect(await publishedKids()).toContain(headerOf(after.idToken).kid);
    const hinted = await application.authorize(browser, { id_token_hint: before.idToken });
    expect(hinted.authorizationResponse.get("error")).toBe("invalid_request");
  });

  test("the administrator's own token ends with its key; a new one can be obtained", async () => {
    const { admin } = provider;
    const token = accessToken(
      await fixtures.token(
        { ...admin, authorization: `Basic ${btoa(`${admin.client_id}:${admin.client_secret}`)}` },
        {
          grant_type: "client_credentials",
        },
      ),
    );
    const read = () =>
      fetch(`${provider.origin}/admin/keys`, { headers: { authorization: `Bearer ${token}` } }).then(
        ({ status }) => status,
      );
    expect(await read()).toBe(200);
    expect((await new ProviderFixtures(provider).admin.call("DELETE", `/keys/${headerOf(token).kid}`)).status).toBe(
      204,
    );
    expect(await read()).toBe(401);
    expect((await new ProviderFixtures(provider).admin.call("GET", "/keys")).status).toBe(200);
  });

  test("an unknown key is 404", async () => {
    expect((await new ProviderFixtures(provider).admin.call("DELETE", "/keys/nothing")).status).toBe(404);
  });
});

describe("ADR 40: keys that clients encrypt request objects with", () => {
  test("a revoked key is unpublished and decrypts nothing at any isolate once the call has returned, and its successor does", async () => {
    const fresh = new ProviderFixtures(provider);
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const client = await fresh.client({
      ...{ grant_types: ["authorization_code"], response_types: ["code"], redirect_uris: [redirectUri] },
      ...{ jwks: { keys: [await exportJWK(publicKey)] }, require_pkce: false, scope: "openid" },
    });
    const { client_id } = client;
    const claims = { client_id, response_type: "code", redirect_uri: redirectUri, scope: "openid" };
    const signed = await new SignJWT(claims).setProtectedHeader({ alg: "ES256" }).sign(privateKey);
    const encryptionKey = async (): Promise<JWK> => {
      const { keys } = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: readonly JWK[] };
      const found = keys.filter(({ use, alg }) => use === "enc" && alg === "ECDH-ES");
      expect(found).toHaveLength(1);
      return found[0]!;
    };
    const push = async (key: JWK, origin = provider.origin): Promise<number> => {
      const request = await new CompactEncrypt(new TextEncoder().encode(signed))
        .setProtectedHeader({ alg: "ECDH-ES", enc: "A256GCM", kid: key.kid!, cty: "JWT" })
        .encrypt(await importJWK(key));
      const { authorization } = client;
      return (await postForm(`${origin}/par`, { client_id, request }, { authorization })).status;
    };
    const other = provider.direct["op-auth#2"]!;
    const before = await encryptionKey();
    expect([await push(before), await push(before, other)]).toEqual([201, 201]);

    expect((await fresh.admin.call("DELETE", `/keys/${before.kid}`)).status).toBe(204);

    expect([await push(before), await push(before, other)]).toEqual([400, 400]);
    const after = await encryptionKey();
    expect(after.kid).not.toBe(before.kid);
    expect([await push(after), await push(after, other)]).toEqual([201, 201]);
  });

  test("a rotation announces a successor, which is not published yet", async () => {
    const fresh = new ProviderFixtures(provider);
    const before = await publishedKids();
    const announced = await fresh.admin.require("POST", "/keys", { alg: "RSA-OAEP-256" });
    expect(announced).toMatchObject({ alg: "RSA-OAEP-256", state: "announced", public_jwk: { use: "enc" } });
    expect(await publishedKids()).toEqual(before);
  });
});

describe("a restart in the middle", () => {
  test("tokens, revocations and the revoked key are unchanged", async () => {
    const fresh = new ProviderFixtures(provider);
    const [kept, gone] = [await fresh.userToken(asserter, user), await fresh.userToken(asserter, user)];
    expect((await fresh.revoke(asserter, gone)).status).toBe(200);
    await provider.restart();
    expect(await fresh.isActive(resourceServer, kept)).toBe(true);
    expect(await fresh.isActive(resourceServer, gone)).toBe(false);
    expect((await fresh.revoke(asserter, kept)).status).toBe(200);
    expect(await fresh.isActive(resourceServer, kept)).toBe(false);
  });
});
