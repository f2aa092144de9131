import { isAdminScope } from "@edge-op/shared/oauth/admin-scope";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import { bearerError } from "@edge-op/shared/tokens/require-bearer";

/**
 * **No administrator reaches beyond their own scopes**: whoever could give away admin scopes that their token lacks, to a
 * client or through a role, would have them all by way of `admin:clients` or `admin:users` alone.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.3
 */
export function requireAuthority(admin: AccessToken, obtainable: readonly string[]): void {
  const beyond = obtainable.filter((value) => isAdminScope(value) && !admin.scope.includes(value));
  if (beyond.length === 0) return;
  const scope = [...new Set(beyond)].join(" ");
  throw bearerError("insufficient_scope", `gives ${scope}`, {
    scope,
    description: "What is changed gives admin scopes that the access token does not carry.",
  });
}
