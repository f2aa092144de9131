import { beforeAll, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { forgeries } from "./fixtures/forgeries.ts";
import { accessToken, type KeyedClient, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

let asserter: KeyedClient;
let resourceServer: TestClient;
let user: string;

beforeAll(async () => {
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  user = await fixtures.user();
});

describe("RFC 7009: revocation", () => {
  test("§2.2: 200 without a body, and the token is inactive at every endpoint at once", async () => {
    const token = await fixtures.userToken(asserter, user);
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    expect((await fixtures.userinfo(token)).status).toBe(200);
    const { status, text } = await fixtures.revoke(asserter, token);
    expect([status, text]).toEqual([200, ""]);
    expect(await fixtures.isActive(resourceServer, token)).toBe(false);
    expect((await fixtures.userinfo(token)).status).toBe(401);
  });

  test("after /revoke responded, a hundred introspections: none active", async () => {
    const token = await fixtures.userToken(asserter, user);
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    expect((await fixtures.revoke(asserter, token)).status).toBe(200);
    const answers = await Promise.all(Array.from({ length: 100 }, () => fixtures.isActive(resourceServer, token)));
    expect(answers.filter(Boolean)).toEqual([]);
  });

  test("concurrent introspections during a revocation never turn back to active", async () => {
    const token = await fixtures.userToken(asserter, user);
    let revokedAt = Number.POSITIVE_INFINITY;
    let late = 0;
    const revoke = fixtures.revoke(asserter, token).then(({ status }) => {
      expect(status).toBe(200);
      revokedAt = performance.now();
    });
    const watch = async (): Promise<void> => {
      while (performance.now() < revokedAt + 300) {
        const askedAt = performance.now();
        if ((await fixtures.isActive(resourceServer, token)) && askedAt > revokedAt) late += 1;
      }
    };
    await Promise.all([revoke, watch(), watch(), watch()]);
    expect(late).toBe(0);
  });

  test("§2.1: revoking a token ends the tokens exchanged from it, and leaves the user's other grants", async () => {
    const exchanger = await fixtures.exchanger();
    const token = await fixtures.userToken(asserter, user, { scope: "read" });
    const other = await fixtures.userToken(asserter, user, { scope: "read" });
    const child = accessToken(await fixtures.exchange(exchanger, token, { scope: "read" }));
    const grandchild = accessToken(await fixtures.exchange(exchanger, child, { scope: "read" }));
    expect((await fixtures.revoke(asserter, token)).status).toBe(200);
    const all = [token, child, grandchild, other];
    const active = await Promise.all(all.map((one) => fixtures.isActive(resourceServer, one)));
    expect(active).toEqual([false, false, false, true]);
  });

  test("§2.1: a client cannot revoke another's token, nor its ancestor by an exchanged one", async () => {
    const exchanger = await fixtures.exchanger();
    const token = await fixtures.userToken(asserter, user, { scope: "read" });
    const child = accessToken(await fixtures.exchange(exchanger, token, { scope: "read" }));
    const foreign = await fixtures.revoke(exchanger, token);
    expect(foreign.status).toBe(400);
    expect((await fixtures.revoke(exchanger, child)).status).toBe(200);
    expect(await fixtures.isActive(resourceServer, child)).toBe(false);
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
  });

  test("§2.2: revoking twice, an unknown token and every forgery is 200, and changes nothing", async () => {
    const token = await fixtures.userToken(asserter, user);
    const jwks = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: JsonWebKey[] };
    for (const [what, forged] of await forgeries(token, jwks)) {
      expect((await fixtures.revoke(asserter, forged)).status, what).toBe(200);
    }
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    expect((await fixtures.revoke(asserter, token)).status).toBe(200);
    expect((await fixtures.revoke(asserter, token)).status).toBe(200);
  });

  test("§2.1: the client must authenticate and send a token; the hint may be anything", async () => {
    const url = `${provider.origin}/revoke`;
    const token = await fixtures.userToken(asserter, user);
    const bare = await postForm(url, { token });
    expect([bare.status, bare.body["error"]]).toEqual([401, "invalid_client"]);
    expect(await fixtures.isActive(resourceServer, token)).toBe(true);
    const missing = await postForm(url, {}, { authorization: asserter.authorization });
    expect([missing.status, missing.body["error"]]).toEqual([400, "invalid_request"]);
    expect((await fixtures.revoke(asserter, token, { token_type_hint: "refresh_token" })).status).toBe(200);
    expect(await fixtures.isActive(resourceServer, token)).toBe(false);
  });
});
