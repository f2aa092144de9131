import type { ContentEncryptionAlgorithm, KeyManagementAlgorithm } from "@edge-op/protocol/jwt/encryption-algorithms";
import type { SigningAlgorithm } from "@edge-op/protocol/jwt/signing-algorithms";
import { type ClientAuthMethod, isPublicMethod } from "@edge-op/protocol/oauth/client-auth-methods";
import type { GrantType, responseTypes } from "@edge-op/protocol/oauth/grant-types";
import type { DocumentPolicy } from "../config/document-policies.ts";
import type { SecurityProfile } from "../config/security-profiles.ts";
import type { RecordedCutOff } from "../control/cut-offs.ts";

/** The tokens that a client may exchange; absent means none (default deny). `"*"` as the only value of a list means any. */
export interface TokenExchangePolicy {
  /** Clients whose tokens may be the subject token. */
  readonly subject_clients: readonly string[];
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  readonly modes: readonly ("delegation" | "impersonation")[];
  /** Accepts bound subject and actor tokens without proof of their key, because the client, as a resource server, has verified it. */
  readonly accepts_bound_tokens?: boolean;
}

/** The users that a client may assert by RFC 7523 §2.1; absent means none. `"*"` as the only value means any. */
export interface JwtBearerPolicy {
  readonly subjects: readonly string[];
  readonly scopes: readonly string[];
}

/** The authorization servers, and the targets there, for which the client may get ID-JAGs. `"*"` as the only value of a list means any. */
export interface IdJagTarget {
  /** The server's issuer identifier, used as `aud`. */
  readonly audience: string;
  /** The client's id at that server. */
  readonly client_id: string;
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  /** Claims of the user that the ID-JAG contains, besides `sub`. */
  readonly claims?: readonly string[] | undefined;
}

/**
 * Lets a caller see tokens that are neither its own nor addressed to its `client_id`. `"*"` as the only value means any. A resource server lists its
 * own audiences.
 */
export interface IntrospectionPolicy {
  /** Clients whose tokens may be introspected. */
  readonly clients?: readonly string[];
  /** Audiences whose tokens may be introspected: one of them is in the token's `aud`. */
  readonly audiences?: readonly string[];
}

