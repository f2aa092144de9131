import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { registeredSpelling } from "@edge-op/protocol/oauth/resource-indicator";
import { administrativeAudiences, isAdminScope } from "@edge-op/protocol/oauth/scope";
import { admitsClient, type Resource, type ResourceCaller } from "../resources/resource.ts";
import { type Client, listAllows, registeredScope } from "./client.ts";

/**
 * **Whether a list in a client's policy allows a scope or an audience.** `"*"` covers neither admin scopes nor the audiences
 * of administration: a client must list them, and only an administrator who holds a scope may list it.
 */
export function allowsScope(list: readonly string[], scope: string): boolean {
  return isAdminScope(scope) ? list.includes(scope) : listAllows(list, scope);
}

/** `audience` may be a resource indicator; both become values of `aud`. */
export function allowsAudience(list: readonly string[], audience: string, issuer: string): boolean {
  return administrativeAudiences(issuer).includes(audience)
    ? list.includes(audience)
    : listAllows(list, registeredSpelling(audience, list));
}

/** The audiences that the client's current registration allows. */
export interface TokenTargets {
  readonly audiences: readonly string[];
  readonly issuer: string;
  /** Whether the client registered `openid`; if so, the issuer is allowed as the audience for the UserInfo endpoint. */
  readonly openid: boolean;
  /** The result of the resources' rules for the client, for the values that were looked up. */
  readonly checked: CheckedResources;
  /** Whether the rules allow this request a token without a requested resource. */
  readonly defaultChecked?: boolean;
}

/** `unknown`: there is no such resource, so only the client's registration decides. */
type CheckedResources = Readonly<Record<string, "admitted" | "refused" | "unknown">>;

export function tokenTargets(client: Pick<Client, "metadata">, issuer: string): Omit<TokenTargets, "checked"> {
  const { audiences } = client.metadata;
  return { audiences, issuer, openid: registeredScope(client).includes("openid") };
}

/** The audiences that are known without a lookup, as they are spelled: those of the client, and of this provider. */
export function registeredAudiences({ metadata }: Pick<Client, "metadata">, issuer: string): readonly string[] {
  return [...metadata.audiences, issuer, ...administrativeAudiences(issuer)];
}

/** A client as the caller in a resource's rules. */
export function resourceCaller({ clientId, origin }: Pick<Client, "clientId" | "origin">): ResourceCaller {
  return { clientId, registered: origin !== "document" };
}

/** `found` contains the resources among `identifiers`. */
export function checkResources(
  client: Pick<Client, "clientId" | "origin">,
  identifiers: readonly string[],
  found: readonly Resource[],
): CheckedResources {
  const caller = resourceCaller(client);
  const byIdentifier = new Map(found.map((resource) => [resource.identifier, resource]));
  const check = (identifier: string) => {
    const resource = byIdentifier.get(identifier);
    if (resource === undefined) return "unknown";
    return admitsClient(resource, caller) ? "admitted" : "refused";
  };
  return Object.fromEntries(identifiers.map((identifier) => [identifier, check(identifier)] as const));
}

/**
 * Whether tokens of the client may be for a value: its registration names it, or the rule of the resource admits it. `"*"` in the
 * registration does not cover a resource whose rule refuses the client.
 */
export function allowsTarget({ audiences, issuer, openid, checked }: TokenTargets, value: string): boolean {
  if ((openid && value === issuer) || audiences.includes(value)) return true;
  const check = Object.hasOwn(checked, value) ? checked[value] : "unknown";
  return check === "unknown" ? allowsAudience(audiences, value, issuer) : check === "admitted";
}

/**
 * The resources whose rules must be looked up before a code or refresh token is spent; empty for the default target. `undefined` if
 * nothing is missing.
 */
export function uncheckedResources(
  requested: readonly string[] | undefined,
  granted: readonly string[],
  { checked, defaultChecked }: TokenTargets,
): readonly string[] | undefined {
  const relevant = requested ?? granted;
  if (relevant.length === 0) return defaultChecked === true ? undefined : [];
  const missing = relevant.filter((resource) => granted.includes(resource) && !Object.hasOwn(checked, resource));
  return missing.length === 0 ? undefined : missing;
}

/**
 * The reason why a code or refresh token may not be used for the requested resources (all granted ones if `requested` is `undefined`), or `undefined`
 * if it may. A granted resource counts only if the current registration allows it (RFC 8707 §2.2).
 */
export function refuseResources(
  requested: readonly string[] | undefined,
  granted: readonly string[],
  targets: TokenTargets,
): RefusalReason | undefined {
  const isGone = (resource: string) => !allowsTarget(targets, resource);
  if (requested?.some((resource) => !granted.includes(resource))) return "resource-not-granted";
  if (requested?.some(isGone)) return "resource-no-longer-registered";
  if (granted.length > 0 && granted.every(isGone)) return "resources-no-longer-registered";
  return undefined;
}
