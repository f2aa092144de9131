import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { AccessToken } from "@edge-op/shared/tokens/access-token";
import type { ClientDocument } from "./client-schema.ts";

/**
 * **No administrator reaches beyond their own scopes**: a caller may not create, change or take over a client that may get
 * admin scopes which the caller's token lacks. Otherwise `admin:clients` alone would be every admin scope.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.3
 */
export function requireAuthorityOver(admin: AccessToken, { scope, token_exchange }: ClientDocument): void {
  const obtainable = [...scope.split(" "), ...(token_exchange?.scopes ?? [])];
  const beyond = obtainable.filter((value) => value.startsWith("admin:") && !admin.scope.includes(value));
  if (beyond.length === 0) return;
  const scopes = [...new Set(beyond)].join(" ");
  throw new OAuthError("insufficient_scope", `client may get ${scopes}`, {
    description: "The client may get admin scopes that the access token does not carry.",
    headers: { "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${scopes}"` },
  });
}
