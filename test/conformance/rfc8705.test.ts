import { createHash } from "node:crypto";
import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { type ApiResponse, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import {
  type CertificateOptions,
  selfSigned,
  TestAuthority,
  type TestCertificate,
} from "../fixtures/client-certificates.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { Application, redirectUri } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { accessToken, api, claimsOf, grantTypes, ProviderFixtures, tokenTypes } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "./fixtures/tls-proxy.ts";

/** Mutual TLS with real certificates and handshakes, through a proxy that forwards the same facts as Cloudflare, and through an operator's proxy. */
const proxyKey = "a key that only the proxy and the operator know";
const credentials = { grant_type: "client_credentials" } as const;

type Fields = Readonly<Record<string, string>>;

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let authority: TestAuthority;
let platform: TlsProxy;
let ownProxy: TlsProxy;
let platformOrigin: string;
let ownOrigin: string;
let certificate: TestCertificate;
let otherCertificate: TestCertificate;
let person: RegisteredPerson;

beforeAll(async () => {
  const taken = new Set<number>();
  const ports: number[] = [];
  for (let each = 0; each < 2; each += 1) {
    const port = await findFreePort("localhost", taken);
    taken.add(port);
    ports.push(port);
  }
  [platformOrigin, ownOrigin] = ports.map((port) => `https://localhost:${port}`) as [string, string];
  const hash = createHash("sha256").update(proxyKey).digest("hex");
  authority = await TestAuthority.create();
  provider = await startLocalProvider({
    shape: inject("shape"),
    vars: { MTLS_ORIGIN: platformOrigin, MTLS_PROXY_KEY_SHA256: `${"0".repeat(64)} ${hash}` },
  });
  const proxy = { origin: provider.origin, authority: authority.cert };
  [platform, ownProxy] = await Promise.all([
    startTlsProxy({ ...proxy, port: ports[0]! }),
    startTlsProxy({ ...proxy, port: ports[1]!, proxyKey }),
  ]);
  fixtures = new ProviderFixtures(provider);
  [certificate, otherCertificate] = await Promise.all([authority.issue(), authority.issue()]);
  person = await registerPerson(fixtures, { email: "mtls@example.com" });
});

afterAll(async () => {
  await Promise.all([platform.stop(), ownProxy.stop()]);
  await provider.stop();
});

/** Sends a form on a connection with the certificate, through the platform. */
async function send(path: string, fields: Fields, by?: TestCertificate, headers: Fields = {}): Promise<ApiResponse> {
  const body = new URLSearchParams(fields);
  const viaTls = fetchWithCertificate(platform, by);
  return readResponse(await viaTls(`${platformOrigin}${path}`, { method: "POST", body, headers }));
}

/** A client that authenticates by its certificate, and gets bound tokens unless `metadata` says otherwise. */
async function tlsClient(metadata: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { client_id } = await fixtures.client({
    token_endpoint_auth_method: "tls_client_auth",
    tls_client_certificate_bound_access_tokens: true,
    ...(Object.keys(metadata).some((name) => name.startsWith("tls_client_auth_"))
      ? {}
      : { tls_client_auth_subject_dn: "CN=client" }),
    ...metadata,
  });
  return client_id;
}

function selfSignedClient({ x5c, publicJwk }: TestCertificate): Promise<string> {
  const { kty, crv, x, y } = publicJwk;
  return fixtures
    .client({
      token_endpoint_auth_method: "self_signed_tls_client_auth",
      tls_client_certificate_bound_access_tokens: true,
      jwks: { keys: [{ kty, crv, x, y, x5c: [x5c] }] },
    })
    .then(({ client_id }) => client_id);
}

async function boundToken(by = certificate, client_id?: string): Promise<string> {
  return accessToken(await send("/token", { ...credentials, client_id: client_id ?? (await tlsClient()) }, by));
}

/** A user's token that is bound to the certificate. */
async function boundUserToken(by = certificate): Promise<string> {
  const asserter = await fixtures.asserter({ tls_client_certificate_bound_access_tokens: true });
  const assertion = await fixtures.assertion(asserter, person.sub);
  const fields = { grant_type: grantTypes.jwtBearer, assertion, scope: "openid email read" };
  return accessToken(await send("/token", fields, by, { authorization: asserter.authorization }));
}

async function userinfo(token: string, by: TestCertificate | undefined, headers: Fields = {}) {
  const viaTls = fetchWithCertificate(platform, by);
  const authorization = headers["authorization"] ?? `Bearer ${token}`;
  const response = await viaTls(`${platformOrigin}/userinfo`, { headers: { ...headers, authorization } });
  return { ...(await readResponse(response)), challenge: response.headers.get("www-authenticate") };
}

describe("RFC 8705 §2.1: tls_client_auth", () => {
  const sets: readonly (readonly [string, Readonly<Record<string, string>>, CertificateOptions])[] = [
    [
      "subject DN",
      { tls_client_auth_subject_dn: "CN=pay,O=Example\\, Inc.,C=NL" },
      { subject: "C=NL,O=Example\\, Inc.,CN=pay" },
    ],
    [
      "subject DN by OIDs, another case and spaces",
      { tls_client_auth_subject_dn: "2.5.4.3=PAY , o=example\\2C inc." },
      { subject: "O=Example\\, Inc.,CN=pay" },
    ],
    ["DNS name", { tls_client_auth_san_dns: "Client.Example" }, { names: [{ type: "dns", value: "client.example" }] }],
    ["URI", { tls_client_auth_san_uri: "urn:client:1" }, { names: [{ type: "url", value: "urn:client:1" }] }],
    ["IPv4 address", { tls_client_auth_san_ip: "192.0.2.7" }, { names: [{ type: "ip", value: "192.0.2.7" }] }],
    ["IPv6 address", { tls_client_auth_san_ip: "2001:DB8:0::7" }, { names: [{ type: "ip", value: "2001:db8::7" }] }],
    [
      "email address",
      { tls_client_auth_san_email: "ops@Example.com" },
      { names: [{ type: "email", value: "ops@example.com" }] },
    ],
  ];

  test.each(sets)("§2.1.2: authenticates by %s, and by no other certificate", async (_, metadata, options) => {
    const fields = { ...credentials, client_id: await tlsClient(metadata) };
    const named = await authority.issue(options);
    const { status, body } = await send("/token", fields, named);
    expect([status, body["error"]]).toEqual([200, undefined]);
    expect(claimsOf(String(body["access_token"]))["cnf"]).toEqual({ "x5t#S256": named.thumbprint });
    const others = [
      certificate,
      await selfSigned(options),
      await (await TestAuthority.create()).issue(options),
      await authority.issue({ ...options, notAfter: new Date(Date.now() - 1000) }),
      undefined,
    ];
    for (const other of others) {
      const refused = await send("/token", fields, other);
      expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
    }
  });

  test("§2.1.2: a name within another one does not count", async () => {
    const byHost = { ...credentials, client_id: await tlsClient({ tls_client_auth_san_dns: "client.example" }) };
    const bySubject = { ...credentials, client_id: await tlsClient({ tls_client_auth_subject_dn: "CN=client" }) };
    const forged: readonly CertificateOptions[] = [
      { subject: "CN=x", names: [{ type: "url", value: "urn:x, DNS:client.example" }] },
      { subject: "CN=x", names: [{ type: "dns", value: "*.example" }] },
      { subject: "CN=x", names: [{ type: "dns", value: "client.example.evil.test" }] },
      { subject: "CN=client.example" },
      { subject: "CN=x\\,CN=client" },
      { subject: "CN=client,O=Other" },
      { subject: "CN=client+OU=other" },
    ];
    for (const options of forged) {
      const presented = await authority.issue(options);
      expect((await send("/token", byHost, presented)).status, JSON.stringify(options)).toBe(401);
      expect((await send("/token", bySubject, presented)).status, JSON.stringify(options)).toBe(401);
    }
  });

  test("§2.1.2: registration requires exactly one well-formed name", async () => {
    const register = async (metadata: Readonly<Record<string, unknown>>) =>
      (
        await fixtures.admin.call("POST", "/clients", {
          grant_types: ["client_credentials"],
          token_endpoint_auth_method: "tls_client_auth",
          ...metadata,
        })
      ).status;
    expect(await register({ tls_client_auth_subject_dn: "CN=a" })).toBe(201);
    expect(await register({})).toBe(400);
    expect(await register({ tls_client_auth_subject_dn: "CN=a", tls_client_auth_san_dns: "a" })).toBe(400);
    expect(await register({ tls_client_auth_subject_dn: "nonsense" })).toBe(400);
    expect(await register({ tls_client_auth_san_ip: "not an address" })).toBe(400);
    expect(await register({ token_endpoint_auth_method: "client_secret_basic", tls_client_auth_san_dns: "a" })).toBe(
      400,
    );
    expect(await register({ token_endpoint_auth_method: "self_signed_tls_client_auth" })).toBe(400);
  });

  test("§2: a method other than the registered one is refused, even with the right certificate", async () => {
    const client_id = await tlsClient();
    const secret = await send("/token", { ...credentials, client_id, client_secret: "x" }, certificate);
    expect(secret.body["error"]).toBe("invalid_client");
    const withSecret = await fixtures.client();
    const byCertificate = await send("/token", { ...credentials, client_id: withSecret.client_id }, certificate);
    expect(byCertificate.body["error"]).toBe("invalid_client");
  });
});

describe("RFC 8705 §2, §5 with RFC 8628: a device with a certificate", () => {
  const device = { grant_types: ["urn:ietf:params:oauth:grant-type:device_code"], scope: "openid" };

  test("authenticates at /device_authorization of the alias host, only by its certificate", async () => {
    const client_id = await tlsClient(device);
    const answered = await send("/device_authorization", { client_id, scope: "openid" }, certificate);
    expect(answered.status).toBe(200);
    expect(answered.body["verification_uri"]).toBe(`${provider.issuer}/device`);
    const other = await authority.issue({ subject: "CN=other" });
    for (const by of [other, undefined]) {
      const refused = await send("/device_authorization", { client_id, scope: "openid" }, by);
      expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
    }
    const poll = { grant_type: device.grant_types[0]!, device_code: String(answered.body["device_code"]), client_id };
    expect((await send("/token", poll, certificate)).body["error"]).toBe("authorization_pending");
    expect((await send("/token", poll)).body["error"]).toBe("invalid_client");
  });
});

describe("RFC 8705 §2.2: self_signed_tls_client_auth", () => {
  test("authenticates only by the registered certificate", async () => {
    const own = await selfSigned();
    const fields = { ...credentials, client_id: await selfSignedClient(own) };
    const { status, body } = await send("/token", fields, own);
    expect([status, claimsOf(String(body["access_token"]))["cnf"]]).toEqual([200, { "x5t#S256": own.thumbprint }]);
    for (const other of [await selfSigned(), certificate, undefined]) {
      expect((await send("/token", fields, other)).body["error"]).toBe("invalid_client");
    }
  });

  test("an expired certificate is refused", async () => {
    const expired = await selfSigned({ notAfter: new Date(Date.now() - 1000) });
    const fields = { ...credentials, client_id: await selfSignedClient(expired) };
    expect((await send("/token", fields, expired)).body["error"]).toBe("invalid_client");
  });
});

describe("RFC 8705 §2: every endpoint that authenticates clients", () => {
  test("/par, /introspect and /revoke accept the certificate, and refuse its absence", async () => {
    const client_id = await tlsClient({
      grant_types: ["client_credentials", "authorization_code"],
      response_types: ["code"],
      redirect_uris: [redirectUri],
    });
    const token = await boundToken(certificate, client_id);
    const requests: readonly (readonly [string, Fields, number])[] = [
      [
        "/par",
        {
          response_type: "code",
          redirect_uri: redirectUri,
          scope: "read",
          code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
          code_challenge_method: "S256",
        },
        201,
      ],
      ["/introspect", { token }, 200],
      ["/revoke", { token }, 200],
    ];
    for (const [path, fields, status] of requests) {
      expect((await send(path, { ...fields, client_id }, undefined)).status, path).toBe(401);
      expect((await send(path, { ...fields, client_id }, certificate)).status, path).toBe(status);
    }
    expect((await send("/introspect", { token, client_id }, certificate)).body).toEqual({ active: false });
  });
});

describe("RFC 8705 §3: certificate-bound access tokens", () => {
  test("§3.2: introspection shows the confirmation", async () => {
    const client_id = await tlsClient();
    const token = await boundToken(certificate, client_id);
    const { body } = await send("/introspect", { token, client_id }, certificate);
    expect(body).toMatchObject({ active: true, token_type: "Bearer", cnf: { "x5t#S256": certificate.thumbprint } });
  });

  test("§3.4: a client registered for bound tokens gets none without a certificate", async () => {
    const { authorization } = await fixtures.client({ tls_client_certificate_bound_access_tokens: true });
    const refused = await send("/token", credentials, undefined, { authorization });
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_request"]);
    const token = accessToken(await send("/token", credentials, certificate, { authorization }));
    expect(claimsOf(token)["cnf"]).toEqual({ "x5t#S256": certificate.thumbprint });
  });

  /** Requests for each grant, which reach the grant if their binding is correct. */
  const requests: readonly (readonly [string, Fields])[] = [
    ["client_credentials", {}],
    ["authorization_code", { code: "none", redirect_uri: redirectUri }],
    ["refresh_token", { refresh_token: "none" }],
    ["urn:ietf:params:oauth:grant-type:device_code", { device_code: "none" }],
    [grantTypes.tokenExchange, { subject_token: "none", subject_token_type: tokenTypes.accessToken }],
    [grantTypes.jwtBearer, { assertion: "none" }],
  ];
  const dpop = { dpop_bound_access_tokens: true };
  const tls = { tls_client_certificate_bound_access_tokens: true };
  const ofProof = "DPoP-bound";
  const ofCertificate = "certificate-bound";
  test.each<[string, Readonly<Record<string, unknown>>, Record<string, string | undefined>]>([
    ["DPoP", dpop, { none: ofProof, certificate: ofProof, proof: undefined, both: undefined }],
    ["a certificate", tls, { none: ofCertificate, certificate: undefined, proof: ofCertificate, both: undefined }],
    ["both", { ...dpop, ...tls }, { none: ofProof, certificate: ofProof, proof: ofCertificate, both: undefined }],
    ["neither", {}, { none: undefined, certificate: undefined, proof: undefined, both: undefined }],
  ])(
    "§3.4, RFC 9449 §5.2: a registration for %s is satisfied by nothing else, at every grant",
    async (_, metadata, refusals) => {
      const { authorization } = await fixtures.client({
        ...{ grant_types: requests.map(([grant]) => grant), response_types: ["code"], redirect_uris: [redirectUri] },
        ...metadata,
      });
      const key = await DpopKey.generate();
      for (const [presented, refusal] of Object.entries(refusals)) {
        for (const [grant_type, fields] of requests) {
          const hasProof = presented === "proof" || presented === "both";
          const proof: Fields = hasProof ? { DPoP: await key.proof("POST", `${provider.issuer}/token`) } : {};
          const by = presented === "certificate" || presented === "both" ? certificate : undefined;
          const { body } = await send("/token", { grant_type, ...fields }, by, { authorization, ...proof });
          const [, found] = /registered for (\S+) tokens/.exec(String(body["error_description"])) ?? [];
          expect([presented, grant_type, found]).toEqual([presented, grant_type, refusal]);
          if (grant_type !== "client_credentials" || refusal !== undefined) continue;
          const bound = "tls_client_certificate_bound_access_tokens" in metadata && by !== undefined;
          const expected = hasProof
            ? { jkt: key.thumbprint }
            : bound
              ? { "x5t#S256": certificate.thumbprint }
              : undefined;
          expect(claimsOf(String(body["access_token"]))["cnf"], presented).toEqual(expected);
        }
      }
    },
  );

  test("RFC 9449 §5.2: with FAPI 2.0, the certificate that authenticates does not replace the proof, at any grant", async () => {
    const client_id = await tlsClient({
      ...{ grant_types: requests.map(([grant]) => grant), response_types: ["code"], redirect_uris: [redirectUri] },
      ...{ tls_client_certificate_bound_access_tokens: false, ...dpop, security_profile: "fapi2" },
    });
    for (const [grant_type, fields] of requests) {
      const { body } = await send("/token", { grant_type, client_id, ...fields }, certificate);
      expect([grant_type, body["error"]]).toEqual([grant_type, "invalid_dpop_proof"]);
    }
    const key = await DpopKey.generate();
    const proof = { DPoP: await key.proof("POST", `${provider.issuer}/token`) };
    const token = accessToken(await send("/token", { ...credentials, client_id }, certificate, proof));
    expect(claimsOf(token)["cnf"]).toEqual({ jkt: key.thumbprint });
  });

  test("§3.4: without the registration, a certificate binds nothing", async () => {
    const token = accessToken(
      await send(
        "/token",
        { ...credentials, client_id: await tlsClient({ tls_client_certificate_bound_access_tokens: false }) },
        certificate,
      ),
    );
    expect(claimsOf(token)["cnf"]).toBeUndefined();
  });

  test("§3: UserInfo accepts the token only with its certificate", async () => {
    const token = await boundUserToken();
    const { status, body } = await userinfo(token, certificate);
    expect([status, body["email"]]).toEqual([200, "mtls@example.com"]);
    for (const other of [undefined, otherCertificate]) {
      const refused = await userinfo(token, other);
      expect([refused.status, refused.challenge]).toEqual([401, 'Bearer error="invalid_token"']);
    }
    expect((await fixtures.userinfo(token)).status).toBe(401);
  });

  test("§3: a stolen token is useless with a DPoP proof, and a DPoP token with a certificate", async () => {
    const token = await boundUserToken();
    const key = await DpopKey.generate();
    const proof = async (of: string) =>
      key.proof("GET", `${platformOrigin}/userinfo`, { ath: await accessTokenHash(of) });
    const asDpop = await userinfo(token, certificate, { authorization: `DPoP ${token}`, DPoP: await proof(token) });
    expect(asDpop.status).toBe(401);
    const asserter = await fixtures.asserter();
    const assertion = await fixtures.assertion(asserter, person.sub);
    const fields = { grant_type: grantTypes.jwtBearer, assertion, scope: "openid" };
    const headers = { authorization: asserter.authorization, DPoP: await key.proof("POST", `${platformOrigin}/token`) };
    const dpopToken = accessToken(await send("/token", fields, certificate, headers));
    expect(claimsOf(dpopToken)["cnf"]).toEqual({ jkt: key.thumbprint });
    expect((await userinfo(dpopToken, certificate)).status).toBe(401);
    const shown = { authorization: `DPoP ${dpopToken}`, DPoP: await proof(dpopToken) };
    expect((await userinfo(dpopToken, undefined, shown)).status).toBe(200);
  });

  test("the admin API requires the certificate too", async () => {
    const scope = "admin:users";
    const { client_id } = await fixtures.client({
      token_endpoint_auth_method: "tls_client_auth",
      tls_client_auth_subject_dn: "CN=client",
      tls_client_certificate_bound_access_tokens: true,
      scope,
      audiences: [`${provider.issuer}/admin`],
    });
    const token = await boundToken(certificate, client_id);
    const read = async (by?: TestCertificate) =>
      (
        await fetchWithCertificate(platform, by)(`${platformOrigin}/admin/users/${person.sub}`, {
          headers: { authorization: `Bearer ${token}` },
        })
      ).status;
    expect([await read(certificate), await read(otherCertificate), await read()]).toEqual([200, 401, 401]);
  });
});

describe("RFC 8705 §4: public clients, and refresh", () => {
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const pkce = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };

  async function redeem(application: Application, by: TestCertificate | undefined, headers: Fields) {
    const { authorizationResponse } = await application.authorize(person.browser(), {
      ...pkce,
      scope: "openid offline_access",
      prompt: "consent",
    });
    const fields = {
      ...{ grant_type: "authorization_code", code: authorizationResponse.get("code") ?? "" },
      ...{ redirect_uri: redirectUri, code_verifier: verifier, client_id: application.client.client_id },
    };
    return send("/token", fields, by, headers);
  }

  test("a public client's refresh token is bound to the certificate", async () => {
    const application = await Application.register(fixtures, {
      ...{ token_endpoint_auth_method: "none", require_pkce: true, application_type: "web" },
      tls_client_certificate_bound_access_tokens: true,
    });
    const own = await selfSigned();
    const { body } = await redeem(application, own, {});
    expect(claimsOf(String(body["access_token"]))["cnf"]).toEqual({ "x5t#S256": own.thumbprint });
    const refresh = (by: TestCertificate | undefined, headers: Fields = {}) => {
      const fields = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) };
      return send("/token", { ...fields, client_id: application.client.client_id }, by, headers);
    };
    expect((await refresh(certificate)).body["error"]).toBe("invalid_grant");
    expect((await refresh(undefined)).body["error"]).toBe("invalid_request");
    const key = await DpopKey.generate();
    const downgraded = await refresh(own, { DPoP: await key.proof("POST", `${provider.issuer}/token`) });
    expect(downgraded.body["error"]).toBe("invalid_grant");
    const refreshed = await refresh(own);
    expect(claimsOf(accessToken(refreshed))["cnf"]).toEqual({ "x5t#S256": own.thumbprint });
  });

  test("downgrade: a confidential client's bound tokens stay bound at a refresh, even if its registration changes", async () => {
    const application = await Application.register(fixtures, { tls_client_certificate_bound_access_tokens: true });
    const { authorization, client_id } = application.client;
    const { body } = await redeem(application, certificate, { authorization });
    await fixtures.admin.require("PATCH", `/clients/${client_id}`, {
      tls_client_certificate_bound_access_tokens: false,
    });
    const fields = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) };
    expect((await send("/token", fields, undefined, { authorization })).body["error"]).toBe("invalid_grant");
  });
});

