import { challengeResponse } from "./challenges.ts";
import type { ResourceAuth } from "./protected-resource.ts";
import { isScope, protectedResourceMetadataUrl } from "./protected-resource-metadata.ts";

/** The members that a challenge needs: those of `ctx.auth` in this library and in Cloudflare's. */
type Challenged = Pick<ResourceAuth, "audience"> & Partial<Pick<ResourceAuth, "scheme" | "resourceMetadataUrl">>;

/**
 * **The response to a token that lacks scopes for an operation**: 403 with every scope that it needs and the URL of the metadata, so that
 * the client can step up in one round trip.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export function insufficientScope(auth: Challenged, scope: readonly string[], description?: string): Response {
  if (scope.length === 0 || !scope.every(isScope)) throw new TypeError("insufficientScope: no valid scope");
  return challengeResponse([
    {
      scheme: auth.scheme ?? "Bearer",
      error: "insufficient_scope",
      description: description ?? "The operation needs more scopes.",
      scope,
      resourceMetadata: auth.resourceMetadataUrl ?? protectedResourceMetadataUrl(auth.audience),
    },
  ]);
}

export interface AuthenticationRequirement {
  /** Accepted authentication contexts, in order of preference. */
  readonly acrValues?: readonly string[];
  /** The longest time since the user authenticated. */
  readonly maxAgeSeconds?: number;
}

/**
 * **The response to a token whose user did not authenticate well or recently enough** for an operation: 401 with the requirements.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9470#section-3
 */
export function insufficientUserAuthentication(
  auth: Challenged,
  { acrValues, maxAgeSeconds }: AuthenticationRequirement,
): Response {
  return challengeResponse([
    {
      scheme: auth.scheme ?? "Bearer",
      error: "insufficient_user_authentication",
      description: "The user must authenticate again.",
      resourceMetadata: auth.resourceMetadataUrl ?? protectedResourceMetadataUrl(auth.audience),
      acrValues,
      maxAgeSeconds,
    },
  ]);
}

/** Whether the user of a token with these claims authenticated as required; a token without the claims does not prove it. */
export function meetsAuthentication(
  { acr, auth_time: authTime }: { readonly acr?: unknown; readonly auth_time?: unknown },
  { acrValues, maxAgeSeconds }: AuthenticationRequirement,
  nowSeconds: number = Date.now() / 1000,
): boolean {
  if (acrValues !== undefined && !acrValues.some((value) => value === acr)) return false;
  return maxAgeSeconds === undefined || (typeof authTime === "number" && nowSeconds - authTime <= maxAgeSeconds);
}
