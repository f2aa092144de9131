import type { Confirmation } from "./confirmation.ts";

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