describe("RFC 8705 §5: metadata", () => {
  test("contains the methods, the binding and the aliases", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/oauth-authorization-server`));
    expect(body["tls_client_certificate_bound_access_tokens"]).toBe(true);
    for (const endpoint of ["token", "introspection", "revocation"]) {
      expect(body[`${endpoint}_endpoint_auth_methods_supported`]).toEqual(
        expect.arrayContaining(["tls_client_auth", "self_signed_tls_client_auth"]),
      );
    }
    expect(body["mtls_endpoint_aliases"]).toMatchObject({
      token_endpoint: `${platformOrigin}/token`,
      introspection_endpoint: `${platformOrigin}/introspect`,
      revocation_endpoint: `${platformOrigin}/revoke`,
      pushed_authorization_request_endpoint: `${platformOrigin}/par`,
      device_authorization_endpoint: `${platformOrigin}/device_authorization`,
      userinfo_endpoint: `${platformOrigin}/userinfo`,
    });
  });
});

describe("RFC 8705 §6.5, RFC 9440 §4: certificates in headers", () => {
  const header = ({ x5c }: TestCertificate) => ({ "client-cert": `:${x5c}:`, "client-cert-verified": "SUCCESS" });

  test("a stolen certificate in a header is ignored, at the front door and at a Worker", async () => {
    const fields = { ...credentials, client_id: await tlsClient() };
    const forgeries: readonly Fields[] = [
      header(certificate),
      { ...header(certificate), "client-cert-proxy-key": "guessed" },
      { ...header(certificate), "client-cert-proxy-key": createHash("sha256").update(proxyKey).digest("hex") },
      { "cf-client-cert-der-base64": certificate.x5c, "x-client-cert": certificate.x5c },
    ];
    for (const headers of forgeries) {
      expect((await send("/token", fields, undefined, headers)).body["error"]).toBe("invalid_client");
      expect((await send("/token", fields, otherCertificateOfAnotherName, headers)).body["error"]).toBe(
        "invalid_client",
      );
    }
    const token = await boundUserToken();
    expect((await userinfo(token, undefined, header(certificate))).status).toBe(401);
    expect((await userinfo(token, otherCertificate, header(certificate))).status).toBe(401);
  });

  let otherCertificateOfAnotherName: TestCertificate;
  beforeAll(async () => {
    otherCertificateOfAnotherName = await authority.issue({ subject: "CN=somebody else" });
  });

  test("the header of the trusted proxy counts, and a client behind it cannot set it", async () => {
    const client_id = await tlsClient();
    const viaOwn = (by?: TestCertificate, headers: Fields = {}) => {
      const body = new URLSearchParams({ ...credentials, client_id });
      return fetchWithCertificate(ownProxy, by)(`${ownOrigin}/token`, { method: "POST", body, headers }).then(
        readResponse,
      );
    };
    expect(claimsOf(accessToken(await viaOwn(certificate)))["cnf"]).toEqual({ "x5t#S256": certificate.thumbprint });
    expect((await viaOwn(await selfSigned())).body["error"]).toBe("invalid_client");
    expect((await viaOwn(undefined, header(certificate))).body["error"]).toBe("invalid_client");
  });
});

describe("token exchange and certificates", () => {
  test("a bound subject token needs its certificate, and its binding is not passed on", async () => {
    const subject = await boundUserToken();
    const exchange = async (by: TestCertificate | undefined, metadata = {}) => {
      const exchanger = await fixtures.exchanger({}, metadata);
      const fields = { grant_type: grantTypes.tokenExchange, subject_token: subject, audience: api };
      const headers = { authorization: exchanger.authorization };
      return send("/token", { ...fields, subject_token_type: tokenTypes.accessToken }, by, headers);
    };
    for (const by of [undefined, otherCertificate]) expect((await exchange(by)).body["error"]).toBe("invalid_request");
    expect(claimsOf(accessToken(await exchange(certificate)))["cnf"]).toBeUndefined();
    const bound = await exchange(certificate, { tls_client_certificate_bound_access_tokens: true });
    expect(claimsOf(accessToken(bound))["cnf"]).toEqual({ "x5t#S256": certificate.thumbprint });
  });
});

describe("real clients", () => {
  test("openid-client: code by PAR, UserInfo and refresh with mutual TLS by the aliases", async () => {
    const { client } = await Application.register(fixtures, {
      token_endpoint_auth_method: "tls_client_auth",
      tls_client_auth_subject_dn: "CN=client",
      tls_client_certificate_bound_access_tokens: true,
      require_pkce: true,
    });
    const metadata = { use_mtls_endpoint_aliases: true };
    const config = await oidc.discovery(new URL(provider.issuer), client.client_id, metadata, oidc.TlsClientAuth(), {
      execute: [oidc.allowInsecureRequests],
    });
    config[oidc.customFetch] = fetchWithCertificate(platform, certificate) as oidc.CustomFetch;
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const expectedState = oidc.randomState();
    const url = await oidc.buildAuthorizationUrlWithPAR(config, {
      ...{ redirect_uri: redirectUri, scope: "openid email offline_access", prompt: "consent", state: expectedState },
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    });
    const { url: callback } = await person.browser().visit(url);
    const tokens = await oidc.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
    expect(claimsOf(tokens.access_token)["cnf"]).toEqual({ "x5t#S256": certificate.thumbprint });
    expect(await oidc.fetchUserInfo(config, tokens.access_token, person.sub)).toMatchObject({
      email: "mtls@example.com",
    });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(claimsOf(refreshed.access_token)["cnf"]).toEqual({ "x5t#S256": certificate.thumbprint });
    config[oidc.customFetch] = fetchWithCertificate(platform, otherCertificate) as oidc.CustomFetch;
    await expect(oidc.fetchUserInfo(config, tokens.access_token, person.sub)).rejects.toThrow();
  });

  test("oauth4webapi: a bound token, and its introspection by a resource server with mutual TLS", async () => {
    const issuer = new URL(provider.issuer);
    const insecure = { [oauth.allowInsecureRequests]: true } as const;
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
    );
    const client: oauth.Client = { client_id: await tlsClient(), use_mtls_endpoint_aliases: true };
    const options = { ...insecure, [oauth.customFetch]: fetchWithCertificate(platform, certificate) };
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      client,
      oauth.TlsClientAuth(),
      { scope: "read" },
      options,
    );
    const { access_token } = await oauth.processClientCredentialsResponse(as, client, response);
    const introspection = await oauth.introspectionRequest(as, client, oauth.TlsClientAuth(), access_token, options);
    const claims = await oauth.processIntrospectionResponse(as, client, introspection);
    expect(claims.cnf).toEqual({ "x5t#S256": certificate.thumbprint });
  });
});