/**
 * **The metadata of a client**: the RFC 7591 document in its own spelling, as stored in D1 and shown by the admin API, and
 * the extensions of this provider. Defaults are filled in when it is written, not when it is read.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export interface ClientMetadata {
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly application_type?: "web" | "native";
  readonly token_endpoint_auth_method: ClientAuthMethod;
  /** Algorithm of client assertions; any supported one if absent. */
  readonly token_endpoint_auth_signing_alg?: SigningAlgorithm;
  readonly grant_types: readonly GrantType[];
  readonly response_types: readonly (typeof responseTypes)[number][];
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  /** Where a third party, such as this provider, sends a person to start a login (OIDC Core §4). */
  readonly initiate_login_uri?: string;
  /** Space-separated values that this client may request (RFC 7591 §2). */
  readonly scope: string;
  /** The types of authorization details that it may request (RFC 9396 §10). */
  readonly authorization_details_types?: readonly string[];
  readonly jwks?: { readonly keys: readonly JsonWebKey[] };
  readonly jwks_uri?: string;
  readonly subject_type?: "public" | "pairwise";
  readonly sector_identifier_uri?: string;
  readonly default_max_age?: number;
  readonly require_auth_time?: boolean;
  readonly default_acr_values?: readonly string[];
  readonly id_token_signed_response_alg?: SigningAlgorithm;
  readonly userinfo_signed_response_alg?: SigningAlgorithm;
  readonly introspection_signed_response_alg?: SigningAlgorithm;
  /** The signature of authorization responses in JWT form (JARM §3). */
  readonly authorization_signed_response_alg?: SigningAlgorithm;
  readonly id_token_encrypted_response_alg?: KeyManagementAlgorithm;
  readonly id_token_encrypted_response_enc?: ContentEncryptionAlgorithm;
  readonly userinfo_encrypted_response_alg?: KeyManagementAlgorithm;
  readonly userinfo_encrypted_response_enc?: ContentEncryptionAlgorithm;
  readonly authorization_encrypted_response_alg?: KeyManagementAlgorithm;
  readonly authorization_encrypted_response_enc?: ContentEncryptionAlgorithm;
  readonly request_object_signing_alg?: SigningAlgorithm;
  /** Request objects must be encrypted with this algorithm (OIDC Registration §2); encryption is optional if absent. */
  readonly request_object_encryption_alg?: KeyManagementAlgorithm;
  readonly request_object_encryption_enc?: ContentEncryptionAlgorithm;
  readonly require_signed_request_object?: boolean;
  readonly require_pushed_authorization_requests?: boolean;
  readonly backchannel_logout_uri?: string;
  readonly backchannel_logout_session_required?: boolean;
  readonly frontchannel_logout_uri?: string;
  readonly frontchannel_logout_session_required?: boolean;
  // Extensions of this provider.
  /** The rules that its requests must meet; those of the deployment if absent. */
  readonly security_profile?: SecurityProfile;
  /** Signature of its access tokens; the deployment's default if absent. */
  readonly access_token_signed_response_alg?: SigningAlgorithm;
  /** Its tokens are issued only to a DPoP key (RFC 9449 §5.2). */
  readonly dpop_bound_access_tokens?: boolean;
  /** Its tokens are bound to the certificate of the connection (RFC 8705 §3.4). */
  readonly tls_client_certificate_bound_access_tokens?: boolean;
  /** The name in its certificate, for `tls_client_auth`: exactly one of these (RFC 8705 §2.1.2). */
  readonly tls_client_auth_subject_dn?: string;
  readonly tls_client_auth_san_dns?: string;
  readonly tls_client_auth_san_uri?: string;
  readonly tls_client_auth_san_ip?: string;
  readonly tls_client_auth_san_email?: string;
  /** Its DPoP proofs must contain a nonce of this provider. */
  readonly dpop_nonce_required?: boolean;
  /** In seconds. */
  readonly access_token_lifetime?: number;
  /** The audiences that its tokens may have; the first is the default `aud`. */
  readonly audiences: readonly string[];
  /** For a confidential client: true requires PKCE, false does not; if absent, a `nonce` for an ID token suffices. */
  readonly require_pkce?: boolean;
  /** Skips consent, for first-party applications; op-auth requests it regardless if the client's identity is not assured. */
  readonly skip_consent?: boolean;
  readonly token_exchange?: TokenExchangePolicy;
  readonly jwt_bearer?: JwtBearerPolicy;
  readonly id_jag_targets?: readonly IdJagTarget[];
  readonly introspection?: IntrospectionPolicy;
}

export interface ClientSecret {
  readonly id: string;
  /** HMAC-SHA-256 under the pepper, base64url. */
  readonly mac: string;
  /** End of the overlap after a rotation; absent while the secret is current. */
  readonly expiresAtMs: number | undefined;
}

/** `document`: not registered, identified by its metadata document. `registration`: registered itself (RFC 7591). */
export type ClientOrigin = "document" | "registration";

/** **A client**, as every Worker reads it. */
export interface Client {
  readonly clientId: string;
  readonly status: "active" | "disabled";
  readonly metadata: ClientMetadata;
  readonly secrets: readonly ClientSecret[];
  /** The way the client was registered; absent if an administrator registered it. */
  readonly origin?: ClientOrigin;
  /** For a metadata document: whether people are asked each time; never stored. */
  readonly documentPolicy?: DocumentPolicy;
  /** For a stored metadata document: until when it is fresh according to its headers. */
  readonly freshUntilMs?: number;
  /** Last use, to the day, for a client that no administrator registered. */
  readonly usedAtMs?: number;
  /** Distinguishes the client from an earlier one with the same id; absent while a metadata document is not stored. */
  readonly createdAtMs: number | undefined;
  /** Cut-offs of the client: grants from before one of them are revoked. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** Whether a client is public (RFC 6749 §2.1): it does not authenticate. */
export function isPublicClient({ metadata }: Pick<Client, "metadata">): boolean {
  return isPublicMethod(metadata.token_endpoint_auth_method);
}

/** Whether the sender of a client's requests is not assured: the client does not authenticate, or anyone may have registered it. */
export function canBeAnyone(client: Pick<Client, "metadata" | "origin">): boolean {
  return isPublicClient(client) || client.origin !== undefined;
}

/** The scope values that a client registered. */
export function registeredScope({ metadata }: Pick<Client, "metadata">): readonly string[] {
  return metadata.scope === "" ? [] : metadata.scope.split(" ");
}

/** Whether a policy list allows a value: it names it, or is exactly `["*"]`. */
export function listAllows(list: readonly string[], value: string): boolean {
  return list.includes(value) || (list.length === 1 && list[0] === "*");
}
