import { beforeAll, describe, expect, test } from "vitest";
import { forgeries } from "./fixtures/forgeries.ts";
import {
  accessToken,
  api,
  claimsOf,
  grantTypes,
  type KeyedClient,
  otherApi,
  type TestClient,
  tokenTypes,
} from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

let asserter: KeyedClient;
let exchanger: TestClient;
let actor: TestClient;
let user: string;
let userToken: string;

beforeAll(async () => {
  asserter = await fixtures.asserter({ audiences: [api, otherApi] });
  exchanger = await fixtures.exchanger();
  actor = await fixtures.client();
  user = await fixtures.user({ roles: ["editor"] });
  userToken = await fixtures.userToken(asserter, user, { scope: "openid roles read write" });
});

async function refusal(response: Promise<{ status: number; body: Record<string, unknown> }>): Promise<unknown[]> {
  const { status, body } = await response;
  return [status, body["error"]];
}

describe("RFC 8693 §2: the exchange", () => {
  test("§2.2.1: the response contains the issued type; the subject stays, the client is the new one", async () => {
    const { status, headers, body } = await fixtures.exchange(exchanger, userToken, {
      audience: otherApi,
      scope: "read roles",
    });
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      access_token: expect.any(String),
      issued_token_type: tokenTypes.accessToken,
      token_type: "Bearer",
      expires_in: expect.any(Number),
      scope: "read roles",
    });
    expect(claimsOf(String(body["access_token"]))).toMatchObject({
      sub: user,
      client_id: exchanger.client_id,
      aud: otherApi,
      scope: "read roles",
      roles: ["editor"],
    });
  });

  test("§2.1: an access token may also be requested and presented as jwt", async () => {
    const asJwt = await fixtures.exchange(exchanger, userToken, {
      requested_token_type: tokenTypes.jwt,
      scope: "read",
    });
    expect([asJwt.status, asJwt.body["issued_token_type"]]).toEqual([200, tokenTypes.jwt]);
    const presented = await fixtures.exchange(exchanger, userToken, {
      subject_token_type: tokenTypes.jwt,
      scope: "read",
    });
    expect(presented.status).toBe(200);
  });

  test("§2.1: repeated audience and resource all count", async () => {
    const response = await fixtures.exchange(exchanger, userToken, { scope: "read" }, [
      ["audience", api],
      ["audience", otherApi],
      ["resource", "https://files.example.com/"],
    ]);
    expect(claimsOf(accessToken(response))["aud"]).toEqual([api, otherApi, "https://files.example.com/"]);
  });

  test("§2.2.2: an audience or resource beyond the policy is invalid_target, even beside an allowed one", async () => {
    const bound = await fixtures.exchanger({ audiences: [otherApi], resources: [] });
    expect((await fixtures.exchange(bound, userToken, { audience: otherApi, scope: "read" })).status).toBe(200);
    const beside = [
      ["audience", otherApi],
      ["audience", api],
    ] as const;
    expect(await refusal(fixtures.exchange(bound, userToken, { scope: "read" }, beside))).toEqual([
      400,
      "invalid_target",
    ]);
    const resource = { resource: "https://files.example.com/", scope: "read" };
    expect(await refusal(fixtures.exchange(bound, userToken, resource))).toEqual([400, "invalid_target"]);
  });

  test("scope never widens: scope outside the subject token is not granted, and an empty result is invalid_scope", async () => {
    const narrow = await fixtures.userToken(asserter, user, { scope: "read" });
    const wider = await fixtures.exchange(exchanger, narrow, { scope: "read write" });
    expect([wider.status, wider.body.scope]).toEqual([200, "read"]);
    expect(await refusal(fixtures.exchange(exchanger, narrow, { scope: "write" }))).toEqual([400, "invalid_scope"]);
  });

  test("§1.1: the subject token is not its own actor, nor is another token of the same user", async () => {
    const delegator = await fixtures.exchanger({ modes: ["delegation"] });
    for (const actorToken of [userToken, await fixtures.userToken(asserter, user, { scope: "read" })]) {
      const form = { actor_token: actorToken, actor_token_type: tokenTypes.accessToken, scope: "read" };
      expect(await refusal(fixtures.exchange(delegator, userToken, form))).toEqual([400, "invalid_request"]);
    }
  });

  test("the lifetime never exceeds the subject's, and the grant is inherited", async () => {
    const brief = await fixtures.asserter({ access_token_lifetime: 60 });
    const subject = await fixtures.userToken(brief, user, { scope: "read" });
    const issued = accessToken(await fixtures.exchange(exchanger, subject, { scope: "read" }));
    expect(Number(claimsOf(issued)["exp"])).toBeLessThanOrEqual(Number(claimsOf(subject)["exp"]));
    const grantOf = (jwt: string) => String(claimsOf(jwt)["jti"]).split(".")[0];
    expect(grantOf(issued)).toBe(grantOf(subject));
  });
});

