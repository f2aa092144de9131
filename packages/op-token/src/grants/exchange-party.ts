import type { RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { AuthenticationEvent } from "@edge-op/shared/oauth/login-context";
import { tokenTypes } from "@edge-op/shared/oauth/token-types";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import { readIdToken } from "@edge-op/shared/tokens/id-token";
import type { TokenIsolate } from "../isolate.ts";
import type { TokenEnv } from "../token-env.ts";

/**
 * **A subject or actor token of an exchange, verified.** Access tokens (as such or as `jwt`) and ID tokens of this provider;
 * the type named must be the type presented. Revocation is checked afterwards, for both tokens together.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-3
 */
export type ExchangeParty = Pick<
  AccessToken,
  | "id"
  | "sub"
  | "clientId"
  | "grantClientId"
  | "viaClientIds"
  | "grantCreatedAtMs"
  | "lineage"
  | "audiences"
  | "scope"
  | "authorizationDetails"
  | "expiresAtSeconds"
  | "act"
  | "mayAct"
  | "cnf"
  | "forUser"
  | keyof AuthenticationEvent
>;

/** RFC 8693 §2.2.2: an invalid or unacceptable subject or actor token is `invalid_request`; the reason goes to the log. */
export function unacceptableToken(detail: string): OAuthError {
  return new OAuthError("invalid_request", detail, {
    description: "The subject_token or actor_token is not acceptable.",
  });
}

/** The scope that an ID token proves to be granted: it does not name the claims that the user agreed to share. */
const identityScope = ["openid"];

export async function readExchangeParty(
  context: RequestContext<TokenEnv>,
  isolate: TokenIsolate,
  token: string,
  type: string,
): Promise<ExchangeParty> {
  if (type === tokenTypes.accessToken || type === tokenTypes.jwt) {
    const accessToken = await readAccessToken(context, isolate, token);
    if (accessToken !== undefined) return accessToken;
    if (type === tokenTypes.accessToken) throw unacceptableToken("not a live access token");
  }
  if (type === tokenTypes.idToken || type === tokenTypes.jwt) {
    const idToken = await readIdToken(context, isolate, token);
    if (idToken === undefined) throw unacceptableToken("not a live token of this provider");
    return { ...idToken, scope: identityScope, authorizationDetails: undefined };
  }
  throw new OAuthError("invalid_request", "token type is not supported", {
    description: "The subject_token_type or actor_token_type is not supported.",
  });
}
