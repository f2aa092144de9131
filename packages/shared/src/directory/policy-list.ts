import { adminAudience, isAdminScope } from "../oauth/admin-scope.ts";
import { listAllows } from "./client.ts";

/**
 * **Whether a list of a client's policy allows a scope or an audience.** `"*"` does not cover admin scopes or the admin
 * API's audience: a client that may use them names them, and only an administrator who holds a scope may name it.
 */
export function allowsScope(list: readonly string[], scope: string): boolean {
  return isAdminScope(scope) ? list.includes(scope) : listAllows(list, scope);
}

/** `audience` may be a resource indicator: both become values of `aud`. */
export function allowsAudience(list: readonly string[], audience: string, issuer: string): boolean {
  return audience === adminAudience(issuer) ? list.includes(audience) : listAllows(list, audience);
}
