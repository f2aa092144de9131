/**
 * **The checks of the certification suite of Config OP** (discovery-endpoint-verification, jwks), and those of the logout suites on the metadata. All
 * other files test that the listed values work.
 *
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata
 */

import { importJWK, type JWK } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { provider } from "./fixtures/shared-provider.ts";

const algorithms = ["ES256", "RS256", "EdDSA", "PS256"];

let metadata: Record<string, unknown>;
let keys: readonly JWK[];

beforeAll(async () => {
  const url = `${provider.origin}/.well-known/openid-configuration`;
  ({ body: metadata } = await readResponse(await fetch(url)));
  const { body } = await readResponse(await fetch(String(metadata["jwks_uri"])));
  keys = body["keys"] as JWK[];
});

const standardScopes = ["openid", "profile", "email", "address", "phone", "offline_access"];

describe("Config OP, OpenID Connect Discovery 1.0 §3", () => {
  test.each([
    ["response_types_supported", ["code"]],
    [
      "response_modes_supported",
      ["query", "fragment", "form_post", "jwt", "query.jwt", "fragment.jwt", "form_post.jwt"],
    ],
    ["subject_types_supported", ["public", "pairwise"]],
    ["id_token_signing_alg_values_supported", algorithms],
    ["userinfo_signing_alg_values_supported", algorithms],
    ["request_object_signing_alg_values_supported", algorithms],
    ["token_endpoint_auth_signing_alg_values_supported", algorithms],
    [
      "token_endpoint_auth_methods_supported",
      [
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
        "tls_client_auth",
        "self_signed_tls_client_auth",
        "none",
      ],
    ],
    ["scopes_supported", [...standardScopes, "roles", "groups", "permissions", "organizations"]],
    ["claim_types_supported", ["normal"]],
    ["code_challenge_methods_supported", ["S256"]],
    ["prompt_values_supported", ["none", "login", "consent", "select_account"]],
    ["acr_values_supported", ["urn:edge-op:acr:password", "phr", "mfa", "urn:edge-op:acr:upstream"]],
  ])("%s", (name, values) => {
    expect([...(metadata[name] as string[])].sort()).toEqual([...values].sort());
  });

  test("§3: flags are booleans; request_uri_parameter_supported, whose default is true, is false", () => {
    expect(metadata).toMatchObject({
      claims_parameter_supported: true,
      request_parameter_supported: true,
      request_uri_parameter_supported: false,
      require_pushed_authorization_requests: false,
      authorization_response_iss_parameter_supported: true,
    });
  });

  test("§3: claims_supported lists each claim that a scope can return", () => {
    const claims = metadata["claims_supported"] as string[];
    for (const name of [
      "sub",
      "auth_time",
      "acr",
      "name",
      "updated_at",
      "email",
      "address",
      "phone_number",
      "sid",
      "roles",
      "groups",
    ]) {
      expect(claims).toContain(name);
    }
  });

  test("§3: unsupported features are not listed", () => {
    for (const name of ["check_session_iframe"]) {
      expect(metadata).not.toHaveProperty(name);
    }
    expect(JSON.stringify(metadata)).not.toContain('"implicit"');
  });

  test("RP-Initiated Logout §2.1, Back-Channel Logout §2.1", () => {
    expect(metadata).toMatchObject({
      end_session_endpoint: `${provider.issuer}/logout`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    });
  });

  test("§4.2: JSON, for the exact issuer; with a slash or in another case there is no document", async () => {
    const response = await fetch(`${provider.origin}/.well-known/openid-configuration`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    for (const path of ["/.well-known/openid-configuration/", "/.well-known/OpenID-Configuration"]) {
      expect((await fetch(`${provider.origin}${path}`)).status, path).toBe(404);
    }
  });
});

describe("Config OP, the key set", () => {
  test("RFC 7518 §3.3, §6: each key fits its algorithm; RSA keys have at least 2048 bits", async () => {
    for (const key of keys) {
      await importJWK(key, key.alg!);
      if (key.kty === "RSA") expect(Buffer.from(key.n!, "base64url").length).toBeGreaterThanOrEqual(256);
      if (key.alg === "ES256") expect([key.kty, key.crv]).toEqual(["EC", "P-256"]);
      if (key.alg === "EdDSA") expect([key.kty, key.crv]).toEqual(["OKP", "Ed25519"]);
    }
  });

  test("protocols.md §4 (K1): the successor of each signing key is known before it signs", () => {
    for (const alg of algorithms) {
      expect(keys.filter((key) => key.alg === alg).length, alg).toBeGreaterThanOrEqual(2);
    }
  });
});
