import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { DpopKey } from "../fixtures/dpop-key.ts";
import { forgeries } from "./fixtures/forgeries.ts";
import {
  accessToken,
  api,
  claimsOf,
  everyScope,
  grantTypes,
  otherApi,
  type TestClient,
  tokenTypes,
} from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";
import { TestIssuer } from "./fixtures/test-issuer.ts";

/** Token exchange with subject and actor tokens of a trusted issuer. */
const audience = "https://gateway.example.com";

let issuer: TestIssuer;
let gateway: TestClient;
let resourceServer: TestClient;
let worker: TestClient;
let user: string;
const issuerId = `partner-${randomUUID()}`;

function rules() {
  const shared = {
    clients: [gateway.client_id],
    audiences: [api, otherApi],
    resources: [api],
    scopes: ["read", "roles"],
  };
  return [
    {
      ...shared,
      rule_id: "users",
      uses: ["subject_token"],
      claims: { tenant: { exact: "acme" } },
      subject: { type: "user", claim: "sub", by: "sub" },
    },
    {
      ...shared,
      rule_id: "jobs",
      uses: ["subject_token", "actor_token"],
      claims: { sub: { prefix: "job:" } },
      client_id: worker.client_id,
      subject: { type: "client" },
    },
  ];
}

beforeAll(async () => {
  [issuer, gateway, worker, resourceServer, user] = await Promise.all([
    TestIssuer.create(),
    fixtures.exchanger({ subject_clients: ["nobody"] }),
    fixtures.client({ token_endpoint_auth_method: "none", grant_types: [grantTypes.jwtBearer] }),
    fixtures.resourceServer(),
    fixtures.user({ roles: ["editor"] }),
  ]);
  await fixtures.admin.require("POST", "/issuers", {
    ...{ issuer_id: issuerId, issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] },
    ...{ audiences: [audience, provider.issuer], rules: rules() },
  });
});

function userToken(claims: Readonly<Record<string, unknown>> = {}, header: Readonly<Record<string, unknown>> = {}) {
  return issuer.sign({ sub: user, aud: audience, tenant: "acme", ...claims }, header);
}

type Form = Readonly<Record<string, string>>;

function exchange(token: string, form: Form = {}, client = gateway): Promise<ApiResponse> {
  return fixtures.exchange(client, token, { subject_token_type: tokenTypes.jwt, audience: api, ...form });
}

async function outcome(response: Promise<ApiResponse>): Promise<string> {
  const { status, body } = await response;
  return status === 200 ? "200" : `${status} ${body["error"]}`;
}

describe("RFC 8693 §3: subject tokens of another issuer", () => {
  test.each([tokenTypes.jwt, tokenTypes.idToken])(
    "%s: gives a token for the user here, with a grant of its own",
    async (type) => {
      const subject = await userToken({ acr: "phr", auth_time: 1, cnf: undefined });
      const token = accessToken(await exchange(subject, { subject_token_type: type, scope: "read roles write" }));
      const claims = claimsOf(token);
      expect(claims).toMatchObject({
        sub: user,
        client_id: gateway.client_id,
        aud: api,
        scope: "read roles",
        roles: ["editor"],
      });
      for (const name of ["acr", "auth_time", "lineage", "cnf"]) expect(claims).not.toHaveProperty(name);
      expect(Number(claims["exp"])).toBeLessThanOrEqual(Number(claimsOf(subject)["exp"]));
      expect(await fixtures.isActive(resourceServer, token)).toBe(true);
      // A subject token may be exchanged until it expires, like one of this provider.
      expect(await outcome(exchange(subject))).toBe("200");
    },
  );

  test("§2.2.2: an invalid token is invalid_request, an audience beyond rule or policy invalid_target", async () => {
    const now = Math.floor(Date.now() / 1000);
    const cases: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>?])[] = [
      ["another tenant", { tenant: "evil" }],
      ["a tenant in a list", { tenant: ["acme"] }],
      ["an audience of someone else", { aud: "https://other.example.com" }],
      ["an audience beside ours", { aud: [audience, "https://other.example.com"] }],
      ["the token endpoint as audience", { aud: `${provider.issuer}/token` }],
      ["expired", { iat: now - 300, exp: now - 60 }],
      ["no iat", { iat: undefined }],
      ["a user who is not here", { sub: "nobody" }],
      ["a client for a user", { sub: gateway.client_id }],
      ["a delegated token", { act: { sub: "x" } }],
      ["a logout token", { events: { "http://schemas.openid.net/event/backchannel-logout": {} } }],
      ["bound to a key that is not proven", { cnf: { jkt: "x" } }],
      ["bound by a method that is not known", { cnf: { kid: "x" } }],
      ["may_act of the other issuer's names", { may_act: { sub: gateway.client_id } }],
      ["may_act of another party here", { may_act: { sub: "x", iss: provider.issuer } }],
      ["an ID-JAG", {}, { typ: "oauth-id-jag+jwt" }],
      ["a proof", {}, { typ: "dpop+jwt" }],
    ];
    for (const [what, claims, header] of cases) {
      expect(await outcome(exchange(await userToken(claims, header))), what).toBe("400 invalid_request");
    }
    expect(await outcome(exchange(await userToken(), { audience: "https://elsewhere.example.com" }))).toBe(
      "400 invalid_target",
    );
    expect(await outcome(exchange(await userToken(), { resource: otherApi }))).toBe("400 invalid_target");
    expect(await outcome(exchange(await userToken(), { scope: "write" }))).toBe("400 invalid_scope");
    const mayAct = { may_act: { sub: gateway.client_id, iss: provider.issuer } };
    expect(await outcome(exchange(await userToken(mayAct)))).toBe("200");
  });

  test("the named type must be the presented type", async () => {
    const form = { subject_token_type: tokenTypes.accessToken };
    expect(await outcome(exchange(await userToken(), form))).toBe("400 invalid_request");
    const accessTokenJwt = await userToken({}, { typ: "at+jwt" });
    expect(await outcome(exchange(accessTokenJwt))).toBe("200");
    expect(await outcome(exchange(accessTokenJwt, { subject_token_type: tokenTypes.idToken }))).toBe(
      "400 invalid_request",
    );
  });

  test("RFC 8725 §2.1: every forgery is refused, and a token that names this provider as its issuer", async () => {
    for (const [what, forged] of await forgeries(await userToken(), { keys: [issuer.jwk as JsonWebKey] })) {
      expect(await outcome(exchange(forged)), what).toBe("400 invalid_request");
    }
    expect(await outcome(exchange(await userToken({ iss: provider.issuer })))).toBe("400 invalid_request");
  });

  test("default deny: a client that no rule names, or without a policy for it, gets nothing", async () => {
    const stranger = await fixtures.exchanger();
    expect(await outcome(exchange(await userToken(), {}, stranger))).toBe("400 invalid_request");
    const bare = await fixtures.client({ grant_types: ["client_credentials", grantTypes.tokenExchange] });
    expect(await outcome(exchange(await userToken(), {}, bare))).toBe("400 unauthorized_client");
  });

  test("RFC 9449 §5: the binding of the subject token must be proven, and the new token is bound to the request's key", async () => {
    const [key, another] = [await DpopKey.generate(), await DpopKey.generate()];
    const url = `${provider.issuer}/token`;
    const send = async (cnf: unknown, by: DpopKey) => {
      const form = {
        ...{ grant_type: grantTypes.tokenExchange, subject_token: await userToken({ cnf }), audience: api },
        subject_token_type: tokenTypes.jwt,
      };
      return postForm(url, form, { authorization: gateway.authorization, DPoP: await by.proof("POST", url) });
    };
    expect(claimsOf(accessToken(await send(undefined, another)))["cnf"]).toEqual({ jkt: another.thumbprint });
    expect(claimsOf(accessToken(await send({ jkt: key.thumbprint }, key)))["cnf"]).toEqual({ jkt: key.thumbprint });
    expect(await outcome(send({ jkt: key.thumbprint }, another))).toBe("400 invalid_request");
  });
});

