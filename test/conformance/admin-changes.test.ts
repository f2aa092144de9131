import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { basicAuthorization, postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { type KeyedClient, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

/** An administrative change is in force everywhere, including warm isolates, once the call has returned. */
let provider: LocalProvider;
let fixtures: ProviderFixtures;
let asserter: KeyedClient;
let resourceServer: TestClient;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape"), extraIsolates: 1 });
  fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
});

afterAll(() => provider.stop());

/** A token request to each isolate of op-token. */
async function tokenStatuses(client: TestClient): Promise<number[]> {
  const origins = [provider.origin, provider.direct["op-token#2"]!];
  return Promise.all(
    origins.map(async (origin) => {
      const { authorization } = client;
      return (await postForm(`${origin}/token`, { grant_type: "client_credentials" }, { authorization })).status;
    }),
  );
}

async function introspectEverywhere(client: TestClient, token: string): Promise<unknown[]> {
  const origins = [provider.origin, provider.direct["op-management#2"]!];
  return Promise.all(
    origins.map(
      async (origin) => (await new ProviderFixtures({ ...provider, origin }).introspect(client, token)).body.active,
    ),
  );
}

describe("clients", () => {
  test("a disabled client is refused everywhere and its tokens are inactive; enabled again, it starts without them", async () => {
    const client = await fixtures.client();
    const token = await fixtures.clientToken(client);
    expect(await tokenStatuses(client)).toEqual([200, 200]);
    expect(await introspectEverywhere(resourceServer, token)).toEqual([true, true]);
    await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
    expect(await tokenStatuses(client)).toEqual([401, 401]);
    expect(await introspectEverywhere(resourceServer, token)).toEqual([false, false]);
    await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "active" });
    expect(await tokenStatuses(client)).toEqual([200, 200]);
    expect(await introspectEverywhere(resourceServer, token)).toEqual([false, false]);
  });

  test("a rotated secret: both work during the overlap; without one, the old is refused everywhere", async () => {
    const client = await fixtures.client();
    expect(await tokenStatuses(client)).toEqual([200, 200]);
    const rotate = async (overlap_seconds: number): Promise<TestClient> => {
      const path = `/clients/${client.client_id}/secrets`;
      const { client_secret } = await fixtures.admin.require("POST", path, { overlap_seconds });
      const credentials = { client_id: client.client_id, client_secret: String(client_secret) };
      return { ...credentials, authorization: basicAuthorization(credentials) };
    };
    const second = await rotate(60);
    expect(await tokenStatuses(client)).toEqual([200, 200]);
    expect(await tokenStatuses(second)).toEqual([200, 200]);
    const third = await rotate(0);
    expect(await tokenStatuses(client)).toEqual([401, 401]);
    expect(await tokenStatuses(second)).toEqual([401, 401]);
    expect(await tokenStatuses(third)).toEqual([200, 200]);
  });

  test("an update keeps every field that it does not name", async () => {
    const { client_id } = await fixtures.client({ client_name: "Before", contacts: ["a@example.com"] });
    await fixtures.admin.require("PATCH", `/clients/${client_id}`, { client_name: "After" });
    const read = await fixtures.admin.require("GET", `/clients/${client_id}`);
    expect(read).toMatchObject({ client_name: "After", contacts: ["a@example.com"], scope: "read write" });
    expect(read).not.toHaveProperty("client_secret");
  });

  test("a removed policy is removed everywhere", async () => {
    const exchanger = await fixtures.exchanger();
    const user = await fixtures.user();
    const token = await fixtures.userToken(asserter, user, { scope: "read" });
    expect((await fixtures.exchange(exchanger, token, { scope: "read" })).status).toBe(200);
    await fixtures.admin.require("PATCH", `/clients/${exchanger.client_id}`, { token_exchange: null });
    const response = await fixtures.exchange(exchanger, token, { scope: "read" });
    expect([response.status, response.body.error]).toEqual([400, "unauthorized_client"]);
  });

  test("a client that was refused as unknown is found everywhere once it is created, or created again", async () => {
    const client_id = `chosen-${randomUUID()}`;
    const unknown = { client_id, client_secret: "wrong" };
    const absent = { ...unknown, authorization: basicAuthorization(unknown) };
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await tokenStatuses(absent)).toEqual([401, 401]);
    expect(await tokenStatuses(await fixtures.client({ client_id }))).toEqual([200, 200]);
    expect((await fixtures.admin.call("DELETE", `/clients/${client_id}`)).status).toBe(204);
    expect(await tokenStatuses(absent)).toEqual([401, 401]);
    expect(await tokenStatuses(await fixtures.client({ client_id }))).toEqual([200, 200]);
  });

  test("a deleted client is unknown", async () => {
    const client = await fixtures.client();
    const token = await fixtures.clientToken(client);
    expect((await fixtures.admin.call("DELETE", `/clients/${client.client_id}`)).status).toBe(204);
    expect(await tokenStatuses(client)).toEqual([401, 401]);
    expect(await introspectEverywhere(resourceServer, token)).toEqual([false, false]);
    expect((await fixtures.admin.call("GET", `/clients/${client.client_id}`)).status).toBe(404);
  });
});

