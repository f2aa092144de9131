import { namesOf } from "../encoding/json-object.ts";
import type { Confirmation } from "./confirmation.ts";

/**
 * **The client authentication methods**, each with the credential by which a client proves its identity. Types, client
 * metadata and discovery derive from this table; `callers/` of `shared` reads and verifies what a request presents.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication
 * @see https://www.rfc-editor.org/rfc/rfc8705#section-2
 */
export const clientAuthMethodTable = {
  client_secret_basic: { credential: "secret" },
  client_secret_post: { credential: "secret" },
  private_key_jwt: { credential: "key" },
  tls_client_auth: { credential: "certificate" },
  self_signed_tls_client_auth: { credential: "certificate" },
  none: { credential: "none" },
} as const satisfies Readonly<Record<string, { readonly credential: "secret" | "key" | "certificate" | "none" }>>;

export type ClientAuthMethod = keyof typeof clientAuthMethodTable;

export const clientAuthMethods = namesOf(clientAuthMethodTable);

/** The methods of confidential clients: all except `none`. */
export const confidentialAuthMethods = clientAuthMethods.filter((method) => !isPublicMethod(method));

/** Whether a client with this method is public (RFC 6749 §2.1): it does not prove its identity. */
export function isPublicMethod(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "none";
}

export function usesSecret(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "secret";
}

export function usesKey(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "key";
}

export function usesCertificate(method: ClientAuthMethod): boolean {
  return clientAuthMethodTable[method].credential === "certificate";
}

interface GrantTypeDescription {
  /** The response type of the grant. Such a grant starts at the authorization endpoint and requires a redirection URI. */
  readonly responseType?: "code";
  /** Tokens are issued on the client's authentication alone, so a public client may not use the grant. */
  readonly confidentialOnly?: true;
  /** The client signs the grant, so it needs registered keys. */
  readonly needsKeys?: true;
  /**
   * Both requirements apply only to the client's own assertions, and thus only with a `jwt_bearer` policy; assertions of a trusted issuer need
   * neither.
   */
  readonly byPolicy?: true;
}

/**
 * **The grant types**, each with what it requires of a client's registration. Types, client metadata and discovery derive from this table; op-token
 * has one module for each (`grants/`).
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.1
 */
const grantTypeTable = {
  authorization_code: { responseType: "code" },
  refresh_token: {},
  client_credentials: { confidentialOnly: true },
  "urn:ietf:params:oauth:grant-type:device_code": {},
  "urn:ietf:params:oauth:grant-type:token-exchange": { confidentialOnly: true },
  "urn:ietf:params:oauth:grant-type:jwt-bearer": { confidentialOnly: true, needsKeys: true, byPolicy: true },
} as const satisfies Readonly<Record<string, GrantTypeDescription>>;

export type GrantType = keyof typeof grantTypeTable;

export const grantTypes = namesOf(grantTypeTable);

export function describeGrantType(type: GrantType): GrantTypeDescription {
  return grantTypeTable[type];
}

/** The response types of the grants. Implicit and hybrid ones are not supported (RFC 9700 §2.1.2). */
export const responseTypes = ["code"] as const satisfies readonly GrantTypeDescription["responseType"][];

/** **Token type identifiers.** @see https://www.rfc-editor.org/rfc/rfc8693#section-3 */
export const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  refreshToken: "urn:ietf:params:oauth:token-type:refresh_token",
  idToken: "urn:ietf:params:oauth:token-type:id_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
  /** Issued only (draft-ietf-oauth-identity-assertion-authz-grant). */
  idJag: "urn:ietf:params:oauth:token-type:id-jag",
} as const;

export type TokenType = (typeof tokenTypes)[keyof typeof tokenTypes];

/** How an access token is presented: the value of `token_type` (RFC 6749 §7.1). */
export type PresentationType = "Bearer" | "DPoP" | "N_A";

/**
 * **`token_type` of an access token, by its confirmation.** A certificate-bound token is presented as Bearer (RFC 8705 §3), a DPoP-bound one as DPoP
 * (RFC 9449 §5). `N_A` (RFC 8693 §2.2.1) is for a confirmation method that this provider does not define.
 */
export function presentationType(cnf: Confirmation | undefined): PresentationType {
  switch (cnf?.method) {
    case undefined:
    case "x5t#S256":
      return "Bearer";
    case "jkt":
      return "DPoP";
    case "other":
      return "N_A";
  }
}

/** The values of `typ` that an access token may have (RFC 9068 §2.1): a resource's rules choose `JWT` for libraries that refuse the first. */
export const accessTokenTypes = ["at+jwt", "JWT"] as const;

export type AccessTokenType = (typeof accessTokenTypes)[number];
