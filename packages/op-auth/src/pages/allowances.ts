import type { Translator } from "@edge-op/pages/translator";
import { rbacScopes, scopeClaims } from "@edge-op/shared/oauth/scope-claims";
import type { MessageKey } from "./messages.ts";

const describedScopes: readonly string[] = ["openid", ...Object.keys(scopeClaims), ...rbacScopes, "offline_access"];

/** **The order of scopes and claims on every page**: described scopes first, then other scopes, then single claims, each by name. */
export function sortAllowances(items: readonly string[]): string[] {
  const rank = (item: string) => {
    const described = describedScopes.indexOf(item);
    if (described >= 0) return described;
    return describedScopes.length + (item.startsWith("claim:") ? 1 : 0);
  };
  return items.toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
}

export function describeAllowance(t: Translator<MessageKey>, item: string): string {
  if (item.startsWith("claim:")) return t("claim.other", { claim: item.slice("claim:".length).replaceAll("_", " ") });
  if (describedScopes.includes(item)) return t(`scope.${item}` as MessageKey);
  return t("scope.other", { scope: item });
}
