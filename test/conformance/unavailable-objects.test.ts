import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { demoApplications } from "../../examples/application/src/demo.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import {
  grantTypes,
  type KeyedClient,
  ProviderFixtures,
  type TestClient,
  withKid,
} from "./fixtures/provider-fixtures.ts";

/**
 * A failing object causes 503 from /introspect, /userinfo, /token and /revoke. In `direct` mode, each of them calls its shard for every request, so a
 * fault shows at once; op-state's tests and those of the revocation view cover leases.
 */
let provider: FaultyProvider;
let fixtures: ProviderFixtures;
let asserter: KeyedClient;
let resourceServer: TestClient;
let exchanger: TestClient;
let user: string;
let token: string;

beforeAll(async () => {
  provider = await startFaultyProvider({
    shape: inject("shape"),
    vars: { REVOCATION_MODE: "direct" },
    applications: { api: demoApplications.api },
  });
  fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  exchanger = await fixtures.exchanger();
  user = await fixtures.user();
  token = await fixtures.userToken(asserter, user);
});

afterEach(() => provider.setFaults([]));
afterAll(() => provider.stop());

async function everyEndpoint(): Promise<Record<string, Response>> {
  const form = (path: string, client: TestClient, fields: Record<string, string>) =>
    fetch(`${provider.origin}${path}`, {
      method: "POST",
      headers: { authorization: client.authorization },
      body: new URLSearchParams(fields),
    });
  const assertion = await fixtures.assertion(asserter, user);
  const [introspect, userinfo, revoke, exchange, bearer, own] = await Promise.all([
    form("/introspect", resourceServer, { token }),
    fixtures.userinfo(token),
    form("/revoke", asserter, { token }),
    form("/token", exchanger, {
      grant_type: grantTypes.tokenExchange,
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      scope: "read",
    }),
    form("/token", asserter, { grant_type: grantTypes.jwtBearer, assertion, scope: "read" }),
    form("/token", exchanger, { grant_type: "client_credentials" }),
  ]);
  return { introspect, userinfo, revoke, exchange, bearer, own };
}

/** Requires 503 with `Retry-After` and nothing about the token; a response of the provider contains the id of the request. */
async function expectUnavailable(responses: Record<string, Response>, isOfProvider = true): Promise<void> {
  for (const [name, response] of Object.entries(responses)) {
    expect(response.status, name).toBe(503);
    expect(response.headers.get("retry-after"), name).toMatch(/^\d+$/);
    expect(response.headers.get("cache-control"), name).toContain("no-store");
    if (isOfProvider) expect(response.headers.get("request-id"), name).toMatch(/^[0-9a-f-]{36}$/);
    expect(await response.json(), name).toMatchObject({ error: "temporarily_unavailable" });
  }
}

