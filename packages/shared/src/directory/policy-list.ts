import { adminAudience, isAdminScope } from "../oauth/admin-scope.ts";
import { type Client, listAllows, registeredScope } from "./client.ts";

/**
 * **Whether a list in a client's policy allows a scope or an audience.** `"*"` covers neither admin scopes nor the audience of the
 * admin API: a client must list them, and only an administrator who holds a scope may list it.
 */
export function allowsScope(list: readonly string[], scope: string): boolean {
  return isAdminScope(scope) ? list.includes(scope) : listAllows(list, scope);
}

/** `audience` may be a resource indicator: both become values of `aud`. */
export function allowsAudience(list: readonly string[], audience: string, issuer: string): boolean {
  return audience === adminAudience(issuer) ? list.includes(audience) : listAllows(list, audience);
}

/** The audiences that the client's current registration allows. */
export interface TokenTargets {
  readonly audiences: readonly string[];
  readonly issuer: string;
  /** Whether it registered `openid`: the issuer stands for the UserInfo endpoint then. */
  readonly openid: boolean;
}

export function tokenTargets(client: Pick<Client, "metadata">, issuer: string): TokenTargets {
  const { audiences } = client.metadata;
  return { audiences, issuer, openid: registeredScope(client).includes("openid") };
}

export function allowsTarget({ audiences, issuer, openid }: TokenTargets, value: string): boolean {
  return (openid && value === issuer) || allowsAudience(audiences, value, issuer);
}

/**
 * The reason why a code or refresh token gives no token for the requested resources (all granted ones if `requested` is
 * `undefined`), or `undefined` if it does. Granted resources count as far as the current registration allows them (RFC 8707 §2.2).
 */
export function refuseResources(
  requested: readonly string[] | undefined,
  granted: readonly string[],
  targets: TokenTargets,
): string | undefined {
  const isGone = (resource: string) => !allowsTarget(targets, resource);
  if (requested?.some((resource) => !granted.includes(resource))) return "a resource that was not granted";
  if (requested?.some(isGone)) return "a resource that the client is no longer registered for";
  if (granted.length > 0 && granted.every(isGone)) return "the client is no longer registered for any granted resource";
  return undefined;
}