describe("RFC 8693: default deny", () => {
  test("a client without the grant type or the policy cannot exchange tokens", async () => {
    const without = await fixtures.client();
    expect(await refusal(fixtures.exchange(without, userToken))).toEqual([400, "unauthorized_client"]);
    const noPolicy = await fixtures.client({ grant_types: ["client_credentials", grantTypes.tokenExchange] });
    expect(await refusal(fixtures.exchange(noPolicy, userToken))).toEqual([400, "unauthorized_client"]);
  });

  test("tokens of clients that the policy does not name are refused", async () => {
    const bound = await fixtures.exchanger({ subject_clients: [exchanger.client_id] });
    expect((await refusal(fixtures.exchange(bound, userToken, { scope: "read" })))[0]).toBe(400);
  });

  test("delegation and impersonation are allowed separately", async () => {
    const delegate = await fixtures.exchanger({ modes: ["delegation"] });
    expect(await refusal(fixtures.exchange(delegate, userToken, { scope: "read" }))).toEqual([
      400,
      "unauthorized_client",
    ]);
    const impersonate = await fixtures.exchanger({ modes: ["impersonation"] });
    const form = {
      actor_token: await fixtures.clientToken(impersonate, { scope: "read" }),
      actor_token_type: tokenTypes.accessToken,
      scope: "read",
    };
    expect(await refusal(fixtures.exchange(impersonate, userToken, form))).toEqual([400, "unauthorized_client"]);
  });

  test("scopes that the policy does not name are omitted or refused", async () => {
    const bound = await fixtures.exchanger({ scopes: ["write"] });
    expect(await refusal(fixtures.exchange(bound, userToken, { scope: "read" }))).toEqual([400, "invalid_scope"]);
  });
});

describe("RFC 8693 §4: fixtures", () => {
  test("§4.1: the newest actor is outermost, earlier ones nest inside it", async () => {
    const first = accessToken(
      await fixtures.exchange(exchanger, userToken, {
        actor_token: await fixtures.clientToken(actor),
        actor_token_type: tokenTypes.accessToken,
        scope: "read",
      }),
    );
    expect(claimsOf(first)["act"]).toMatchObject({ sub: actor.client_id });
    const second = accessToken(
      await fixtures.exchange(exchanger, first, {
        actor_token: await fixtures.clientToken(exchanger, { scope: "read" }),
        actor_token_type: tokenTypes.accessToken,
        scope: "read",
      }),
    );
    expect(claimsOf(second)["act"]).toMatchObject({ sub: exchanger.client_id, act: { sub: actor.client_id } });
  });

  test("a chain deeper than the limit is refused", async () => {
    let token = userToken;
    const statuses: number[] = [];
    for (let depth = 0; depth < 6; depth += 1) {
      const response = await fixtures.exchange(exchanger, token, {
        actor_token: await fixtures.clientToken(actor),
        actor_token_type: tokenTypes.accessToken,
        scope: "read",
      });
      statuses.push(response.status);
      if (response.status === 200) token = accessToken(response);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 400, 400]);
  });

  test("§2.1: an actor token without its type, and a type without the token, are refused", async () => {
    const actorToken = await fixtures.clientToken(actor);
    expect(await refusal(fixtures.exchange(exchanger, userToken, { actor_token: actorToken }))).toEqual([
      400,
      "invalid_request",
    ]);
    const typeAlone = { actor_token_type: tokenTypes.accessToken };
    expect(await refusal(fixtures.exchange(exchanger, userToken, typeAlone))).toEqual([400, "invalid_request"]);
  });

  test("§4.4: only the party that may_act names may act", async () => {
    const assertion = await fixtures.assertion(asserter, user, { may_act: { sub: actor.client_id } });
    const bound = accessToken(
      await fixtures.token(asserter, { grant_type: grantTypes.jwtBearer, assertion, scope: "read" }),
    );
    const by = async (client: TestClient) =>
      fixtures.exchange(exchanger, bound, {
        actor_token: await fixtures.clientToken(client, { scope: "read" }),
        actor_token_type: tokenTypes.accessToken,
        scope: "read",
      });
    expect((await by(actor)).status).toBe(200);
    expect(await refusal(by(exchanger))).toEqual([400, "invalid_request"]);
    expect(await refusal(fixtures.exchange(exchanger, bound, { scope: "read" }))).toEqual([400, "invalid_request"]);
  });
});

