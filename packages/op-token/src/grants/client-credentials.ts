import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { requestedDetails } from "@edge-op/shared/clients/requested-details";
import { resourceCaller } from "@edge-op/shared/clients/token-targets";
import { defaultScopesOf, namesClient, scopesOf } from "@edge-op/shared/resources/resource";
import { defineGrantModule, type GrantRequest } from "../grant-module.ts";
import { type DueToken, issueDueToken } from "../issuing/issue-due-token.ts";
import { requestedScope } from "../issuing/requested-scope.ts";
import { requestedTarget } from "../issuing/requested-target.ts";
import { lifetimeSeconds } from "../issuing/resource-rules.ts";

const parameters = ["scope", "audience", "resource", "authorization_details"] as const;

type ClientCredentialsRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Issues an access token to the client for itself.** The subject is the client (RFC 9068 §2.2); each token is a new grant.
 * Cost warm: 0 calls, 1 signature (`direct`: 1 object call).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 */
export const clientCredentials = defineGrantModule({
  type: "client_credentials",
  parameters,
  decide,
  issue: issueDueToken,
});

async function decide(request: ClientCredentialsRequest): Promise<DueToken> {
  const { context, client, form } = request;
  if (isPublicClient(client)) {
    throw new OAuthError("unauthorized_client", "client-credentials-of-public-client");
  }
  // There is no end-user: `openid` and `offline_access` have no meaning.
  const { target, described } = await requestedTarget(request);
  // A rule that admits every client adds no scope here, because there is no user to consent.
  const naming = described.filter((resource) => namesClient(resource, resourceCaller(client)));
  const offered = { values: scopesOf(naming), byDefault: defaultScopesOf(naming) };
  const scope = requestedScope(form, client, offered).filter(
    (value) => value !== "openid" && value !== "offline_access",
  );
  const authorizationDetails = requestedDetails(context.settings, client, form.get("authorization_details"));
  return {
    content: { ...target, sub: client.clientId, scope, authorizationDetails, forUser: false },
    described,
    lifetime: { lifetimeSeconds: lifetimeSeconds(request, described) },
    repeatableUntilMs: Number.POSITIVE_INFINITY,
  };
}
