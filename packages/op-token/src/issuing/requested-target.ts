import { limits } from "@edge-op/shared/config/limits";
import type { Client } from "@edge-op/shared/directory/client";
import { allowsAudience } from "@edge-op/shared/directory/policy-list";
import type { Form } from "@edge-op/shared/http/read-form";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { requireResourceIndicator } from "@edge-op/shared/oauth/resource-indicator";

/**
 * **What a token is to be for**: every `audience` and `resource` asked for, each allowed or `invalid_target`; nothing asked
 * means the client's first audience, or this provider.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */
export interface Target {
  /** `aud`: audiences and resources together, distinct. */
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
}

export function requestedTarget(form: Form, client: Client, issuer: string): Target {
  const allowed = client.metadata.audiences;
  return resolveTarget(form, { audiences: allowed, resources: allowed }, issuer) ?? defaultTarget(client, issuer);
}

export function defaultTarget(client: Client, issuer: string): Target {
  const named = client.metadata.audiences.find((value) => value !== "*");
  return { audiences: [named ?? issuer], resources: [] };
}

/** `undefined` when nothing is asked for. */
export function resolveTarget(
  form: Form,
  allowed: { readonly audiences: readonly string[]; readonly resources: readonly string[] },
  issuer: string,
): Target | undefined {
  const audiences = [...new Set(form.all("audience"))];
  const resources = [...new Set(form.all("resource"))].map(requireResourceIndicator);
  if (audiences.length + resources.length === 0) return undefined;
  if (audiences.length + resources.length > limits.audiences) {
    throw new OAuthError("invalid_target", `${audiences.length + resources.length} audiences and resources`);
  }
  for (const audience of audiences) {
    if (!allowsAudience(allowed.audiences, audience, issuer))
      throw new OAuthError("invalid_target", "audience is not allowed");
  }
  for (const resource of resources) {
    if (!allowsAudience(allowed.resources, resource, issuer))
      throw new OAuthError("invalid_target", "resource is not allowed");
  }
  return { audiences: [...new Set([...audiences, ...resources])], resources };
}

/** The resources that a code or refresh token is to be narrowed to (RFC 8707 §2.2); `undefined` when none is named. */
export function requestedResources(form: Form): readonly string[] | undefined {
  const resources = [...new Set(form.all("resource"))].map(requireResourceIndicator);
  if (resources.length > limits.audiences) throw new OAuthError("invalid_target", `${resources.length} resources`);
  return resources.length === 0 ? undefined : resources;
}

/** A token with `openid` may be shown at this provider's own UserInfo endpoint as well (OIDC Core §5.3). */
export function withUserinfo(target: Target, scope: readonly string[], issuer: string): Target {
  if (!scope.includes("openid") || target.audiences.includes(issuer)) return target;
  return { ...target, audiences: [...target.audiences, issuer] };
}
