import { request } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { Application } from "./fixtures/application.ts";
import { accessToken, api, claimsOf, grantTypes, type TestClient, tokenTypes } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** DPoP over HTTP, with the proofs of a client and those of an attacker. */
const tokenUrl = `${provider.issuer}/token`;
const userinfoUrl = `${provider.issuer}/userinfo`;
const password = "a long enough password";

let service: TestClient;
let key: DpopKey;
let otherKey: DpopKey;
let sub: string;
let username: string;

beforeAll(async () => {
  [key, otherKey, service] = await Promise.all([DpopKey.generate(), DpopKey.generate(), fixtures.client()]);
  username = `person-${crypto.randomUUID()}`;
  sub = await fixtures.user({ username, password, claims: { email: "dpop@example.com" } });
});

type Fields = Readonly<Record<string, string>>;

function send(path: string, fields: Fields, proof: string | undefined, client?: TestClient): Promise<ApiResponse> {
  return postForm(`${provider.origin}${path}`, fields, {
    ...(client === undefined ? {} : { authorization: client.authorization }),
    ...(proof === undefined ? {} : { DPoP: proof }),
  });
}

const credentials = { grant_type: "client_credentials" } as const;

async function requestToken(proof: string, client = service, fields: Fields = credentials): Promise<ApiResponse> {
  return send("/token", fields, proof, client);
}

/** A user's token that is bound to `key`. */
async function boundUserToken(scope = "openid email"): Promise<string> {
  const asserter = await fixtures.asserter();
  const assertion = await fixtures.assertion(asserter, sub);
  const fields = { grant_type: grantTypes.jwtBearer, assertion, scope };
  return accessToken(await send("/token", fields, await key.proof("POST", tokenUrl), asserter));
}

async function userinfo(token: string, proof?: string, scheme = "DPoP", method = "GET") {
  const headers = { authorization: `${scheme} ${token}`, ...(proof === undefined ? {} : { DPoP: proof }) };
  const response = await fetch(`${provider.origin}/userinfo`, { method, headers });
  return { ...(await readResponse(response)), challenge: response.headers.get("www-authenticate") };
}

async function resourceProof(token: string, claims = {}, by = key, url = userinfoUrl, method = "GET"): Promise<string> {
  return by.proof(method, url, { ath: await accessTokenHash(token), ...claims });
}

