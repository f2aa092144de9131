import { beforeAll, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { forgeries } from "./fixtures/forgeries.ts";
import {
  accessToken,
  api,
  claimsOf,
  headerOf,
  type KeyedClient,
  type TestClient,
} from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const inactive = '{"active":false}';

/** Each value except the first adds a member. */
const described = "openid profile roles groups permissions read";

let asserter: KeyedClient;
let resourceServer: TestClient;
let user: string;
let userToken: string;

beforeAll(async () => {
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  user = await fixtures.user({ roles: ["editor"], groups: ["staff"] });
  userToken = await fixtures.userToken(asserter, user, { scope: described });
});

describe("RFC 7662 §2: introspection", () => {
  test("§2.2: an active token is described by its claims, and the response is not cached", async () => {
    const { status, headers, body } = await fixtures.introspect(resourceServer, userToken);
    const claims = claimsOf(userToken);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      active: true,
      scope: described,
      client_id: asserter.client_id,
      username: expect.stringMatching(/^user-/),
      token_type: "Bearer",
      exp: claims["exp"],
      iat: claims["iat"],
      sub: user,
      aud: [api, provider.issuer],
      iss: provider.issuer,
      jti: claims["jti"],
      roles: ["editor"],
      groups: ["staff"],
      permissions: ["documents:read", "documents:write"],
    });
  });

  test("§2.1: the caller must authenticate; without it, with a wrong secret or as a public client it is 401", async () => {
    const url = `${provider.origin}/introspect`;
    const bare = await postForm(url, { token: userToken });
    expect([bare.status, bare.body["error"]]).toEqual([401, "invalid_client"]);
    const open = await fixtures.client({
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
      redirect_uris: ["https://app.example.com/cb"],
    });
    const byPublic = await postForm(url, { token: userToken, client_id: open.client_id });
    expect([byPublic.status, byPublic.body["error"]]).toEqual([401, "invalid_client"]);
  });

  test("§2.1: without a token it is 400; an unknown token_type_hint is ignored", async () => {
    const missing = await postForm(
      `${provider.origin}/introspect`,
      {},
      { authorization: resourceServer.authorization },
    );
    expect([missing.status, missing.body["error"]]).toEqual([400, "invalid_request"]);
    for (const hint of ["access_token", "refresh_token", "unheard_of"]) {
      const { body } = await fixtures.introspect(resourceServer, userToken, { token_type_hint: hint });
      expect(body["active"], hint).toBe(true);
    }
  });

  test("§4: a resource server that is not in the audience sees an inactive token", async () => {
    const stranger = await fixtures.client({ audiences: ["https://unrelated.example.com"] });
    expect((await fixtures.introspect(stranger, userToken)).text).toBe(inactive);
  });

  test("§4: its own client sees it, and so does a caller whose client_id is in aud", async () => {
    expect(await fixtures.isActive(asserter, userToken)).toBe(true);
    const named = await fixtures.client();
    const owner = await fixtures.client({ audiences: [named.client_id] });
    expect(await fixtures.isActive(named, await fixtures.clientToken(owner))).toBe(true);
  });

  test("§2.2: every forged token is inactive, without further members", async () => {
    const jwks = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: JsonWebKey[] };
    for (const [what, forged] of await forgeries(userToken, jwks)) {
      const { status, text } = await fixtures.introspect(resourceServer, forged);
      expect([status, text], what).toEqual([200, inactive]);
    }
    expect(await fixtures.isActive(resourceServer, userToken)).toBe(true);
  });

  test("§2.2: an expired token is inactive", async () => {
    const brief = await fixtures.client({ access_token_lifetime: 1 });
    const token = await fixtures.clientToken(brief);
    await expect.poll(() => fixtures.isActive(resourceServer, token), { timeout: 4000 }).toBe(false);
  });

  test("an oversized token is 413 before it is parsed", async () => {
    expect((await fixtures.introspect(resourceServer, "x".repeat(17_000))).status).toBe(413);
  });

  test("RFC 8693 §4.1: act is returned as in the token", async () => {
    const exchanger = await fixtures.exchanger();
    const exchanged = accessToken(
      await fixtures.exchange(exchanger, userToken, {
        actor_token: await fixtures.clientToken(exchanger, { scope: "read" }),
        actor_token_type: "urn:ietf:params:oauth:token-type:access_token",
        scope: "read",
      }),
    );
    const { body } = await fixtures.introspect(resourceServer, exchanged);
    expect(body["act"]).toMatchObject({ sub: exchanger.client_id });
  });

  test("RFC 9701 §5: a signed response by Accept, only for the caller", async () => {
    for (const token of [userToken, "rubbish"]) {
      const response = await fetch(`${provider.origin}/introspect`, {
        method: "POST",
        headers: { authorization: resourceServer.authorization, accept: "application/token-introspection+jwt" },
        body: new URLSearchParams({ token }),
      });
      expect(response.headers.get("content-type")).toBe("application/token-introspection+jwt");
      const jwt = await response.text();
      expect(headerOf(jwt)["typ"]).toBe("token-introspection+jwt");
      expect(claimsOf(jwt)).toMatchObject({
        iss: provider.issuer,
        aud: resourceServer.client_id,
        token_introspection: { active: token === userToken },
      });
      expect((await fixtures.introspect(resourceServer, jwt)).text).toBe(inactive);
    }
  });
});
