import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import {
  type ApiResponse,
  basicAuthorization,
  postForm,
  readResponse,
} from "../../packages/edge-op/src/provider-api.ts";
import { type Page, Person } from "../../packages/edge-op/testing/person.ts";
import { api, grantTypes, tokenTypes } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/**
 * RFC 6749 §3.3: scope values that a client may not have, at every route that takes a scope, for a client that registered itself and for one that an
 * administrator registered.
 */
const deviceCode = "urn:ietf:params:oauth:grant-type:device_code";
const redirect_uri = "https://app.example.com/callback";
const password = "a long enough password";
const tokenUrl = `${provider.origin}/token`;
const { publicKey, privateKey } = await generateKeyPair("ES256");
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] };
const metadata = {
  redirect_uris: [redirect_uri],
  grant_types: [
    ...["authorization_code", "refresh_token", "client_credentials", deviceCode],
    ...[grantTypes.jwtBearer, grantTypes.tokenExchange],
  ],
  scope: "openid offline_access read",
  audiences: [api],
  require_pkce: false,
  jwks,
  jwt_bearer: { subjects: ["*"], scopes: ["*"] },
  token_exchange: {
    subject_clients: ["*"],
    audiences: ["*"],
    resources: ["*"],
    scopes: ["*"],
    modes: ["impersonation"],
  },
};

interface Caller {
  readonly id: string;
  readonly authorization: string;
}
let own: Caller;
let registered: Caller;
let person: Person;
let sub: string;

beforeAll(async () => {
  const username = `person-${randomUUID()}`;
  sub = await fixtures.user({ username, password });
  person = new Person(provider.origin, { username, password });
  const created = await fixtures.client(metadata);
  registered = { id: created.client_id, authorization: created.authorization };
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ redirect_uris: [redirect_uri] });
  const answer = await readResponse(await fetch(`${provider.origin}/register`, { method: "POST", headers, body }));
  const credentials = {
    client_id: String(answer.body["client_id"]),
    client_secret: String(answer.body["client_secret"]),
  };
  own = { id: credentials.client_id, authorization: basicAuthorization(credentials) };
  await fixtures.admin.require("PATCH", `/clients/${own.id}`, metadata);
});

/** `scope` of the token, or the error. */
type Outcome = string;

function outcome({ status, body }: ApiResponse): Outcome {
  return status === 200 ? String(body["scope"]) : String(body["error"]);
}

const token = async ({ authorization }: Caller, form: Readonly<Record<string, string>>) =>
  postForm(tokenUrl, form, { authorization });

async function redeem(caller: Caller, url: URL): Promise<ApiResponse | undefined> {
  const code = url.searchParams.get("code");
  return code === null ? undefined : token(caller, { grant_type: "authorization_code", code, redirect_uri });
}

async function authorize(caller: Caller, parameters: Readonly<Record<string, string>>) {
  const url = new URL(`${provider.issuer}/authorize`);
  url.search = new URLSearchParams({ client_id: caller.id, ...parameters }).toString();
  const { url: arrived } = await person.visit(url);
  return { arrived, response: await redeem(caller, arrived) };
}

const codeRequest = { response_type: "code", redirect_uri, nonce: "n" };

const routes: Readonly<Record<string, (caller: Caller, scope: string) => Promise<Outcome>>> = {
  async "/authorize"(caller, scope) {
    const { arrived, response } = await authorize(caller, { ...codeRequest, scope });
    return response === undefined ? String(arrived.searchParams.get("error")) : outcome(response);
  },
  async "/par"(caller, scope) {
    const pushed = await postForm(
      `${provider.origin}/par`,
      { ...codeRequest, scope },
      { authorization: caller.authorization },
    );
    if (pushed.status !== 201) return String(pushed.body["error"]);
    const { response } = await authorize(caller, { request_uri: String(pushed.body["request_uri"]) });
    return outcome(response!);
  },
  async "/device_authorization"(caller, scope) {
    const codes = await postForm(
      `${provider.origin}/device_authorization`,
      { scope },
      { authorization: caller.authorization },
    );
    if (codes.status !== 200) return String(codes.body["error"]);
    const complete = String(codes.body["verification_uri_complete"]).slice(provider.issuer.length);
    let page = await person.openPage(`${provider.origin}${complete}`);
    if (page.name === "sign-in") page = (await person.submit(page)) as Page;
    await person.submit(page, { device: { decision: "allow" } });
    return outcome(await token(caller, { grant_type: deviceCode, device_code: String(codes.body["device_code"]) }));
  },
  async "/token: refresh_token"(caller, scope) {
    const { response } = await authorize(caller, {
      ...codeRequest,
      scope: "openid offline_access read",
      prompt: "consent",
    });
    const refresh_token = String(response?.body["refresh_token"]);
    return outcome(await token(caller, { grant_type: "refresh_token", refresh_token, scope }));
  },
  async "/token: client_credentials"(caller, scope) {
    return outcome(await token(caller, { grant_type: "client_credentials", scope }));
  },
  async "/token: jwt-bearer"(caller, scope) {
    const claims = { iss: caller.id, sub, aud: provider.issuer, jti: randomUUID() };
    const assertion = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuedAt()
      .setExpirationTime("1m")
      .sign(privateKey);
    return outcome(await token(caller, { grant_type: grantTypes.jwtBearer, assertion, scope }));
  },
  async "/token: token-exchange"(caller, scope) {
    const subject = await token(caller, { grant_type: "client_credentials", scope: "read" });
    const subject_token = String(subject.body["access_token"]);
    const types = { grant_type: grantTypes.tokenExchange, subject_token_type: tokenTypes.accessToken };
    return outcome(await token(caller, { ...types, subject_token, scope }));
  },
};
const names = Object.keys(routes);
/** OIDC Core §3.1.2.1 and RFC 8693 §2.1: these leave out unknown values for every client. */
const narrowing = ["/authorize", "/par", "/device_authorization", "/token: token-exchange"];

describe("RFC 6749 §3.3: a client that registered itself", () => {
  test.each(names)("%s: unknown values are left out, and the response states the scope", async (route) => {
    expect(await routes[route]!(own, "read mcp:tools unknown")).toBe("read");
  });

  test.each(names)("%s: if none is left, invalid_scope", async (route) => {
    expect(await routes[route]!(own, "mcp:tools unknown")).toBe("invalid_scope");
  });

  test.each(names)("%s: an admin scope is never left out", async (route) => {
    expect(await routes[route]!(own, "read admin:clients")).toBe("invalid_scope");
  });
});

describe("RFC 6749 §3.3: a client that an administrator registered", () => {
  test.each(names)("%s: an unknown value", async (route) => {
    const expected = narrowing.includes(route) ? "read" : "invalid_scope";
    expect(await routes[route]!(registered, "read unknown")).toBe(expected);
  });

  test.each(names)("%s: an admin scope is never left out", async (route) => {
    expect(await routes[route]!(registered, "read admin:clients")).toBe("invalid_scope");
  });
});

test("RFC 6749 §6: a refresh that sends the scope of the first request again gets the same token on a retry", async () => {
  const { response } = await authorize(own, { ...codeRequest, scope: "openid offline_access read", prompt: "consent" });
  const form = {
    grant_type: "refresh_token",
    refresh_token: String(response?.body["refresh_token"]),
    scope: "read unknown",
  };
  const [first, again] = [await token(own, form), await token(own, form)];
  expect([outcome(first), outcome(again)]).toEqual(["read", "read"]);
  expect(again.body["refresh_token"]).toBe(first.body["refresh_token"]);
});
