/**
 * **FAPI 2.0 Message Signing, driven by real client libraries**: a pushed, signed request object; a signed and perhaps encrypted authorization
 * response (JARM); bound tokens; signed introspection. It covers both kinds of client authentication and of sender constraint.
 */

import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { TestAuthority, type TestCertificate } from "../fixtures/client-certificates.ts";
import { redirectUri } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { claimsOf, headerOf, ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "./fixtures/tls-proxy.ts";

interface Form {
  readonly authentication: "private_key_jwt" | "tls_client_auth";
  readonly constraint: "dpop" | "mtls";
  /** The algorithm of the provider's signatures and of the client's. */
  readonly alg: "PS256" | "ES256";
  /** Whether request object, authorization response and ID token are encrypted. */
  readonly encrypted: boolean;
}

const forms: readonly Form[] = [
  { authentication: "private_key_jwt", constraint: "dpop", alg: "PS256", encrypted: false },
  { authentication: "private_key_jwt", constraint: "dpop", alg: "ES256", encrypted: true },
  { authentication: "private_key_jwt", constraint: "mtls", alg: "PS256", encrypted: true },
  { authentication: "tls_client_auth", constraint: "mtls", alg: "ES256", encrypted: false },
  { authentication: "tls_client_auth", constraint: "mtls", alg: "PS256", encrypted: true },
  { authentication: "tls_client_auth", constraint: "dpop", alg: "PS256", encrypted: false },
];

const scope = "openid profile offline_access";
const encryption = { alg: "RSA-OAEP-256", enc: "A256GCM" } as const;

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let proxy: TlsProxy;
let certificate: TestCertificate;
let person: RegisteredPerson;
let viaTls: typeof fetch;

beforeAll(async () => {
  const port = await findFreePort("localhost");
  const authority = await TestAuthority.create();
  provider = await startLocalProvider({
    shape: inject("shape"),
    vars: { SECURITY_PROFILE: "fapi2_message_signing", MTLS_ORIGIN: `https://localhost:${port}` },
  });
  proxy = await startTlsProxy({ port, origin: provider.origin, authority: authority.cert });
  fixtures = new ProviderFixtures(provider);
  certificate = await authority.issue();
  viaTls = fetchWithCertificate(proxy, certificate);
  person = await registerPerson(fixtures, { name: "Pat Person" });
});

afterAll(async () => {
  await proxy.stop();
  await provider.stop();
});

interface Registered {
  readonly clientId: string;
  readonly signing: { readonly key: CryptoKey; readonly kid: string };
  readonly decryption: { readonly key: CryptoKey; readonly kid: string };
}

async function register({ authentication, constraint, alg, encrypted }: Form): Promise<Registered> {
  const [signing, decryption] = await Promise.all([
    generateKeyPair(alg, { extractable: true }),
    generateKeyPair(encryption.alg, { extractable: true }),
  ]);
  const signed = ["id_token", "userinfo", "authorization", "introspection"].map((purpose) => [
    `${purpose}_signed_response_alg`,
    alg,
  ]);
  const encryptedMembers = {
    ...{ authorization_encrypted_response_alg: encryption.alg, id_token_encrypted_response_alg: encryption.alg },
    ...{ request_object_encryption_alg: encryption.alg, request_object_encryption_enc: encryption.enc },
  };
  const { client_id: clientId } = await fixtures.client({
    ...{ grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] },
    ...{ redirect_uris: [redirectUri], scope, token_endpoint_auth_method: authentication },
    ...(authentication === "tls_client_auth" ? { tls_client_auth_subject_dn: "CN=client" } : {}),
    ...(constraint === "dpop" ? { dpop_bound_access_tokens: true } : {}),
    ...(constraint === "mtls" ? { tls_client_certificate_bound_access_tokens: true } : {}),
    ...(Object.fromEntries(signed) as Readonly<Record<string, string>>),
    ...(encrypted ? encryptedMembers : {}),
    access_token_signed_response_alg: alg,
    jwks: {
      keys: [
        { ...(await exportJWK(signing.publicKey)), kid: "sig", use: "sig", alg },
        { ...(await exportJWK(decryption.publicKey)), kid: "enc", use: "enc", alg: encryption.alg },
      ],
    },
  });
  return {
    clientId,
    signing: { key: signing.privateKey, kid: "sig" },
    decryption: { key: decryption.privateKey, kid: "enc" },
  };
}