describe("RFC 8693 §2.2.2: unacceptable subject tokens", () => {
  test("every forgery is invalid_request, with one text", async () => {
    const jwks = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: JsonWebKey[] };
    const texts = new Set<string>();
    for (const [what, forged] of await forgeries(userToken, jwks)) {
      const response = await fixtures.exchange(exchanger, forged, { scope: "read" });
      expect([response.status, response.body["error"]], what).toEqual([400, "invalid_request"]);
      texts.add(response.text);
    }
    expect(texts.size).toBe(1);
  });

  test("a token of another than the named type is refused, and so are unsupported types", async () => {
    for (const type of [tokenTypes.idToken, tokenTypes.refreshToken, "urn:ietf:params:oauth:token-type:saml2", "x"]) {
      const response = await fixtures.exchange(exchanger, userToken, { subject_token_type: type, scope: "read" });
      expect([response.status, response.body["error"]], type).toEqual([400, "invalid_request"]);
    }
    const asked = { requested_token_type: tokenTypes.refreshToken, scope: "read" };
    expect(await refusal(fixtures.exchange(exchanger, userToken, asked))).toEqual([400, "invalid_request"]);
  });

  test("missing and oversized parameters are refusals", async () => {
    const bare = { grant_type: grantTypes.tokenExchange };
    expect(await refusal(fixtures.token(exchanger, bare))).toEqual([400, "invalid_request"]);
    expect(await refusal(fixtures.token(exchanger, { ...bare, subject_token: userToken }))).toEqual([
      400,
      "invalid_request",
    ]);
    expect((await fixtures.exchange(exchanger, "x".repeat(17_000))).status).toBe(413);
  });

  test("a revoked subject, a revoked actor and a revoked ancestor are refused", async () => {
    const subject = await fixtures.userToken(asserter, user, { scope: "read" });
    const child = accessToken(await fixtures.exchange(exchanger, subject, { scope: "read" }));
    const grandchild = accessToken(await fixtures.exchange(exchanger, child, { scope: "read" }));
    expect((await fixtures.revoke(asserter, subject)).status).toBe(200);
    for (const token of [subject, child, grandchild]) {
      expect(await refusal(fixtures.exchange(exchanger, token, { scope: "read" }))).toEqual([400, "invalid_request"]);
    }
    const actorToken = await fixtures.clientToken(actor);
    expect((await fixtures.revoke(actor, actorToken)).status).toBe(200);
    const form = { actor_token: actorToken, actor_token_type: tokenTypes.accessToken, scope: "read" };
    expect(await refusal(fixtures.exchange(exchanger, userToken, form))).toEqual([400, "invalid_request"]);
  });

  test("a suspended user's token is refused", async () => {
    const suspended = await fixtures.user();
    const token = await fixtures.userToken(asserter, suspended, { scope: "read" });
    await fixtures.admin.require("PATCH", `/users/${suspended}`, { status: "suspended" });
    expect((await refusal(fixtures.exchange(exchanger, token, { scope: "read" })))[0]).toBe(400);
  });
});
