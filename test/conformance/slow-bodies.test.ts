/**
 * **A request is decided as of its last byte**: headers and half of a body are sent, then something is revoked, rotated, suspended or disabled, and
 * the rest of the body is sent after the response to that.
 */

import { beforeAll, describe, expect, test } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Application } from "./fixtures/application.ts";
import type { KeyedClient, TestClient } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";
import { SlowRequest } from "./fixtures/slow-request.ts";

let asserter: KeyedClient;
let resourceServer: TestClient;

beforeAll(async () => {
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
});

/** Repeats a request until its Worker holds a lease, which is then valid when the slow request's headers arrive. */
async function warm(send: () => Promise<unknown>): Promise<void> {
  for (let request = 0; request < 4; request += 1) await send();
}

function beginForm(path: string, form: Readonly<Record<string, string>>, authorization?: string): Promise<SlowRequest> {
  const headers = {
    "Content-Type": "application/x-www-form-urlencoded",
    ...(authorization === undefined ? {} : { Authorization: authorization }),
  };
  return SlowRequest.begin(`${provider.origin}${path}`, headers, new URLSearchParams(form).toString());
}

describe("a request is decided as of its last byte", () => {
  test("RFC 7662 §2.2: a token that is revoked before the introspection's body is complete is inactive", async () => {
    const token = await fixtures.clientToken(asserter);
    await warm(async () => expect(await fixtures.isActive(resourceServer, token)).toBe(true));
    const slow = await beginForm("/introspect", { token }, resourceServer.authorization);
    expect((await fixtures.revoke(asserter, token)).status).toBe(200);
    expect(await slow.finish()).toEqual({ status: 200, body: { active: false } });
  });

  test("RFC 6749 §2.3: an old secret is refused if the rotation returned before the body was complete", async () => {
    const client = await fixtures.client();
    await warm(() => fixtures.clientToken(client));
    const slow = await beginForm("/token", { grant_type: "client_credentials" }, client.authorization);
    const path = `/clients/${client.client_id}/secrets`;
    const { client_secret } = await fixtures.admin.require("POST", path, { overlap_seconds: 0 });
    const { status, body } = await slow.finish();
    expect([status, body["error"]]).toEqual([401, "invalid_client"]);
    const rotated = { client_id: client.client_id, client_secret: String(client_secret) };
    await fixtures.clientToken({ ...rotated, authorization: basicAuthorization(rotated) });
  });

  test("RFC 6749 §6: a suspended user's refresh is refused, and nothing was rotated", async () => {
    const application = await Application.register(fixtures);
    const person = await registerPerson(fixtures, {});
    const scope = "openid offline_access";
    const { refreshToken = "" } = await application.signIn(person.browser(), { scope, prompt: "consent" });
    await warm(() => fixtures.clientToken(asserter));
    const form = { grant_type: "refresh_token", refresh_token: refreshToken };
    const slow = await beginForm("/token", form, application.client.authorization);
    await fixtures.admin.require("PATCH", `/users/${person.sub}`, { status: "suspended" });
    const { status, body } = await slow.finish();
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
  });

  test("OIDC Core §5.3: UserInfo refuses a token in a form if it was revoked before the form was complete", async () => {
    const user = await fixtures.user();
    const token = await fixtures.userToken(asserter, user, { scope: "openid" });
    await warm(async () => expect((await fixtures.userinfo(token)).status).toBe(200));
    const slow = await beginForm("/userinfo", { access_token: token });
    await fixtures.admin.require("PATCH", `/users/${user}`, { status: "suspended" });
    expect((await slow.finish()).status).toBe(401);
  });

  test("RFC 9126 §2.1: a client that is disabled before its pushed request is complete pushes nothing", async () => {
    const { client } = await Application.register(fixtures);
    const form = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: "https://app.example.com/callback",
      scope: "openid",
    };
    await warm(() => postForm(`${provider.origin}/par`, form, { authorization: client.authorization }));
    const slow = await beginForm("/par", form, client.authorization);
    await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
    expect((await slow.finish()).status).toBe(401);
  });

  test("RFC 7009 §2.1: a client that is disabled before its revocation request is complete revokes nothing", async () => {
    const client = await fixtures.client();
    const token = await fixtures.clientToken(client);
    await warm(() => fixtures.isActive(resourceServer, token));
    const slow = await beginForm("/revoke", { token }, client.authorization);
    await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
    expect((await slow.finish()).status).toBe(401);
  });
});

describe("the admin API authorizes a request when its body is complete", () => {
  async function beginCreation(): Promise<{
    readonly admin: TestClient;
    readonly token: string;
    readonly slow: SlowRequest;
  }> {
    const admin = await fixtures.client({ scope: "admin:clients", audiences: [`${provider.issuer}/admin`] });
    const token = await fixtures.clientToken(admin);
    await warm(() => fixtures.isActive(resourceServer, token));
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const body = JSON.stringify({ grant_types: ["client_credentials"], scope: "read" });
    return { admin, token, slow: await SlowRequest.begin(`${provider.origin}/admin/clients`, headers, body) };
  }

  test("RFC 6750 §3.1: a disabled admin client creates nothing", async () => {
    const { admin, slow } = await beginCreation();
    await fixtures.admin.require("PATCH", `/clients/${admin.client_id}`, { status: "disabled" });
    const { status, body } = await slow.finish();
    expect([status, body["error"]]).toEqual([401, "invalid_token"]);
  });

  test("RFC 6750 §3.1: a revoked token creates nothing; a live one does", async () => {
    const revoked = await beginCreation();
    const good = await beginCreation();
    expect((await fixtures.revoke(revoked.admin, revoked.token)).status).toBe(200);
    expect((await revoked.slow.finish()).status).toBe(401);
    expect((await good.slow.finish()).status).toBe(201);
  });

  test("a caller without a token is refused before its body is read", async () => {
    const headers = { "Content-Type": "application/json" };
    const slow = await SlowRequest.begin(`${provider.origin}/admin/clients`, headers, "{}".padEnd(200_000));
    expect((await slow.submit()).status).toBe(401);
  });
});