/** The request object as the client sends it: encrypted with the provider's published key, or unencrypted. */
async function sealed(request: string, { encrypted }: Form): Promise<string> {
  if (!encrypted) return request;
  const { keys } = (await (await fetch(`${provider.origin}/jwks`)).json()) as { keys: readonly JWK[] };
  const jwk = keys.find(({ use, alg }) => use === "enc" && alg === encryption.alg)!;
  const header = { ...encryption, kid: jwk.kid!, cty: "JWT" };
  return new CompactEncrypt(new TextEncoder().encode(request)).setProtectedHeader(header).encrypt(await importJWK(jwk));
}

/** Checks the result of any library. */
function expectOutcome(
  { alg, constraint }: Form,
  tokens: { readonly access_token: string; readonly token_type: string },
  introspection: Readonly<Record<string, unknown>>,
): void {
  expect(headerOf(tokens.access_token)["alg"]).toBe(alg);
  expect(tokens.token_type).toBe(constraint === "dpop" ? "dpop" : "bearer");
  const cnf = claimsOf(tokens.access_token)["cnf"] as Readonly<Record<string, string>>;
  expect(Object.keys(cnf)).toEqual([constraint === "dpop" ? "jkt" : "x5t#S256"]);
  if (constraint === "mtls") expect(cnf["x5t#S256"]).toBe(certificate.thumbprint);
  expect(introspection).toMatchObject({ active: true, sub: person.sub, cnf });
}

const title = "$authentication, $constraint, $alg, encrypted: $encrypted";

describe("openid-client", () => {
  test.each(forms)(title, async (form) => {
    const { clientId, signing, decryption } = await register(form);
    const { alg, encrypted, constraint } = form;
    const metadata = {
      ...{ id_token_signed_response_alg: alg, authorization_signed_response_alg: alg },
      ...{ userinfo_signed_response_alg: alg, introspection_signed_response_alg: alg },
      use_mtls_endpoint_aliases: true,
    };
    const authentication =
      form.authentication === "private_key_jwt" ? oidc.PrivateKeyJwt(signing) : oidc.TlsClientAuth();
    const config = await oidc.discovery(new URL(provider.issuer), clientId, metadata, authentication, {
      execute: [oidc.allowInsecureRequests, oidc.useJwtResponseMode, oidc.enableNonRepudiationChecks],
    });
    config[oidc.customFetch] = viaTls as oidc.CustomFetch;
    if (encrypted) oidc.enableDecryptingResponses(config, undefined, decryption);
    const DPoP = constraint === "dpop" ? oidc.getDPoPHandle(config, await oidc.randomDPoPKeyPair(alg)) : undefined;
    const options = DPoP === undefined ? {} : { DPoP };

    const checks = { pkceCodeVerifier: oidc.randomPKCECodeVerifier(), expectedState: oidc.randomState() };
    const signed = await oidc.buildAuthorizationUrlWithJAR(
      config,
      {
        ...{ redirect_uri: redirectUri, scope, prompt: "consent", state: checks.expectedState },
        code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
        code_challenge_method: "S256",
      },
      signing,
    );
    const request = await sealed(signed.searchParams.get("request")!, form);
    const url = await oidc.buildAuthorizationUrlWithPAR(config, { request }, options);
    const { url: callback } = await person.browser().visit(url);
    expect(callback.searchParams.get("response")!.split(".")).toHaveLength(encrypted ? 5 : 3);

    const tokens = await oidc.authorizationCodeGrant(config, callback, checks, undefined, options);
    expect(tokens.claims()).toMatchObject({ sub: person.sub, aud: clientId });
    expect(await oidc.fetchUserInfo(config, tokens.access_token, person.sub, options)).toMatchObject({
      name: "Pat Person",
    });
    expectOutcome(form, tokens, await oidc.tokenIntrospection(config, tokens.access_token));
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!, undefined, options);
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
  });
});

