import { OAuthError } from "@edge-op/protocol/oauth/errors";

/** **Refuses to revoke another client's token.** @see https://www.rfc-editor.org/rfc/rfc7009#section-2.1 */
export function foreignToken(): OAuthError {
  return new OAuthError("invalid_grant", "token-of-other-client", {
    description: "The token was not issued to this client.",
  });
}
