import { env } from "cloudflare:workers";
import type { FrontDoorEnv } from "@edge-op/workers/env";
import { expect, it } from "vitest";
import { call } from "../../../test/fixtures/call.ts";
import { createApp } from "../src/app.ts";
import { findOwner } from "../src/forwarding.ts";

const bindings = env as unknown as FrontDoorEnv;

async function metadata(path = "/.well-known/openid-configuration"): Promise<Record<string, unknown>> {
  return (await call(createApp(), bindings, path)).json();
}

const confidentialMethods = [
  ...["client_secret_basic", "client_secret_post", "private_key_jwt"],
  ...["tls_client_auth", "self_signed_tls_client_auth"],
];

it("OIDC Discovery §3, RFC 8414 §2: the complete document", async () => {
  expect(await metadata()).toMatchObject({
    issuer: "https://op.example.com",
    authorization_endpoint: "https://op.example.com/authorize",
    token_endpoint: "https://op.example.com/token",
    userinfo_endpoint: "https://op.example.com/userinfo",
    jwks_uri: "https://op.example.com/jwks",
    introspection_endpoint: "https://op.example.com/introspect",
    revocation_endpoint: "https://op.example.com/revoke",
    pushed_authorization_request_endpoint: "https://op.example.com/par",
    device_authorization_endpoint: "https://op.example.com/device_authorization",
    end_session_endpoint: "https://op.example.com/logout",
    response_types_supported: ["code"],
    grant_types_supported: [
      "authorization_code",
      "refresh_token",
      "client_credentials",
      "urn:ietf:params:oauth:grant-type:device_code",
      "urn:ietf:params:oauth:grant-type:token-exchange",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ],
    token_endpoint_auth_methods_supported: [...confidentialMethods, "none"],
    introspection_endpoint_auth_methods_supported: confidentialMethods,
    revocation_endpoint_auth_methods_supported: [...confidentialMethods, "none"],
    tls_client_certificate_bound_access_tokens: true,
    scopes_supported: [
      ...["openid", "profile", "email", "address", "phone"],
      ...["roles", "groups", "permissions", "organizations", "offline_access"],
    ],
    subject_types_supported: ["public", "pairwise"],
    id_token_signing_alg_values_supported: ["ES256", "RS256", "EdDSA", "PS256"],
    code_challenge_methods_supported: ["S256"],
    request_uri_parameter_supported: false,
  });
});

it("RFC 8414 §3.1: both paths serve the same document, to any origin, and it may be cached", async () => {
  const paths = ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"];
  const [openid, oauth] = await Promise.all(paths.map((path) => call(createApp(), bindings, path)));
  for (const response of [openid!, oauth!]) {
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(response.headers.get("Cache-Control")).toBe("public, max-age=3600");
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  }
  expect(await oauth!.json()).toEqual(await openid!.json());
});

it("RFC 9110 §13.1.2: a client that has the document receives 304 without a body", async () => {
  const path = "/.well-known/openid-configuration";
  const app = createApp();
  const etag = (await call(app, bindings, path)).headers.get("ETag")!;
  expect(etag).toMatch(/^"[\w-]{22}"$/);
  for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const response = await call(app, bindings, path, { headers: { "if-none-match": ifNoneMatch } });
    expect([response.status, await response.text()]).toEqual([304, ""]);
    expect(response.headers.get("ETag")).toBe(etag);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  }
  const other = await call(app, bindings, path, { headers: { "if-none-match": '"other"' } });
  expect(other.status).toBe(200);
});

it("OIDC Discovery §3: every required member is present", async () => {
  expect(Object.keys(await metadata())).toEqual(
    expect.arrayContaining([
      "issuer",
      "authorization_endpoint",
      "token_endpoint",
      "jwks_uri",
      "response_types_supported",
      "subject_types_supported",
      "id_token_signing_alg_values_supported",
    ]),
  );
});

it("OIDC Discovery §3: RS256 is among the ID token algorithms, `none` is not", async () => {
  for (const [name, values] of Object.entries(await metadata())) {
    if (!name.includes("_alg_values_supported")) continue;
    if (name.includes("_encryption_")) expect(values, name).toContain("RSA-OAEP-256");
    else expect(values, name).toContain("RS256");
    for (const weak of ["none", "HS256", "RSA1_5", "dir"]) expect(values, name).not.toContain(weak);
  }
});

it("every endpoint it names is under the issuer, and some Worker serves it", async () => {
  for (const [name, value] of Object.entries(await metadata())) {
    if (!name.endsWith("_endpoint") && name !== "jwks_uri") continue;
    expect(value, name).toMatch(/^https:\/\/op\.example\.com\/[a-z_]+$/);
    const { pathname } = new URL(String(value));
    expect(pathname === "/jwks" || findOwner(pathname) !== undefined, name).toBe(true);
  }
});

it("OpenID Connect Prompt Create §4.3: create is listed where everybody may sign up", async () => {
  const listed = async (settings: object) => {
    const path = "/.well-known/openid-configuration";
    const document = await (await call(createApp(), { ...bindings, ...settings } as FrontDoorEnv, path)).json();
    return (document as { prompt_values_supported: string[] }).prompt_values_supported.includes("create");
  };
  const mail = { MAIL_PROVIDER: "resend", MAIL_FROM: "no-reply@example.com" };
  expect(await listed({})).toBe(false);
  expect(await listed({ ...mail, SIGN_UP: "invitation" })).toBe(false);
  expect(await listed({ ...mail, SIGN_UP: "open" })).toBe(true);
});
