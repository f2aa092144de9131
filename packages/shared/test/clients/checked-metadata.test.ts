import { describe, expect, it } from "vitest";
import { requireDocument as requireDocumentOf } from "../../src/clients/checked-metadata.ts";

const web = { redirect_uris: ["https://app.example/cb"] };

const publicKey = {
  kty: "EC",
  crv: "P-256",
  x: "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
  y: "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
};

const assertionClient = {
  grant_types: ["client_credentials"],
  token_endpoint_auth_method: "private_key_jwt",
};

const requireDocument = (document: Record<string, unknown>) =>
  requireDocumentOf(document, { issuer: "https://op.example.com", privateUseSchemes: [] });

/** The refusal that the caller receives. */
async function refusalOf(document: Record<string, unknown>) {
  const result = await requireDocument(document).then(
    () => undefined,
    (error: { code: string; description: string; fields: unknown }) => error,
  );
  expect(result).toBeDefined();
  return { code: result?.code, description: result?.description };
}

const pairwiseFault =
  "sector_identifier_uri: is required for pairwise subjects unless all redirect_uris are https with one host, or none is https with a host of its own";

describe("RFC 7591 §2: omitted members of a client", () => {
  it("RFC 7591 §2: an authorization code client gets code, client_secret_basic and openid", async () => {
    expect(await requireDocument(web)).toEqual({
      application_type: "web",
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["authorization_code"],
      response_types: ["code"],
      redirect_uris: ["https://app.example/cb"],
      scope: "openid",
      audiences: [],
    });
  });

  it("RFC 7591 §2: a client without the code grant gets no scope and no response type", async () => {
    expect(await requireDocument({ grant_types: ["client_credentials"] })).toMatchObject({
      response_types: [],
      redirect_uris: [],
      scope: "",
    });
  });
});

