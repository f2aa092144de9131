import { OAuthError } from "@edge-op/shared/oauth/errors";
import { newGrant } from "@edge-op/shared/sharding/new-grant";
import type { GrantRequest, TokenResponse } from "../grant.ts";
import { issueAccessToken } from "../issuing/issue-tokens.ts";
import { requestedTarget } from "../issuing/requested-target.ts";
import { requestedScope } from "./requested-scope.ts";

/**
 * **Tokens for the client itself.** Its subject is the client (RFC 9068 §2.2); each issuance is a grant of its own.
 * Cost warm: 0 calls, 1 signature (`direct`: 1 object call).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 */
export async function clientCredentials(request: GrantRequest): Promise<TokenResponse> {
  const { context, client, form } = request;
  if (client.metadata.token_endpoint_auth_method === "none") {
    throw new OAuthError("unauthorized_client", "client_credentials of a public client");
  }
  // There is no end-user whose identity `openid` could be about.
  const scope = requestedScope(form, client).filter((value) => value !== "openid" && value !== "offline_access");
  const target = requestedTarget(form, client, scope, context.settings.issuer);
  const grant = await newGrant(context, request.isolate);
  await request.confirm();
  return issueAccessToken(request, { ...grant, ...target, sub: client.clientId, scope, forUser: false });
}
