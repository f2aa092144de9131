import { limits } from "@edge-op/shared/config/limits";
import { allowsTarget, tokenTargets } from "@edge-op/shared/directory/policy-list";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { requireResourceIndicator } from "@edge-op/shared/oauth/resource-indicator";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** **Each `resource` is one that the client's tokens may be for.** @see https://www.rfc-editor.org/rfc/rfc8707#section-2.1 */
export function checkResource({ context, client, parameters }: CheckInput): Pick<AuthorizationRequest, "resources"> {
  const resources = [...new Set(parameters.all("resource"))].map(requireResourceIndicator);
  if (resources.length > limits.audiences) throw new OAuthError("invalid_target", `${resources.length} resources`);
  const targets = tokenTargets(client, context.settings.issuer);
  for (const resource of resources) {
    if (!allowsTarget(targets, resource)) {
      throw new OAuthError("invalid_target", "resource is not allowed");
    }
  }
  return { resources };
}
