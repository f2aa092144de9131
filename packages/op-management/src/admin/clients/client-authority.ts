import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { AccessToken } from "@edge-op/shared/tokens/access-token";

/**
 * **No administrator reaches beyond their own scopes**: a caller may not create, change or take over a client that may ask
 * for admin scopes which the caller's token lacks. Otherwise `admin:clients` alone would be every admin scope.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.3
 */
export function requireAuthorityOver(admin: AccessToken, scope: string): void {
  const beyond = scope.split(" ").filter((value) => value.startsWith("admin:") && !admin.scope.includes(value));
  if (beyond.length === 0) return;
  throw new OAuthError("insufficient_scope", `client may ask for ${beyond.join(" ")}`, {
    description: "The client may ask for admin scopes that the access token does not carry.",
    headers: { "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${beyond.join(" ")}"` },
  });
}
