import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { requireResourceIndicator } from "@edge-op/protocol/oauth/resource-indicator";
import { shownValue } from "@edge-op/protocol/oauth/shown-value";
import { requireAllowedSignatures } from "@edge-op/shared/clients/security-profile";
import { allowsTarget, checkResources, registeredAudiences, tokenTargets } from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/**
 * **Requires that the client's tokens may be for each `resource`**, by the client's registration or by the rule of the resource (ADR 45). Returns
 * those that have a rule, all as they are registered. Cost warm: 0.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2.1
 */
export async function checkResource({
  context,
  isolate,
  client,
  parameters,
}: CheckInput): Promise<Pick<AuthorizationRequest, "resources"> & { readonly described: readonly Resource[] }> {
  const asked = [...new Set(parameters.all("resource"))].map(requireResourceIndicator);
  if (asked.length > limits.audiences) throw new OAuthError("invalid_target", "targets-too-many");
  const registered = registeredAudiences(client, context.settings.issuer);
  const { named: resources, found: described } = await isolate.resources.findNamed(context, asked, registered);
  const checked = checkResources(client, resources, described);
  const targets = { ...tokenTargets(client, context.settings.issuer), checked };
  for (const resource of resources) {
    if (!allowsTarget(targets, resource)) {
      throw new OAuthError("invalid_target", "target-not-allowed", {
        description: `The resource ${shownValue(resource)} is not allowed for this client.`,
      });
    }
  }
  requireAllowedSignatures(context.settings, client, described);
  return { resources, described };
}