describe("RFC 7591 §3.2.2: refusals name the field", () => {
  const table: [claim: string, document: Record<string, unknown>, code: string, description: string][] = [
    [
      "the code grant needs redirect_uris",
      {},
      "invalid_redirect_uri",
      "redirect_uris: is required for the grant type authorization_code",
    ],
    [
      "a relative redirect URI",
      { redirect_uris: ["/cb"] },
      "invalid_redirect_uri",
      "redirect_uris[0]: must be an absolute URI without a fragment",
    ],
    [
      "a redirect URI with a fragment",
      { redirect_uris: ["https://app.example/cb", "https://app.example/#x"] },
      "invalid_redirect_uri",
      "redirect_uris[1]: must be an absolute URI without a fragment",
    ],
    [
      "an unknown field",
      { ...web, redirect_uri: "x" },
      "invalid_client_metadata",
      "redirect_uri: is not a known field",
    ],
    [
      "an unknown field of a policy",
      { ...web, jwt_bearer: { subjects: [], scopes: [], x: 1 } },
      "invalid_client_metadata",
      "jwt_bearer.x: is not a known field",
    ],
    [
      "a missing field of a policy",
      { ...web, jwt_bearer: { subjects: [] } },
      "invalid_client_metadata",
      "jwt_bearer.scopes: is required",
    ],
    ["a wrong type", { ...web, client_name: 5 }, "invalid_client_metadata", "client_name: must be a string"],
    [
      "a name with a control character",
      { ...web, client_name: "a\u0007b" },
      "invalid_client_metadata",
      "client_name: must not contain control characters",
    ],
    [
      "text that is not Unicode",
      { ...web, client_name: "\ud800" },
      "invalid_client_metadata",
      "client_name: must not contain control characters",
    ],
    [
      "a lifetime of 0",
      { ...web, access_token_lifetime: 0 },
      "invalid_client_metadata",
      "access_token_lifetime: must be at least 1",
    ],
    [
      "a lifetime over a day",
      { ...web, access_token_lifetime: 86_401 },
      "invalid_client_metadata",
      "access_token_lifetime: must be at most 86400",
    ],
    [
      "a lifetime that is no whole number",
      { ...web, access_token_lifetime: 1.5 },
      "invalid_client_metadata",
      "access_token_lifetime: must be a whole number",
    ],
    [
      "alg none",
      { ...web, id_token_signed_response_alg: "none" },
      "invalid_client_metadata",
      "id_token_signed_response_alg: must be one of ES256, RS256, EdDSA, PS256",
    ],
    [
      "RFC 6749 §3.3: two spaces in scope",
      { ...web, scope: "a  b" },
      "invalid_client_metadata",
      "scope: must be scope values separated by single spaces",
    ],
    [
      "RFC 6749 §3.3: a quote in scope",
      { ...web, scope: 'a"' },
      "invalid_client_metadata",
      "scope: must be scope values separated by single spaces",
    ],
    [
      "an empty audience",
      { ...web, audiences: [""] },
      "invalid_client_metadata",
      "audiences[0]: must be at least 1 characters long",
    ],
    [
      "an audience with white space",
      { ...web, audiences: ["a b"] },
      "invalid_client_metadata",
      "audiences[0]: must be a URI or a name without white space",
    ],
    [
      '"*" beside a name',
      { ...web, audiences: ["*", "api"] },
      "invalid_client_metadata",
      'audiences: "*" must stand alone',
    ],
    [
      "a repeated redirect URI",
      { redirect_uris: ["https://a.example/", "https://a.example/"] },
      "invalid_redirect_uri",
      "redirect_uris: must not repeat a value",
    ],
    [
      "script in a link",
      { ...web, client_uri: "javascript:alert(1)" },
      "invalid_client_metadata",
      "client_uri: must be an https URL",
    ],
    [
      "jwks beside jwks_uri",
      { ...web, jwks: { keys: [publicKey] }, jwks_uri: "https://app.example/jwks" },
      "invalid_client_metadata",
      "jwks_uri: must not be given together with jwks",
    ],
    [
      "private_key_jwt without keys",
      assertionClient,
      "invalid_client_metadata",
      "jwks: jwks or jwks_uri is required for private_key_jwt",
    ],
    [
      "jwt-bearer with a policy, without keys",
      {
        grant_types: ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
        jwt_bearer: { subjects: ["*"], scopes: ["read"] },
      },
      "invalid_client_metadata",
      "jwks: jwks or jwks_uri is required for urn:ietf:params:oauth:grant-type:jwt-bearer",
    ],
    [
      "a private key",
      { ...assertionClient, jwks: { keys: [{ ...publicKey, d: "AAAA" }] } },
      "invalid_client_metadata",
      "jwks.keys[0].d: must be absent: only public keys are registered",
    ],
    [
      "a symmetric key",
      { ...assertionClient, jwks: { keys: [{ kty: "oct", k: "AAAA" }] } },
      "invalid_client_metadata",
      "jwks.keys[0].kty: must be a public key: kty RSA, EC or OKP",
    ],
    [
      "a point that is not on the curve",
      { ...assertionClient, jwks: { keys: [{ ...publicKey, y: publicKey.x }] } },
      "invalid_client_metadata",
      "jwks.keys[0]: is not a valid key",
    ],
    [
      "a kid twice",
      {
        ...assertionClient,
        jwks: {
          keys: [
            { ...publicKey, kid: "a" },
            { ...publicKey, kid: "a" },
          ],
        },
      },
      "invalid_client_metadata",
      "jwks.keys: must not repeat a kid",
    ],
    [
      "client_credentials for a public client",
      { grant_types: ["client_credentials"], token_endpoint_auth_method: "none" },
      "invalid_client_metadata",
      "grant_types: client_credentials requires a client that authenticates",
    ],
    [
      "token exchange for a public client",
      { grant_types: ["urn:ietf:params:oauth:grant-type:token-exchange"], token_endpoint_auth_method: "none" },
      "invalid_client_metadata",
      "grant_types: urn:ietf:params:oauth:grant-type:token-exchange requires a client that authenticates",
    ],
    [
      "RFC 9700 §2.1.1: no PKCE for a public client",
      { ...web, token_endpoint_auth_method: "none", require_pkce: false },
      "invalid_client_metadata",
      "require_pkce: must not be false for a client without authentication",
    ],
    [
      "RFC 9700 §4.14.2: a grace of more than 30 s for a public client with bearer tokens",
      { ...web, token_endpoint_auth_method: "none", refresh_token_grace: 31 },
      "invalid_client_metadata",
      "refresh_token_grace: must be at most 30 for a client that neither authenticates nor has bound tokens",
    ],
    [
      "a grace beyond the access token",
      { ...web, refresh_token_grace: 120, access_token_lifetime: 119 },
      "invalid_client_metadata",
      "refresh_token_grace: must not be longer than access_token_lifetime",
    ],
    [
      "a response type without its grant",
      { grant_types: ["client_credentials"], response_types: ["code"] },
      "invalid_client_metadata",
      "response_types: requires the grant type authorization_code",
    ],
    [
      "a grant without its response type",
      { ...web, response_types: [] },
      "invalid_client_metadata",
      "response_types: must contain code for the grant type authorization_code",
    ],
    [
      "OIDC Core §8.1: pairwise subjects for two hosts without a sector",
      { redirect_uris: ["https://a.example/", "https://b.example/"], subject_type: "pairwise" },
      "invalid_client_metadata",
      pairwiseFault,
    ],
    [
      "OIDC Core §8.1: pairwise subjects for an https host and a private-use scheme that repeats it",
      {
        ...{ application_type: "native", subject_type: "pairwise" },
        redirect_uris: ["https://bank.example/cb", "com.evil.app://bank.example/cb"],
      },
      "invalid_client_metadata",
      pairwiseFault,
    ],
    ...["https://localhost/jwks", "https://10.0.0.1/jwks", "https://metadata.internal/jwks", "https://[::1]/jwks"].map(
      (uri): [string, Record<string, unknown>, string, string] => [
        `RFC 9700 §4.11: jwks_uri on a private host: ${uri}`,
        { ...web, jwks_uri: uri },
        "invalid_client_metadata",
        "jwks_uri: must be https on a public host: it is not a public host",
      ],
    ),
    [
      "OIDC Front-Channel Logout §2: a URI at another origin than the redirection URIs",
      { ...web, frontchannel_logout_uri: "https://elsewhere.example/out" },
      "invalid_client_metadata",
      "frontchannel_logout_uri: must have the scheme, host and port of a redirect URI",
    ],
    [
      "a redirection URI with a wildcard",
      { redirect_uris: ["https://a.example/*"] },
      "invalid_redirect_uri",
      "redirect_uris[0]: must be the exact URI: wildcards are not supported",
    ],
    [
      "a post-logout redirection URI with a wildcard",
      { ...web, post_logout_redirect_uris: ["https://*.app.example/"] },
      "invalid_client_metadata",
      "post_logout_redirect_uris[0]: must be the exact URI: wildcards are not supported",
    ],
    [
      "an introspection policy that names nothing",
      { ...web, introspection: {} },
      "invalid_client_metadata",
      "introspection: must have clients or audiences",
    ],
    [
      "an introspection policy with a wildcard among others",
      { ...web, introspection: { audiences: ["*", "https://api.example.com"] } },
      "invalid_client_metadata",
      'introspection.audiences: "*" must stand alone',
    ],
  ];

  it.each(table)("RFC 7591 §3.2.2: %s is refused", async (_claim, document, code, description) => {
    expect(await refusalOf(document)).toEqual({ code, description });
  });

  it("RFC 7591 §3.2.2: every invalid field is listed, not only the first", async () => {
    const result = requireDocument({ ...web, client_name: 1, scope: 2, nonsense: 3 });
    await expect(result).rejects.toMatchObject({
      fields: [
        { path: "client_name", message: "must be a string" },
        { path: "scope", message: "must be a string" },
        { path: "nonsense", message: "is not a known field" },
      ],
    });
  });
});

describe("RFC 7517 §4: unknown members of a key are omitted", () => {
  it("RFC 7517 §4: the stored key contains only known members", async () => {
    const document = await requireDocument({
      ...assertionClient,
      jwks: { keys: [{ ...publicKey, kid: "k1", use: "sig", ext: true, x5u: "x", x5c: ["AAAA"] }] },
    });
    expect(document.jwks).toEqual({ keys: [{ ...publicKey, kid: "k1", use: "sig", x5c: ["AAAA"] }] });
  });
});

it.each([
  { token_endpoint_auth_method: "none", refresh_token_grace: 30 },
  { token_endpoint_auth_method: "none", refresh_token_grace: 120, dpop_bound_access_tokens: true },
  { token_endpoint_auth_method: "none", refresh_token_grace: 120, tls_client_certificate_bound_access_tokens: true },
  { refresh_token_grace: 120, access_token_lifetime: 120 },
])("RFC 9700 §4.14.2: a longer grace needs a credential or a key: %j", async (metadata) => {
  expect(await requireDocument({ ...web, ...metadata })).toMatchObject(metadata);
});