describe("oauth4webapi", () => {
  test.each(forms)(title, async (form) => {
    const { clientId, signing, decryption } = await register(form);
    const { alg, encrypted, constraint } = form;
    const issuer = new URL(provider.issuer);
    const insecure = { [oauth.allowInsecureRequests]: true } as const;
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    const client: oauth.Client = {
      ...{ client_id: clientId, use_mtls_endpoint_aliases: true },
      ...{ id_token_signed_response_alg: alg, authorization_signed_response_alg: alg },
      ...{ userinfo_signed_response_alg: alg, introspection_signed_response_alg: alg },
    };
    const authentication =
      form.authentication === "private_key_jwt" ? oauth.PrivateKeyJwt(signing) : oauth.TlsClientAuth();
    const jweDecrypt: oauth.JweDecryptFunction = async (jwe) =>
      new TextDecoder().decode((await compactDecrypt(jwe, decryption.key)).plaintext);
    const fetchViaTls = (to: string, options: object) => viaTls(to, options as RequestInit);
    const http = {
      ...{ ...insecure, [oauth.customFetch]: fetchViaTls, [oauth.jweDecrypt]: jweDecrypt },
      ...(constraint === "dpop" ? { DPoP: oauth.DPoP(client, await oauth.generateKeyPair(alg)) } : {}),
    };

    const [verifier, state, nonce] = [
      oauth.generateRandomCodeVerifier(),
      oauth.generateRandomState(),
      oauth.generateRandomNonce(),
    ];
    const parameters = {
      ...{ response_type: "code", response_mode: "jwt", redirect_uri: redirectUri, scope, state, nonce },
      ...{ code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" },
      prompt: "consent",
    };
    const request = await sealed(await oauth.issueRequestObject(as, client, parameters, signing), form);
    const pushed = await oauth.pushedAuthorizationRequest(as, client, authentication, { request }, http);
    const { request_uri } = await oauth.processPushedAuthorizationResponse(as, client, pushed);
    const url = new URL(as.authorization_endpoint!);
    url.search = new URLSearchParams({ client_id: clientId, request_uri }).toString();
    const { url: callback } = await person.browser().visit(url);
    expect(callback.searchParams.get("response")!.split(".")).toHaveLength(encrypted ? 5 : 3);

    // JARM §2.4: the response of another client, or another state, is refused.
    const other = { ...client, client_id: "other" };
    await expect(oauth.validateJwtAuthResponse(as, other, callback, state, http)).rejects.toThrow();
    await expect(oauth.validateJwtAuthResponse(as, client, callback, "other", http)).rejects.toThrow();
    const validated = await oauth.validateJwtAuthResponse(as, client, callback, state, http);
    const response = await oauth.authorizationCodeGrantRequest(
      ...([as, client, authentication, validated, redirectUri, verifier, http] as const),
    );
    const checks = { expectedNonce: nonce, requireIdToken: true, [oauth.jweDecrypt]: jweDecrypt };
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, checks);
    await oauth.validateApplicationLevelSignature(as, response, http);
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: person.sub, aud: clientId });

    const userinfo = await oauth.userInfoRequest(as, client, tokens.access_token, http);
    const claims = await oauth.processUserInfoResponse(as, client, person.sub, userinfo, http);
    await oauth.validateApplicationLevelSignature(as, userinfo, http);
    expect(claims).toMatchObject({ name: "Pat Person" });

    const introspected = await oauth.introspectionRequest(as, client, authentication, tokens.access_token, {
      ...http,
      requestJwtResponse: true,
    });
    const introspection = await oauth.processIntrospectionResponse(as, client, introspected, http);
    await oauth.validateApplicationLevelSignature(as, introspected, http);
    expectOutcome(form, tokens, introspection);

    const refresh = await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token!, http);
    const refreshed = await oauth.processRefreshTokenResponse(as, client, refresh, http);
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
  });
});
