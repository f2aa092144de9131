import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Application, applicationMetadata, redirectUri } from "./fixtures/application.ts";
import { grantTypes, type TestClient } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** RFC 6749 §5.2: an error names the invalid scope, target, parameter or method, and nothing about secrets. */
const grant = { grant_type: "client_credentials" } as const;
let service: TestClient;

beforeAll(async () => {
  service = await fixtures.client();
});

function described({ status, body, headers }: ApiResponse) {
  expect(headers.get("request-id"), "every error has the id of its log entry").toMatch(/^[0-9a-f-]{36}$/);
  return [status, body["error"], body["error_description"]];
}

describe("RFC 6749 §5.2: error_description", () => {
  test("names the scope", async () => {
    expect(described(await fixtures.token(service, { ...grant, scope: "read delete" }))).toEqual([
      400,
      "invalid_scope",
      "The client is not registered for the scope delete.",
    ]);
  });

  test.each([
    ["audience", "https://elsewhere.example"],
    ["resource", "https://elsewhere.example/api"],
  ])("names the %s", async (parameter, value) => {
    expect(described(await fixtures.token(service, { ...grant, [parameter]: value }))).toEqual([
      400,
      "invalid_target",
      `The ${parameter} ${value} is not allowed for this client.`,
    ]);
  });

  test("names the missing or repeated parameter", async () => {
    const repeated = new URLSearchParams([...Object.entries(grant), ["scope", "read"], ["scope", "write"]]);
    expect(described(await fixtures.token(service, repeated))[2]).toBe(
      "The parameter scope is repeated; it may appear only once.",
    );
    expect(described(await fixtures.token(service, {}))[2]).toBe("The parameter grant_type is missing.");
  });

  test("names the grant type", async () => {
    const refused = await fixtures.token(service, { grant_type: grantTypes.tokenExchange });
    expect(described(refused)).toEqual([
      400,
      "unauthorized_client",
      `The client is not registered for the grant type ${grantTypes.tokenExchange}.`,
    ]);
    expect(described(await fixtures.token(service, { grant_type: "password" }))[2]).toBe(
      "The grant type password is not supported.",
    );
  });

  test("names the authentication method of a public client only", async () => {
    const { client_id: clientId, client_secret: secret } = service;
    const post = (client_secret: string, client_id = clientId) =>
      postForm(`${provider.origin}/token`, { ...grant, client_id, client_secret });
    const open = await fixtures.client({
      ...applicationMetadata(),
      require_pkce: true,
      token_endpoint_auth_method: "none",
    });
    expect(described(await post("any", open.client_id))).toEqual([
      401,
      "invalid_client",
      "The client is registered for none, not for client_secret_post.",
    ]);
    await fixtures.admin.require("PATCH", `/clients/${open.client_id}`, { status: "disabled" });
    const generic = [401, "invalid_client", "Client authentication failed."];
    expect(described(await post("any", open.client_id))).toEqual(generic);
    expect(described(await post("a wrong secret"))).toEqual(generic);
    expect(described(await post(secret, "no-such-client"))).toEqual(generic);
    const keyed = await fixtures.asserter({ token_endpoint_auth_method: "private_key_jwt" });
    expect(described(await post("any", keyed.client_id))).toEqual(generic);
  });

  test("RFC 7636 §4.6: names code_verifier where it is missing or malformed", async () => {
    const application = await Application.register(fixtures);
    const browser = (await registerPerson(fixtures)).browser();
    const challenge = { code_challenge: "a".repeat(43), code_challenge_method: "S256" };
    const { url } = await browser.visit(application.authorizationUrl(challenge));
    const form = { grant_type: "authorization_code", code: url.searchParams.get("code")!, redirect_uri: redirectUri };
    expect(described(await fixtures.token(application.client, form))).toEqual([
      400,
      "invalid_grant",
      "code_verifier is missing.",
    ]);
    const malformed = await fixtures.token(application.client, { ...form, code_verifier: "short" });
    expect(described(malformed)[2]).toMatch(/^code_verifier is malformed: it has 43 to 128/);
    const { client_id } = await fixtures.client(
      applicationMetadata({ token_endpoint_auth_method: "none", require_pkce: true }),
    );
    expect(described(await postForm(`${provider.origin}/token`, { ...form, client_id }))[2]).toBe(
      "code_verifier is missing.",
    );
  });

  test("repeats no character that an error must not contain", async () => {
    const { body } = await fixtures.token(service, { ...grant, audience: 'https://x.example/"\\<script>é' });
    expect(body["error_description"]).toBe(
      "The audience (a value that cannot be shown) is not allowed for this client.",
    );
  });

  test("reaches the client of an authorization request too", async () => {
    const application = await Application.register(fixtures);
    const browser = (await registerPerson(fixtures)).browser();
    const sent = async (parameters: Record<string, string>) =>
      (await browser.visit(application.authorizationUrl(parameters))).url.searchParams.get("error_description");
    expect(await sent({ scope: "admin:everything" })).toBe(
      "The client is not registered for the scope admin:everything.",
    );
    expect(await sent({ scope: "unknown" })).toBe("The client is not registered for any of: unknown.");
    expect(await sent({ resource: "https://elsewhere.example" })).toBe(
      "The resource https://elsewhere.example is not allowed for this client.",
    );
  });
});
