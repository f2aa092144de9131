import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { TokenExchangePolicy } from "@edge-op/shared/clients/client";
import { allowsAudience, allowsTarget, checkResources } from "@edge-op/shared/clients/token-targets";
import type { GrantRequest } from "../grant-module.ts";
import {
  type DescribedTarget,
  defaultTarget,
  namedValues,
  resolveTarget,
  type Target,
} from "../issuing/requested-target.ts";
import { findNamed, findResources, requireUsable } from "../issuing/resource-rules.ts";
import type { ExchangeParty } from "./exchange-party.ts";

/**
 * **The target of an exchange** and the resources in it. Without a request, it is the subject's audiences that the policy names, or else the client's
 * default if the policy names it.
 */
export async function exchangeTarget(
  request: GrantRequest<"audience" | "resource">,
  subject: ExchangeParty,
  policy: TokenExchangePolicy,
): Promise<Pick<DescribedTarget, "target" | "described">> {
  const { context, client, form } = request;
  const { issuer } = context.settings;
  const fallback = defaultTarget(client, issuer);
  const registered = [...policy.audiences, ...policy.resources];
  const { named, found: ofNamed } = await findNamed(request, namedValues(form), registered);
  const kept = [...subject.audiences, ...fallback.audiences].filter((value) => !named.includes(value));
  const candidates = [...new Set([...named, ...kept])];
  const found = [...ofNamed, ...(await findResources(request, [...new Set(kept)]))];
  const checked = checkResources(client, candidates, found);
  const { rule } = subject.external ?? {};
  // The requested target of a trusted issuer's token is within its rule; otherwise the rule would not match.
  const isRuled = (value: string) => rule === undefined || allowsAudience(rule.audiences, value, issuer);
  const isAudience = (value: string) =>
    allowsTarget({ audiences: policy.audiences, issuer, openid: false, checked }, value);
  const isResource = (value: string) =>
    allowsTarget({ audiences: policy.resources, issuer, openid: false, checked }, value);
  const target =
    resolveTarget(form, { isAudience, isResource, named }) ??
    keptTarget(subject, fallback, (value) => isAudience(value) && isRuled(value));
  const described = found.filter(({ identifier }) => target.audiences.includes(identifier));
  requireUsable(request, described);
  return { target, described };
}

function keptTarget(subject: ExchangeParty, fallback: Target, isAudience: (value: string) => boolean): Target {
  const kept = subject.audiences.filter(isAudience);
  if (kept.length > 0) return { audiences: kept, resources: [] };
  if (!fallback.audiences.every(isAudience)) {
    throw new OAuthError("invalid_target", "target-missing");
  }
  return fallback;
}
