import { type Language, textFor } from "@edge-op/pages/languages";
import { namesOf } from "@edge-op/protocol/encoding/json-object";
import { organizationsScope, rbacScopes, scopeClaims } from "@edge-op/protocol/oauth/claims";
import { adminAudience, adminScopes } from "@edge-op/protocol/oauth/scope";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { MappedAttribute } from "@edge-op/shared/users/attributes";
import type { AuthTranslator } from "../pages/messages.ts";

/** A message `scope.…` describes each. */
const describedScopes = [
  "openid",
  ...namesOf(scopeClaims),
  ...rbacScopes,
  organizationsScope,
  "offline_access",
] as const;

/** Whether a scope value is this provider's own: no resource can give it another meaning. */
export function isProviderScope(value: string): value is (typeof describedScopes)[number] {
  return (describedScopes as readonly string[]).includes(value);
}

/** **The order of scopes and claims on every page**: described scopes first, then other scopes, then single claims, each by name. */
export function sortAllowances(items: readonly string[]): string[] {
  const rank = (item: string) => {
    if (isProviderScope(item)) return describedScopes.indexOf(item);
    if (item.startsWith(resourcePrefix)) return describedScopes.length + 2;
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
  language: Language,
): { readonly others: readonly string[]; readonly groups: readonly ResourceGroup[] } {
  const sorted = sortAllowances(items);
  const groups = allowedResources(sorted).map((identifier): ResourceGroup => {
    const metadata = resources.find((resource) => resource.identifier === identifier)?.metadata;
    const values = sorted.flatMap((item) => {
      if (!item.startsWith(resourcePrefix)) return [];
      const [at, value] = parseResource(item);
      return at === identifier && value !== undefined ? [value] : [];
    });
    const words = wordsOf(metadata, identifier, language);
    return { identifier, name: words.name, descriptions: values.map(words.describe) };
  });
  return { others: sorted.filter((item) => !item.startsWith(resourcePrefix)), groups };
}

/** The words of a resource for itself and its scope values, in the language if it has them. */
function wordsOf(metadata: Resource["metadata"] | undefined, identifier: string, language: Language) {
  return {
    name: textFor(metadata?.translations, language) ?? metadata?.name ?? identifier,
    describe: (value: string) => {
      const scope = metadata?.scopes.find((each) => each.value === value);
      return textFor(scope?.translations, language) ?? scope?.description ?? value;
    },
  };
}

/** `resources` and `attributes` are those that the item may name. A resource that no longer exists is shown by its identifier. */
export function describeAllowance(
  t: AuthTranslator,
  item: string,
  resources: readonly Resource[] = [],
  attributes: readonly MappedAttribute[] = [],
): string {
  if (item.startsWith(resourcePrefix)) {
    const [identifier, value] = parseResource(item);
    const metadata = resources.find((resource) => resource.identifier === identifier)?.metadata;
    const { name: resource, describe } = wordsOf(metadata, identifier, t.language);
    if (value === undefined) return t("resource.use", { resource });
    return t("resource.scope", { resource, description: describe(value) });
  }
  const mapped = attributes.find(({ claim }) => item === `claim:${claim.name}`);
  if (mapped !== undefined) return t("claim.other", { claim: textFor(mapped.titles, t.language) ?? mapped.title });
  if (item.startsWith("claim:")) return t("claim.other", { claim: item.slice("claim:".length).replaceAll("_", " ") });
  if (isProviderScope(item)) return t(`scope.${item}`);
  // Without a resource, these scope values have the same meaning.
  const adminScope = adminScopes.find((scope) => scope === item);
  return adminScope ? t(`scope.${adminScope}`) : t("scope.other", { scope: item });
}

/** Requested access with the attributes that its scope values release: a value may have another meaning at an API too, so it stays. */
export function withAttributes(items: readonly string[], attributes: readonly MappedAttribute[]): string[] {
  const values = items.map((item) => item.slice(item.lastIndexOf(" ") + 1));
  const released = attributes.filter(({ claim }) => values.includes(claim.scope));
  return [...new Set([...items, ...released.map(({ claim }) => `claim:${claim.name}`)])];
}

/** **The admin API as a resource on pages**: nobody registers it, and its scope values are the same at every deployment. */
export function adminResource(issuer: string, t: AuthTranslator): Resource {
  return {
    identifier: adminAudience(issuer),
    metadata: {
      name: t("resource.admin"),
      clients: "any",
      scopes: adminScopes.map((value) => ({ value, description: t(`scope.${value}`) })),
    },
  };
}
