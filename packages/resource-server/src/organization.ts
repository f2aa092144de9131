import { challengeResponse } from "./challenges.ts";
import type { ResourceAuth } from "./protected-resource.ts";
import { protectedResourceMetadataUrl } from "./protected-resource-metadata.ts";

/**
 * **The response to a token of another organisation than the one whose data a request names**, or of none; `undefined` if it is the same. Compare the
 * organisation of the *data*: one that the request names proves nothing.
 *
 * @param claims `props` of a validated token
 * @param organization an `org_id`
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export function requireOrganization(
  auth: Pick<ResourceAuth, "audience"> & Partial<Pick<ResourceAuth, "scheme" | "resourceMetadataUrl">>,
  claims: { readonly org_id?: unknown },
  organization: string,
): Response | undefined {
  if (organization !== "" && claims.org_id === organization) return undefined;
  return challengeResponse([
    {
      scheme: auth.scheme ?? "Bearer",
      error: "insufficient_scope",
      description: "The token does not belong to this organization.",
      scope: [],
      resourceMetadata: auth.resourceMetadataUrl ?? protectedResourceMetadataUrl(auth.audience),
    },
  ]);
}
