/** **Token type identifiers.** @see https://www.rfc-editor.org/rfc/rfc8693#section-3 */
export const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  refreshToken: "urn:ietf:params:oauth:token-type:refresh_token",
  idToken: "urn:ietf:params:oauth:token-type:id_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
} as const;

export type TokenType = (typeof tokenTypes)[keyof typeof tokenTypes];
