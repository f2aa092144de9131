import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { parseScope } from "@edge-op/protocol/oauth/scope";
import { type Client, isPublicClient, registeredScope } from "@edge-op/shared/clients/client";
import { requestedDetails, requestedScope } from "@edge-op/shared/clients/requested-access";
import { resourceCaller } from "@edge-op/shared/clients/token-targets";
import { defaultScopesOf, namesClient, type Resource, scopesOf } from "@edge-op/shared/resources/resource";
import { defineGrantModule, type GrantRequest } from "../grant-module.ts";
import { type DueToken, issueDueToken } from "../issuing/issue-due-token.ts";
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
  credentials: [],
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
  const scope = clientScope(form.get("scope"), client, naming).filter(
    (value) => value !== "openid" && value !== "offline_access",
  );
  const authorizationDetails = await requestedDetails(context.settings, client, form.get("authorization_details"));
  return {
    content: { ...target, sub: client.clientId, scope, authorizationDetails, forUser: false },
    described,
    lifetime: { lifetimeSeconds: lifetimeSeconds(request, described) },
    repeatableUntilMs: Number.POSITIVE_INFINITY,
  };
}

/**
 * The requested scope within that of the client and of the resources that name it; without a request, its entire registered scope and their defaults.
 */
function clientScope(asked: string | undefined, client: Client, naming: readonly Resource[]): string[] {
  const registered = registeredScope(client);
  const values = parseScope(asked) ?? [...new Set([...registered, ...defaultScopesOf(naming)])];
  return requestedScope(client, values, [...registered, ...scopesOf(naming)]);
}
