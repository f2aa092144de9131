import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

/** Dynamic registration (RFC 7591) and its management (RFC 7592), at the running provider, where registration is open. */
const redirectUri = "https://agent.example.com/callback";
const code_verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const agent = {
  client_name: "Registered agent",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};

let person: Person;
beforeAll(async () => {
  person = (await registerPerson(fixtures)).browser();
});

async function send(method: string, url: string, body?: unknown, token?: string): Promise<ApiResponse> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, text, body: parsed };
}

const register = (body: unknown, token?: string) => send("POST", `${fixtures.origin}/register`, body, token);

async function registered(body: unknown = agent) {
  const response = await register(body);
  expect(response.status, response.text).toBe(201);
  const { client_id, registration_client_uri, registration_access_token } = response.body;
  return {
    ...response,
    id: String(client_id),
    uri: String(registration_client_uri),
    token: String(registration_access_token),
  };
}

function authorizeUrl(clientId: string, more: Record<string, string> = {}): URL {
  const url = new URL(`${fixtures.issuer}/authorize`);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "openid offline_access",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    ...more,
  }).toString();
  return url;
}

async function connect(clientId: string) {
  const { url } = await person.visit(authorizeUrl(clientId));
  const code = url.searchParams.get("code") ?? "";
  const form = {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier,
  };
  const response = await postForm(`${fixtures.origin}/token`, form);
  expect(response.status, response.text).toBe(200);
  return response.body;
}

function refresh(clientId: string, token: unknown) {
  const form = { grant_type: "refresh_token", refresh_token: String(token), client_id: clientId };
  return postForm(`${fixtures.origin}/token`, form);
}

