import { loggedValue, OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import { requireResourceIndicator } from "@edge-op/protocol/oauth/resource-indicator";
import { intersectScope, isAdminScope, parseScope } from "@edge-op/protocol/oauth/scope";
import { registeredScope } from "@edge-op/shared/clients/client";
import { requestedDetails, requireAdminScope } from "@edge-op/shared/clients/requested-access";
import { requireAllowedSignatures } from "@edge-op/shared/clients/security-profile";
import {
  allowsTarget,
  checkResources,
  registeredAudiences,
  resourceCaller,
  tokenTargets,
} from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import { logDecided } from "@edge-op/shared/http/request-context";
import { admitsClient, defaultScopesOf, type Resource, scopesOf } from "@edge-op/shared/resources/resource";
import type { AuthorizationRequest, CheckInput } from "./authorization-request.ts";

/**
 * **The requested scope, limited to what the client registered** and to the scopes of the requested resources whose rules admit it (ADR 45). Other
 * values are left out (OIDC Core §3.1.2.1), except admin scopes, and the log names them. Without a resource, an empty scope is refused; with one, a
 * request without `scope` has the default scopes of the resource. `offline_access` needs a client that may refresh and a person who can consent: a
 * silent request has it only if an administrator has consented for everyone.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3
 */
export function checkScope(
  { context, client, parameters }: CheckInput,
  described: readonly Resource[],
): Pick<AuthorizationRequest, "scope"> {
  const { metadata } = client;
  const admitting = described.filter((resource) => admitsClient(resource, resourceCaller(client)));
  const asked = parseScope(parameters.get("scope")) ?? defaultScopesOf(admitting);
  const isSilent = parameters.get("prompt") === "none";
  const mayBeOffline = metadata.grant_types.includes("refresh_token") && (!isSilent || metadata.skip_consent === true);
  const allowed = [...registeredScope(client), ...scopesOf(admitting)];
  requireAdminScope(asked, allowed);
  const scope = intersectScope(asked, allowed).filter((value) => value !== "offline_access" || mayBeOffline);
  // Such a token is limited by its audience or authorization details (RFC 9396 §3) alone.
  const hasDetails = parameters.get("authorization_details") !== undefined;
  const isTargetOnly = (described.length > 0 || hasDetails) && parameters.get("scope") === undefined;
  if (scope.length === 0 && !isTargetOnly) {
    const values =
      asked.length === 0
        ? "The scope is missing."
        : `The client is not registered for any of: ${shownValue(asked.join(" "))}.`;
    throw new OAuthError("invalid_scope", "scope-not-registered", { description: values });
  }
  if (scope.length < asked.length) {
    const dropped = asked.filter((value) => !scope.includes(value)).map(loggedValue);
    logDecided(context, "scope-dropped", { clientId: client.clientId, dropped, requestId: context.requestId });
  }
  return { scope };
}

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

/** **`authorization_details`.** @see https://www.rfc-editor.org/rfc/rfc9396#section-5 */
export async function checkAuthorizationDetails({
  context,
  client,
  parameters,
}: Pick<CheckInput, "context" | "client" | "parameters">): Promise<Pick<AuthorizationRequest, "authorizationDetails">> {
  return {
    authorizationDetails: await requestedDetails(context.settings, client, parameters.get("authorization_details")),
  };
}

/** As in the admin API: 1 to 64 letters, digits, dots, hyphens, underscores or tildes. */
const organizationPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;

/**
 * **`organization`**: only for clients whose policy has it, and never with an admin scope, which no membership gives (ADR 72). Whether it exists, and
 * the person is a member, is decided after they have proven who they are; so is the choice, where the policy requires one and the request has none.
 */
export function checkOrganization(
  { client, parameters }: Pick<CheckInput, "client" | "parameters">,
  scope: readonly string[],
): Pick<AuthorizationRequest, "organization" | "choosesOrganization"> {
  const organization = parameters.get("organization");
  const { organization: policy = "none" } = client.metadata;
  const choosesOrganization = organization === undefined && policy === "required";
  if (organization !== undefined && (policy === "none" || !organizationPattern.test(organization))) {
    throw new OAuthError("invalid_request", "organization-parameter", {
      description: "The organization is malformed, or the client's registration allows none.",
    });
  }
  if ((organization !== undefined || choosesOrganization) && scope.some(isAdminScope)) {
    throw new OAuthError("invalid_scope", "organization-parameter", {
      description: "An admin scope belongs to no organization.",
    });
  }
  return { organization, choosesOrganization };
}
