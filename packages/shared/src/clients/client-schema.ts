/**
 * **The members of a client**, each by itself: those of RFC 7591, of OpenID Connect Registration and of this provider. Rules between members are in
 * `client-rules.ts`, values for absent ones in `checked-metadata.ts`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */

import { contentEncryptionAlgorithms, keyManagementAlgorithms } from "@edge-op/protocol/jwt/encryption-algorithms";
import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { canonicalAddress } from "@edge-op/protocol/mtls/certificate-names";
import { parseDistinguishedName } from "@edge-op/protocol/mtls/distinguished-name";
import { standardClaims } from "@edge-op/protocol/oauth/claims";
import { clientAuthMethods, grantTypes, responseTypes } from "@edge-op/protocol/oauth/registered-names";
import {
  isHttpsUriWithoutFragment,
  isUriWithoutFragment,
  isWebUri,
  isWebUriWithoutFragment,
} from "@edge-op/protocol/oauth/uris";
import * as z from "zod";
import { securityProfiles } from "../config/setting-values.ts";
import { refreshGraceLimits } from "../config/settings.ts";
import { plainText, policyList, scopeValue, visibleText } from "../http/plain-text.ts";
import { jwksSchema } from "./jwks-schema.ts";

export const clientIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;

const longestUri = 2048;
const mostValues = 100;

const webUri = z.string().max(longestUri).refine(isWebUri, "must be an https URL").meta({ format: "uri" });
const endpointUri = z
  .string()
  .max(longestUri)
  .refine(isWebUriWithoutFragment, "must be an https URL without a fragment")
  .meta({ format: "uri" });
const httpsUri = z
  .string()
  .max(longestUri)
  .refine(isHttpsUriWithoutFragment, "must be an https URL without a fragment")
  .meta({ format: "uri" });
const redirectUri = z
  .string()
  .max(longestUri)
  .refine(isUriWithoutFragment, "must be an absolute URI without a fragment")
  .meta({ format: "uri" });

const algorithm = z.enum(signingAlgorithms);
const keyManagement = z.enum(keyManagementAlgorithms);
const contentEncryption = z.enum(contentEncryptionAlgorithms);

const scope = z
  .string()
  .max(8192)
  .regex(
    /^$|^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    "must be scope values separated by single spaces",
  );

const isDistinguishedName = (text: string) => parseDistinguishedName(text) !== undefined;
const isAddress = (text: string) => canonicalAddress(text) !== undefined;

const audience = z
  .string()
  .min(1)
  .max(longestUri)
  .regex(/^[\x21-\x7e]+$/, "must be a URI or a name without white space");
const resource = z
  .string()
  .max(longestUri)
  .refine((text) => text === "*" || isUriWithoutFragment(text), "must be an absolute URI without a fragment");
const subject = plainText(255);

const policies = {
  token_exchange: z
    .strictObject({
      subject_clients: policyList(z.string().min(1).max(255)).describe(
        "Clients whose tokens may be the subject token.",
      ),
      audiences: policyList(audience),
      resources: policyList(resource),
      scopes: policyList(scopeValue),
      modes: z
        .array(z.enum(["delegation", "impersonation"]))
        .min(1)
        .max(2),
      accepts_bound_tokens: z
        .boolean()
        .exactOptional()
        .describe("Accept bound tokens without proof of their key, which the client itself has verified."),
    })
    .describe("The tokens that the client may exchange (RFC 8693); absent: none."),
  jwt_bearer: z
    .strictObject({ subjects: policyList(subject), scopes: policyList(scopeValue) })
    .describe("The users it may assert by a signed JWT (RFC 7523); absent: none."),
  id_jag_targets: z
    .array(
      z.strictObject({
        audience: audience.describe("The issuer identifier of the other authorization server."),
        client_id: z.string().min(1).max(longestUri).describe("The client's id at that server."),
        resources: policyList(resource).min(1),
        scopes: policyList(scopeValue),
        claims: z
          .array(z.enum(standardClaims))
          .max(mostValues)
          .exactOptional()
          .describe("Claims of the user besides `sub`."),
      }),
    )
    .max(mostValues)
    .refine(
      (targets) => new Set(targets.map((target) => target.audience)).size === targets.length,
      "must not repeat an audience",
    )
    .describe("The servers for which its users' ID tokens may be exchanged for an ID-JAG; absent: none."),
  introspection: z
    .strictObject({
      clients: policyList(z.string().min(1).max(255)).describe("Clients whose tokens it may introspect."),
      audiences: policyList(audience).describe("Its own audiences: it may introspect tokens for them."),
    })
    .exactPartial()
    .refine(
      ({ clients, audiences }) => clients !== undefined || audiences !== undefined,
      "must have clients or audiences",
    )
    .meta({ minProperties: 1 })
    .describe("Tokens that it may introspect in addition to its own and those for its client_id; absent: none."),
};