describe("wide revocations", () => {
  test("by subject and by client: earlier grants end, later grants are valid", async () => {
    const user = await fixtures.user();
    for (const request of [{ sub: user }, { client_id: asserter.client_id }]) {
      const before = await fixtures.userToken(asserter, user);
      expect(await introspectEverywhere(resourceServer, before)).toEqual([true, true]);
      await fixtures.admin.require("POST", "/revocations", request);
      expect(await introspectEverywhere(resourceServer, before)).toEqual([false, false]);
      const after = await fixtures.userToken(asserter, user);
      expect(await introspectEverywhere(resourceServer, after)).toEqual([true, true]);
    }
  });

  test("a wide revocation survives a new generation; new ids use it, existing ones keep working", async () => {
    const user = await fixtures.user();
    const kept = await fixtures.userToken(asserter, await fixtures.user());
    const gone = await fixtures.userToken(asserter, user);
    await fixtures.admin.require("POST", "/revocations", { sub: user });
    await fixtures.admin.require("POST", "/shards/generations", {
      store: "revocation",
      regions: { wnam: { shards: 12, hint: "wnam" } },
    });
    expect(await introspectEverywhere(resourceServer, gone)).toEqual([false, false]);
    expect(await introspectEverywhere(resourceServer, kept)).toEqual([true, true]);
    const fresh = await fixtures.userToken(asserter, user);
    expect(JSON.parse(atob(fresh.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")))).toMatchObject({
      jti: expect.stringMatching(/^g2:wnam:/),
    });
    expect(await introspectEverywhere(resourceServer, fresh)).toEqual([true, true]);
    expect((await fixtures.revoke(asserter, fresh)).status).toBe(200);
    expect(await introspectEverywhere(resourceServer, fresh)).toEqual([false, false]);
  });
});

describe("authorization of administrators", () => {
  const ask = async (authorization: string | undefined, path = "/admin/clients") =>
    readResponse(
      await fetch(`${provider.origin}${path}`, authorization === undefined ? {} : { headers: { authorization } }),
    );

  test("RFC 6750 §3: no token, a user's token, a token for another audience, a token without the scope", async () => {
    expect((await ask(undefined)).status).toBe(401);
    const user = await fixtures.user();
    expect((await ask(`Bearer ${await fixtures.userToken(asserter, user)}`)).status).toBe(401);
    const issuer = provider.issuer;
    const elsewhere = await fixtures.client({ scope: "admin:clients", audiences: ["https://other.example.com"] });
    expect((await ask(`Bearer ${await fixtures.clientToken(elsewhere)}`)).status).toBe(401);
    const limited = await fixtures.client({ scope: "admin:users", audiences: [`${issuer}/admin`] });
    const token = await fixtures.clientToken(limited);
    expect((await ask(`Bearer ${token}`)).status).toBe(403);
    expect((await ask(`Bearer ${token}`, "/admin/users")).status).toBe(200);
  });

  test("errors name the field", async () => {
    const response = await fixtures.admin.call("POST", "/clients", { redirect_uris: ["javascript:alert(1)"] });
    expect(response.status).toBe(400);
    expect(String(response.body.error_description)).toContain("redirect_uris[0]");
  });
});