describe("RFC 9449 §5: the token endpoint", () => {
  test.each(["ES256", "EdDSA", "PS256", "RS256"])("binds a token to the key of a proof by %s", async (alg) => {
    const proven = await DpopKey.generate(alg);
    const { status, body } = await requestToken(await proven.proof("POST", tokenUrl));
    expect([status, body["token_type"]]).toEqual([200, "DPoP"]);
    expect(claimsOf(String(body["access_token"]))["cnf"]).toEqual({ jkt: proven.thumbprint });
    const { body: introspected } = await fixtures.introspect(service, String(body["access_token"]));
    expect(introspected).toMatchObject({ active: true, token_type: "DPoP", cnf: { jkt: proven.thumbprint } });
  });

  test("§5.1: metadata lists the algorithms", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/openid-configuration`));
    expect(body["dpop_signing_alg_values_supported"]).toEqual(["ES256", "EdDSA", "PS256", "RS256"]);
  });

  test("§5.2: a client with dpop_bound_access_tokens is refused without a proof", async () => {
    const bound = await fixtures.client({ dpop_bound_access_tokens: true });
    const refused = await fixtures.token(bound, credentials);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_dpop_proof"]);
    expect((await requestToken(await key.proof("POST", tokenUrl), bound)).status).toBe(200);
  });

  test("§5: the query of htu, and case and default port of the URI, are ignored", async () => {
    const { host, protocol } = new URL(provider.issuer);
    const spelled = `${protocol.toUpperCase()}//${host.toUpperCase()}/%74oken?x=1#y`;
    expect((await requestToken(await key.proof("POST", spelled))).status).toBe(200);
  });

  const now = () => Math.floor(Date.now() / 1000);
  const forgeries: readonly (readonly [string, () => Promise<string>])[] = [
    [
      "§4.3 item 1: two proofs",
      async () => `${await key.proof("POST", tokenUrl)}, ${await key.proof("POST", tokenUrl)}`,
    ],
    ["§4.3 item 2: no JWT", async () => "not-a-jwt"],
    ["§4.3 item 3: no htm", () => key.proof("POST", tokenUrl, { htm: undefined })],
    ["§4.3 item 3: no htu", () => key.proof("POST", tokenUrl, { htu: undefined })],
    ["§4.3 item 3: an empty jti", () => key.proof("POST", tokenUrl, { jti: "" })],
    ["§4.3 item 3: a jti that is no text", () => key.proof("POST", tokenUrl, { jti: 1 as unknown as string })],
    [
      "§4.3 item 3: an iat that is text",
      () => key.proof("POST", tokenUrl, { iat: String(now()) as unknown as number }),
    ],
    ["§4.3 item 4: another typ", () => key.proof("POST", tokenUrl, {}, { typ: "JWT" })],
    ["§4.3 item 4: no typ", () => key.proof("POST", tokenUrl, {}, { typ: undefined })],
    ["§4.3 item 5: a symmetric algorithm", symmetricProof],
    ["§4.3 item 5: no signature", unsignedProof],
    [
      "§4.3 item 5: an asymmetric algorithm that is not published",
      async () => (await DpopKey.generate("ES384")).proof("POST", tokenUrl),
    ],
    [
      "§4.3 item 6: a key of another type than the algorithm",
      async () => key.proof("POST", tokenUrl, {}, { jwk: (await DpopKey.generate("RS256")).publicJwk }),
    ],
    ["RFC 7515 §4.1.11: a critical extension", criticalProof],
    ["§4.3 item 6: a signature by another key", () => key.proof("POST", tokenUrl, {}, { jwk: otherKey.publicJwk })],
    ["§4.2: no jwk", () => key.proof("POST", tokenUrl, {}, { jwk: undefined })],
    [
      "§4.3 item 7: a private key in the header",
      async () => key.proof("POST", tokenUrl, {}, { jwk: await key.exportPrivate() }),
    ],
    ["§4.3 item 8: another method", () => key.proof("GET", tokenUrl)],
    ["§4.3 item 8: the method in lower case", () => key.proof("post", tokenUrl)],
    ["§4.3 item 9: another endpoint", () => key.proof("POST", userinfoUrl)],
    ["§4.3 item 9: another host", () => key.proof("POST", "https://evil.example/token")],
    [
      "§4.3 item 9: a host in the user information",
      () => key.proof("POST", `https://x@${new URL(tokenUrl).host}/token`),
    ],
    ["§4.3 item 9: a path below", () => key.proof("POST", `${tokenUrl}/`)],
    ["§4.3 item 9: a relative URI", () => key.proof("POST", "/token")],
    ["§4.3 item 9: backslashes", () => key.proof("POST", tokenUrl.replaceAll("/", "\\"))],
    ["§4.3 item 9: white space around the URI", () => key.proof("POST", ` ${tokenUrl} `)],
    ["§4.3 item 9: white space within the URI", () => key.proof("POST", tokenUrl.replace("token", "to\tken"))],
    ["§4.3 item 11: made two minutes ago", () => key.proof("POST", tokenUrl, { iat: now() - 120 })],
    ["§4.3 item 11: made in a minute", () => key.proof("POST", tokenUrl, { iat: now() + 61 })],
    ["§4.2: no iat", () => key.proof("POST", tokenUrl, { iat: undefined as unknown as number })],
    ["§4.2: no jti", () => key.proof("POST", tokenUrl, { jti: undefined as unknown as string })],
    ["§11.1: an endless jti", () => key.proof("POST", tokenUrl, { jti: "x".repeat(257) })],
    ["expired", () => key.proof("POST", tokenUrl, { exp: now() - 60 })],
  ];

  test("§4.3 item 1: two header fields", async () => {
    const proofs = [await key.proof("POST", tokenUrl), await key.proof("POST", tokenUrl)];
    const headers = {
      ...{ authorization: service.authorization },
      "content-type": "application/x-www-form-urlencoded",
    };
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    // fetch joins fields with the same name.
    const sent = request(`${provider.origin}/token`, { method: "POST", headers: { ...headers, DPoP: proofs } });
    sent.once("error", reject).once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.once("end", () => resolve([response.statusCode, (JSON.parse(body) as { error: unknown }).error]));
    });
    sent.end("grant_type=client_credentials");
    expect(await promise).toEqual([400, "invalid_dpop_proof"]);
  });

  test.each(forgeries)("refuses a proof: %s", async (_, make) => {
    const { status, body } = await requestToken(await make());
    expect([status, body["error"]]).toEqual([400, "invalid_dpop_proof"]);
  });

  test("§11.1: a proof is accepted once, for one of many concurrent requests", async () => {
    const proof = await key.proof("POST", tokenUrl);
    const responses = await Promise.all(Array.from({ length: 8 }, () => requestToken(proof)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of responses) if (status !== 200) expect(body["error"]).toBe("invalid_dpop_proof");
    const later = await requestToken(proof);
    expect([later.status, later.body["error_description"]]).toEqual([
      400,
      "The DPoP proof is invalid: it was used before.",
    ]);
  });

  test("§11.1: a refused request does not spend its proof", async () => {
    const proof = await key.proof("POST", tokenUrl);
    expect((await requestToken(proof, service, { ...credentials, scope: "beyond" })).status).toBe(400);
    expect((await requestToken(proof)).status).toBe(200);
  });
});

