/** **Tokens with a key that is not in the schedule**, wherever a token of this provider is verified (protocols.md §4). */

import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { demoApplications } from "../../examples/application/src/demo.ts";
import { Application, redirectUri } from "./fixtures/application.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import {
  grantTypes,
  type KeyedClient,
  ProviderFixtures,
  type TestClient,
  withKid,
} from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

let provider: FaultyProvider;
let asserter: KeyedClient;
let resourceServer: TestClient;
let exchanger: TestClient;
let application: Application;
let token: string;
let idToken: string;

beforeAll(async () => {
  provider = await startFaultyProvider({
    shape: inject("shape"),
    // Each request calls a shard, so that a fault shows at once.
    vars: { REVOCATION_MODE: "direct", CLIENT_REGISTRATION: "token" },
    applications: { api: demoApplications.api },
  });
  const fixtures = new ProviderFixtures(provider);
  asserter = await fixtures.asserter();
  resourceServer = await fixtures.resourceServer();
  exchanger = await fixtures.exchanger();
  token = await fixtures.userToken(asserter, await fixtures.user());
  application = await Application.register(fixtures);
  ({ idToken } = await application.signIn((await registerPerson(fixtures)).browser()));
});

afterEach(() => provider.setFaults([]));
afterAll(() => provider.stop());

describe("K6: a token of this provider's issuer whose kid is not in the schedule", () => {
  const bearer = (path: string, method = "GET") =>
    fetch(`${provider.origin}${path}`, { method, headers: { authorization: `Bearer ${withKid(token, "unknown")}` } });
  const exchange = async (fields: Record<string, string>) =>
    fetch(`${provider.origin}/token`, {
      method: "POST",
      headers: { authorization: exchanger.authorization },
      body: new URLSearchParams({ grant_type: grantTypes.tokenExchange, scope: "read", ...fields }),
    });
  const form = (path: string, client: TestClient) =>
    fetch(`${provider.origin}${path}`, {
      method: "POST",
      headers: { authorization: client.authorization },
      body: new URLSearchParams({ token: withKid(token, "unknown") }),
    });
  const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
  const idTokenType = "urn:ietf:params:oauth:token-type:id_token";
  const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

  /** Every place that verifies a token of this provider. */
  const places: Readonly<Record<string, { readonly send: () => Promise<Response>; readonly status: number }>> = {
    "POST /introspect": { send: () => form("/introspect", resourceServer), status: 200 },
    "POST /revoke": { send: () => form("/revoke", asserter), status: 200 },
    "GET /userinfo": { send: () => bearer("/userinfo"), status: 401 },
    "/admin": { send: () => bearer("/admin/keys"), status: 401 },
    "/register": { send: () => bearer("/register", "POST"), status: 401 },
    "a resource server's binding": {
      send: () =>
        fetch(new URL("notes", provider.resources["api"]), {
          headers: { authorization: `Bearer ${withKid(token, "unknown")}` },
        }),
      status: 401,
    },
    "subject_token, an access token": {
      send: () => exchange({ subject_token: withKid(token, "unknown"), subject_token_type: accessTokenType }),
      status: 400,
    },
    "subject_token, an ID token": {
      send: () => exchange({ subject_token: withKid(idToken, "unknown"), subject_token_type: idTokenType }),
      status: 400,
    },
    "subject_token of an ID-JAG": {
      send: () =>
        exchange({
          requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
          audience: "https://other.example",
          subject_token: withKid(idToken, "unknown"),
          subject_token_type: idTokenType,
        }),
      status: 400,
    },
    actor_token: {
      send: () =>
        exchange({
          ...{ subject_token: token, subject_token_type: accessTokenType },
          ...{ actor_token: withKid(token, "unknown"), actor_token_type: accessTokenType },
        }),
      status: 400,
    },
    "id_token_hint of /authorize": {
      send: () =>
        fetch(
          `${provider.origin}/authorize?${query({
            ...{ client_id: application.client.client_id, response_type: "code", redirect_uri: redirectUri },
            ...{ scope: "openid", id_token_hint: withKid(idToken, "unknown") },
          })}`,
          { redirect: "manual" },
        ),
      status: 303,
    },
    "id_token_hint of /logout": {
      send: () => fetch(`${provider.origin}/logout?${query({ id_token_hint: withKid(idToken, "unknown") })}`),
      status: 200,
    },
  };

  test.each(Object.entries(places))(
    "%s: is unknown without a call of KeyManager, and 503 while no shard confirms that it is",
    async (_, { send, status }) => {
      // A cold isolate reads the schedule.
      await send();
      await provider.setFaults([{ className: "KeyManager", kind: "throw" }]);
      const callsBefore = (await provider.objectCalls())["KeyManager.schedule"];
      const response = await send();
      expect([response.status, await response.text()]).toEqual([status, expect.any(String)]);
      expect((await provider.objectCalls())["KeyManager.schedule"]).toBe(callsBefore);
      await provider.setFaults([{ className: "TokenRevocationStore", kind: "throw" }]);
      expect((await send()).status).toBe(503);
    },
  );
});
