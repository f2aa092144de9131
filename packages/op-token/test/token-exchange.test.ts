import { createExecutionContext } from "cloudflare:test";
import { tokenKey } from "@edge-op/shared/grants/grant-revocation";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { readAccessToken, revocationSubjects } from "@edge-op/shared/tokens/access-token";
import { beforeEach, describe, expect, it } from "vitest";
import { postForm } from "../../../test/fixtures/call.ts";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import {
  accessTokenType,
  claimsOf,
  createTokenFixtures,
  errorOf,
  exchangeGrant,
  seedApplication,
  seedService,
  type TokenFixtures,
  tokenEnv,
} from "./fixtures/token-fixtures.ts";

const payments = "https://api.example.com/payments";
const orders = "https://api.example.com/orders";
const resource = "https://resource.example.com/api/v1";
const delegated = (actorToken: string) => ({ actor_token: actorToken, actor_token_type: accessTokenType });

let fixtures: TokenFixtures;
let app: SeededClient;
let service: SeededClient;
let subject: string;

beforeEach(async () => {
  fixtures = await createTokenFixtures();
  app = await seedApplication(fixtures, "app");
  service = await seedService("service");
  subject = await fixtures.userToken(app);
});

async function exchanged(fields: Record<string, string | string[]> = {}, token = subject, client = service) {
  const response = await fixtures.exchange(client, token, fields);
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json<Record<string, string>>();
}

async function revoke(token: string): Promise<void> {
  const context = createRequestContext(new Request("https://op.example.com/"), tokenEnv, createExecutionContext());
  const accessToken = await readAccessToken(context, fixtures.isolate, token);
  const [{ address, jti }] = revocationSubjects(accessToken!) as [ReturnType<typeof revocationSubjects>[0]];
  await fixtures.isolate.revocation.revoke(context, address, [
    { key: tokenKey(jti), untilMs: Date.now() + 3_600_000, operationId: jti, event: { type: "test", payload: {} } },
  ]);
}

describe("RFC 8693 §2.2 successful exchange", () => {
  it("§2.2.1: contains the issued type; sub, user and grant are the subject's", async () => {
    const body = await exchanged({ audience: payments });
    expect(body).toMatchObject({
      issued_token_type: accessTokenType,
      token_type: "Bearer",
      scope: "openid profile read",
    });
    const before = claimsOf(subject);
    const after = claimsOf(body["access_token"]!);
    expect(after).toMatchObject({
      sub: "alice",
      client_id: "service",
      aud: payments,
      username: "alice",
    });
    expect(String(after["jti"]).split(".")[0]).toBe(String(before["jti"]).split(".")[0]);
    expect(after["act"]).toBeUndefined();
  });

  it("RFC 9068 §2.2.3.1: the user claims of a token are narrowed with its scope, and a pairwise client gets no username", async () => {
    const scopes = ["openid", "profile", "roles", "read"];
    const source = await seedApplication(fixtures, "source", {
      scope: scopes.join(" "),
      jwt_bearer: { subjects: ["alice"], scopes },
    });
    const token_exchange = {
      subject_clients: ["source"],
      audiences: [payments],
      resources: [],
      scopes: ["*"],
      modes: ["impersonation" as const],
    };
    const plain = await seedService("plain", { token_exchange });
    const pairwise = await seedService("pairwise", { token_exchange, subject_type: "pairwise" });
    const token = await fixtures.userToken(source);
    const of = async (client: SeededClient, scope: string) =>
      claimsOf((await exchanged({ audience: payments, scope }, token, client))["access_token"]!);
    expect(await of(plain, "profile roles read")).toMatchObject({ username: "alice", roles: ["editor"] });
    const narrow = await of(plain, "read");
    for (const name of ["username", "roles", "sid"]) expect(narrow).not.toHaveProperty(name);
    const sector = await of(pairwise, "profile roles read");
    expect(sector).toMatchObject({ roles: ["editor"] });
    expect(JSON.stringify(sector)).not.toContain('"alice"');
  });

  it("§4.1: with an actor token the actor is in act, and the newest is outermost", async () => {
    const other = await seedService("other", {
      token_exchange: {
        subject_clients: ["service"],
        audiences: [orders],
        resources: [],
        scopes: ["read"],
        modes: ["delegation"],
      },
    });
    const first = await exchanged({ audience: payments, ...delegated(await fixtures.clientToken(service)) });
    expect(claimsOf(first["access_token"]!)["act"]).toEqual({ sub: "service", client_id: "service" });
    const second = await exchanged(
      { audience: orders, ...delegated(await fixtures.clientToken(other)) },
      first["access_token"],
      other,
    );
    expect(claimsOf(second["access_token"]!)["act"]).toEqual({
      sub: "other",
      client_id: "other",
      act: { sub: "service", client_id: "service" },
    });
  });

  it("§2.1: repeated audience and resource all count", async () => {
    const body = await exchanged({ audience: [payments, orders], resource });
    expect(claimsOf(body["access_token"]!)).toMatchObject({ aud: [payments, orders, resource], resource: [resource] });
  });

  it("never outlives the subject token", async () => {
    const brief = await seedApplication(fixtures, "brief", { access_token_lifetime: 20 });
    const keeper = await seedService("keeper", {
      token_exchange: {
        subject_clients: ["brief"],
        audiences: [payments],
        resources: [],
        scopes: ["*"],
        modes: ["impersonation"],
      },
    });
    const token = await fixtures.userToken(brief);
    const body = await exchanged({ audience: payments }, token, keeper);
    expect(claimsOf(body["access_token"]!)["exp"]).toBe(claimsOf(token)["exp"]);
  });

  it("scope is the intersection of the requested, the subject token's and the allowed scope", async () => {
    expect((await exchanged({ audience: payments, scope: "read email" }))["scope"]).toBe("read");
  });

  it("requested_token_type jwt is returned as jwt", async () => {
    const type = "urn:ietf:params:oauth:token-type:jwt";
    expect((await exchanged({ audience: payments, requested_token_type: type }))["issued_token_type"]).toBe(type);
  });
});