describe("RFC 9449 §8: nonces", () => {
  test("a client that must use nonces receives one and continues with it; another's, an old or an invented one is refused", async () => {
    const client = await fixtures.client({ dpop_nonce_required: true });
    const attempt = async (claims: Fields) => {
      const response = await fetch(`${provider.origin}/token`, {
        method: "POST",
        headers: { authorization: client.authorization, DPoP: await key.proof("POST", tokenUrl, claims) },
        body: new URLSearchParams(credentials),
      });
      const body = (await response.json()) as Record<string, unknown>;
      return { status: response.status, error: body["error"], nonce: response.headers.get("dpop-nonce") };
    };
    const first = await attempt({});
    expect([first.status, first.error]).toEqual([400, "use_dpop_nonce"]);
    expect(first.nonce).toBeTruthy();
    expect((await attempt({ nonce: first.nonce! })).status).toBe(200);
    const [step = "", mac = ""] = first.nonce!.split(".");
    const later = `${Number(step) + 1}.${mac}`;
    for (const nonce of ["made-up", later, `${Number(step) - 5}.${mac}`, `${first.nonce}x`]) {
      const refused = await attempt({ nonce });
      expect([nonce, refused.status, refused.error]).toEqual([nonce, 400, "use_dpop_nonce"]);
      expect(refused.nonce).toBeTruthy();
    }
  });

  test("§4.3 item 11: with a nonce, a clock that is two minutes off does not matter", async () => {
    const client = await fixtures.client({ dpop_nonce_required: true });
    const refused = await fetch(`${provider.origin}/token`, {
      method: "POST",
      headers: { authorization: client.authorization, DPoP: await key.proof("POST", tokenUrl) },
      body: new URLSearchParams(credentials),
    });
    const nonce = refused.headers.get("dpop-nonce")!;
    const iat = Math.floor(Date.now() / 1000) - 120;
    expect((await requestToken(await key.proof("POST", tokenUrl, { nonce, iat }), client)).status).toBe(200);
  });

  test("§8, §10.1: /par and /device_authorization issue a nonce to a client that must use one, and accept it", async () => {
    const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
    const application = await Application.register(fixtures, {
      dpop_nonce_required: true,
      grant_types: ["authorization_code", "refresh_token", deviceGrant],
    });
    const parameters = Object.fromEntries(application.authorizationParameters({ scope: "openid" }));
    for (const [path, fields] of [
      ["/par", parameters],
      ["/device_authorization", { scope: "openid" }],
    ] as const) {
      const attempt = async (claims: Fields) => {
        const proof = await key.proof("POST", provider.issuer + path, claims);
        const headers = { authorization: application.client.authorization, DPoP: proof };
        const response = await fetch(provider.origin + path, {
          method: "POST",
          headers,
          body: new URLSearchParams(fields),
        });
        const { error } = (await response.json()) as { readonly error?: string };
        return { ok: response.ok, status: response.status, error, nonce: response.headers.get("dpop-nonce") };
      };
      const first = await attempt({});
      expect([path, first.status, first.error]).toEqual([path, 400, "use_dpop_nonce"]);
      expect(await attempt({ nonce: first.nonce! })).toMatchObject({ ok: true, nonce: null });
    }
  });

  test("§9: a protected resource challenges a proof without a nonce and issues one; that of the token endpoint is accepted too", async () => {
    const asserter = await fixtures.asserter({ dpop_nonce_required: true });
    const assertion = await fixtures.assertion(asserter, sub);
    const fields = { grant_type: grantTypes.jwtBearer, assertion, scope: "openid" };
    const issue = async (claims: Fields) => send("/token", fields, await key.proof("POST", tokenUrl, claims), asserter);
    const atToken = (await issue({})).headers.get("dpop-nonce")!;
    const token = accessToken(await issue({ nonce: atToken }));
    const read = async (claims: Fields) => userinfo(token, await resourceProof(token, claims));
    const refused = await read({});
    expect([refused.status, refused.body["error"]]).toEqual([401, "use_dpop_nonce"]);
    expect(refused.challenge).toBe('DPoP error="use_dpop_nonce", algs="ES256 EdDSA PS256 RS256"');
    expect(refused.headers.get("cache-control")).toBe("no-store");
    const nonce = refused.headers.get("dpop-nonce")!;
    for (const accepted of [nonce, atToken]) expect((await read({ nonce: accepted })).status).toBe(200);
    // §9: a nonce does not replace the other checks.
    expect((await userinfo(token, await resourceProof(token, { nonce, ath: undefined }))).status).toBe(401);
    const other = await userinfo(token, await resourceProof(token, { nonce }, otherKey));
    expect([other.status, other.body["error"]]).toEqual([401, "invalid_token"]);
  });

  test("browsers may send proofs and read nonces", async () => {
    const preflight = await fetch(`${provider.origin}/token`, { method: "OPTIONS" });
    expect(preflight.headers.get("access-control-allow-headers")).toContain("DPoP");
    const response = await fetch(`${provider.origin}/token`, {
      method: "POST",
      headers: { origin: "https://spa.example" },
    });
    expect(response.headers.get("access-control-expose-headers")).toContain("DPoP-Nonce");
  });
});