export const metadataMembers = {
  client_name: visibleText(200),
  client_uri: webUri,
  logo_uri: webUri,
  tos_uri: webUri,
  policy_uri: webUri,
  contacts: z.array(plainText(320)).max(20),
  application_type: z.enum(["web", "native"]),
  token_endpoint_auth_method: z.enum(clientAuthMethods),
  /** The algorithm of client assertions; any supported one by default. */
  token_endpoint_auth_signing_alg: algorithm,
  grant_types: z.array(z.enum(grantTypes)).min(1).max(grantTypes.length),
  response_types: z.array(z.enum(responseTypes)).max(responseTypes.length),
  redirect_uris: z.array(redirectUri).max(mostValues),
  post_logout_redirect_uris: z.array(redirectUri).max(mostValues),
  initiate_login_uri: httpsUri.describe(
    "The URL to which its users are sent to start a login (OIDC Core §4), with iss; the account page links to it.",
  ),
  scope: scope.describe("Scope values that it may request, separated by spaces."),
  authorization_details_types: z
    .array(plainText(255))
    .max(mostValues)
    .describe("Types of authorization_details that it may request (RFC 9396 §10); absent: none."),
  jwks: jwksSchema,
  jwks_uri: endpointUri,
  subject_type: z.enum(["public", "pairwise"]),
  sector_identifier_uri: endpointUri,
  default_max_age: z.int().min(0).max(31_536_000),
  require_auth_time: z.boolean(),
  default_acr_values: z.array(plainText(255)).max(mostValues),
  id_token_signed_response_alg: algorithm,
  userinfo_signed_response_alg: algorithm,
  introspection_signed_response_alg: algorithm,
  /** The algorithm of authorization responses in JWT form (JARM §3). */
  authorization_signed_response_alg: algorithm,
  id_token_claims: z
    .enum(["scopes", "requested"])
    .describe(
      "Claims about the user in its ID tokens: those of the granted scopes too, as at UserInfo (default), or only those that the claims parameter requests.",
    ),
  id_token_encrypted_response_alg: keyManagement,
  id_token_encrypted_response_enc: contentEncryption,
  userinfo_encrypted_response_alg: keyManagement,
  userinfo_encrypted_response_enc: contentEncryption,
  authorization_encrypted_response_alg: keyManagement,
  authorization_encrypted_response_enc: contentEncryption,
  request_object_signing_alg: algorithm,
  request_object_encryption_alg: keyManagement.describe(
    "The algorithm with which it may encrypt its request objects; a declaration (OIDC Registration §2).",
  ),
  request_object_encryption_enc: contentEncryption,
  require_signed_request_object: z.boolean(),
  require_pushed_authorization_requests: z.boolean(),
  backchannel_logout_uri: endpointUri,
  backchannel_logout_session_required: z.boolean(),
  frontchannel_logout_uri: endpointUri,
  frontchannel_logout_session_required: z.boolean(),
  /** Absent: the default of the deployment. */
  access_token_signed_response_alg: algorithm,
  security_profile: z
    .enum(securityProfiles)
    .describe("The rules that its requests must meet, in place of SECURITY_PROFILE of the deployment."),
  dpop_bound_access_tokens: z.boolean().describe("Its tokens are issued only to a DPoP key (RFC 9449 §5.2)."),
  tls_client_certificate_bound_access_tokens: z
    .boolean()
    .describe("Its tokens are bound to the certificate of the connection (RFC 8705 §3.4)."),
  tls_client_auth_subject_dn: z
    .string()
    .max(1024)
    .refine(isDistinguishedName, "must be a distinguished name as in RFC 4514, such as CN=client,O=Example")
    .describe("The subject of its certificate, for tls_client_auth (RFC 8705 §2.1.2)."),
  tls_client_auth_san_dns: plainText(255),
  tls_client_auth_san_uri: plainText(2048),
  tls_client_auth_san_ip: plainText(45).refine(isAddress, "must be an IPv4 or IPv6 address"),
  tls_client_auth_san_email: plainText(320),
  dpop_nonce_required: z.boolean().describe("Its DPoP proofs must contain a nonce of this provider (RFC 9449 §8)."),
  access_token_lifetime: z.int().min(1).max(86_400).describe("Seconds."),
  refresh_token_grace: z
    .int()
    .min(0)
    .max(refreshGraceLimits.protectedSeconds)
    .describe(
      "Seconds for which its spent refresh token may be sent again and returns the same successor, in place of REFRESH_GRACE; more than 30 only if it authenticates or its tokens are bound.",
    ),
  audiences: policyList(audience).describe("The audiences that its tokens may have; the first is the default `aud`."),
  require_pkce: z
    .boolean()
    .describe(
      "Whether its code requests require PKCE. Absent: a confidential client may send a nonce with the scope openid instead; false: neither is required.",
    ),
  require_mfa: z
    .boolean()
    .describe(
      "Whether its users always need two factors: a passkey, or a password and a code. See MFA of the deployment.",
    ),
  organization: z
    .enum(["none", "allowed"])
    .describe(
      "Whether its requests may name an `organization` of which the person must be a member. Absent: none, and such a request is refused.",
    ),
  skip_consent: z.boolean().describe("Skips consent if the client's identity is assured."),
  ...policies,
};

/** A whole document as it is stored: defaults are filled in when it is written, not when it is read. */
export const metadataSchema = z.strictObject(metadataMembers).exactPartial().required({
  token_endpoint_auth_method: true,
  grant_types: true,
  response_types: true,
  redirect_uris: true,
  scope: true,
  audiences: true,
});
