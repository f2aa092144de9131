import { proofAlgorithms } from "@edge-op/protocol/dpop/proof";
import { contentEncryptionAlgorithms, keyManagementAlgorithms } from "@edge-op/protocol/jwt/encryption-algorithms";
import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { supportedAcrValues } from "@edge-op/protocol/oauth/authentication-context";
import { rbacClaims, rbacScopes, scopeClaims, standardClaims } from "@edge-op/protocol/oauth/claims";
import {
  clientAuthMethods,
  confidentialAuthMethods,
  grantTypes,
  responseTypes,
  tokenTypes,
} from "@edge-op/protocol/oauth/registered-names";
import { algorithmsWithin, authMethodsWithin } from "@edge-op/shared/clients/security-profile";
import type { SecurityProfile } from "@edge-op/shared/config/setting-values";
import type { Settings } from "@edge-op/shared/config/settings";
import { textLanguages } from "@edge-op/shared/config/text-languages";

/**
 * **Provider metadata**: the same document for OpenID Connect Discovery and RFC 8414. It lists only implemented values; those in a table are derived
 * from it. `admitsDocuments`: whether any host may publish metadata documents of clients;
 * `mappedClaims`: those to which attributes of users are mapped.
 *
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata
 * @see https://www.rfc-editor.org/rfc/rfc8414#section-2
 */
export function providerMetadata(settings: Settings, admitsDocuments: boolean, mappedClaims: readonly string[] = []) {
  const { issuer, mtlsOrigin, securityProfile, authorizationTypes } = settings;
  return {
    issuer,
    jwks_uri: `${issuer}/jwks`,
    ...authorization(settings),
    ...tokens(issuer, securityProfile),
    // RFC 9396 §10.
    authorization_details_types_supported: Object.keys(authorizationTypes),
    ...claims(issuer, securityProfile, mappedClaims),
    ...logout(issuer),
    ...mutualTls(mtlsOrigin),
    ...(settings.privacyUrl === undefined ? {} : { op_policy_uri: settings.privacyUrl }),
    ...(settings.termsUrl === undefined ? {} : { op_tos_uri: settings.termsUrl }),
    // draft-ietf-oauth-client-id-metadata-document-02 §6.
    ...(admitsDocuments ? { client_id_metadata_document_supported: true } : {}),
    // RFC 8414 §2: present if clients may register themselves.
    ...(settings.clientRegistration === "off" ? {} : { registration_endpoint: `${issuer}/register` }),
  };
}

/**
 * Metadata of op-auth. PAR: RFC 9126 §5; device flow: RFC 8628 §4; request objects: RFC 9101 §10.5; `iss`: RFC 9207 §3; prompts: OpenID Connect
 * Prompt Create §4.3.
 */
function authorization({ issuer, securityProfile: profile, signUp }: Settings) {
  return {
    authorization_endpoint: `${issuer}/authorize`,
    pushed_authorization_request_endpoint: `${issuer}/par`,
    require_pushed_authorization_requests: profile !== "none",
    require_signed_request_object: profile === "fapi2_message_signing",
    device_authorization_endpoint: `${issuer}/device_authorization`,
    response_types_supported: responseTypes,
    response_modes_supported: ["query", "fragment", "form_post", "jwt", "query.jwt", "fragment.jwt", "form_post.jwt"],
    // JARM §4.
    authorization_signing_alg_values_supported: algorithmsWithin(profile, signingAlgorithms),
    authorization_encryption_alg_values_supported: keyManagementAlgorithms,
    authorization_encryption_enc_values_supported: contentEncryptionAlgorithms,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    prompt_values_supported: ["none", "login", "consent", "select_account", ...(signUp === "open" ? ["create"] : [])],
    request_parameter_supported: true,
    request_uri_parameter_supported: false,
    request_object_signing_alg_values_supported: algorithmsWithin(profile, signingAlgorithms),
    request_object_encryption_alg_values_supported: keyManagementAlgorithms,
    request_object_encryption_enc_values_supported: contentEncryptionAlgorithms,
  };
}