describe("RFC 8693 §4.1: actor tokens of another issuer", () => {
  const actorForm = async (claims: Readonly<Record<string, unknown>> = {}) => ({
    actor_token: await issuer.sign({ sub: "job:7", aud: audience, ...claims }),
    actor_token_type: tokenTypes.jwt,
  });

  test("the service client that the rule names is the actor, for a user's token of this provider and of the other", async () => {
    const act = { sub: worker.client_id, client_id: worker.client_id };
    const asserter = await fixtures.asserter();
    const own = await fixtures.userToken(asserter, user, { scope: "read" });
    const policy = await fixtures.exchanger({ subject_clients: [asserter.client_id] });
    await fixtures.admin.require("PATCH", `/issuers/${issuerId}`, {
      rules: rules().map((rule) => ({ ...rule, clients: [gateway.client_id, policy.client_id] })),
    });
    const fromOwn = await exchange(own, { ...(await actorForm()), subject_token_type: tokenTypes.accessToken }, policy);
    expect(claimsOf(accessToken(fromOwn))).toMatchObject({ sub: user, act });
    expect(claimsOf(accessToken(await exchange(await userToken(), await actorForm())))).toMatchObject({
      sub: user,
      act,
    });
  });

  test("an actor that no rule accepts, or that is the subject itself, is refused", async () => {
    const refused = async (claims: Readonly<Record<string, unknown>>) =>
      outcome(exchange(await userToken(), await actorForm(claims)));
    expect(await refused({ sub: "cron:7" })).toBe("400 invalid_request");
    expect(await refused({ sub: user, tenant: "acme" })).toBe("400 invalid_request");
    expect(await refused({ aud: "https://other.example.com" })).toBe("400 invalid_request");
    const job = await issuer.sign({ sub: "job:1", aud: audience });
    expect(await outcome(exchange(job, await actorForm()))).toBe("400 invalid_request");
  });
});

describe("RFC 7009 §2: revocation of exchanged tokens", () => {
  test("disabling a rule of the subject or actor also ends all tokens exchanged further", async () => {
    const next = await fixtures.exchanger({ subject_clients: [gateway.client_id] }, { scope: everyScope });
    const actorToken = await issuer.sign({ sub: "job:7", aud: audience });
    const form = { actor_token: actorToken, actor_token_type: tokenTypes.jwt, scope: "read" };
    await fixtures.admin.require("PATCH", `/issuers/${issuerId}`, { rules: rules() });
    for (const disabled of ["users", "jobs"]) {
      const token = accessToken(await exchange(await userToken(), form));
      const further = accessToken(await fixtures.exchange(next, token, { audience: otherApi, scope: "read" }));
      expect(await fixtures.isActive(resourceServer, further)).toBe(true);
      await fixtures.admin.require("PATCH", `/issuers/${issuerId}`, {
        rules: rules().map((rule) => (rule.rule_id === disabled ? { ...rule, status: "disabled" } : rule)),
      });
      expect(await fixtures.isActive(resourceServer, token), disabled).toBe(false);
      expect(await fixtures.isActive(resourceServer, further), disabled).toBe(false);
      await fixtures.admin.require("PATCH", `/issuers/${issuerId}`, { rules: rules() });
    }
  });
});
