import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type ApiResponse, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { DpopKey } from "../fixtures/dpop-key.ts";
import { accessToken, api, claimsOf, grantTypes, otherApi, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/**
 * ADR 27: an isolate remembers its decision for a request and reuses it for equal requests. Each test sends a request three times, so that the
 * isolate has a decision, and then a request that must be decided differently.
 */
async function thrice<T>(send: () => Promise<T>): Promise<T> {
  await send();
  await send();
  return send();
}

async function outcome(response: Promise<ApiResponse>): Promise<unknown[]> {
  const { status, body } = await response;
  return [status, body["error"] ?? body["active"] ?? "ok"];
}

const ownToken = (client: TestClient, form: Readonly<Record<string, string>> = {}) =>
  fixtures.token(client, { grant_type: "client_credentials", ...form });
const change = (path: string, members: Readonly<Record<string, unknown>>) =>
  fixtures.admin.require("PATCH", path, members);

/** A user's token, a client that may exchange it, one that may introspect it, and the three requests with it. */
async function userRequests(metadata: Readonly<Record<string, unknown>> = {}) {
  const asserter = await fixtures.asserter({ audiences: [api, fixtures.issuer], ...metadata });
  const exchanger = await fixtures.exchanger();
  const server = await fixtures.resourceServer();
  const sub = await fixtures.user({ claims: { name: "Alice" } });
  const token = await fixtures.userToken(asserter, sub, { scope: "openid profile read", audience: fixtures.issuer });
  const form = { audience: otherApi, scope: "read" };
  const send = {
    exchange: () => outcome(fixtures.exchange(exchanger, token, form)),
    introspect: () => outcome(fixtures.introspect(server, token)),
    userinfo: async () => (await fixtures.userinfo(token)).status,
  };
  const all = async () => [await send.exchange(), await send.introspect(), await send.userinfo()];
  return { asserter, exchanger, server, sub, token, form, all };
}

const granted = [[200, "ok"], [200, true], 200];
const refused = [[400, "invalid_request"], [200, false], 401];

describe("ADR 27: requests that equal earlier ones", () => {
  test("concurrent requests get equal tokens with distinct jti", async () => {
    const { exchanger, token, form } = await userRequests();
    const client = await fixtures.client();
    for (const send of [() => ownToken(client), () => fixtures.exchange(exchanger, token, form)]) {
      const claims = [];
      for (let time = 0; time < 5; time += 1) claims.push(claimsOf(accessToken(await send())));
      expect(new Set(claims.map(({ jti }) => jti)).size).toBe(5);
      const constant = claims.map(({ sub, aud, scope, client_id, user }) => ({ sub, aud, scope, client_id, user }));
      expect(new Set(constant.map((each) => JSON.stringify(each))).size).toBe(1);
    }
  });

  test("a disabled client is refused, and accepted again after it is enabled", async () => {
    const client = await fixtures.client();
    expect(await thrice(() => outcome(ownToken(client)))).toEqual([200, "ok"]);
    await change(`/clients/${client.client_id}`, { status: "disabled" });
    expect(await outcome(ownToken(client))).toEqual([401, "invalid_client"]);
    await change(`/clients/${client.client_id}`, { status: "active" });
    expect(await thrice(() => outcome(ownToken(client)))).toEqual([200, "ok"]);
  });

  test("a client with a changed scope gets the new scope", async () => {
    const client = await fixtures.client();
    expect((await thrice(() => ownToken(client))).body["scope"]).toBe("read write");
    await change(`/clients/${client.client_id}`, { scope: "read" });
    expect((await ownToken(client)).body["scope"]).toBe("read");
  });

  test("a token whose client is disabled, whose user is suspended, or that is revoked is refused everywhere", async () => {
    const ends: readonly ((of: Awaited<ReturnType<typeof userRequests>>) => Promise<unknown>)[] = [
      ({ asserter }) => change(`/clients/${asserter.client_id}`, { status: "disabled" }),
      ({ sub }) => change(`/users/${sub}`, { status: "suspended" }),
      ({ asserter, token }) => fixtures.revoke(asserter, token),
    ];
    for (const end of ends) {
      const requests = await userRequests();
      expect(await thrice(requests.all)).toEqual(granted);
      await end(requests);
      expect(await requests.all()).toEqual(refused);
    }
  });

  test("UserInfo returns a changed name", async () => {
    const { sub, token, all } = await userRequests();
    await thrice(all);
    await change(`/users/${sub}`, { claims: { name: "Alice Example" } });
    expect(await (await fixtures.userinfo(token)).json()).toMatchObject({ sub, name: "Alice Example" });
  });

  test("a client whose policy was removed can no longer exchange or introspect", async () => {
    const { exchanger, server, all } = await userRequests();
    expect(await thrice(all)).toEqual(granted);
    await change(`/clients/${exchanger.client_id}`, { token_exchange: null, grant_types: ["client_credentials"] });
    await change(`/clients/${server.client_id}`, { introspection: null });
    expect(await all()).toEqual([[400, "unauthorized_client"], [200, false], 200]);
  });

  test("expiry applies: to a token, and to a secret in its overlap", async () => {
    const client = await fixtures.client();
    const { all } = await userRequests({ access_token_lifetime: 5 });
    await fixtures.admin.require("POST", `/clients/${client.client_id}/secrets`, { overlap_seconds: 3 });
    // No administrative change from here on.
    expect(await thrice(all)).toEqual(granted);
    expect(await thrice(() => outcome(ownToken(client)))).toEqual([200, "ok"]);
    await sleep(5_500);
    expect(await outcome(ownToken(client))).toEqual([401, "invalid_client"]);
    expect(await outcome(ownToken(client, { scope: "read" }))).toEqual([401, "invalid_client"]);
    expect(await all()).toEqual(refused);
  });

  test("a header that has authenticated its client also works with other bodies, until the client is disabled", async () => {
    const client = await fixtures.client();
    const bodies = ["read", "write", "read write", "write read"].map((scope) => ({ scope }));
    for (const body of bodies) expect(await outcome(ownToken(client, body))).toEqual([200, "ok"]);
    await change(`/clients/${client.client_id}`, { status: "disabled" });
    for (const body of bodies) expect(await outcome(ownToken(client, body))).toEqual([401, "invalid_client"]);
  });

  test("RFC 6749 §2.3: next to a known header, another credential or another client_id is still refused", async () => {
    const client = await fixtures.client();
    const { client_id, client_secret } = client;
    await thrice(() => ownToken(client, { client_id }));
    expect(await outcome(ownToken(client, { client_id }))).toEqual([200, "ok"]);
    expect(await outcome(ownToken(client, { client_secret }))).toEqual([400, "invalid_request"]);
    expect(await outcome(ownToken(client, { client_assertion: "a.b.c" }))).toEqual([400, "invalid_request"]);
    expect(await outcome(ownToken(client, { client_id: "another" }))).toEqual([401, "invalid_client"]);
  });

  test("the same body with another secret, from another client, or with a different `Accept` is another request", async () => {
    const { token, server, exchanger, form, all } = await userRequests();
    expect(await thrice(all)).toEqual(granted);
    const authorization = basicAuthorization({ client_id: server.client_id, client_secret: "wrong" });
    const guessed = postForm(`${provider.origin}/introspect`, { token }, { authorization });
    expect(await outcome(guessed)).toEqual([401, "invalid_client"]);
    const stranger = await fixtures.client();
    expect(await thrice(() => outcome(fixtures.introspect(stranger, token)))).toEqual([200, false]);
    expect(await outcome(fixtures.introspect(server, token))).toEqual([200, true]);
    expect(await outcome(fixtures.exchange(stranger, token, form))).toEqual([400, "unauthorized_client"]);
    expect(await outcome(fixtures.exchange(exchanger, token, form))).toEqual([200, "ok"]);
    const headers = { authorization: server.authorization, accept: "application/token-introspection+jwt" };
    const signed = await postForm(`${provider.origin}/introspect`, { token }, headers);
    expect(signed.headers.get("content-type")).toBe("application/token-introspection+jwt");
  });

  describe("a parameter that a decision depends on, in addition to a known body", () => {
    type Changed = Readonly<Record<string, string | undefined>>;
    const formType = "application/x-www-form-urlencoded";
    const signedType = "application/token-introspection+jwt";
    /** The request that is sent three times, and its members. */
    const known = async () => {
      const { token, server, exchanger, form } = await userRequests();
      const { authorization } = await fixtures.client();
      const { client_id, client_secret } = await fixtures.client({ token_endpoint_auth_method: "client_secret_post" });
      const exchange = { grant_type: grantTypes.tokenExchange, subject_token: token, ...form };
      const subject_token_type = "urn:ietf:params:oauth:token-type:access_token";
      const own = { grant_type: "client_credentials" };
      return {
        "a secret in the header": { path: "/token", authorization, body: own },
        "a secret in the body": { path: "/token", body: { ...own, client_id, client_secret } },
        exchange: { path: "/token", authorization: exchanger.authorization, body: { ...exchange, subject_token_type } },
        introspection: { path: "/introspect", authorization: server.authorization, body: { token } },
        "UserInfo by POST": { path: "/userinfo", body: { access_token: token } },
      } as Readonly<Record<string, { path: string; authorization?: string; body: Record<string, string> }>>;
    };
    type Name = "a secret in the header" | "a secret in the body" | "exchange" | "introspection" | "UserInfo by POST";
    const every = (status: number) => [status, status, status, status, status] as const;
    /** Cases by request, in the order of their list. */
    const cases: readonly (readonly [string, Changed & { method?: string; query?: string }, readonly number[]])[] = [
      ["nothing else", {}, every(200)],
      ["Content-Type with a parameter", { "content-type": `${formType}; charset=utf-8` }, every(200)],
      ["Content-Type of JSON", { "content-type": "application/json" }, [400, 400, 400, 400, 401]],
      ["Content-Type of text", { "content-type": "text/plain;charset=UTF-8" }, [400, 400, 400, 400, 401]],
      ["Content-Type of a multipart form", { "content-type": "multipart/form-data" }, [400, 400, 400, 400, 401]],
      ["method PUT", { method: "PUT" }, every(405)],
      ["another Authorization", { authorization: "Basic bm9ib2R5Om5vdGhpbmc=" }, [401, 400, 401, 401, 400]],
      // workerd drops empty headers.
      ["an empty Authorization", { authorization: "" }, [401, 200, 401, 401, 200]],
      ["DPoP", { dpop: "no proof" }, [400, 400, 400, 200, 200]],
      ["Accept of a signed introspection", { accept: signedType }, every(200)],
      ["Origin", { origin: "https://app.example.com" }, every(200)],
      ["a certificate of an unknown proxy", { "client-cert": ":AAAA:", "client-cert-verified": "SUCCESS" }, every(200)],
      ["a token in the query", { query: "?access_token=a.b.c" }, [200, 200, 200, 200, 400]],
    ];

    test.each(cases)("%s", async (_, { method = "POST", query = "", ...changed }, statuses) => {
      const requests = await known();
      const names = Object.keys(requests) as Name[];
      const responses = await Promise.all(
        names.map(async (name) => {
          const { path, authorization, body } = requests[name]!;
          const send = async (how: { method: string; query: string; headers: Changed }) => {
            const all = { "content-type": formType, authorization, ...how.headers };
            const headers = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
            const url = `${provider.origin}${path}${how.query}`;
            return fetch(url, { method: how.method, headers, body: new URLSearchParams(body).toString() });
          };
          const first = await thrice(() => send({ method: "POST", query: "", headers: {} }));
          expect(first.status, name).toBe(200);
          return send({ method, query, headers: changed });
        }),
      );
      expect(Object.fromEntries(responses.map(({ status }, index) => [names[index], status]))).toEqual(
        Object.fromEntries(names.map((name, index) => [name, statuses[index]])),
      );
      const type = responses[names.indexOf("introspection")]!.headers.get("content-type");
      if (changed["accept"] === signedType) expect(type).toBe(signedType);
    });
  });

  test("RFC 9449 §5: with a proof the token is bound to its key, and a wrong proof is refused", async () => {
    const client = await fixtures.client();
    await thrice(() => ownToken(client));
    const send = (DPoP: string) => {
      const { authorization } = client;
      return postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, { authorization, DPoP });
    };
    const key = await DpopKey.generate();
    const bound = await send(await key.proof("POST", `${provider.issuer}/token`));
    expect(bound.body["token_type"]).toBe("DPoP");
    expect(claimsOf(accessToken(bound))["cnf"]).toEqual({ jkt: expect.any(String) });
    expect(await outcome(send("no proof"))).toEqual([400, "invalid_dpop_proof"]);
  });

  test("RFC 6750 §2: a token in the URL is refused, also next to a known one", async () => {
    const { token, all } = await userRequests();
    await thrice(all);
    const url = `${provider.origin}/userinfo?access_token=${token}`;
    expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(400);
  });
});