describe("RFC 9449 §7: protected resources", () => {
  test("UserInfo accepts a bound token with a proof of its key", async () => {
    const token = await boundUserToken();
    const { status, body } = await userinfo(token, await resourceProof(token));
    expect([status, body["email"]]).toEqual([200, "dpop@example.com"]);
    const posted = await userinfo(token, await resourceProof(token, {}, key, userinfoUrl, "POST"), "dpop", "POST");
    expect(posted.status).toBe(200);
  });

  test("§7.1: refuses a bound token as Bearer, and an unbound one as DPoP", async () => {
    const token = await boundUserToken();
    const asBearer = await userinfo(token, await resourceProof(token), "Bearer");
    expect([asBearer.status, asBearer.challenge]).toEqual([401, 'Bearer error="invalid_token"']);
    const unbound = await fixtures.userToken(await fixtures.asserter(), sub);
    const asDpop = await userinfo(unbound, await resourceProof(unbound));
    expect(asDpop.status).toBe(401);
    expect(asDpop.challenge).toBe('DPoP error="invalid_token", algs="ES256 EdDSA PS256 RS256"');
  });

  test("§7.1: without any token both schemes are offered", async () => {
    const response = await fetch(`${provider.origin}/userinfo`);
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="oauth", DPoP algs="ES256 EdDSA PS256 RS256"',
    ]);
  });

  test.each([
    ["no proof", "invalid_token", async () => undefined],
    ["a proof of another key", "invalid_token", (token: string) => resourceProof(token, {}, otherKey)],
    ["a proof without ath", "invalid_dpop_proof", (token: string) => resourceProof(token, { ath: undefined })],
    [
      "the ath of another token",
      "invalid_dpop_proof",
      async (token: string) => resourceProof(token, { ath: await accessTokenHash(`${token}x`) }),
    ],
    [
      "a proof for the token endpoint",
      "invalid_dpop_proof",
      (token: string) => resourceProof(token, {}, key, tokenUrl),
    ],
    [
      "a proof for another method",
      "invalid_dpop_proof",
      (token: string) => resourceProof(token, {}, key, userinfoUrl, "POST"),
    ],
  ])("§7.1: refuses %s with %s", async (_, error, make) => {
    const token = await boundUserToken();
    const { status, challenge, body } = await userinfo(token, await make(token));
    expect([status, body["error"]]).toEqual([401, error]);
    expect(challenge).toBe(`DPoP error="${error}", algs="ES256 EdDSA PS256 RS256"`);
  });

  test("§11.1: UserInfo accepts a proof once", async () => {
    const token = await boundUserToken();
    const proof = await resourceProof(token);
    expect((await userinfo(token, proof)).status).toBe(200);
    expect((await userinfo(token, proof)).body["error"]).toBe("invalid_dpop_proof");
  });

  test("a revoked bound token is refused", async () => {
    const client = await fixtures.asserter();
    const assertion = await fixtures.assertion(client, sub);
    const fields = { grant_type: grantTypes.jwtBearer, assertion, scope: "openid" };
    const token = accessToken(await send("/token", fields, await key.proof("POST", tokenUrl), client));
    await fixtures.revoke(client, token);
    expect((await userinfo(token, await resourceProof(token))).challenge).toContain('DPoP error="invalid_token"');
  });

  test("the admin API accepts a bound token with proofs, one for each request and path", async () => {
    const { client_id, client_secret } = provider.dev.admin;
    const authorization = `Basic ${btoa(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`)}`;
    const admin = { client_id, client_secret, authorization };
    const token = accessToken(await requestToken(await key.proof("POST", tokenUrl), admin));
    const read = async (path: string, proof: string) =>
      (await fetch(`${provider.origin}${path}`, { headers: { authorization: `DPoP ${token}`, DPoP: proof } })).status;
    const path = `/admin/users/${sub}`;
    const proof = await resourceProof(token, {}, key, `${provider.issuer}${path}`);
    expect(await read(path, proof)).toBe(200);
    expect(await read(path, proof)).toBe(401);
    expect(await read("/admin/users", await resourceProof(token, {}, key, `${provider.issuer}${path}`))).toBe(401);
    const created = await fetch(`${provider.origin}/admin/users`, {
      method: "POST",
      headers: {
        authorization: `DPoP ${token}`,
        DPoP: await resourceProof(token, {}, key, `${provider.issuer}/admin/users`, "POST"),
        "content-type": "application/json",
      },
      body: JSON.stringify({ username: `person-${crypto.randomUUID()}` }),
    });
    expect(created.status).toBe(201);
  });
});

describe("RFC 9449 §5, §10: codes and refresh tokens", () => {
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
  const pkce = { code_challenge: challenge, code_challenge_method: "S256" } as const;

  async function publicApplication() {
    return Application.register(fixtures, {
      token_endpoint_auth_method: "none",
      require_pkce: true,
      application_type: "web",
    });
  }

  async function code(application: Application, more: Fields = {}): Promise<string> {
    const person = new Person(provider.origin, { username, password });
    const parameters = { scope: "openid offline_access", prompt: "consent", ...pkce, ...more };
    const { authorizationResponse } = await application.authorize(person, parameters);
    return authorizationResponse.get("code") ?? `${authorizationResponse}`;
  }

  function redeemed(application: Application, value: string): Fields {
    const redirect = "https://app.example.com/callback";
    return {
      ...{ grant_type: "authorization_code", code: value, redirect_uri: redirect, code_verifier: verifier },
      client_id: application.client.client_id,
    };
  }

  test("§5: a public client's refresh token is bound to the key; a refresh without it, or with another, is refused", async () => {
    const application = await publicApplication();
    const fields = redeemed(application, await code(application));
    const { status, body } = await send("/token", fields, await key.proof("POST", tokenUrl));
    expect([status, body["token_type"]]).toEqual([200, "DPoP"]);
    const refresh = (proof?: string) =>
      send(
        "/token",
        {
          ...{ grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) },
          client_id: application.client.client_id,
        },
        proof,
      );
    expect((await refresh()).body["error"]).toBe("invalid_grant");
    expect((await refresh(await otherKey.proof("POST", tokenUrl))).body["error"]).toBe("invalid_grant");
    const refreshed = await refresh(await key.proof("POST", tokenUrl));
    expect(refreshed.status).toBe(200);
    expect(claimsOf(String(refreshed.body["access_token"]))["cnf"]).toEqual({ jkt: key.thumbprint });
  });

  test("§5: a public client's refresh token issued without a key is bound by the refresh that proves one", async () => {
    const application = await publicApplication();
    const first = await send("/token", redeemed(application, await code(application)), undefined);
    expect(first.body["token_type"]).toBe("Bearer");
    const { client_id } = application.client;
    const refresh = (token: unknown, proof?: string) =>
      send("/token", { grant_type: "refresh_token", refresh_token: String(token), client_id }, proof);
    const second = await refresh(first.body["refresh_token"], await key.proof("POST", tokenUrl));
    expect([second.status, second.body["token_type"]]).toEqual([200, "DPoP"]);
    const bound = second.body["refresh_token"];
    expect((await refresh(bound)).body["error"]).toBe("invalid_grant");
    expect((await refresh(bound, await otherKey.proof("POST", tokenUrl))).body["error"]).toBe("invalid_grant");
    expect((await refresh(bound, await key.proof("POST", tokenUrl))).status).toBe(200);
  });

  test("§5: a confidential client may change its key at a refresh, but not omit one", async () => {
    const application = await Application.register(fixtures);
    const first = await send(
      "/token",
      redeemed(application, await code(application)),
      await key.proof("POST", tokenUrl),
      application.client,
    );
    const refresh = (proof?: string) =>
      send(
        "/token",
        { grant_type: "refresh_token", refresh_token: String(first.body["refresh_token"]) },
        proof,
        application.client,
      );
    expect((await refresh()).body["error"]).toBe("invalid_grant");
    const changed = await refresh(await otherKey.proof("POST", tokenUrl));
    expect(claimsOf(String(changed.body["access_token"]))["cnf"]).toEqual({ jkt: otherKey.thumbprint });
  });

  test("§10: dpop_jkt binds the code to the key", async () => {
    const application = await publicApplication();
    const value = await code(application, { dpop_jkt: key.thumbprint });
    const fields = redeemed(application, value);
    expect((await send("/token", fields, undefined)).body["error"]).toBe("invalid_grant");
    expect((await send("/token", fields, await otherKey.proof("POST", tokenUrl))).body["error"]).toBe("invalid_grant");
    expect((await send("/token", fields, await key.proof("POST", tokenUrl))).status).toBe(200);
  });

  test("§10: a malformed dpop_jkt is refused", async () => {
    const application = await publicApplication();
    expect(await code(application, { dpop_jkt: "short" })).toContain("error=invalid_request");
  });

  test("§10.1: a proof at /par binds the code; a different dpop_jkt is refused", async () => {
    const application = await publicApplication();
    const parameters = Object.fromEntries(
      application.authorizationParameters({ scope: "openid", prompt: "consent", ...pkce }),
    );
    const proof = () => key.proof("POST", `${provider.issuer}/par`);
    const refused = await send("/par", { ...parameters, dpop_jkt: otherKey.thumbprint }, await proof());
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_dpop_proof"]);
    const pushed = await send("/par", parameters, await proof());
    expect(pushed.status).toBe(201);
    const person = new Person(provider.origin, { username, password });
    const url = new URL(`${provider.issuer}/authorize`);
    url.searchParams.set("client_id", application.client.client_id);
    url.searchParams.set("request_uri", String(pushed.body["request_uri"]));
    const arrival = await person.visit(url);
    const fields = redeemed(application, arrival.url.searchParams.get("code") ?? "");
    expect((await send("/token", fields, await otherKey.proof("POST", tokenUrl))).body["error"]).toBe("invalid_grant");
    expect((await send("/token", fields, await key.proof("POST", tokenUrl))).status).toBe(200);
  });

  test("repeating a code request unchanged does not count as theft of the code", async () => {
    const application = await publicApplication();
    const fields = redeemed(application, await code(application));
    const proof = await key.proof("POST", tokenUrl);
    const first = await send("/token", fields, proof);
    expect((await send("/token", fields, proof)).body["error"]).toBe("invalid_dpop_proof");
    const token = String(first.body["access_token"]);
    expect((await userinfo(token, await resourceProof(token))).status).toBe(200);
  });
});

describe("token exchange and DPoP", () => {
  async function exchange(subject: string, by: DpopKey | undefined, policy = {}): Promise<ApiResponse> {
    const exchanger = await fixtures.exchanger(policy);
    const fields = {
      ...{ grant_type: grantTypes.tokenExchange, subject_token: subject, subject_token_type: tokenTypes.accessToken },
      audience: api,
    };
    return send("/token", fields, await by?.proof("POST", tokenUrl), exchanger);
  }

  test("a bound subject token needs the proof of its key", async () => {
    const subject = await boundUserToken("openid read");
    for (const by of [undefined, otherKey]) {
      const refused = await exchange(subject, by);
      expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_request"]);
    }
    const exchanged = await exchange(subject, key);
    expect(claimsOf(String(exchanged.body["access_token"]))["cnf"]).toEqual({ jkt: key.thumbprint });
  });

  test("RFC 8693 §2.1: a bound actor token also needs the proof of its key, and one request can prove only one of two keys", async () => {
    const exchanger = await fixtures.exchanger();
    const actorOf = async (by: DpopKey) => accessToken(await requestToken(await by.proof("POST", tokenUrl), exchanger));
    const delegate = async (subject: string, actor: string, by: DpopKey | undefined) => {
      const fields = {
        ...{ grant_type: grantTypes.tokenExchange, audience: api },
        ...{ subject_token: subject, subject_token_type: tokenTypes.accessToken },
        ...{ actor_token: actor, actor_token_type: tokenTypes.accessToken },
      };
      return send("/token", fields, await by?.proof("POST", tokenUrl), exchanger);
    };
    const [bound, unbound] = [
      await boundUserToken("openid read"),
      await fixtures.userToken(await fixtures.asserter(), sub),
    ];
    const [ofKey, ofOther] = [await actorOf(key), await actorOf(otherKey)];
    for (const [subject, actor, by] of [
      [unbound, ofOther, undefined],
      [unbound, ofOther, key],
      [bound, ofOther, key],
      [bound, ofOther, otherKey],
      [bound, ofKey, undefined],
    ] as const) {
      const refused = await delegate(subject, actor, by);
      expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_request"]);
    }
    for (const subject of [bound, unbound]) {
      const token = accessToken(await delegate(subject, ofKey, key));
      expect(claimsOf(token)).toMatchObject({ cnf: { jkt: key.thumbprint }, act: { sub: exchanger.client_id } });
    }
  });

  test("an exchanged token is bound by its own request: without that key it is useless and cannot be exchanged further", async () => {
    const exchanged = accessToken(await exchange(await boundUserToken("openid read"), key));
    const again = await exchange(exchanged, otherKey);
    expect([again.status, again.body["error"]]).toEqual([400, "invalid_request"]);
    expect(claimsOf(accessToken(await exchange(exchanged, key)))["cnf"]).toEqual({ jkt: key.thumbprint });
  });

  test("a policy may accept bound tokens: the new one is bound to the exchanging client's key, or to none", async () => {
    const subject = await boundUserToken("openid read");
    const unbound = await exchange(subject, undefined, { accepts_bound_tokens: true });
    expect([unbound.body["token_type"], claimsOf(accessToken(unbound))["cnf"]]).toEqual(["Bearer", undefined]);
    const bound = await exchange(subject, otherKey, { accepts_bound_tokens: true });
    expect(claimsOf(accessToken(bound))["cnf"]).toEqual({ jkt: otherKey.thumbprint });
  });

  test("an unbound subject token with a proof yields a bound token", async () => {
    const subject = await fixtures.userToken(await fixtures.asserter(), sub);
    const exchanged = await exchange(subject, key);
    expect([exchanged.body["token_type"], claimsOf(accessToken(exchanged))["cnf"]]).toEqual([
      "DPoP",
      { jkt: key.thumbprint },
    ]);
  });
});

function symmetricProof(): Promise<string> {
  const claims = { jti: crypto.randomUUID(), htm: "POST", htu: tokenUrl, iat: Math.floor(Date.now() / 1000) };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", typ: "dpop+jwt", jwk: { kty: "oct" } })
    .sign(new TextEncoder().encode("secret secret secret secret secret"));
}

/** Signed manually, because the library refuses to sign parameters that it does not understand. */
async function criticalProof(): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const { kty, crv, x, y } = await exportJWK(publicKey);
  const header = { alg: "ES256", typ: "dpop+jwt", jwk: { kty, crv, x, y }, crit: ["ext"], ext: true };
  const claims = { jti: crypto.randomUUID(), htm: "POST", htu: tokenUrl, iat: Math.floor(Date.now() / 1000) };
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, Buffer.from(text));
  return `${text}.${Buffer.from(signature).toString("base64url")}`;
}

async function unsignedProof(): Promise<string> {
  const [, claims] = (await key.proof("POST", tokenUrl)).split(".");
  const header = { alg: "none", typ: "dpop+jwt", jwk: key.publicJwk };
  return `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${claims}.`;
}

describe("real clients", () => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const;

  test("openid-client: code, UserInfo and refresh with DPoP, and a nonce that it must fetch first", async () => {
    const { client } = await Application.register(fixtures, {
      dpop_bound_access_tokens: true,
      dpop_nonce_required: true,
    });
    const config = await oidc.discovery(
      new URL(provider.issuer),
      client.client_id,
      undefined,
      oidc.ClientSecretBasic(client.client_secret),
      { execute: [oidc.allowInsecureRequests] },
    );
    const DPoP = oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair());
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const expectedState = oidc.randomState();
    const parameters = {
      ...{ redirect_uri: "https://app.example.com/callback", scope: "openid offline_access", prompt: "consent" },
      ...{ state: expectedState, code_challenge_method: "S256" },
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    };
    const url = await oidc.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
    const { url: callback } = await new Person(provider.origin, { username, password }).visit(url);
    const checks = { pkceCodeVerifier, expectedState };
    const tokens = await oidc.authorizationCodeGrant(config, callback, checks, undefined, { DPoP });
    expect(tokens.token_type).toBe("dpop");
    expect(await oidc.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).toMatchObject({ sub });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP });
    expect(refreshed.token_type).toBe("dpop");
    expect(await oidc.fetchUserInfo(config, refreshed.access_token, sub, { DPoP })).toMatchObject({ sub });
  });

  test("oauth4webapi: a bound token, validated with its proof as a resource server does it", async () => {
    const issuer = new URL(provider.issuer);
    const discovery = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
    const as = await oauth.processDiscoveryResponse(issuer, discovery);
    const client: oauth.Client = { client_id: service.client_id };
    const keyPair = await oauth.generateKeyPair("ES256");
    const DPoP = oauth.DPoP(client, keyPair);
    const authentication = oauth.ClientSecretBasic(service.client_secret);
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      client,
      authentication,
      { scope: "read" },
      {
        DPoP,
        ...insecure,
      },
    );
    const { access_token } = await oauth.processClientCredentialsResponse(as, client, response);
    let presented: Request | undefined;
    await oauth.protectedResourceRequest(access_token, "GET", new URL(api), undefined, undefined, {
      DPoP,
      [oauth.customFetch]: async (url, { headers, method }) => {
        presented = new Request(url, { headers, method });
        return new Response();
      },
    });
    const claims = await oauth.validateJwtAccessToken(as, presented!, api, { requireDPoP: true, ...insecure });
    expect(claims.client_id).toBe(service.client_id);
  });
});
