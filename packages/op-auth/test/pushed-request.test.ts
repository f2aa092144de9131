import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { Form } from "@edge-op/shared/http/read-form";
import { SignJWT } from "jose";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { type ClientKey, generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import { openParameters, storeParameters } from "../src/authorization/stored-parameters.ts";
import {
  type AuthorizationParameters,
  authEnv,
  authorizationQuery,
  codeClient,
  contextOf,
  locationOf,
  origin,
  redirectUri,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

useAnnouncedSetUp();

let key: ClientKey;

const { fixtures, browser } = useDeployment();

beforeEach(async () => {
  key = await generateClientKey();
  await seedClient(authEnv, "signer", { ...codeClient, skip_consent: true, jwks: { keys: [key.publicJwk] } });
  await browser.signInWhole();
});

function push(parameters: AuthorizationParameters = {}, basic: typeof fixtures.client | undefined = fixtures.client) {
  return postForm(fixtures.app, authEnv, "/par", Object.fromEntries(authorizationQuery(parameters)), basic);
}

async function pushed(parameters: AuthorizationParameters = {}): Promise<string> {
  const response = await push(parameters);
  expect(response.status, await response.clone().text()).toBe(201);
  return (await response.json<{ request_uri: string }>()).request_uri;
}

/** A request that contains only the reference. */
function byReference(requestUri: string, clientId = "app"): Promise<Response> {
  return browser.get(`/authorize?${new URLSearchParams({ client_id: clientId, request_uri: requestUri })}`);
}

describe("pushed authorization requests", () => {
  it("RFC 9126 §2.2: a request is pushed, and its reference used once", async () => {
    const response = await push();
    expect(response.status).toBe(201);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { request_uri: requestUri, expires_in: expiresIn } = await response.json<Record<string, string>>();
    expect(requestUri).toMatch(/^urn:ietf:params:oauth:request_uri:ch\.g1\./);
    expect(expiresIn).toBe(90);
    expect(sentToClient(await byReference(requestUri!))).toMatchObject({
      code: expect.any(String),
      state: "the-state",
    });
    const again = await byReference(requestUri!);
    expect(again.status).toBe(400);
    expect(again.headers.get("location")).toBeNull();
  });

  it("RFC 6749 §3.3: of a scope that the client may not have, nothing is stored; of a form that another site posted neither", async () => {
    const context = contextOf();
    const stored = async (requestUri: string) => {
      const id = requestUri.split(":").at(-1)!;
      const opened = await openParameters(context, fixtures.isolate, "authorization-request", id);
      return opened?.parameters.all("scope");
    };
    const parameters = { scope: "openid nobody-defined-this" };
    expect(await stored(await pushed(parameters))).toEqual(["openid"]);
    const posted = await postForm(
      fixtures.app,
      authEnv,
      "/authorize",
      Object.fromEntries(authorizationQuery(parameters)),
    );
    const reference = new URL(locationOf(posted), origin).searchParams.get("request_uri");
    expect(await stored(reference!)).toEqual(["openid"]);
  });

  it("RFC 9126 §4: opened again before it is completed, a reference works; only one of the authorizations that it started is completed", async () => {
    const person = fixtures.browser();
    const query = new URLSearchParams({ client_id: "app", request_uri: await pushed() });
    const first = locationOf(await person.get(`/authorize?${query}`));
    const reloaded = locationOf(await person.get(`/authorize?${query}`));
    expect(sentToClient(await person.signIn(reloaded)).code).toBeDefined();
    const late = await (await person.get(first)).text();
    const restart = /href="(\/flow\/restart[^"]+)"/.exec(late)![1]!;
    const again = await person.get(restart);
    expect(again.status).toBe(400);
    expect(again.headers.get("location")).toBeNull();
    expect((await person.get(`/authorize?${query}`)).status).toBe(400);
  });

  it.each([
    ["prompt=none", { prompt: "none" }],
    ["cancelling", {}],
  ])("RFC 9126 §4: an error response also spends the reference (%s)", async (_, parameters) => {
    const person = fixtures.browser();
    const query = new URLSearchParams({ client_id: "app", request_uri: await pushed(parameters) });
    const response = await person.get(`/authorize?${query}`);
    const location = locationOf(response);
    const answer = location.startsWith("/") ? await person.submit(location, { cancel: "1" }) : response;
    expect(sentToClient(answer).error).toBeDefined();
    expect((await person.get(`/authorize?${query}`)).status).toBe(400);
  });

  it("RFC 9126 §2.2: a reference cannot be opened after its lifetime, but a request opened in time can be completed", async () => {
    const person = fixtures.browser();
    const query = new URLSearchParams({ client_id: "app", request_uri: await pushed() });
    const page = locationOf(await person.get(`/authorize?${query}`));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 91_000 });
    try {
      expect((await person.get(`/authorize?${query}`)).status).toBe(400);
      expect(sentToClient(await person.signIn(page)).code).toBeDefined();
    } finally {
      vi.useRealTimers();
    }
  });

  it("a stored flow, a passkey ceremony or a logout is not a request_uri, and none of them is a page", async () => {
    const context = contextOf();
    const parameters = new Form(new Map([["client_id", ["app"]]]));
    const logoutForm = { parameters, pushedBy: undefined };
    const lifetime = { openMs: 60_000 };
    const logout = await storeParameters(
      context,
      fixtures.isolate,
      "logout-request",
      ["client_id"],
      logoutForm,
      lifetime,
    );
    const flow = await fixtures.isolate.challenges.put(context, "flow", "sealed", Date.now() + 60_000);
    const html = await (await browser.get("/account/security")).text();
    const ids = [logout, flow, /name="ceremony" value="([^"]+)"/.exec(html)![1]!];
    const request = (await pushed()).replace("urn:ietf:params:oauth:request_uri:", "");
    for (const id of ids) {
      expect((await byReference(`urn:ietf:params:oauth:request_uri:${id}`)).status).toBe(400);
    }
    for (const id of [ids[0]!, ids[2]!, request]) {
      for (const page of ["sign-in", "consent", "select-account"]) {
        expect((await browser.get(`/flow/${page}?f=${id}`)).status).toBe(400);
      }
    }
    for (const id of [ids[1]!, ids[2]!, request]) {
      // It names no request: the person may sign out, and nobody is redirected.
      const page = await browser.get(`/logout?request=${id}`);
      expect([page.status, (await page.text()).includes('name="request"')]).toEqual([200, false]);
    }
    expect(sentToClient(await byReference(`urn:ietf:params:oauth:request_uri:${request}`)).code).toBeDefined();
  });

  it("RFC 9126 §2: parameters next to the reference do not count", async () => {
    const requestUri = await pushed();
    const query = authorizationQuery({
      request_uri: requestUri,
      state: "another",
      redirect_uri: "https://evil.example/",
    });
    expect(sentToClient(await browser.get(`/authorize?${query}`)).state).toBe("the-state");
  });

  it("RFC 9126 §2.1: only the client itself may push, and use its pushed request", async () => {
    await seedClient(authEnv, "other", codeClient);
    expect((await push({}, { clientId: "app", clientSecret: "wrong" })).status).toBe(401);
    expect((await push({ client_id: "other" })).status).toBe(401);
    expect((await byReference(await pushed(), "other")).status).toBe(400);
  });

  it.each<[string, AuthorizationParameters, string]>([
    ["a request_uri within", { request_uri: "urn:x" }, "invalid_request"],
    ["a redirect_uri that is not registered", { redirect_uri: "https://evil.example/" }, "invalid_request"],
    [
      "a missing code_challenge",
      { code_challenge: undefined, code_challenge_method: undefined, nonce: undefined },
      "invalid_request",
    ],
    ["an unknown response_type", { response_type: "token" }, "unsupported_response_type"],
    ["scope that is not registered", { scope: "other" }, "invalid_scope"],
  ])("RFC 9126 §2.3: %s is refused at the push", async (_, parameters, error) => {
    const response = await push(parameters);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error });
  });

  it("RFC 9126 §4: the request survives the sign-in that it requires", async () => {
    const other = fixtures.browser();
    const query = new URLSearchParams({ client_id: "app", request_uri: await pushed() });
    const page = (await other.get(`/authorize?${query}`)).headers.get("location")!;
    expect(sentToClient(await other.signIn(page)).code).toBeDefined();
  });

  it("RFC 9126 §6: a client that must push is otherwise refused", async () => {
    await seedClient(authEnv, "pusher", { ...codeClient, require_pushed_authorization_requests: true });
    expect(sentToClient(await browser.authorize({ client_id: "pusher" })).error).toBe("invalid_request");
    const pusher = { clientId: "pusher", clientSecret: "secret-of-pusher" };
    const response = await push({ client_id: "pusher" }, pusher);
    const { request_uri: requestUri } = await response.json<{ request_uri: string }>();
    expect((await byReference(requestUri, "pusher")).status).toBe(303);
  });

  it("RFC 9126 §2: a client that authenticates by assertion pushes too", async () => {
    await seedClient(authEnv, "asserter", {
      ...codeClient,
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [key.publicJwk] },
    });
    const fields = {
      ...Object.fromEntries(authorizationQuery({ client_id: "asserter" })),
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: await signAssertion(key, "asserter"),
    };
    expect((await postForm(fixtures.app, authEnv, "/par", fields)).status).toBe(201);
    expect((await postForm(fixtures.app, authEnv, "/par", fields)).status).toBe(401);
  });

  it("costs 1 object call, 0 KV, 0 D1", async () => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const counted = countCalls(authEnv, counts);
    const fields = Object.fromEntries(authorizationQuery());
    for (let warmUp = 0; warmUp < 3; warmUp += 1)
      await postForm(fixtures.app, counted, "/par", fields, fixtures.client);
    Object.assign(counts, { object: 0, kv: 0, d1: 0 });
    expect((await postForm(fixtures.app, counted, "/par", fields, fixtures.client)).status).toBe(201);
    expect(counts).toEqual({ object: 1, kv: 0, d1: 0 });
  });
});