describe("RFC 7591 §3: registration", () => {
  test("§3.2.1: the response contains the registered metadata and the means to manage it", async () => {
    const { body, headers } = await registered();
    expect(body).toEqual({
      client_id: expect.stringMatching(/^c[\w-]{22}$/),
      client_id_issued_at: expect.any(Number),
      registration_access_token: expect.stringMatching(/^[\w-]{22}$/),
      registration_client_uri: `${fixtures.issuer}/register/${String(body["client_id"])}`,
      ...agent,
      application_type: "web",
      response_types: ["code"],
      scope: "openid profile email address phone offline_access",
    });
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("it connects, after a consent that shows its origin; an administrator finds it and cuts it off", async () => {
    const { id } = await registered();
    const start = await person.open(authorizeUrl(id));
    const page = start.kind === "page" && start.name === "sign-in" ? await person.submit(start) : start;
    expect(textOf(page.kind === "page" ? page.html : "")).toContain(
      "This application registered itself and has not been reviewed.",
    );
    const tokens = await connect(id);
    expect((await fixtures.admin.call("GET", `/clients/${id}`)).body).toMatchObject({ origin: "registration" });
    expect((await refresh(id, tokens["refresh_token"])).status).toBe(200);
    await fixtures.admin.call("DELETE", `/clients/${id}`);
    const gone = await refresh(id, tokens["refresh_token"]);
    expect([gone.status, gone.body["error"]]).toEqual([401, "invalid_client"]);
    const response = await fetch(authorizeUrl(id), { headers: { accept: "application/json" }, redirect: "manual" });
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([400, "invalid_client"]);
  });

  test("§2: a confidential client gets a secret, which is shown once; private_key_jwt needs keys", async () => {
    const { body, uri, token } = await registered({ redirect_uris: [redirectUri] });
    expect(body).toMatchObject({
      token_endpoint_auth_method: "client_secret_basic",
      client_secret: expect.stringMatching(/^[\w-]{43}$/),
      client_secret_expires_at: 0,
    });
    expect((await send("GET", uri, undefined, token)).body).not.toHaveProperty("client_secret");
    const keyed = { ...agent, token_endpoint_auth_method: "private_key_jwt" };
    expect((await register(keyed)).body["error"]).toBe("invalid_client_metadata");
    const { publicKey } = await generateKeyPair("ES256");
    await registered({ ...keyed, jwks: { keys: [await exportJWK(publicKey)] } });
  });

  test("RFC 8252 §7.3: a native client on localhost may use any port", async () => {
    const native = { ...agent, application_type: "native", redirect_uris: ["http://localhost/callback"] };
    const { id } = await registered(native);
    const page = await person.openPage(authorizeUrl(id, { redirect_uri: "http://localhost:40123/callback" }));
    expect(page.html).toContain('id="local-only"');
  });

  test("RP Metadata Choices 1.0 §2: the best supported of several values; the preferred one only if it is supported", async () => {
    const { body } = await registered({
      ...agent,
      token_endpoint_auth_method: undefined,
      token_endpoint_auth_methods_supported: ["tls_client_auth", "none", "client_secret_basic"],
      id_token_signing_alg_values_supported: ["PS512", "EdDSA", "ES256"],
      id_token_signed_response_alg: "ES512",
    });
    expect(body).toMatchObject({
      token_endpoint_auth_method: "client_secret_basic",
      id_token_signed_response_alg: "ES256",
    });
    for (const [token_endpoint_auth_method, list, chosen] of [
      ["none", ["client_secret_basic", "none"], "none"],
      ["tls_client_auth", ["tls_client_auth", "client_secret_post"], "client_secret_post"],
    ] as const) {
      const preferred = { token_endpoint_auth_method, token_endpoint_auth_methods_supported: list };
      expect((await registered({ ...agent, ...preferred })).body["token_endpoint_auth_method"]).toBe(chosen);
    }
    const none = await register({ ...agent, subject_types_supported: ["other"] });
    expect([none.status, none.body["error"]]).toEqual([400, "invalid_client_metadata"]);
  });

  test("OIDC Registration §2, JARM §3: a client registers encryption with its key, and an unsupported algorithm is refused", async () => {
    const { publicKey } = await generateKeyPair("ECDH-ES", { extractable: true });
    const members = {
      ...{ id_token_encrypted_response_alg: "ECDH-ES", userinfo_encrypted_response_alg: "ECDH-ES" },
      ...{ authorization_signed_response_alg: "PS256", authorization_encrypted_response_alg: "ECDH-ES" },
      ...{ request_object_encryption_alg: "ECDH-ES", request_object_encryption_enc: "A256GCM" },
    };
    const keyed = { ...agent, jwks: { keys: [await exportJWK(publicKey)] } };
    expect((await registered({ ...keyed, ...members })).body).toMatchObject(members);
    const refused = await register({ ...keyed, ...members, id_token_encrypted_response_alg: "RSA1_5" });
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_client_metadata"]);
  });

  test("§2: unknown members, and those that only an administrator may set, are ignored", async () => {
    const { body, id } = await registered({
      ...agent,
      skip_consent: true,
      audiences: ["*"],
      token_exchange: { subject_clients: ["*"] },
      scope: "openid admin:clients roles",
      access_token_lifetime: 86_400,
      client_id: "mine",
      status: "active",
      software_version: "1",
    });
    expect(id).not.toBe("mine");
    expect(body["scope"]).toBe("openid");
    const stored = (await fixtures.admin.call("GET", `/clients/${id}`)).body;
    expect(stored).toMatchObject({ audiences: [], scope: "openid" });
    for (const name of ["skip_consent", "token_exchange", "access_token_lifetime"])
      expect(stored).not.toHaveProperty(name);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["no redirect URI", { redirect_uris: [] }, "invalid_redirect_uri"],
    ["a fragment", { redirect_uris: [`${redirectUri}#x`] }, "invalid_redirect_uri"],
    ["a script", { redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
    ["http on another host", { redirect_uris: ["http://agent.example.com/"] }, "invalid_redirect_uri"],
    ["a wildcard", { redirect_uris: ["https://*.example.com/"] }, "invalid_redirect_uri"],
    ["client_credentials alone", { grant_types: ["client_credentials"] }, "invalid_client_metadata"],
    ["an unknown method", { token_endpoint_auth_method: "tls" }, "invalid_client_metadata"],
    ["jwks and jwks_uri", { jwks: { keys: [] }, jwks_uri: "https://a.example/jwks" }, "invalid_client_metadata"],
    [
      "a private key",
      { jwks: { keys: [{ kty: "EC", crv: "P-256", x: "a", y: "b", d: "c" }] } },
      "invalid_client_metadata",
    ],
    ["keys at a private address", { jwks_uri: "https://192.168.1.1/jwks" }, "invalid_client_metadata"],
    ["logout at a private address", { backchannel_logout_uri: "https://[fd00::1]/" }, "invalid_client_metadata"],
    ["a sector at a private address", { sector_identifier_uri: "https://127.1.2.3/" }, "invalid_client_metadata"],
    ["a name that nobody sees", { client_name: "\u200b\u3164 " }, "invalid_client_metadata"],
    ["a name that reorders the text after it", { client_name: "a\u202eb" }, "invalid_client_metadata"],
    ["userinfo in a redirect URI", { redirect_uris: ["https://u:p@agent.example.com/"] }, "invalid_redirect_uri"],
    [
      "an untrusted statement",
      { software_statement: "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln" },
      "unapproved_software_statement",
    ],
    ["a statement without alg", { software_statement: "e30.eyJpc3MiOiJ4In0.c2ln" }, "invalid_software_statement"],
    ["no statement", { software_statement: 1 }, "invalid_software_statement"],
  ])("§3.2.2: %s is refused, and nothing is registered", async (_, wrong, code) => {
    const { status, body } = await register({ ...agent, ...wrong });
    expect([status, body["error"], body["client_id"]]).toEqual([400, code, undefined]);
  });

  test.each([
    ["not JSON", "{"],
    ["a list", "[]"],
    ["a text", '"x"'],
    ["null", "null"],
  ])("§3.1: a body that is %s is 400", async (_, body) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    expect((await fetch(`${fixtures.origin}/register`, init)).status).toBe(400);
  });

  test("CORS: a browser application may register and manage its registration", async () => {
    const headers = { origin: "https://app.example.com", "access-control-request-method": "PUT" };
    const preflight = await fetch(`${fixtures.origin}/register/x`, { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "GET, HEAD, PUT, DELETE, OPTIONS",
    ]);
    const metadata = await (await fetch(`${fixtures.origin}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({ registration_endpoint: `${fixtures.issuer}/register` });
  });

  test("§1.2: a presented token must be an initial access token, even if registration is open", async () => {
    const registrar = await fixtures.client({
      scope: "client:register read",
      audiences: [`${fixtures.issuer}/register`],
    });
    const initial = await fixtures.clientToken(registrar, { scope: "client:register" });
    expect((await register(agent, initial)).status).toBe(201);
    const other = await fixtures.clientToken(registrar, { scope: "read" });
    expect((await register(agent, other)).status).toBe(403);
    expect((await register(agent, "forged")).status).toBe(401);
    const elsewhere = await fixtures.client({ scope: "client:register", audiences: ["https://api.example.com"] });
    expect((await register(agent, await fixtures.clientToken(elsewhere))).status).toBe(401);
  });
});

/** Every member of client metadata that an administrator can write, and its result at /register. `undefined`: it is ignored. */
describe("RFC 7591 §2, §3.2.1: each member is registered and returned, or named as ignored", () => {
  const uri = "https://agent.example.com/page";
  const asked: Record<string, { readonly value: unknown; readonly with?: object } | undefined> = {
    ...Object.fromEntries(["client_uri", "logo_uri", "tos_uri", "policy_uri"].map((name) => [name, { value: uri }])),
    ...Object.fromEntries(
      ["id_token", "userinfo", "introspection", "authorization"].map((of) => [
        `${of}_signed_response_alg`,
        { value: "ES256" },
      ]),
    ),
    ...Object.fromEntries(
      ["id_token", "userinfo", "authorization"].flatMap((of) => {
        const members = { [`${of}_encrypted_response_alg`]: "ECDH-ES", [`${of}_encrypted_response_enc`]: "A256GCM" };
        return Object.entries(members).map(([name, value]) => [
          name,
          { value, with: { ...members, jwks: "encryption" } },
        ]);
      }),
    ),
    client_name: { value: "Agent" },
    contacts: { value: ["help@agent.example.com"] },
    application_type: { value: "native" },
    token_endpoint_auth_method: { value: "client_secret_post" },
    token_endpoint_auth_signing_alg: { value: "ES256" },
    grant_types: { value: ["refresh_token", "authorization_code"] },
    response_types: { value: ["code"] },
    redirect_uris: { value: [redirectUri] },
    post_logout_redirect_uris: { value: [uri] },
    initiate_login_uri: { value: uri },
    scope: { value: "profile openid" },
    jwks: { value: "signing" },
    jwks_uri: { value: uri },
    subject_type: { value: "pairwise" },
    sector_identifier_uri: undefined,
    default_max_age: { value: 60 },
    require_auth_time: { value: true },
    default_acr_values: { value: ["urn:edge-op:acr:password"] },
    request_object_signing_alg: { value: "ES256", with: { jwks: "signing" } },
    request_object_encryption_alg: { value: "ECDH-ES", with: { jwks: "signing" } },
    request_object_encryption_enc: {
      value: "A256GCM",
      with: { jwks: "signing", request_object_encryption_alg: "ECDH-ES" },
    },
    require_signed_request_object: { value: true, with: { jwks: "signing" } },
    require_pushed_authorization_requests: { value: true },
    backchannel_logout_uri: { value: uri },
    backchannel_logout_session_required: { value: true },
    frontchannel_logout_uri: { value: uri },
    frontchannel_logout_session_required: { value: true },
    id_token_claims: { value: "requested" },
    dpop_bound_access_tokens: { value: true },
    tls_client_certificate_bound_access_tokens: { value: true },
  };
  /** Members that only an administrator may set. */
  const administrative = {
    ...{ client_id: "chosen", status: "active", authorization_details_types: ["payment_initiation"] },
    ...{ tls_client_auth_subject_dn: "CN=a", tls_client_auth_san_dns: "a.example", tls_client_auth_san_uri: "urn:a" },
    ...{ tls_client_auth_san_ip: "192.0.2.1", tls_client_auth_san_email: "a@a.example" },
    ...{ access_token_signed_response_alg: "ES256", access_token_lifetime: 86_400, dpop_nonce_required: true },
    ...{
      refresh_token_grace: 60,
      security_profile: "fapi2",
      audiences: ["*"],
      require_pkce: false,
      skip_consent: true,
      require_mfa: true,
    },
    ...{
      token_exchange: { subject_clients: ["*"] },
      jwt_bearer: { subjects: ["*"] },
      id_jag_targets: ["https://other.example"],
    },
    introspection: { clients: ["*"] },
    organization: "allowed",
  };

  test("the table contains every member of the admin API", async () => {
    const { components } = (await send("GET", `${fixtures.origin}/admin/openapi.json`)).body as {
      components: { schemas: { ClientCreate: { properties: object } } };
    };
    const members = Object.keys(components.schemas.ClientCreate.properties).filter(
      // A secret is chosen only by an import from another product.
      (name) => !name.endsWith("_supported") && name !== "client_secret",
    );
    expect([...Object.keys(asked), ...Object.keys(administrative)].toSorted()).toEqual(members.toSorted());
  });

  test.each(Object.entries(asked).filter(([, each]) => each !== undefined))("%s is registered", async (name, each) => {
    const keys = {
      signing: await exportJWK((await generateKeyPair("ES256")).publicKey),
      encryption: await exportJWK((await generateKeyPair("ECDH-ES")).publicKey),
    };
    const { value, ...more } = each!;
    const members: Record<string, unknown> = { redirect_uris: [redirectUri], ...more.with, [name]: value };
    if (members["jwks"] !== undefined) members["jwks"] = { keys: [keys[members["jwks"] as keyof typeof keys]] };
    const { body, uri: own, token } = await registered(members);
    expect(body[name]).toEqual(members[name]);
    expect(body).not.toHaveProperty("ignored_members");
    expect((await send("GET", own, undefined, token)).body[name]).toEqual(members[name]);
    const replaced = await send("PUT", own, { ...members, client_id: body["client_id"] }, token);
    expect([replaced.body[name], replaced.body["ignored_members"]]).toEqual([members[name], undefined]);
  });

  test("members that an administrator sets or rules, and unknown ones, are named", async () => {
    const unknown = { software_version: "1", request_uris: [uri], toString: "x" };
    const { body, id, uri: own, token } = await registered({ ...agent, ...administrative, ...unknown });
    const names = [...Object.keys(administrative), ...Object.keys(unknown)];
    expect([...(body["ignored_members"] as string[])].toSorted()).toEqual(names.toSorted());
    for (const name of names) if (name !== "client_id") expect(Object.hasOwn(body, name), name).toBe(false);
    const replaced = await send("PUT", own, { ...agent, ...administrative, client_id: id }, token);
    expect(replaced.body["ignored_members"]).toEqual(
      Object.keys(administrative).filter((name) => name !== "client_id"),
    );
  });

  test("a narrowed list is named too; a value chosen from a list is not", async () => {
    const { body } = await registered({
      ...agent,
      grant_types: ["authorization_code", "implicit"],
      response_types: ["code", "id_token"],
      scope: "openid admin:clients",
      id_token_signing_alg_values_supported: ["ES256"],
      introspection_signing_alg_values_supported: ["PS512", "ES256"],
      authorization_signing_alg_values_supported: ["ES256"],
    });
    expect(body["ignored_members"]).toEqual(["grant_types", "response_types", "scope"]);
    expect(body).toMatchObject({
      grant_types: ["authorization_code"],
      scope: "openid",
      id_token_signed_response_alg: "ES256",
      introspection_signed_response_alg: "ES256",
      authorization_signed_response_alg: "ES256",
    });
  });

  test.each(["http://localhost:8443/start", "http://127.0.0.1/start", `${uri}#x`, "javascript:alert(1)", "/start"])(
    "OIDC Core §4: initiate_login_uri must be https: %s is refused, and by the admin API",
    async (initiate_login_uri) => {
      const { status, body } = await register({ ...agent, initiate_login_uri });
      expect([status, body["error"]]).toEqual([400, "invalid_client_metadata"]);
      const byAdministrator = await fixtures.admin.call("POST", "/clients", { ...agent, initiate_login_uri });
      expect([byAdministrator.status, byAdministrator.body["error"]]).toEqual([400, "invalid_client_metadata"]);
    },
  );
});

describe("RFC 7592 §2: management", () => {
  test("§2.1: a client reads its registration with its token; another token, or none, is 401", async () => {
    const { body, uri, token } = await registered();
    expect((await send("GET", uri, undefined, token)).body).toEqual(body);
    const other = await registered();
    for (const wrong of [undefined, "forged", other.token]) {
      const refused = await send("GET", uri, undefined, wrong);
      expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_token"]);
      expect(refused.headers.get("www-authenticate")).toContain("Bearer");
    }
    const unknown = await send("GET", `${fixtures.origin}/register/unknown`, undefined, token);
    expect(unknown.status).toBe(401);
    const managed = await fixtures.client();
    expect((await send("GET", `${fixtures.origin}/register/${managed.client_id}`, undefined, token)).status).toBe(401);
  });

  test("§2.2: a replacement follows the rules of a registration; an omitted member gets its default", async () => {
    const { id, uri, token } = await registered({ ...agent, contacts: ["a@agent.example.com"] });
    const changed = await send("PUT", uri, { ...agent, client_id: id, client_name: "Renamed" }, token);
    expect(changed.status, changed.text).toBe(200);
    expect(changed.body).toMatchObject({ client_name: "Renamed" });
    expect(changed.body).not.toHaveProperty("contacts");
    const page = await person.open(authorizeUrl(id));
    expect(page.kind === "page" && page.html).toContain("Renamed");
    const greedy = await send("PUT", uri, { ...agent, client_id: id, skip_consent: true, audiences: ["*"] }, token);
    expect(greedy.status).toBe(200);
    expect((await fixtures.admin.call("GET", `/clients/${id}`)).body).toMatchObject({ audiences: [] });
    for (const wrong of [{ ...agent }, { ...agent, client_id: "other" }, { client_id: id, redirect_uris: ["x"] }]) {
      expect((await send("PUT", uri, wrong, token)).status).toBe(400);
    }
    const secret = await send("PUT", uri, { redirect_uris: [redirectUri], client_id: id }, token);
    expect(secret.body).toMatchObject({ client_secret: expect.any(String) });
  });

  test("§2.2: a replacement does not lift an administrator's rules", async () => {
    const { id, uri, token } = await registered();
    const rules = { dpop_nonce_required: true, access_token_lifetime: 60 };
    await fixtures.admin.require("PATCH", `/clients/${id}`, rules);
    const lifted = { ...agent, client_id: id, dpop_nonce_required: false, access_token_lifetime: 86_400 };
    expect((await send("PUT", uri, lifted, token)).body).toMatchObject(rules);
    await fixtures.admin.require("PATCH", `/clients/${id}`, { dpop_nonce_required: null, access_token_lifetime: null });
    expect((await send("PUT", uri, lifted, token)).body).not.toHaveProperty("access_token_lifetime");
  });

  test("§2.2: concurrent replacements succeed or are 409, never a 5xx", async () => {
    const { id, uri, token } = await registered();
    const names = Array.from({ length: 8 }, (_, index) => `Agent ${index}`);
    const responses = await Promise.all(
      names.map((client_name) => send("PUT", uri, { ...agent, client_id: id, client_name }, token)),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(statuses).toContain(200);
    expect(names).toContain((await send("GET", uri, undefined, token)).body["client_name"]);
  });

  test("§2.2: a client_secret in a replacement must be the client's own, and cannot be chosen", async () => {
    const { token_endpoint_auth_method: _, ...confidential } = agent;
    const { id, uri, token, body } = await registered(confidential);
    const replace = (client_secret: unknown) =>
      send("PUT", uri, { ...confidential, client_id: id, client_secret }, token);
    for (const chosen of ["a secret of its own choice", 5, [body["client_secret"]]]) {
      const refused = await replace(chosen);
      expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_client_metadata"]);
      expect(refused.body["error_description"]).toContain("client_secret");
    }
    expect((await replace(body["client_secret"])).status).toBe(200);
    expect((await replace(undefined)).status).toBe(200);
  });

  test("§2: a name that would reorder the text of a page is refused", async () => {
    const response = await register({ ...agent, client_name: "\u202emoc.elgoog" });
    expect([response.status, response.body["error"]]).toEqual([400, "invalid_client_metadata"]);
  });

  test("§2.3: a deletion ends its grants and its token at once", async () => {
    const { id, uri, token } = await registered();
    const tokens = await connect(id);
    expect((await send("DELETE", uri, undefined, token)).status).toBe(204);
    expect((await refresh(id, tokens["refresh_token"])).body["error"]).toBe("invalid_client");
    expect((await send("GET", uri, undefined, token)).status).toBe(401);
    const introspector = await fixtures.client({ introspection: { clients: ["*"] } });
    expect(await fixtures.isActive(introspector, String(tokens["access_token"]))).toBe(false);
  });
});

test("RFC 7591 §2.3: a statement signed by an unknown key is not accepted for its claims", async () => {
  const { privateKey } = await generateKeyPair("ES256");
  const statement = await new SignJWT({ ...agent, iss: "https://statements.example.com" })
    .setProtectedHeader({ alg: "ES256" })
    .sign(privateKey);
  expect((await register({ ...agent, software_statement: statement })).body["error"]).toBe(
    "unapproved_software_statement",
  );
});
