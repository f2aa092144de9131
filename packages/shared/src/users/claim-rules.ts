/** **The rules of claims about a user that are not the provider's own**, mapped by an administrator or returned by a hook. */

import { isAdminScope } from "@edge-op/protocol/oauth/scope";

/** Where a claim may be contained. */
export const claimTokens = ["id_token", "access_token", "userinfo"] as const;

export const claimNamePattern = /^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$/;

/** Whether a scope value may release claims about a user. */
export function mayReleaseClaims(scope: string): boolean {
  return !isAdminScope(scope) && scope !== "offline_access";
}