describe("request objects", () => {
  /** The claims of a valid request object, with changes. */
  async function sign(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> {
    const all = {
      ...Object.fromEntries(authorizationQuery({ client_id: "signer", prompt: "none" })),
      iss: "signer",
      aud: "https://op.example.com",
      ...claims,
    };
    return new SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader({ alg: "ES256", kid: "client-key", typ: "oauth-authz-req+jwt", ...header })
      .setExpirationTime("1m")
      .sign(key.privateKey);
  }

  const ask = async (request: string, beside: Record<string, string> = {}) =>
    browser.get(
      `/authorize?${new URLSearchParams({ client_id: "signer", redirect_uri: redirectUri, request, ...beside })}`,
    );

  it("RFC 9101 §5: its parameters are the request; those outside it do not count", async () => {
    const answer = sentToClient(await ask(await sign(), { state: "beside", scope: "openid email", max_age: "0" }));
    expect(answer).toMatchObject({ code: expect.any(String), state: "the-state" });
  });

  it("RFC 9101 §4: numbers and objects have their JSON types", async () => {
    const claims = { max_age: 3600, claims: { userinfo: { email: null } }, scope: "openid" };
    expect(sentToClient(await ask(await sign(claims))).code).toBeDefined();
    expect(sentToClient(await ask(await sign({ max_age: "x" }))).error).toBe("invalid_request");
    expect(sentToClient(await ask(await sign({ state: 7 }))).error).toBe("invalid_request_object");
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["another client's client_id", { client_id: "app" }, {}],
    ["another issuer", { iss: "app" }, {}],
    ["another audience", { aud: "https://other.example.com" }, {}],
    ["its time over", { exp: 1_000_000 }, {}],
    ["a request within", { request: "x" }, {}],
    ["the client as subject, like an assertion", { sub: "signer" }, {}],
    ["another type", {}, { typ: "at+jwt" }],
  ])("RFC 9101 §6.1: an object with %s is refused", async (_, claims, header) => {
    const token =
      "exp" in claims
        ? await new SignJWT({ client_id: "signer", ...claims })
            .setProtectedHeader({ alg: "ES256", kid: "client-key" })
            .sign(key.privateKey)
        : await sign(claims, header);
    expect(sentToClient(await ask(token)).error).toBe("invalid_request_object");
  });

  it("RFC 8725 §3.1: an unsigned object, or one signed by another key, is refused", async () => {
    const [header, payload] = (await sign()).split(".");
    const none = btoa('{"alg":"none"}').replace(/=+$/, "");
    expect(sentToClient(await ask(`${none}.${payload}.`)).error).toBe("invalid_request_object");
    const own = key;
    key = await generateClientKey();
    const foreign = await sign();
    key = own;
    expect(sentToClient(await ask(foreign)).error).toBe("invalid_request_object");
    expect(sentToClient(await ask(`${header}.${payload}.AAAA`)).error).toBe("invalid_request_object");
  });

  it("RFC 9101 §6: an invalid object without a redirect_uri parameter causes no redirect", async () => {
    const response = await browser.get("/authorize?client_id=signer&request=a.b.c");
    expect(response.status).toBe(400);
  });

  describe("lifetime (FAPI 2.0 Message Signing §5.3.1)", () => {
    const now = () => Math.floor(Date.now() / 1000);
    const strict = { require_signed_request_object: true, request_object_signing_alg: "ES256" } as const;

    /** The request object has no `exp` unless the claims contain it. */
    async function askAs(metadata: Partial<ClientMetadata>, times: Record<string, unknown>) {
      const clientId = `client-${crypto.randomUUID()}`;
      const jwks = { keys: [key.publicJwk] };
      await seedClient(authEnv, clientId, { ...codeClient, skip_consent: true, jwks, ...metadata });
      const parameters = Object.fromEntries(authorizationQuery({ client_id: clientId, prompt: "none" }));
      const request = await new SignJWT({ ...parameters, aud: "https://op.example.com", ...times })
        .setProtectedHeader({ alg: "ES256", kid: "client-key", typ: "oauth-authz-req+jwt" })
        .sign(key.privateKey);
      const query = new URLSearchParams({ client_id: clientId, redirect_uri: redirectUri, request });
      return sentToClient(await browser.get(`/authorize?${query}`));
    }

    it.each<[string, Partial<ClientMetadata>, () => Record<string, unknown>]>([
      ["exp two hours ahead", {}, () => ({ exp: now() + 7200 })],
      ["nbf two hours ago", {}, () => ({ nbf: now() - 7200, exp: now() + 60 })],
      ["iat two hours ago", {}, () => ({ iat: now() - 7200 })],
      ["exp over an hour after nbf", {}, () => ({ nbf: now() - 1800, exp: now() + 3000 })],
      ["a malformed nbf", {}, () => ({ nbf: "now", exp: now() + 60 })],
      ["no nbf from a strict client", strict, () => ({ exp: now() + 60 })],
      ["no exp from a strict client", strict, () => ({ nbf: now() })],
      ["no time from a client that must sign", { require_signed_request_object: true }, () => ({})],
    ])("an object with %s is refused", async (_, metadata, times) => {
      expect((await askAs(metadata, times())).error).toBe("invalid_request_object");
    });

    it.each<[string, Partial<ClientMetadata>, () => Record<string, unknown>]>([
      ["nbf and exp an hour apart", strict, () => ({ nbf: now() - 60, exp: now() + 3540 })],
      ["exp alone", { require_signed_request_object: true }, () => ({ exp: now() + 3600 })],
      ["no time, from a client that may leave the signature out", {}, () => ({})],
    ])("an object with %s is accepted", async (_, metadata, times) => {
      expect((await askAs(metadata, times())).code).toBeDefined();
    });
  });

  it("RFC 9101 §10.5: a client that must sign its requests is otherwise refused", async () => {
    await seedClient(authEnv, "strict", { ...codeClient, require_signed_request_object: true });
    expect(sentToClient(await browser.authorize({ client_id: "strict" })).error).toBe("invalid_request");
  });
});

describe("OAuth 2.1 §7.5.2: a confidential client that sends a nonce for its ID token may omit PKCE", () => {
  const free = { code_challenge: undefined, code_challenge_method: undefined };
  const signed = async (claims: Record<string, unknown>) => {
    const all = { ...Object.fromEntries(authorizationQuery({ client_id: "signer", prompt: "none" })), ...claims };
    const request = await new SignJWT(
      JSON.parse(JSON.stringify({ ...all, iss: "signer", aud: "https://op.example.com" })),
    )
      .setProtectedHeader({ alg: "ES256", kid: "client-key" })
      .setExpirationTime("1m")
      .sign(key.privateKey);
    // The nonce outside the request object does not count.
    const beside = { client_id: "signer", redirect_uri: redirectUri, nonce: "n" };
    return sentToClient(await browser.get(`/authorize?${new URLSearchParams({ ...beside, request })}`));
  };

  it.each<
    [string, (without: AuthorizationParameters) => Promise<{ readonly code?: unknown; readonly error?: unknown }>]
  >([
    ["/authorize", async (more) => sentToClient(await browser.authorize({ ...free, ...more }))],
    [
      "/par",
      async (more) => {
        const response = await push({ ...free, ...more });
        const body = await response.json<{ request_uri?: string; error?: string }>();
        return body.request_uri === undefined ? body : sentToClient(await byReference(body.request_uri));
      },
    ],
    ["a request object", (more) => signed({ ...free, ...more })],
  ])("at %s", async (_, ask) => {
    expect((await ask({})).code).toBeDefined();
    expect((await ask({ nonce: undefined })).error).toBe("invalid_request");
    // The application is registered for the scope openid; the request does not have it.
    expect((await ask({ scope: "profile" })).error).toBe("invalid_request");
    expect((await ask({ code_challenge_method: "S256" })).error).toBe("invalid_request");
  });
});