/** Metadata of op-token, and of op-management's endpoints for clients: RFC 7662, RFC 7009, RFC 9701 §7; DPoP: RFC 9449 §5.1. */
function tokens(issuer: string, profile: SecurityProfile) {
  const methods = authMethodsWithin(profile, clientAuthMethods);
  const confidentialMethods = authMethodsWithin(profile, confidentialAuthMethods);
  const accepted = algorithmsWithin(profile, signingAlgorithms);
  return {
    token_endpoint: `${issuer}/token`,
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: accepted,
    introspection_endpoint: `${issuer}/introspect`,
    introspection_endpoint_auth_methods_supported: confidentialMethods,
    introspection_endpoint_auth_signing_alg_values_supported: accepted,
    introspection_signing_alg_values_supported: algorithmsWithin(profile, signingAlgorithms),
    revocation_endpoint: `${issuer}/revoke`,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: accepted,
    dpop_signing_alg_values_supported: algorithmsWithin(profile, proofAlgorithms),
    ...idJag,
  };
}

/** ID-JAGs are accepted (draft-ietf-oauth-identity-assertion-authz-grant §7) and issued by exchange (draft-ietf-oauth-identity-chaining). */
const idJag = {
  authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
  identity_chaining_requested_token_types_supported: [tokenTypes.idJag],
} as const;

/** Metadata of ID tokens and op-userinfo. The claims are those of OIDC Core §2 and §5.1, and `roles` and `groups` of RFC 9068 §2.2.3.1. */
function claims(issuer: string, profile: SecurityProfile, mappedClaims: readonly string[]) {
  return {
    userinfo_endpoint: `${issuer}/userinfo`,
    userinfo_signing_alg_values_supported: algorithmsWithin(profile, signingAlgorithms),
    userinfo_encryption_alg_values_supported: keyManagementAlgorithms,
    userinfo_encryption_enc_values_supported: contentEncryptionAlgorithms,
    id_token_encryption_alg_values_supported: keyManagementAlgorithms,
    id_token_encryption_enc_values_supported: contentEncryptionAlgorithms,
    id_token_signing_alg_values_supported: algorithmsWithin(profile, signingAlgorithms),
    subject_types_supported: ["public", "pairwise"],
    acr_values_supported: supportedAcrValues,
    scopes_supported: ["openid", ...Object.keys(scopeClaims), ...rbacScopes, "offline_access"],
    ui_locales_supported: Object.keys(textLanguages),
    claims_parameter_supported: true,
    claim_types_supported: ["normal"],
    claims_supported: [
      ...["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "azp", "at_hash", "sid"],
      ...standardClaims,
      ...rbacClaims,
      ...mappedClaims,
    ],
  };
}

/** OpenID Connect RP-Initiated Logout §2.1, Back-Channel Logout §2.1, Front-Channel Logout §3. */
function logout(issuer: string) {
  return {
    end_session_endpoint: `${issuer}/logout`,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    frontchannel_logout_supported: true,
    frontchannel_logout_session_supported: true,
  };
}

/** RFC 8705 §3.3 and §5: the same endpoints, at the origin that requests certificates from TLS clients. */
function mutualTls(origin: string | undefined) {
  const bound = { tls_client_certificate_bound_access_tokens: true };
  if (origin === undefined) return bound;
  return {
    ...bound,
    mtls_endpoint_aliases: {
      token_endpoint: `${origin}/token`,
      introspection_endpoint: `${origin}/introspect`,
      revocation_endpoint: `${origin}/revoke`,
      pushed_authorization_request_endpoint: `${origin}/par`,
      device_authorization_endpoint: `${origin}/device_authorization`,
      userinfo_endpoint: `${origin}/userinfo`,
    },
  };
}