describe("RFC 8693 §2.2.2 refused exchange", () => {
  it("default deny: no policy, a foreign subject client, an unnamed mode", async () => {
    const without = await seedService("without", { token_exchange: undefined });
    expect(await errorOf(await fixtures.exchange(without, subject))).toBe("400 unauthorized_client");

    const foreign = await seedApplication(fixtures, "foreign");
    const foreignToken = await fixtures.userToken(foreign);
    expect(await errorOf(await fixtures.exchange(service, foreignToken, { audience: payments }))).toBe(
      "400 invalid_request",
    );

    const policy = {
      subject_clients: ["app"],
      audiences: [payments],
      resources: [],
      scopes: ["*"],
      modes: ["delegation" as const],
    };
    const delegator = await seedService("delegator", { token_exchange: policy });
    expect(await errorOf(await fixtures.exchange(delegator, subject, { audience: payments }))).toBe(
      "400 unauthorized_client",
    );
  });

  it.each([
    ["an unknown audience", { audience: "https://api.example.com/admin" }],
    ["an unknown audience beside a known one", { audience: [payments, "https://evil.example.com"] }],
    ["an unknown resource", { resource: "https://evil.example.com/" }],
    ["a resource with a fragment", { resource: "https://resource.example.com/api/v1#x" }],
  ])("%s is invalid_target", async (_, fields) => {
    expect(await errorOf(await fixtures.exchange(service, subject, fields))).toBe("400 invalid_target");
  });

  it("an empty intersection is invalid_scope, never a default", async () => {
    for (const scope of ["email", "admin"]) {
      expect(await errorOf(await fixtures.exchange(service, subject, { audience: payments, scope }))).toBe(
        "400 invalid_scope",
      );
    }
  });

  it("actor_token and its type belong together; types must be supported", async () => {
    const actor = await fixtures.clientToken(service);
    const type = "urn:ietf:params:oauth:token-type:saml2";
    for (const fields of [
      { actor_token: actor },
      { actor_token_type: accessTokenType },
      { subject_token_type: type },
      { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" },
    ]) {
      expect(await errorOf(await fixtures.exchange(service, subject, fields))).toBe("400 invalid_request");
    }
    const fields = { grant_type: exchangeGrant, subject_token_type: accessTokenType };
    expect(await errorOf(await fixtures.post(fields, service))).toBe("400 invalid_request");
  });

  it.each(["", ".", "x"])("a forged, truncated or extended subject token is refused alike: %s", async (suffix) => {
    const token = suffix === "" ? subject.slice(0, -1) : `${subject}${suffix}`;
    expect(await errorOf(await fixtures.exchange(service, token, { audience: payments }))).toBe("400 invalid_request");
  });

  it("§4.4: if may_act names a party, no other may act", async () => {
    const named = await fixtures.userToken(app, {}, { may_act: { sub: "service" } });
    expect(
      (await exchanged({ audience: payments, ...delegated(await fixtures.clientToken(service)) }, named))["scope"],
    ).toBeDefined();
    const other = await fixtures.userToken(app, {}, { may_act: { sub: "somebody" } });
    const actor = delegated(await fixtures.clientToken(service));
    expect(await errorOf(await fixtures.exchange(service, other, { audience: payments, ...actor }))).toBe(
      "400 invalid_request",
    );
    expect(await errorOf(await fixtures.exchange(service, other, { audience: payments }))).toBe("400 invalid_request");
  });

  it("an actor that the policy does not name, and one that is itself delegated, is refused", async () => {
    const stranger = await seedService("stranger");
    const fields = { audience: payments, ...delegated(await fixtures.clientToken(stranger)) };
    expect(await errorOf(await fixtures.exchange(service, subject, fields))).toBe("400 invalid_request");
  });

  it("a fifth exchange in a row is refused", async () => {
    const loop = await seedService("loop", {
      token_exchange: {
        subject_clients: ["app", "loop"],
        audiences: [payments],
        resources: [],
        scopes: ["*"],
        modes: ["impersonation"],
      },
    });
    let token = subject;
    for (let depth = 1; depth <= 4; depth += 1)
      token = (await exchanged({ audience: payments }, token, loop))["access_token"]!;
    expect(await errorOf(await fixtures.exchange(loop, token, { audience: payments }))).toBe("400 invalid_request");
  });

  it("a revoked subject, ancestor or actor is refused", async () => {
    const loop = await seedService("loop", {
      token_exchange: {
        subject_clients: ["app", "loop"],
        audiences: [payments],
        resources: [],
        scopes: ["*"],
        modes: ["impersonation"],
      },
    });
    const child = (await exchanged({ audience: payments }, subject, loop))["access_token"]!;
    const actor = await fixtures.clientToken(service);
    await Promise.all([revoke(subject), revoke(actor)]);
    expect(await errorOf(await fixtures.exchange(service, subject, { audience: payments }))).toBe(
      "400 invalid_request",
    );
    expect(await errorOf(await fixtures.exchange(loop, child, { audience: payments }))).toBe("400 invalid_request");
    const live = await fixtures.userToken(app);
    const fields = { audience: payments, ...delegated(actor) };
    expect(await errorOf(await fixtures.exchange(service, live, fields))).toBe("400 invalid_request");
  });

  it.each(["subject", "actor"])("an exchange that is remembered is refused once its %s is revoked", async (party) => {
    const actor = await fixtures.clientToken(service);
    const types = { grant_type: exchangeGrant, subject_token_type: accessTokenType };
    const fields = { ...types, subject_token: subject, audience: payments, ...delegated(actor) };
    // As servers receive it: only a body of known length is compared with those before.
    const length = { "content-length": `${new URLSearchParams(fields).toString().length}` };
    const exchange = () => postForm(fixtures.app, tokenEnv, "/token", fields, service, length);
    // The first of equal requests is not remembered.
    for (let request = 1; request <= 3; request += 1) expect((await exchange()).status).toBe(200);
    expect(fixtures.isolate.decisions.heldBytes).toBeGreaterThan(0);
    await revoke(party === "actor" ? actor : subject);
    expect(await errorOf(await exchange())).toBe("400 invalid_request");
  });
});
