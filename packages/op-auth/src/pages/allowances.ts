import type { Translator } from "@edge-op/pages/translator";
import { namesOf } from "@edge-op/protocol/encoding/names-of";
import { rbacScopes, scopeClaims } from "@edge-op/protocol/oauth/scope-claims";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { MessageKey } from "./messages.ts";

/** A message `scope.…` describes each. */
const describedScopes = ["openid", ...namesOf(scopeClaims), ...rbacScopes, "offline_access"] as const;

/** Whether a scope value is this provider's own: no resource can give it another meaning. */
export function isProviderScope(value: string): value is (typeof describedScopes)[number] {
  return (describedScopes as readonly string[]).includes(value);
}

/** **The order of scopes and claims on every page**: described scopes first, then other scopes, then single claims, each by name. */
export function sortAllowances(items: readonly string[]): string[] {
  const rank = (item: string) => {
    if (isProviderScope(item)) return describedScopes.indexOf(item);
    if (item.startsWith(resourcePrefix)) return describedScopes.length + 2;
    if (item.startsWith("detail:")) return describedScopes.length + 3;
    return describedScopes.length + (item.startsWith("claim:") ? 1 : 0);
  };
  return items.toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
}

const resourcePrefix = "resource:";

/** The access to one resource that a person allows: its use, and the requested scope values there. */
export function resourceAllowances(resource: string, scope: readonly string[]): string[] {
  return [resource, ...scope.map((value) => `${resource} ${value}`)].map((name) => resourcePrefix + name);
}

/** The resources that allowances name. */
export function allowedResources(items: readonly string[]): string[] {
  return [...new Set(items.filter((item) => item.startsWith(resourcePrefix)).map((item) => parseResource(item)[0]))];
}

function parseResource(item: string): readonly [identifier: string, scope: string | undefined] {
  const [identifier = "", scope] = item.slice(resourcePrefix.length).split(" ", 2);
  return [identifier, scope];
}

export interface ResourceGroup {
  readonly identifier: string;
  /** The resource's name, or its identifier if it no longer exists. */
  readonly name: string;
  /** Descriptions of the requested access there, in the resource's own words. */
  readonly descriptions: readonly string[];
}

/** Groups requested access by resource, with the rest apart: the same scope value at two resources is two permissions. */
export function groupAllowances(
  items: readonly string[],
  resources: readonly Resource[],
): { readonly others: readonly string[]; readonly groups: readonly ResourceGroup[] } {
  const sorted = sortAllowances(items);
  const groups = allowedResources(sorted).map((identifier): ResourceGroup => {
    const metadata = resources.find((resource) => resource.identifier === identifier)?.metadata;
    const values = sorted.flatMap((item) => {
      if (!item.startsWith(resourcePrefix)) return [];
      const [at, value] = parseResource(item);
      return at === identifier && value !== undefined ? [value] : [];
    });
    const describe = (value: string) => metadata?.scopes.find((scope) => scope.value === value)?.description ?? value;
    return { identifier, name: metadata?.name ?? identifier, descriptions: values.map(describe) };
  });
  return { others: sorted.filter((item) => !item.startsWith(resourcePrefix)), groups };
}

/** `resources` are those that the item may name. A resource that no longer exists is shown by its identifier. */
export function describeAllowance(
  t: Translator<MessageKey>,
  item: string,
  resources: readonly Resource[] = [],
): string {
  if (item.startsWith(resourcePrefix)) {
    const [identifier, value] = parseResource(item);
    const metadata = resources.find((resource) => resource.identifier === identifier)?.metadata;
    const resource = metadata?.name ?? identifier;
    if (value === undefined) return t("resource.use", { resource });
    const description = metadata?.scopes.find((scope) => scope.value === value)?.description ?? value;
    return t("resource.scope", { resource, description });
  }
  if (item.startsWith("detail:")) return t("detail.type", { type: item.slice(item.indexOf(" ") + 1) });
  if (item.startsWith("claim:")) return t("claim.other", { claim: item.slice("claim:".length).replaceAll("_", " ") });
  if (isProviderScope(item)) return t(`scope.${item}`);
  return t("scope.other", { scope: item });
}