describe("a revocation shard that fails", () => {
  test("every endpoint responds with 503, and recovers when the fault is over", async () => {
    await provider.setFaults([{ className: "TokenRevocationStore", kind: "throw" }]);
    await expectUnavailable(await everyEndpoint());
    await provider.setFaults([]);
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    expect((await fixtures.userinfo(token)).status).toBe(200);
  });

  test("a hanging shard is 503 in bounded time", async () => {
    await provider.setFaults([{ className: "TokenRevocationStore", kind: "hang" }]);
    const startedAt = performance.now();
    await expectUnavailable(await everyEndpoint());
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  test("a slow shard is waited for, also by requests that wait for another's call: the runtime ends a request that waits without I/O of its own", async () => {
    await provider.setFaults([{ className: "TokenRevocationStore", kind: "delay", ms: 800 }]);
    const answers = await Promise.all(Array.from({ length: 12 }, () => fixtures.isActive(resourceServer, token)));
    expect(answers).toEqual(answers.map(() => true));
  });

  test("a revoke whose response is lost is 503; repeated it is 200, and the token is revoked", async () => {
    const doomed = await fixtures.userToken(asserter, user);
    await provider.setFaults([{ className: "TokenRevocationStore", methods: ["revoke"], kind: "lose", times: 1 }]);
    expect((await fixtures.revoke(asserter, doomed)).status).toBe(503);
    expect((await fixtures.revoke(asserter, doomed)).status).toBe(200);
    expect(await fixtures.isActive(resourceServer, doomed)).toBe(false);
  });

  test("a revoke that failed before it was written revokes nothing", async () => {
    const kept = await fixtures.userToken(asserter, user);
    await provider.setFaults([{ className: "TokenRevocationStore", methods: ["revoke"], kind: "throw" }]);
    expect((await fixtures.revoke(asserter, kept)).status).toBe(503);
    await provider.setFaults([]);
    expect(await fixtures.isActive(resourceServer, kept)).toBe(true);
  });
});

describe("ADR 49: a resource server over the Service Binding", () => {
  const notes = async (bearer: string) =>
    fetch(new URL("notes", provider.resources["api"]), { headers: { authorization: `Bearer ${bearer}` } });
  const notesToken = async () => {
    const resource = provider.resources["api"]!;
    const client = await fixtures.client({ scope: "notes:read", audiences: [resource] });
    return fixtures.clientToken(client, { resource });
  };

  test("a shard that fails or hangs is 503 with Retry-After, and nothing about the token", async () => {
    const bearer = await notesToken();
    for (const kind of ["throw", "hang"] as const) {
      await provider.setFaults([{ className: "TokenRevocationStore", kind }]);
      await expectUnavailable({ [kind]: await notes(bearer) }, false);
    }
    await provider.setFaults([]);
    expect((await notes(bearer)).status).toBe(200);
  });

  test("a slow shard is waited for, also by calls that wait for another's", async () => {
    const bearer = await notesToken();
    await provider.setFaults([{ className: "TokenRevocationStore", kind: "delay", ms: 800 }]);
    const responses = await Promise.all(Array.from({ length: 12 }, () => notes(bearer)));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  });
});

describe("the control version", () => {
  const own = () => fixtures.token(exchanger, { grant_type: "client_credentials" });

  test.each(["throw", "hang"] as const)(
    "with any one revocation shard dead (%s), client_credentials are served: another shard confirms",
    { timeout: 120_000 },
    async (kind) => {
      for (let shard = 0; shard < 8; shard += 1) {
        const names = [`revocation:g1:wnam:${shard}`];
        await provider.setFaults([{ className: "TokenRevocationStore", kind, names }]);
        const startedAt = performance.now();
        const responses = await Promise.all(Array.from({ length: 5 }, own));
        expect(
          responses.map(({ status }) => status),
          `shard ${shard}`,
        ).toEqual([200, 200, 200, 200, 200]);
        expect(performance.now() - startedAt).toBeLessThan(5_000);
      }
    },
  );

  test("during a stream of changes to others and to its own client, every request is served", {
    timeout: 120_000,
  }, async () => {
    const changed = await fixtures.client();
    const untilMs = performance.now() + 6_000;
    let changes = 0;
    const change = async (path: string): Promise<void> => {
      while (performance.now() < untilMs) {
        await fixtures.admin.require("PATCH", path, { client_name: `name ${changes}` });
        changes += 1;
      }
    };
    const seen: number[] = [];
    const request = async (): Promise<void> => {
      while (performance.now() < untilMs)
        seen.push((await own()).status, (await fixtures.token(changed, { grant_type: "client_credentials" })).status);
    };
    const other = await fixtures.client();
    await Promise.all([
      ...[other, changed].map(({ client_id }) => change(`/clients/${client_id}`)),
      ...Array.from({ length: 4 }, request),
    ]);
    expect(changes).toBeGreaterThan(10);
    expect(seen.length).toBeGreaterThan(20);
    expect(seen.filter((status) => status !== 200)).toEqual([]);
  });
});

describe("an assertion store that fails", () => {
  test("a JWT bearer grant is 503, and the same assertion is valid afterwards: nothing was spent", async () => {
    const assertion = await fixtures.assertion(asserter, user);
    const grant = { grant_type: grantTypes.jwtBearer, assertion, scope: "read" };
    await provider.setFaults([{ className: "ChallengeStore", kind: "throw" }]);
    expect((await fixtures.token(asserter, grant)).status).toBe(503);
    await provider.setFaults([]);
    expect((await fixtures.token(asserter, grant)).status).toBe(200);
  });
});

describe("an unreachable KeyManager", () => {
  test("does not stop a warm isolate", async () => {
    await provider.setFaults([{ className: "KeyManager", kind: "throw" }]);
    const issued = await fixtures.userToken(asserter, user);
    expect(await fixtures.isActive(resourceServer, issued)).toBe(true);
    expect((await fixtures.userinfo(issued)).status).toBe(200);
  });

  test("K6: a thousand tokens with unknown keys cause no call to it, and delay no other request", async () => {
    const forged = (index: number) => withKid(token, `unknown-${index}`);
    const callsBefore = (await provider.objectCalls())["KeyManager.schedule"] ?? 0;
    const wrong: string[] = [];
    let next = 0;
    const attack = async (): Promise<void> => {
      while (next < 1_000) {
        next += 1;
        const { text } = await fixtures.introspect(resourceServer, forged(next));
        if (text !== '{"active":false}') wrong.push(text);
      }
    };
    await Promise.all(Array.from({ length: 16 }, attack));
    const calls = ((await provider.objectCalls())["KeyManager.schedule"] ?? 0) - callsBefore;
    expect(wrong).toEqual([]);
    // Isolates renew their schedule every few minutes.
    expect(calls).toBeLessThanOrEqual(3);
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
  });
});

describe("identifiers that were never issued", () => {
  test("G1: no object is created for a jti with an unknown generation or shard", async () => {
    const before = await provider.objectIds("TokenRevocationStore");
    const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<string, unknown>;
    for (const jti of ["g99:wnam:0:a.b", "g1:weur:0:a.b", "g1:wnam:4711:a.b", "g0:wnam:0:a.b"]) {
      const payload = Buffer.from(JSON.stringify({ ...claims, jti })).toString("base64url");
      const [header, , signature] = token.split(".");
      expect((await fixtures.introspect(resourceServer, `${header}.${payload}.${signature}`)).text).toBe(
        '{"active":false}',
      );
      expect((await fixtures.admin.call("POST", "/revocations", { jti })).status).toBe(400);
    }
    for (const refresh of ["rt.g99.wnam.0.family.0.mac", "rt.g1.wnam.999.family.0.mac"]) {
      expect((await fixtures.introspect(resourceServer, refresh)).text).toBe('{"active":false}');
      expect((await fixtures.revoke(asserter, refresh)).status).toBe(200);
    }
    expect(await provider.objectIds("TokenRevocationStore")).toEqual(before);
    expect(await provider.objectIds("RefreshTokenRotator")).toEqual([]);
  });
});
