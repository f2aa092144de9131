/**
 * **The target of a token**: exactly the requested `audience` and `resource` values, each of which must be allowed (`invalid_target`). Without a
 * request, it is the client's first audience, or this provider; with `openid`, also this provider's UserInfo endpoint (ADR 18).
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */

import { OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import { registeredSpelling, requireResourceIndicator } from "@edge-op/protocol/oauth/resource-indicator";
import type { Client } from "@edge-op/shared/clients/client";
import { allowsTarget, checkResources, type TokenTargets, tokenTargets } from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import type { FormReader } from "@edge-op/shared/http/read-form";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { GrantRequest } from "../grant-module.ts";
import { findNamed, findResources, requireUsable } from "./resource-rules.ts";

export interface Target {
  /** `aud`: audiences and resources together, distinct. */
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
}

/** A target and the resources among its audiences (ADR 45). */
export interface DescribedTarget {
  readonly target: Target;
  readonly described: readonly Resource[];
  /** Whether the request names no target. */
  readonly isDefault: boolean;
}

type TargetParameters = FormReader<"audience" | "resource">;
type TargetRequest = GrantRequest<"audience" | "resource">;

export async function requestedTarget(request: TargetRequest): Promise<DescribedTarget> {
  const { context, client, form } = request;
  const { issuer } = context.settings;
  const isDefault = namedValues(form).length === 0;
  const { named, found } = await findNamed(request, namedValues(form), client.metadata.audiences);
  const described = isDefault ? await findResources(request, defaultTarget(client, issuer).audiences) : found;
  const targets = { ...tokenTargets(client, issuer), checked: checkResources(client, named, described) };
  const isAllowed = (value: string) => allowsTarget(targets, value);
  const requested = resolveTarget(form, { isAudience: isAllowed, isResource: isAllowed, named });
  requireUsable(request, described);
  return { target: requested ?? defaultTarget(client, issuer), described, isDefault };
}

/** The target of a login's access token: the granted resources that the client may have now. */
export function loginTarget(
  resources: readonly string[],
  client: Client,
  targets: TokenTargets,
  scope: readonly string[],
): Target {
  if (resources.length === 0) return withUserinfo(defaultTarget(client, targets.issuer), scope, targets.issuer);
  const allowed = resources.filter((resource) => allowsTarget(targets, resource));
  if (allowed.length === 0) throw new OAuthError("invalid_target", "resources-not-registered");
  return { audiences: allowed, resources: allowed };
}

export function defaultTarget(client: Client, issuer: string): Target {
  const named = client.metadata.audiences.find((value) => value !== "*");
  return { audiences: [named ?? issuer], resources: [] };
}

/** The values of `audience` and `resource` that may be requested. */
export interface AllowedTargets {
  isAudience(value: string): boolean;
  isResource(value: string): boolean;
  /** The named values as they are registered. */
  readonly named: readonly string[];
}

/** Every value that a request names, before any is checked. If there are too many, none is looked up. */
export function namedValues(form: TargetParameters): readonly string[] {
  const named = [...new Set([...form.all("audience"), ...form.all("resource")])];
  return named.length > limits.audiences ? named.slice(0, limits.audiences) : named;
}

/** `undefined` if the request names no target. */
export function resolveTarget(form: TargetParameters, allowed: AllowedTargets): Target | undefined {
  const spell = (value: string) => registeredSpelling(value, allowed.named);
  const audiences = [...new Set(form.all("audience").map(spell))];
  const resources = [...new Set(form.all("resource").map(requireResourceIndicator).map(spell))];
  if (audiences.length + resources.length === 0) return undefined;
  if (audiences.length + resources.length > limits.audiences) {
    throw new OAuthError("invalid_target", "targets-too-many");
  }
  for (const audience of audiences) {
    if (!allowed.isAudience(audience)) throw refusedTarget("audience", audience);
  }
  for (const resource of resources) {
    if (!allowed.isResource(resource)) throw refusedTarget("resource", resource);
  }
  return { audiences: [...new Set([...audiences, ...resources])], resources };
}

function refusedTarget(parameter: "audience" | "resource", value: string): OAuthError {
  return new OAuthError("invalid_target", "target-not-allowed", {
    detail: `${parameter} is not allowed`,
    description: `The ${parameter} ${shownValue(value)} is not allowed for this client.`,
  });
}

/** The resources to which a code or refresh token is narrowed, as they are registered (RFC 8707 §2.2); `undefined` if none is named. */
export async function requestedResources(
  request: GrantRequest<"resource">,
  granted: readonly string[] = [],
): Promise<readonly string[] | undefined> {
  const asked = [...new Set(request.form.all("resource"))].map(requireResourceIndicator);
  if (asked.length > limits.audiences) throw new OAuthError("invalid_target", "targets-too-many");
  if (asked.length === 0) return undefined;
  const spelled = asked.map((value) => registeredSpelling(value, granted));
  return (await findNamed(request, spelled, [...granted, ...request.client.metadata.audiences])).named;
}

/** The default of a request with `openid` includes the UserInfo endpoint (OIDC Core §5.3), because such a client expects to call it. */
export function withUserinfo(target: Target, scope: readonly string[], issuer: string): Target {
  if (!scope.includes("openid") || target.audiences.includes(issuer)) return target;
  return { ...target, audiences: [...target.audiences, issuer] };
}
