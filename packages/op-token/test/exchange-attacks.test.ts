import { createExecutionContext } from "cloudflare:test";
import { readConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import {
  type AccessTokenContent,
  readAccessToken,
  revocationSubjects,
  signAccessToken,
} from "@edge-op/shared/tokens/access-token";
import type { TokenEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it } from "vitest";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { LoginFixtures, seedApp, seedPeople } from "./fixtures/login-fixtures.ts";
import { accessTokenType, claimsOf, errorOf, exchangeGrant, seedService, tokenEnv } from "./fixtures/token-fixtures.ts";

/** Attempts of a client that may exchange tokens to obtain more than that. */
const issuer = "https://op.example.com";
const payments = "https://api.example.com/payments";
const idTokenType = "urn:ietf:params:oauth:token-type:id_token";
const policy = {
  subject_clients: ["app"],
  audiences: [payments],
  resources: [],
  scopes: ["*"],
  modes: ["delegation", "impersonation"] as const,
};

let fixtures: LoginFixtures;
let app: SeededClient;
let service: SeededClient;
beforeEach(async () => {
  fixtures = new LoginFixtures();
  await seedPeople();
  app = await seedApp();
  service = await seedService("service", { token_exchange: policy });
});

function exchange(subjectToken: string, fields: Record<string, string> = {}, client = service): Promise<Response> {
  const subject = { subject_token: subjectToken, subject_token_type: accessTokenType };
  return fixtures.post({ grant_type: exchangeGrant, audience: payments, ...subject, ...fields }, client);
}

async function exchanged(subjectToken: string, fields: Record<string, string> = {}, client = service) {
  const response = await exchange(subjectToken, fields, client);
  expect(response.status, await response.clone().text()).toBe(200);
  return claimsOf((await response.json<{ access_token: string }>()).access_token);
}

/** Runs `work` in a separate request and waits for its background work. */
async function within<T>(work: (context: RequestContext<TokenEnv>) => Promise<T>): Promise<T> {
  const execution = createExecutionContext();
  const result = await work(createRequestContext(new Request(issuer), tokenEnv, execution));
  await waitBriefly(execution);
  return result;
}

/** A token of the client `app` with any claims, signed by this provider. */
function signed(content: Partial<AccessTokenContent> = {}): Promise<string> {
  return within(async (context) => {
    const grant = await grantNow(context, fixtures.isolate);
    const now = Math.floor(Date.now() / 1000);
    return signAccessToken(
      context,
      fixtures.isolate,
      { alg: "ES256", typ: "at+jwt" },
      {
        id: { ...grant, random: "r" },
        sub: "alice",
        clientId: "app",
        audiences: [payments],
        scope: ["openid", "email"],
        issuedAtSeconds: now,
        expiresAtSeconds: now + 300,
        forUser: true,
        ...content,
      },
    );
  });
}

describe("ID tokens", () => {
  it("§2.1: an ID token proves only openid, whatever the user granted or the policy names", async () => {
    const { id_token } = await fixtures.signIn(app, { scope: ["openid", "email"] });
    const claims = await exchanged(id_token, { subject_token_type: idTokenType });
    expect(claims).toMatchObject({ sub: "alice", scope: "openid", aud: payments });
    for (const scope of ["email", "profile", "address phone"]) {
      const response = await exchange(id_token, { subject_token_type: idTokenType, scope });
      expect(await errorOf(response), scope).toBe("400 invalid_scope");
    }
  });

  it("RFC 8725 §3.11: one type is never accepted as another", async () => {
    const { id_token, access_token, refresh_token } = await fixtures.signIn(app);
    for (const [token, type] of [
      [id_token, accessTokenType],
      [access_token, idTokenType],
      [refresh_token, accessTokenType],
      [refresh_token, "urn:ietf:params:oauth:token-type:refresh_token"],
      [refresh_token, "urn:ietf:params:oauth:token-type:jwt"],
    ] as const) {
      expect(await errorOf(await exchange(token, { subject_token_type: type }))).toBe("400 invalid_request");
    }
  });

  it("a pairwise client's ID token is not a subject token for another client", async () => {
    const { id_token } = await fixtures.signIn(app, { pairwiseSub: "pairwise-of-alice" });
    const response = await exchange(id_token, { subject_token_type: idTokenType });
    expect(await errorOf(response)).toBe("400 invalid_request");
  });
});

describe("actors", () => {
  const acting = (token: string, type = accessTokenType) => ({ actor_token: token, actor_token_type: type });

  it("§4.1: a suspended or unknown user cannot be an actor", async () => {
    for (const sub of ["mallory", "nobody"]) {
      const response = await exchange(await signed(), acting(await signed({ sub })));
      expect(await errorOf(response), sub).toBe("400 invalid_request");
    }
    const { id_token } = await fixtures.signIn(app, { pairwiseSub: "pairwise-of-alice" });
    expect(await errorOf(await exchange(await signed(), acting(id_token, idTokenType)))).toBe("400 invalid_request");
  });

  it("OIDC Core §8.1: a pairwise client sees the acting user by its own sub", async () => {
    const pairwise = await seedService("pairwise", { token_exchange: policy, subject_type: "pairwise" });
    const byBob = acting(await signed({ sub: "bob" }));
    const claims = await exchanged(await signed(), byBob, pairwise);
    expect(claims["act"]).toEqual({ sub: expect.stringMatching(/^[\w-]{22}$/), client_id: "app" });
    expect(await exchanged(await signed(), byBob)).toMatchObject({ sub: "alice", act: { sub: "bob" } });
    const earlier = await signed({
      act: { sub: "bob", client_id: "app", act: { sub: "service", client_id: "service" } },
    });
    expect((await exchanged(earlier, {}, pairwise))["act"]).toEqual({
      ...(claims["act"] as object),
      act: { sub: "service", client_id: "service" },
    });
  });

  it("§1.1: a party cannot be its own actor, with the subject token itself or any other token about the same party", async () => {
    const delegation = { ...policy, subject_clients: ["app", "service"], modes: ["delegation"] as const };
    const delegator = await seedService("delegator", { token_exchange: delegation });
    const token = await signed();
    const { id_token } = await fixtures.signIn(app);
    for (const own of [acting(token), acting(await signed()), acting(id_token, idTokenType)]) {
      expect(await errorOf(await exchange(token, own, delegator))).toBe("400 invalid_request");
    }
    const ofClient = { sub: "service", clientId: "service", forUser: false };
    const own = acting(await signed(ofClient));
    expect(await errorOf(await exchange(await signed(ofClient), own, delegator))).toBe("400 invalid_request");
    expect(await exchanged(token, own, delegator)).toMatchObject({ sub: "alice", act: { sub: "service" } });
  });

  it("RFC 7800 §3: a bound subject or actor token is refused without the proof of its key, by any method", async () => {
    const jkt = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
    for (const claim of [{ jkt }, { "x5t#S256": jkt }, { jku: "https://keys.example.com/", kid: "1" }]) {
      const cnf = readConfirmation(claim);
      const bound = await signed({ sub: "bob", cnf });
      expect(await errorOf(await exchange(await signed(), acting(bound)))).toBe("400 invalid_request");
      expect(await errorOf(await exchange(await signed({ cnf })))).toBe("400 invalid_request");
    }
  });

  it("RFC 9449 §5: an exchanged token is bound only to a key that the request proves", async () => {
    const response = await exchange(await signed());
    expect(await response.json()).toMatchObject({ token_type: "Bearer", issued_token_type: accessTokenType });
  });

  it("§4.1: a delegated token cannot be an actor token, and the actor token's may_act grants nothing", async () => {
    const delegated = await signed({ sub: "bob", act: { sub: "service", client_id: "service" } });
    expect(await errorOf(await exchange(await signed(), acting(delegated)))).toBe("400 invalid_request");
    const onlyOther = await signed({ mayAct: { client_id: "other" } });
    const bob = await signed({ sub: "bob", mayAct: {} });
    expect(await errorOf(await exchange(onlyOther, acting(bob)))).toBe("400 invalid_request");
  });

  it.each([
    ["another issuer's party", { sub: "service", iss: "https://other.example.com" }],
    ["an issuer alone", { iss: issuer }],
    ["nobody", {}],
    ["what is not understood", { sub: "service", email: "service@example.com" }],
    ["a client whose sub is another's", { sub: "service", client_id: "app" }],
    ["a sub that is no text", { sub: ["service"] }],
  ])("§4.4: may_act that names %s does not allow this client", async (_, mayAct) => {
    expect(await errorOf(await exchange(await signed({ mayAct })))).toBe("400 invalid_request");
  });

  it("§4.4: may_act of this issuer's party allows that party", async () => {
    expect(await exchanged(await signed({ mayAct: { sub: "service", iss: issuer } }))).toMatchObject({ sub: "alice" });
  });
});

it("a token exchanged several times ends with every client in its chain", async () => {
  const onward = { ...policy, subject_clients: ["service", "agent"] };
  const last = await seedService("last", { token_exchange: onward });
  const agent = await signed({ clientId: "agent", sub: "agent", forUser: false });
  const first = await (await exchange(await signed())).json<{ access_token: string }>();
  const acting = { actor_token: agent, actor_token_type: accessTokenType };
  const { access_token } = await (await exchange(first.access_token, acting, last)).json<{ access_token: string }>();
  expect(claimsOf(access_token)).toMatchObject({ client_id: "last", grant_client: "app", via: ["service"] });
  const read = await within((context) => readAccessToken(context, fixtures.isolate, access_token));
  const subjects = revocationSubjects(read!);
  expect(subjects.map(({ clientId }) => clientId).sort()).toEqual(["agent", "app", "last", "service"]);
  expect(new Set(subjects.map(({ jti }) => jti))).toEqual(new Set([claimsOf(access_token)["jti"]]));
});

describe("targets", () => {
  const untargeted = (token: string, client: SeededClient) =>
    fixtures.post({ grant_type: exchangeGrant, subject_token: token, subject_token_type: accessTokenType }, client);

  it("without a requested target it is the intersection of subject and policy, else a default of the policy, else invalid_target", async () => {
    const elsewhere = { audiences: ["https://elsewhere.example.com"] };
    const strict = await seedService("strict", { token_exchange: policy, ...elsewhere });
    const kept = await untargeted(await signed({ audiences: ["https://x.example.com", payments] }), strict);
    expect(claimsOf((await kept.json<{ access_token: string }>()).access_token)["aud"]).toBe(payments);
    expect(await errorOf(await untargeted(await signed(elsewhere), strict))).toBe("400 invalid_target");

    const named = await seedService("named", { token_exchange: { ...policy, ...elsewhere }, ...elsewhere });
    const byDefault = await untargeted(await signed(), named);
    expect(claimsOf((await byDefault.json<{ access_token: string }>()).access_token)["aud"]).toBe(
      elsewhere.audiences[0],
    );
  });

  it('§2.1: "*" in a policy list of several is an ordinary name', async () => {
    const star = await seedService("star", { token_exchange: { ...policy, audiences: ["*", payments] } });
    const response = await exchange(await signed(), { audience: "https://evil.example.com" }, star);
    expect(await errorOf(response)).toBe("400 invalid_target");
  });

  it("§2.2.1: audiences named like members of Object.prototype are not allowed by accident", async () => {
    for (const audience of ["__proto__", "constructor", "toString"]) {
      expect(await errorOf(await exchange(await signed(), { audience })), audience).toBe("400 invalid_target");
    }
  });
});

describe('"*" in a policy covers neither admin scopes nor the audience of the admin API', () => {
  const adminApi = `${issuer}/admin`;
  const anything = { ...policy, subject_clients: ["*"], audiences: ["*"], resources: ["*"], scopes: ["*"] };
  const administrator = { forUser: false, sub: "operators", clientId: "operators", scope: ["admin:users", "read"] };

  it("token_exchange.scopes: an admin scope of the subject token is omitted, and alone it is invalid_scope", async () => {
    const client = await seedService("any", { token_exchange: anything });
    expect(await exchanged(await signed(administrator), {}, client)).toMatchObject({ scope: "read" });
    const asked = await exchange(await signed(administrator), { scope: "admin:users" }, client);
    expect(await errorOf(asked)).toBe("400 invalid_scope");
  });

  it("token_exchange.audiences and resources: the admin API is not a target, requested or inherited", async () => {
    const client = await seedService("any", { token_exchange: anything });
    for (const target of [{ audience: adminApi }, { resource: adminApi }]) {
      const fields = { grant_type: exchangeGrant, subject_token_type: accessTokenType, ...target };
      const response = await fixtures.post({ ...fields, subject_token: await signed(administrator) }, client);
      expect(await errorOf(response), JSON.stringify(target)).toBe("400 invalid_target");
    }
    const subject = await signed({ ...administrator, audiences: [adminApi, payments] });
    const fields = { grant_type: exchangeGrant, subject_token: subject, subject_token_type: accessTokenType };
    const kept = await fixtures.post(fields, client);
    expect(claimsOf((await kept.json<{ access_token: string }>()).access_token)["aud"]).toBe(payments);
  });

  it("a client that names both gets both", async () => {
    const named = { ...anything, audiences: [adminApi], scopes: ["admin:users"] };
    const client = await seedService("console", { token_exchange: named });
    const claims = await exchanged(await signed(administrator), { audience: adminApi }, client);
    expect(claims).toMatchObject({ scope: "admin:users", aud: adminApi });
  });

  it("audiences: a client whose tokens may be for anything gets none for the admin API", async () => {
    const client = await seedService("any", { audiences: ["*"], scope: "admin:users" });
    const fields = { grant_type: "client_credentials", audience: adminApi };
    expect(await errorOf(await fixtures.post(fields, client))).toBe("400 invalid_target");
  });
});
